use proptest::prelude::*;

use super::*;
use crate::ingest::document::{Block, BlockKind};

const ORIGIN: Origin<'static> =
    Origin { source: SourceId(1), collection: "default", path: "docs/pump_manual.md", title: None };

fn settings(target: usize, overlap: usize) -> Settings {
    Settings::new(target, overlap, Some(254)).unwrap()
}

/// A document of blocks: kind, heading path, text. A line end stands between blocks.
fn document(blocks: &[(BlockKind, &str, &str)]) -> Document {
    let mut document = Document { text_is_source: true, ..Document::default() };
    for (kind, heading, text) in blocks {
        let start = document.text.len();
        document.text.push_str(text);
        let mut kind = kind.clone();
        if let BlockKind::Table { header, .. } = &mut kind {
            *header = Span::new(start, start + header.end.min(text.len()));
        }
        if !text.is_empty() {
            document.blocks.push(Block {
                kind,
                span: Span::new(start, document.text.len()),
                heading: heading.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
                lines: None,
                pages: None,
            });
        }
        document.text.push('\n');
    }
    document
}

/// Checks what must hold for every document and all settings.
fn check(document: &Document, settings: Settings) -> Vec<ChunkRecord> {
    let Chunked { chunks, texts, .. } = chunk(document, ORIGIN, settings);
    assert_eq!(texts.len(), chunks.len());
    let text = &document.text;
    let mut covered = vec![0u32; text.len()];
    for (at, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk.ordinal as usize, at);
        assert_eq!(chunk.text, text[chunk.span.range()]);
        assert!(!chunk.text.trim().is_empty());
        assert_eq!(chunk.id, ChunkRecord::id_of(ORIGIN.source, chunk.span, &chunk.text));
        covered[chunk.span.range()].iter_mut().for_each(|n| *n += 1);

        let embedded = embedding_text(chunk, settings.limit());
        assert_eq!(texts[at], embedded);
        let tokens = WordPiece::builtin().count(&embedded);
        assert!(tokens <= settings.limit(), "{tokens} tokens: {embedded:?}");
        assert_eq!(tokens, chunk.tokens as usize);
        if chunk.fertility <= FOREIGN_FERTILITY {
            assert!(embedded.ends_with(&chunk.text), "cut although its language is known: {embedded:?}");
        }

        let inside = |block: &&Block| block.span.start < chunk.span.end && chunk.span.start < block.span.end;
        for block in document.blocks.iter().filter(inside) {
            match block.kind {
                BlockKind::Heading(_) => assert!(chunk.heading.starts_with(&block.heading)),
                BlockKind::Code => {
                    assert!(chunk.heading.starts_with(&block.heading) || block.heading.starts_with(&chunk.heading));
                }
                BlockKind::Paragraph
                | BlockKind::List
                | BlockKind::Quote
                | BlockKind::Table { .. }
                | BlockKind::Fence
                | BlockKind::Record => assert_eq!(chunk.heading, block.heading),
            }
        }
        let lines = chunk.lines.unwrap();
        let first = 1 + text[..chunk.span.start].matches('\n').count();
        assert_eq!((lines.first as usize, lines.last as usize), (first, first + chunk.text.matches('\n').count()));
    }
    for block in &document.blocks {
        for (at, letter) in text[block.span.range()].char_indices().filter(|(_, c)| !c.is_whitespace()) {
            let times = covered[block.span.start + at];
            assert!(times >= 1, "{letter:?} is lost");
            assert!(times == 1 || settings.overlap > 0, "{letter:?} is {times} times in chunks");
        }
    }
    for pair in chunks.windows(2) {
        assert!(pair[0].span.start < pair[1].span.start);
        assert!(pair[0].span.end <= pair[1].span.start || settings.overlap > 0);
    }
    assert_eq!(chunks, chunk(document, ORIGIN, settings).chunks);
    chunks
}

