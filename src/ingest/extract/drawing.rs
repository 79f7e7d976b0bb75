//! DrawingML parts that stand beside a page: the words and numbers of a chart, the texts of a diagram.

use super::{
    flow::one_line,
    xml::{Event, Reader},
};

/// Most points of a chart that are written.
const MAX_POINTS: usize = 1000;

#[derive(Default)]
struct Series {
    name: String,
    categories: Vec<String>,
    values: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Title,
    Name,
    Categories,
    Values,
    Other,
}

/// A chart: its titles, then a line for each series, `name: category value, …`, from what it caches of its sheet.
pub fn chart(reader: &mut Reader<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut part, mut value, mut title) = (Part::Other, String::new(), String::new());
    let mut series: Vec<Series> = Vec::new();
    let mut is_wanted = false;
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => match element.name {
                "title" => part = Part::Title,
                "ser" => series.push(Series::default()),
                "tx" if part == Part::Other && !series.is_empty() => part = Part::Name,
                "cat" | "xVal" => part = Part::Categories,
                "val" | "yVal" => part = Part::Values,
                "v" | "t" => {
                    value.clear();
                    is_wanted = true;
                }
                "AlternateContent" | "extLst" | "f" => reader.skip(),
                _ => {}
            },
            Event::Text(text) if is_wanted => value.push_str(&text),
            Event::Text(_) => {}
            Event::End(name) => match name {
                "v" | "t" => {
                    is_wanted = false;
                    match (part, series.last_mut()) {
                        (Part::Title, _) => title.push_str(&value),
                        (Part::Name, Some(one)) => one.name.push_str(&value),
                        (Part::Categories, Some(one)) if one.categories.len() < MAX_POINTS => {
                            one.categories.push(one_line(&value));
                        }
                        (Part::Values, Some(one)) if one.values.len() < MAX_POINTS => one.values.push(one_line(&value)),
                        _ => {}
                    }
                }
                "title" => {
                    lines.push(one_line(&std::mem::take(&mut title)));
                    part = Part::Other;
                }
                "tx" if part == Part::Name => part = Part::Other,
                "cat" | "xVal" | "val" | "yVal" => part = Part::Other,
                _ => {}
            },
        }
    }
    for one in series {
        let count = one.categories.len().max(one.values.len());
        let points: Vec<String> = (0..count)
            .map(|at| {
                let (category, value) = (one.categories.get(at), one.values.get(at));
                [category, value].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
            })
            .collect();
        let name = one_line(&one.name);
        let gap = if name.is_empty() { "" } else { ": " };
        lines.push(format!("{name}{gap}{}", points.join(", ")));
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

/// A diagram (SmartArt): its texts, one a line, from its data or its drawing.
pub fn diagram(reader: &mut Reader<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut is_wanted) = (String::new(), false);
    while let Some(event) = reader.next() {
        match event {
            Event::Start(element) => is_wanted = element.name == "t",
            Event::Text(text) if is_wanted => line.push_str(&text),
            Event::Text(_) => {}
            Event::End(name) => {
                is_wanted = false;
                // A text element of the data model holds the paragraphs, and has the name of a run's text.
                if name == "p" {
                    let text = one_line(&std::mem::take(&mut line));
                    if !text.is_empty() {
                        lines.push(text);
                    }
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_read_from_their_cache() {
        let lines = chart(&mut Reader::new(
            "<c:chart><c:title><a:t>Quar</a:t><a:t>terly</a:t></c:title><c:plotArea><c:ser>\
             <c:tx><c:strRef><c:f>S!A1</c:f><c:v>Ducks</c:v></c:strRef></c:tx>\
             <c:cat><c:pt><c:v>2019</c:v></c:pt><c:pt><c:v>2020</c:v></c:pt></c:cat>\
             <c:val><c:pt><c:v>4.3</c:v></c:pt><c:pt><c:v>2.5</c:v></c:pt></c:val></c:ser>\
             <c:valAx><c:title><a:t>USD</a:t></c:title></c:valAx></c:plotArea></c:chart>",
        ));
        assert_eq!(lines, ["Quarterly", "USD", "Ducks: 2019 4.3, 2020 2.5"]);
    }

    #[test]
    fn diagrams_are_their_texts() {
        let lines = diagram(&mut Reader::new(
            "<dgm:pt><dgm:t> <a:p><a:r><a:t>One </a:t></a:r><a:r><a:t>box</a:t></a:r></a:p><a:p/></dgm:t></dgm:pt>",
        ));
        assert_eq!(lines, ["One box"]);
    }
}
