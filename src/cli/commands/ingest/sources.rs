//! What is to be ingested: paths that exist, standard input, pages.

use std::{
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use rag::{
    ingest::{self, Given, PageUrl, STDIN_ROOT, detect::extension_for},
    types::Kind,
};

use super::{Args, UNNAMED};
use crate::cli::report::Failure;

/// What is to be ingested, kind by kind.
#[derive(Default)]
pub struct Sources {
    pub paths: Vec<PathBuf>,
    pub given: Vec<Given>,
    pub pages: Vec<PageUrl>,
}

impl Sources {
    /// Looks at every path before an index is made: a typo must leave nothing behind. Reads standard input, if it is named.
    pub fn of(args: &Args, max_bytes: u64) -> Result<Self, Failure> {
        let mut sources = Self::default();
        let mut reads_stdin = false;
        for path in &args.paths {
            match path.to_str() {
                Some("-") => reads_stdin = true,
                Some(text) if PageUrl::is_one(text) => {
                    sources
                        .pages
                        .push(text.parse().map_err(|error: ingest::NoPage| Failure::usage(error.to_string()))?);
                }
                Some(text) if is_other_address(text) && path.symlink_metadata().is_err() => {
                    return Err(Failure::usage(format!("`{text}`: pages are fetched from http:// and https:// alone"))
                        .hint("fetch it with another program and pipe it: `… | rag ingest - --name NAME`"));
                }
                Some(_) | None => {
                    if let Err(source) = path.symlink_metadata() {
                        let path = path.clone();
                        return Err(if source.kind() == io::ErrorKind::NotFound {
                            ingest::Error::MissingPath { path }.into()
                        } else {
                            ingest::Error::Unreadable { path, source }.into()
                        });
                    }
                    sources.paths.push(path.clone());
                }
            }
        }
        if !reads_stdin && (args.extension.is_some() || args.name != UNNAMED) {
            return Err(Failure::usage("`--name` and `--type` are of standard input, which is not asked for")
                .hint("add `-` to the paths"));
        }
        if reads_stdin {
            sources.given.push(Given {
                root: STDIN_ROOT.to_owned(),
                name: args.name.clone(),
                extension: args.extension.clone(),
                title: None,
                bytes: standard_input(max_bytes)?,
            });
        }
        Ok(sources)
    }
}

/// `ftp://host/page`, `file:///etc/motd`: an address that no page is fetched from.
fn is_other_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// All of standard input, up to a limit.
fn standard_input(max_bytes: u64) -> Result<Vec<u8>, Failure> {
    let input = io::stdin();
    if input.is_terminal() {
        return Err(Failure::usage("standard input is a terminal").hint("pipe a text into it: `… | rag ingest -`"));
    }
    let mut bytes = Vec::new();
    input
        .lock()
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Kind::Io, format!("standard input cannot be read: {error}")))?;
    if bytes.is_empty() {
        return Err(Failure::usage("nothing came by standard input"));
    }
    if bytes.len() as u64 > max_bytes {
        return Err(Failure::usage(format!("standard input has more than {max_bytes} bytes"))
            .hint("`--max-file-size` raises the limit"));
    }
    Ok(bytes)
}

/// A name that a path below `stdin/` can have.
pub fn source_name(text: &str) -> Result<String, String> {
    let parts = || text.split('/');
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(char::is_control);
    if parts().all(is_part) && !text.contains('\\') {
        Ok(text.to_owned())
    } else {
        Err("a name is a relative path like `notes.md`".to_owned())
    }
}

pub fn extension(word: &str) -> Result<String, String> {
    extension_for(word).ok_or_else(|| "no format of that name; say its file extension, as in `md`".to_owned())
}
