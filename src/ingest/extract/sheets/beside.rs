//! What stands beside the cells of a sheet: comments on cells, and charts.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    index::Problem,
    ingest::extract::{
        drawing,
        flow::{Flow, one_line},
        ooxml::{self, Relationship},
        package::Package,
        xml::{Event, Reader},
    },
};

/// Most comments, and most charts, of a sheet.
const MAX_ENTRIES: usize = 10_000;

/// Comments and charts of one sheet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// `B2 (Ann): Is that so?`
    comments: Vec<String>,
    /// Lines of a chart.
    charts: Vec<Vec<String>>,
}

impl Beside {
    /// Writes them behind the cells.
    pub fn write(&self, flow: &mut Flow) {
        for chart in &self.charts {
            for line in chart {
                flow.paragraph(line);
            }
        }
        for comment in &self.comments {
            flow.item(0, "", comment);
        }
    }
}

/// By the name of the sheet; sheets with nothing beside their cells are not there.
pub fn of_sheets(package: &mut Package, workbook: &str) -> Result<BTreeMap<String, Beside>, Problem> {
    let mut found = BTreeMap::new();
    let parts = ooxml::relationships(package, workbook)?;
    for (name, id) in sheets(package, workbook)? {
        let Some(sheet) = ooxml::by_id(&parts, &id) else { continue };
        let relationships = ooxml::relationships(package, sheet)?;
        let mut beside = Beside::default();
        let of_kind = |kind: &'static str| move |one: &&Relationship| one.kind == kind;
        for one in relationships.iter().filter(of_kind("comments")) {
            if let Some(text) = ooxml::read_text(package, &one.target)? {
                comments(&mut Reader::new(&text), &mut beside.comments);
            }
        }
        for one in relationships.iter().filter(of_kind("threadedComment")) {
            if let Some(text) = ooxml::read_text(package, &one.target)? {
                threaded(&mut Reader::new(&text), &mut beside.comments);
            }
        }
        // Each part once, however often it is named.
        let drawings: BTreeSet<&String> =
            relationships.iter().filter(of_kind("drawing")).map(|drawing| &drawing.target).collect();
        let mut charts = BTreeSet::new();
        for drawing in drawings {
            let parts = ooxml::relationships(package, drawing)?;
            for chart in parts.iter().filter(of_kind("chart")) {
                if charts.len() == MAX_ENTRIES || !charts.insert(chart.target.clone()) {
                    continue;
                }
                if let Some(text) = ooxml::read_text(package, &chart.target)? {
                    beside.charts.push(drawing::chart(&mut Reader::new(&text)));
                }
            }
        }
        beside.charts.retain(|lines| !lines.is_empty());
        if beside != Beside::default() {
            found.insert(name, beside);
        }
    }
    Ok(found)
}

/// Names of the sheets, and by which relationship each is found.
fn sheets(package: &mut Package, workbook: &str) -> Result<Vec<(String, String)>, Problem> {
    let Some(text) = ooxml::read_text(package, workbook)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut reader = Reader::new(&text);
    while let Some(event) = reader.next() {
        if let Event::Start(element) = event
            && element.name == "sheet"
            && let (Some(name), Some(id)) = (element.get("name"), element.get("id"))
        {
            found.push((name.into_owned(), id.into_owned()));
        }
    }
    Ok(found)
}

fn comments(reader: &mut Reader<'_>, out: &mut Vec<String>) {
    let mut authors = Vec::new();
    let (mut place, mut author, mut text) = (String::new(), String::new(), String::new());
    let mut is_wanted = false;
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => match element.name {
                "comment" => {
                    place = element.get("ref").unwrap_or_default().into_owned();
                    let number = element.get("authorId").and_then(|number| number.parse::<usize>().ok());
                    author = number.and_then(|number| authors.get(number)).cloned().unwrap_or_default();
                    text.clear();
                }
                "author" | "t" => is_wanted = true,
                // How the text is pronounced.
                "rPh" => reader.skip(),
                _ => {}
            },
            Event::Text(piece) if is_wanted => text.push_str(&piece),
            Event::Text(_) => {}
            Event::End(name) => match name {
                "author" => {
                    is_wanted = false;
                    authors.push(one_line(&std::mem::take(&mut text)));
                }
                "t" => is_wanted = false,
                // What is said in a thread stands here too, for older programs, with a word of advice.
                "comment" if author.starts_with("tc=") => text.clear(),
                "comment" => push(out, &place, &author, &std::mem::take(&mut text)),
                _ => {}
            },
        }
    }
}

fn threaded(reader: &mut Reader<'_>, out: &mut Vec<String>) {
    let (mut place, mut text) = (String::new(), String::new());
    let mut is_wanted = false;
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => match element.name {
                "threadedComment" => place = element.get("ref").unwrap_or_default().into_owned(),
                "text" => is_wanted = true,
                _ => {}
            },
            Event::Text(piece) if is_wanted => text.push_str(&piece),
            Event::Text(_) => {}
            Event::End("text") => {
                is_wanted = false;
                push(out, &place, "", &std::mem::take(&mut text));
            }
            Event::End(_) => {}
        }
    }
}

fn push(out: &mut Vec<String>, place: &str, author: &str, text: &str) {
    let text = one_line(text);
    // Programs write the author's name before the text as well.
    let text = text.strip_prefix(author).and_then(|rest| rest.strip_prefix(':')).unwrap_or(&text).trim();
    if text.is_empty() || out.len() >= MAX_ENTRIES {
        return;
    }
    let author = if author.is_empty() { String::new() } else { format!(" ({author})") };
    out.push(format!("{place}{author}: {text}").trim_start_matches([':', ' ']).to_owned());
}
