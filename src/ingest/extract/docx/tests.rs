//! What comes out of small documents made in code.

use crate::ingest::extract::{Limits, extract, outline::outline, package::zipped, reason};

const STYLES: &str = r#"<w:styles xmlns:w="w">
<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="V1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="C"><w:name w:val="Source Code"/></w:style>
<w:style w:type="paragraph" w:styleId="Q"><w:name w:val="Quote"/></w:style>
<w:style w:type="character" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
</w:styles>"#;

const NUMBERING: &str = r#"<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%2)"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>"#;

const NOTES: &str = r#"<w:footnotes xmlns:w="w"><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:t>line</w:t></w:r></w:p></w:footnote>
<w:footnote w:id="2"><w:p><w:r><w:footnoteRef/><w:t> The note.</w:t></w:r></w:p><w:p><w:r><w:t>Its end.</w:t></w:r></w:p></w:footnote></w:footnotes>"#;

fn package(document: &str) -> Vec<u8> {
    zipped(&[
        (
            "_rels/.rels",
            r#"<Relationships><Relationship Id="1" Type="http://x/officeDocument" Target="/word/main.xml"/></Relationships>"#,
        ),
        (
            "word/_rels/main.xml.rels",
            r#"<Relationships><Relationship Id="h" Type="http://x/header" Target="header1.xml"/><Relationship Id="c" Type="http://x/chart" Target="charts/chart1.xml"/></Relationships>"#,
        ),
        ("word/main.xml", document),
        ("word/styles.xml", STYLES),
        ("word/numbering.xml", NUMBERING),
        ("word/footnotes.xml", NOTES),
        ("word/header1.xml", "<w:hdr><w:p><w:r><w:t>Letterhead</w:t></w:r></w:p></w:hdr>"),
        ("word/charts/chart1.xml", "<c:chart><c:title><a:t>Sales</a:t></c:title></c:chart>"),
        (
            "docProps/core.xml",
            "<p><dc:title>Untitled</dc:title><dc:creator>Ann</dc:creator><dcterms:created>2020-01-02</dcterms:created></p>",
        ),
    ])
}

fn body(inside: &str) -> String {
    format!("<w:document xmlns:w=\"w\"><w:body>{inside}<w:sectPr><w:x/></w:sectPr></w:body></w:document>")
}

/// A good small document.
pub fn small() -> Vec<u8> {
    package(&body(
        r#"<w:p><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p><w:p><w:r><w:t>Text é.</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#,
    ))
}

/// Short for a paragraph: its style (may be empty) and its runs.
fn p(style: &str, inside: &str) -> String {
    format!("<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr>{inside}</w:p>")
}

fn t(text: &str) -> String {
    format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
}

fn item(list: u8, level: u8, text: &str) -> String {
    format!(
        "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{list}\"/></w:numPr></w:pPr>{}</w:p>",
        t(text)
    )
}

