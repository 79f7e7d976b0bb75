//! Which models are installed, and how one comes to be: copied or fetched beside, looked at, and put in place by one rename.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    GRAPHS, WEIGHTS,
    card::{CARD, Card},
    fetch::{Fetch, Fetching},
    graph::Graph,
    graph_of,
    tokens::Tokens,
};
use crate::model::{Error, Result, registry};

/// Files that say how a model is to be used; none has to be there.
const FACTS: [&str; 4] =
    ["config.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"];
/// One of them has to be there.
const TOKENIZERS: [&str; 2] = ["tokenizer.json", "vocab.txt"];
/// A model that is being fetched; it goes on there the next time.
const UNFINISHED: &str = ".part";

/// Says in an unfinished folder where its files come from.
const SOURCE: &str = "source";

/// A model in the folder of models.
#[derive(Debug, Clone, PartialEq)]
pub struct Installed {
    pub name: String,
    pub folder: PathBuf,
    pub card: Card,
    /// Of all its files.
    pub size_bytes: u64,
}

/// The models of a folder whose cards can be read, by name. A folder that is not there has none. Errors: `Io`.
pub fn installed(models: &Path) -> Result<Vec<Installed>> {
    let failed = |source| Error::Io { act: "read", path: models.to_owned(), source };
    let entries = match fs::read_dir(models) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry.map_err(failed)?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // One that cannot be read is no other one's fault.
        if folder.join(CARD).is_file()
            && !name.ends_with(UNFINISHED)
            && let Ok(card) = Card::of(&folder)
        {
            found.push(Installed { name, card, size_bytes: size_of(&folder), folder });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Where the files come from.
pub enum From<'a> {
    Folder(&'a Path),
    Web(&'a Fetch),
}

/// Brings a model into the folder of models. `change` is told what was found out of its use, and may say otherwise.
/// `sha256`: what graph and weights are to have. Its graph is loaded once before it counts.
///
/// Errors: `BadModel` for a name that is none or is taken, files that are not there, another checksum; those of fetching,
/// and of the graph and the tokenizer. What was fetched stays, and the next try goes on from there.
pub fn install(
    models: &Path,
    name: &str,
    from: &From<'_>,
    sha256: Option<&str>,
    change: &dyn Fn(&mut Card),
    told: &mut dyn FnMut(Fetching<'_>),
) -> Result<Installed> {
    check_name(name)?;
    let folder = models.join(name);
    let options = |what: String| Error::BadModel { what };
    if folder.exists() {
        return Err(options(format!("a model named `{name}` is installed already, in `{}`", folder.display())));
    }
    let shown = match from {
        From::Folder(path) => path.display().to_string(),
        From::Web(fetch) => crate::model::http::shown(fetch.base.as_str()),
    };
    let unfinished = begun(models, name, &shown, from)?;
    let mut bring = |file: &str| match from {
        From::Folder(path) => copy(path, &unfinished, file),
        From::Web(fetch) => fetch.file(file, &unfinished, told),
    };
    let mut first = |files: &[&str]| -> Result<bool> {
        for file in files {
            if bring(file)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    for (what, files) in [("tokenizer", &TOKENIZERS), ("graph", &GRAPHS)] {
        if !first(files)? {
            return Err(options(format!("`{shown}` has no {what}: neither `{}` nor `{}`", files[0], files[1])));
        }
    }
    let graph = graph_of(&unfinished)?;
    let below = graph.parent().and_then(|parent| parent.strip_prefix(&unfinished).ok()).unwrap_or(Path::new(""));
    for weights in WEIGHTS {
        first(&[&below.join(weights).to_string_lossy()])?;
    }
    for facts in FACTS {
        first(&[facts])?;
    }
    let mut card = Card::of(&unfinished)?;
    card.sha256 = graph_sha256(&unfinished)?;
    card.from = shown;
    let sound = match sha256.filter(|wanted| !wanted.eq_ignore_ascii_case(&card.sha256)) {
        Some(wanted) => {
            let found = &card.sha256;
            Err(options(format!("`{name}` has the sha256 {found}, and {wanted} was asked for; nothing was installed")))
        }
        None => Tokens::load(&unfinished).and_then(|_| Graph::load(&unfinished, false)).map(drop),
    };
    if let Err(error) = sound {
        // What is whole and wrong is not gone on with.
        remove_folder(&unfinished)?;
        return Err(error);
    }
    change(&mut card);
    card.write(&unfinished)?;
    let source = unfinished.join(SOURCE);
    fs::remove_file(&source).map_err(|error| Error::Io { act: "remove", path: source, source: error })?;
    fs::rename(&unfinished, &folder).map_err(|source| Error::Io { act: "make", path: folder.clone(), source })?;
    Ok(Installed { name: name.to_owned(), card, size_bytes: size_of(&folder), folder })
}

/// Removes an installed model, whether its card can be read or not. Errors: `Unknown`, `Io`.
pub fn remove(models: &Path, name: &str) -> Result<()> {
    let folder = models.join(name);
    if check_name(name).is_err() || !folder.join(CARD).is_file() {
        return Err(Error::Unknown { name: name.to_owned() });
    }
    remove_folder(&folder)
}

/// The folder in which a model is brought together. A fetch goes on with what it brought before; of another source nothing
/// is gone on with, and a folder is copied anew.
fn begun(models: &Path, name: &str, shown: &str, from: &From<'_>) -> Result<PathBuf> {
    let unfinished = models.join(format!("{name}{UNFINISHED}"));
    let source = unfinished.join(SOURCE);
    let goes_on = matches!(from, From::Web(_)) && fs::read_to_string(&source).is_ok_and(|before| before == shown);
    if !goes_on && unfinished.exists() {
        remove_folder(&unfinished)?;
    }
    fs::create_dir_all(&unfinished).map_err(|source| Error::Io { act: "make", path: unfinished.clone(), source })?;
    fs::write(&source, shown).map_err(|error| Error::Io { act: "write", path: source, source: error })?;
    Ok(unfinished)
}

fn remove_folder(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).map_err(|source| Error::Io { act: "remove", path: folder.to_owned(), source })
}

/// Whether graph and weights are still those that were installed. Reads them whole.
pub fn checked(model: &Installed) -> Result<bool> {
    Ok(graph_sha256(&model.folder)? == model.card.sha256)
}

/// sha256 of a folder's graph and then its weights, in hex. Errors: `Io`.
pub fn graph_sha256(folder: &Path) -> Result<String> {
    let graph = graph_of(folder)?;
    let weights = WEIGHTS.iter().map(|name| graph.with_file_name(name)).filter(|path| path.is_file());
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    for path in std::iter::once(graph.clone()).chain(weights) {
        let failed = |source| Error::Io { act: "read", path: path.clone(), source };
        let mut file = File::open(&path).map_err(failed)?;
        loop {
            match file.read(&mut buffer).map_err(failed)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A name is a folder's: nothing in it leads elsewhere.
fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty()
        || name.len() > 100
        || !name.chars().all(fits)
        || name.starts_with('.')
        || name.ends_with(UNFINISHED)
    {
        let what = format!("`{name}` is no name for a model: letters, digits, `-`, `_` and `.`, 100 at most");
        return Err(Error::BadModel { what });
    }
    if registry::find(name).is_ok() {
        return Err(Error::BadModel { what: format!("`{name}` is the name of the built-in model") });
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, file: &str) -> Result<bool> {
    let (source, target) = (from.join(file), to.join(file));
    if !source.is_file() {
        return Ok(false);
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(|source| Error::Io { act: "make", path: parent.to_owned(), source })?;
    }
    fs::copy(&source, &target).map_err(|error| Error::Io { act: "copy", path: source.clone(), source: error })?;
    Ok(true)
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(std::result::Result::ok);
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size_of(&entry.path()),
            Ok(_) | Err(_) => entry.metadata().map_or(0, |meta| meta.len()),
        })
        .sum()
}
