//! The tools, one table: what each is called and does, what it takes and gives.
//!
//! Descriptions are written here and nowhere else: nothing that a document says can change what a client is told of a tool.

mod ask;
mod delete;
mod get;
mod ingest;
mod memory;
mod neighbors;
mod parts;
mod search;
mod sources;
mod status;

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{reply::Reply, state::State};
use crate::{index::Room, serve::told::Told, types::Cancel};

pub use parts::{document_of, text_of_document};

/// One tool.
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub effect: Effect,
    pub group: Group,
    /// JSON Schemas of arguments and result.
    pub input: fn() -> Value,
    pub output: fn() -> Value,
    pub run: Run,
}

impl Tool {
    /// The collection that a call changes, for whoever keeps a log; `None`: it changes nothing.
    pub fn writes_to(&self, arguments: &Map<String, Value>) -> Option<String> {
        if self.effect == Effect::Reads || arguments.get("dry_run") == Some(&Value::Bool(true)) {
            return None;
        }
        let named = arguments.get("collection").and_then(Value::as_str);
        let place = match (self.group, named, self.effect) {
            (Group::Memory, ..) => "memories",
            (_, Some(named), _) => named,
            // A document is named by its id, whichever collection it is in.
            (_, None, Effect::Removes) if self.name == delete::TOOL.name => "*",
            (_, None, _) => "default",
        };
        Some(place.to_owned())
    }
}

/// What a call comes to.
type Run = fn(&State, &Call, Map<String, Value>) -> Result<Reply, Told>;

/// What a tool does to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    /// It adds or replaces; the same call again changes nothing more.
    Adds,
    /// It takes something away.
    Removes,
}

/// When a tool is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Always,
    /// Unless memory is off.
    Memory,
    /// Where writing is allowed.
    Write,
}

/// One call, as far as a tool needs to know of it.
pub struct Call {
    /// Asked when the client cancels the call or goes away.
    pub cancel: Cancel,
    /// Folders that the client calls its roots.
    pub roots: Vec<PathBuf>,
    /// How much may be stored for whoever calls.
    pub room: Room,
    /// Tells how far it is: done, of how many, and a word.
    pub progress: Box<dyn Fn(u64, Option<u64>, String) + Send + Sync>,
}

/// All tools, in the order clients show them.
pub const TOOLS: &[Tool] = &[
    search::TOOL,
    ask::TOOL,
    get::TOOL,
    neighbors::TOOL,
    sources::TOOL,
    status::TOOL,
    memory::REMEMBER,
    memory::RECALL,
    memory::FORGET,
    memory::LIST,
    memory::NAMESPACES,
    ingest::TOOL,
    delete::TOOL,
];

/// Those that a server offers.
pub fn offered(state: &State) -> impl Iterator<Item = &'static Tool> {
    let (memory, write) = (state.options.memory, state.options.allow_write);
    TOOLS.iter().filter(move |tool| match tool.group {
        Group::Always => true,
        Group::Memory => memory,
        Group::Write => write,
    })
}

/// Reads arguments. Errors: usage, which name what is unknown, missing or of another type.
fn arguments<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, Told> {
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        Told::usage(format!("the arguments are not as the tool's input schema says: {error}"))
            .hint("`tools/list` shows what the tool takes; correct the arguments and call it again")
    })
}

/// Reads a number within its range; absent: the default.
fn within(name: &str, given: Option<u64>, (least, most): (u64, u64), default: u64) -> Result<usize, Told> {
    let number = given.unwrap_or(default);
    if !(least..=most).contains(&number) {
        return Err(Told::usage(format!("`{name}` is {number}, expected {least} to {most}")));
    }
    usize::try_from(number).map_err(|_| Told::usage(format!("`{name}` is too large")))
}

#[cfg(test)]
mod tests;
