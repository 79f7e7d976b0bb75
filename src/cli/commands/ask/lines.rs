//! Where a conversation's lines come from: an editor with history and completion on a terminal, else standard input as it is.

use std::io::{self, BufRead as _};

use rustyline::{Config, Context, Editor, Helper, error::ReadlineError, history::MemHistory};

use crate::cli::report::Failure;

const PROMPT: &str = "rag> ";
/// What a line may begin with besides a question, as it is completed.
const COMMANDS: [&str; 5] = ["/sources", "/open ", "/clear", "/help", "/quit"];

/// One line after another.
pub enum Lines {
    /// What was typed is kept in memory alone: questions tell a lot, and who wants them kept has `--history`.
    Edited(Box<Editor<Words, MemHistory>>),
    Plain,
}

impl Lines {
    /// An editor for a person, and nothing of the kind for a script.
    pub fn new(is_person: bool) -> Result<Self, Failure> {
        if !is_person {
            return Ok(Self::Plain);
        }
        let config = Config::builder().history_ignore_space(true).auto_add_history(true).build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).map_err(unreadable)?;
        editor.set_helper(Some(Words::default()));
        Ok(Self::Edited(Box::new(editor)))
    }

    /// The next line; `None` at the end. `sources`: the numbers that `/open` may be given. Ctrl-C drops what was typed and
    /// asks again.
    pub fn next(&mut self, sources: &[u32]) -> Result<Option<String>, Failure> {
        let editor = match self {
            Self::Plain => return plain(),
            Self::Edited(editor) => editor,
        };
        if let Some(words) = editor.helper_mut() {
            words.sources = sources.to_vec();
        }
        loop {
            match editor.readline(PROMPT) {
                Ok(line) => return Ok(Some(line)),
                Err(ReadlineError::Eof) => return Ok(None),
                // The size of the window has changed, or somebody came back to this job: the line is asked for again.
                Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
    }
}

/// The next line of standard input; `None` at its end.
fn plain() -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut bytes);
    let read = read.map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8"))?;
    Ok((read > 0).then_some(text))
}

fn unreadable(error: ReadlineError) -> Failure {
    Failure::usage(format!("cannot read from the terminal: {error}")).hint("pipe the questions in, one a line")
}

/// Completes commands, and after `/open` the numbers of the last answer's sources.
#[derive(Debug, Default)]
pub struct Words {
    sources: Vec<u32>,
}

impl Words {
    /// Where in the line the completion begins, and what may stand there.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        match before.strip_prefix("/open ") {
            Some(rest) => {
                let begun = rest.trim_start();
                let numbers = self.sources.iter().map(u32::to_string).filter(|number| number.starts_with(begun));
                (before.len() - begun.len(), numbers.collect())
            }
            None if before.starts_with('/') => {
                let commands = COMMANDS.iter().filter(|command| command.starts_with(before));
                (0, commands.map(|command| (*command).to_owned()).collect())
            }
            None => (0, Vec::new()),
        }
    }
}

impl rustyline::completion::Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..at).unwrap_or_default()))
    }
}

impl rustyline::hint::Hinter for Words {
    type Hint = String;
}

impl rustyline::highlight::Highlighter for Words {}
impl rustyline::validate::Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_sources_are_completed() {
        let words = Words { sources: vec![1, 2, 12] };
        for (before, want) in [
            ("/", (0, &["/sources", "/open ", "/clear", "/help", "/quit"][..])),
            ("/so", (0, &["/sources"])),
            ("/x", (0, &[])),
            ("/open ", (6, &["1", "2", "12"])),
            ("/open 1", (6, &["1", "12"])),
            ("/open  2", (7, &["2"])),
            ("", (0, &[])),
            ("How /o", (0, &[])),
        ] {
            let (at, found) = words.candidates(before);
            assert_eq!(
                (at, found.iter().map(String::as_str).collect::<Vec<_>>()),
                (want.0, want.1.to_vec()),
                "{before}"
            );
        }
    }
}
