//! A zip package in memory: members by name, unpacked one at a time, under our own limits.
//!
//! Nothing a package says of itself is believed before its bytes are there: neither sizes nor counts are allocated for.
//! Members are only ever read; their names are never paths of this machine. A package inside a package is not opened.

mod salvage;

use std::{
    collections::HashMap,
    io::{Cursor, Read},
};

use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::{Limits, problem, reason};
use crate::index::Problem;

/// Most members of a package.
const MAX_MEMBERS: usize = 10_000;

/// A member that becomes more than this many times its packed size, past [`FREE_BYTES`], is a bomb.
const MAX_RATIO: u64 = 200;

/// Unpacked bytes for which no ratio is asked.
const FREE_BYTES: u64 = 16 << 20;

/// Bytes unpacked at once.
const PIECE_BYTES: usize = 64 << 10;

/// An open package.
pub struct Package {
    source: Source,
    /// Where a member stands, by its name and by its name in lower case.
    exact: HashMap<String, usize>,
    folded: HashMap<String, usize>,
    names: Vec<String>,
    /// Bytes that may still come out of it.
    budget: u64,
    max_bytes: u64,
    packed_bytes: u64,
    damage: Option<String>,
}

/// Where members come from.
enum Source {
    Archive(ZipArchive<Cursor<Vec<u8>>>),
    /// The directory is lost.
    Salvaged {
        bytes: Vec<u8>,
        members: Vec<salvage::Member>,
    },
}

impl Package {
    /// Opens a package; unpacks nothing. Members with names that climb (`..`) or begin at a root are left out. Errors:
    /// `damaged` if it is no zip, `encrypted` if it is one in a compound file, `too_large` if it has more than [`MAX_MEMBERS`].
    pub fn open(bytes: Vec<u8>, limits: &Limits) -> Result<Self, Problem> {
        // Office programs put a package that needs a password into a compound file.
        if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
            return Err(problem(reason::ENCRYPTED, "it needs a password"));
        }
        // Counted before the archive makes something of each.
        let headers = bytes.windows(4).filter(|window| window == b"PK\x01\x02").take(2 * MAX_MEMBERS).count();
        if headers >= 2 * MAX_MEMBERS {
            return Err(too_many());
        }
        let packed_bytes = bytes.len() as u64;
        // Looked at first where it stands: an archive that cannot be opened would take the bytes with it.
        let source = match ZipArchive::new(Cursor::new(&bytes[..])) {
            Ok(_) => Source::Archive(ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?),
            Err(error) => {
                let members = salvage::members(&bytes);
                if members.is_empty() {
                    return Err(damaged(&error));
                }
                Source::Salvaged { bytes, members }
            }
        };
        let (found, damage): (Vec<(usize, String)>, _) = match &source {
            Source::Archive(archive) if archive.len() > MAX_MEMBERS => return Err(too_many()),
            Source::Archive(archive) => {
                let name = |index| Some((index, archive.name_for_index(index)?.ok()?.into_owned()));
                let twice = archive.has_duplicate_names().then_some("two members have one name");
                ((0..archive.len()).filter_map(name).collect(), twice)
            }
            Source::Salvaged { members, .. } => {
                let names = members.iter().map(|member| member.name.clone());
                (names.enumerate().collect(), Some("its end is missing: what is left of it was read"))
            }
        };
        let mut package = Self {
            source,
            exact: HashMap::new(),
            folded: HashMap::new(),
            names: Vec::new(),
            budget: limits.max_text_bytes,
            max_bytes: limits.max_text_bytes,
            packed_bytes,
            damage: damage.map(str::to_owned),
        };
        for (index, name) in found {
            let name = name.replace('\\', "/");
            if !is_inside(&name) || name.ends_with('/') {
                continue;
            }
            package.folded.entry(name.to_lowercase()).or_insert(index);
            package.exact.insert(name.clone(), index);
            package.names.push(name);
        }
        Ok(package)
    }

    /// Names of its members, in the order of its directory; folders left out.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Unpacks a member. Its name is looked for as it stands, then without regard to case. `None` if there is none. What
    /// can be had of a damaged member is given, and [`warning`](Self::warning) tells. Errors: `encrypted`, `too_large`.
    pub fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Problem> {
        let Some(index) = self.find(name) else { return Ok(None) };
        let allowed = |packed: u64| packed.min(self.packed_bytes).saturating_mul(MAX_RATIO).max(FREE_BYTES);
        let mut by_ratio = u64::MAX;
        let (unpacked, failure) = match &mut self.source {
            Source::Archive(archive) => match archive.by_index(index) {
                Ok(mut member) => {
                    by_ratio = match member.compression() {
                        CompressionMethod::Stored => self.packed_bytes,
                        _ => allowed(member.compressed_size()),
                    };
                    unpack(&mut member, by_ratio.min(self.budget))
                }
                Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword) => {
                    return Err(problem(reason::ENCRYPTED, format!("`{name}` in it needs a password")));
                }
                Err(error) => (Some(Vec::new()), Some(error.to_string())),
            },
            Source::Salvaged { bytes, members } => match members.get(index) {
                Some(member) => {
                    let packed = member.packed(bytes);
                    by_ratio = allowed(packed.len() as u64);
                    unpack(&mut *member.open(packed), by_ratio.min(self.budget))
                }
                None => return Ok(None),
            },
        };
        let Some(unpacked) = unpacked else {
            let limit = if self.budget <= by_ratio {
                format!("it unpacks to more than {} MiB", self.max_bytes >> 20)
            } else {
                format!("`{name}` in it unpacks to more than {MAX_RATIO} times its size")
            };
            return Err(problem(reason::TOO_LARGE, limit));
        };
        if let Some(failure) = failure {
            self.damage.get_or_insert_with(|| format!("`{name}` in it is damaged: {failure}"));
        }
        self.budget -= unpacked.len() as u64;
        Ok(Some(unpacked))
    }

    /// Says that something in it was damaged, if so.
    pub fn warning(&self) -> Option<Problem> {
        self.damage.as_ref().map(|what| problem(reason::DAMAGED, what.clone()))
    }

    /// The bytes of the package.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.source {
            Source::Archive(archive) => archive.into_inner().into_inner(),
            Source::Salvaged { bytes, .. } => bytes,
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let name = name.trim_start_matches('/');
        self.exact.get(name).or_else(|| self.folded.get(&name.to_lowercase())).copied()
    }
}

