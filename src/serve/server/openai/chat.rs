//! `POST /v1/chat/completions`.

use axum::{body::Body, extract::State as Given, http::Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{
        ask::Asking,
        body::Json,
        channel,
        failure::{Failure, Result},
        guard::Caller,
        search,
        state::{State, Work},
    },
    MODEL, Said, citations, finish_reason, flow, now, question, shown, stream_error, text_of, usage,
};
use crate::serve::wire;

/// What is read of a request; the rest (temperature, seeds, tools that are not used) is the server's to decide.
#[derive(Debug, Deserialize)]
pub struct Request {
    messages: Vec<Said>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    n: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// `POST /v1/chat/completions`
pub async fn completions(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<Request>,
) -> Result<Response<Body>> {
    if request.n.is_some_and(|n| n != 1) {
        return Err(Failure::usage("`n` other than 1 is not done: there is one answer"));
    }
    let asking = Asking::new(&state, &caller, false)?;
    let tokens = request.max_completion_tokens.or(request.max_tokens);
    let (text, turns) = question(request.messages, state.options())?;
    let ask = super::ask(text, turns, tokens, state.options());
    let head = Head {
        id: format!("chatcmpl-{}", state.next_id()),
        created: now(),
        model: request.model.unwrap_or_else(|| MODEL.to_owned()),
    };
    if request.stream != Some(true) {
        let result = state.work(&caller, Work::Answer, None, move || {
            let answer = asking.answer(ask, &mut |_| flow(true))?;
            Ok(whole(&head, &asking.wire(&answer)))
        });
        return search::json(&result.await?);
    }
    let with_usage = request.stream_options.is_some_and(|options| options.include_usage);
    let (events, response) = channel::events();
    tokio::spawn(async move {
        let failed = events.clone();
        let (problems, own) = (Asking::new(&state, &caller, false), state.clone());
        let done = own.work(&caller, Work::Answer, None, move || {
            events.send(None, &head.chunk(json!({ "role": "assistant", "content": "" }), None));
            let mut is_begun = false;
            let answer = asking.answer(ask, &mut |event| {
                let Some(text) = text_of(&event) else { return flow(true) };
                is_begun = true;
                flow(events.send(None, &head.chunk(json!({ "content": text }), None)))
            })?;
            let answer = asking.wire(&answer);
            if !is_begun {
                events.send(None, &head.chunk(json!({ "content": shown(&answer) }), None));
            }
            let mut last = head.chunk(json!({ "annotations": annotations(&answer) }), Some(finish_reason(&answer)));
            last["rag"] = serde_json::to_value(&answer).unwrap_or(Value::Null);
            events.send(None, &last);
            if with_usage {
                let mut counted = head.chunk(Value::Null, None);
                counted["choices"] = json!([]);
                counted["usage"] = counts(&answer);
                events.send(None, &counted);
            }
            events.send_text(None, "[DONE]");
            Ok(())
        });
        if let (Err(failure), Ok(problems)) = (done.await, problems) {
            let body = stream_error(&problems.problem(failure));
            let _ = tokio::task::spawn_blocking(move || failed.send(None, &body)).await;
        }
    });
    Ok(response)
}

/// What every object of an answer says.
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    fn chunk(&self, delta: Value, finish: Option<&str>) -> Value {
        json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null }],
        })
    }
}

fn annotations(answer: &wire::AnswerResult) -> Vec<Value> {
    let annotation = |(start, end, url, title): (usize, usize, String, String)| {
        json!({
            "type": "url_citation",
            "url_citation": { "start_index": start, "end_index": end, "url": url, "title": title },
        })
    };
    citations(answer).into_iter().map(annotation).collect()
}

fn counts(answer: &wire::AnswerResult) -> Value {
    let (prompt, completion) = usage(answer);
    json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
}

fn whole(head: &Head, answer: &wire::AnswerResult) -> Value {
    json!({
        "id": head.id, "object": "chat.completion", "created": head.created, "model": head.model,
        "choices": [{
            "index": 0,
            "message": {
                "role": "assistant", "content": shown(answer), "refusal": null, "annotations": annotations(answer),
            },
            "finish_reason": finish_reason(answer), "logprobs": null,
        }],
        "usage": counts(answer),
        "rag": answer,
    })
}
