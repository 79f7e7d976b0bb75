//! The command line as plain structs: validated, nothing done.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

#[cfg(feature = "onnx")]
use super::commands::models;
use super::commands::{
    ask, cache, check, compact, completions, config, doctor, eval, export, import, ingest, list, man, mcp, migrate,
    proxy, query, reembed, rm, serve, show, status, tune, verify, why, why_not,
};
use super::report::Failure;

/// Ingest a folder, query it, ask it: hybrid search and checked citations, offline
#[derive(Debug, Parser)]
#[command(name = "rag", version, arg_required_else_help = true, subcommand_required = true)]
#[command(
    after_help = "Exit codes: 0 done or found · 1 the answer is no · 2 usage, no index, no such path · 3 some sources failed\n\
            4 unsupported answer · 5 model or endpoint · 6 index busy · 7 index damaged or of another format or model\n\
            8 input or output failed · 130 interrupted"
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every verb takes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Use the index in this folder [default: $RAG_INDEX, else the nearest .rag from here upward, else ./.rag]
    #[arg(long, value_name = "DIR", global = true)]
    pub index: Option<PathBuf>,
    /// Ask the `rag serve` at this address in place of an index here [default: $RAG_REMOTE]; its key comes from RAG_API_KEY
    #[arg(long, value_name = "URL", global = true)]
    pub remote: Option<String>,
    /// Trust these certificates (PEM) of a server too
    #[arg(long, value_name = "FILE", global = true)]
    pub ca_file: Option<PathBuf>,
    /// Open an index of another user that others may write to
    #[arg(long, global = true)]
    pub trust_index: bool,
    /// Print one JSON object on stdout, errors as one on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Colour the output
    #[arg(long, value_enum, value_name = "WHEN", global = true)]
    pub color: Option<Color>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the index agree with what is on disk: add new, replace changed, remove vanished
    Ingest(ingest::Args),
    /// Find the chunks that match a query
    Query(query::Args),
    /// Answer a question from the documents, with checked citations
    Ask(ask::Args),
    /// Check a saved answer again, against the index as it is now
    Check(check::Args),
    /// Show what the index holds and what went wrong
    Status(status::Args),
    /// List the documents with their state
    List(list::Args),
    /// Show a chunk or a document with where it comes from
    Show(show::Args),
    /// Remove documents from the index
    Rm(rm::Args),
    /// Tell whether a file is in the index, and by which rule not
    Why(why::Args),
    /// Tell what keeps a file out of the results of a query
    WhyNot(why_not::Args),
    /// Check every checksum and every invariant of the index
    Verify(verify::Args),
    /// Serve the index over HTTP
    Serve(serve::Args),
    /// Measure retrieval on questions with judgements
    Eval(eval::Args),
    /// Propose settings that are better for these documents
    Tune(tune::Args),
    /// Merge segments and drop what is deleted
    Compact(compact::Args),
    /// Embed the stored texts with another model, or with none
    Reembed(reembed::Args),
    /// Bring an index of an older format to this one
    Migrate(migrate::Args),
    /// Check the setup, and print the command that mends what is wrong
    Doctor(doctor::Args),
    /// Write the documents as JSON lines, for another index or another program
    Export(export::Args),
    /// Take documents from JSON lines: an export, or lines of `id`, `title`, `text`
    Import(import::Args),
    /// List the models that are here; install one or remove it
    #[cfg(feature = "onnx")]
    Models(models::Args),
    /// Serve tools for agents: search, answers and memory, over standard input and output (MCP)
    Mcp(mcp::Args),
    /// Stand before an LLM or embedding endpoint and answer what was answered before
    Proxy(proxy::Args),
    /// Show or empty the cache of `rag proxy`
    Cache(cache::Args),
    /// Show each setting and where its value comes from
    Config(config::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

impl Cli {
    /// Whether results and errors are to be JSON.
    pub fn wants_json(&self) -> bool {
        let format = match &self.command {
            Command::Query(args) => args.format == Some(query::Format::Json),
            Command::Ingest(_)
            | Command::Ask(_)
            | Command::Check(_)
            | Command::Status(_)
            | Command::List(_)
            | Command::Show(_)
            | Command::Rm(_)
            | Command::Why(_)
            | Command::WhyNot(_)
            | Command::Verify(_)
            | Command::Eval(_)
            | Command::Serve(_)
            | Command::Tune(_)
            | Command::Compact(_)
            | Command::Reembed(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Proxy(_)
            | Command::Cache(_)
            | Command::Config(_)
            | Command::Migrate(_)
            | Command::Doctor(_)
            | Command::Man(_)
            | Command::Mcp(_)
            | Command::Completions(_) => false,
            #[cfg(feature = "onnx")]
            Command::Models(_) => false,
        };
        self.global.json || format
    }
}

/// Reads `512MiB`, `10k`, `1 GB` or plain bytes. k, M and G are powers of 1,000, Ki, Mi and Gi of 1,024.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a size; write 512MiB or 1000000"))?;
    let factor = match unit.to_ascii_lowercase().trim_end_matches('b') {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("`{unit}` is not a unit of size; use k, M, G, KiB, MiB or GiB")),
    };
    Ok((number * factor) as u64)
}