/// Unpacks at most so many bytes: `None` if there are more. What came before a failure is given with it.
fn unpack(member: &mut dyn Read, most: u64) -> (Option<Vec<u8>>, Option<String>) {
    let mut out = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match member.read(&mut piece) {
            Ok(0) => return (Some(out), None),
            Ok(count) => {
                out.extend_from_slice(piece.get(..count).unwrap_or_default());
                if out.len() as u64 > most {
                    return (None, None);
                }
            }
            Err(error) => return (Some(out), Some(error.to_string())),
        }
    }
}

/// Resolves a reference that stands in the member `from` to the name of a member: relative to its folder, or from the
/// root if it begins with `/`; without query and fragment. `None` if it climbs out or names another place.
pub fn resolve(from: &str, reference: &str) -> Option<String> {
    let reference = reference.split(['#', '?']).next().unwrap_or("").replace('\\', "/");
    let is_address = reference.split('/').next().is_some_and(|first| first.contains(':'));
    if reference.is_empty() || is_address {
        return None;
    }
    let folder = if reference.starts_with('/') { "" } else { from.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let mut steps: Vec<&str> = Vec::new();
    for step in folder.split('/').chain(reference.split('/')) {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop()?;
            }
            step => steps.push(step),
        }
    }
    (!steps.is_empty()).then(|| steps.join("/"))
}

fn is_inside(name: &str) -> bool {
    let is_drive = name.as_bytes().get(1) == Some(&b':');
    !name.starts_with('/') && !is_drive && !name.contains('\0') && name.split('/').all(|step| step != "..")
}

fn damaged(error: &ZipError) -> Problem {
    problem(reason::DAMAGED, format!("it is no zip package, or its end is missing: {error}"))
}

fn too_many() -> Problem {
    problem(reason::TOO_LARGE, format!("it has more than {MAX_MEMBERS} members"))
}

/// Packages for tests: members in this order, deflated.
#[cfg(test)]
pub fn zipped(members: &[(&str, &str)]) -> Vec<u8> {
    zipped_from(0, members)
}

/// The same, but the first member is not packed: it says what the package is.
#[cfg(test)]
pub fn stored_first(members: &[(&str, &str)]) -> Vec<u8> {
    zipped_from(1, members)
}

