//! Archives: each file in a zip, a tar or a gzip is read as what it is, and is a section under its name.
//!
//! Only if it is asked for ([`Limits::archives`]): a folder of backups is seldom what is to be searched. A member is never
//! written anywhere, links and devices in a tar are none of ours, and what is unpacked is bounded for all of it together.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::{
    Extract, Input, Limits,
    blocks::Rendered,
    nested::{File, Nest, Notes},
    package::Package,
    problem, reason,
};
use crate::{index::Problem, ingest::document::Document};

/// Unpacked bytes of a gzip or a tar, whatever their size.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;

/// The least that may be unpacked of a small file.
const FREE_BYTES: u64 = 16 << 20;

/// A gzip that becomes more than this many times its size is a bomb; deflate cannot do more than 1,032.
const MAX_RATIO: u64 = 200;

/// Names in an archive that are the machinery of the systems that made it.
const MACHINERY: [&str; 4] = ["__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini"];

/// Which kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    Zip,
    Tar,
    Gzip,
}

impl Extract for Archive {
    fn extract(&self, input: Input<'_>) -> Result<Document, Problem> {
        self.extract_nested(input, &mut Nest::default())
    }

    fn extract_nested(&self, input: Input<'_>, nest: &mut Nest) -> Result<Document, Problem> {
        if !input.limits.archives {
            return Err(problem(reason::UNSUPPORTED, "an archive; `--archives` reads what is in it"));
        }
        let mut members = Members { out: Rendered::new(input.limits.max_text_bytes), notes: Notes::default() };
        let mut document = Document::default();
        match self {
            Self::Zip => members.zip(input, nest, &mut document)?,
            Self::Tar => members.tar(input.limits, &input.bytes, nest, &mut document)?,
            Self::Gzip => members.gzip(input, nest, &mut document)?,
        }
        members.out.finish(&mut document)?;
        document.warnings.extend(members.notes.into_warnings("files in it"));
        Ok(document)
    }
}

struct Members {
    out: Rendered,
    notes: Notes,
}

impl Members {
    fn member(&mut self, input: (&Limits, &mut Nest), name: &str, bytes: Vec<u8>) {
        let (limits, nest) = input;
        if bytes.is_empty() || MACHINERY.iter().any(|word| name.contains(word)) {
            return;
        }
        let file = File { name, bytes, heading: &[], lines: None };
        let result = nest.read(file, limits, &mut self.out);
        self.notes.add(name, result);
    }

    fn zip(&mut self, input: Input<'_>, nest: &mut Nest, document: &mut Document) -> Result<(), Problem> {
        let mut package = Package::open(input.bytes, input.limits)?;
        let mut names = package.names().to_vec();
        names.sort();
        for name in names {
            match package.read(&name) {
                Ok(Some(bytes)) => self.member((input.limits, nest), &name, bytes),
                Ok(None) => {}
                Err(why) if why.reason == reason::TOO_LARGE => return Err(why),
                Err(why) => self.notes.add(&name, Err(why)),
            }
        }
        document.warnings.extend(package.warning());
        Ok(())
    }

    fn tar(&mut self, limits: &Limits, bytes: &[u8], nest: &mut Nest, document: &mut Document) -> Result<(), Problem> {
        let damaged = |error: std::io::Error| problem(reason::DAMAGED, format!("cannot be read as a tar: {error}"));
        let mut archive = tar::Archive::new(bytes);
        let mut has_members = false;
        for entry in archive.entries().map_err(damaged)? {
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) if !has_members => return Err(damaged(error)),
                Err(error) => {
                    document.warnings.push(problem(reason::DAMAGED, format!("only its beginning was read: {error}")));
                    break;
                }
            };
            has_members = true;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
            // Never more than the archive has, whatever a header says.
            let mut member = Vec::new();
            let read = entry.by_ref().take(bytes.len() as u64).read_to_end(&mut member);
            if read.is_err() {
                document.warnings.push(problem(reason::DAMAGED, format!("`{name}` in it is cut off")));
            }
            self.member((limits, nest), &name, member);
        }
        if !has_members {
            document.warnings.push(problem(reason::EMPTY, "there is no file in it"));
        }
        Ok(())
    }

    /// A tar in it is an archive of its own; any other file stands alone.
    fn gzip(&mut self, mut input: Input<'_>, nest: &mut Nest, document: &mut Document) -> Result<(), Problem> {
        let outer = nest.name().to_owned();
        let packed = std::mem::take(&mut input.bytes);
        let most = (packed.len() as u64).saturating_mul(MAX_RATIO).clamp(FREE_BYTES, MAX_UNPACKED_BYTES);
        let mut decoder = MultiGzDecoder::new(&packed[..]);
        let mut bytes = Vec::new();
        let read = decoder.by_ref().take(most + 1).read_to_end(&mut bytes);
        let kept = decoder
            .header()
            .and_then(|header| header.filename())
            .map(|name| String::from_utf8_lossy(name).into_owned());
        if bytes.len() as u64 > most {
            return Err(problem(reason::TOO_LARGE, format!("it unpacks to more than {} MiB", most >> 20)));
        }
        if let Err(error) = read {
            if bytes.is_empty() {
                return Err(problem(reason::DAMAGED, format!("cannot be read as a gzip: {error}")));
            }
            document.warnings.push(problem(reason::DAMAGED, format!("only its beginning was read: {error}")));
        }
        if is_tar(&bytes) {
            return self.tar(input.limits, &bytes, nest, document);
        }
        let outer = outer.strip_suffix(".gz").filter(|name| !name.is_empty()).map(str::to_owned);
        let name = outer.or(kept).unwrap_or_else(|| "content".into());
        self.member((input.limits, nest), &name, bytes);
        Ok(())
    }
}

