//! Which handler answers which route.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::from_fn_with_state,
    routing::{any, delete, get, post},
};

use super::{
    ask, documents, eval, explain,
    failure::{Failure, Result},
    guard, ingest, openai, openapi, search,
    state::State,
    status, sync, tools,
};
use crate::serve::api::{ErrorType, routes};

/// Everything that is served.
pub fn app(state: State) -> Router {
    // What a form says beside its files is little.
    let upload = usize::try_from(state.options().limits.upload_bytes).unwrap_or(usize::MAX).saturating_add(1 << 20);
    Router::new()
        .route(routes::HEALTH, get(status::health))
        .route(routes::READY, get(status::ready))
        .route(routes::OPENAPI, get(openapi::openapi))
        .route(routes::METRICS, get(status::metrics))
        .route(routes::HELLO, get(status::hello))
        .route(routes::STATUS, get(status::get).post(status::post))
        .route(routes::COLLECTIONS, get(documents::collections))
        .route(routes::DOCUMENTS, get(documents::documents).post(ingest::document).layer(DefaultBodyLimit::max(upload)))
        .route(routes::DOCUMENT, get(documents::document).delete(documents::delete))
        .route(routes::LIST, post(documents::list))
        .route(routes::SHOW, post(documents::show))
        .route(routes::REMOVE, post(documents::remove))
        .route(routes::QUERY, post(search::query))
        .route(routes::ASK, post(ask::ask))
        .route(routes::CHECK, post(explain::check))
        .route(routes::WHY, post(explain::why))
        .route(routes::WHY_NOT, post(search::why_not))
        .route(routes::EVAL, post(eval::eval))
        .route(routes::VERIFY, post(explain::verify))
        .route(routes::INGEST, post(ingest::begin))
        .route(routes::INGEST_JOB, get(ingest::job).delete(ingest::cancel))
        .route(routes::SYNC, post(sync::begin))
        .route(routes::SYNC_ONE, delete(sync::give_up))
        .route(routes::SYNC_FILES, post(sync::files))
        .route(routes::SYNC_CONTENTS, post(sync::contents))
        .route(routes::SYNC_FINISH, post(sync::finish))
        .route(routes::CHAT_COMPLETIONS, post(openai::chat::completions))
        .route(routes::RESPONSES, post(openai::responses::responses))
        .route(routes::EMBEDDINGS, post(openai::embeddings::embeddings))
        .route(routes::MODELS, get(openai::models::list))
        .route(routes::MODEL, get(openai::models::one))
        .route(routes::MCP, any(tools::mcp))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .with_state(state)
}

async fn no_route() -> Result<()> {
    Err(Failure::new(ErrorType::NoRoute, "there is no such route").hint("`GET /openapi.json` lists them"))
}

async fn wrong_method() -> Result<()> {
    Err(Failure::new(ErrorType::Method, "the route has no such method").hint("`GET /openapi.json` lists them"))
}
