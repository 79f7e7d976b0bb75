//! `rag ask`: an answer with checked citations, from an LLM, or, with none configured, from the documents' own sentences.

mod chat;
mod history;
mod lines;

use std::{
    fs,
    io::{self, Write as _},
    ops::ControlFlow,
    path::PathBuf,
};

use clap::ValueEnum;
use rag::{
    index::Snapshot,
    model::{Chat, Embedder},
    retrieve::{self, Answer, AnswerStatus, Ask, AskEvent, Query, Strength, Support, Turn, Unsupported},
    serve::wire,
    types::Cancel,
};

use super::{Context, query::SearchArgs};
use crate::cli::{
    backend::LlmFlags,
    config::Config,
    exit,
    output::{answer, sanitize},
    report::Failure,
};

/// How many chunks are considered for passages, where `-k` does not say.
pub const CANDIDATES: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer this question
    #[arg(value_name = "TEXT", required_unless_present = "chat")]
    text: Option<String>,
    /// Go on asking: each question is understood with those before it
    #[arg(long)]
    chat: bool,
    /// Take the conversation of this file (JSON lines) as said before, and add what is asked now
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    #[command(flatten)]
    search: SearchArgs,
    /// Ask the model at this OpenAI-style endpoint
    #[arg(long, value_name = "URL", conflicts_with = "extractive")]
    llm_url: Option<String>,
    /// Ask this model, or that of the profile of this name in your config
    #[arg(long, value_name = "NAME", conflicts_with = "extractive")]
    model: Option<String>,
    /// Send this header to the endpoint, `Name: value` (can be repeated); `${VARIABLE}` is taken from the environment
    #[arg(long, value_name = "HEADER", conflicts_with = "extractive")]
    llm_header: Vec<String>,
    /// Put the rules before the question: the model knows no system message
    #[arg(long, conflicts_with = "extractive")]
    llm_no_system: bool,
    /// Let the answer have at most so many tokens
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Let prompt and answer have at most so many tokens
    #[arg(long, value_name = "N")]
    context_tokens: Option<usize>,
    /// Fail (exit 4) if any sentence is not supported by its sources
    #[arg(long)]
    strict: bool,
    /// Quote the sentences that answer, without a model
    #[arg(long)]
    extractive: bool,
    /// What becomes of a sentence that no source supports
    #[arg(long, value_enum, value_name = "WHAT")]
    unsupported: Option<UnsupportedArg>,
    /// Ask the model even if nothing relevant was found
    #[arg(long)]
    no_gate: bool,
    /// Wait for the whole answer
    #[arg(long)]
    no_stream: bool,
    /// Accept an answer that was cut off (else exit 5)
    #[arg(long)]
    allow_truncated: bool,
    /// Print the answer in this form
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnsupportedArg {
    Mark,
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    /// Markdown
    Md,
}

/// One question after another to the same index and the same model.
struct Asker<'a> {
    context: &'a Context,
    args: &'a Args,
    config: Config,
    snapshot: Snapshot,
    chat: Option<Box<dyn Chat>>,
    embedder: Option<Box<dyn Embedder>>,
    /// What every question shares; its text is empty.
    ask: Ask,
    said: Vec<Turn>,
    /// Breaks off the answer that is being given.
    cancel: Cancel,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let mut asker = Asker::new(context, &args)?;
    if args.chat {
        return chat::run(&mut asker);
    }
    let (_, code) = asker.ask(args.text.as_deref().unwrap_or_default())?;
    Ok(code)
}

impl<'a> Asker<'a> {
    fn new(context: &'a Context, args: &'a Args) -> Result<Self, Failure> {
        let cancel = Cancel::default();
        let config = context.config.for_model(args.model.as_deref());
        let said = args.history.as_deref().map_or(Ok(Vec::new()), history::read)?;
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
        let query = Query {
            rerank: args.search.reranker(&context.place, &config)?,
            ..args.search.to_query(String::new(), &config, CANDIDATES)
        };
        let settled = settings(&config, query)?;
        let ask = Ask {
            max_tokens: args.max_tokens.unwrap_or(settled.max_tokens),
            context_tokens: args.context_tokens.unwrap_or(settled.context_tokens),
            no_gate: args.no_gate,
            unsupported: match args.unsupported {
                Some(UnsupportedArg::Drop) => Unsupported::Drop,
                Some(UnsupportedArg::Mark) => Unsupported::Mark,
                None => settled.unsupported,
            },
            stream: !args.no_stream,
            ..settled
        };
        let embedder = context.place.query_embedder(&config, &snapshot, ask.query.mode)?;
        Ok(Self { context, args, config, snapshot, chat, embedder, ask, said, cancel })
    }