/// Longer than anybody waits, and short enough to be added to any clock's now.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(100 * 365 * 86_400);

/// Reads `60s`, `500ms`, `2m`, `1h` or plain seconds; what is longer than a century is a century.
pub fn duration(text: &str) -> Result<std::time::Duration, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let bad = || format!("`{text}` is not a time; write 60s, 500ms or 2m");
    let number: f64 = text[..digits].parse().map_err(|_| bad())?;
    let factor = match text[digits..].trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(bad()),
    };
    std::time::Duration::try_from_secs_f64(number * factor).map(|time| time.min(LONGEST)).map_err(|_| bad())
}

/// Reads the name of a collection: something to be seen, on one line, that is no path.
pub fn collection(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is wanted".into()),
        name if name.contains('/') || name.contains(char::is_control) => Err("a name without `/` is wanted".into()),
        name => Ok(name.to_string()),
    }
}

/// Reads `KEY=VALUE`.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_string(), value.to_string())),
        Some(_) | None => Err(format!("`{text}` is not KEY=VALUE")),
    }
}

/// Tags by key. Errors: one key with two values, of which a document could have only one.
pub fn tags(given: &[(String, String)]) -> Result<BTreeMap<String, String>, Failure> {
    let mut tags = BTreeMap::new();
    for (key, value) in given {
        if let Some(before) = tags.insert(key.clone(), value.clone()).filter(|before| before != value) {
            return Err(Failure::usage(format!(
                "`--tag {key}={before}` and `--tag {key}={value}`: a tag has one value"
            ))
            .hint(format!("two things are two tags: `--tag {key}={before} --tag {value}=yes`")));
        }
    }
    Ok(tags)
}

/// Ids of the flags in [`Global`] that mean nothing to a verb.
fn unused(verb: &str) -> &'static [&'static str] {
    match verb {
        "config" | "mcp" | "serve" | "doctor" | "tune" | "compact" | "reembed" | "migrate" | "export" | "import" => {
            &["remote", "ca_file"]
        }
        "man" | "completions" => &["index", "remote", "ca_file", "trust_index", "json", "quiet", "color"],
        "models" | "cache" | "proxy" => &["index", "remote", "ca_file", "trust_index"],
        _ => &[],
    }
}

