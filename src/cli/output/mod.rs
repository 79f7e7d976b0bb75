//! What a person sees: stdout is data, stderr is talk. Sole owner of both, with `report` and `progress`.

pub mod answer;
pub mod answers;
pub mod check;
pub mod eval;
pub mod hits;
pub mod places;
pub mod progress;
pub mod sanitize;
pub mod sources;
pub mod summary;
pub mod waits;
pub mod why;

use std::io::{self, BufWriter, IsTerminal as _, Write as _};

use serde::Serialize;

use super::{
    args::{Color, Global},
    config::Config,
    env,
};

/// Which attributes a piece of text has on a terminal that shows colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Bold,
    Dim,
    Place,
    Match,
    Good,
    Warn,
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Place => "36",
            Self::Match => "1;33",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }
}

/// How this run talks.
#[derive(Debug, Clone)]
pub struct Screen {
    pub json: bool,
    pub quiet: bool,
    /// Attributes and links go to stdout.
    pub color: bool,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
}

impl Screen {
    pub fn new(global: &Global, config: &Config) -> Self {
        let (stdout_is_terminal, stderr_is_terminal) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let able = stdout_is_terminal
            && env::os(env::NO_COLOR).is_none()
            && env::text(env::TERM).is_none_or(|terminal| terminal != "dumb");
        let color = match (global.color, config.text("output.color")) {
            (Some(Color::Always), _) => true,
            (Some(Color::Never), _) => false,
            (None, Some("always")) => true,
            (None, Some("never")) => false,
            (Some(Color::Auto) | None, _) => able,
        };
        Self { json: global.json, quiet: global.quiet, color, stdout_is_terminal, stderr_is_terminal }
    }

    /// Puts attributes around text that was made safe before.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{}m{text}\x1b[0m", style.code()) } else { text.to_string() }
    }

    /// Prints one JSON object and a line feed.
    pub fn print_json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut out = out();
        if self.stdout_is_terminal {
            let text = serde_json::to_string(value).map_err(io::Error::from)?;
            out.write_all(sanitize::json(&text).as_bytes())?;
        } else {
            serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
        }
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Prints data.
    pub fn print(&self, text: &str) -> io::Result<()> {
        let mut out = out();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Tells on stderr what must not go unseen, even if asked to be quiet.
    #[cfg(feature = "serve")]
    pub fn warn(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "warning: {}", sanitize::line(text));
    }

    /// Tells something on stderr, unless asked to be quiet or to be read by a program.
    pub fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            // Nobody is left to hear that stderr is closed.
            let _ = writeln!(io::stderr().lock(), "note: {}", sanitize::line(text));
        }
    }
}

/// Prints bytes as they are.
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = out();
    out.write_all(bytes)?;
    out.flush()
}

fn out() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// `1 chunk`, `2 chunks`.
pub fn count(number: u64, word: &str) -> String {
    match word.strip_suffix('y') {
        _ if number == 1 => format!("1 {word}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        Some(_) | None => format!("{number} {word}s"),
    }
}

/// `1.5 MB`: powers of 1,000, as disks are sold.
pub fn bytes(number: u64) -> String {
    let (value, unit) = match number {
        0..1_000 => return format!("{number} B"),
        1_000..1_000_000 => (number as f64 / 1e3, "kB"),
        1_000_000..1_000_000_000 => (number as f64 / 1e6, "MB"),
        1_000_000_000.. => (number as f64 / 1e9, "GB"),
    };
    format!("{value:.1} {unit}")
}