fn texts(chunks: &[ChunkRecord]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

fn sentence(n: usize) -> String {
    format!("The pump number {n} must be started only when the inlet valve is open. ")
}

fn prose(sentences: usize) -> String {
    (0..sentences).map(sentence).collect()
}

#[test]
fn a_short_document_is_one_chunk_under_its_title() {
    let made = document(&[
        (BlockKind::Heading(1), "Pump", "# Pump"),
        (BlockKind::Paragraph, "Pump", "Open the valve."),
        (BlockKind::Paragraph, "Pump", "Then start it."),
    ]);
    let chunks = check(&made, settings(200, 0));
    assert_eq!(texts(&chunks), ["# Pump\nOpen the valve.\nThen start it."]);
    assert_eq!(chunks[0].title.as_deref(), Some("pump manual"));
    assert_eq!(embedding_text(&chunks[0], 254), "pump manual > Pump\n# Pump\nOpen the valve.\nThen start it.");
}

#[test]
fn chunks_never_cross_a_heading() {
    let made = document(&[
        (BlockKind::Paragraph, "", "Before."),
        (BlockKind::Heading(1), "A", "# A"),
        (BlockKind::Heading(2), "A/B", "## B"),
        (BlockKind::Paragraph, "A/B", "One."),
        (BlockKind::Heading(2), "A/C", "## C"),
        (BlockKind::Paragraph, "A/C", "Two."),
    ]);
    let chunks = check(&made, settings(200, 0));
    assert_eq!(texts(&chunks), ["Before.", "# A\n## B\nOne.", "## C\nTwo."]);
    assert_eq!(chunks[1].heading, ["A", "B"]);
}

#[test]
fn long_prose_is_cut_at_sentence_ends_near_the_target() {
    let made = document(&[(BlockKind::Paragraph, "", &prose(60))]);
    let chunks = check(&made, settings(200, 0));
    assert!(chunks.len() > 4);
    for chunk in &chunks {
        assert!(chunk.text.starts_with("The pump") && chunk.text.ends_with("open."), "{}", chunk.text);
    }
    for chunk in &chunks[..chunks.len() - 1] {
        assert!((170..=200).contains(&chunk.tokens), "{}", chunk.tokens);
    }
}

#[test]
fn overlap_repeats_whole_sentences() {
    let made = document(&[(BlockKind::Paragraph, "", &prose(60))]);
    let chunks = check(&made, settings(200, 40));
    for pair in chunks.windows(2) {
        let shared = pair[0].span.end.saturating_sub(pair[1].span.start);
        assert!(shared >= sentence(0).len() - 1 && pair[0].text.ends_with(&pair[1].text[..shared]));
    }
}

#[test]
fn a_table_repeats_its_header_and_keeps_its_rows() {
    let rows: String = (0..200).map(|n| format!("| pump {n} | {n} kW | in stock |\n")).collect();
    let text = format!("| name | power | state |\n|---|---|---|\n{rows}");
    let header = Span::new(0, text.find("| pump 0").unwrap());
    let made = document(&[
        (BlockKind::Paragraph, "Prices", "These are the prices."),
        (BlockKind::Table { header, rows: vec![] }, "Prices", &text),
    ]);
    let chunks = check(&made, settings(200, 0));
    assert!(chunks.len() > 5);
    assert_eq!(chunks[0].context, "");
    for chunk in &chunks[1..] {
        assert_eq!(chunk.context, "| name | power | state |\n|---|---|---|");
        assert!(chunk.text.starts_with("| pump") && chunk.text.ends_with("in stock |"), "{}", chunk.text);
        assert!(chunk.tokens >= 150 || chunk.ordinal as usize == chunks.len() - 1, "{}", chunk.tokens);
    }
}

#[test]
fn a_fence_stays_whole_up_to_the_limit() {
    let fence = format!("```\n{}```", "let value = other;\n".repeat(30));
    let made = document(&[(BlockKind::Paragraph, "", &prose(6)), (BlockKind::Fence, "", &fence)]);
    let chunks = check(&made, settings(200, 0));
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[1].text, fence);
    let long = format!("```\n{}```", "let value = other;\n".repeat(300));
    assert!(check(&document(&[(BlockKind::Fence, "", &long)]), settings(200, 0)).len() > 5);
}

#[test]
fn code_keeps_its_indentation() {
    let body: String = (0..40).map(|n| format!("    let value_{n} = compute({n});\n\n")).collect();
    let made = document(&[(BlockKind::Code, "run", &format!("fn run() {{\n{body}}}"))]);
    let chunks = check(&made, settings(100, 0));
    assert!(chunks.len() > 2);
    assert!(chunks[1].text.starts_with("    let value_"), "{:?}", chunks[1].text);
}

#[test]
fn foreign_text_is_cut_by_characters() {
    let russian = "Насос разрешается включать только при открытом впускном клапане и после проверки масла. ";
    let made = document(&[(BlockKind::Paragraph, "", &russian.repeat(60))]);
    let chunks = check(&made, settings(200, 0));
    for chunk in &chunks[..chunks.len() - 1] {
        let chars = chunk.text.chars().count();
        assert!((800..=1000).contains(&chars), "{chars}");
        assert_eq!((chunk.tokens, chunk.lang.as_deref()), (254, Some("ru")));
    }
    let chinese = "只有在进气阀打开并检查机油后才能启动泵。".repeat(200);
    let chunks = check(&document(&[(BlockKind::Paragraph, "", &chinese)]), settings(200, 0));
    assert!((900..=1000).contains(&chunks[0].text.chars().count()));
    assert!(chunks[0].text.ends_with('。'));
}

#[test]
fn a_long_prefix_leaves_room_for_the_text() {
    let heading = vec!["a very long heading about pumps and valves ".repeat(20); 3].join("/");
    let made = document(&[(BlockKind::Paragraph, &heading, &prose(40))]);
    let chunks = check(&made, settings(200, 0));
    assert!(chunks[0].text.len() > 400);
    check(&made, settings(16, 0));
}

