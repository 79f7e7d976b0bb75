//! Rows to the bytes of a segment, and several segments to the rows of one.
//!
//! Useful for: writing what [`Segment`] reads, in one pass over the rows for the checksums and one for the bytes. Not for:
//! deciding what to merge (see [`Set::merge_candidates`](super::Set::merge_candidates)).

use std::{borrow::Cow, collections::BTreeSet, io};

use half::{f16, slice::HalfFloatSliceExt};

use super::{
    blocks,
    bytes::Damage,
    hnsw::{self, GraphOptions, Reused},
    input::check_values,
    kernels,
    layout::{ALIGN, END, FOOTER_BYTES, HEADER_BYTES, Header, NEEDED, REQUIRED, SECTION_BYTES, Section, kind},
    metric::Metric,
    parallel, proof,
    quant::{self, Encoder, Rotation},
    segment::{RowFormat, Segment, add},
    tombstones::Tombstones,
};

/// One row to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// The chunk's id; unique among live rows.
    pub id: u64,
    /// Hash of the text that was embedded.
    pub hash: [u8; 16],
    /// `dim` values, all finite.
    pub vector: &'a [f32],
}

/// What a segment has beside its rows, and how it compares.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentOptions {
    pub metric: Metric,
    pub rows: RowFormat,
    /// From how many rows on a segment has two-bit codes, which are scanned instead of the rows.
    pub codes_from: usize,
    /// From how many rows on it has a graph too, which is walked instead.
    pub graph_from: usize,
    pub graph: GraphOptions,
    /// Whether a segment with codes has codes of eight bits too, so that exact search reads a fourth of the bytes and proves
    /// what it leaves out.
    pub exact_codes: bool,
    /// Threads that encode and build. 0: as many as there are cores. Has no say in the bytes.
    pub threads: usize,
}

impl SegmentOptions {
    /// A scan of 1,000 rows of f32 is as fast as one of their codes with what is scored again.
    pub const CODES_FROM: usize = 1024;
    /// Up to here a scan answers in a fraction of a millisecond at a recall that a walk takes longer for.
    pub const GRAPH_FROM: usize = 200_000;
}

impl Default for SegmentOptions {
    fn default() -> Self {
        Self {
            metric: Metric::Dot,
            rows: RowFormat::F32,
            codes_from: Self::CODES_FROM,
            graph_from: Self::GRAPH_FROM,
            graph: GraphOptions::default(),
            exact_codes: false,
            threads: 0,
        }
    }
}

