//! Whether bytes are a text, and what its beginning says of it: a page, mail, a script, a manual, a log.

use super::{
    super::extract::{is_log, is_wide},
    Format, SAMPLE_BYTES,
};

/// Text has hardly any control characters; in UTF-16 and UTF-32 zero bytes are none.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let tail = &bytes[head.len().max(bytes.len().saturating_sub(SAMPLE_BYTES))..];
    let (mut zeros, mut controls) = (0usize, 0usize);
    for &byte in head.iter().chain(tail) {
        zeros += usize::from(byte == 0);
        controls +=
            usize::from(byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x08 | 0) || byte == 0x7f);
    }
    let seen = head.len() + tail.len();
    (zeros * 100 <= seen && controls * 33 <= seen) || is_wide(bytes)
}

/// Begins like a web page, after comments and an XML declaration.
pub(super) fn looks_like_html(bytes: &[u8]) -> bool {
    let mut start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    start = &start[..start.len().min(4096)];
    loop {
        start = start.trim_ascii_start();
        let end: &[u8] = match start {
            _ if start.starts_with(b"<!--") => b"-->",
            _ if start.starts_with(b"<?xml") => b"?>",
            _ => break,
        };
        match start.windows(end.len()).position(|w| w == end) {
            Some(at) => start = &start[at + end.len()..],
            None => return false,
        }
    }
    let lower = start[..start.len().min(16)].to_ascii_lowercase();
    let marks: [&[u8]; 4] = [b"<!doctype html", b"<html", b"<head>", b"<body"];
    marks.iter().any(|mark| lower.starts_with(mark))
}

/// Mail under any name: header fields that only mail has; after a `From ` line it is a mailbox.
pub(super) fn mail_kind(bytes: &[u8]) -> Option<Format> {
    let head = &bytes[..bytes.len().min(16 << 10)];
    let is_mailbox = head.starts_with(b"From ");
    let (mut only_mail, mut any) = (0, 0);
    for line in head.split(|&byte| byte == b'\n').skip(usize::from(is_mailbox)) {
        let line = line.trim_ascii_end();
        if matches!(line.first(), Some(b' ' | b'\t')) && any > 0 {
            continue;
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { break };
        match line[..colon].to_ascii_lowercase().as_slice() {
            b"received" | b"message-id" | b"mime-version" | b"return-path" | b"delivered-to" => only_mail += 1,
            b"from" | b"to" | b"subject" | b"date" => any += 1,
            name if name.iter().all(|byte| byte.is_ascii_graphic()) => {}
            _ => break,
        }
    }
    match is_mailbox {
        true => (only_mail + any > 1).then_some(Format::Mbox),
        false => (only_mail > 0 && any > 1).then_some(Format::Eml),
    }
}

pub(super) fn by_shebang(bytes: &[u8]) -> Option<Format> {
    let line = bytes.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let line = std::str::from_utf8(&line[..line.len().min(200)]).ok()?;
    let word = |w: &str| {
        w.rsplit('/').next().unwrap_or("").trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
    };
    let mut words = line.split_whitespace().map(word).filter(|w| w != "env" && !w.starts_with('-'));
    Some(Format::Code(match words.next()?.as_str() {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" => "shell",
        "python" | "pypy" => "python",
        "node" | "deno" | "bun" => "javascript",
        "perl" => "perl",
        "ruby" => "ruby",
        "php" => "php",
        "lua" => "lua",
        "Rscript" => "r",
        "runhaskell" | "stack" => "haskell",
        "make" => "make",
        _ => return None,
    }))
}

/// A manual page: named after its section (`.1`, `.3pm`), and with the request that all of them begin with.
pub(super) fn is_manual(extension: &str, bytes: &[u8]) -> bool {
    let is_section =
        extension == "man" || (extension.len() <= 4 && extension.starts_with(|c: char| c.is_ascii_digit()));
    let mut lines = bytes[..bytes.len().min(SAMPLE_BYTES)].split(|&byte| byte == b'\n');
    is_section && lines.any(|line| [&b".TH "[..], b".Dd ", b".Dt "].iter().any(|request| line.starts_with(request)))
}

/// Begins like a log. Wide encodings are not looked into: their logs are read as text.
pub(super) fn looks_like_log(bytes: &[u8]) -> bool {
    is_log(&String::from_utf8_lossy(&bytes[..bytes.len().min(SAMPLE_BYTES / 4)]))
}