/// Whether bytes begin like a tar.
pub fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use super::*;
    use crate::ingest::extract::{extract, package::zipped};

    pub fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("to memory");
        encoder.finish().expect("to memory")
    }

    pub fn tarred(members: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in members {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, text.as_bytes()).expect("to memory");
        }
        builder.into_inner().expect("to memory")
    }

    fn check(name: &str, bytes: Vec<u8>) -> Result<Document, Problem> {
        extract(name, bytes, &Limits { archives: true, ..Limits::default() })
    }

    const MEMBERS: [(&str, &str); 3] =
        [("docs/a.md", "# Alpha\n\nOne.\n"), ("docs/b.txt", "Two.\n"), ("__MACOSX/docs/._a.md", "junk")];

    #[test]
    fn members_are_sections_of_their_own() {
        for (name, bytes) in [
            ("a.zip", zipped(&MEMBERS)),
            ("a.tar", tarred(&MEMBERS)),
            ("a.tar.gz", gzipped(&tarred(&MEMBERS))),
            ("a.tgz", gzipped(&tarred(&MEMBERS))),
        ] {
            let document = check(name, bytes).expect(name);
            let found: Vec<_> =
                document.blocks.iter().map(|b| (b.heading.join(" > "), &document.text[b.span.range()])).collect();
            assert!(found.contains(&("docs/a.md > Alpha".into(), "One.")), "{name}: {found:?}");
            assert!(found.contains(&("docs/b.txt".into(), "Two.")), "{name}: {found:?}");
            assert!(!document.text.contains("junk"), "{name}");
            assert_eq!(document.warnings, [], "{name}");
        }
        let one = check("notes.md.gz", gzipped(b"# Alpha\n\nOne.\n")).expect("a gzip");
        assert_eq!(one.blocks[2].heading, ["notes.md", "Alpha"], "{:?}", one.blocks);
    }

    #[test]
    fn nobody_opens_what_was_not_asked_for() {
        for bytes in [zipped(&MEMBERS), tarred(&MEMBERS), gzipped(b"x")] {
            let problem = extract("a", bytes, &Limits::default()).expect_err("archives are not read");
            assert_eq!(problem.reason, reason::UNSUPPORTED);
        }
    }

    #[test]
    fn s01_bombs_and_ruins() {
        let reason_of = |bytes: Vec<u8>| check("a.gz", bytes).map(|document| document.warnings).map_err(|p| p.reason);
        let bomb = gzipped(&vec![0; 64 << 20]);
        assert_eq!(reason_of(bomb), Err(reason::TOO_LARGE.into()));
        let text = "a line of it\n".repeat(2000);
        let whole = gzipped(text.as_bytes());
        let half = reason_of(whole[..whole.len() / 2].to_vec()).expect("its beginning is there");
        assert_eq!(half[0].reason, reason::DAMAGED);
        assert_eq!(reason_of(whole[..12].to_vec()), Err(reason::DAMAGED.into()));
        // A header that claims more than there is.
        let mut long = tarred(&[("a.txt", "short")]);
        long[124..135].copy_from_slice(b"77777777777");
        let sum: u32 =
            long[..512].iter().enumerate().map(|(i, &b)| if (148..156).contains(&i) { 32 } else { b.into() }).sum();
        long[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        let document = check("a.tar", long);
        assert!(document.is_err() || !document.is_ok_and(|document| document.warnings.is_empty()));
        // Archives in archives in archives.
        let mut deep = gzipped(b"core");
        for _ in 0..6 {
            deep = gzipped(&deep);
        }
        let warnings = reason_of(deep).expect("the outer ones are read");
        assert_eq!(warnings[0].reason, reason::DEEP_NESTING, "{warnings:?}");
    }
}
