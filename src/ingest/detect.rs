//! What format is this? First bytes, then the name.
//!
//! Content wins over the name: a PDF called `.docx` is a PDF. The name decides between formats that are all plain text.
//! Not for reading anything: an answer may be wrong about a file that is damaged.

use super::extract::{is_log, is_tar, is_wide};

/// A format, as far as extraction tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
    /// Program text or configuration, with the name of its language.
    Code(&'static str),
    Csv,
    Json,
    Jsonl,
    /// One mail message.
    Eml,
    /// Many of them.
    Mbox,
    /// A web page saved as a mail message.
    Mhtml,
    Rtf,
    /// XML that is no program's configuration by its name.
    Xml,
    Epub,
    Docx,
    Pptx,
    Xlsx,
    /// The old binary workbook.
    Xls,
    /// OpenDocument, as a package or as one flat XML file.
    Odt,
    Ods,
    Odp,
    Rst,
    AsciiDoc,
    Org,
    Latex,
    Notebook,
    Log,
    Man,
    Subtitles,
    /// Archives of files, which are read only if that is asked for.
    Zip,
    Tar,
    Gzip,
    /// Known, but not read: the word for what it is.
    Unsupported(&'static str),
    /// Neither text nor known.
    Binary,
}

impl Format {
    /// The stable word, as in `SourceRecord::format`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Code(_) => "code",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Eml => "eml",
            Self::Mbox => "mbox",
            Self::Mhtml => "mhtml",
            Self::Rtf => "rtf",
            Self::Xml => "xml",
            Self::Epub => "epub",
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Xlsx => "xlsx",
            Self::Xls => "xls",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Rst => "rst",
            Self::AsciiDoc => "asciidoc",
            Self::Org => "org",
            Self::Latex => "latex",
            Self::Notebook => "notebook",
            Self::Log => "log",
            Self::Man => "man",
            Self::Subtitles => "subtitles",
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::Gzip => "gzip",
            Self::Unsupported(what) => what,
            Self::Binary => "binary",
        }
    }
}

/// Bytes looked at from each end of a file. Only the wide encodings are judged by the whole of it.
const SAMPLE_BYTES: usize = 64 << 10;

/// Decides the format of a file by its bytes and its name.
pub fn detect(name: &str, bytes: &[u8]) -> Format {
    let extension = extension(name);
    if let Some(format) = by_signature(&extension, bytes) {
        return format;
    }
    if !is_text(bytes) {
        let wanted = by_name(name, &extension);
        return match infer::get(bytes) {
            Some(kind) => Format::Unsupported(kind.extension()),
            // A damaged file may have lost its first bytes.
            None => wanted.filter(|format| is_container(*format)).unwrap_or(Format::Binary),
        };
    }
    let named = by_name(name, &extension);
    if matches!(named, None | Some(Format::Text))
        && let Some(mail) = mail_kind(bytes)
    {
        return mail;
    }
    match named {
        Some(Format::Code(_) | Format::Markdown | Format::Csv | Format::Json | Format::Jsonl | Format::Html) => {}
        Some(Format::Rst | Format::AsciiDoc | Format::Org | Format::Latex | Format::Notebook | Format::Log) => {}
        Some(Format::Man | Format::Subtitles) => {}
        Some(Format::Eml | Format::Mbox | Format::Mhtml) => {}
        _ if looks_like_html(bytes) => return Format::Html,
        None | Some(Format::Text) if bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).starts_with(b"<?xml") => {
            return Format::Xml;
        }
        // Text under a name that promises a container: what it is called is not what it is.
        Some(format) if is_container(format) && !bytes.is_empty() => return Format::Text,
        Some(Format::Unsupported(_) | Format::Binary) if !bytes.is_empty() => return Format::Text,
        _ => {}
    }
    match named.or_else(|| by_shebang(bytes)).unwrap_or(Format::Text) {
        Format::Text if is_manual(&extension, bytes) => Format::Man,
        Format::Text if looks_like_log(bytes) => Format::Log,
        format => format,
    }
}

/// A manual page: named after its section (`.1`, `.3pm`), and with the request that all of them begin with.
fn is_manual(extension: &str, bytes: &[u8]) -> bool {
    let is_section =
        extension == "man" || (extension.len() <= 4 && extension.starts_with(|c: char| c.is_ascii_digit()));
    let mut lines = bytes[..bytes.len().min(SAMPLE_BYTES)].split(|&byte| byte == b'\n');
    is_section && lines.any(|line| [&b".TH "[..], b".Dd ", b".Dt "].iter().any(|request| line.starts_with(request)))
}

