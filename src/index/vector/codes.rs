//! Where the code of each value stands: row by row for a walk, sixteen rows together for a scan.
//!
//! Useful for: packing codes and reading them one by one. Not for: what a code means (see [`quant`](super::quant)), or
//! speed (see [`kernels`](super::kernels)).

/// Bits a value. 1, 2 and 4 are unsigned codes `u`, 8 is a signed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bits {
    One,
    Two,
    Four,
    Eight,
}

impl Bits {
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    pub const fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// `None` for a number of bits there are no codes of.
    pub fn of(count: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|bits| bits.count() == count)
    }

    /// Values of a block of a row. A row's codes are whole blocks, so that kernels have no rest.
    const fn block_values(self) -> usize {
        match self {
            Self::One | Self::Four | Self::Eight => 64,
            Self::Two => 128,
        }
    }

    /// `dim` rounded up to whole blocks: how long a query must be. Its values beyond `dim` are zero, so whatever stands
    /// there in a row counts for nothing.
    pub const fn padded(self, dim: usize) -> usize {
        dim.next_multiple_of(self.block_values())
    }

    /// Bytes of a row of `dim` values in whole blocks.
    pub const fn row_bytes(self, dim: usize) -> usize {
        self.padded(dim) / 8 * self.count()
    }

    /// Byte and shift of a value in its row. Values that share a byte stand a whole register apart, so that a shift and a
    /// mask bring a register of neighbours to light.
    pub const fn place(self, value: usize) -> (usize, usize) {
        match self {
            Self::One => (value / 8, value % 8),
            Self::Two => (value / 128 * 32 + value % 32, value % 128 / 32 * 2),
            Self::Four => (value / 64 * 32 + value % 32, value % 64 / 32 * 4),
            Self::Eight => (value, 0),
        }
    }

    /// Bytes up to the last one that a value of `dim` values uses: at most [`row_bytes`](Self::row_bytes).
    pub fn used_bytes(self, dim: usize) -> usize {
        let first = dim.saturating_sub(self.block_values());
        (first..dim).map(|value| self.place(value).0 + 1).max().unwrap_or(0)
    }
}

/// Puts codes, one a byte, into a row of zeros.
pub(super) fn pack_row(bits: Bits, codes: &[u8], row: &mut [u8]) {
    for (value, code) in codes.iter().enumerate() {
        let (byte, shift) = bits.place(value);
        row[byte] |= code << shift;
    }
}

/// Rows of a block of two-bit codes.
pub(super) const BLOCK_ROWS: usize = 16;
/// Values whose codes stand in one line of a block.
const LINE_VALUES: usize = 16;
const LINE_BYTES: usize = 64;
/// A factor and a bias of each row, f32, behind the lines.
const TERM_BYTES: usize = 2 * 4 * BLOCK_ROWS;

/// Values of a query for blocks: whole lines.
pub(super) const fn block_values(dim: usize) -> usize {
    dim.next_multiple_of(LINE_VALUES)
}

/// Bytes of the lines of a block.
pub(super) const fn block_code_bytes(dim: usize) -> usize {
    block_values(dim) / LINE_VALUES * LINE_BYTES
}

/// Bytes of a block: its lines, 16 factors, 16 biases.
pub(super) const fn block_bytes(dim: usize) -> usize {
    block_code_bytes(dim) + TERM_BYTES
}

/// Byte and shift in a block: value v of row r is byte v mod 4 of word r in line v div 16, pair of bits (v mod 16) div 4. A
/// register of four bytes a row, multiplied by four values of the query, then has a sum a row and none across.
pub(super) const fn block_place(row: usize, value: usize) -> (usize, usize) {
    let (line, within) = (value / LINE_VALUES, value % LINE_VALUES);
    (line * LINE_BYTES + 4 * row + within % 4, within / 4 * 2)
}

/// Factors and biases of a block, in the order of its rows.
pub(super) fn block_terms(block: &[u8]) -> ([f32; BLOCK_ROWS], [f32; BLOCK_ROWS]) {
    let terms = &block[block.len() - TERM_BYTES..];
    let read = |at: usize| f32::from_le_bytes([terms[at], terms[at + 1], terms[at + 2], terms[at + 3]]);
    (std::array::from_fn(|row| read(4 * row)), std::array::from_fn(|row| read(4 * (BLOCK_ROWS + row))))
}

/// Puts one row into a block of zeros.
pub(super) fn pack_block_row(row: usize, codes: &[u8], factor: f32, bias: f32, block: &mut [u8]) {
    for (value, code) in codes.iter().enumerate() {
        let (byte, shift) = block_place(row, value);
        block[byte] |= code << shift;
    }
    let terms = block.len() - TERM_BYTES;
    block[terms + 4 * row..][..4].copy_from_slice(&factor.to_le_bytes());
    block[terms + 4 * (BLOCK_ROWS + row)..][..4].copy_from_slice(&bias.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_value_of_a_row_has_its_own_bits() {
        for bits in Bits::ALL {
            for dim in [1, 31, 50, 64, 100, 128, 129, 384, 784] {
                let places: BTreeSet<_> = (0..bits.padded(dim)).map(|value| bits.place(value)).collect();
                assert_eq!(places.len(), bits.padded(dim), "{bits:?} {dim}");
                let last = places.last().unwrap().0;
                assert_eq!(last + 1, bits.row_bytes(dim), "{bits:?} {dim}");
                let used = (0..dim).map(|value| bits.place(value).0 + 1).max();
                assert_eq!(Some(bits.used_bytes(dim)), used, "{bits:?} {dim}");
            }
        }
        assert_eq!(Bits::Two.used_bytes(0), 0);
    }

    #[test]
    fn every_value_of_a_block_has_its_own_bits() {
        for dim in [1, 16, 17, 384] {
            let all = (0..BLOCK_ROWS).flat_map(|row| (0..block_values(dim)).map(move |value| block_place(row, value)));
            let places: BTreeSet<_> = all.collect();
            assert_eq!(places.len(), BLOCK_ROWS * block_values(dim));
            assert_eq!(places.last().unwrap().0 + 1, block_code_bytes(dim));
            assert_eq!(block_bytes(dim) % 64, 0);
        }
    }

    #[test]
    fn what_is_packed_is_read() {
        let codes: Vec<u8> = (0..100_u32).map(|value| (value * 7 % 4) as u8).collect();
        let mut row = vec![0; Bits::Two.row_bytes(100)];
        pack_row(Bits::Two, &codes, &mut row);
        let mut block = vec![0; block_bytes(100)];
        pack_block_row(3, &codes, 2.5, -1.0, &mut block);
        for (value, &code) in codes.iter().enumerate() {
            let (byte, shift) = Bits::Two.place(value);
            assert_eq!(row[byte] >> shift & 3, code);
            let (byte, shift) = block_place(3, value);
            assert_eq!(block[byte] >> shift & 3, code);
        }
        let (factors, biases) = block_terms(&block);
        assert_eq!((factors[3], biases[3], factors[2]), (2.5, -1.0, 0.0));
    }
}
