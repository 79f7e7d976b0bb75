use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::*;
use crate::{
    model::{
        Embedder,
        onnx::{OnnxEmbedder, Profile},
        registry, same_vector,
    },
    types::Cancel,
};

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/all-minilm-l6-v2-int8");

fn nothing(_: Fetching<'_>) {}

fn keep(_: &mut Card) {}

/// The model that is compiled in, laid out as a folder of the user's.
fn ours() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["model.onnx", "model.onnx.data", "vocab.txt"] {
        fs::copy(Path::new(OURS).join(name), folder.path().join(name)).expect("a copy");
    }
    fs::write(folder.path().join("config.json"), r#"{"max_position_embeddings": 256}"#).expect("written");
    folder
}

#[test]
fn the_built_in_model_from_a_folder_makes_the_same_vectors() {
    let (models, from) = (tempfile::tempdir().expect("a folder"), ours());
    let made =
        install(models.path(), "mine", &From::Folder(from.path()), None, &keep, &mut nothing).expect("installed");
    let built_in = registry::built_in().expect("onnx is on");
    assert_eq!(made.card.sha256, built_in.sha256);
    assert_eq!(installed(models.path()).expect("listed"), std::slice::from_ref(&made));
    assert!(checked(&made).expect("read"));
    let ours = OnnxEmbedder::built_in(Profile::OneShot).expect("loaded");
    let theirs = FolderEmbedder::load(&made.folder, "mine", false).expect("loaded");
    assert_eq!((theirs.space().dim, theirs.space().max_tokens), (384, 254));
    assert!(!theirs.space().multilingual);
    for text in ["", "How are refunds handled?", &"water ".repeat(254)] {
        let (a, b) = (ours.embed_passages(&[text]).expect("ours"), theirs.embed_passages(&[text]).expect("theirs"));
        assert!(same_vector(&a, &b), "{text}");
        let largest = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest < 1e-5, "{text}: {largest}");
    }
    assert!(theirs.embed_passages(&[&"water ".repeat(255)]).is_err(), "too long is told");
    fs::write(made.folder.join("model.onnx.data"), "other").expect("written");
    assert!(!checked(&made).expect("read"));
    remove(models.path(), "mine").expect("removed");
    assert!(installed(models.path()).expect("listed").is_empty());
}

#[test]
fn what_cannot_be_installed_leaves_nothing_in_the_way() {
    let (models, from) = (tempfile::tempdir().expect("a folder"), ours());
    let add = |name: &str, from: &Path, sha256: Option<&str>| {
        install(models.path(), name, &From::Folder(from), sha256, &keep, &mut nothing)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    for name in ["", "../x", "a/b", ".hidden", "x.part", "ü"] {
        assert!(add(name, from.path(), None).unwrap_err().contains("no name"), "{name}");
    }
    let error = add("mine", from.path(), Some("00")).unwrap_err();
    assert!(error.contains(registry::MODELS[0].sha256), "{error}");
    let empty = tempfile::tempdir().expect("a folder");
    assert!(add("mine", empty.path(), None).unwrap_err().contains("no tokenizer"));
    fs::copy(from.path().join("vocab.txt"), empty.path().join("vocab.txt")).expect("a copy");
    assert!(add("mine", empty.path(), None).unwrap_err().contains("no graph"));
    fs::write(empty.path().join("model.onnx"), "no graph").expect("written");
    assert!(add("mine", empty.path(), None).is_err());
    assert!(installed(models.path()).expect("listed").is_empty());
    assert!(add("All-MiniLM-L6-v2", from.path(), None).unwrap_err().contains("built-in"));
    // What another source left behind is no part of this one.
    fs::create_dir_all(models.path().join("mine.part/onnx")).expect("made");
    fs::write(models.path().join("mine.part/tokenizer.json"), "{}").expect("written");
    add("mine", from.path(), Some(registry::MODELS[0].sha256)).expect("installed after all");
    assert!(!models.path().join("mine/tokenizer.json").exists() && !models.path().join("mine/source").exists());
    // A card that cannot be read is in nobody's way, and can be removed.
    fs::create_dir(models.path().join("odd")).expect("made");
    fs::write(models.path().join("odd").join(CARD), "of = \"tomorrow\"").expect("written");
    assert_eq!(installed(models.path()).expect("listed").len(), 1);
    remove(models.path(), "odd").expect("removed");
    assert!(remove(models.path(), "odd").is_err() && remove(models.path(), "../mine").is_err());
    assert!(add("mine", from.path(), None).unwrap_err().contains("installed already"));
}

#[test]
fn other_tokenizers_are_read_cut_and_paired() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null, "decoder": null,
        "pre_tokenizer": { "type": "Whitespace" },
        "post_processor": { "type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false },
        "model": { "type": "WordLevel", "unk_token": "?", "vocab": { "<s>": 0, "</s>": 1, "?": 2, "high": 3, "water": 4, "tide": 5 } },
    });
    fs::write(folder.path().join("tokenizer.json"), json.to_string()).expect("written");
    let tokens = Tokens::load(folder.path()).expect("read");
    assert_eq!(tokens.one("high water moon", 64).expect("ids").ids, [0, 3, 4, 2, 1]);
    assert_eq!(tokens.one("high water moon", 4).expect("ids").ids, [0, 3, 4, 1]);
    assert_eq!(tokens.pair("tide", "high water", 64).expect("ids").ids, [0, 5, 1, 1, 3, 4, 1]);
    assert_eq!(tokens.pair("tide", "high water", 6).expect("ids").ids, [0, 5, 1, 1, 3, 1]);
    assert_eq!(tokens.count("high tide"), Ok(2));
    assert!(!tokens.is_multilingual() && tokens.name().starts_with("tokenizer.json/"));
    fs::write(folder.path().join("tokenizer.json"), "{}").expect("written");
    assert!(Tokens::load(folder.path()).is_err());
}

