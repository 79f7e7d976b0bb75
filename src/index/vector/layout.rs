//! Where everything stands in a segment: the numbers of `docs/format.md`, header and section table.
//!
//! Useful for: knowing before anything is read that every section lies where it may. Not for: what the sections mean.

use super::{
    bytes::{Damage, Reader},
    codes,
    metric::Metric,
    proof,
};

pub(super) const MAGIC: [u8; 8] = *b"RAGVEC\x1a\n";
pub(super) const END: [u8; 8] = *b"RAGEND\x1a\n";
pub(super) const VERSION: u16 = 1;

pub(super) const HEADER_BYTES: usize = 64;
pub(super) const SECTION_BYTES: usize = 32;
pub(super) const FOOTER_BYTES: usize = 16;
/// Sections start at multiples of this: a cache line, and the width of the widest register.
pub(super) const ALIGN: usize = 64;
/// Where the header's checksum stands.
pub(super) const HEADER_CHECKSUM: usize = 60;

/// The most values a row may have.
pub const MAX_DIM: usize = 65_536;
/// The most rows a segment may have: rows are numbered by u32.
pub const MAX_ROWS: usize = u32::MAX as usize;
pub(super) const MAX_SECTIONS: usize = 64;

/// Flag of a section without which the segment cannot be read.
pub(super) const REQUIRED: u32 = 1;

/// Kinds of sections that version 1 knows.
pub(super) mod kind {
    pub const IDS: u32 = 1;
    pub const ROWS: u32 = 2;
    pub const ID_TABLE: u32 = 3;
    pub const HASHES: u32 = 4;
    pub const HASH_ORDER: u32 = 5;
    pub const SUM: u32 = 6;
    /// In place of ROWS.
    pub const HALF_ROWS: u32 = 7;
    pub const CENTRE: u32 = 16;
    pub const BLOCKS: u32 = 17;
    pub const GRAPH: u32 = 18;
    pub const ROW_CODES: u32 = 19;
    pub const LINKS: u32 = 20;
    pub const PROOF: u32 = 21;
}

/// The kinds a reader must know, in the order of the file. A segment has all of them but one of the two kinds of rows.
pub(super) const NEEDED: [u32; 7] =
    [kind::IDS, kind::ROWS, kind::HALF_ROWS, kind::ID_TABLE, kind::HASHES, kind::HASH_ORDER, kind::SUM];

/// The kind of rows that a segment has not.
const fn other_rows(kind: u32) -> u32 {
    match kind {
        kind::ROWS => kind::HALF_ROWS,
        kind::HALF_ROWS => kind::ROWS,
        _ => kind,
    }
}

/// How many bytes a section has whose length follows from dim and rows; `None` for another, or a number beyond u64.
pub(super) fn section_length(kind: u32, dim: usize, rows: usize) -> Option<u64> {
    let block_bytes = u64::try_from(codes::block_bytes(dim)).ok()?;
    let proof_stride = proof::stride(dim);
    let (dim, rows) = (u64::try_from(dim).ok()?, u64::try_from(rows).ok()?);
    match kind {
        kind::IDS => rows.checked_mul(8),
        kind::ROWS => rows.checked_mul(4)?.checked_mul(dim),
        kind::HALF_ROWS => rows.checked_mul(2)?.checked_mul(dim),
        kind::ID_TABLE => rows.checked_mul(12),
        kind::HASHES => rows.checked_mul(16),
        kind::HASH_ORDER => rows.checked_mul(4),
        kind::SUM => dim.checked_mul(8),
        kind::CENTRE => dim.checked_mul(4),
        kind::PROOF => rows.checked_mul(u64::try_from(proof_stride).ok()?),
        kind::BLOCKS => rows.div_ceil(codes::BLOCK_ROWS as u64).checked_mul(block_bytes),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub length: u64,
    pub checksum: u32,
}

impl Section {
    /// Its bytes; empty if the file is shorter than when it was checked.
    pub fn of<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        let range = || {
            let start = usize::try_from(self.offset).ok()?;
            file.get(start..start.checked_add(usize::try_from(self.length).ok()?)?)
        };
        range().unwrap_or_default()
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.kind.to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        out.extend(self.offset.to_le_bytes());
        out.extend(self.length.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
        out.extend([0; 4]);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let section = Self {
            kind: reader.u32()?,
            flags: reader.u32()?,
            offset: reader.u64()?,
            length: reader.u64()?,
            checksum: reader.u32()?,
        };
        reader.zeros(4)?;
        Ok(section)
    }
}

/// What the head of a segment says, checked against the length of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub dim: usize,
    pub rows: usize,
    pub metric: Metric,
    /// In the order of the file; at most [`MAX_SECTIONS`].
    pub sections: Vec<Section>,
}