/// The command line as clap reads it, with what a verb cannot use left out of its help.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let hidden: Vec<(String, Vec<clap::Arg>)> = command
        .get_subcommands()
        .map(|verb| {
            let all = command.get_arguments().filter(|arg| unused(verb.get_name()).contains(&arg.get_id().as_str()));
            (verb.get_name().to_owned(), all.map(|arg| arg.clone().hide(true)).collect())
        })
        .collect();
    // An argument of the verb's own takes the place of the one that every verb gets: the same, but not shown.
    hidden.into_iter().fold(command, |command, (verb, args)| command.mut_subcommand(verb, |verb| verb.args(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    /// What a person reads under `--help`.
    fn help(verb: &str) -> String {
        let mut command = command();
        command.build();
        command.find_subcommand_mut(verb).expect(verb).render_long_help().to_string()
    }

    #[test]
    fn help_names_no_flag_that_the_verb_cannot_use() {
        for (verb, flags) in [
            ("mcp", &["--remote"][..]),
            ("man", &["--remote", "--index"]),
            ("config", &["--remote"]),
            ("models", &["--remote", "--index"]),
            ("cache", &["--remote", "--index"]),
        ] {
            let help = help(verb);
            assert!(help.contains("--help"), "{verb}: {help}");
            for flag in flags {
                assert!(!help.contains(flag), "{verb}: {flag}: {help}");
            }
        }
        let query = help("query");
        let (own, common) = query.split_once("Options of every command").expect("a heading of their own");
        for flag in ["--index", "--remote", "--json", "--quiet", "--color"] {
            assert!(common.contains(&format!("{flag} ")) || common.contains(&format!("{flag}\n")), "{flag}: {query}");
            assert!(!own.lines().any(|line| line.trim_start().starts_with(flag)), "{flag}: {query}");
        }
        // They are read all the same, so that a script may give them to every verb.
        let matches = command().try_get_matches_from(["rag", "man", "--index", "x", "query"]).expect("read");
        let cli = <Cli as clap::FromArgMatches>::from_arg_matches(&matches).expect("read");
        assert_eq!(cli.global.index, Some(PathBuf::from("x")));
    }

    #[test]
    fn help_says_the_defaults_of_settings() {
        let default = |key: &str| {
            let setting = crate::cli::config::SETTINGS.iter().find(|setting| setting.key == key).expect(key);
            format!("[default: {}", setting.default.expect(key))
        };
        for (verb, key) in [
            ("query", "retrieve.k"),
            ("query", "retrieve.mode"),
            ("query", "retrieve.fusion"),
            ("ingest", "ingest.chunk_tokens"),
            ("ingest", "ingest.max_file_size"),
            ("ingest", "ingest.file_timeout"),
            ("import", "ingest.chunk_tokens"),
            ("ask", "llm.max_tokens"),
            ("ask", "llm.context_tokens"),
            ("ask", "ask.unsupported"),
        ] {
            let flag = match key.rsplit(['.']).next().expect("a name") {
                "k" => "-k ".to_owned(),
                name => format!("--{} ", name.replace('_', "-")),
            };
            let help = help(verb);
            let after = help.split_once(&flag).unwrap_or_else(|| panic!("{verb}: {flag}: {help}")).1;
            let own = after.split("\n\n").next().unwrap_or_default().replace('\n', " ");
            let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(own.contains(&default(key)), "{verb} {flag}: {own}");
        }
    }

    #[test]
    fn a_tag_has_one_value() {
        let pairs =
            |all: &[(&str, &str)]| all.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Vec<_>>();
        assert_eq!(tags(&pairs(&[("a", "1"), ("b", "1"), ("a", "1")])).expect("two tags").len(), 2);
        assert!(tags(&pairs(&[("a", "1"), ("a", "2")])).is_err());
    }

    #[test]
    fn sizes() {
        for (text, want) in [("12", 12), ("1k", 1000), ("1KiB", 1024), ("1.5 MiB", 1_572_864), ("2GB", 2_000_000_000)] {
            assert_eq!(size(text), Ok(want), "{text}");
        }
        for text in ["", "MiB", "1 parsec", "1.2.3k"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, want) in [("60", 60_000), ("60s", 60_000), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000)] {
            assert_eq!(duration(text).map(|d| d.as_millis()), Ok(want), "{text}");
        }
        for text in ["", "s", "-1s", "1 fortnight", "99999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
        // Whoever writes so means for ever, and what is added to a clock must not run over.
        let long = duration("5000000000000000h").unwrap();
        assert!(long > duration("100000h").unwrap() && std::time::Instant::now().checked_add(long).is_some());
    }
}