#[cfg(test)]
fn zipped_from(first: usize, members: &[(&str, &str)]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (at, (name, text)) in members.iter().enumerate() {
        let method = if at < first { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).expect("to memory");
        writer.write_all(text.as_bytes()).expect("to memory");
    }
    writer.finish().expect("to memory").into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(bytes: Vec<u8>) -> Package {
        Package::open(bytes, &Limits::default()).expect("a package")
    }

    #[test]
    fn members_are_found_by_name() {
        let bytes =
            zipped(&[("a/B.xml", "upper"), ("a/b.xml", "lower"), ("../out", "x"), ("/root", "x"), ("C:/d", "x")]);
        let mut package = open(bytes);
        assert_eq!(package.names(), ["a/B.xml", "a/b.xml"]);
        for (name, want) in [
            ("a/B.xml", Some("upper")),
            ("a/b.xml", Some("lower")),
            ("/a/b.xml", Some("lower")),
            ("A/B.XML", Some("upper")),
            ("../out", None),
            ("root", None),
            ("a", None),
        ] {
            let got = package.read(name).expect("small");
            assert_eq!(got.as_deref(), want.map(str::as_bytes), "{name}");
        }
        assert_eq!(package.warning(), None);
    }

    #[test]
    fn references_are_resolved() {
        for (from, reference, want) in [
            ("word/document.xml", "media/a.png", Some("word/media/a.png")),
            ("ppt/slides/slide1.xml", "../charts/./chart1.xml", Some("ppt/charts/chart1.xml")),
            ("ppt/slides/slide1.xml", "/ppt/x.xml?a#b", Some("ppt/x.xml")),
            ("a.xml", "b\\c.xml", Some("b/c.xml")),
            ("a/b.xml", "../../c.xml", None),
            ("a.xml", "http://x/y", None),
            ("a.xml", "#here", None),
            ("a.xml", "", None),
        ] {
            assert_eq!(resolve(from, reference).as_deref(), want, "{from} {reference}");
        }
    }

    #[test]
    fn s01_bombs_are_refused() {
        let zeros = "\0".repeat(40 << 20);
        let error = open(zipped(&[("a", &zeros)])).read("a").unwrap_err();
        assert_eq!(error.reason, reason::TOO_LARGE);
        let limits = Limits { max_text_bytes: 1000, ..Limits::default() };
        let noise: String = (0..900u32).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
        let mut package = Package::open(zipped(&[("a", &noise), ("b", &noise)]), &limits).expect("small");
        assert!(package.read("a").is_ok());
        assert_eq!(package.read("b").unwrap_err().reason, reason::TOO_LARGE);
        let many: Vec<String> = (0..=MAX_MEMBERS).map(|i| i.to_string()).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
        let error = Package::open(zipped(&many), &Limits::default()).err().expect("too many");
        assert_eq!(error.reason, reason::TOO_LARGE);
    }

    #[test]
    fn what_is_damaged_gives_what_can_be_had() {
        let text: String = (0..20_000u32).map(|i| format!("{i} ")).collect();
        let mut bytes = zipped(&[("a", &text), ("b", "whole")]);
        bytes[30_000] ^= 0xff;
        let mut package = open(bytes);
        let got = package.read("a").expect("no bomb").expect("it is there");
        assert!(got.starts_with(b"0 1 2 3 4"));
        assert_eq!(package.read("b").expect("no bomb").as_deref(), Some(&b"whole"[..]));
        assert_eq!(package.warning().expect("it says so").reason, reason::DAMAGED);
        // Cut off: what has a head is there, as far as it goes.
        let mut bytes = zipped(&[("a", "whole"), ("b", &text)]);
        bytes.truncate(20_000);
        let mut package = open(bytes);
        assert_eq!(package.read("a").expect("no bomb").as_deref(), Some(&b"whole"[..]));
        let got = package.read("b").expect("no bomb").expect("it is there");
        assert!(got.len() > 20_000 && text.as_bytes().starts_with(&got));
        assert_eq!(package.warning().expect("it says so").reason, reason::DAMAGED);
        for bytes in [&b""[..], b"PK\x03\x04", b"PK\x05\x06", b"garbage"] {
            let error = Package::open(bytes.to_vec(), &Limits::default()).err().expect("no zip");
            assert_eq!(error.reason, reason::DAMAGED);
        }
    }

    #[test]
    fn a_member_with_a_password_says_so() {
        let mut bytes = zipped(&[("a", "secret")]);
        // The flag of encryption, in the header of the member and in the directory.
        for (mark, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
            let at = bytes.windows(4).position(|window| window == mark).expect("a header");
            bytes[at + flags] |= 1;
        }
        assert_eq!(open(bytes).read("a").unwrap_err().reason, reason::ENCRYPTED);
    }
}
