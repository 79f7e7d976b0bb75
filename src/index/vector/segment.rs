//! One segment, read in place: which rows it has, whose they are, and whether its bytes are sound.
//!
//! Useful for: opening in constant time and looking up ids and hashes. Not for: deleted rows (see [`Tombstones`]), search
//! (see [`Set`]).
//!
//! [`Tombstones`]: super::Tombstones
//! [`Set`]: super::Set

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

use half::{f16, slice::HalfFloatSliceExt};

use super::{
    bytes::{Bytes, Damage, Reader, aligned},
    hnsw::{GraphHeader, GraphView, NO_LINK, TWIN},
    layout::{FOOTER_BYTES, Header, Section, kind},
    metric::Metric,
};

/// How a value of a row is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RowFormat {
    #[default]
    F32,
    /// Half the bytes; scores differ from those of f32 in the fourth digit. Up to ±65,504.
    F16,
}

/// One immutable segment. Opening checks header and lengths, touches no row. Cloning is cheap.
///
/// Until [`verify`](Self::verify) has passed, tables and rows may hold anything; then look-ups find nothing rather than
/// something false, and no method panics for it.
#[derive(Clone)]
pub struct Segment {
    bytes: Bytes,
    dim: usize,
    rows: usize,
    metric: Metric,
    at: Places,
}

/// Where the sections stand, checked against the file's length when it was opened.
#[derive(Clone)]
struct Places {
    ids: Range<usize>,
    rows: Range<usize>,
    /// The rows are f16, else f32.
    is_half: bool,
    id_keys: Range<usize>,
    id_rows: Range<usize>,
    hashes: Range<usize>,
    hash_order: Range<usize>,
    sum: Range<usize>,
    /// Only if there are codes.
    codes: Option<CodePlaces>,
    /// Only if there are codes and a graph.
    graph: Option<GraphPlaces>,
}

#[derive(Clone)]
struct GraphPlaces {
    header: Arc<GraphHeader>,
    codes: Range<usize>,
    links: Range<usize>,
}

#[derive(Clone)]
struct CodePlaces {
    centre: Range<usize>,
    blocks: Range<usize>,
    proof: Option<Range<usize>>,
}

/// The codes of a segment.
#[derive(Clone, Copy)]
pub(super) struct Codes<'a> {
    /// Rotated.
    pub centre: &'a [f32],
    pub blocks: &'a [u8],
    /// Codes of eight bits.
    pub proof: Option<&'a [u8]>,
}

impl Segment {
    /// Reads the head of a segment: O(1) in rows. Bytes at an odd address are copied once.
    pub fn open(bytes: Bytes) -> Result<Self, Damage> {
        let bytes = aligned(bytes);
        let header = Header::decode(&bytes)?;
        let (dim, rows) = (header.dim, header.rows);
        let place = |kind| {
            let missing = || Damage::new(0, format!("section of kind {kind} is missing"));
            let Section { offset, length, .. } = *header.section(kind).ok_or_else(missing)?;
            let start = usize::try_from(offset).map_err(|_| missing())?;
            let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
            Ok::<_, Damage>(start..end.ok_or_else(missing)?)
        };
        let is_half = header.section(kind::HALF_ROWS).is_some();
        let id_table = place(kind::ID_TABLE)?;
        let split = id_table.start + 8 * rows;
        let at = Places {
            ids: place(kind::IDS)?,
            rows: place(if is_half { kind::HALF_ROWS } else { kind::ROWS })?,
            is_half,
            id_keys: id_table.start..split,
            id_rows: split..id_table.end,
            hashes: place(kind::HASHES)?,
            hash_order: place(kind::HASH_ORDER)?,
            sum: place(kind::SUM)?,
            codes: match header.section(kind::BLOCKS) {
                Some(_) => Some(CodePlaces {
                    centre: place(kind::CENTRE)?,
                    blocks: place(kind::BLOCKS)?,
                    proof: header.section(kind::PROOF).map(|_| place(kind::PROOF)).transpose()?,
                }),
                None => None,
            },
            graph: match header.section(kind::GRAPH).zip(header.section(kind::BLOCKS)) {
                Some((section, _)) => {
                    let bytes = &bytes[place(kind::GRAPH)?];
                    let header = GraphHeader::decode(bytes, dim, rows)
                        .map_err(|damage| Damage::new(section.offset + damage.offset, damage.what))?;
                    let sized = |kind: u32, each: usize| {
                        let range = place(kind)?;
                        match rows.checked_mul(each) {
                            Some(length) if length == range.len() => Ok(range),
                            _ => Err(Damage::new(
                                range.start,
                                format!("section of kind {kind} has {} bytes for {rows} nodes of {each}", range.len()),
                            )),
                        }
                    };
                    Some(GraphPlaces {
                        codes: sized(kind::ROW_CODES, header.stride)?,
                        links: sized(kind::LINKS, 4 * header.m0)?,
                        header: Arc::new(header),
                    })
                }
                None => None,
            },
        };
        Ok(Self { bytes, dim, rows, metric: header.metric, at })
    }