#[test]
fn hostile_texts_fall_into_small_chunks() {
    const SIZE: usize = 64 << 10;
    let endless = "x".repeat(SIZE);
    let stops = format!("a{}", ".)".repeat(SIZE / 2));
    let spaces = format!("a{}b", " ".repeat(SIZE));
    let marks = format!("e{}", "\u{301}".repeat(SIZE / 2));
    let flags = "🇩🇪".repeat(SIZE / 8);
    for text in [&endless, &stops, &spaces, &marks, &flags] {
        for kind in [BlockKind::Paragraph, BlockKind::Code, BlockKind::Record] {
            let made = document(&[(kind, "", text)]);
            let chunks = chunk(&made, ORIGIN, settings(200, 0)).chunks;
            assert!(chunks.iter().all(|chunk| chunk.text.len() <= 254 * 64), "a chunk of the endless is endless");
        }
    }
}

#[test]
fn too_many_chunks_are_told() {
    let made = document(&[(BlockKind::Paragraph, "", &prose(60))]);
    let all = chunk_up_to(&made, ORIGIN, settings(100, 0), 1000);
    assert!(all.problem.is_none());
    let some = chunk_up_to(&made, ORIGIN, settings(100, 0), 3);
    assert_eq!(some.chunks, all.chunks[..3]);
    assert_eq!(some.problem.unwrap().reason, "too_many_chunks");
}

#[test]
fn what_is_left_out_stays_out() {
    let mut made = document(&[
        (BlockKind::Paragraph, "", "Before."),
        (BlockKind::Paragraph, "", "secret: yes"),
        (BlockKind::Paragraph, "", "After."),
    ]);
    made.blocks.remove(1);
    assert_eq!(texts(&check(&made, settings(200, 0))), ["Before.", "After."]);
}

#[test]
fn empty_documents_have_no_chunks() {
    check(&document(&[]), settings(200, 0));
    assert!(check(&document(&[(BlockKind::Paragraph, "", " \n\t ")]), settings(200, 0)).is_empty());
}

#[test]
fn a_title_that_is_given_counts_alone() {
    for (given, want) in [(None, Some("Own")), (Some("Given"), Some("Given")), (Some(""), None)] {
        let document =
            Document { title: Some("Own".into()), ..document(&[(BlockKind::Paragraph, "", "The pump is blue.")]) };
        let chunks = chunk(&document, Origin { title: given, ..ORIGIN }, settings(200, 0)).chunks;
        assert_eq!(chunks[0].title.as_deref(), want);
        assert_eq!(embedding_text(&chunks[0], 254).starts_with("The pump"), want.is_none());
    }
}

#[test]
fn names_make_titles() {
    for (path, want) in [
        ("a/annual_report-2024.pdf", "annual report 2024"),
        ("README", "README"),
        (".env", ".env"),
        ("a/---.md", "---.md"),
        ("x/Makefile", "Makefile"),
        ("a.tar.gz", "a.tar"),
    ] {
        assert_eq!(title_of_name(path), want);
    }
}

#[test]
fn settings_are_checked() {
    assert_eq!(settings(200, 0).limit(), 254);
    assert_eq!(Settings::new(200, 0, Some(512)).unwrap().limit(), 254);
    assert_eq!(Settings::new(254, 0, Some(254)).unwrap().limit(), 254);
    assert_eq!(Settings::new(1000, 100, None).unwrap().limit(), 1000);
    for (target, overlap, max) in [(15, 0, Some(254)), (255, 0, Some(254)), (100, 51, None), (0, 0, None)] {
        assert!(matches!(Settings::new(target, overlap, max), Err(Error::Options { .. })), "{target} {overlap}");
    }
    assert_ne!(settings(200, 0).key(), settings(200, 1).key());
}

fn any_text() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        "[a-z]{1,12}",
        "[A-Z][a-z]{1,9}[.!?]",
        "[а-я]{3,9}",
        "[一-龥。]{1,40}",
        "[(){};=_0-9]{1,9}",
        "[a-z]{150,400}",
        "\\PC{1,6}",
        Just("👨‍👩‍👧🇩🇪".to_owned()),
    ];
    let space = prop_oneof![5 => Just(" "), 1 => Just("\n"), 1 => Just("\n\n"), 1 => Just("    "), 1 => Just("\u{85}")];
    proptest::collection::vec((words, space), 0..120)
        .prop_map(|parts| parts.into_iter().map(|(word, space)| word + space).collect())
}

fn any_block() -> impl Strategy<Value = (BlockKind, &'static str, String)> {
    let kind = prop_oneof![
        Just(BlockKind::Heading(1)),
        Just(BlockKind::Paragraph),
        Just(BlockKind::List),
        Just(BlockKind::Table { header: Span::new(0, 0), rows: vec![] }),
        Just(BlockKind::Fence),
        Just(BlockKind::Code),
        Just(BlockKind::Record),
    ];
    (kind, prop_oneof![Just(""), Just("A"), Just("A/B"), Just("A/C"), Just("D")], any_text())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_for_any_document(
        blocks in proptest::collection::vec(any_block(), 0..8),
        target in prop_oneof![Just(16usize), Just(64), Just(200), Just(254)],
        overlap_share in 0usize..3,
    ) {
        let blocks: Vec<_> = blocks.iter().map(|(kind, heading, text)| (kind.clone(), *heading, text.as_str())).collect();
        check(&document(&blocks), settings(target, target * overlap_share / 4));
    }
}