fn row(properties: &str, cells: &[(&str, &str)]) -> String {
    let cells =
        cells.iter().map(|(properties, text)| format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", p("", &t(text))));
    format!("<w:tr><w:trPr>{properties}</w:trPr>{}</w:tr>", cells.collect::<String>())
}

fn check(inside: &str, want: &str) {
    assert_eq!(outline("a.docx", package(&body(inside))), want, "{inside}");
}

#[test]
fn headings_and_their_numbers() {
    check(
        &[p("T", &t("The title")), p("H1", &t("One")), p("H2", &t("Two")), p("", &t("text"))].concat(),
        "h1 The title\nh1 One\nh2 One > 1.1 Two\np One > 1.1 Two > text",
    );
    check("<w:p><w:pPr><w:outlineLvl w:val=\"1\"/></w:pPr><w:r><w:t>Own</w:t></w:r></w:p>", "h2 Own");
}

#[test]
fn lists() {
    check(
        &[item(2, 0, "a"), item(2, 1, "b"), item(2, 1, "c"), item(0, 0, "d"), item(1, 0, "e"), item(9, 0, "f")]
            .concat(),
        "list - a\n  a) b\n  b) c\np d\nlist 1. e\np f",
    );
}

#[test]
fn text_of_runs() {
    for (inside, want) in [
        (t("a ") + &t("b"), "p a b"),
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:softHyphen/><w:t>d</w:t></w:r>".into(), "p a\tb\nc-d"),
        ("<w:r><w:sym w:font=\"Symbol\" w:char=\"F061\"/></w:r>".into(), "p α"),
        ("<w:hyperlink r:id=\"x\"><w:r><w:t>link</w:t></w:r></w:hyperlink>".into(), "p link"),
        (t("a") + "<w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del><w:ins><w:r><w:t>b</w:t></w:r></w:ins>", "p ab"),
        (t("a") + "<w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>b</w:t></w:r></w:moveTo>", "p ab"),
        (t("a") + "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val=\"0\"/></w:rPr><w:t>b</w:t></w:r>", "p ab"),
        (t("a") + "<w:r><w:rPr><w:rStyle w:val=\"Secret\"/></w:rPr><w:t>hidden</w:t></w:r>", "p a"),
        ("<w:ruby><w:rt><w:r><w:t>kana</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby>".into(), "p 漢"),
        ("<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>".into(), "p a/b"),
        ("<w:r><w:drawing><wp:posOffset>1234</wp:posOffset></w:drawing><w:t>x</w:t></w:r>".into(), "p x"),
        ("<w:smartTag><w:customXml><w:r><w:t>x</w:t></w:r></w:customXml></w:smartTag>".into(), "p x"),
    ] {
        check(&p("", &inside), want);
    }
    check(&p("", &(t("a") + "<w:r><w:instrText>PAGE</w:instrText></w:r>")), "p a");
    check("<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>last</w:t></w:r></w:p>", "p last");
    check(
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>one </w:t></w:r></w:p><w:p><w:r><w:t>paragraph</w:t></w:r></w:p>",
        "p one paragraph",
    );
    check(
        &[p("C", &t("if x:")), p("C", &t("  y")), p("Q", &t("said"))].concat(),
        "code ```\nif x:\n  y\n```\nquote said",
    );
}

#[test]
fn fields_show_their_result() {
    let field = |code: &str, result: &str| {
        let part = |kind: &str| format!("<w:r><w:fldChar w:fldCharType=\"{kind}\"/></w:r>");
        [&part("begin"), "<w:r><w:instrText>", code, "</w:instrText></w:r>", &part("separate"), result, &part("end")]
            .concat()
    };
    check(&p("", &field(" PAGE ", &t("7"))), "p 7");
    check(&p("", &(field(&format!("IF {}", field("X", &t("no"))), &t("yes")) + &t("!"))), "p yes!");
    check(&p("", "<w:fldSimple w:instr=\"DATE\"><w:r><w:t>today</w:t></w:r></w:fldSimple>"), "p today");
    check(&[p("", &field("TOC \\o", &t("One 1"))), p("", &t("text"))].concat(), "p text");
    check(&[p("V1", &t("One 1")), p("", &t("text"))].concat(), "p text");
    let begin = p("", "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r>");
    let after = p("", &t("lost")).repeat(20) + &p("", &t("found"));
    check(&(begin + &after), "p found");
    // A table of contents that never ends must not swallow the document.
    let open = "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>TOC \\o</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"separate\"/></w:r>";
    check(&[p("", open), p("", &t("line")), p("H1", &t("One")), p("", &t("text"))].concat(), "h1 One\np One > text");
}

#[test]
fn content_controls() {
    let control = |properties: &str| {
        format!("<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>", p("", &t("inside")))
    };
    check(&control("<w:alias w:val=\"x\"/>"), "p inside");
    let shown = p("", &t("x"));
    check(&(control("<w:showingPlcHdr/>") + &shown), "p x");
    check(&(control("<w:docPartObj><w:docPartGallery w:val=\"Table of Contents\"/></w:docPartObj>") + &shown), "p x");
}

#[test]
fn text_boxes_come_once() {
    let content = format!("<w:txbxContent>{}</w:txbxContent>", p("", &t("box")));
    let both = format!(
        "<w:r><mc:AlternateContent><mc:Choice Requires=\"wps\"><wps:txbx>{content}</wps:txbx></mc:Choice><mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    );
    check(&p("", &(t("around ") + &both + &t("it"))), "p box\np around it");
    let fallback = "<w:r><mc:AlternateContent><mc:Choice Requires=\"x\"><x:y/></mc:Choice><mc:Fallback><w:t>old</w:t></mc:Fallback></mc:AlternateContent></w:r>";
    check(&p("", fallback), "p old");
}

#[test]
fn notes_follow_what_refers_to_them() {
    let reference = t("word") + "<w:r><w:footnoteReference w:id=\"2\"/></w:r>";
    check(&[p("", &reference), p("", &t("next"))].concat(), "p word[1]\np [1] The note. Its end.\np next");
    let cell = format!("<w:tc>{}</w:tc>", p("", &reference));
    check(&format!("<w:tbl><w:tr>{cell}{cell}</w:tr></w:tbl>"), "rows | word[1] | word |\np [1] The note. Its end.");
}

#[test]
fn tables() {
    let header = "<w:tblHeader/>";
    for (properties, rows, want) in [
        (
            "",
            vec![row("", &[("", "K"), ("", "V")]), row("", &[("", "a|b"), ("", "1")])],
            "table | K | V |\n| --- | --- |\n| a\\|b | 1 |",
        ),
        (
            "",
            vec![
                row(header, &[("", "A"), ("", "B")]),
                row(header, &[("", "c"), ("", "d")]),
                row("", &[("", "1"), ("", "2")]),
            ],
            "table | A | B |\n| c | d |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "<w:tblPr><w:tblLook w:val=\"0480\" w:firstRow=\"0\"/></w:tblPr>",
            vec![row("", &[("", "a"), ("", "b")]), row("", &[("", "c"), ("", "d")])],
            "rows | a | b |\n| c | d |",
        ),
        (
            "",
            vec![
                row("", &[("<w:gridSpan w:val=\"2\"/>", "wide"), ("", "x")]),
                row("", &[("<w:vMerge w:val=\"restart\"/>", "down"), ("", "1"), ("", "2")]),
                row("", &[("<w:vMerge/>", ""), ("", "3"), ("", "4")]),
            ],
            "table | wide |  | x |\n| --- | --- | --- |\n| down | 1 | 2 |\n| down | 3 | 4 |",
        ),
        ("", vec![row("<w:del/>", &[("", "gone"), ("", "gone")]), row("", &[("", "a"), ("", "b")])], "rows | a | b |"),
        ("", vec![row("", &[("", "one")]), row("", &[("", "column")])], "p one\np column"),
    ] {
        check(&format!("<w:tbl>{properties}{}</w:tbl>", rows.concat()), want);
    }
}

#[test]
fn nested_tables_lay_out_the_page() {
    let inner = format!("<w:tbl>{}</w:tbl>", row("", &[("", "a"), ("", "b")]));
    check(
        &format!("<w:tbl><w:tr><w:tc>{}{inner}{}</w:tc></w:tr></w:tbl>", p("", &t("x")), p("", &t("y"))),
        "p x\nrows | a | b |\np y",
    );
    let depth = 5000;
    let deep = "<w:tbl><w:tr><w:tc>".repeat(depth) + &p("", &t("core")) + &"</w:tc></w:tr></w:tbl>".repeat(depth);
    check(&deep, "p core");
}

#[test]
fn headers_and_charts() {
    check("<w:p/>", "p Letterhead");
    check(&p("", &(t("See:") + "<w:r><w:drawing><c:chart r:id=\"c\"/></w:drawing></w:r>")), "p See:\np Sales");
}

#[test]
fn what_it_says_of_itself() {
    let document = extract("a.docx", small(), &Limits::default()).expect("it is good");
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("Head"), Some("Ann")));
    assert_eq!(document.metadata.get("created").map(String::as_str), Some("2020-01-02"));
    assert_eq!(document.format, "docx");
}

#[test]
fn damaged_documents() {
    let cut = body(&p("", &t("first"))).replace("<w:sectPr>", "<w:p><w:r><w:t>half");
    assert_eq!(outline("a.docx", package(&cut)), "p first\np half\nwarning damaged");
    assert_eq!(outline("a.docx", package("<w:document><w:body")), "p Letterhead\nwarning damaged");
    assert_eq!(outline("a.docx", zipped(&[("a.txt", "x")])), "error damaged");
    assert_eq!(outline("a.docx", zipped(&[("word/document.xml", "")])), "warning empty");
    let mut half =
        zipped(&[("word/document.xml", &body(&p("", &t("saved")))), ("word/media/a.png", &"x".repeat(10_000))]);
    half.truncate(half.len() - 60);
    assert_eq!(outline("a.docx", half), "p saved\nwarning damaged");
    assert_eq!(
        outline("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec()),
        format!("error {}", reason::UNSUPPORTED)
    );
}