    fn view<T: bytemuck::AnyBitPattern>(&self, at: &Range<usize>) -> &[T] {
        bytemuck::cast_slice(&self.bytes[at.clone()])
    }

    /// How many values a row has.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How rows are compared.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Centre and blocks of two-bit codes, if there are any.
    pub(super) fn codes(&self) -> Option<Codes<'_>> {
        let CodePlaces { centre, blocks, proof } = self.at.codes.as_ref()?;
        Some(Codes {
            centre: self.view(centre),
            blocks: &self.bytes[blocks.clone()],
            proof: proof.as_ref().map(|proof| &self.bytes[proof.clone()]),
        })
    }

    /// The graph, if there is one.
    pub(super) fn graph(&self) -> Option<GraphView<'_>> {
        let GraphPlaces { header, codes, links } = self.at.graph.as_ref()?;
        Some(GraphView { header, codes: &self.bytes[codes.clone()], links: self.view(links), rows: self.rows })
    }

    /// How many rows there are, deleted ones included.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ids by row.
    pub fn ids(&self) -> &[u64] {
        self.view(&self.at.ids)
    }

    /// Hash of the text that was embedded. Panics if there is no such row.
    pub fn hash(&self, row: usize) -> [u8; 16] {
        self.hashes()[row]
    }

    fn hashes(&self) -> &[[u8; 16]] {
        self.view(&self.at.hashes)
    }

    /// `dim` values; in place if they are stored as f32. Panics if there is no such row.
    pub fn row(&self, row: usize) -> Cow<'_, [f32]> {
        let mut room = Vec::new();
        match self.rows_between(row..row + 1, &mut room) {
            [] => Cow::Owned(room),
            in_place => Cow::Borrowed(in_place),
        }
    }

    /// How a value of a row is stored.
    pub fn row_format(&self) -> RowFormat {
        if self.at.is_half { RowFormat::F16 } else { RowFormat::F32 }
    }

    /// Rows, one after the other: in place, or nothing and all of them in `room`, which grows to hold them. Panics if there
    /// are no such rows.
    fn rows_between(&self, rows: Range<usize>, room: &mut Vec<f32>) -> &[f32] {
        assert!(rows.end <= self.rows, "row {} of a segment of {}", rows.end - 1, self.rows);
        let values = rows.start * self.dim..rows.end * self.dim;
        if !self.at.is_half {
            return &self.view(&self.at.rows)[values];
        }
        room.resize(values.len(), 0.0);
        self.view::<f16>(&self.at.rows)[values].convert_to_f32_slice(room);
        &[]
    }

    /// Rows, one after the other, as f32. Panics if there are no such rows.
    pub(super) fn rows<'a>(&'a self, rows: Range<usize>, room: &'a mut Vec<f32>) -> &'a [f32] {
        match self.rows_between(rows, room) {
            [] => room,
            in_place => in_place,
        }
    }

    /// A row as it is stored. Panics if there is no such row.
    pub(super) fn row_bytes(&self, row: usize) -> &[u8] {
        let width = self.at.rows.len() / self.rows;
        &self.bytes[self.at.rows.clone()][row * width..][..width]
    }

    /// The ids in rising order.
    pub(super) fn id_keys(&self) -> &[u64] {
        self.view(&self.at.id_keys)
    }

    /// The row of each of [`id_keys`](Self::id_keys).
    pub(super) fn id_rows(&self) -> &[u32] {
        self.view(&self.at.id_rows)
    }

    /// Binary search in the table of ids.
    pub fn find_id(&self, id: u64) -> Option<usize> {
        let at = self.id_keys().binary_search(&id).ok()?;
        let row = usize::try_from(*self.id_rows().get(at)?).ok()?;
        (self.ids().get(row) == Some(&id)).then_some(row)
    }

    /// Binary search in the table of hashes; the first row that has it.
    pub fn find_hash(&self, hash: &[u8; 16]) -> Option<usize> {
        self.rows_with_hash(hash).next()
    }

    /// All rows that have a hash, in rising order.
    pub fn rows_with_hash<'a>(&'a self, hash: &'a [u8; 16]) -> impl Iterator<Item = usize> + 'a {
        let (order, hashes) = (self.view::<u32>(&self.at.hash_order), self.hashes());
        let hash_of = move |row: u32| usize::try_from(row).ok().and_then(|row| hashes.get(row));
        let start = order.partition_point(|&row| hash_of(row).is_some_and(|other| other < hash));
        let same = order[start..].iter().take_while(move |&&row| hash_of(row) == Some(hash));
        same.map(|&row| row as usize)
    }

    /// Sum of all rows, `dim` values.
    pub fn sum(&self) -> &[f64] {
        self.view(&self.at.sum)
    }

    /// Reads everything: checksums, order of the tables, finite rows. O(bytes); allocates nothing but one row's sum.
    pub fn verify(&self) -> Result<(), Damage> {
        let file: &[u8] = &self.bytes;
        let header = Header::decode(file)?;
        for section in &header.sections {
            let found = crc32c::crc32c(section.of(file));
            if found != section.checksum {
                let Section { kind, checksum, .. } = section;
                let what = format!("checksum {checksum:08x} of section {kind} stated, {found:08x} found");
                return Err(Damage::new(section.offset, what));
            }
        }
        let footer = file.len().saturating_sub(FOOTER_BYTES);
        Reader::new(&file[footer..])
            .checksum(&file[..footer])
            .map_err(|damage| Damage::new(footer, format!("{} of the whole file", damage.what)))?;
        self.verify_ids()?;
        self.verify_hashes()?;
        self.verify_rows()?;
        self.verify_codes()
    }

    fn verify_ids(&self) -> Result<(), Damage> {
        let (keys, rows, ids) = (self.id_keys(), self.id_rows(), self.ids());
        if let Some(at) = keys.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Damage::new(self.at.id_keys.start + 8 * at, "ids of the table do not rise"));
        }
        // Rising keys that each find themselves name every row once.
        let stray = keys.iter().zip(rows).position(|(id, &row)| ids.get(row as usize) != Some(id));
        match stray {
            Some(at) => Err(Damage::new(self.at.id_rows.start + 4 * at, "the table names another row than the id's")),
            None => Ok(()),
        }
    }

    fn verify_hashes(&self) -> Result<(), Damage> {
        let (order, hashes) = (self.view::<u32>(&self.at.hash_order), self.hashes());
        let key = |row: u32| hashes.get(row as usize).map(|hash| (hash, row));
        // As many strictly rising pairs (hash, row) as there are rows name every row once.
        let rises = |pair: &[u32]| key(pair[0]).is_some() && key(pair[0]) < key(pair[1]);
        let broken = match order {
            [only] => key(*only).is_none().then_some(0),
            _ => order.windows(2).position(|pair| !rises(pair)),
        };
        match broken {
            Some(at) => Err(Damage::new(self.at.hash_order.start + 4 * at, "hashes of the table do not rise")),
            None => Ok(()),
        }
    }

    fn verify_codes(&self) -> Result<(), Damage> {
        let Some(places) = &self.at.codes else { return Ok(()) };
        let centre: &[f32] = self.view(&places.centre);
        if let Some(at) = centre.iter().position(|value| !value.is_finite()) {
            return Err(Damage::new(places.centre.start + 4 * at, "a value of the centre is not finite"));
        }
        let Some(GraphPlaces { header, links, .. }) = &self.at.graph else { return Ok(()) };
        let ends = |list: &[u32]| {
            let list = list.strip_prefix(&[TWIN]).unwrap_or(list);
            let end = list.iter().position(|&link| link == NO_LINK).unwrap_or(list.len());
            let (named, rest) = list.split_at(end);
            named.iter().all(|&link| (link as usize) < self.rows) && rest.iter().all(|&link| link == NO_LINK)
        };
        match self.view::<u32>(links).chunks_exact(header.m0).position(|list| !ends(list)) {
            Some(node) => Err(Damage::new(links.start + 4 * header.m0 * node, "links lead to rows there are not")),
            None => Ok(()),
        }
    }

    fn verify_rows(&self) -> Result<(), Damage> {
        let (mut sum, mut room) = (vec![0.0; self.dim], Vec::new());
        for row in 0..self.rows {
            let values = self.rows(row..row + 1, &mut room);
            if values.iter().any(|value| !value.is_finite()) {
                let at = self.at.rows.start + row * self.row_bytes(row).len();
                return Err(Damage::new(at, "a value of a row is not finite"));
            }
            add(&mut sum, values);
        }
        let same = sum.iter().zip(self.sum()).position(|(found, stated)| found.to_bits() != stated.to_bits());
        match same {
            Some(at) => Err(Damage::new(self.at.sum.start + 8 * at, "the sum is not that of the rows")),
            None => Ok(()),
        }
    }
}

/// Adds a row to the sum by column. In the order of the rows the sum is the same to the last bit on every machine.
pub(super) fn add(sum: &mut [f64], row: &[f32]) {
    for (sum, &value) in sum.iter_mut().zip(row) {
        *sum += f64::from(value);
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("dim", &self.dim).field("rows", &self.rows).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
