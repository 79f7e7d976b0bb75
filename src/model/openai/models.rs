//! Which model does a server have? Reads `GET /models` where no name was given. Not needed otherwise: some servers have no
//! such list.

use serde_json::Value;

use super::problem::{Problem, describe};
use crate::model::{
    Error, Result,
    http::{Http, Leave, Reply},
};

const PATH: &str = "models";

/// A model as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    /// Tokens of its context, where the list says so (llama.cpp, vLLM).
    pub context_tokens: Option<usize>,
}

/// What the model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Chat,
    Embedding,
}

/// The first model of the server's list whose name does not speak against the purpose, else the first.
/// Errors: [`Error::Options`] for an empty list, and whatever keeps the list from coming.
pub fn first(http: &Http, leave: &Leave, purpose: Purpose) -> Result<Listed> {
    let body = match http.get(PATH, leave)? {
        Reply::Success(body) => body.rest()?,
        Reply::Failure(failure) if matches!(failure.status, 404 | 405 | 501) => return Err(unnamed(http)),
        Reply::Failure(failure) => return Err(Problem::of(&failure).into_error(http, PATH, 0)),
    };
    let Ok(value) = serde_json::from_slice::<Value>(&body) else {
        let found = http.clean(&describe(&String::from_utf8_lossy(&body)));
        return Err(Error::BadAnswer { url: http.shown(PATH), expected: "a list of models", found });
    };
    let models = listed(&value);
    let fits = |model: &&Listed| is_embedder(&model.name) == (purpose == Purpose::Embedding);
    models.iter().find(fits).or(models.first()).cloned().ok_or_else(|| unnamed(http))
}

fn unnamed(http: &Http) -> Error {
    Error::Options { what: format!("`{}` names no model; say which one is to be used", http.shown(PATH)) }
}

fn listed(value: &Value) -> Vec<Listed> {
    let list = [value.get("data"), value.get("models"), Some(value)].into_iter().flatten().find_map(Value::as_array);
    let model = |item: &Value| {
        let name = ["id", "name", "model"].iter().find_map(|name| item.get(name)?.as_str())?;
        let context = [item.pointer("/meta/n_ctx"), item.get("max_model_len"), item.get("context_length")];
        let context_tokens = context.into_iter().flatten().find_map(Value::as_u64);
        let context_tokens =
            context_tokens.and_then(|tokens| usize::try_from(tokens).ok()).filter(|&tokens| tokens > 0);
        (!name.is_empty()).then(|| Listed { name: name.to_owned(), context_tokens })
    };
    list.into_iter().flatten().filter_map(model).collect()
}

fn is_embedder(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["embed", "bge-", "e5-", "gte-", "minilm"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_come_in_several_shapes() {
        let one = |name: &str, context_tokens| vec![Listed { name: name.to_owned(), context_tokens }];
        for (value, want) in [
            (
                json!({"object": "list", "data": [{"id": "a", "meta": {"n_ctx": 512, "n_ctx_train": 8192}}]}),
                one("a", Some(512)),
            ),
            (json!({"data": [{"id": "a", "max_model_len": 4096}]}), one("a", Some(4096))),
            (json!({"models": [{"name": "a", "context_length": 0}]}), one("a", None)),
            (json!([{"id": "a"}, {"id": ""}, {}, 7]), one("a", None)),
            (json!({"data": {}}), vec![]),
            (json!("text"), vec![]),
        ] {
            assert_eq!(listed(&value), want, "{value}");
        }
    }

    #[test]
    fn embedders_are_known_by_their_names() {
        for (name, want) in [("nomic-embed-text:latest", true), ("BAAI/bge-m3", true), ("llama3.2:3b", false)] {
            assert_eq!(is_embedder(name), want, "{name}");
        }
    }
}