impl Header {
    /// Header and section table.
    pub fn encode(&self, file_bytes: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + SECTION_BYTES * self.sections.len());
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(u16::try_from(self.sections.len()).expect("at most MAX_SECTIONS").to_le_bytes());
        out.extend(u32::try_from(self.dim).expect("at most MAX_DIM").to_le_bytes());
        out.extend(u64::try_from(self.rows).expect("at most MAX_ROWS").to_le_bytes());
        out.extend(file_bytes.to_le_bytes());
        out.extend(self.metric.code().to_le_bytes());
        out.resize(HEADER_BYTES, 0);
        for section in &self.sections {
            section.encode(&mut out);
        }
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&out[..HEADER_CHECKSUM]), &out[HEADER_BYTES..]);
        out[HEADER_CHECKSUM..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads and checks header, section table and the magic of the footer. Touches nothing between, allocates the table.
    pub fn decode(file: &[u8]) -> Result<Self, Damage> {
        let mut reader = Reader::new(file);
        reader.magic(&MAGIC)?;
        reader.version(VERSION)?;
        let count = usize::from(reader.u16()?);
        if count > MAX_SECTIONS {
            return Err(Damage::new(10, format!("{count} sections, at most {MAX_SECTIONS} expected")));
        }
        let dim = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
        let rows = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
        let file_bytes = reader.u64()?;
        let metric = reader.u32()?;
        reader.zeros(HEADER_CHECKSUM - reader.at())?;
        let stated = reader.u32()?;

        let table = reader.take(count * SECTION_BYTES)?;
        let found = crc32c::crc32c_append(crc32c::crc32c(&file[..HEADER_CHECKSUM]), table);
        if stated != found {
            return Err(Damage::new(
                HEADER_CHECKSUM,
                format!("checksum {stated:08x} of the header stated, {found:08x} found"),
            ));
        }
        if dim == 0 || dim > MAX_DIM {
            return Err(Damage::new(12, format!("dimension {dim}, 1 to {MAX_DIM} expected")));
        }
        if rows > MAX_ROWS {
            return Err(Damage::new(16, format!("{rows} rows, at most {MAX_ROWS} expected")));
        }
        if u64::try_from(file.len()) != Ok(file_bytes) {
            return Err(Damage::new(24, format!("{file_bytes} bytes stated, {} found", file.len())));
        }
        let metric =
            Metric::from_code(metric).ok_or_else(|| Damage::new(32, format!("metric {metric}, 1 to 3 expected")))?;

        let mut reader = Reader::new(table);
        let mut sections = Vec::with_capacity(count);
        for _ in 0..count {
            sections.push(Section::decode(&mut reader)?);
        }
        let header = Self { dim, rows, metric, sections };
        header.check_sections(file)?;
        Ok(header)
    }

    fn check_sections(&self, file: &[u8]) -> Result<(), Damage> {
        let mut free = HEADER_BYTES + SECTION_BYTES * self.sections.len();
        for (index, section) in self.sections.iter().enumerate() {
            let at = HEADER_BYTES + SECTION_BYTES * index;
            let Section { kind, flags, offset, length, .. } = *section;
            let damage = |what: String| Err(Damage::new(at, format!("section of kind {kind} {what}")));
            if flags & !REQUIRED != 0 {
                return damage(format!("has unknown flags {flags:#x}"));
            }
            if self.sections[..index].iter().any(|earlier| earlier.kind == kind) {
                return damage("stands twice".into());
            }
            let bounds = usize::try_from(offset)
                .ok()
                .and_then(|start| Some((start, start.checked_add(usize::try_from(length).ok()?)?)))
                .filter(|&(start, end)| {
                    start.is_multiple_of(ALIGN)
                        && start >= free
                        && end.checked_add(FOOTER_BYTES).is_some_and(|end| end <= file.len())
                });
            let Some((_, end)) = bounds else {
                return damage(format!("has no place at {offset} with {length} bytes in a file of {}", file.len()));
            };
            free = end;
            if let Some(expected) = section_length(kind, self.dim, self.rows) {
                if expected != length {
                    return damage(format!("has {length} bytes, {expected} expected"));
                }
            } else if flags & REQUIRED != 0 {
                return damage("is needed and unknown: a newer program wrote it".into());
            }
        }
        for kind in NEEDED {
            let has = |kind: u32| self.sections.iter().any(|section| section.kind == kind);
            let other = other_rows(kind);
            if !has(kind) && (other == kind || !has(other)) {
                return Err(Damage::new(HEADER_BYTES, format!("section of kind {kind} is missing")));
            }
            if other != kind && has(kind) && has(other) {
                return Err(Damage::new(HEADER_BYTES, "rows stand in two sections"));
            }
        }
        let footer = free.next_multiple_of(ALIGN);
        let mut reader = Reader::new(file.get(footer..).unwrap_or_default());
        let end = reader.u32().and_then(|_| reader.zeros(4)).and_then(|()| reader.magic(&END));
        match end {
            Ok(()) if reader.left() == 0 => Ok(()),
            _ => Err(Damage::new(footer, "footer expected")),
        }
    }

    pub fn section(&self, kind: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }
}
