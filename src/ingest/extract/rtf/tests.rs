use crate::ingest::{
    document::{BlockKind, Document},
    extract::{Limits, extract, reason},
};

fn read(rtf: &[u8]) -> Document {
    let document = extract("a.rtf", rtf.to_vec(), &Limits::default()).expect("RTF");
    assert_eq!(document.check(), Ok(()));
    document
}

/// The body of a document, its blocks as lines with their kinds.
fn check(body: &str, want: &[&str]) {
    let document = read(format!("{{\\rtf1\\ansi\\ansicpg1252\\deff0 {body}}}").as_bytes());
    let got: Vec<String> = document
        .blocks
        .iter()
        .map(|block| {
            let kind = match &block.kind {
                BlockKind::Heading(level) => format!("h{level} [{}] ", block.heading.join(" > ")),
                BlockKind::List => "list ".into(),
                BlockKind::Table { .. } => "table ".into(),
                BlockKind::Paragraph | BlockKind::Quote | BlockKind::Fence | BlockKind::Code | BlockKind::Record => {
                    String::new()
                }
            };
            kind + &document.text[block.span.range()]
        })
        .collect();
    assert_eq!(got, want, "{body}");
    assert!(document.warnings.is_empty(), "{:?}", document.warnings);
}

#[test]
fn paragraphs_and_characters() {
    check(
        "one\\line two\\par \\pard\\'e4\\ldblquote q\\rdblquote\\emdash\\~x\\_y\\-z\\\\ \\{\\}\\par\\u945?\\uc2\\u8364\\'80\\'80 5\\uc0\\u-10179\\u-8704.\\\nlast",
        &["one\ntwo", "ä“q”— x-yz\\ {}", "α€ 5😀.", "last"],
    );
    check("a{\\uc1{\\uc0\\u945}\\u946 b}c {\\u947}{x}", &["aαβc γx"]);
}

#[test]
fn encodings_come_with_the_font() {
    check(
        "{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}{\\f1\\fcharset128 MS Mincho;}\\f2\\fcharset238 X;{\\f3\\fcharset204{\\*\\fname Y;}Y;}}\
         \\f1\\'82\\'b1\\'83e\\f0  {\\f2\\'b9}{\\f3\\'cf}\\plain\\'e9",
        &["こテ ąПé"],
    );
    for (head, text, want) in [
        ("\\ansicpg1250", "\\'b9\\'b3", "ął"),
        ("\\ansicpg932", "\\'82\\'b1", "こ"),
        ("\\mac", "\\'8e", "é"),
        ("\\ansicpg65001", "\\'c3\\'a9", "é"),
    ] {
        let document =
            read(format!("{{\\rtf1\\ansi{head}\\deff0{{\\fonttbl{{\\f0\\fcharset0 A;}}}}\\f0 {text}}}").as_bytes());
        assert_eq!(document.text, want, "{head}");
    }
    assert_eq!(read(b"{\\rtf1\\ansi\\ansicpg932 \x82\xb1}").text, "こ");
}

#[test]
fn what_is_not_read() {
    check(
        "{\\colortbl;\\red0;}{\\*\\generator X;}{\\header head}{\\footerf foot}{\\pict\\bin4 }}}}00ff}{\\*\\unknown {deep} x}\
         a{\\v hidden}{\\deleted gone}\\v0 b{\\field{\\*\\fldinst HYPERLINK \"http://x\"}{\\fldrslt link}}{\\xe index}\
         {\\upr{ansi}{\\*\\ud{\\u945?}}}{\\shp{\\*\\shpinst{\\sp{\\sn n}{\\sv 1}}{\\shptxt box\\par}}{\\shprslt twice}}c\\par d",
        &["ablinkαc", "box", "d"],
    );
}

