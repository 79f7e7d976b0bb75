//! `GET /v1/models`: what answers, and what embeds.

use axum::{
    body::Body,
    extract::{Path, State as Given},
    http::Response,
};
use serde_json::{Value, json};

use super::{
    super::{
        failure::{Failure, Result},
        guard::Caller,
        keys::Scope,
        search,
        state::State,
    },
    MODEL,
};

/// `GET /v1/models`
pub async fn list(Given(state): Given<State>, caller: Caller) -> Result<Response<Body>> {
    let data = all(&state, &caller).await?;
    search::json(&json!({ "object": "list", "data": data }))
}

/// `GET /v1/models/{id}`
pub async fn one(Given(state): Given<State>, caller: Caller, Path(id): Path<String>) -> Result<Response<Body>> {
    let found = all(&state, &caller).await?.into_iter().find(|model| model["id"] == id.as_str());
    search::json(&found.ok_or_else(|| Failure::not_found(format!("no model `{id}`")))?)
}

async fn all(state: &State, caller: &Caller) -> Result<Vec<Value>> {
    caller.check(Scope::Read)?;
    let house = state.house(caller)?;
    let space = state.blocking(move || Ok(house.snapshot()?.space().map(|space| space.model.clone()))).await?;
    let model = |id: &str| json!({ "id": id, "object": "model", "created": 0, "owned_by": "rag" });
    Ok(std::iter::once(MODEL).chain(space.as_deref()).map(model).collect())
}
