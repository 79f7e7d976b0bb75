//! `rag ask`: an answer with checked citations, from an LLM, or, with none configured, from the documents' own sentences.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

use clap::ValueEnum;
use rag::{
    retrieve::{self, AnswerStatus, Ask, AskEvent, Query, Strength, Support, Unsupported},
    serve::wire,
};

use super::{Context, query::SearchArgs};
use crate::cli::{
    exit,
    output::{answer, sanitize},
    report::Failure,
};

/// How many chunks are considered for passages, where `-k` does not say.
const CANDIDATES: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer this question
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    search: SearchArgs,
    /// Ask the model at this OpenAI-style endpoint
    #[arg(long, value_name = "URL", conflicts_with = "extractive")]
    llm_url: Option<String>,
    /// Ask this model
    #[arg(long, value_name = "NAME", conflicts_with = "extractive")]
    model: Option<String>,
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

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let config = &context.config;
    let snapshot = context.place.open()?.snapshot()?;
    let chat = match args.extractive {
        true => None,
        false => context.place.chat(config, args.llm_url.as_deref(), args.model.as_deref())?,
    };
    let unsupported = match (args.unsupported, config.text("ask.unsupported")) {
        (Some(UnsupportedArg::Drop), _) | (None, Some("drop")) => Unsupported::Drop,
        (Some(UnsupportedArg::Mark), _) | (None, _) => Unsupported::Mark,
    };
    let ask = Ask {
        query: Query {
            rerank: args.search.reranker(&context.place, config)?,
            ..args.search.to_query(args.text.clone(), config, CANDIDATES)
        },
        max_tokens: args.max_tokens.or(config.number("llm.max_tokens").map(|n| n as u32)).unwrap_or(800),
        context_tokens: args.context_tokens.or(config.number("llm.context_tokens")).unwrap_or(8192),
        no_gate: args.no_gate,
        unsupported,
        stream: !args.no_stream,
    };
    let embedder = context.place.query_embedder(config, &snapshot, ask.query.mode)?;
    // A person watches the answer grow; a script gets it when it is checked.
    let watched = context.screen.stdout_is_terminal
        && !context.screen.json
        && args.format.is_none()
        && chat.is_some()
        && !args.strict
        && unsupported == Unsupported::Mark;
    let mut streamed = false;
    let mut broken: Option<io::Error> = None;
    let result = retrieve::ask(&snapshot, embedder.as_deref(), chat.as_deref(), &ask, &mut |event| {
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
    context.place.freshness(&snapshot).mark_cited(&mut answer);
    if streamed {
        context.screen.print("\n")?;
    }
    match (context.screen.json, args.format) {
        (true, _) => context.screen.print_json(&wire::AnswerResult::from(&answer))?,
        (false, Some(Format::Md)) => context.screen.print(&answer::markdown(&answer))?,
        (false, Some(Format::Text) | None) => {
            let places = context.place.places(&snapshot);
            context.screen.print(&answer::text(&context.screen, &places, &answer, streamed))?;
        }
    }
    for note in &answer.notes {
        context.screen.note(note);
    }
    if answer.strength == Strength::Weak && !matches!(answer.status, AnswerStatus::NoAnswer | AnswerStatus::Refused) {
        context.screen.note("weak matches only: the documents may not speak of this");
    }
    if answer.truncated {
        context.screen.note("the answer was cut off");
        if !args.allow_truncated {
            return Ok(exit::MODEL);
        }
    }
    let any_unsupported = answer.sentences.iter().any(|sentence| sentence.state == Support::Unsupported);
    Ok(match answer.status {
        AnswerStatus::NoAnswer | AnswerStatus::Refused => exit::NO,
        AnswerStatus::Unsupported => exit::UNSUPPORTED,
        AnswerStatus::Answered | AnswerStatus::Extractive if args.strict && any_unsupported => exit::UNSUPPORTED,
        AnswerStatus::Answered | AnswerStatus::Extractive => exit::OK,
    })
}
