//! `ask` over the wire: the answer as it grows, then the checked one.

use std::ops::ControlFlow;

use serde::de::DeserializeOwned;

use super::{Client, Error, Manner, Result};
use crate::{
    model::{
        self,
        http::{Body, Method, Reply},
        sse::{Event, SseParser},
    },
    serve::{
        api::{AskRequest, ErrorBody, event, routes},
        wire::AnswerResult,
    },
};

impl Client {
    /// Asks, and hands over each piece of the answer as it comes, not yet checked. A break hangs up and ends in
    /// `Cancelled`.
    pub fn ask(&self, request: &AskRequest, said: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<AnswerResult> {
        // Events also where nobody watches: a model may think longer than a silent connection is believed in.
        let request = AskRequest { stream: true, ..request.clone() };
        let body = serde_json::to_vec(&request).map_err(|error| Error::Unsayable { why: error.to_string() })?;
        let manner = Manner { twice: true, ..Manner::ASKS };
        match self.reply(Method::POST, routes::ASK, Some(body), None, manner)? {
            Reply::Success(body) => self.listen(body, said),
            Reply::Failure(failure) => Err(self.refused(&failure)),
        }
    }

    fn listen(&self, mut body: Body<'_>, said: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<AnswerResult> {
        let url = body.url();
        let mut parser = SseParser::with_limit(MAX_ANSWER_BYTES);
        let mut events = Vec::new();
        loop {
            let part = body.next_part()?;
            let is_end = part.is_none();
            match part {
                Some(part) => parser
                    .push(&part, &mut events)
                    .map_err(|_| Error::not_ours(url.clone(), "an event is longer than any answer"))?,
                None => events.extend(std::mem::take(&mut parser).finish()),
            }
            for event in events.drain(..) {
                if let Some(answer) = self.heard(&url, &event, said)? {
                    return Ok(answer);
                }
            }
            if is_end {
                return Err(model::Error::CutOff { url }.into());
            }
        }
    }

    /// The answer, if the event is the last one. Events of other names are passed over: a newer server may have more.
    fn heard(
        &self,
        url: &str,
        event: &Event,
        said: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Option<AnswerResult>> {
        match event.name.as_str() {
            event::TEXT => {
                let text: event::Text = read(url, &event.data)?;
                match said(&text.text) {
                    ControlFlow::Continue(()) => Ok(None),
                    ControlFlow::Break(()) => Err(model::Error::Cancelled.into()),
                }
            }
            event::ANSWER => read(url, &event.data).map(Some),
            event::ERROR => {
                let body: ErrorBody = read(url, &event.data)?;
                Err(Error::said(url, body, |text| self.http.without_secrets(text)))
            }
            _ => Ok(None),
        }
    }
}

/// The passages of an answer come with it, each whole.
const MAX_ANSWER_BYTES: usize = 32 << 20;

fn read<T: DeserializeOwned>(url: &str, data: &str) -> Result<T> {
    serde_json::from_str(data).map_err(|error| Error::not_ours(url.to_owned(), &error.to_string()))
}
