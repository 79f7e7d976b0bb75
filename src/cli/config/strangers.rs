//! Variables that look like settings and are none.

use std::{collections::BTreeSet, fmt};

use super::{check::edits, env, settings::SETTINGS, variable};

/// A variable that looks like a setting and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    pub name: String,
    /// The variable that may be meant.
    pub near: Option<String>,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, near } = self;
        match near {
            Some(near) => write!(f, "the variable {name} is no setting and has no effect: did you mean {near}?"),
            None => write!(f, "the variable {name} is no setting and has no effect; `rag config` lists the settings"),
        }
    }
}

/// Those of the variables that begin with the name of a section of ours, or are spelled almost like one that is read.
/// What other programs call `RAG_…` is left alone.
pub fn strangers(names: Vec<String>) -> Vec<Stranger> {
    let known: Vec<String> = env::OURS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(SETTINGS.iter().map(|setting| variable(setting.key)))
        .collect();
    let sections: BTreeSet<&str> = SETTINGS.iter().filter_map(|setting| Some(setting.key.split_once('.')?.0)).collect();
    let of_section = |name: &str| {
        let rest = name.trim_start_matches("RAG_").to_lowercase();
        sections.iter().any(|section| rest.strip_prefix(section).is_some_and(|rest| rest.starts_with('_')))
    };
    names
        .into_iter()
        .filter(|name| !known.contains(name))
        .filter_map(|name| {
            let near = known.iter().map(|known| (edits(&name, known), known)).min();
            let near = near.filter(|(distance, known)| *distance <= known.len() / 6 && *distance <= 3);
            let near = near.map(|(_, known)| known.clone());
            (near.is_some() || of_section(&name)).then_some(Stranger { name, near })
        })
        .collect()
}
