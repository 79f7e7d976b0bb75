use super::*;
use crate::types::ChunkId;

fn chunk(source: u64, start: usize, heading: &str, text: &str) -> ChunkRecord {
    let span = Span::new(start, start + text.len());
    ChunkRecord {
        id: ChunkId(source * 1000 + start as u64),
        source: SourceId(source),
        collection: "default".into(),
        path: format!("{source}.md"),
        ordinal: 0,
        span,
        lines: None,
        pages: None,
        title: None,
        heading: vec!["Manual".into(), heading.into()],
        context: String::new(),
        text: text.into(),
        lang: None,
        tokens: 50,
        fertility: 1.0,
        code_share: 0.0,
    }
}

fn documents() -> Vec<ChunkRecord> {
    vec![
        chunk(
            1,
            100,
            "2.1 Start the pump",
            "Open the valve first. The shaft seal is a ring that keeps the water out of the motor.",
        ),
        chunk(
            1,
            300,
            "Overview",
            "Call read_level before the pump starts, or the controller halts with an obscure complaint about dryness.",
        ),
        chunk(
            2,
            0,
            "Overview",
            "The controller logs every start of the pump together with the level of water that it found.",
        ),
    ]
}

#[test]
fn each_kind_is_made_with_its_place() {
    let documents = documents();
    let made = make(&documents, 100, 1);
    let find = |from| made.iter().filter(|made| made.from == from).map(|made| made.text.as_str()).collect::<Vec<_>>();
    assert_eq!(find(MadeFrom::Heading), ["Start the pump"], "`Overview` stands over two chunks");
    assert_eq!(find(MadeFrom::Definition), ["what is shaft seal?"]);
    assert_eq!(find(MadeFrom::Identifier), ["read_level"]);
    assert!(!find(MadeFrom::Cloze).is_empty());
    for question in &made {
        let answers: Vec<_> = documents.iter().filter(|chunk| question.is_answered_by(chunk)).collect();
        assert_eq!(answers.len(), 1, "{question:?}");
        let (start, text) = (answers[0].span.start, &answers[0].text);
        let said = &text[question.span.start - start..question.span.end - start];
        match question.from {
            MadeFrom::Heading => assert_eq!(said, text),
            MadeFrom::Definition => assert!(said.starts_with("The shaft seal is a ring")),
            MadeFrom::Identifier => assert_eq!(said, "read_level"),
            MadeFrom::Cloze => assert!(said.split_whitespace().count() > question.text.split_whitespace().count()),
        }
    }
}

#[test]
fn the_seed_decides() {
    let many: Vec<ChunkRecord> = (0..60)
        .map(|i| {
            chunk(
                i,
                0,
                &format!("Heading number {i}"),
                &format!("The part{i}x of the engine turns around the axle of wheel {i} all day."),
            )
        })
        .collect();
    let texts = |seed| make(&many, 20, seed).into_iter().map(|made| made.text).collect::<Vec<_>>();
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    assert_eq!(texts(1).len(), 20);
    assert!(make(&[], 20, 1).is_empty());
    let counts = kinds(&make(&many, 40, 1));
    assert!(counts["heading"] >= 10, "{counts:?}");
}

#[test]
fn half_of_the_answer_is_enough() {
    let documents = documents();
    let made = Made { from: MadeFrom::Cloze, text: String::new(), source: SourceId(1), span: Span::new(90, 120) };
    assert!(made.is_answered_by(&documents[0]));
    for span in [Span::new(70, 110), Span::new(0, 100), Span::new(100, 100)] {
        assert!(!Made { span, ..made.clone() }.is_answered_by(&documents[0]), "{span:?}");
    }
    assert!(!Made { source: SourceId(2), ..made }.is_answered_by(&documents[0]));
}
