//! Every setting there is, one line each.

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Text,
    Bool,
    /// From, to.
    Number(u64, u64),
    /// 0..=1.
    Share,
    /// From 0.
    Decimal(u32),
    Size,
    Time,
    List,
    Choice(&'static [&'static str]),
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    pub key: &'static str,
    pub shape: Shape,
    /// As it would be typed; `None`: unset.
    pub default: Option<&'static str>,
    /// The index's own file may set it.
    pub in_index: bool,
    pub help: &'static str,
}

const fn own(key: &'static str, shape: Shape, default: Option<&'static str>, help: &'static str) -> Setting {
    Setting { key, shape, default, in_index: false, help }
}

const fn shared(key: &'static str, shape: Shape, default: Option<&'static str>, help: &'static str) -> Setting {
    Setting { key, shape, default, in_index: true, help }
}

/// Every setting there is.
pub const SETTINGS: &[Setting] = &[
    shared("ingest.chunk_tokens", Shape::Number(32, 254), Some("230"), "word pieces a chunk aims at"),
    shared(
        "ingest.chunk_overlap",
        Shape::Number(0, 127),
        None,
        "word pieces two neighbour chunks share; unset: 40 of 230, as much of other sizes",
    ),
    shared("ingest.max_file_size", Shape::Size, Some("512MiB"), "larger files are skipped"),
    shared("ingest.file_timeout", Shape::Time, Some("60s"), "a file that takes longer has failed"),
    shared("ingest.hidden", Shape::Bool, Some("false"), "take hidden files too"),
    shared("ingest.archives", Shape::Bool, Some("false"), "read what is in archives (zip, tar, gz)"),
    shared("ingest.include", Shape::List, None, "take only files that match one of these globs"),
    shared("ingest.exclude", Shape::List, None, "leave out files that match one of these globs"),
    own("ingest.follow", Shape::Bool, Some("false"), "follow symbolic links inside the given folders"),
    own(
        "ingest.loaders",
        Shape::List,
        None,
        "programs that read other formats: `djvu=djvutxt /dev/stdin`; the file on their standard input",
    ),
    own("ingest.ocr", Shape::Bool, Some("false"), "read scanned pages of PDFs with `tesseract` and `pdftoppm`"),
    own(
        "ingest.ocr_languages",
        Shape::Text,
        Some("eng"),
        "what they are written in, as `tesseract` names it: `deu+eng`",
    ),
    own("ingest.jobs", Shape::Number(0, 1024), Some("0"), "worker processes; 0: one a core"),
    shared("retrieve.k", Shape::Number(1, 1000), Some("10"), "results of a query"),
    shared("retrieve.mode", Shape::Choice(&["hybrid", "lexical", "dense"]), Some("hybrid"), "which legs search"),
    shared(
        "retrieve.fusion",
        Shape::Choice(&["blend", "rrf", "weighted", "dbsf"]),
        Some("blend"),
        "how legs become one",
    ),
    shared("retrieve.alpha", Shape::Share, None, "weight of the dense leg"),
    shared("retrieve.min_score", Shape::Share, None, "least relevance of a result"),
    shared("retrieve.per_source", Shape::Number(1, 1000), None, "most results of one source"),
    shared("retrieve.recall", Shape::Share, None, "share of the nearest chunks that a graph must find"),
    shared("retrieve.mmr", Shape::Share, None, "diversity: 1 relevance alone, 0 diversity alone"),
    own("embed.url", Shape::Text, None, "OpenAI-style endpoint for embeddings; unset: the built-in model"),
    own(
        "embed.model",
        Shape::Text,
        None,
        "model name at that endpoint; without one, an installed model (`rag models`)",
    ),
    own("embed.key_file", Shape::Text, None, "file that holds the key of that endpoint"),
    own("embed.query_prefix", Shape::Text, None, "put before a query, where the model wants it"),
    own("embed.passage_prefix", Shape::Text, None, "put before a passage, where the model wants it"),
    own("embed.onnxruntime", Shape::Text, None, "ONNX Runtime library to use, or `auto`; unset: the built-in runtime"),
    own("rerank.url", Shape::Text, None, "endpoint that reranks (Cohere, Jina, TEI, llama.cpp), for `--rerank`"),
    own(
        "rerank.model",
        Shape::Text,
        None,
        "model name at that endpoint; without one, an installed model (`rag models`)",
    ),
    own("rerank.key_file", Shape::Text, None, "file that holds the key of that endpoint"),
    own("rerank.folder", Shape::Text, None, "folder with a cross-encoder (`model.onnx`, its tokenizer) to rerank here"),
    own("rerank.budget", Shape::Time, Some("2s"), "longest wait for a reranker; then the order of the search stands"),
    own("llm.url", Shape::Text, None, "OpenAI-style endpoint that answers; unset: extracts are quoted"),
    own("llm.model", Shape::Text, None, "model name at that endpoint; unset: the first one it lists"),
    own("llm.key_file", Shape::Text, None, "file that holds the key of that endpoint"),
    own("llm.key_env", Shape::Text, None, "environment variable that holds the key of that endpoint"),
    own("llm.key_header", Shape::Text, None, "header that carries the key; unset: authorization, and api-key at Azure"),
    own(
        "llm.headers",
        Shape::List,
        None,
        "further headers, `Name: value`; `${VARIABLE}` is taken from the environment",
    ),
    own("llm.api", Shape::Choice(&["chat", "responses"]), Some("chat"), "chat completions, or the Responses API"),
    own("llm.api_version", Shape::Text, None, "put into the address as `api-version`, as Azure wants it"),
    own("llm.ca_file", Shape::Text, None, "certificates (PEM) to trust besides those of the system"),
    own("llm.temperature", Shape::Decimal(2), Some("0"), "0: the likeliest words"),
    own(
        "llm.max_tokens_field",
        Shape::Choice(&["max_tokens", "max_completion_tokens", "none"]),
        None,
        "how the endpoint names the longest answer; unset: it is learnt",
    ),
    own("llm.no_system", Shape::Bool, Some("false"), "the model knows no system message: put it before the question"),
    own("llm.price_per_million_input", Shape::Decimal(1_000_000), None, "what a million tokens of prompts cost"),
    own("llm.price_per_million_output", Shape::Decimal(1_000_000), None, "what a million tokens of answers cost"),
    own("llm.max_tokens", Shape::Number(1, 1_000_000), Some("800"), "longest answer"),
    own("llm.context_tokens", Shape::Number(256, 10_000_000), Some("8192"), "prompt and answer together"),
    own("llm.connect_timeout", Shape::Time, Some("10s"), "longest wait for a connection"),
    own("llm.first_token_timeout", Shape::Time, Some("120s"), "longest wait for the first word"),
    own("llm.idle_timeout", Shape::Time, Some("60s"), "longest wait between two words"),
    own("llm.timeout", Shape::Time, None, "longest wait for a whole answer; unset: none"),
    own("llm.allow_plaintext", Shape::Bool, Some("false"), "send a key over http:// to another machine"),
    own("ask.system_prompt", Shape::Text, None, "in place of our rules for the model; `{rules}` in it stands for them"),
    own("ask.system_prompt_file", Shape::Text, None, "a file that holds the same"),
    own(
        "ask.datamark",
        Shape::Bool,
        Some("false"),
        "put marks between the words of passages, against orders in documents",
    ),
    own("ask.unsupported", Shape::Choice(&["mark", "drop"]), Some("mark"), "what becomes of unsupported sentences"),
    own("remote.ca_file", Shape::Text, None, "certificates (PEM) to trust of a server, besides those of the system"),
    own("remote.allow_plaintext", Shape::Bool, Some("false"), "send a server's key over http:// to another machine"),
    own("output.color", Shape::Choice(&["auto", "always", "never"]), Some("auto"), "colour on the terminal"),
];
