use super::*;
use crate::ingest::extract::{Limits, extract};

/// Reads a notebook: kind, heading, lines and text of each block.
fn read(json: &str) -> (Document, Vec<String>) {
    let document = extract("a.ipynb", json.into(), &Limits::default()).expect("it is text");
    let blocks = document
        .blocks
        .iter()
        .map(|block| {
            let kind = match &block.kind {
                BlockKind::Heading(level) => format!("h{level}"),
                BlockKind::Table { .. } => "table".into(),
                other => format!("{other:?}").to_lowercase(),
            };
            let lines = block.lines.map_or(0, |lines| lines.first);
            format!("{kind} [{}] {lines}: {}", block.heading.join("/"), &document.text[block.span.range()])
        })
        .collect();
    (document, blocks)
}

#[test]
fn cells_their_outputs_and_the_headings_above_them() {
    let (document, blocks) = read(
        r##"{"cells": [
 {"cell_type": "code", "source": "1 + 1", "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["2"], "text/html": "<b>2</b>"}}]},
 {"cell_type": "markdown", "source": ["# Flow\n", "\n", "Words.\n\n| a | b |\n|---|---|\n| 1 | 2 |"]},
 {"cell_type": "code", "source": ["import x\n", "x.go()"], "outputs": [
  {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
  {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo", "text/plain": "<Figure size 1x1>"}},
  {"output_type": "display_data", "data": {"text/html": ["<table><tr><td>only", "</td><td>html</td></tr></table>"]}},
  {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[0;31mE\u001b[0m", "  at 1"]}]},
 {"cell_type": "raw", "source": "raw words"}],
 "metadata": {"language_info": {"name": "python"}, "authors": [{"name": "Ann"}, {"name": "Bo"}]}, "nbformat": 4}"##,
    );
    assert_eq!(
        blocks,
        [
            "fence [Cell 1] 2: 1 + 1",
            "fence [Cell 1] 2: 2",
            "h1 [Flow] 3: # Flow",
            "paragraph [Flow] 3: Words.",
            "table [Flow] 3: | a | b |\n|---|---|\n| 1 | 2 |",
            "fence [Flow] 4: import x\nx.go()",
            "fence [Flow] 4: a\nb",
            "fence [Flow] 4: | only | html |",
            "fence [Flow] 4: E\n  at 1",
            "paragraph [Flow] 9: raw words",
        ]
    );
    assert_eq!((document.title.as_deref(), document.author.as_deref()), (Some("Flow"), Some("Ann, Bo")));
    assert_eq!((document.metadata["language"].as_str(), document.metadata["cells"].as_str()), ("python", "4"));
    assert_eq!(document.warnings, []);
}

#[test]
fn format_3() {
    let (_, blocks) = read(
        r#"{"worksheets": [{"cells": [
 {"cell_type": "heading", "level": 2, "source": ["Part"]},
 {"cell_type": "code", "input": ["x"], "outputs": [{"output_type": "pyout", "text": ["7"]}, {"output_type": "pyerr", "ename": "E", "evalue": "bad"}]}
 ]}], "nbformat": 3}"#,
    );
    assert_eq!(blocks, ["h2 [Part] 2: Part", "fence [Part] 3: x", "fence [Part] 3: 7", "fence [Part] 3: E: bad"]);
}

#[test]
fn of_a_damaged_notebook_the_cells_before_the_damage_are_kept() {
    let (document, blocks) =
        read(r##"{"cells": [{"cell_type": "markdown", "source": "one"}, {"cell_type": "code", "source": ["two", "##);
    assert_eq!(blocks, ["paragraph [Cell 1] 1: one", "fence [Cell 2] 1: two"]);
    assert_eq!(document.warnings[0].reason, reason::DAMAGED);
    let (document, _) = read("{\"cells\": [{");
    assert_eq!(document.warnings[0].reason, reason::DAMAGED);
    let (document, _) = read("{\"a\": \"no notebook\"}");
    assert_eq!((document.text.as_str(), document.warnings.len()), ("a: no notebook", 0));
}

#[test]
fn terminal_colours_and_progress_bars() {
    assert_eq!(without_ansi("\u{1b}[1;31mred\u{1b}[0m\n10%\r20%\r100%\nend\r\n"), "red\n100%\nend\n");
    assert_eq!(without_ansi("\u{1b}[\u{1b}["), "");
}