#[test]
fn headings_lists_and_notes() {
    check(
        "{\\stylesheet{\\s0 Normal;}{\\s1\\outlinelevel0 heading 1;}{\\s2 heading 2;}{\\*\\cs3 heading 3;}{\\s4\\outlinelevel2 \\'dcberschrift 3;}}\
         \\pard\\s1 A\\par\\pard\\plain text{\\super\\chftn{\\footnote\\pard\\chftn  a note}}\\par\\pard\\s2 B\\par\\pard\\outlinelevel2 C\\par\
         \\pard\\s4 D\\par\\pard\\ls1{\\listtext\\'b7\\tab}one\\par{\\listtext\\'b7\\tab}two\\par\\pard\\ls1\\ilvl1{\\listtext a)\\tab}three\\par\\pard{\\pntext 1.\\tab}old\\par end",
        &[
            "h1 [A] A",
            "text[1]",
            "[1] a note",
            "h2 [A > B] B",
            "h3 [A > B > C] C",
            "h3 [A > B > D] D",
            "list - one\n- two\n  a) three\n1. old",
            "end",
        ],
    );
}

#[test]
fn tables() {
    check(
        "before\\par\\trowd\\cellx1\\cellx2\\pard\\intbl K\\cell V\\cell\\row\\trowd a\\par a\\cell 1|2\\cell\\row\\pard after",
        &["before", "table | K | V |\n| --- | --- |\n| a a | 1\\|2 |", "after"],
    );
    check(
        "\\trowd\\trhdr\\pard\\intbl 1\\cell 2\\cell\\row\\trowd\\pard\\intbl 3\\cell\\pard\\intbl\\itap2 x\\nestcell y\\nestcell{\\*\\nesttableprops\\nestrow}{\\nonesttables\\par}\\pard\\intbl\\itap1 z\\cell\\row\\pard",
        &["table | 1 | 2 |\n| --- | --- |\n| 3 | x, y z |"],
    );
    check("\\trowd\\pard\\intbl only\\cell\\row\\pard x", &["only", "x"]);
}

#[test]
fn what_the_document_says_of_itself() {
    let document = read(
        b"{\\rtf1\\ansi{\\info{\\title A \\'e4 title}{\\author Ann}{\\operator Bo}{\\subject S}{\\creatim\\yr2024\\mo5\\dy10\\hr9\\min30}}text}",
    );
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("A ä title"), Some("Ann")));
    assert_eq!(
        (document.metadata["subject"].as_str(), document.metadata["created"].as_str()),
        ("S", "2024-05-10T09:30:00")
    );
    assert_eq!(document.text, "text");
}

#[test]
fn damaged_and_hostile_files() {
    for (rtf, want) in [
        ("{\\rtf1 a\\par b".to_owned(), Ok("a\n\nb")),
        ("{\\rtf1 ".into(), Err(reason::DAMAGED)),
        (format!("{{\\rtf1 {}core", "{".repeat(200_000)), Ok("core")),
        (format!("{{\\rtf1 {}core", "{\\*\\x".repeat(100_000)), Err(reason::DAMAGED)),
        ("{\\rtf1 \\bin2147483647 core".into(), Ok("core")),
        (format!("{{\\rtf1 {} core", "\\trowd\\intbl\\cell".repeat(50_000)), Ok("core")),
        (format!("{{\\rtf1 {}core", "{\\footnote{\\info{\\title ".repeat(50_000)), Err(reason::DAMAGED)),
        (format!("{{\\rtf1 {}core", "\\uc0\\u65".repeat(50_000)), Ok("core")),
    ] {
        let got = extract("a.rtf", rtf.clone().into_bytes(), &Limits::default());
        match (got, want) {
            (Ok(document), Ok(want)) => {
                assert!(document.text.ends_with(want), "{}", &rtf[..20]);
                assert_eq!(document.warnings[0].reason, reason::DAMAGED);
            }
            (Err(problem), Err(reason)) => assert_eq!(problem.reason, reason),
            (got, want) => panic!("{}: {:?}, not {want:?}", &rtf[..20], got.map(|document| document.text.len())),
        }
    }
    assert_eq!(read(b"{\\rtf1 whole}\0\0 garbage").text, "whole");
}
