//! Which handler answers which route.

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{get, post},
};

use super::{
    ask, documents, explain,
    failure::{Failure, Result},
    guard, search,
    state::State,
    status,
};
use crate::serve::api::{ErrorType, routes};

/// Everything that is served.
pub fn app(state: State) -> Router {
    Router::new()
        .route(routes::HEALTH, get(status::health))
        .route(routes::READY, get(status::ready))
        .route(routes::METRICS, get(status::metrics))
        .route(routes::HELLO, get(status::hello))
        .route(routes::STATUS, get(status::get).post(status::post))
        .route(routes::COLLECTIONS, get(documents::collections))
        .route(routes::DOCUMENTS, get(documents::documents))
        .route(routes::DOCUMENT, get(documents::document).delete(documents::delete))
        .route(routes::LIST, post(documents::list))
        .route(routes::SHOW, post(documents::show))
        .route(routes::REMOVE, post(documents::remove))
        .route(routes::QUERY, post(search::query))
        .route(routes::ASK, post(ask::ask))
        .route(routes::CHECK, post(explain::check))
        .route(routes::WHY, post(explain::why))
        .route(routes::WHY_NOT, post(search::why_not))
        .route(routes::VERIFY, post(explain::verify))
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
