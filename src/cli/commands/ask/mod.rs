//! `rag ask`: an answer with checked citations, from an LLM, or, with none configured, from the documents' own sentences.

mod chat;
mod here;
mod history;
mod lines;
mod there;

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
    path::PathBuf,
};

use clap::ValueEnum;
use here::Here;
pub use here::configured;
use rag::{
    retrieve::Turn,
    serve::wire::{self, AnswerResult},
    types::Cancel,
};
use there::There;

use super::{Context, query::SearchArgs};
use crate::cli::{
    exit,
    output::{answer, places::Places, sanitize},
    report::Failure,
};

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
    /// Let the answer have at most so many tokens [default: 800]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Let prompt and answer have at most so many tokens [default: 8192]
    #[arg(long, value_name = "N")]
    context_tokens: Option<usize>,
    /// Fail (exit 4) if any sentence is not supported by its sources
    #[arg(long)]
    strict: bool,
    /// Quote the sentences that answer, without a model
    #[arg(long)]
    extractive: bool,
    /// What becomes of a sentence that no source supports [default: mark]
    #[arg(long, value_enum, value_name = "WHAT")]
    unsupported: Option<UnsupportedArg>,
    /// Ask the model even if nothing relevant was found
    #[arg(long)]
    no_gate: bool,
    /// Put marks between the words of passages, against orders in documents (large models alone)
    #[arg(long)]
    datamark: bool,
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

/// One question after another, to the same index and the same model.
struct Asker<'a> {
    context: &'a Context,
    args: &'a Args,
    house: House<'a>,
    places: Places,
    said: Vec<Turn>,
    /// Breaks off the answer that is being given.
    cancel: Cancel,
}

/// Who answers.
enum House<'a> {
    Here(Box<Here<'a>>),
    There(There<'a>),
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
        let said = args.history.as_deref().map_or(Ok(Vec::new()), history::read)?;
        if let Some(remote) = &context.remote {
            let house = House::There(There::new(remote, args)?);
            return Ok(Self { context, args, house, places: Places::default(), said, cancel });
        }
        let here = Here::new(context, args, &cancel)?;
        let places = here.places();
        Ok(Self { context, args, house: House::Here(Box::new(here)), places, said, cancel })
    }

    /// Asks, prints the answer and what is to be said of it, and remembers both. Gives the exit code.
    fn ask(&mut self, question: &str) -> Result<(AnswerResult, u8), Failure> {
        let (answer, streamed) = self.answered(question)?;
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
    fn answered(&self, question: &str) -> Result<(AnswerResult, bool), Failure> {
        let screen = &self.context.screen;
        let grows = match &self.house {
            House::Here(here) => here.grows(),
            House::There(there) => there.grows(),
        };
        // A person watches the answer grow; a script gets it when it is checked.
        let watched =
            screen.stdout_is_terminal && !screen.json && self.args.format.is_none() && !self.args.strict && grows;
        let mut streamed = false;
        let mut broken: Option<io::Error> = None;
        let mut show = |text: &str| {
            if self.cancel.is_asked() {
                return ControlFlow::Break(());
            }
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
        };
        let answer = match &self.house {
            House::Here(here) => here.answer(question, &self.said, &mut show),
            House::There(there) => there.answer(question, &self.said, &mut show),
        };
        if let Some(error) = broken {
            return Err(error.into());
        }
        let answer = answer?;
        if streamed {
            screen.print("\n")?;
        }
        Ok((answer, streamed))
    }

    fn print(&self, answer: &AnswerResult, streamed: bool) -> Result<(), Failure> {
        let screen = &self.context.screen;
        match (screen.json, self.args.format) {
            (true, _) => screen.print_json(answer)?,
            (false, Some(Format::Md)) => screen.print(&answer::markdown(answer))?,
            (false, Some(Format::Text) | None) => {
                screen.print(&answer::text(screen, &self.places, answer, streamed))?;
            }
        }
        for note in &answer.notes {
            screen.note(note);
        }
        if answer.strength == "weak" && !matches!(&*answer.status, "no_answer" | "refused") {
            screen.note("weak matches only: the documents may not speak of this");
        }
        if let Some(usage) = &answer.usage {
            screen.note(&answer::spent(usage, answer.cost.map(|cost| cost.total)));
        }
        Ok(())
    }

    fn code(&self, answer: &AnswerResult) -> u8 {
        if answer.truncated && !self.args.allow_truncated {
            return exit::MODEL;
        }
        let any_unsupported = answer.sentences.iter().any(|sentence| sentence.state == "unsupported");
        match &*answer.status {
            "no_answer" | "refused" => exit::NO,
            "unsupported" => exit::UNSUPPORTED,
            _ if self.args.strict && any_unsupported => exit::UNSUPPORTED,
            _ => exit::OK,
        }
    }
}
