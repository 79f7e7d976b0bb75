//! What to do next, for each error that does not say it itself: the same words at every door.

use crate::{index, ingest, model, retrieve, types::Kind};

/// What to do about an error of the index.
pub fn index(error: &index::Error) -> Option<String> {
    if let index::Error::NotAnIndex { .. } = error {
        return Some("name an empty or a new folder with `--index DIR` or RAG_INDEX".into());
    }
    if let index::Error::Format { .. } = error {
        return Some(
            "a newer program made it: update this one, or ingest the sources into a new index with `--index DIR`"
                .into(),
        );
    }
    if let index::Error::Space { .. } = error {
        return Some(
            "query it with the program and model that made it, or give the index another model: `rag reembed \
             --embed-model NAME` (`rag models` names them)"
                .into(),
        );
    }
    if let index::Error::NotAFolder { .. } = error {
        return Some("name a folder with `--index DIR` or RAG_INDEX; one that is not there yet is made".into());
    }
    if let index::Error::Io { source, .. } = error
        && source.kind() == std::io::ErrorKind::PermissionDenied
    {
        return Some("nothing was lost: mend the permissions, then run the command again".into());
    }
    let hint = match error.kind() {
        Kind::NotFound => "run `rag ingest PATH` first, or name the index with `--index DIR`",
        Kind::Locked => {
            "wait for it to end (`--wait 60s`); a lock whose process has died is free and needs no clean-up"
        }
        Kind::Corrupt => {
            "`rag doctor` prints the command that makes it anew from the sources, and `rag verify` names every damaged file"
        }
        Kind::Incompatible => {
            "query it with the program and model that made it, or ingest the sources into a new index with `--index DIR`"
        }
        Kind::Io => {
            "nothing was lost: what was committed before is still there; free space or mend permissions, then run the command again"
        }
        Kind::Usage | Kind::Model | Kind::Cancelled | Kind::Bug => return None,
    };
    Some(hint.into())
}

/// What to do about an error of the model room.
#[expect(clippy::wildcard_enum_match_arm, reason = "most errors say enough by themselves")]
pub fn model(error: &model::Error) -> Option<String> {
    let hint = match error {
        model::Error::Unreachable { .. } => {
            "is the server running, and the URL right? without it: `rag query --mode lexical`, `rag ask --extractive`"
        }
        model::Error::Unauthorized { .. } => {
            "set the key in RAG_LLM_API_KEY (or RAG_EMBED_API_KEY, RAG_RERANK_API_KEY), or name a file with `llm.key_file` in your config"
        }
        model::Error::BadAnswer { .. } => "is this the URL of an OpenAI-style API? it usually ends in /v1",
        model::Error::TimedOut { .. } => {
            "`rag config` lists the timeouts: raise `llm.first_token_timeout` or `llm.idle_timeout`"
        }
        model::Error::TooLong { .. } => "lower `--context-tokens`, or start the server with a larger context",
        model::Error::Unencrypted { .. } => {
            "use `https://`; if you trust the way, `llm.allow_plaintext` in your config allows plain text"
        }
        model::Error::Options { .. } => "`rag config` lists the settings of endpoints",
        model::Error::Unknown { .. } | model::Error::BadModel { .. } => {
            "`rag models` names the models that are here, `rag models add NAME --from FOLDER` brings one"
        }
        model::Error::Refused { status: 500.., .. } => {
            "the server itself failed: its log says why; without it: `rag query --mode lexical`, `rag ask --extractive`"
        }
        model::Error::NoRuntime { .. } => "leave `--onnxruntime` away to use the built-in runtime",
        _ => return None,
    };
    Some(hint.into())
}

/// What to do about an error of the ingest room.
#[expect(clippy::wildcard_enum_match_arm, reason = "most errors say enough by themselves")]
pub fn ingest(error: &ingest::Error) -> Option<String> {
    let hint = match error {
        ingest::Error::MissingPath { .. } => {
            "check the spelling; nothing was changed. To remove documents that are gone for good use `rag rm`"
        }
        ingest::Error::BadPattern { .. } => "patterns are globs: `*.md`, `docs/**`, `!drafts/**`",
        ingest::Error::EmptyFolder { .. } => {
            "nothing was changed: is a disk not mounted? `--allow-empty` takes the documents out of the index"
        }
        ingest::Error::NoMatch { .. } => "quote patterns so that the shell does not expand them",
        _ => return None,
    };
    Some(hint.into())
}

/// What to do about an error of the retrieve room.
#[expect(clippy::wildcard_enum_match_arm, reason = "most errors say enough by themselves")]
pub fn retrieve(error: &retrieve::Error) -> Option<String> {
    let hint = match error {
        retrieve::Error::Filter { .. } => {
            "for example: type:pdf path:guides/** mtime>=2026-01-01 title:\"release notes\""
        }
        retrieve::Error::UnknownField { .. } => "tags are written tag.KEY=VALUE, front matter meta.KEY=VALUE",
        retrieve::Error::NoChunk { .. } => "ids change when a document changes; `rag query` prints the ones of now",
        _ => return None,
    };
    Some(hint.into())
}
