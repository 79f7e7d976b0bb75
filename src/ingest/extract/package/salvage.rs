//! Members of a zip whose directory is lost, as of a download that was cut off: each has a head of its own.

use std::io::Read;

use flate2::read::DeflateDecoder;

use super::MAX_MEMBERS;

const HEAD: &[u8; 4] = b"PK\x03\x04";

/// Size of the fixed part of a head.
const HEAD_BYTES: usize = 30;

/// A member, as far as its head tells.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    start: usize,
    /// Where it ends at the latest: by its size, if its head tells, or where the next head begins.
    end: usize,
    is_deflated: bool,
}

/// The members that have a head, can be unpacked without a password, and do not overlap. Linear.
pub fn members(bytes: &[u8]) -> Vec<Member> {
    let mut found: Vec<Member> = Vec::new();
    let mut at = 0;
    while found.len() < MAX_MEMBERS
        && let Some(next) = bytes.get(at..).and_then(|rest| rest.windows(4).position(|window| window == HEAD))
    {
        let head = at + next;
        at = head + HEAD.len();
        let Some(member) = member(bytes, head) else { continue };
        if let Some(last) = found.last_mut() {
            last.end = last.end.min(head);
        }
        at = member.start;
        found.push(member);
    }
    found
}

fn member(bytes: &[u8], head: usize) -> Option<Member> {
    let fields = bytes.get(head..head + HEAD_BYTES)?;
    let number = |at: usize| Some(u16::from_le_bytes([*fields.get(at)?, *fields.get(at + 1)?]));
    let (flags, method) = (number(6)?, number(8)?);
    if flags & 1 != 0 || !matches!(method, 0 | 8) {
        return None;
    }
    let (name, extra) = (usize::from(number(26)?), usize::from(number(28)?));
    let name_at = head + HEAD_BYTES;
    let start = name_at + name + extra;
    let name = String::from_utf8_lossy(bytes.get(name_at..name_at + name)?).into_owned();
    let size = bytes.get(head + 18..head + 22).and_then(|size| size.try_into().ok()).map_or(0, u32::from_le_bytes);
    // Without a size, or with one of another form, it may reach to the end.
    let end = if flags & 8 != 0 || size == 0 || size == u32::MAX { None } else { start.checked_add(size as usize) };
    let end = end.unwrap_or(bytes.len()).min(bytes.len());
    (start <= bytes.len()).then_some(Member { name, start, end, is_deflated: method == 8 })
}

impl Member {
    /// Its bytes, with what may follow them.
    pub fn packed<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Unpacks its bytes.
    pub fn open<'a>(&self, packed: &'a [u8]) -> Box<dyn Read + 'a> {
        if self.is_deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) }
    }
}
