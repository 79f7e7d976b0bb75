//! `POST /v1/responses`. Nothing is stored: `previous_response_id` is refused, and a conversation is sent whole.

use axum::{body::Body, extract::State as Given, http::Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{
        ask::Asking,
        body::Json,
        channel::{self, Events},
        failure::{Failure, Result},
        guard::Caller,
        search,
        state::{State, Work},
    },
    Content, MODEL, Said, citations, flow, now, question, shown, text_of, usage,
};
use crate::serve::wire;

/// What is read of a request.
#[derive(Debug, Deserialize)]
pub struct Request {
    input: Input,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    max_output_tokens: Option<u32>,
    #[serde(default)]
    previous_response_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Messages(Vec<Said>),
}

/// `POST /v1/responses`
pub async fn responses(
    Given(state): Given<State>,
    caller: Caller,
    Json(request): Json<Request>,
) -> Result<Response<Body>> {
    if request.previous_response_id.is_some() {
        return Err(Failure::usage("responses are not stored, so none can be continued by its id")
            .hint("send the conversation in `input`"));
    }
    let asking = Asking::new(&state, &caller, false)?;
    let messages = match request.input {
        Input::Text(text) => vec![Said { role: "user".to_owned(), content: Some(Content::Text(text)) }],
        Input::Messages(messages) => messages,
    };
    let (text, turns) = question(messages, state.options())?;
    let ask = super::ask(text, turns, request.max_output_tokens, state.options());
    let head = Head {
        id: state.next_id().replace('-', "_"),
        created: now(),
        model: request.model.unwrap_or_else(|| MODEL.to_owned()),
        max_tokens: request.max_output_tokens,
    };
    if request.stream != Some(true) {
        let result = state.work(&caller, Work::Answer, None, move || {
            let answer = asking.answer(ask, &mut |_| flow(true))?;
            Ok(head.completed(&asking.wire(&answer)))
        });
        return search::json(&result.await?);
    }
    let (events, response) = channel::events();
    tokio::spawn(async move {
        let failed = events.clone();
        let (problems, own) = (Asking::new(&state, &caller, false), state.clone());
        let done = own.work(&caller, Work::Answer, None, move || {
            let mut stream = Stream { events, number: 0 };
            let item = |status: &str, content: Value| {
                json!({
                    "id": head.item(), "type": "message", "role": "assistant", "status": status, "content": content,
                })
            };
            stream.send("response.created", json!({ "response": head.object("in_progress", json!([])) }));
            stream.send("response.in_progress", json!({ "response": head.object("in_progress", json!([])) }));
            stream.send(
                "response.output_item.added",
                json!({ "output_index": 0, "item": item("in_progress", json!([])) }),
            );
            let empty = json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
            stream.send("response.content_part.added", head.part(json!({ "part": empty })));
            let mut text = String::new();
            let answer = asking.answer(ask, &mut |event| {
                let Some(more) = text_of(&event) else { return flow(true) };
                text.push_str(&more);
                flow(stream.send("response.output_text.delta", head.part(json!({ "delta": more, "logprobs": [] }))))
            })?;
            let answer = asking.wire(&answer);
            if text.is_empty() {
                text = shown(&answer);
                stream.send("response.output_text.delta", head.part(json!({ "delta": text, "logprobs": [] })));
            }
            stream.send("response.output_text.done", head.part(json!({ "text": text, "logprobs": [] })));
            let part = content(&answer);
            stream.send("response.content_part.done", head.part(json!({ "part": part })));
            stream.send(
                "response.output_item.done",
                json!({ "output_index": 0, "item": item("completed", json!([part])) }),
            );
            stream.send("response.completed", json!({ "response": head.completed(&answer) }));
            Ok(())
        });
        if let (Err(failure), Ok(problems)) = (done.await, problems) {
            let error = problems.problem(failure).error;
            let body = json!({
                "type": "error", "code": error.kind, "message": error.message, "param": null, "sequence_number": 0,
            });
            let _ = tokio::task::spawn_blocking(move || failed.send(Some("error"), &body)).await;
        }
    });
    Ok(response)
}

/// Events in their order.
struct Stream {
    events: Events,
    number: u64,
}

impl Stream {
    fn send(&mut self, name: &str, mut data: Value) -> bool {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.number);
        self.number += 1;
        self.events.send(Some(name), &data)
    }
}

/// What every object of an answer says.
struct Head {
    id: String,
    created: u64,
    model: String,
    max_tokens: Option<u32>,
}

impl Head {
    fn item(&self) -> String {
        format!("msg_{}", self.id)
    }

    /// Of the one part of the one message.
    fn part(&self, mut data: Value) -> Value {
        data["item_id"] = json!(self.item());
        data["output_index"] = json!(0);
        data["content_index"] = json!(0);
        data
    }

    fn object(&self, status: &str, output: Value) -> Value {
        json!({
            "id": format!("resp_{}", self.id), "object": "response", "created_at": self.created, "status": status,
            "model": self.model, "output": output, "error": null, "incomplete_details": null, "instructions": null,
            "max_output_tokens": self.max_tokens, "metadata": {}, "parallel_tool_calls": false,
            "previous_response_id": null, "store": false, "temperature": null, "tool_choice": "none", "tools": [],
            "top_p": null, "truncation": "disabled", "usage": null,
        })
    }

    fn completed(&self, answer: &wire::AnswerResult) -> Value {
        let message = json!({
            "id": self.item(), "type": "message", "role": "assistant", "status": "completed",
            "content": [content(answer)],
        });
        let mut object = self.object(if answer.truncated { "incomplete" } else { "completed" }, json!([message]));
        if answer.truncated {
            object["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        }
        let (input, output) = usage(answer);
        object["usage"] = json!({
            "input_tokens": input, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + output,
        });
        object["rag"] = serde_json::to_value(answer).unwrap_or(Value::Null);
        object
    }
}

fn content(answer: &wire::AnswerResult) -> Value {
    let annotation = |(start, end, url, title): (usize, usize, String, String)| json!({ "type": "url_citation", "start_index": start, "end_index": end, "url": url, "title": title });
    let annotations: Vec<Value> = citations(answer).into_iter().map(annotation).collect();
    json!({ "type": "output_text", "text": shown(answer), "annotations": annotations, "logprobs": [] })
}
