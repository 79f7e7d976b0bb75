//! Failures in words: what happened, where, and what to do next. Never a backtrace, never a key.

use std::{ffi::OsString, io, io::Write as _, path::Path, process::ExitCode};

use rag::{
    index, ingest, model, retrieve,
    serve::{hints, told::Told, wire},
    types::{Kind, SourcePath},
};

use super::{exit, output::sanitize};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    Error {
        kind: Kind,
        message: String,
        hint: Option<String>,
    },
    /// The reader of our output has gone. That is no error.
    ClosedPipe,
}

impl Failure {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self::Error { kind, message: message.into(), hint: None }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Adds what to do next, if nothing was said of it yet.
    pub fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Error { kind, message, hint } => Self::Error { kind, message, hint: hint.or(Some(text.into())) },
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }

    /// Puts another hint in place of the one there.
    pub fn replace_hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Error { kind, message, .. } => Self::Error { kind, message, hint: Some(text.into()) },
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }

    /// Says more in the message.
    pub fn also(self, text: &str) -> Self {
        match self {
            Self::Error { kind, message, hint } => Self::Error { kind, message: format!("{message}: {text}"), hint },
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }

    /// `None`: a closed pipe.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Error { kind, .. } => Some(*kind),
            Self::ClosedPipe => None,
        }
    }

    /// What happened and where.
    pub fn message(&self) -> String {
        match self {
            Self::Error { message, .. } => message.clone(),
            Self::ClosedPipe => String::new(),
        }
    }

    /// What to do next.
    pub fn hint_text(&self) -> Option<String> {
        match self {
            Self::Error { hint, .. } => hint.clone(),
            Self::ClosedPipe => None,
        }
    }

    /// In one line, for what goes on all the same.
    pub fn in_passing(&self) -> Option<String> {
        match self {
            Self::Error { message, hint: Some(hint), .. } => Some(format!("{message}; {hint}")),
            Self::Error { message, hint: None, .. } => Some(message.clone()),
            Self::ClosedPipe => None,
        }
    }

    fn hint_opt(self, text: Option<String>) -> Self {
        match text {
            Some(text) => self.hint(text),
            None => self,
        }
    }
}

impl From<io::Error> for Failure {
    /// Errors of stdout: everything else knows its path and says so itself.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::new(Kind::Io, format!("cannot write the output: {error}"))
    }
}

impl From<Told> for Failure {
    fn from(told: Told) -> Self {
        Self::new(told.kind, told.message).hint_opt(told.hint)
    }
}

impl From<index::Error> for Failure {
    fn from(error: index::Error) -> Self {
        let hint = hints::index(&error);
        Self::new(error.kind(), error.to_string()).hint_opt(hint)
    }
}

impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        let hint = hints::model(&error);
        Self::new(error.kind(), error.to_string()).hint_opt(hint)
    }
}

impl From<ingest::Error> for Failure {
    fn from(error: ingest::Error) -> Self {
        match error {
            ingest::Error::Index(error) => error.into(),
            ingest::Error::Model(error) => error.into(),
            error => {
                let hint = hints::ingest(&error);
                Self::new(error.kind(), error.to_string()).hint_opt(hint)
            }
        }
    }
}

impl From<retrieve::Error> for Failure {
    fn from(error: retrieve::Error) -> Self {
        match error {
            retrieve::Error::Index(error) => error.into(),
            retrieve::Error::Model(error) => error.into(),
            error => {
                let hint = hints::retrieve(&error);
                Self::new(error.kind(), error.to_string()).hint_opt(hint)
            }
        }
    }
}

/// Says a failure on stderr and gives its exit code.
pub fn failure(failure: &Failure, json: bool) -> ExitCode {
    let Failure::Error { kind, message, hint } = failure else {
        return ExitCode::from(exit::OK);
    };
    let code = exit::code(*kind);
    say(*kind, message, hint.as_deref(), code, json);
    ExitCode::from(code)
}

fn say(kind: Kind, message: &str, hint: Option<&str>, code: u8, json: bool) {
    let mut err = io::stderr().lock();
    // Nobody is left to hear that stderr is closed.
    let _ = if json {
        let error = wire::ErrorResult::new(kind, message.to_string(), hint.map(str::to_string), code);
        serde_json::to_writer(&mut err, &error).map_err(io::Error::from).and_then(|()| writeln!(err))
    } else {
        let line =
            |err: &mut io::StderrLock<'_>, word: &str, text: &str| writeln!(err, "{word}: {}", sanitize::line(text));
        line(&mut err, "error", message).and_then(|()| hint.map_or(Ok(()), |hint| line(&mut err, "hint", hint)))
    };
}