/// Begins like a log. Wide encodings are not looked into: their logs are read as text.
fn looks_like_log(bytes: &[u8]) -> bool {
    is_log(&String::from_utf8_lossy(&bytes[..bytes.len().min(SAMPLE_BYTES / 4)]))
}

/// The file extension for what people call a format: an extension itself (`md`, `.rs`) or one of our words (`markdown`).
pub fn extension_for(word: &str) -> Option<String> {
    let word = word.trim_start_matches('.').to_lowercase();
    let extension = match word.as_str() {
        "text" | "plain" => "txt",
        "markdown" => "md",
        "python" => "py",
        "rust" => "rs",
        "javascript" => "js",
        "typescript" => "ts",
        "shell" => "sh",
        "ruby" => "rb",
        "notebook" => "ipynb",
        "asciidoc" => "adoc",
        "latex" => "tex",
        other => other,
    };
    by_name("", extension).is_some().then(|| extension.to_owned())
}

fn extension(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

/// Formats that say what they are in their first bytes, where text could hardly begin so.
fn by_signature(extension: &str, bytes: &[u8]) -> Option<Format> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let within = |magic: &[u8], limit: usize| bytes[..bytes.len().min(limit)].windows(magic.len()).any(|w| w == magic);
    if start.starts_with(b"%PDF-") || (extension == "pdf" && within(b"%PDF-", 1024)) {
        return Some(Format::Pdf);
    }
    if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") || starts(b"PK\x07\x08") {
        return Some(match zip_format(bytes) {
            // No members tell, but the name does: it is to be one, and its reader says what is missing.
            Format::Zip => {
                let named = if extension == "epub" { Some(Format::Epub) } else { office_name(extension) };
                named.filter(|format| is_container(*format)).unwrap_or(Format::Zip)
            }
            format => format,
        });
    }
    if starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Some(compound_format(extension, bytes));
    }
    if starts(b"\x1f\x8b\x08") {
        return Some(Format::Gzip);
    }
    if is_tar(bytes) {
        return Some(Format::Tar);
    }
    if let Some(format) = flat_opendocument(start) {
        return Some(format);
    }
    if start.starts_with(b"{\\rtf") {
        return Some(Format::Rtf);
    }
    None
}

/// What a zip is, by the names of its members: never by what stands inside of them, which may be a package too.
fn zip_format(bytes: &[u8]) -> Format {
    // OpenDocument and EPUB begin with a member that says what they are, not packed.
    let kind = bytes.get(30..).and_then(|rest| rest.strip_prefix(b"mimetype")).unwrap_or_default();
    let kind = kind.strip_prefix(b"application/").unwrap_or_default();
    let kinds: [(&[u8], Format); 4] = [
        (b"epub+zip", Format::Epub),
        (b"vnd.oasis.opendocument.text", Format::Odt),
        (b"vnd.oasis.opendocument.spreadsheet", Format::Ods),
        (b"vnd.oasis.opendocument.presentation", Format::Odp),
    ];
    if let Some(&(_, format)) = kinds.iter().find(|(word, _)| kind.starts_with(word)) {
        return format;
    }
    let names = member_names(bytes);
    let has = |start: &str| names.iter().any(|name| name.starts_with(start));
    if has("xl/workbook.bin") {
        return Format::Unsupported("xlsb");
    }
    let folders: [(&str, Format); 4] = [
        ("word/", Format::Docx),
        ("xl/", Format::Xlsx),
        ("ppt/", Format::Pptx),
        ("meta-inf/container.xml", Format::Epub),
    ];
    // The first that tells: where the directory is lost, later names may be those of a package in it.
    let of_name = |name: &String| folders.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, format)| format);
    names.iter().find_map(of_name).unwrap_or(Format::Zip)
}

/// Most members of a zip whose names are looked at.
const MAX_NAMES: usize = 10_000;

