//! What comes out of small presentations made in code.

use crate::ingest::extract::{outline::outline, package::zipped};

fn shape(placeholder: &str, paragraphs: &[&str]) -> String {
    let paragraphs: String = paragraphs.iter().map(|text| format!("<a:p>{text}</a:p>")).collect();
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"1\"/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>"
    )
}

fn run(text: &str) -> String {
    format!("<a:r><a:t>{text}</a:t></a:r>")
}

/// A presentation: its slides are `slide1.xml` and so on, shown in backward order, the first with notes.
fn package(slides: &[(&str, &str)]) -> Vec<u8> {
    let mut members = vec![(
        "ppt/notesSlides/n.xml".to_owned(),
        format!(
            "<p:notes>{}{}</p:notes>",
            shape("<p:ph type=\"sldNum\"/>", &["9"]),
            shape("<p:ph type=\"body\" idx=\"1\"/>", &[&run("Say this."), &run("And that.")])
        ),
    )];
    let (mut list, mut relationships) = (String::new(), String::new());
    for (number, (attributes, shapes)) in slides.iter().enumerate() {
        members.push((
            format!("ppt/slides/slide{number}.xml"),
            format!("<p:sld {attributes}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"),
        ));
        list.insert_str(0, &format!("<p:sldId id=\"{}\" r:id=\"r{number}\"/>", 256 + number));
        relationships.push_str(&format!(
            "<Relationship Id=\"r{number}\" Type=\"x/slide\" Target=\"slides/slide{number}.xml\"/>"
        ));
    }
    members.push((
        "ppt/presentation.xml".into(),
        format!("<p:presentation><p:sldIdLst>{list}</p:sldIdLst></p:presentation>"),
    ));
    members.push(("ppt/_rels/presentation.xml.rels".into(), format!("<Relationships>{relationships}</Relationships>")));
    members.push((
        "ppt/slides/_rels/slide0.xml.rels".into(),
        "<Relationships><Relationship Id=\"n\" Type=\"x/notesSlide\" Target=\"../notesSlides/n.xml\"/><Relationship Id=\"c\" Type=\"x/chart\" Target=\"../charts/c.xml\"/><Relationship Id=\"d\" Type=\"x/diagramData\" Target=\"../diagrams/d.xml\"/></Relationships>".into(),
    ));
    members.push(("ppt/charts/c.xml".into(), "<c:chart><c:title><a:t>Sales</a:t></c:title></c:chart>".into()));
    members.push(("ppt/diagrams/d.xml".into(), "<dgm:t><a:p><a:r><a:t>Step</a:t></a:r></a:p></dgm:t>".into()));
    let members: Vec<(&str, &str)> = members.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    zipped(&members)
}

/// A good small presentation.
pub fn small() -> Vec<u8> {
    package(&[("", &shape("", &[&run("Text é.")])), ("", &shape("<p:ph type=\"title\"/>", &[&run("Head")]))])
}

#[test]
fn slides_in_their_order() {
    let title = shape("<p:ph type=\"title\"/>", &[&run("Last")]);
    let text = shape("", &[&run("text"), ""]);
    let first = shape("<p:ph type=\"ctrTitle\"/>", &[&run("First")]);
    let hidden = shape("", &[&run("hidden")]);
    let bytes = package(&[("", &(text + &title)), ("show=\"0\"", &hidden), ("", &first)]);
    assert_eq!(
        outline("a.pptx", bytes),
        "h1 1 First\nh1 3 Last\np 3 Last > text\np 3 Last > Notes: Say this.\np 3 Last > And that."
    );
}

#[test]
fn shapes() {
    let notes = "\np 1 Notes: Say this.\np 1 And that.";
    let body = "<p:ph type=\"body\"/>";
    let cell = |attributes: &str, text: &str| {
        format!("<a:tc {attributes}><a:txBody><a:p>{}</a:p></a:txBody></a:tc>", run(text))
    };
    let table = format!(
        "<p:graphicFrame><a:graphic><a:tbl><a:tblPr firstRow=\"1\"/><a:tr>{}{}{}</a:tr><a:tr>{}{}{}</a:tr><a:tr>{}{}{}</a:tr></a:tbl></a:graphic></p:graphicFrame>",
        cell("gridSpan=\"2\"", "Wide"),
        cell("hMerge=\"1\"", ""),
        cell("", "C"),
        cell("rowSpan=\"2\"", "d"),
        cell("", "1"),
        cell("", "2"),
        cell("vMerge=\"1\"", ""),
        cell("", "3"),
        cell("", "4"),
    );
    for (shapes, want) in [
        (shape(body, &[&run("only")]), "p 1 only"),
        (shape(body, &[&run("a"), &format!("<a:pPr lvl=\"1\"/>{}", run("b"))]), "list 1 - a\n  - b"),
        (
            shape(
                "",
                &[
                    &format!("<a:pPr><a:buAutoNum type=\"arabicPeriod\"/></a:pPr>{}", run("a")),
                    &format!("<a:pPr><a:buAutoNum/></a:pPr>{}", run("b")),
                ],
            ),
            "list 1 1. a\n2. b",
        ),
        (shape("", &[&format!("<a:pPr><a:buChar char=\"o\"/></a:pPr>{}", run("a"))]), "list 1 - a"),
        (shape("", &[&format!("{}<a:br/>{}", run("a"), run("b"))]), "p 1 a\nb"),
        (shape("", &[&format!("{}<a:fld type=\"slidenum\"><a:t>7</a:t></a:fld>", run("a"))]), "p 1 a"),
        (shape("<p:ph type=\"ftr\"/>", &[&run("footer")]) + &shape("", &[&run("x")]), "p 1 x"),
        (format!("<p:grpSp><p:grpSp>{}</p:grpSp></p:grpSp>", shape("", &[&run("deep")])), "p 1 deep"),
        (shape("", &[&run("x")]).replace("id=\"1\"", "hidden=\"1\"") + &shape("", &[&run("y")]), "p 1 y"),
        (table, "table 1 | Wide |  | C |\n| --- | --- | --- |\n| d | 1 | 2 |\n| d | 3 | 4 |"),
        ("<p:graphicFrame><c:chart r:id=\"c\"/></p:graphicFrame>".into(), "p 1 Sales"),
        ("<p:graphicFrame><dgm:relIds r:dm=\"d\"/></p:graphicFrame>".into(), "list 1 - Step"),
        (
            format!(
                "<mc:AlternateContent><mc:Choice>{0}</mc:Choice><mc:Fallback>{0}</mc:Fallback></mc:AlternateContent>",
                shape("", &[&run("once")])
            ),
            "p 1 once",
        ),
    ] {
        assert_eq!(outline("a.pptx", package(&[("", &shapes)])), format!("{want}{notes}"), "{shapes}");
    }
}

#[test]
fn damaged_presentations() {
    assert_eq!(outline("a.pptx", zipped(&[("a", "")])), "error damaged");
    assert_eq!(outline("a.pptx", zipped(&[("ppt/presentation.xml", "<p><p:sldId r:id='x'/></p>")])), "error damaged");
    assert_eq!(outline("a.pptx", zipped(&[("ppt/presentation.xml", "<p/>")])), "warning empty");
}
