//! What comes out of small workbooks made in code.

use crate::ingest::extract::{outline::outline, package::zipped};

/// A workbook of sheets: attributes of the sheet and what its part holds inside of `worksheet`.
fn package(sheets: &[(&str, &str)]) -> Vec<u8> {
    package_with(sheets, &[])
}

/// With more members.
fn package_with(sheets: &[(&str, &str)], more: &[(&str, &str)]) -> Vec<u8> {
    let (mut list, mut relationships, mut members) = (String::new(), String::new(), Vec::new());
    for (at, (attributes, inside)) in sheets.iter().enumerate() {
        list.push_str(&format!("<sheet name=\"Sheet {at}\" sheetId=\"{}\" r:id=\"r{at}\" {attributes}/>", at + 1));
        relationships.push_str(&format!("<Relationship Id=\"r{at}\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/s{at}.xml\"/>"));
        members.push((format!("xl/worksheets/s{at}.xml"), format!("<worksheet>{inside}</worksheet>")));
    }
    members.push(("_rels/.rels".into(), "<Relationships><Relationship Id=\"1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>".into()));
    members.push(("xl/workbook.xml".into(), format!("<workbook><sheets>{list}</sheets></workbook>")));
    members.push(("xl/_rels/workbook.xml.rels".into(), format!("<Relationships>{relationships}</Relationships>")));
    members.push(("xl/styles.xml".into(), "<styleSheet><cellXfs count=\"3\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"9\"/></cellXfs></styleSheet>".into()));
    members.push(("docProps/core.xml".into(), "<p><dc:title>Numbers</dc:title></p>".into()));
    let members: Vec<(&str, &str)> = members.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    zipped(&[&members, more].concat())
}

/// Cells by their place: a value with a style (`1` date, `2` percent), or a text.
fn data(cells: &[(&str, &str, &str)]) -> String {
    let mut out = "<sheetData>".to_owned();
    let mut row = "";
    for (place, style, value) in cells {
        let number = place.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        if number != row {
            out.push_str(if row.is_empty() { "" } else { "</row>" });
            out.push_str(&format!("<row r=\"{number}\">"));
            row = number;
        }
        out.push_str(&match *style {
            "t" => format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{value}</t></is></c>"),
            "b" | "e" => format!("<c r=\"{place}\" t=\"{style}\"><v>{value}</v></c>"),
            style => format!("<c r=\"{place}\" s=\"{style}\"><v>{value}</v></c>"),
        });
    }
    out + if row.is_empty() { "" } else { "</row>" } + "</sheetData>"
}

/// A good small workbook.
pub fn small() -> Vec<u8> {
    package(&[("", &data(&[("A1", "t", "Name"), ("B1", "t", "Größe"), ("A2", "t", "ann"), ("B2", "0", "7")]))])
}

fn check(cells: &[(&str, &str, &str)], want: &str) {
    assert_eq!(outline("a.xlsx", package(&[("", &data(cells))])), format!("h1 1 Sheet 0\n{want}"), "{cells:?}");
}

#[test]
fn tables_of_a_sheet() {
    check(
        &[
            ("B2", "t", "A title"),
            ("B4", "t", "Day"),
            ("D4", "t", "Share"),
            ("B5", "1", "43363"),
            ("D5", "2", "0.25"),
            ("B6", "b", "1"),
            ("D6", "e", "#DIV/0!"),
            ("A8", "0", "123456789012345"),
            ("B8", "0", "1.5"),
        ],
        "p 1 l2-2 Sheet 0 > A title\n\
         table 1 l4-6 Sheet 0 > | Day | Share |\n| --- | --- |\n| 2018-09-20 | 25% |\n| TRUE | #DIV/0! |\n\
         rows 1 l8-8 Sheet 0 > | 123456789012345 | 1.5 |",
    );
    check(&[("A1", "t", "one"), ("A2", "t", "column")], "p 1 l1-2 Sheet 0 > one\ncolumn");
    check(&[("A1", "t", "a|b"), ("B1", "t", "two\nlines")], "rows 1 l1-1 Sheet 0 > | a\\|b | two lines |");
}

#[test]
fn sheets_that_are_hidden_or_empty() {
    let cells = data(&[("A1", "t", "x")]);
    let bytes =
        package(&[("", "<sheetData/>"), ("state=\"hidden\"", &cells), ("state=\"veryHidden\"", &cells), ("", &cells)]);
    assert_eq!(outline("a.xlsx", bytes), "h1 4 Sheet 3\np 4 l1-1 Sheet 3 > x");
    assert_eq!(outline("a.xlsx", package(&[("", "<sheetData/>")])), "warning empty");
}

#[test]
fn merged_cells_reach_down() {
    let cells = data(&[
        ("A1", "t", "Group"),
        ("B1", "t", "Item"),
        ("A2", "t", "g"),
        ("B2", "t", "a"),
        ("B3", "t", "b"),
        ("B4", "t", "c"),
    ]);
    let bytes = package(&[("", &(cells + "<mergeCells><mergeCell ref=\"A2:A3\"/></mergeCells>"))]);
    assert_eq!(
        outline("a.xlsx", bytes),
        "h1 1 Sheet 0\ntable 1 l1-4 Sheet 0 > | Group | Item |\n| --- | --- |\n| g | a |\n| g | b |\n|  | c |"
    );
}