/// Names of the members of a zip, in lower case: from its directory, or from the head of each member where the directory
/// is lost.
fn member_names(bytes: &[u8]) -> Vec<String> {
    let number = |at: usize, size: usize| {
        let field = at.checked_add(size).and_then(|end| bytes.get(at..end)).unwrap_or_default();
        field.iter().rev().fold(0usize, |number, &byte| number << 8 | usize::from(byte))
    };
    let name = |at: usize, size: usize| {
        let name = at.checked_add(size).and_then(|end| bytes.get(at..end)).unwrap_or_default();
        String::from_utf8_lossy(name).replace('\\', "/").to_lowercase()
    };
    let mut names = Vec::new();
    // The end of the directory may be followed by a comment.
    let tail = bytes.len().saturating_sub(SAMPLE_BYTES + 22);
    let end = bytes.get(tail..).unwrap_or_default().windows(4).rposition(|window| window == b"PK\x05\x06");
    if let Some(end) = end.map(|end| tail + end) {
        let mut at = end.saturating_sub(number(end + 12, 4));
        while names.len() < MAX_NAMES && bytes.get(at..at + 4) == Some(b"PK\x01\x02") {
            names.push(name(at + 46, number(at + 28, 2)));
            at += 46 + number(at + 28, 2) + number(at + 30, 2) + number(at + 32, 2);
        }
    }
    if names.is_empty() {
        let head = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        let heads = head.windows(4).enumerate().filter(|(_, window)| window == b"PK\x03\x04");
        names.extend(heads.take(MAX_NAMES).map(|(at, _)| name(at + 30, number(at + 26, 2))));
    }
    names
}

/// What a compound file is, by the names of its streams; a package in it is one that needs a password.
fn compound_format(extension: &str, bytes: &[u8]) -> Format {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    // The header says how large a sector is and which one the directory begins in.
    let shift = bytes.get(30).copied().filter(|shift| (7..=16).contains(shift)).unwrap_or(9);
    let place = number(48).and_then(|sector| (u64::from(sector) + 1).checked_mul(1 << shift));
    let place = place.and_then(|place| usize::try_from(place).ok()).unwrap_or(usize::MAX);
    let directory = bytes.get(place..).unwrap_or_default();
    let directory = &directory[..directory.len().min(SAMPLE_BYTES)];
    let has = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        directory.windows(name.len()).any(|w| w == name)
    };
    if has("EncryptedPackage") {
        return office_name(extension).unwrap_or(Format::Docx);
    }
    match extension {
        _ if has("WordDocument") => Format::Unsupported("doc"),
        _ if has("Workbook") || has("Book") => Format::Xls,
        _ if has("PowerPoint Document") => Format::Unsupported("ppt"),
        _ if has("__properties_version1.0") => Format::Unsupported("msg"),
        "doc" | "dot" => Format::Unsupported("doc"),
        "xls" | "xlt" => Format::Xls,
        "ppt" | "pps" => Format::Unsupported("ppt"),
        "msg" => Format::Unsupported("msg"),
        _ => Format::Unsupported("ole"),
    }
}

/// OpenDocument in one XML file says so in its root element.
fn flat_opendocument(start: &[u8]) -> Option<Format> {
    let head = &start[..start.len().min(8192)];
    let has = |what: &[u8]| head.windows(what.len()).any(|w| w == what);
    if !head.starts_with(b"<") || !has(b"<office:document") {
        return None;
    }
    let kinds: [(&[u8], Format); 3] = [
        (b"application/vnd.oasis.opendocument.text", Format::Odt),
        (b"application/vnd.oasis.opendocument.spreadsheet", Format::Ods),
        (b"application/vnd.oasis.opendocument.presentation", Format::Odp),
    ];
    kinds.iter().find(|(mark, _)| has(mark)).map(|&(_, kind)| kind)
}

/// Formats that are no text whatever their name says.
pub fn is_container(format: Format) -> bool {
    match format {
        Format::Pdf
        | Format::Rtf
        | Format::Epub
        | Format::Docx
        | Format::Pptx
        | Format::Xlsx
        | Format::Xls
        | Format::Odt
        | Format::Ods
        | Format::Odp
        | Format::Zip
        | Format::Tar
        | Format::Gzip => true,
        Format::Text
        | Format::Markdown
        | Format::Html
        | Format::Code(_)
        | Format::Csv
        | Format::Json
        | Format::Jsonl
        | Format::Rst
        | Format::AsciiDoc
        | Format::Org
        | Format::Latex
        | Format::Notebook
        | Format::Log
        | Format::Man
        | Format::Subtitles
        | Format::Eml
        | Format::Mbox
        | Format::Mhtml
        | Format::Xml
        | Format::Unsupported(_)
        | Format::Binary => false,
    }
}

/// Names of office formats, with their templates and their forms with macros.
fn office_name(extension: &str) -> Option<Format> {
    Some(match extension {
        "docx" | "docm" | "dotx" | "dotm" => Format::Docx,
        "pptx" | "pptm" | "ppsx" | "ppsm" | "potx" | "potm" => Format::Pptx,
        "xlsx" | "xlsm" | "xltx" | "xltm" => Format::Xlsx,
        "xls" | "xlt" => Format::Xls,
        "odt" | "ott" | "fodt" => Format::Odt,
        "ods" | "ots" | "fods" => Format::Ods,
        "odp" | "otp" | "fodp" => Format::Odp,
        _ => return None,
    })
}

