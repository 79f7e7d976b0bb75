//! What does an embedding model want to be told? Prefixes and limits of model families by the names that servers use.
//! Not good for: names that say nothing; what is not here must be given, or is left empty.
//! Source: the model cards of each family.

/// Facts of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    /// The most tokens the model reads of one text.
    pub max_tokens: usize,
    /// The model reads every script.
    pub multilingual: bool,
}

/// Of a model whose name says nothing: the least that any model in use reads.
pub const UNKNOWN: Family = Family { query_prefix: "", passage_prefix: "", max_tokens: 512, multilingual: false };

const BGE_QUERY: &str = "Represent this sentence for searching relevant passages: ";
const QWEN_QUERY: &str = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:";

/// The first row whose parts all occur in the name counts, so the narrower ones stand first.
const FAMILIES: [(&[&str], Family); 24] = [
    (&["e5", "mistral"], family(QWEN_QUERY, "", 4096, false)),
    (&["e5", "instruct"], family(QWEN_QUERY, "", 512, true)),
    (&["multilingual-e5"], family("query: ", "passage: ", 512, true)),
    (&["e5-"], family("query: ", "passage: ", 512, false)),
    (&["bge-m3"], family("", "", 8192, true)),
    (&["bge", "zh"], family("为这个句子生成表示以用于检索相关文章：", "", 512, false)),
    (&["bge-"], family(BGE_QUERY, "", 512, false)),
    (&["nomic-embed", "v2"], family("search_query: ", "search_document: ", 512, true)),
    (&["nomic-embed"], family("search_query: ", "search_document: ", 2048, false)),
    (&["mxbai-embed"], family(BGE_QUERY, "", 512, false)),
    (&["arctic-embed", "2"], family("query: ", "", 8192, true)),
    (&["arctic-embed"], family(BGE_QUERY, "", 512, false)),
    (&["gte-multilingual"], family("", "", 8192, true)),
    (&["gte-qwen"], family(QWEN_QUERY, "", 8192, true)),
    (&["gte-", "v1.5"], family("", "", 8192, false)),
    (&["gte-"], family("", "", 512, false)),
    (&["qwen3-embedding"], family(QWEN_QUERY, "", 8192, true)),
    (&["embeddinggemma"], family("task: search result | query: ", "title: none | text: ", 2048, true)),
    (&["minilm"], family("", "", 254, false)),
    (&["jina-embeddings-v2"], family("", "", 8192, false)),
    (&["text-embedding-3"], family("", "", 8191, true)),
    (&["text-embedding-ada"], family("", "", 8191, true)),
    (&["mistral-embed"], family("", "", 8192, true)),
    (&["gemini-embedding"], family("", "", 2048, true)),
];

const fn family(
    query_prefix: &'static str,
    passage_prefix: &'static str,
    max_tokens: usize,
    multilingual: bool,
) -> Family {
    Family { query_prefix, passage_prefix, max_tokens, multilingual }
}

/// The family of a model by the name a server gives it (`BAAI/bge-m3`, `nomic-embed-text:latest`).
pub fn of(model: &str) -> Family {
    let name = model.to_lowercase().replace('_', "-");
    let fits = |parts: &[&str]| parts.iter().all(|part| name.contains(part));
    FAMILIES.iter().find(|(parts, _)| fits(parts)).map_or(UNKNOWN, |(_, family)| *family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_are_known() {
        for (name, query, passage, multilingual) in [
            ("intfloat/multilingual-e5-large", "query: ", "passage: ", true),
            ("intfloat/multilingual-e5-large-instruct", QWEN_QUERY, "", true),
            ("e5-small-v2", "query: ", "passage: ", false),
            ("BAAI/bge-m3", "", "", true),
            ("bge-large:latest", BGE_QUERY, "", false),
            ("BAAI/bge-small-en-v1.5", BGE_QUERY, "", false),
            ("nomic-embed-text:latest", "search_query: ", "search_document: ", false),
            ("nomic-embed-text-v2-moe", "search_query: ", "search_document: ", true),
            ("snowflake-arctic-embed2", "query: ", "", true),
            ("snowflake-arctic-embed:335m", BGE_QUERY, "", false),
            ("text_embedding_3_small", "", "", true),
            ("Alibaba-NLP/gte-base-en-v1.5", "", "", false),
            ("mystery", "", "", false),
        ] {
            let family = of(name);
            assert_eq!((family.query_prefix, family.passage_prefix), (query, passage), "{name}");
            assert_eq!(family.multilingual, multilingual, "{name}");
        }
        assert_eq!(of("mystery"), UNKNOWN);
    }

    #[test]
    fn no_row_hides_another() {
        for (row, (parts, family)) in FAMILIES.iter().enumerate() {
            let name = parts.join("-");
            assert_eq!(of(&name), *family, "row {row}: {name}");
        }
    }
}