#[test]
fn cards_are_guessed_from_what_exporters_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    };
    write("config.json", r#"{"architectures": ["XLMRobertaModel"], "max_position_embeddings": 514}"#);
    write("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
    write("config_sentence_transformers.json", r#"{"prompts": {"query": "query: ", "document": "passage: "}}"#);
    let card = Card::of(folder.path()).expect("guessed");
    assert_eq!((card.purpose, card.max_tokens, card.pooling), (Purpose::Embedder, 512, crate::types::Pooling::Cls));
    assert_eq!((card.query_prefix.as_str(), card.passage_prefix.as_str()), ("query: ", "passage: "));
    write("config.json", r#"{"architectures": ["BertForSequenceClassification"]}"#);
    assert_eq!(Card::of(folder.path()).expect("guessed").purpose, Purpose::Reranker);
    card.write(folder.path()).expect("written");
    assert_eq!(Card::of(folder.path()).expect("read"), card);
    write(CARD, "purpose = 3");
    assert!(Card::of(folder.path()).is_err());
}

/// A server of one folder that breaks off after so many bytes of a body, once for each file; it counts bytes it sent.
struct Server {
    address: String,
    sent: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
}

fn serve(folder: &Path, break_after: usize, etag: &'static str) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (sent, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (folder, counted, heard) = (folder.to_owned(), Arc::clone(&sent), Arc::clone(&asked));
    std::thread::spawn(move || {
        let mut broken = Vec::new();
        for stream in listener.incoming().map_while(std::result::Result::ok) {
            let _ = answer(stream, &folder, break_after, etag, &mut broken, &counted, &heard);
        }
    });
    Server { address, sent, asked }
}

fn answer(
    mut stream: TcpStream,
    folder: &Path,
    break_after: usize,
    etag: &str,
    broken: &mut Vec<String>,
    sent: &AtomicUsize,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let name = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let header =
        |name: &str| head.lines().find_map(|line| line.to_lowercase().strip_prefix(name).map(|v| v.trim().to_owned()));
    let range =
        header("range:").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    asked.lock().expect("sound").push(format!("{name} {range:?}"));
    let Ok(bytes) = fs::read(folder.join(&name)) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    };
    let same = header("if-range:").is_some_and(|tag| tag == etag);
    let (from, status) = match range.filter(|from| same && *from < bytes.len()) {
        Some(from) => (from, "206 Partial Content"),
        None => (0, "200 OK"),
    };
    let rest = &bytes[from..];
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\netag: {etag}\r\nconnection: close\r\n\r\n", rest.len())?;
    let breaks = rest.len() > break_after && !broken.contains(&name);
    let piece = if breaks { &rest[..break_after] } else { rest };
    if breaks {
        broken.push(name);
    }
    sent.fetch_add(piece.len(), Ordering::Relaxed);
    stream.write_all(piece)
}

#[test]
fn a_fetch_that_breaks_off_goes_on_where_it_was() {
    let from = ours();
    let whole: usize = fs::metadata(from.path().join("model.onnx.data")).expect("there").len() as usize;
    let other: usize = ["model.onnx", "vocab.txt", "config.json"]
        .iter()
        .map(|name| fs::metadata(from.path().join(name)).expect("there").len() as usize)
        .sum();
    for (etag, again) in [("\"one\"", false), ("W/\"weak\"", true)] {
        let server = serve(from.path(), 10_000_000, etag);
        let models = tempfile::tempdir().expect("a folder");
        let fetch = Fetch::new(&server.address, "", None, Cancel::default()).expect("an address");
        let mut told = 0;
        let made =
            install(models.path(), "mine", &From::Web(&fetch), Some(registry::MODELS[0].sha256), &keep, &mut |file| {
                told += 1;
                assert!(file.of.is_none_or(|of| file.bytes <= of), "{file:?}");
            });
        let made = made.expect("installed");
        assert!(told > 4 && made.card.from == format!("{}/", server.address));
        let sent = server.sent.load(Ordering::Relaxed);
        let expected = if again { whole + 10_000_000 + other } else { whole + other };
        assert_eq!(sent, expected, "{etag}: {:?}", server.asked.lock());
    }
}

#[test]
fn addresses_are_those_of_files() {
    let new = |from: &str| {
        Fetch::new(from, "https://hub.example/", None, Cancel::default()).map(|fetch| fetch.base.to_string())
    };
    assert_eq!(new("hf:a/b").expect("one"), "https://hub.example/a/b/resolve/main/");
    assert_eq!(new("https://host.example/m").expect("one"), "https://host.example/m/");
    for wrong in ["hf:a", "hf:a/b/c", "ftp://x/y", "nothing"] {
        assert!(new(wrong).is_err(), "{wrong}");
    }
    let key = Some("secret-of-mine".into());
    let error = Fetch::new("http://host.example/m", "", key, Cancel::default()).err().expect("refused").to_string();
    assert!(error.contains("unencrypted") && !error.contains("secret"), "{error}");
}