/// Whether help and usage errors are coloured: they come before `--color` is read.
pub fn usage_color(arguments: &[OsString]) -> clap::ColorChoice {
    let after = arguments.windows(2).filter(|two| two[0] == "--color").map(|two| two[1].as_os_str());
    let joined = arguments.iter().filter_map(|one| one.to_str()?.strip_prefix("--color=")).map(std::ffi::OsStr::new);
    match after.chain(joined).last().and_then(|when| when.to_str()) {
        Some("never") => clap::ColorChoice::Never,
        Some("always") => clap::ColorChoice::Always,
        Some(_) | None => clap::ColorChoice::Auto,
    }
}

/// Says what clap found wrong (or prints the help or version it was asked for).
pub fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    use clap::error::ErrorKind;
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print() {
            Ok(()) => ExitCode::from(exit::OK),
            Err(error) => failure(&Failure::from(error), false),
        };
    }
    let said = odd_argument(error, arguments);
    let error = said.as_ref().unwrap_or(error);
    let pair = |two: &[OsString]| two[0] == "--format" && two[1] == "json";
    let json = arguments.iter().any(|argument| argument == "--json" || argument == "--format=json")
        || arguments.windows(2).any(pair);
    if json {
        let text = error.render().to_string();
        let said = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let message = said.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let message = message.trim_start_matches("error: ").to_string();
        say(Kind::Usage, &message, Some("run `rag --help`"), exit::USAGE, true);
    } else {
        let _ = error.print();
    }
    ExitCode::from(exit::USAGE)
}

/// What clap says of an argument that is no text leaves out which one: the same error, with its name. `None`: another error.
fn odd_argument(error: &clap::Error, arguments: &[OsString]) -> Option<clap::Error> {
    use clap::error::ErrorKind;
    let odd = arguments.iter().skip(1).filter(|argument| argument.to_str().is_none());
    let odd: Vec<String> = odd.map(|argument| format!("`{}`", SourcePath::from_path(Path::new(argument)))).collect();
    (error.kind() == ErrorKind::InvalidUtf8 && !odd.is_empty()).then(|| {
        let what = format!("not UTF-8, as everything but a path has to be: {}", odd.join(", "));
        super::args::command().error(ErrorKind::InvalidUtf8, what)
    })
}

/// A panic is a fault of ours: say so in two lines instead of a backtrace. The process leaves with 101.
pub fn install_panic_message() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload();
        let what = what.downcast_ref::<&str>().copied().or_else(|| what.downcast_ref::<String>().map(String::as_str));
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        let mut err = io::stderr().lock();
        let _ = writeln!(err, "error: rag has a fault: {}{place}", sanitize::line(what.unwrap_or("unknown")));
        let _ = writeln!(err, "hint: the index is at its last generation; please report this with the command you ran");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_and_a_word() {
        let kinds = [
            (Kind::Usage, 2),
            (Kind::NotFound, 2),
            (Kind::Locked, 6),
            (Kind::Incompatible, 7),
            (Kind::Corrupt, 7),
            (Kind::Io, 8),
            (Kind::Model, 5),
            (Kind::Cancelled, 130),
            (Kind::Bug, 101),
        ];
        let mut words = std::collections::BTreeSet::new();
        for (kind, code) in kinds {
            assert_eq!(exit::code(kind), code, "{kind:?}");
            assert!(words.insert(wire::kind_word(kind)));
        }
    }

    #[test]
    fn the_last_word_on_colour_counts_before_the_rest_is_read() {
        let choice = |words: &[&str]| usage_color(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(choice(&["rag", "--nonsense"]), clap::ColorChoice::Auto);
        assert_eq!(choice(&["rag", "--color", "never", "--nonsense"]), clap::ColorChoice::Never);
        assert_eq!(choice(&["rag", "--color=always"]), clap::ColorChoice::Always);
        assert_eq!(choice(&["rag", "--color"]), clap::ColorChoice::Auto);
    }

    #[test]
    fn a_hint_is_said_once() {
        let failure = Failure::usage("no").hint("first").hint("second");
        assert!(matches!(failure, Failure::Error { hint: Some(hint), .. } if hint == "first"));
    }
}
