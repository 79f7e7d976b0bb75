//! `rag ask --chat`: one question after another, with a few words of command between them.

use std::io::{self, IsTerminal as _};

use rag::{serve::wire::AnswerResult, types::Kind};

use super::{Asker, lines::Lines};
use crate::cli::{
    exit,
    output::{Style, answer, sanitize},
    report::Failure,
    signals,
};

const HELP: &str = "Ask a question; the next one may lean on it (“and in winter?”). Ctrl-C breaks an answer off.

  /sources   the sources of the last answer
  /open N    the text of source N, whole
  /clear     forget what was said
  /help      this
  /quit      leave (so does Ctrl-D)
";

#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Nothing,
    Question(&'a str),
    Sources,
    Open(Result<u32, &'a str>),
    Clear,
    Help,
    Quit,
    Unknown(&'a str),
}

/// Reads questions until there are no more. A person gets 0, a script the code of its last question; an error ends a
/// script and is only told to a person.
pub fn run(asker: &mut Asker<'_>) -> Result<u8, Failure> {
    let is_person = io::stdin().is_terminal() && asker.context.screen.stdout_is_terminal && !asker.context.screen.json;
    let mut lines = Lines::new(is_person)?;
    if is_person {
        signals::watch_interrupts(&asker.cancel)
            .map_err(|error| Failure::new(Kind::Io, format!("cannot watch signals: {error}")))?;
        asker.context.screen.note("/help lists what can be said besides questions; Ctrl-D leaves");
    }
    let mut last: Option<AnswerResult> = None;
    let mut code = exit::OK;
    let mut first = asker.args.text.clone();
    loop {
        let line = match first.take() {
            Some(line) => line,
            None => {
                let sources = last.iter().flat_map(|answer| &answer.sources).map(|source| source.n);
                match lines.next(&sources.collect::<Vec<_>>())? {
                    Some(line) => line,
                    None => break,
                }
            }
        };
        // What was pressed while nothing was asked breaks nothing off.
        asker.cancel.take_back();
        match read(&line) {
            Line::Nothing => {}
            Line::Quit => break,
            Line::Help => asker.context.screen.print(HELP)?,
            Line::Clear => {
                asker.said.clear();
                last = None;
                asker.context.screen.note("what was said is forgotten");
            }
            Line::Sources => sources(asker, last.as_ref())?,
            Line::Open(n) => open(asker, last.as_ref(), n)?,
            Line::Unknown(word) => {
                asker.context.screen.note(&format!("`{word}` is no command; /help lists them"));
            }
            Line::Question(question) => match asker.ask(question) {
                Ok((answer, its_code)) => {
                    code = its_code;
                    last = Some(answer);
                }
                Err(_) if is_person && asker.cancel.is_asked() => {
                    asker.context.screen.print("\n")?;
                    asker.context.screen.note("the answer was broken off");
                }
                Err(error @ Failure::Error { .. }) if is_person => {
                    let told = error.in_passing().unwrap_or_default();
                    let told = asker.context.screen.paint(Style::Bad, &sanitize::line(&told));
                    asker.context.screen.print(&format!("{told}\n"))?;
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok(if is_person { exit::OK } else { code })
}

fn read(line: &str) -> Line<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Line::Nothing;
    }
    // A path is a question too: `/etc/hosts?`
    let Some(command) = line.strip_prefix('/').filter(|rest| !rest.split(' ').next().unwrap_or(rest).contains('/'))
    else {
        return Line::Question(line);
    };
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match word {
        "sources" => Line::Sources,
        "open" => {
            let n = rest.trim().trim_matches(['[', ']']);
            Line::Open(n.parse().map_err(|_| n))
        }
        "clear" => Line::Clear,
        "help" | "?" => Line::Help,
        "quit" | "exit" | "q" => Line::Quit,
        _ => Line::Unknown(line),
    }
}

fn sources(asker: &Asker<'_>, last: Option<&AnswerResult>) -> Result<(), Failure> {
    let screen = &asker.context.screen;
    match last.map(|answer| answer::sources(screen, &asker.places, answer)).filter(|list| !list.is_empty()) {
        Some(list) => screen.print(&list)?,
        None => screen.note("no answer has sources yet"),
    }
    Ok(())
}

fn open(asker: &Asker<'_>, last: Option<&AnswerResult>, n: Result<u32, &str>) -> Result<(), Failure> {
    let screen = &asker.context.screen;
    let Some(answer) = last else {
        screen.note("no answer has sources yet");
        return Ok(());
    };
    let source = n.ok().and_then(|n| answer.sources.iter().find(|source| source.n == n));
    match (source, n) {
        (Some(source), _) => screen.print(&answer::source(screen, &asker.places, source))?,
        (None, Ok(n)) => screen.note(&format!("the last answer has no source [{n}]")),
        (None, Err("")) => screen.note("say which source: /open 1"),
        (None, Err(word)) => screen.note(&format!("`{word}` is not the number of a source")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_questions_or_commands() {
        for (line, want) in [
            ("", Line::Nothing),
            ("  \n", Line::Nothing),
            (" How long? \n", Line::Question("How long?")),
            ("/etc/hosts?", Line::Question("/etc/hosts?")),
            ("/sources", Line::Sources),
            ("/open 2\n", Line::Open(Ok(2))),
            ("/open [2]", Line::Open(Ok(2))),
            ("/open", Line::Open(Err(""))),
            ("/open two", Line::Open(Err("two"))),
            ("/clear", Line::Clear),
            ("/help", Line::Help),
            ("/q", Line::Quit),
            ("/opne 2", Line::Unknown("/opne 2")),
        ] {
            assert_eq!(read(line), want, "{line}");
        }
    }
}