/// The bytes of a segment of these rows. With a graph they stand in the order of the graph, else in their own.
///
/// Panics if a row has another length than `dim` or a value that is not finite, if two rows have one id, if `dim` is not
/// 1 to [`MAX_DIM`](super::MAX_DIM), or if there are more than [`MAX_ROWS`](super::MAX_ROWS) rows: what it writes always
/// verifies. [`check_rows`](super::check_rows) tells so beforehand.
pub fn encode_segment(dim: usize, rows: &[NewRow<'_>], options: &SegmentOptions) -> Vec<u8> {
    let mut out = Vec::new();
    write_segment(dim, rows, options, &mut out).expect("writing to memory");
    out
}

/// Writes a segment of these rows piece by piece, so that a large one is never whole in memory: about 40 bytes a row are,
/// the codes, and while a graph is built 1 byte a value and 300 a row. `out` gets many small writes; give it a buffer.
/// Panics as [`encode_segment`] does, before anything is written.
pub fn write_segment(
    dim: usize,
    rows: &[NewRow<'_>],
    options: &SegmentOptions,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write(dim, rows, options, None, out)
}

fn write(
    dim: usize,
    rows: &[NewRow<'_>],
    options: &SegmentOptions,
    reused: Option<&Reused<'_>>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    if let Err(bad) = check_values(dim, rows, options.rows) {
        panic!("{bad}");
    }
    let codes = Codes::of(dim, rows, options, reused);
    let ordered: Vec<NewRow<'_>>;
    let rows = match &codes.order {
        Some(order) => {
            ordered = order.iter().map(|&row| rows[row as usize]).collect();
            &ordered
        }
        None => rows,
    };
    let format = options.rows;
    let small = SmallSections::of(dim, rows, format);
    let unused = if format == RowFormat::F16 { kind::ROWS } else { kind::HALF_ROWS };
    let needed = NEEDED.into_iter().filter(|&kind| kind != unused);
    let kinds = || needed.clone().chain(codes.sections.iter().map(|(kind, _)| *kind));
    let content = |kind: u32| small.content(kind).or_else(|| codes.content(kind));
    let count = kinds().count();
    let mut sections = Vec::with_capacity(count);
    let mut free = HEADER_BYTES + SECTION_BYTES * count;
    for kind in kinds() {
        let (length, checksum) = match content(kind) {
            Some(bytes) => (bytes.len(), crc32c::crc32c(bytes)),
            None => {
                let append = |(length, checksum), row: &NewRow<'_>| {
                    let bytes = row_bytes(row, format);
                    (length + bytes.len(), crc32c::crc32c_append(checksum, &bytes))
                };
                rows.iter().fold((0, 0), append)
            }
        };
        let offset = free.next_multiple_of(ALIGN);
        // Codes are a faster way to what the rows say: who does not know them can do without.
        let flags = if NEEDED.contains(&kind) { REQUIRED } else { 0 };
        sections.push(Section { kind, flags, offset: offset as u64, length: length as u64, checksum });
        free = offset + length;
    }
    let footer = free.next_multiple_of(ALIGN);
    let header = Header { dim, rows: rows.len(), metric: options.metric, sections };

    let mut out = Sink { out, at: 0, checksum: 0 };
    out.write(&header.encode((footer + FOOTER_BYTES) as u64))?;
    for kind in kinds() {
        out.pad()?;
        match content(kind) {
            Some(bytes) => out.write(bytes)?,
            None => rows.iter().try_for_each(|row| out.write(&row_bytes(row, format)))?,
        }
    }
    out.pad()?;
    debug_assert_eq!(out.at, footer);
    let checksum = out.checksum;
    out.write(&checksum.to_le_bytes())?;
    out.write(&[0; 4])?;
    out.write(&END)
}

/// The sections that a segment has for speed.
#[derive(Default)]
struct Codes {
    sections: Vec<(u32, Vec<u8>)>,
    /// In which order the rows must stand; `None`: in their own.
    order: Option<Vec<u32>>,
}

impl Codes {
    fn of(dim: usize, rows: &[NewRow<'_>], options: &SegmentOptions, reused: Option<&Reused<'_>>) -> Self {
        if rows.len() < options.codes_from.max(1) {
            return Self::default();
        }
        let (kernels, threads) = (kernels::best(), parallel::threads(options.threads));
        let vectors: Vec<&[f32]> = rows.iter().map(|row| row.vector).collect();
        let rotation = Rotation::new(dim);
        let centre = quant::centre(kernels, options.metric, &rotation, &vectors);
        let encoder = Encoder { kernels, metric: options.metric, rotation: &rotation, centre: &centre };
        let proof =
            |vectors: &[&[f32]]| options.exact_codes.then(|| (kind::PROOF, proof::encode(&encoder, vectors, threads)));
        let mut sections = vec![(kind::CENTRE, bytemuck::cast_slice(&centre).to_vec())];
        if rows.len() < options.graph_from {
            sections.push((kind::BLOCKS, blocks::encode(&encoder, &vectors, threads)));
            sections.extend(proof(&vectors));
            return Self { sections, order: None };
        }
        let keys: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let graph = hnsw::build(&encoder, &vectors, &keys, &options.graph, reused, threads);
        let vectors: Vec<&[f32]> = graph.order.iter().map(|&row| vectors[row as usize]).collect();
        sections.push((kind::BLOCKS, blocks::encode(&encoder, &vectors, threads)));
        sections.push((kind::GRAPH, graph.header.encode()));
        sections.push((kind::ROW_CODES, graph.codes));
        sections.push((kind::LINKS, bytemuck::cast_slice(&graph.links).to_vec()));
        sections.extend(proof(&vectors));
        Self { sections, order: Some(graph.order) }
    }

    fn content(&self, kind: u32) -> Option<&[u8]> {
        self.sections.iter().find(|section| section.0 == kind).map(|section| &section.1[..])
    }
}

/// A row as it is stored.
fn row_bytes<'a>(row: &NewRow<'a>, format: RowFormat) -> Cow<'a, [u8]> {
    match format {
        RowFormat::F32 => Cow::Borrowed(bytemuck::cast_slice(row.vector)),
        RowFormat::F16 => {
            let mut half = vec![f16::ZERO; row.vector.len()];
            half.convert_from_f32_slice(row.vector);
            Cow::Owned(bytemuck::cast_slice(&half).to_vec())
        }
    }
}

/// A value as it is read again.
pub(super) fn stored(value: f32, format: RowFormat) -> f32 {
    match format {
        RowFormat::F32 => value,
        RowFormat::F16 => f16::from_f32(value).to_f32(),
    }
}

/// Every section but the rows.
struct SmallSections {
    ids: Vec<u8>,
    id_table: Vec<u8>,
    hashes: Vec<u8>,
    hash_order: Vec<u8>,
    sum: Vec<u8>,
}

