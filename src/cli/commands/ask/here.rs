//! Answers from an index here, by a model that the settings of here name.

use std::{cell::OnceCell, fs, ops::ControlFlow};

use rag::{
    index::Snapshot,
    model::{Chat, Embedder},
    retrieve::{self, Ask, AskEvent, Query, Turn, Unsupported},
    serve::{
        api::AskRequest,
        client::Client,
        wire::{self, AnswerResult},
    },
    types::Cancel,
};

use super::{
    Args, UnsupportedArg,
    there::{request, with},
};
use crate::cli::{
    backend::LlmFlags,
    commands::{Context, query::SearchArgs},
    config::Config,
    output::places::Places,
    report::Failure,
    warm,
};

/// How many chunks are considered for passages, where `-k` does not say.
const CANDIDATES: usize = 50;

/// The warm process, and what every question to it shares.
struct Warm {
    client: Client,
    request: AskRequest,
}

/// An index, a model, and what every question shares.
pub struct Here<'a> {
    context: &'a Context,
    config: Config,
    snapshot: Snapshot,
    chat: Option<Box<dyn Chat>>,
    /// Answers in place of the index, where there is one that may.
    warm: Option<Warm>,
    embedder: OnceCell<Option<Box<dyn Embedder>>>,
    /// Its text is empty.
    ask: Ask,
    cancel: Cancel,
}

impl<'a> Here<'a> {
    /// `cancel` breaks an answer off.
    pub fn new(context: &'a Context, args: &'a Args, cancel: &Cancel) -> Result<Self, Failure> {
        let config = context.config.for_model(args.model.as_deref());
        let snapshot = context.place.open()?.snapshot()?;
        let chat = match args.extractive {
            true => None,
            false => {
                let flags = LlmFlags {
                    url: args.llm_url.as_deref(),
                    model: args.model.as_deref(),
                    headers: &args.llm_header,
                    no_system: args.llm_no_system,
                    cancel: cancel.clone(),
                };
                context.place.chat(&config, &flags)?
            }
        };
        let settings = configured(&config)?;
        let ask = Ask {
            query: Query {
                rerank: args.search.reranker(&context.place, &config)?,
                ..args.search.to_query(String::new(), &config, CANDIDATES)
            },
            max_tokens: args.max_tokens.unwrap_or(settings.max_tokens),
            context_tokens: args.context_tokens.unwrap_or(settings.context_tokens),
            no_gate: args.no_gate,
            unsupported: match args.unsupported {
                Some(UnsupportedArg::Drop) => Unsupported::Drop,
                Some(UnsupportedArg::Mark) => Unsupported::Mark,
                None => settings.unsupported,
            },
            stream: !args.no_stream,
            datamark: args.datamark || settings.datamark,
            ..settings
        };
        // An endpoint that answers takes so long that a model to be loaded does not matter.
        let client = if chat.is_none() { warm::client(context, &args.search) } else { None };
        let warm = client.map(|client| Warm { client, request: request(args) });
        let here =
            Self { context, config, snapshot, chat, warm, embedder: OnceCell::new(), ask, cancel: cancel.clone() };
        if here.warm.is_none() {
            here.embedder()?;
        }
        Ok(here)
    }

    /// The model that embeds questions, loaded when it is first needed.
    fn embedder(&self) -> Result<Option<&dyn Embedder>, Failure> {
        if self.embedder.get().is_none() {
            let made = self.context.place.query_embedder(&self.config, &self.snapshot, self.ask.query.mode)?;
            let _ = self.embedder.set(made);
        }
        Ok(self.embedder.get().and_then(Option::as_deref))
    }

    pub fn places(&self) -> Places {
        self.context.place.places(&self.snapshot)
    }

    /// The answer may be shown before it is checked.
    pub fn grows(&self) -> bool {
        self.chat.is_some() && self.ask.unsupported == Unsupported::Mark
    }

    pub fn answer(
        &self,
        question: &str,
        said: &[Turn],
        show: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<AnswerResult, Failure> {
        if let Some(warm) = &self.warm
            && let Some(answer) = warm::quotes(&warm.client, with(&warm.request, question, said))
        {
            return Ok(answer);
        }
        let mut ask = self.ask.clone();
        ask.query.text = question.to_owned();
        ask.history = said.to_vec();
        let (embedder, chat) = (self.embedder()?, self.chat.as_deref());
        let mut answer = retrieve::ask(&self.snapshot, embedder, chat, &ask, &mut |event| match event {
            _ if self.cancel.is_asked() => ControlFlow::Break(()),
            AskEvent::Text(text) => show(text),
            AskEvent::Retrieved(_) => ControlFlow::Continue(()),
        })?;
        self.context.place.freshness(&self.snapshot).mark_cited(&mut answer);
        let price = |key: &str| self.config.decimal(key);
        let cost = answer.usage.and_then(|usage| {
            wire::Cost::of(usage, price("llm.price_per_million_input"), price("llm.price_per_million_output"))
        });
        Ok(AnswerResult::from(&answer).with_cost(cost))
    }
}

/// How to ask where nothing but the settings says it.
pub fn configured(config: &Config) -> Result<Ask, Failure> {
    Ok(Ask {
        query: SearchArgs::default().to_query(String::new(), config, CANDIDATES),
        max_tokens: config.number("llm.max_tokens").map_or(800, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
        context_tokens: config.number("llm.context_tokens").unwrap_or(8192),
        no_gate: false,
        unsupported: match config.text("ask.unsupported") {
            Some("drop") => Unsupported::Drop,
            Some(_) | None => Unsupported::Mark,
        },
        stream: true,
        history: Vec::new(),
        system: system_prompt(config)?,
        datamark: config.bool("ask.datamark"),
    })
}

/// The user's own system prompt, from the settings or the file they name.
fn system_prompt(config: &Config) -> Result<Option<String>, Failure> {
    let text = match (config.text("ask.system_prompt"), config.text("ask.system_prompt_file")) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("both `ask.system_prompt` and `ask.system_prompt_file` are set")
                .hint("`rag config` shows where each comes from; keep one of them"));
        }
        (Some(text), None) => text.to_owned(),
        (None, Some(path)) => fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("cannot read the system prompt `{path}` (ask.system_prompt_file): {error}"))
        })?,
        (None, None) => return Ok(None),
    };
    match text.trim().is_empty() {
        true => Err(Failure::usage("the system prompt is empty").hint("unset it to use the built-in rules")),
        false => Ok(Some(text.trim().to_owned())),
    }
}
