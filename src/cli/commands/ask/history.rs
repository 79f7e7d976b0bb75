//! Conversations in files: one turn a line, read before a question and added to after it.

use std::{
    fs::{self, File},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use rag::{retrieve::Turn, serve::wire, types::Kind};
use serde_json::Value;

use crate::cli::report::Failure;

const SCHEMA: &str = "rag.turn/1";
/// A longer file is no conversation.
const MAX_BYTES: u64 = 64 << 20;

/// The turns of a file; none if there is no such file yet. A line that is no turn is an error with its number.
pub fn read(path: &Path) -> Result<Vec<Turn>, Failure> {
    let shown = path.display();
    let cannot = |error: io::Error| Failure::usage(format!("cannot read the history `{shown}`: {error}"));
    let text = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(error)),
        Ok(meta) if meta.len() > MAX_BYTES => {
            return Err(Failure::usage(format!("the history `{shown}` is longer than {} MiB", MAX_BYTES >> 20)));
        }
        Ok(_) => fs::read(path).map_err(cannot)?,
    };
    let mut turns = Vec::new();
    for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        turns.push(turn(line).map_err(|why| {
            let line: u32 = number;
            Failure::usage(format!("`{shown}` line {line}: {why}"))
                .hint("each line is one turn: {\"schema\":\"rag.turn/1\",\"question\":…,\"answer\":…}")
        })?);
    }
    Ok(turns)
}

fn turn(line: &[u8]) -> Result<Turn, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| match error.is_eof() {
        true => "it breaks off".to_owned(),
        false => "it is not JSON".to_owned(),
    })?;
    let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    match text("schema").as_deref() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("its schema is `{other}`, not `{SCHEMA}`")),
        None => return Err(format!("it has no `schema`; `{SCHEMA}` is wanted")),
    }
    let wanted = |field: &str| text(field).ok_or_else(|| format!("it has no `{field}`"));
    Ok(Turn { question: wanted("question")?, answer: wanted("answer")?, searched: text("searched") })
}

/// Adds a turn and makes it durable. What could not be written whole is taken back.
pub fn append(path: &Path, turn: &wire::TurnResult) -> Result<(), Failure> {
    let fail =
        |error: io::Error| Failure::new(Kind::Io, format!("cannot write the history `{}`: {error}", path.display()));
    let is_new = !path.exists();
    let mut file = File::options().create(true).append(true).read(true).open(path).map_err(fail)?;
    // Two conversations that share a file do not write into each other's lines.
    file.lock().map_err(fail)?;
    let before = file.seek(SeekFrom::End(0)).map_err(fail)?;
    let mut line = serde_json::to_vec(turn).map_err(|error| fail(error.into()))?;
    line.push(b'\n');
    if before > 0 && !ends_line(&mut file).map_err(fail)? {
        line.insert(0, b'\n');
    }
    if let Err(error) = file.write_all(&line).and_then(|()| file.sync_all()) {
        let _ = file.set_len(before);
        return Err(fail(error));
    }
    if is_new {
        sync_folder(path).map_err(fail)?;
    }
    Ok(())
}

fn ends_line(file: &mut File) -> io::Result<bool> {
    use std::io::Read as _;
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}

/// A new name is durable when its folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
