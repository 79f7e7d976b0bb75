//! The checks that every extractor passes, whatever the bytes: no panic, and a document that keeps its promises.

use proptest::prelude::*;

use super::{
    Limits,
    archive::tests::{gzipped, tarred},
    docx, extract, odf,
    package::zipped,
    pptx, reason, sheets,
};
use crate::ingest::document::Document;

/// A file name for each extractor, with a good file of its format.
fn formats() -> Vec<(&'static str, Vec<u8>)> {
    let good: [(&str, &str); 20] = [
        ("a.txt", "One line.\nÄnother one.\n\nA second paragraph, 名前はまだ無い.\n"),
        (
            "a.md",
            "---\ntitle: T\n---\n\n# Head\n\nText[^1] *with* `code`.\n\n- a\n  - b\n\n| a | b |\n|---|---|\n| 1 | é |\n\n```rs\n# x\n```\n\n> quote\n\n<div>html <!-- c --></div>\n\nSetext\n---\n\n[^1]: note\n",
        ),
        (
            "a.html",
            "<!doctype html><html lang=en><head><title>T</title><meta charset=utf-8></head><body><h1>H</h1><p>Text &amp; more<ul><li>x<li>y</ul><table><tr><th>a<th>b<tr><td rowspan=2>1<td>é</table><pre>x\ny</pre></body></html>",
        ),
        ("a.rs", "//! doc\n\n/// Adds.\npub fn add() {\n    1\n}\n\nimpl X {\n    /* é */ fn y() {}\n}\n"),
        ("a.yaml", "a: 1\nb:\n  - c: \"é\"\n"),
        ("a.csv", "name,note\n\"ann\",\"two\nlines\"\nbo,é\n"),
        ("a.json", "{\"a\": [1, {\"b\": \"\\u00e9\"}],\n \"c\": {\"d\": null}}"),
        (
            "a.rst",
            ":Author: Ann\n\nTitle\n=====\n\n.. |x| replace:: y\n\nText_ |x| `a <u>`_ ``c``::\n\n    é\n\nPart\n----\n\n- a\n\n  b\n\n.. note:: N\n.. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - 1\n     - 2\n\n+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n=== ===\na   b\n=== ===\n1   2\n=== ===\n\n.. a comment\n",
        ),
        (
            "a.adoc",
            "= Title\nAnn Bo\n:x: y\n\nText {x} https://u[a] <<b,c>>.\n\n== Part\n\n* a\n+\n----\né\n----\n\n[NOTE]\n====\nn\n====\n\n|===\n|a |b\n\n|1 |2\n|===\n\n// gone\n",
        ),
        (
            "a.org",
            "#+TITLE: T\n* TODO Head :tag:\n:PROPERTIES:\n:a: b\n:END:\nText [[u][é]].\n| a | b |\n|---+---|\n| 1 | 2 |\n#+BEGIN_SRC rs\n* x\n#+END_SRC\n# gone\n- a\n: b\n",
        ),
        (
            "a.tex",
            "\\documentclass{article}\n\\title{T}\n\\begin{document}\n\\section{A \\emph{b}}\nText % gone\n$x^2$ caf\\'e \\cite{k}.\n\n\\begin{itemize}\n\\item a\n\\end{itemize}\n\\begin{tabular}{ll}\n\\hline\na & b \\\\\n\\hline\n1 & é \\\\\n\\end{tabular}\n\\end{document}\n",
        ),
        (
            "a.ipynb",
            "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"# H\\n\", \"é\"]},\n {\"cell_type\": \"code\", \"source\": \"x\", \"outputs\": [{\"text\": [\"1\"]}]}], \"nbformat\": 4}",
        ),
        ("a.1", ".TH A 1\n.SH NAME\na \\- é\n.nf\nx\n.fi\n.B b \\(em c\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>é</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nb\n"),
        ("a.log", "2026-01-02 03:04:05 é\n\tat x\n2026-01-02 03:04:06 b\n2026-01-02 03:04:07 c\n"),
        ("a.jsonl", "{\"a\": 1}\n{\"b\": [\"é\", {\"c\": 2}]}\n"),
        (
            "a.eml",
            "From: A <a@x.org>\nSubject: =?utf-8?Q?gr=C3=BC=C3=9Fe?=\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n<p>caf=C3=A9\n--b\nContent-Disposition: attachment; filename=a.txt\n\nattached\n--b--\n",
        ),
        ("a.mbox", "From a 10:00 2026\nSubject: one\n\n>From here\n\nFrom b 10:00 2026\nSubject: two\n\n> quoted é\n"),
        (
            "a.rtf",
            "{\\rtf1\\ansi{\\fonttbl{\\f0\\fcharset128 X;}}{\\stylesheet{\\s1 heading 1;}}\\pard\\s1 Head\\par\\pard\\f0\\'82\\'b1\\u945?{\\footnote note}\\par\\trowd\\intbl a\\cell b\\cell\\row\\pard end}",
        ),
        (
            "a.xml",
            "<?xml version=\"1.0\"?>\n<list>\n<item id=\"1\"><name>é &amp; one</name></item>\n<item><name>two</name></item></list>\n",
        ),
    ];
    let mut formats: Vec<_> = good.into_iter().map(|(name, text)| (name, text.as_bytes().to_vec())).collect();
    formats.push(("a.epub", small_epub()));
    if cfg!(feature = "pdf") {
        formats.push(("a.pdf", small_pdf()));
    }
    formats.extend([
        ("a.docx", docx::tests::small()),
        ("a.pptx", pptx::tests::small()),
        ("a.xlsx", sheets::tests::small()),
        ("a.odt", odf::tests::small_text()),
        ("a.odp", odf::tests::small_presentation()),
        ("a.ods", odf::tests::small_sheet()),
        ("a.zip", zipped(&[("b/a.txt", "é in a zip"), ("a.md", "# Head")])),
        ("a.tar", tarred(&[("b/a.txt", "é in a tar"), ("a.md", "# Head")])),
        ("a.txt.gz", gzipped("é in a gzip".as_bytes())),
    ]);
    formats
}

