//! From what a client asked to what the halls do: the client's word over the server's settings.

use std::time::Duration;

use super::{
    failure::{Failure, Result},
    options::Options,
};
use crate::{
    index::{Effort, QuerySyntax},
    retrieve::{Ask, Fusion, Mode, Query, Turn, Unsupported},
    serve::api::{self, AskRequest, QueryRequest, Search},
};

/// The largest `ef`.
const MAX_EF: u16 = 4096;
/// Nobody waits longer for a reranker.
const MAX_RERANK: Duration = Duration::from_secs(10);

/// A query of the server's settings (`base`), with what the client said over them.
pub fn searched(base: &Query, search: Search, options: &Options) -> Result<Query> {
    let effort = match (search.exact, search.ef) {
        (true, Some(_)) => return Err(Failure::usage("`exact` and `ef` exclude each other")),
        (true, None) => Effort::Exact,
        (false, Some(ef)) if (1..=MAX_EF).contains(&ef) => Effort::Walk { ef: ef.into(), slack: f32::INFINITY },
        (false, Some(ef)) => return Err(Failure::usage(format!("`ef` is {ef}, expected 1 to {MAX_EF}"))),
        (false, None) => base.effort,
    };
    let rerank = match (search.rerank, search.rerank_budget_ms) {
        (true, budget) => {
            let budget = budget.map(|ms| Duration::from_millis(ms).min(MAX_RERANK));
            Some(options.models.reranker(budget)?)
        }
        (false, Some(_)) => return Err(Failure::usage("`rerank_budget_ms` is of `rerank`, which is not asked for")),
        (false, None) => None,
    };
    let mode = search.mode.map(|mode| match mode {
        api::Mode::Hybrid => Mode::Hybrid,
        api::Mode::Lexical => Mode::Lexical,
        api::Mode::Dense => Mode::Dense,
    });
    let fusion = search.fusion.map(|fusion| match fusion {
        api::Fusion::Blend => Fusion::Blend,
        api::Fusion::Rrf => Fusion::Rrf,
        api::Fusion::Weighted => Fusion::Weighted,
        api::Fusion::Dbsf => Fusion::Dbsf,
    });
    Ok(Query {
        k: search.k.map_or(base.k, usize::from),
        mode: mode.unwrap_or(base.mode),
        fusion: fusion.unwrap_or(base.fusion),
        alpha: search.alpha.or(base.alpha),
        filter: search.filter.or_else(|| base.filter.clone()),
        collection: search.collection.or_else(|| base.collection.clone()),
        syntax: if search.syntax { QuerySyntax::Tantivy } else { base.syntax },
        min_score: search.min_score.or(base.min_score),
        per_source: search.per_source.map(usize::from).or(base.per_source),
        mmr: search.mmr.or(base.mmr),
        duplicates: search.duplicates || base.duplicates,
        rerank,
        effort,
        ..base.clone()
    })
}

/// What `query` asks.
pub fn query(request: QueryRequest, options: &Options) -> Result<Query> {
    let searched = searched(&options.query, request.search(), options)?;
    Ok(Query {
        text: request.text,
        like: request.like,
        unlike: request.unlike,
        vector: request.vector,
        context: request.context.unwrap_or(0),
        section: request.expand == Some(api::Expand::Section),
        explain: request.explain,
        flags: request.flags,
        ..searched
    })
}

/// What `ask` asks. Limits of tokens are the server's where the client's are higher.
pub fn ask(request: AskRequest, options: &Options) -> Result<Ask> {
    let base = &options.ask;
    let limits = &options.limits;
    if request.history.len() > limits.batch {
        return Err(Failure::usage(format!("a conversation of more than {} turns", limits.batch)));
    }
    if request.max_tokens == Some(0) {
        return Err(Failure::usage("`max_tokens` is 0, expected at least 1"));
    }
    let query = searched(&base.query, request.search(), options)?;
    let turn = |turn: api::SaidTurn| Turn { question: turn.question, answer: turn.answer, searched: turn.searched };
    Ok(Ask {
        query: Query { text: request.text, ..query },
        max_tokens: request.max_tokens.map_or(base.max_tokens, |tokens| tokens.min(base.max_tokens)),
        context_tokens: request.context_tokens.map_or(base.context_tokens, |tokens| tokens.min(base.context_tokens)),
        no_gate: request.no_gate,
        unsupported: match request.unsupported {
            Some(api::Unsupported::Drop) => Unsupported::Drop,
            Some(api::Unsupported::Mark) => Unsupported::Mark,
            None => base.unsupported,
        },
        stream: !request.no_model_stream,
        history: request.history.into_iter().map(turn).collect(),
        system: base.system.clone(),
        datamark: base.datamark,
    })
}
