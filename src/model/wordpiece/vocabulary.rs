//! Which piece of a word is in the vocabulary: a hash table laid out when this crate is compiled.
//!
//! Useful for: the longest piece at a place of a word, at no cost when the program starts. Not useful for: vocabularies
//! that are read at run time.

/// The vocabulary of BERT's uncased models, one piece a line; a piece's id is its line, from 0.
pub(super) const TEXT: &[u8] = include_bytes!("../../../models/all-minilm-l6-v2-int8/vocab.txt");
const COUNT: usize = 30_522;
/// A power of two above twice `COUNT`, so that a search ends after a step or two.
const SLOTS: usize = 1 << 16;
/// Marks a slot that no piece took; ids are smaller.
const EMPTY: u16 = u16::MAX;
/// No piece is longer, `##` not counted. The table's constructor proves it.
const MAX_PIECE_BYTES: usize = 18;

/// The id of `[UNK]`, which stands for a word that the vocabulary cannot spell.
pub(super) const UNKNOWN: u32 = 100;
/// The id of `[CLS]`, which opens every text.
#[cfg(feature = "onnx")]
pub(crate) const OPEN: u32 = 101;
/// The id of `[SEP]`, which closes every text.
#[cfg(feature = "onnx")]
pub(crate) const CLOSE: u32 = 102;

/// The pieces and the table that finds them.
pub(super) struct Vocabulary {
    /// Where each piece begins in `TEXT`; a line feed ends it. One more entry marks the end.
    starts: [u32; COUNT + 1],
    /// Ids by hash, open addressing with steps of one.
    slots: [u16; SLOTS],
}

pub(super) static BUILTIN: Vocabulary = Vocabulary::build();

// FNV-1a: it grows a byte at a time, so the hashes of all beginnings of a word come in one pass.
const SEED: u32 = 0x811c_9dc5;
/// The hash after `##`, with which every piece begins that continues a word.
const SEED_INSIDE: u32 = step(step(SEED, b'#'), b'#');

const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// The first slot to look at: FNV mixes upwards only, so the upper bits of one more product are taken.
const fn first_slot(hash: u32) -> usize {
    (hash.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

impl Vocabulary {
    // Runs in the compiler, in a fraction of a second.
    const fn build() -> Self {
        let mut starts = [0u32; COUNT + 1];
        let mut slots = [EMPTY; SLOTS];
        let (mut id, mut at) = (0, 0);
        while at < TEXT.len() {
            starts[id] = at as u32;
            let mut hash = SEED;
            while TEXT[at] != b'\n' {
                hash = step(hash, TEXT[at]);
                at += 1;
            }
            let start = starts[id] as usize;
            let inside = at - start > 2 && TEXT[start] == b'#' && TEXT[start + 1] == b'#';
            assert!(at - start <= MAX_PIECE_BYTES + if inside { 2 } else { 0 });
            let mut slot = first_slot(hash);
            while slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = id as u16;
            id += 1;
            at += 1;
        }
        assert!(id == COUNT);
        starts[COUNT] = at as u32;
        Self { starts, slots }
    }

    /// The longest piece that stands in `word` at byte `start`: its id and where it ends. Pieces after the first are those
    /// written with `##`. O(1): at most [`MAX_PIECE_BYTES`] are looked at.
    pub(super) fn longest(&self, word: &[u8], start: usize) -> Option<(u32, usize)> {
        let rest = word.get(start..)?;
        let inside = start > 0;
        let mut hash = if inside { SEED_INSIDE } else { SEED };
        let mut hashes = [0; MAX_PIECE_BYTES];
        let reach = rest.len().min(MAX_PIECE_BYTES);
        for (slot, &byte) in hashes.iter_mut().zip(rest) {
            hash = step(hash, byte);
            *slot = hash;
        }
        (0..reach).rev().find_map(|last| {
            let id = self.find(hashes[last], inside, &rest[..=last])?;
            Some((id, start + last + 1))
        })
    }

    /// The id of `piece`, whose hash (after `##` if it is inside a word) is `hash`.
    fn find(&self, hash: u32, inside: bool, piece: &[u8]) -> Option<u32> {
        let mut slot = first_slot(hash);
        loop {
            let id = self.slots[slot];
            if id == EMPTY {
                return None;
            }
            let spelled = self.spelling(id);
            let spelled = if inside { spelled.strip_prefix(b"##") } else { Some(spelled) };
            if spelled == Some(piece) {
                return Some(u32::from(id));
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// The piece's line in the vocabulary, `##` included.
    fn spelling(&self, id: u16) -> &'static [u8] {
        let id = usize::from(id);
        &TEXT[self.starts[id] as usize..self.starts[id + 1] as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_found_as_the_longest_of_itself() {
        let lines = TEXT.strip_suffix(b"\n").expect("the file ends with a line feed").split(|&b| b == b'\n');
        let mut count = 0;
        for (id, line) in lines.enumerate() {
            count += 1;
            // A piece of the inside is looked up behind some first letter.
            let (word, start) = match line.strip_prefix(b"##") {
                Some(rest) if !rest.is_empty() => ([b"x", rest].concat(), 1),
                _ => (line.to_vec(), 0),
            };
            assert_eq!(BUILTIN.longest(&word, start), Some((id as u32, word.len())), "{}", line.escape_ascii());
        }
        assert_eq!(count, COUNT);
    }

    #[test]
    fn special_pieces_have_their_ids() {
        let spelled = |id| str::from_utf8(BUILTIN.spelling(id as u16)).expect("text");
        assert_eq!(spelled(UNKNOWN), "[UNK]");
        #[cfg(feature = "onnx")]
        assert_eq!((spelled(OPEN), spelled(CLOSE)), ("[CLS]", "[SEP]"));
    }

    #[test]
    fn nothing_longer_than_a_piece_and_nothing_past_the_end() {
        assert_eq!(BUILTIN.longest(b"", 0), None);
        assert_eq!(BUILTIN.longest(b"a", 1), None);
        assert_eq!(BUILTIN.longest(b"a", 9), None);
        assert_eq!(BUILTIN.longest(b"telecommunicationsx", 0).map(|(_, end)| end), Some(18));
        assert_eq!(BUILTIN.longest(&[0xff, 0xfe], 0), None);
    }
}