#[test]
fn the_size_of_a_sheet_costs_nothing() {
    let cells = data(&[("A1", "t", "first"), ("XFD1048576", "t", "last")]);
    let sheet = format!("<dimension ref=\"A1:XFD1048576\"/>{cells}");
    assert_eq!(
        outline("a.xlsx", package(&[("", &sheet)])),
        "h1 1 Sheet 0\np 1 l1-1 Sheet 0 > first\np 1 l1048576-1048576 Sheet 0 > last"
    );
}

#[test]
fn long_tables_are_several_blocks_under_one_header() {
    let mut cells = vec![("A1".to_owned(), "t", "Name".to_owned()), ("B1".into(), "t", "Note".into())];
    for row in 2..2000 {
        cells.push((format!("A{row}"), "t", format!("name {row}")));
        cells.push((format!("B{row}"), "t", "some words".into()));
    }
    let cells: Vec<(&str, &str, &str)> = cells.iter().map(|(a, b, c)| (a.as_str(), *b, c.as_str())).collect();
    let got = outline("a.xlsx", package(&[("", &data(&cells))]));
    let blocks: Vec<&str> = got.lines().filter(|line| line.starts_with("table")).collect();
    assert!(blocks.len() > 2 && blocks[0].ends_with("| Name | Note |"), "{blocks:?}");
    assert_eq!(got.matches("| Name | Note |").count(), 1);
    assert!(got.ends_with("| name 1999 | some words |"));
}

#[test]
fn damaged_workbooks() {
    assert_eq!(outline("a.xlsx", zipped(&[("a", "")])), "error damaged");
    let half = "<sheetData><row r=\"1\"><c r=\"A1\"><v>7</v></c></row><row";
    assert_eq!(outline("a.xlsx", package(&[("", half)])), "h1 1 Sheet 0\np 1 l1-1 Sheet 0 > 7\nwarning damaged");
    assert_eq!(outline("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".repeat(100)), "error damaged");
}

#[test]
fn charts_and_comments_stand_behind_the_cells() {
    let relation = |kind: &str, target: &str| {
        format!("<Relationships><Relationship Id=\"1\" Type=\"http://x/{kind}\" Target=\"{target}\"/></Relationships>")
    };
    let sheet = data(&[("A1", "t", "Name"), ("B1", "t", "Size"), ("A2", "t", "ann"), ("B2", "0", "7")]);
    let comments = relation("comments", "../comments1.xml");
    let charts = relation("drawing", "../drawings/d.xml");
    let threads = comments.replace("</Relationships>", "")
        + &relation("threadedComment", "../threaded.xml").replace("<Relationships>", "");
    let bytes = package_with(
        &[("", &sheet), ("", &sheet), ("", &sheet)],
        &[
            ("xl/worksheets/_rels/s0.xml.rels", &comments),
            (
                "xl/comments1.xml",
                "<comments><authors><author>Bo</author><author>tc={1}</author></authors><commentList><comment ref=\"B2\" authorId=\"0\"><text><r><t>Bo:</t></r>\
                 <r><t xml:space=\"preserve\">\nIs that </t></r><r><t>so?</t></r></text></comment><comment ref=\"A1\" authorId=\"9\"><text/></comment>\
                 <comment ref=\"A2\" authorId=\"1\"><text><t>Your version cannot read this thread.</t></text></comment></commentList></comments>",
            ),
            ("xl/worksheets/_rels/s1.xml.rels", &charts),
            ("xl/drawings/_rels/d.xml.rels", &relation("chart", "../charts/c.xml")),
            ("xl/drawings/d.xml", "<wsDr/>"),
            (
                "xl/charts/c.xml",
                "<chart><title><t>Ducks</t></title><ser><tx><v>Seen</v></tx><cat><v>2019</v></cat><val><v>4</v></val></ser></chart>",
            ),
            ("xl/worksheets/_rels/s2.xml.rels", &threads),
            (
                "xl/threaded.xml",
                "<ThreadedComments><threadedComment ref=\"A2\"><text>Who is that?</text></threadedComment></ThreadedComments>",
            ),
        ],
    );
    let document =
        crate::ingest::extract::extract("a.xlsx", bytes, &crate::ingest::extract::Limits::default()).unwrap();
    let behind = |sheet: &str| -> Vec<&str> {
        let blocks = document.blocks.iter().filter(|block| block.heading == [sheet]);
        blocks.skip(2).map(|block| &document.text[block.span.range()]).collect()
    };
    assert_eq!(behind("Sheet 0"), ["- B2 (Bo): Is that so?"]);
    assert_eq!(behind("Sheet 1"), ["Ducks", "Seen: 2019 4"]);
    assert_eq!(behind("Sheet 2"), ["- B2 (Bo): Is that so?\n- A2: Who is that?"]);
}
