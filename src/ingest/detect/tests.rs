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
