//! What comes out of small OpenDocument files made in code.

use crate::ingest::extract::{Limits, extract, outline::outline, package::zipped};

const STYLES: &str = r#"<office:automatic-styles>
<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>
<style:style style:name="Hid" style:family="text"><style:text-properties text:display="none"/></style:style>
<style:style style:name="dp" style:family="drawing-page"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>
<style:style style:name="ta" style:family="table"><style:table-properties table:display="false"/></style:style>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-suffix="." style:num-format="1"/>
<text:list-level-style-number text:level="2" style:num-suffix=")" style:num-format="a"/></text:list-style></office:automatic-styles>"#;

fn content(kind: &str, inside: &str) -> String {
    format!(
        "<office:document-content>{STYLES}<office:body><office:{kind}>{inside}</office:{kind}></office:body></office:document-content>"
    )
}

fn package(mime: &str, content: &str) -> Vec<u8> {
    let named = format!("application/vnd.oasis.opendocument.{mime}");
    let styles = "<office:document-styles><office:styles><style:style style:name='Title' style:family='paragraph'/><style:style style:name='Preformatted_20_Text' style:family='paragraph'/></office:styles><office:master-styles><text:p>header</text:p></office:master-styles></office:document-styles>";
    let meta = "<office:document-meta><office:meta><dc:creator>Bo</dc:creator><meta:initial-creator>Ann</meta:initial-creator></office:meta></office:document-meta>";
    crate::ingest::extract::package::stored_first(&[
        ("mimetype", &named),
        ("content.xml", content),
        ("styles.xml", styles),
        ("meta.xml", meta),
    ])
}

pub fn small_text() -> Vec<u8> {
    package("text", &content("text", "<text:h text:outline-level='1'>Head</text:h><text:p>Text é.</text:p>"))
}

pub fn small_presentation() -> Vec<u8> {
    package(
        "presentation",
        &content(
            "presentation",
            "<draw:page><draw:frame><draw:text-box><text:p>Text é.</text:p></draw:text-box></draw:frame></draw:page>",
        ),
    )
}

pub fn small_sheet() -> Vec<u8> {
    package(
        "spreadsheet",
        &content(
            "spreadsheet",
            "<table:table table:name='S'><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>",
        ),
    )
}

#[test]
fn texts() {
    for (inside, want) in [
        (
            "<text:p text:style-name='P1'>T</text:p><text:h text:outline-level='1'>A</text:h><text:h text:outline-level='3'>B</text:h><text:p>x</text:p>",
            "h1 T\nh1 A\nh3 A > B\np A > B > x",
        ),
        (
            "<text:p>a<text:s text:c='3'/>b<text:tab/>c<text:line-break/>d <text:span>e\n f</text:span></text:p>",
            "p a   b\tc\nd e f",
        ),
        ("<text:p>a<text:span text:style-name='Hid'>hidden</text:span>b</text:p>", "p ab"),
        (
            "<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note> b</text:p><text:p>c</text:p>",
            "p a[1] b\np [1] The note.\np c",
        ),
        ("<text:p>a<office:annotation><text:p>comment</text:p></office:annotation></text:p>", "p a"),
        (
            "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes><text:p>a<text:change/></text:p>",
            "p a",
        ),
        (
            "<text:section text:display='none'><text:p>hidden</text:p></text:section><text:section><text:p>a</text:p></text:section>",
            "p a",
        ),
        (
            "<text:p>a<text:hidden-text>x</text:hidden-text></text:p><text:p><text:hidden-paragraph text:is-hidden='true'/>gone</text:p>",
            "p a",
        ),
        ("<text:table-of-content><text:p>A 1</text:p></text:table-of-content><text:p>a</text:p>", "p a"),
        (
            "<text:p>a<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box><svg:title>alt</svg:title></draw:frame> b</text:p>",
            "p box\np a b",
        ),
        (
            "<text:p text:style-name='Preformatted_20_Text'>if x:</text:p><text:p text:style-name='Preformatted_20_Text'><text:s/>y</text:p>",
            "code ```\nif x:\n y\n```",
        ),
        (
            "<text:p><text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kana</text:ruby-text></text:ruby></text:p>",
            "p 漢",
        ),
        (
            "<text:list text:style-name='L1'><text:list-item><text:p>a</text:p><text:p>more</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>c</text:p></text:list-item></text:list><text:list><text:list-item><text:p>d</text:p></text:list-item></text:list>",
            "list 1. a\n  more\n  a) b\n2. c\n- d",
        ),
        (
            "<table:table><table:table-header-rows><table:table-row><table:table-cell table:number-columns-spanned='2'><text:p>K</text:p></table:table-cell><table:covered-table-cell/><table:table-cell><text:p>V</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row><table:table-cell table:number-rows-spanned='2'><text:p>a</text:p></table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row><table:table-row><table:covered-table-cell/><table:table-cell><text:p>3</text:p></table:table-cell><table:table-cell><text:p>4</text:p></table:table-cell></table:table-row></table:table>",
            "table | K |  | V |\n| --- | --- | --- |\n| a | 1 | 2 |\n| a | 3 | 4 |",
        ),
    ] {
        assert_eq!(outline("a.odt", package("text", &content("text", inside))), want, "{inside}");
    }
}