impl SmallSections {
    fn of(dim: usize, rows: &[NewRow<'_>], format: RowFormat) -> Self {
        let count = u32::try_from(rows.len()).expect("at most MAX_ROWS");
        let row = |index: u32| &rows[index as usize];
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by_key(|&index| row(index).id);
        for pair in order.windows(2) {
            assert_ne!(row(pair[0]).id, row(pair[1]).id, "two rows have one id");
        }
        let keys = order.iter().flat_map(|&index| row(index).id.to_le_bytes());
        let id_table = keys.chain(order.iter().flat_map(|index| index.to_le_bytes())).collect();

        order.sort_unstable_by_key(|&index| (row(index).hash, index));
        let hash_order = order.iter().flat_map(|index| index.to_le_bytes()).collect();

        let mut sum = vec![0.0; dim];
        let mut values = Vec::with_capacity(dim);
        for row in rows {
            values.clear();
            values.extend(row.vector.iter().map(|&value| stored(value, format)));
            add(&mut sum, &values);
        }
        Self {
            ids: rows.iter().flat_map(|row| row.id.to_le_bytes()).collect(),
            id_table,
            hashes: rows.iter().flat_map(|row| row.hash).collect(),
            hash_order,
            sum: sum.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// `None` for the rows themselves.
    fn content(&self, kind: u32) -> Option<&[u8]> {
        match kind {
            kind::IDS => Some(&self.ids),
            kind::ID_TABLE => Some(&self.id_table),
            kind::HASHES => Some(&self.hashes),
            kind::HASH_ORDER => Some(&self.hash_order),
            kind::SUM => Some(&self.sum),
            _ => None,
        }
    }
}

/// Counts and checksums what goes out.
struct Sink<'a> {
    out: &'a mut dyn io::Write,
    at: usize,
    checksum: u32,
}

impl Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len();
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        Ok(())
    }

    /// Zeros up to the next place a section may start at.
    fn pad(&mut self) -> io::Result<()> {
        const ZEROS: [u8; ALIGN] = [0; ALIGN];
        self.write(&ZEROS[..self.at.next_multiple_of(ALIGN) - self.at])
    }
}

/// The live rows of several parts, to be written as one segment.
pub struct LiveRows<'a> {
    /// Segment and row.
    rows: Vec<(&'a Segment, usize)>,
    reused: Option<Reused<'a>>,
}

impl<'a> LiveRows<'a> {
    /// Finds them. The parts are verified first, so that damage is never written again under a new checksum; an id that is
    /// alive twice is damage too.
    pub fn of(parts: &[(&'a Segment, &Tombstones)]) -> Result<Self, Damage> {
        let live = |&(segment, dead): &(&'a Segment, &Tombstones)| segment.len().saturating_sub(dead.len());
        // The largest graph is the one that is worth keeping.
        let graphs = parts.iter().enumerate().filter(|(_, part)| part.0.graph().is_some());
        let first = graphs.max_by_key(|(_, part)| live(part)).map(|(part, _)| part);
        let ordered = first.into_iter().chain((0..parts.len()).filter(|part| Some(*part) != first));
        let mut rows = Vec::with_capacity(parts.iter().map(live).sum());
        for (segment, dead) in ordered.map(|part| parts[part]) {
            segment.verify()?;
            rows.extend((0..segment.len()).filter(|&row| !dead.contains(row)).map(|row| (segment, row)));
        }
        let mut ids: Vec<u64> = rows.iter().map(|&(segment, row)| segment.ids()[row]).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Damage::new(0, format!("id {} is alive in two rows", pair[0])));
        }
        let reused = first.and_then(|part| {
            let (segment, dead) = parts[part];
            Some(Reused::of(segment.graph()?, |row| !dead.contains(row)))
        });
        Ok(Self { rows, reused })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As [`write_segment`]. A graph that one of the parts had is kept: without the dead, with the others put in. Rows that are
    /// not stored as f32 are while this runs.
    pub fn write(&self, dim: usize, options: &SegmentOptions, out: &mut dyn io::Write) -> io::Result<()> {
        let values: Vec<Cow<'_, [f32]>> = self.rows.iter().map(|&(segment, row)| segment.row(row)).collect();
        let new = |(&(segment, row), vector): (&(&'a Segment, usize), _)| NewRow {
            id: segment.ids()[row],
            hash: segment.hash(row),
            vector,
        };
        let rows: Vec<NewRow<'_>> = self.rows.iter().zip(values.iter().map(|row| &**row)).map(new).collect();
        write(dim, &rows, options, self.reused.as_ref(), out)
    }
}

/// The bytes of one segment of the live rows of several parts of one dimension; `None` if no row is alive, for then there
/// is nothing to write. For a merge that does not fit into memory: [`LiveRows`].
pub fn merge(parts: &[(&Segment, &Tombstones)], options: &SegmentOptions) -> Result<Option<Vec<u8>>, Damage> {
    let dims: BTreeSet<usize> = parts.iter().map(|(segment, _)| segment.dim()).collect();
    assert!(dims.len() <= 1, "segments of dimensions {dims:?} cannot be one");
    let live = LiveRows::of(parts)?;
    Ok(dims.first().filter(|_| !live.rows.is_empty()).map(|&dim| {
        let mut out = Vec::new();
        live.write(dim, options, &mut out).expect("writing to memory");
        out
    }))
}