/// Formats that are not text: one file after another is no longer file.
fn is_container(name: &str) -> bool {
    [".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub", ".rtf", ".zip", ".tar", ".gz"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn small_epub() -> Vec<u8> {
    zipped(&[
        ("META-INF/container.xml", "<container><rootfile full-path='a.opf'/></container>"),
        ("a.opf", "<package><item id='1' href='1.xhtml'/><spine><itemref idref='1'/></spine></package>"),
        ("1.xhtml", "<html><body><h1>One</h1><p>é</p></body></html>"),
    ])
}

/// A PDF of one page with one line of text and a right index.
fn small_pdf() -> Vec<u8> {
    let content = "BT /F1 24 Tf 72 700 Td (Hello battery) Tj ET";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut index = "0000000000 65535 f \n".to_owned();
    for (number, object) in objects.iter().enumerate() {
        index.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let place = pdf.len();
    pdf.push_str(&format!("xref\n0 6\n{index}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{place}\n%%EOF\n"));
    pdf.into_bytes()
}

/// Extracts, and checks what every document promises. A problem is an answer too.
fn check(name: &str, bytes: &[u8]) -> Option<Document> {
    let limits = Limits { archives: true, ..Limits::default() };
    let document = extract(name, bytes.to_vec(), &limits).ok()?;
    assert_eq!(document.check(), Ok(()), "{name}");
    assert_covered(name, &document);
    assert!(!document.text.contains(['\0', '\r', '\u{feff}', '\u{202e}', '\u{ad}']), "{name}: not cleaned");
    if document.text_is_source {
        assert!(document.blocks.iter().all(|block| block.lines.is_none()), "{name}: lines come from the text");
    }
    assert!(!document.text.trim().is_empty() || !document.warnings.is_empty(), "{name}: empty without a word");
    Some(document)
}

fn assert_covered(name: &str, document: &Document) {
    let text = &document.text;
    let mut at = 0;
    for block in &document.blocks {
        let gap = &text[at..block.span.start];
        assert!(gap.trim().is_empty(), "{name}: {gap:?} is in no block of {text:?}");
        at = block.span.end;
    }
    assert!(text[at..].trim().is_empty(), "{name}: the end is in no block");
}

#[test]
fn good_files_are_read_without_a_word() {
    for (name, good) in formats() {
        let document = check(name, &good).unwrap_or_else(|| panic!("{name} is not read"));
        assert_eq!(document.warnings, [], "{name}");
        assert!(!document.blocks.is_empty(), "{name}");
    }
}

#[test]
fn small_and_strange_files() {
    let mut wrong_utf8 = b"some words \xff\xfe and \xc3( more \xf0\x9f\x92 words\n".repeat(20);
    wrong_utf8.push(0xc3);
    let noise: Vec<u8> = (0..20_000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    let letters: Vec<u8> = noise.iter().map(|byte| b' ' + byte % 95).collect();
    for (name, good) in formats() {
        for bytes in [
            &b""[..],
            b"x",
            b"\n",
            b"\0",
            b"\xef\xbb\xbf",
            b"\xff\xfe",
            b"{",
            b"<",
            b"\"",
            b"#",
            b"|",
            b"---\n",
            b"%PDF-1.7",
        ] {
            check(name, bytes);
        }
        check(name, &[0; 5000]);
        check(name, &[&good[..], &[0; 3]].concat());
        check(name, &[&b"\0"[..], &good].concat());
        check(name, &wrong_utf8);
        check(name, &noise);
        check(name, &letters);
        check(name, &[&good[..], &noise].concat());
    }
}

#[test]
fn s08_a_megabyte_without_a_line_end() {
    for (name, _) in formats() {
        for piece in ["word ", "x", "[", "<b>", "\""] {
            check(name, piece.repeat((1 << 20) / piece.len()).as_bytes());
        }
        for piece in [
            "a[]",
            "\\verb|",
            "\\f[",
            "1\n",
            "+--+\n",
            "[[",
            "#+begin_src\n",
            "é",
            "(",
            "{\"a\":",
            "*_",
            "`",
            "|",
            "&amp;",
            ",",
            "![](",
            "\"a\",",
            "'''",
        ] {
            check(name, piece.repeat((64 << 10) / piece.len()).as_bytes());
        }
    }
}

#[test]
fn s04_deep_nesting() {
    for (name, _) in formats() {
        for (open, close) in [
            ("[", "]"),
            ("{\"a\":", "}"),
            ("<div>", "</div>"),
            ("> ", ""),
            ("- ", ""),
            ("(", ")"),
            ("<table><tr><td>", ""),
            ("  - ", "\n"),
        ] {
            check(name, (open.repeat(20_000) + "core" + &close.repeat(20_000)).as_bytes());
        }
    }
}

#[test]
fn s04_deep_nesting_inside_of_packages() {
    const LEVELS: usize = 20_000;
    for open in [
        "<w:tbl><w:tr><w:tc>",
        "<w:sdt><w:sdtContent>",
        "<w:p><w:r><w:txbxContent>",
        "<a:tbl><a:tr><a:tc>",
        "<p:grpSp>",
        "<text:list><text:list-item>",
        "<text:p><text:note><text:note-body>",
        "<table:table><table:table-row><table:table-cell>",
        "<draw:frame><draw:text-box>",
        "<ol><li>",
        "<navPoint>",
    ] {
        let deep = format!("<x>{}<w:t>core</w:t>core", open.repeat(LEVELS));
        for (name, members) in [
            ("a.docx", vec![("word/document.xml", deep.as_str()), ("word/footnotes.xml", &deep)]),
            (
                "a.pptx",
                vec![
                    ("ppt/presentation.xml", PRESENTATION),
                    ("ppt/_rels/presentation.xml.rels", SLIDE),
                    ("ppt/slide.xml", &deep),
                ],
            ),
            ("a.odt", vec![("content.xml", &deep), ("styles.xml", &deep)]),
            ("a.odp", vec![("content.xml", &deep)]),
            (
                "a.epub",
                vec![
                    ("META-INF/container.xml", "<container><rootfile full-path='a.opf'/></container>"),
                    (
                        "a.opf",
                        "<package><item id='1' href='1.xhtml'/><item id='n' href='n.xhtml' properties='nav'/>\
                         <item id='t' href='t.ncx'/><spine toc='t'><itemref idref='1'/></spine></package>",
                    ),
                    ("1.xhtml", &deep),
                    ("n.xhtml", &deep),
                    ("t.ncx", &deep),
                ],
            ),
        ] {
            check(name, &zipped(&members));
        }
    }
    check("a.rtf", format!("{{\\rtf1 {}", "{\\trowd ".repeat(LEVELS)).as_bytes());
    let parts: String =
        (0..LEVELS).map(|n| format!("--b{n}\nContent-Type: multipart/mixed; boundary=b{}\n\n", n + 1)).collect();
    let mail = format!("From: a@b.c\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b0\n\n{parts}core\n");
    check("a.eml", mail.as_bytes());
}

/// Numbers of rows, columns, items and levels are the document's word: at the edges of every width they are only numbers.
#[test]
fn numbers_of_any_size_are_no_harm() {
    let texts = [
        (
            "a.rst",
            ".. csv-table:: cap\n   :header: a, b\n   :header-rows: N\n   :stub-columns: N\n\n   1, 2\n\nN. one\n#. two\n",
        ),
        ("a.rst", ".. list-table::\n   :header-rows: N\n\n   * - a\n     - b\n"),
        (
            "a.adoc",
            "[start=N]\n. a\n. b\n\n[cols=\"N*\"]\n|===\n|a |b\nN+|x .N+|y N.N+|z\nN*|q\n|===\n\n:leveloffset: +N\n\n== k\n",
        ),
        ("a.org", "1. [@N] a\n2. b\n"),
        (
            "a.tex",
            "\\setcounter{section}{N}\\section{A}\\begin{enumerate}\\setcounter{enumi}{N}\\item a\\item b\\end{enumerate}\\begin{tabular}{l}\\multicolumn{N}{l}{x} & \\multirow{N}{*}{y}\\\\ a\\end{tabular}\\newcommand{\\q}[N]{#N}\\q a\\char N",
        ),
        ("a.1", ".TH A 1\n.nr x N\n.nr x +N\n\\n(x\n.IP N N\na\n.sp N\n\\h'N' \\[uN] \\N'N'\n.TS\nlN s.\na\n.TE\n"),
        (
            "a.html",
            "<ol start=N><li>a<li>b</ol><ol><li value=N>a<li>b</ol><table><tr><td colspan=N>a<td>b<td rowspan=N>c<tr><td>d</table>",
        ),
        ("a.md", "N. a\nN. b\n\n[^N]: x\n"),
        ("a.srt", "N\nN:N:N,N --> N:00:00,000\nx\n\n1\n00:00:01,000 --> 00:00:02,000\ny\n"),
        (
            "a.rtf",
            "{\\rtf1\\ansi\\ucN\\uN ?\\binN x\\trowd\\cellxN\\clmgf\\cell\\row\\fN\\outlinelevelN a\\par\\pnstartN\\lsN\\ilvlN b\\par}",
        ),
        ("a.ipynb", "{\"cells\":[{\"cell_type\":\"code\",\"execution_count\":N,\"source\":[\"x\"]}],\"nbformat\":N}"),
        (
            "a.mbox",
            "From a Tue Dec  1 10:00:00 2026\nFrom: a@b\nContent-Length: N\n\nbody\n\nFrom b Tue Dec  1 10:00:00 2026\nFrom: a@b\n\nbody\n",
        ),
        ("a.emlx", "N\nFrom: a@b\nSubject: x\n\nhi\n"),
        ("a.log", "N-N-NTN:N:NZ INFO x\n[N.N] y\n"),
    ];
    let members = [
        (
            "a.odt",
            "content.xml",
            "<office:body><office:text><text:list><text:list-item text:start-value='N'><text:p>a</text:p></text:list-item></text:list><text:p>a<text:s text:c='N'/></text:p><table:table><table:table-row table:number-rows-repeated='N'><table:table-cell table:number-columns-repeated='N' table:number-columns-spanned='N' table:number-rows-spanned='N'><text:p>c</text:p></table:table-cell></table:table-row></table:table></office:text></office:body>",
        ),
        (
            "a.ods",
            "content.xml",
            "<office:body><office:spreadsheet><table:table><table:table-row table:number-rows-repeated='N'><table:table-cell table:number-columns-repeated='N' table:number-rows-spanned='N'><text:p>1</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body>",
        ),
        (
            "a.docx",
            "word/document.xml",
            "<w:body><w:p><w:pPr><w:outlineLvl w:val='N'/><w:numPr><w:ilvl w:val='N'/><w:numId w:val='N'/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p><w:tbl><w:tr><w:trPr><w:gridBefore w:val='N'/></w:trPr><w:tc><w:tcPr><w:gridSpan w:val='N'/></w:tcPr><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body>",
        ),
    ];
    for number in ["0", "-1", "255", "65535", "2147483647", "4294967295", "9223372036854775807", "18446744073709551615"]
    {
        for (name, text) in texts {
            check(name, text.replace('N', number).as_bytes());
        }
        for (name, member, xml) in members {
            check(name, &zipped(&[(member, &format!("<x>{}</x>", xml.replace("'N'", &format!("'{number}'"))))]));
        }
    }
}

#[test]
fn a_file_cut_at_any_place() {
    for (name, good) in formats() {
        let long = if is_container(name) { good } else { good.repeat(20) };
        for end in (0..long.len()).step_by(97) {
            check(name, &long[..end]);
        }
    }
}

#[test]
fn text_over_the_limit_is_refused() {
    let limits = Limits { max_text_bytes: 1000, ..Limits::default() };
    for (name, good) in formats() {
        let long = if is_container(name) || name.ends_with(".eml") { continue } else { good.repeat(200) };
        let got = extract(name, long, &limits).map(|document| document.text.len()).map_err(|problem| problem.reason);
        assert_eq!(got, Err(reason::TOO_LARGE.into()), "{name}");
    }
}

/// Pieces that mean something to some format, between pieces that mean nothing.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zéß名 ]{0,8}",
        prop::sample::select(vec![
            "\n",
            "\n\n",
            " ",
            "\t",
            "\r\n",
            "\r",
            "# ",
            "## ",
            "- ",
            "1. ",
            "> ",
            "```\n",
            "~~~\n",
            "|",
            "---",
            "\n---\n",
            "===\n",
            "*",
            "_",
            "`",
            "[",
            "](",
            ")",
            "[^1]",
            "[^1]: ",
            "<!--",
            "-->",
            "<b>",
            "</b>",
            "<table>",
            "<tr>",
            "<td>",
            "</td>",
            "</table>",
            "<p>",
            "<ul>",
            "<li>",
            "<pre>",
            "</pre>",
            "<h1>",
            "</h1>",
            "<div hidden>",
            "</div>",
            "<script>",
            "</script>",
            "<title>",
            "&amp;",
            "&#x202e;",
            "&lt",
            "{",
            "}",
            "\"",
            "\"a\":",
            ",",
            ";",
            "]",
            "null",
            "1e5",
            "\\u00e9",
            "\\ud83d",
            "\\",
            "//",
            "/*",
            "*/",
            "fn x() {",
            "class Y:",
            "impl Z {",
            "def f():\n    ",
            "    ",
            ".. x::\n",
            "=====\n",
            "::\n",
            "+--+\n",
            "== ==\n",
            "|===\n",
            "----\n",
            "* ",
            "#+begin_src\n",
            ":a: b\n",
            "[[",
            "]]",
            "\\begin{tabular}",
            "\\end{tabular}",
            "\\section{",
            "\\item",
            "\\\\",
            "&",
            "$",
            "%",
            ".TH A 1\n",
            ".nf\n",
            "\\f",
            "-->",
            "+++\n",
            "title: x\n",
            "\u{200b}",
            "\u{202e}",
            "\u{ad}",
            "\u{feff}",
            "\0",
            "\u{e0041}",
            "👩\u{200d}👧",
            "Content-Type: multipart/mixed; boundary=b\n",
            "Content-Type: message/rfc822\n\n",
            "Content-Transfer-Encoding: base64\n",
            "Subject: =?utf-8?Q?",
            "--b\n",
            "--b--\n",
            "From a 10:00 2026\n",
            "\\par ",
            "\\cell ",
            "\\row ",
            "\\intbl ",
            "\\'e9",
            "\\u945?",
            "{\\footnote ",
            "{\\fonttbl{\\f0\\fcharset128 ",
            "<?xml version='1.0'?>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]>",
            "<sec>",
            "</sec>",
            "<item a='b c'>",
            "</item>",
            "<![CDATA[",
            "]]>",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const PRESENTATION: &str = "<p:presentation><p:sldId r:id='r'/></p:presentation>";
const SLIDE: &str = "<R><Relationship Id='r' Type='x/worksheet' Target='slide.xml'/></R>";
const TOP: &str = "<Relationships><Relationship Id='1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>";
const BOOK: &str = "<workbook><sheets><sheet name='S' sheetId='1' r:id='r'/></sheets></workbook>";

/// Elements that mean something to some office format, in any order.
fn office_pieces() -> impl Strategy<Value = String> {
    let names = [
        "w:p",
        "w:r",
        "w:t",
        "w:tbl",
        "w:tr",
        "w:tc",
        "w:pPr",
        "w:rPr",
        "w:trPr",
        "w:tcPr",
        "w:ins",
        "w:del",
        "w:sdt",
        "w:sdtPr",
        "w:sdtContent",
        "w:footnote w:id='1'",
        "w:footnoteReference w:id='1'",
        "w:style w:styleId='a'",
        "w:pStyle w:val='a'",
        "w:basedOn w:val='a'",
        "w:numPr",
        "w:numId w:val='1'",
        "w:ilvl w:val='1'",
        "w:num w:numId='1'",
        "w:abstractNum w:abstractNumId='1'",
        "w:abstractNumId w:val='1'",
        "w:lvl w:ilvl='1'",
        "w:gridSpan w:val='9'",
        "w:vMerge",
        "w:fldChar w:fldCharType='begin'",
        "w:fldChar w:fldCharType='separate'",
        "w:fldChar w:fldCharType='end'",
        "w:instrText",
        "w:txbxContent",
        "mc:AlternateContent",
        "mc:Choice",
        "mc:Fallback",
        "p:sp",
        "p:ph type='title'",
        "p:txBody",
        "a:p",
        "a:t",
        "a:tbl",
        "a:tr",
        "a:tc vMerge='1'",
        "office:body",
        "text:p",
        "text:h text:outline-level='2'",
        "text:list",
        "text:list-item",
        "text:note",
        "text:note-body",
        "text:span",
        "text:s text:c='9'",
        "draw:page",
        "draw:frame",
        "draw:text-box",
        "table:table",
        "table:table-row",
        "table:table-cell table:number-rows-spanned='9'",
        "table:table-header-rows",
        "row r='3'",
        "c r='B3' t='str'",
        "c s='9'",
        "v",
        "is",
        "t",
        "mergeCell ref='A1:B9'",
        "table",
        "presentation:notes",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(names.to_vec()).prop_map(|name| format!("<{name}>")),
        3 => prop::sample::select(names.to_vec())
            .prop_map(|name| format!("</{}>", name.split(' ').next().unwrap_or(name))),
        1 => prop::sample::select(names.to_vec()).prop_map(|name| format!("<{name}/>")),
        2 => "[a-z7é|\n ]{0,6}",
    ];
    // Well formed more often than not: each piece closes what it can.
    prop::collection::vec(piece, 0..60).prop_map(|pieces| {
        let (mut out, mut open) = ("<x>".to_owned(), Vec::<String>::new());
        for piece in pieces {
            if piece.starts_with("</") {
                out.push_str(&open.pop().unwrap_or_default());
                continue;
            }
            if piece.starts_with('<') && !piece.ends_with("/>") {
                let name = piece.trim_matches(['<', '>']).split(' ').next().unwrap_or_default().to_owned();
                open.push(format!("</{name}>"));
            }
            out.push_str(&piece);
        }
        while let Some(end) = open.pop() {
            out.push_str(&end);
        }
        out + "</x>"
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn any_text_keeps_the_promises(text in pieces()) {
        for name in ["a.txt", "a.md", "a.html", "a.csv", "a.json", "a.jsonl", "a.rs", "a.py", "a.toml", "a.yaml", "a.rst", "a.adoc", "a.org", "a.tex", "a.ipynb", "a.log", "a.cpp", "a.1", "a.srt"] {
            check(name, text.as_bytes());
        }
        for name in ["a.eml", "a.mbox", "a.xml"] {
            check(name, text.as_bytes());
        }
        check("a.rtf", format!("{{\\rtf1 {text}").as_bytes());
        check("a.xml", format!("<rss><item>{text}").as_bytes());
        check("a.xml", format!("<article><p>{text}").as_bytes());
    }

    #[test]
    fn any_bytes_keep_the_promises(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for name in ["a.txt", "a.md", "a.html", "a.csv", "a.json", "a.jsonl", "a.rs", "a.pdf", "a.docx", "a.xls"] {
            check(name, &bytes);
        }
        for name in ["a.eml", "a.mbox", "a.xml", "a.epub"] {
            check(name, &bytes);
        }
        check("a.rtf", &[b"{\\rtf1 ", &bytes[..]].concat());
    }

    #[test]
    fn any_xml_in_an_office_file_keeps_the_promises(xml in office_pieces()) {
        let sheet = format!("<worksheet><sheetData>{xml}</sheetData></worksheet>");
        for (name, members) in [
            ("a.docx", vec![("word/document.xml", &xml), ("word/styles.xml", &xml), ("word/footnotes.xml", &xml), ("word/numbering.xml", &xml)]),
            ("a.pptx", vec![("ppt/presentation.xml", &PRESENTATION.to_owned()), ("ppt/_rels/presentation.xml.rels", &SLIDE.to_owned()), ("ppt/slide.xml", &xml)]),
            ("a.odt", vec![("content.xml", &xml), ("styles.xml", &xml), ("meta.xml", &xml)]),
            ("a.ods", vec![("content.xml", &xml)]),
            ("a.odp", vec![("content.xml", &xml)]),
            ("a.xlsx", vec![("_rels/.rels", &TOP.to_owned()), ("xl/workbook.xml", &BOOK.to_owned()), ("xl/_rels/workbook.xml.rels", &SLIDE.to_owned()), ("xl/slide.xml", &sheet)]),
        ] {
            let members: Vec<(&str, &str)> = members.iter().map(|(name, text)| (*name, text.as_str())).collect();
            check(name, &zipped(&members));
        }
    }

    #[test]
    fn json_values_are_all_written(values in prop::collection::vec("[a-z]{3,9}", 1..20)) {
        // Each value stands at another place of a nested text, and none is lost.
        let mut json = "\"end\"".to_owned();
        for (at, value) in values.iter().enumerate() {
            json = match at % 3 {
                0 => format!("{{\"k{at}\": \"{value}\", \"n\": {json}}}"),
                1 => format!("[\"{value}\", {json}]"),
                _ => format!("[{json}, {{\"z\": \"{value}\"}}]"),
            };
        }
        let document = check("a.json", json.as_bytes()).expect("it is JSON");
        prop_assert!(document.warnings.is_empty());
        for value in &values {
            prop_assert!(document.text.contains(value.as_str()), "{value} of {json} is not in {:?}", document.text);
        }
    }

    #[test]
    fn csv_rows_are_never_cut(rows in prop::collection::vec(prop::collection::vec("[a-z\",\n é]{0,6}", 3..4), 1..30)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["first", "second", "third"]).expect("to memory");
        for row in &rows {
            writer.write_record(row).expect("to memory");
        }
        let bytes = writer.into_inner().expect("to memory");
        let document = check("a.csv", &bytes).expect("it is CSV");
        let blank = |row: &Vec<String>| row.iter().all(|value| value.trim().is_empty()) && row.len() == 1;
        let want = 1 + rows.iter().filter(|row| !blank(row)).count();
        prop_assert_eq!(document.metadata["rows"].parse::<usize>().expect("a number"), want);
    }
}
