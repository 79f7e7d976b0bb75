//! Answers from a server, by the model that its settings name.

use std::ops::ControlFlow;

use rag::{
    retrieve::Turn,
    serve::{
        api::{self, AskRequest},
        client::Client,
        wire::AnswerResult,
    },
};

use super::{Args, UnsupportedArg};
use crate::cli::{remote, report::Failure};

/// A server, and what every question shares.
pub struct There<'a> {
    client: &'a Client,
    /// Its text is empty.
    request: AskRequest,
}

impl<'a> There<'a> {
    /// Errors: a flag would choose the model.
    pub fn new(client: &'a Client, args: &Args) -> Result<Self, Failure> {
        let flags = [
            ("--llm-url", args.llm_url.is_some()),
            ("--model", args.model.is_some()),
            ("--llm-header", !args.llm_header.is_empty()),
            ("--llm-no-system", args.llm_no_system),
            ("--datamark", args.datamark),
        ];
        remote::refuse(&flags, remote::MODELS)?;
        Ok(Self { client, request: request(args) })
    }

    /// The answer may be shown before it is checked. The server keeps to itself what it will not stand for.
    pub fn grows(&self) -> bool {
        !self.request.extractive && self.request.unsupported != Some(api::Unsupported::Drop)
    }

    pub fn answer(
        &self,
        question: &str,
        said: &[Turn],
        show: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<AnswerResult, Failure> {
        Ok(self.client.ask(&with(&self.request, question, said), show)?)
    }
}

/// What the flags say, without a question.
pub fn request(args: &Args) -> AskRequest {
    AskRequest {
        extractive: args.extractive,
        max_tokens: args.max_tokens,
        context_tokens: args.context_tokens,
        unsupported: args.unsupported.map(|what| match what {
            UnsupportedArg::Mark => api::Unsupported::Mark,
            UnsupportedArg::Drop => api::Unsupported::Drop,
        }),
        no_gate: args.no_gate,
        no_model_stream: args.no_stream,
        ..AskRequest::searching(remote::search(&args.search))
    }
}

/// The same with a question, and what was said before.
pub fn with(request: &AskRequest, question: &str, said: &[Turn]) -> AskRequest {
    let turn = |turn: &Turn| api::SaidTurn {
        question: turn.question.clone(),
        answer: turn.answer.clone(),
        searched: turn.searched.clone(),
    };
    let history = said.iter().map(turn).collect();
    AskRequest { text: question.to_owned(), history, ..request.clone() }
}