#[test]
fn presentations() {
    let frame = |attributes: &str, text: &str| {
        format!("<draw:frame {attributes}><draw:text-box>{text}</draw:text-box></draw:frame>")
    };
    let inside = [
        "<draw:page draw:style-name='dp'>",
        &frame("", "<text:p>hidden</text:p>"),
        "</draw:page><draw:page>",
        &frame("presentation:class='title'", "<text:p>Head</text:p>"),
        &frame(
            "presentation:class='outline'",
            "<text:list><text:list-item><text:p>a</text:p></text:list-item></text:list>",
        ),
        &frame("presentation:class='footer'", "<text:p>foot</text:p>"),
        &frame("presentation:class='subtitle' presentation:placeholder='true'", ""),
        "<draw:g><draw:custom-shape><text:p>deep</text:p></draw:custom-shape></draw:g>",
        "<presentation:notes>",
        &frame("presentation:class='notes'", "<text:p>Say this.</text:p><text:p>And that.</text:p>"),
        "</presentation:notes></draw:page>",
    ]
    .concat();
    assert_eq!(
        outline("a.odp", package("presentation", &content("presentation", &inside))),
        "h1 2 Head\nlist 2 Head > - a\np 2 Head > deep\np 2 Head > Notes: Say this.\np 2 Head > And that."
    );
}

#[test]
fn sheets() {
    let text = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let inside = [
        "<table:table table:name='Hidden' table:style-name='ta'><table:table-row>",
        &text("hidden"),
        "</table:table-row></table:table><table:table table:name='S'><table:table-row>",
        &text("Day"),
        &text("Share"),
        "</table:table-row><table:table-row><table:table-cell office:value-type='date' office:date-value='2018-09-20'><text:p>20/9/18</text:p></table:table-cell>",
        "<table:table-cell office:value-type='percentage' office:value='0.25'><office:annotation><text:p>note</text:p></office:annotation><text:p>25 %</text:p></table:table-cell>",
        "<table:table-cell table:number-columns-repeated='16380'/></table:table-row>",
        "<table:table-row table:number-rows-repeated='1048000'><table:table-cell table:number-columns-repeated='16384'/></table:table-row>",
        "<table:table-row><table:table-cell office:value-type='float' office:value='123456789012345'><text:p>1.23E+14</text:p></table:table-cell></table:table-row></table:table>",
    ]
    .concat();
    assert_eq!(
        outline("a.ods", package("spreadsheet", &content("spreadsheet", &inside))),
        "h1 2 S\ntable 2 l1-2 S > | Day | Share |\n| --- | --- |\n| 2018-09-20 | 25 % |\np 2 l1048003-1048003 S > 123456789012345"
    );
}

#[test]
fn flat_files() {
    let flat = format!(
        "<?xml version='1.0'?><office:document office:mimetype='application/vnd.oasis.opendocument.text'><office:meta><dc:title>Flat</dc:title></office:meta>{STYLES}<office:master-styles><text:p>header</text:p></office:master-styles><office:body><office:text><text:p>a</text:p></office:text></office:body></office:document>"
    );
    let document = extract("a.fodt", flat.into_bytes(), &Limits::default()).expect("it is good");
    assert_eq!(
        (document.text.as_str(), document.title.as_deref(), document.format.as_str()),
        ("a", Some("Flat"), "odt")
    );
}

#[test]
fn what_it_says_of_itself() {
    let document = extract("a.odt", small_text(), &Limits::default()).expect("it is good");
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("Head"), Some("Ann")));
}

#[test]
fn damaged_and_encrypted_files() {
    let manifest =
        "<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>";
    assert_eq!(
        outline("a.odt", zipped(&[("META-INF/manifest.xml", manifest), ("content.xml", "noise")])),
        "error encrypted"
    );
    assert_eq!(outline("a.odt", zipped(&[("a", "")])), "error damaged");
    let cut = content("text", "<text:p>first</text:p><text:p>half").replace("</office:text>", "<");
    assert_eq!(outline("a.odt", package("text", &cut)), "p first\np half\nwarning damaged");
}
