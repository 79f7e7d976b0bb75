//! `/mcp`: the tools for agents, over the same indexes, by the same keys.
//!
//! Host, Origin and key were checked before. A caller gets tools that change something if it may write; a server that was
//! started without `--allow-write` still has memories for whoever runs it without keys.

use std::sync::{Arc, PoisonError};

use axum::{
    body::Body,
    extract::{Request, State as Given},
    http::{HeaderValue, Response, header},
};

use super::{
    failure::{Failure, Result},
    guard::{Caller, RequestId, tell_write},
    house::{House, WAIT_TO_WRITE},
    keys::Scope,
    state::State,
};
use crate::{
    index::{Snapshot, WriterOptions},
    ingest,
    model::{Chat, Embedder},
    retrieve::Mode,
    serve::{api::routes, mcp, models::Models, told::Told},
};

/// The models of one index.
struct Own {
    state: State,
    house: Arc<House>,
}

impl Models for Own {
    fn embedder(&self, snapshot: &Snapshot) -> Result<Option<Arc<dyn Embedder>>, Told> {
        Ok(self.house.embedder(&self.state, snapshot, Mode::Hybrid)?)
    }

    fn embedder_for_new(&self) -> Result<Option<Arc<dyn Embedder>>, Told> {
        Ok(self.state.options().models.embedder_for_new()?)
    }

    fn chat(&self) -> Result<Option<Arc<dyn Chat>>, Told> {
        Ok(self.state.options().models.chat()?)
    }
}

/// `/mcp`, all methods.
pub async fn mcp(Given(state): Given<State>, caller: Caller, mut request: Request) -> Result<Response<Body>> {
    caller.check(Scope::Read)?;
    if !caller.sees_all() {
        return Err(Failure::forbidden("tools see the whole index, of which the key sees a part"));
    }
    let house = state.house(&caller)?;
    let changes = caller.allows(Scope::Write);
    let service = service(&state, &house, changes)?;
    // They were checked by rules that know more: the address that was connected to, the names of this server.
    request.headers_mut().insert(header::HOST, HeaderValue::from_static("localhost"));
    request.headers_mut().remove(header::ORIGIN);
    if let Some(id) = request.extensions().get::<RequestId>().cloned() {
        let (own, who) = (state.clone(), caller.clone());
        let wrote: mcp::Wrote =
            Arc::new(move |tool, collection| tell_write(&own, &who, &id, routes::MCP, tool, collection));
        request.extensions_mut().insert(mcp::Terms { room: caller.room(), wrote: Some(wrote) });
    }
    Ok(service.handle(request).await.map(Body::new))
}

fn service(state: &State, house: &Arc<House>, changes: bool) -> Result<mcp::HttpService> {
    let mut tools = house.tools.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, service)) = tools.get(&changes) {
        return Ok(service.clone());
    }
    let options = state.options();
    let allow_write = options.access.allow_write && changes;
    let server = mcp::Server::new(mcp::Options {
        allow_write,
        memory: changes,
        roots: options.access.ingest_roots.clone(),
        trust_roots: false,
        // Without `--ingest-root` no path may be read.
        home: None,
        ingest: ingest::Options {
            home: house.home.clone(),
            index_dir: house.dir.clone(),
            follow: false,
            ..options.ingest.clone()
        },
        query: options.query.clone(),
        ask: options.ask.clone(),
        writer: WriterOptions { wait: WAIT_TO_WRITE, command: "rag serve".to_owned(), ..WriterOptions::default() },
        models: Arc::new(Own { state: state.clone(), house: Arc::clone(house) }),
        documents: if allow_write { Some(house.writes(state)?) } else { None },
    });
    let http = mcp::HttpOptions { max_body_bytes: options.limits.json_bytes, ..mcp::HttpOptions::default() };
    let service = mcp::http_service(&server, &http);
    tools.insert(changes, (server, service.clone()));
    Ok(service)
}
