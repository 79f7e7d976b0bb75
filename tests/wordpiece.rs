//! Our tokenizer against the `tokenizers` crate: the same ids and the same byte ranges, on hard cases, on every
//! character, on arbitrary strings, and on real documents of many languages.

#![allow(clippy::print_stdout, reason = "tests say what they leave out")]

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
};

use proptest::prelude::*;
use rag::model::wordpiece::WordPiece;
use tokenizers::Tokenizer;

/// The reference tokenizer, without cutting, padding and special tokens.
fn oracle() -> Tokenizer {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/minilm-tokenizer.json");
    let mut oracle = Tokenizer::from_file(path).expect("the fixture is a tokenizer");
    oracle.with_truncation(None).expect("no truncation is always possible");
    oracle.with_padding(None);
    // `[SEP]` in a document is text.
    oracle.set_encode_special_tokens(true);
    oracle
}

/// Compares ids, byte ranges and the count; says where the first difference is.
fn compare(oracle: &Tokenizer, text: &str) -> Result<(), String> {
    let ours = WordPiece::builtin();
    let want = oracle.encode(text, false).map_err(|error| error.to_string())?;
    let (ids, ranges) = (ours.encode(text), ours.offsets(text));
    let same_ids = ids == want.get_ids();
    let same_ranges = ranges.iter().map(|at| (at.start, at.end)).eq(want.get_offsets().iter().copied());
    if same_ids && same_ranges && ours.count(text) == ids.len() && ours.texture(text).tokens == ids.len() {
        return Ok(());
    }
    let difference = (0..ids.len().max(want.len())).find(|&i| {
        ids.get(i) != want.get_ids().get(i)
            || ranges.get(i).map(|at| (at.start, at.end)) != want.get_offsets().get(i).copied()
    });
    let i = difference.unwrap_or_default();
    Err(format!(
        "token {i}: ours {:?} {:?}, theirs {:?} {:?} in {:?}",
        ids.get(i),
        ranges.get(i),
        want.get_ids().get(i),
        want.get_offsets().get(i),
        text.chars().take(400).collect::<String>(),
    ))
}