/// Text has hardly any control characters; in UTF-16 and UTF-32 zero bytes are none.
fn is_text(bytes: &[u8]) -> bool {
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
fn looks_like_html(bytes: &[u8]) -> bool {
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
fn mail_kind(bytes: &[u8]) -> Option<Format> {
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

fn by_shebang(bytes: &[u8]) -> Option<Format> {
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

fn by_name(name: &str, extension: &str) -> Option<Format> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let whole = match file {
        "Makefile" | "makefile" | "GNUmakefile" => Some("make"),
        "Dockerfile" | "Containerfile" => Some("dockerfile"),
        "Jenkinsfile" => Some("groovy"),
        "Rakefile" | "Gemfile" | "Vagrantfile" => Some("ruby"),
        "CMakeLists.txt" => Some("cmake"),
        "Cargo.lock" => Some("toml"),
        _ => None,
    };
    if let Some(language) = whole {
        return Some(Format::Code(language));
    }
    Some(match extension {
        "txt" | "text" => Format::Text,
        "log" => Format::Log,
        "srt" | "vtt" => Format::Subtitles,
        "ipynb" => Format::Notebook,
        "rst" | "rest" => Format::Rst,
        "adoc" | "asciidoc" | "asc" => Format::AsciiDoc,
        "org" => Format::Org,
        "tex" | "latex" | "ltx" => Format::Latex,
        "md" | "markdown" | "mdown" | "mkd" | "mkdn" | "mdx" | "qmd" | "rmd" => Format::Markdown,
        "html" | "htm" | "xhtml" | "xht" => Format::Html,
        "pdf" => Format::Pdf,
        "csv" | "tsv" | "tab" | "psv" => Format::Csv,
        "json" | "json5" | "jsonc" | "geojson" | "webmanifest" | "har" => Format::Json,
        "jsonl" | "ndjson" => Format::Jsonl,
        "eml" | "emlx" => Format::Eml,
        "mbox" | "mbx" => Format::Mbox,
        "mht" | "mhtml" => Format::Mhtml,
        "xml" | "nxml" | "svg" | "rss" | "atom" | "opml" | "fb2" | "tei" | "dita" | "dbk" | "docbook" | "kml"
        | "gpx" | "tmx" | "xlf" | "xliff" => Format::Xml,
        "rtf" => Format::Rtf,
        "epub" => Format::Epub,
        other => return office_name(other).or_else(|| language(other).map(Format::Code)),
    })
}

/// The language of a file extension.
fn language(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "rs" => "rust",
        "py" | "pyi" | "pyw" => "python",
        "js" | "mjs" | "cjs" | "jsx" => "javascript",
        "ts" | "tsx" | "mts" | "cts" => "typescript",
        "vue" => "vue",
        "svelte" => "svelte",
        "go" => "go",
        "java" => "java",
        "c" | "h" => "c",
        "cpp" | "cc" | "cxx" | "c++" | "hpp" | "hh" | "hxx" | "h++" | "ipp" | "inl" | "cu" | "cuh" => "cpp",
        "cs" | "csx" => "csharp",
        "fs" | "fsx" | "fsi" => "fsharp",
        "rb" | "rake" | "gemspec" => "ruby",
        "php" | "phtml" => "php",
        "sh" | "bash" | "zsh" | "ksh" | "fish" | "bats" => "shell",
        "ps1" | "psm1" | "psd1" => "powershell",
        "bat" | "cmd" => "batch",
        "sql" => "sql",
        "kt" | "kts" => "kotlin",
        "swift" => "swift",
        "scala" | "sc" | "sbt" => "scala",
        "groovy" | "gradle" => "groovy",
        "lua" => "lua",
        "pl" | "pm" => "perl",
        "r" => "r",
        "jl" => "julia",
        "hs" | "lhs" => "haskell",
        "ml" | "mli" => "ocaml",
        "ex" | "exs" => "elixir",
        "erl" | "hrl" => "erlang",
        "clj" | "cljs" | "cljc" | "edn" => "clojure",
        "lisp" | "el" | "scm" | "rkt" => "lisp",
        "dart" => "dart",
        "zig" => "zig",
        "nim" => "nim",
        "d" => "d",
        "m" | "mm" => "objective-c",
        "f" | "f90" | "f95" | "for" => "fortran",
        "vb" | "bas" => "basic",
        "pas" | "pp" => "pascal",
        "asm" | "s" => "assembly",
        "proto" => "protobuf",
        "graphql" | "gql" => "graphql",
        "tf" | "hcl" | "tfvars" => "hcl",
        "nix" => "nix",
        "cmake" => "cmake",
        "mk" => "make",
        "dockerfile" => "dockerfile",
        "css" | "scss" | "sass" | "less" => "css",
        "xsd" | "xsl" | "xslt" | "plist" | "csproj" | "wsdl" | "rng" | "dtd" => "xml",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "ini" | "cfg" | "conf" | "properties" | "editorconfig" | "desktop" | "service" => "ini",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8], want: Format) {
        assert_eq!(detect(name, bytes), want, "{name} {:?}", &bytes[..bytes.len().min(20)]);
    }

    const FLAT: &[u8] =
        b"<?xml version='1.0'?><office:document office:mimetype='application/vnd.oasis.opendocument.spreadsheet'>";

    /// The head of a member with this name, without its content.
    fn zip(name: &str) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.resize(26, 0);
        bytes.extend([u8::try_from(name.len()).expect("short"), 0, 0, 0]);
        bytes.extend(name.as_bytes());
        bytes
    }

    /// The head of a compound file whose directory stands in its first sector.
    fn compound(stream: &str) -> Vec<u8> {
        let mut bytes = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
        bytes.resize(512, 0);
        bytes[30] = 9;
        bytes.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    }

    #[test]
    fn content_wins_over_the_name() {
        let page = b"<!-- x -->\n<!DOCTYPE html><p>hi";
        check("report.docx", b"%PDF-1.7\n...", Format::Pdf);
        check("page.pdf", page, Format::Html);
        check("page", b"<?xml version='1.0'?>\n<html xmlns=''>", Format::Html);
        check("notes.txt", page, Format::Html);
        check("view.php", page, Format::Code("php"));
        check("notes.md", page, Format::Markdown);
        check("x.pdf", &zip("word/document.xml"), Format::Docx);
        check("x.xlsx", &[zip("ppt/presentation.xml"), zip("xl/workbook.xml")].concat(), Format::Pptx);
        check("x.docx", b"PK\x03\x04....hello.txt", Format::Docx);
        check("x.zip", b"PK\x03\x04....hello.txt", Format::Zip);
        check("x.zip", &zip("mimetypeapplication/vnd.oasis.opendocument.text"), Format::Odt);
        check("x.xml", FLAT, Format::Ods);
        check("x.txt", b"{\\rtf1\\ansi hello}", Format::Rtf);
        check("x.docx", b"only text", Format::Text);
        check("x.pdf", b"garbage %PDF-1.4 after some bytes", Format::Pdf);
        check("new.docx", &compound("EncryptedPackage"), Format::Docx);
        check("new", &compound("EncryptedPackage"), Format::Docx);
        check("old.doc", &compound("Workbook"), Format::Xls);
        check("old.xls", &compound("WordDocument"), Format::Unsupported("doc"));
        check("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0", Format::Unsupported("doc"));
        check("pic.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06", Format::Unsupported("png"));
    }

    #[test]
    fn names_decide_between_texts() {
        for (name, want) in [
            ("a.md", Format::Markdown),
            ("A.MD", Format::Markdown),
            ("a.rs", Format::Code("rust")),
            ("dir.rs/README", Format::Text),
            ("Makefile", Format::Code("make")),
            ("Cargo.toml", Format::Code("toml")),
            ("a.csv", Format::Csv),
            ("a.json", Format::Json),
            ("a.jsonl", Format::Jsonl),
            ("mail.eml", Format::Eml),
            (".gitignore", Format::Text),
            ("strange.qqq", Format::Text),
            ("", Format::Text),
        ] {
            check(name, b"BM25 is a ranking function", want);
        }
        check("run", b"#!/usr/bin/env -S python3.11 -u\nprint()", Format::Code("python"));
        check("run", b"#!/bin/bash\n", Format::Code("shell"));
    }

    #[test]
    fn binary_data_is_not_text() {
        let noise: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        check("a.txt", &noise, Format::Binary);
        check("a.txt", &[0], Format::Binary);
        check("a.txt", &[0; 300_000], Format::Binary);
        check("a.pdf", &noise, Format::Pdf);
        check("a.docx", &noise, Format::Docx);
        let mut log = b"a line\n".repeat(50);
        log.push(0);
        check("a.log", &log, Format::Log);
        let wide: Vec<u8> = "Wide text, no mark.\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        check("a.txt", &wide, Format::Text);
        check("a.txt", "Größe, 名前".as_bytes(), Format::Text);
    }
}
