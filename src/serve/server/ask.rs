//! `POST /v1/ask`: an answer as JSON, or as it grows.

use std::{ops::ControlFlow, sync::Arc};

use axum::{body::Body, extract::State as Given, http::Response};

use super::{
    body::Json,
    channel,
    failure::Result,
    guard::Caller,
    house::House,
    keys::Scope,
    requests,
    search::json,
    state::{State, Work},
};
use crate::{
    index::Snapshot,
    retrieve::{self, Answer, Ask, AskEvent},
    serve::{
        api::{AskRequest, ErrorBody, event},
        wire,
    },
};

/// What an answer is made from.
pub struct Asking {
    pub state: State,
    pub caller: Caller,
    pub house: Arc<House>,
    pub extractive: bool,
}

impl Asking {
    pub fn new(state: &State, caller: &Caller, extractive: bool) -> Result<Self> {
        caller.check(Scope::Read)?;
        Ok(Self { state: state.clone(), caller: caller.clone(), house: state.house(caller)?, extractive })
    }

    /// Answers. Blocks.
    pub fn answer(&self, ask: Ask, on_event: &mut dyn FnMut(AskEvent<'_>) -> ControlFlow<()>) -> Result<Answer> {
        let options = self.state.options();
        let snapshot = self.house.snapshot()?;
        let query = self.state.narrowed(&self.caller, &snapshot, ask.query.clone())?;
        let ask = Ask { query, ..ask };
        let chat = if self.extractive { None } else { options.models.chat()? };
        let embedder = self.house.embedder(&self.state, &snapshot, ask.query.mode)?;
        let mut answer = retrieve::ask(&snapshot, embedder.as_deref(), chat.as_deref(), &ask, on_event)?;
        self.hide(&snapshot, &mut answer)?;
        self.house.files(&snapshot).mark_cited(&mut answer);
        Ok(answer)
    }

    /// Copies in collections that the caller may not see.
    fn hide(&self, snapshot: &Snapshot, answer: &mut Answer) -> Result<()> {
        if self.caller.sees_all() {
            return Ok(());
        }
        for source in &mut answer.sources {
            let mut seen = Vec::new();
            for copy in std::mem::take(&mut source.copies) {
                if snapshot.chunk(copy.id)?.is_some_and(|chunk| self.caller.sees(&chunk.collection)) {
                    seen.push(copy);
                }
            }
            source.copies = seen;
        }
        answer.notes.retain(|note| !note.contains('`'));
        Ok(())
    }

    /// The answer as it is sent.
    pub fn wire(&self, answer: &Answer) -> wire::AnswerResult {
        let prices = self.state.options().prices;
        let cost =
            answer.usage.and_then(|usage| wire::Cost::of(usage, prices.per_million_input, prices.per_million_output));
        wire::AnswerResult::from(answer).with_cost(cost)
    }

    /// What a client sees of a failure in the middle of a stream.
    pub fn problem(&self, failure: super::failure::Failure) -> ErrorBody {
        let paths = self.house.private_paths();
        let known: Vec<&std::path::Path> = paths.iter().map(std::path::PathBuf::as_path).collect();
        ErrorBody { error: failure.without_paths(&known).detail(&self.state.next_id()) }
    }
}

/// `POST /v1/ask`
pub async fn ask(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<AskRequest>,
) -> Result<Response<Body>> {
    let asking = Asking::new(&state, &caller, request.extractive)?;
    let is_streamed = request.stream;
    let ask = requests::ask(request, state.options())?;
    if !is_streamed {
        let result = state.work(&caller, Work::Answer, None, move || {
            let answer = asking.answer(ask, &mut |_| ControlFlow::Continue(()))?;
            Ok(asking.wire(&answer))
        });
        return json(&result.await?);
    }
    let (events, response) = channel::events();
    tokio::spawn(async move {
        let failed = events.clone();
        let (problems, own) = (Asking::new(&state, &caller, asking.extractive), state.clone());
        let done = own.work(&caller, Work::Answer, None, move || {
            let answer = asking.answer(ask, &mut |event| {
                let is_there = match event {
                    AskEvent::Retrieved(hits) => events.send(
                        Some(event::RETRIEVED),
                        &event::Retrieved {
                            results: hits.hits.len(),
                            strength: wire::strength_word(hits.strength).to_owned(),
                            relevance: wire::rounded(hits.relevance),
                            generation: hits.generation,
                        },
                    ),
                    AskEvent::Text(text) => events.send(Some(event::TEXT), &event::Text { text: text.to_owned() }),
                };
                if is_there { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            events.send(Some(event::ANSWER), &asking.wire(&answer));
            Ok(())
        });
        if let (Err(failure), Ok(problems)) = (done.await, problems) {
            let body = problems.problem(failure);
            // Sending may wait for the client, which no thread of the server's own may do.
            let _ = tokio::task::spawn_blocking(move || failed.send(Some(event::ERROR), &body)).await;
        }
    });
    Ok(response)
}