    /// Asks, prints the answer and what is to be said of it, and remembers both. Gives the exit code.
    fn ask(&mut self, question: &str) -> Result<(Answer, u8), Failure> {
        let mut ask = self.ask.clone();
        ask.query.text = question.to_owned();
        ask.history.clone_from(&self.said);
        let (answer, streamed) = self.answered(&ask)?;
        let turn = wire::TurnResult::from(&answer);
        if let Some(file) = &self.args.history {
            history::append(file, &turn)?;
        }
        self.said.push(Turn { question: turn.question, answer: turn.answer, searched: turn.searched });
        self.print(&answer, streamed)?;
        let code = self.code(&answer);
        Ok((answer, code))
    }

    /// Asks, and shows the answer as it grows where somebody watches. Tells whether it did.
    fn answered(&self, ask: &Ask) -> Result<(Answer, bool), Failure> {
        let screen = &self.context.screen;
        // A person watches the answer grow; a script gets it when it is checked.
        let watched = screen.stdout_is_terminal
            && !screen.json
            && self.args.format.is_none()
            && self.chat.is_some()
            && !self.args.strict
            && ask.unsupported == Unsupported::Mark;
        let mut streamed = false;
        let mut broken: Option<io::Error> = None;
        let (embedder, chat) = (self.embedder.as_deref(), self.chat.as_deref());
        let result = retrieve::ask(&self.snapshot, embedder, chat, ask, &mut |event| {
            if self.cancel.is_asked() {
                return ControlFlow::Break(());
            }
            let AskEvent::Text(text) = event else { return ControlFlow::Continue(()) };
            if !watched {
                return ControlFlow::Continue(());
            }
            streamed = true;
            let mut out = io::stdout().lock();
            match out.write_all(sanitize::text(text).as_bytes()).and_then(|()| out.flush()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    broken = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = broken {
            return Err(error.into());
        }
        let mut answer = result?;
        self.context.place.freshness(&self.snapshot).mark_cited(&mut answer);
        if streamed {
            screen.print("\n")?;
        }
        Ok((answer, streamed))
    }

    fn print(&self, answer: &Answer, streamed: bool) -> Result<(), Failure> {
        let screen = &self.context.screen;
        let price = |key: &str| self.config.decimal(key);
        let cost = answer.usage.and_then(|usage| {
            wire::Cost::of(usage, price("llm.price_per_million_input"), price("llm.price_per_million_output"))
        });
        match (screen.json, self.args.format) {
            (true, _) => screen.print_json(&wire::AnswerResult::from(answer).with_cost(cost))?,
            (false, Some(Format::Md)) => screen.print(&answer::markdown(answer))?,
            (false, Some(Format::Text) | None) => {
                let places = self.context.place.places(&self.snapshot);
                screen.print(&answer::text(screen, &places, answer, streamed))?;
            }
        }
        for note in &answer.notes {
            screen.note(note);
        }
        if answer.strength == Strength::Weak && !matches!(answer.status, AnswerStatus::NoAnswer | AnswerStatus::Refused)
        {
            screen.note("weak matches only: the documents may not speak of this");
        }
        if answer.truncated {
            screen.note("the answer was cut off");
        }
        if let Some(usage) = answer.usage {
            screen.note(&answer::spent(&usage, cost.map(|cost| cost.total)));
        }
        Ok(())
    }

    fn code(&self, answer: &Answer) -> u8 {
        if answer.truncated && !self.args.allow_truncated {
            return exit::MODEL;
        }
        let any_unsupported = answer.sentences.iter().any(|sentence| sentence.state == Support::Unsupported);
        match answer.status {
            AnswerStatus::NoAnswer | AnswerStatus::Refused => exit::NO,
            AnswerStatus::Unsupported => exit::UNSUPPORTED,
            AnswerStatus::Answered | AnswerStatus::Extractive if self.args.strict && any_unsupported => {
                exit::UNSUPPORTED
            }
            AnswerStatus::Answered | AnswerStatus::Extractive => exit::OK,
        }
    }
}

/// How the settings alone want questions to be answered; the answer comes whole.
pub fn settings(config: &Config, query: Query) -> Result<Ask, Failure> {
    Ok(Ask {
        query,
        max_tokens: config.number("llm.max_tokens").map_or(800, |n| n as u32),
        context_tokens: config.number("llm.context_tokens").unwrap_or(8192),
        no_gate: false,
        unsupported: match config.text("ask.unsupported") {
            Some("drop") => Unsupported::Drop,
            Some(_) | None => Unsupported::Mark,
        },
        stream: false,
        history: Vec::new(),
        system: system_prompt(config)?,
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
