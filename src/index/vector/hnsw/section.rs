//! The section that says what the graph of a segment is like. `docs/format.md` has its bytes.
//!
//! Useful for: knowing before anything is walked that lengths agree. Not for: whether links lead somewhere.

use super::{GraphOptions, nodes, walk};
use crate::index::vector::{
    bytes::{Damage, Reader},
    codes::Bits,
};

/// Width of the head, before entries and calibration.
const HEAD_BYTES: usize = 32;

/// What stands in the section.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::index::vector) struct GraphHeader {
    pub m0: usize,
    pub bits: Bits,
    /// Bytes of a node.
    pub stride: usize,
    pub ef_construction: usize,
    /// The greatest squared length of a row under an inner product; 1 for the cosine.
    pub reach: f32,
    pub entries: Vec<u32>,
    pub calibration: Vec<Calibrated>,
}

/// What a walk was measured to find and to cost, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::index::vector) struct Calibrated {
    pub k: u32,
    pub ef: u32,
    /// See [`Stop`](super::walk::Stop).
    pub slack: f32,
    /// ann_recall@k.
    pub recall: f32,
    /// Nodes scored.
    pub evaluated: u32,
}

const CALIBRATED_BYTES: usize = 20;

impl GraphHeader {
    pub fn encode(&self) -> Vec<u8> {
        let number = |value: usize| u32::try_from(value).expect("small").to_le_bytes();
        let mut out =
            Vec::with_capacity(HEAD_BYTES + 4 * self.entries.len() + CALIBRATED_BYTES * self.calibration.len());
        for value in [self.m0, self.bits.count(), self.stride, self.ef_construction] {
            out.extend(number(value));
        }
        out.extend(self.reach.to_le_bytes());
        out.extend(number(self.entries.len()));
        out.extend(number(self.calibration.len()));
        out.extend([0; 4]);
        out.extend(self.entries.iter().flat_map(|entry| entry.to_le_bytes()));
        for Calibrated { k, ef, slack, recall, evaluated } in &self.calibration {
            for bits in [*k, *ef, slack.to_bits(), recall.to_bits(), *evaluated] {
                out.extend(bits.to_le_bytes());
            }
        }
        out
    }

    /// Reads and checks the section of a segment of `rows` rows of `dim` values.
    pub fn decode(bytes: &[u8], dim: usize, rows: usize) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        let mut number = || Ok::<_, Damage>(reader.u32()? as usize);
        let (m0, bits, stride, ef_construction) = (number()?, number()?, number()?, number()?);
        let reach = f32::from_bits(reader.u32()?);
        let (entries, calibrated) = (reader.u32()? as usize, reader.u32()? as usize);
        reader.zeros(4)?;
        let bits = Bits::of(bits).ok_or_else(|| Damage::new(4, format!("{bits} bits a value")))?;
        if !(2 * GraphOptions::MIN_M..=walk::MAX_LINKS).contains(&m0) {
            return Err(Damage::new(0, format!("{m0} links a node")));
        }
        if stride != nodes::row_stride(bits, dim) {
            return Err(Damage::new(8, format!("{stride} bytes a node, {} expected", nodes::row_stride(bits, dim))));
        }
        if !reach.is_finite() {
            return Err(Damage::new(16, "a length that is not finite"));
        }
        if entries == 0
            || Some(reader.left())
                != entries.checked_mul(4).and_then(|n| n.checked_add(calibrated.checked_mul(CALIBRATED_BYTES)?))
        {
            let what = format!("{entries} entries and {calibrated} calibrations in {} bytes", reader.left());
            return Err(Damage::new(20, what));
        }
        let at = reader.at();
        let entries = (0..entries).map(|_| reader.u32()).collect::<Result<Vec<_>, _>>()?;
        if let Some(entry) = entries.iter().find(|&&entry| entry as usize >= rows) {
            return Err(Damage::new(at, format!("entry {entry} of {rows} nodes")));
        }
        let calibration = (0..calibrated)
            .map(|_| {
                let (k, ef) = (reader.u32()?, reader.u32()?);
                let (slack, recall) = (f32::from_bits(reader.u32()?), f32::from_bits(reader.u32()?));
                Ok(Calibrated { k, ef, slack, recall, evaluated: reader.u32()? })
            })
            .collect::<Result<_, Damage>>()?;
        Ok(Self { m0, bits, stride, ef_construction, reach, entries, calibration })
    }
}