#[test]
fn hard_cases() {
    let oracle = oracle();
    let long = ["a".repeat(99), "a".repeat(100), "a".repeat(101), "é".repeat(100), "é".repeat(101), "x".repeat(50_000)];
    let cases = [
        "",
        " ",
        "\u{fffd}",
        "a\u{fffd}b \u{fffd} c",
        "tab\tline\nreturn\rform\x0cfeed\x0bbell\x07null\0end",
        "next\u{85}line sep\u{2028}para\u{2029}nbsp\u{a0}ideographic\u{3000}space",
        "zero\u{200b}width joiner\u{200d} bom\u{feff}word\u{2060}join soft\u{ad}hyphen rtl\u{202e}mark",
        "👨‍👩‍👧‍👦 family, 🏳️‍🌈 flag, 👍🏽 thumb, 😀😀 faces, ☃ ☃️ snow",
        "cafe\u{301} café e\u{301}\u{302}\u{303}\u{323} a\u{323}\u{307} a\u{307}\u{323} \u{301}start \u{301}",
        "İstanbul ıssız IĞDIR ŞİŞLİ ß ẞ straße ﬁ ﬂ ﬀ ǆ ǅ Œuvre Æther ﷺ",
        "ＦＵＬＬ　ｗｉｄｔｈ ｶﾀｶﾅ カタカナ ひらがな が か\u{3099} 東京都に行く。「括弧」、句点",
        "한국어 문장입니다 각 \u{1100}\u{1161}\u{11a8} ㄱㄴㄷ 뷁",
        "Привет, мир! Ёлка й и\u{306} Україна ґанок ѝ",
        "مرحبا بالعالم السَّلامُ عَلَيْكُمْ أإآؤئ ٠١٢٣",
        "שָׁלוֹם עולם नमस्ते दुनिया क़ख़ ไทย ภาษาไทย ខ្មែរ தமிழ் తెలుగు বাংলা",
        "Ελληνικά ΣΊΣΥΦΟΣ ς Ω Ω ά ά ᾳ ΐ tiếng Việt ự ữ ồ",
        "\u{f900}\u{f901} 豈 \u{2f800} 𠀀𠀁 㐀 \u{2f00} ⼀ \u{2e80} 〇 々",
        "≠ ≮ ⫝̸ K Å ` ; · \u{1fef} \u{37e} \u{387} \u{2126} \u{212a} \u{212b} \u{2000}\u{2001}",
        "a$b^c`d~e|f+g=h<i>j \\ / # ## ### ##ing [UNK] [CLS] [SEP] [MASK] [PAD] [unused0]",
        "don't can’t “quoted” ‘single’ «guillemets» … – — ‒ ― • · † ‡ § ¶ ¿¡ ° € £ ¥ ¢ © ® ™ ½ ² ³ ¹",
        "http://example.org/a?b=c&d=%20e#f user@example.org C++ C# .NET x86_64 snake_case camelCase 3.14e-10",
        "\u{e000}private\u{f8ff} \u{e0001}\u{e0041} \u{fff9}a\u{fffa}b\u{fffb} \u{10ffff} \u{fdd0} \u{378}",
        "\u{1d15e} \u{1d165}\u{1d16d} x\u{302e}\u{302f} \u{16ff0}",
        "\u{0344} \u{0340}\u{0341}\u{0343} \u{0958} \u{0dda} \u{1109a} \u{11938} \u{1d1c0}",
    ];
    let wide = "\u{ad}".repeat(3000) + "hidden" + &"\u{301}".repeat(3000) + "hidden";
    let failures: Vec<_> = cases
        .into_iter()
        .chain(long.iter().map(String::as_str))
        .chain([wide.as_str()])
        .filter_map(|text| compare(&oracle, text).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_character_inside_a_word_and_alone() {
    let oracle = oracle();
    // Whole, but for the long runs of ideographs, Hangul, private use and the unassigned, of which samples and the edges.
    let edges = [0x3400, 0x4dc0, 0x4e00, 0xa000, 0xf900, 0xfb00, 0x2_0000, 0x2_a6e0, 0x2_a700, 0x2_b740, 0x2_b820];
    let more_edges = [0x2_b920, 0x2_ceb0, 0x2_f800, 0x2_fa20, 0xac00, 0xd7a4, 0xe000, 0xf_0000, 0xf_fffe, 0x10_0000];
    let characters: Vec<char> = (0..0x3400u32)
        .chain((0x3400..0xa000).step_by(61))
        .chain(0xa000..0xac00)
        .chain((0xac00..0xd7a4).step_by(7))
        .chain((0xd7a4..0xf900).step_by(61))
        .chain(0xf900..0x1_8000)
        .chain(0x1_b000..0x2_0000)
        .chain(0x2_f800..0x2_fa20)
        .chain(0xe_0000..0xe_0200)
        .chain((0x1_8000..0x11_0000).step_by(509))
        .chain(edges.into_iter().chain(more_edges).flat_map(|edge| [edge - 1, edge]))
        .filter_map(char::from_u32)
        .collect();
    for some in characters.chunks(512) {
        let text: String = some.iter().map(|c| format!("a{c}b {c} ")).collect();
        if compare(&oracle, &text).is_err() {
            for &c in some {
                let alone = compare(&oracle, &format!("a{c}b {c} "));
                assert!(alone.is_ok(), "U+{:04X}: {}", u32::from(c), alone.unwrap_err());
            }
            panic!("characters from U+{:04X} differ together, though none alone", u32::from(some[0]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_strings(text in any::<String>()) {
        prop_assert_eq!(compare(&ORACLE, &text), Ok(()));
    }

    #[test]
    fn words_of_mixed_scripts(text in "([a-zA-Z\u{c0}-\u{24f}\u{300}-\u{310}\u{370}-\u{45f}\u{3040}-\u{30ff}\u{4e00}-\u{4e20}가-깋0-9]{1,12}[ .,\\-_'/\u{ad}\u{200d}\n]?){0,20}") {
        prop_assert_eq!(compare(&ORACLE, &text), Ok(()));
    }
}

static ORACLE: std::sync::LazyLock<Tokenizer> = std::sync::LazyLock::new(oracle);

/// The shared collections: `RAG_SHARED`, or beside the checkout. Without them CI fails and anyone else is told.
fn shared() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared"));
    let folder = std::env::var_os("RAG_SHARED").map_or_else(beside, PathBuf::from).join("eval");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no test collections at `{}`", folder.display());
    println!("left out: no test collections at `{}`", folder.display());
    None
}

#[test]
fn real_documents_of_many_languages() {
    let Some(shared) = shared() else { return };
    let oracle = oracle();
    let collections = [
        ("adi", 82),
        ("cacm", 300),
        ("cisi", 300),
        ("cosqa", 400),
        ("cranfield", 300),
        ("jsquad", 300),
        ("scifact", 300),
        ("xquad/ar", 240),
        ("xquad/de", 120),
        ("xquad/en", 120),
        ("xquad/es", 120),
        ("xquad/ru", 240),
        ("xquad/zh", 240),
    ];
    let (mut documents, mut failures) = (0, Vec::new());
    for (name, most) in collections {
        let path = shared.join(name).join("corpus.jsonl.gz");
        let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
        for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines().take(most) {
            let document: serde_json::Value = serde_json::from_str(&line.expect("text")).expect("one object a line");
            let text =
                format!("{}\n{}", document["title"].as_str().unwrap_or(""), document["text"].as_str().unwrap_or(""));
            failures.extend(compare(&oracle, &text).err().map(|why| format!("{name}: {why}")));
            documents += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {documents}: {}", failures.len(), failures.join("\n"));
    assert!(documents >= 3000, "only {documents} documents");
}
