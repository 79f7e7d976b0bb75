//! Models of the user's own in the folder of models: found by name, or by what an index says of its embedder.

use std::path::PathBuf;

use rag::{
    index,
    model::{
        Embedder,
        folder::{FolderEmbedder, Installed, Purpose, installed},
    },
    types::EmbeddingSpace,
};

use super::{env, report::Failure};

/// Where models are installed: `$RAG_MODELS`, else `rag/models` in the data folder of the home folder.
pub fn models_dir() -> Result<PathBuf, Failure> {
    use etcetera::BaseStrategy;
    let own = || etcetera::choose_base_strategy().ok().map(|home| home.data_dir().join("rag").join("models"));
    env::path(env::MODELS)
        .or_else(own)
        .ok_or_else(|| Failure::usage("there is no home folder to keep models in").hint("name a folder in RAG_MODELS"))
}

/// The installed model of that name and purpose. Errors: usage, naming those there are.
pub fn named(name: &str, purpose: Purpose) -> Result<Installed, Failure> {
    let mut all = installed(&models_dir()?)?;
    all.retain(|model| model.card.purpose == purpose);
    match all.iter().position(|model| model.name == name) {
        Some(at) => Ok(all.swap_remove(at)),
        None => {
            let names: Vec<&str> = all.iter().map(|model| model.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(Failure::usage(format!("no {} named `{name}` is installed", purpose.word()))
                .hint(format!("installed: {there}; `rag models add NAME --from FOLDER` brings one")))
        }
    }
}

/// Loads it. `many`: for so many texts that it is worth preparing.
pub fn embedder(model: &Installed, many: bool) -> Result<Box<dyn Embedder>, Failure> {
    Ok(Box::new(FolderEmbedder::load(&model.folder, &model.name, many)?))
}

/// The installed model that an index was embedded with, under whatever name it is installed here.
pub fn embedder_of(space: &EmbeddingSpace, index: PathBuf, many: bool) -> Result<Box<dyn Embedder>, Failure> {
    let all = installed(&models_dir()?)?;
    // The same weights may be installed twice, to be used in two ways.
    let fits = |model: &Installed| {
        let card = &model.card;
        (card.sha256.as_str(), card.query_prefix.as_str(), card.passage_prefix.as_str())
            == (space.sha256.as_str(), space.query_prefix.as_str(), space.passage_prefix.as_str())
    };
    let Some(model) = all.into_iter().find(fits) else {
        let digits = space.sha256.get(..12).unwrap_or(&space.sha256);
        let error =
            index::Error::Space { path: index, found: space.model.clone(), expected: "an installed model".into() };
        return Err(Failure::from(error).replace_hint(format!(
            "install it with `rag models add {} --from FOLDER` (sha256 {digits}…), search with `--mode lexical`, or `rag reembed`",
            space.model
        )));
    };
    Ok(Box::new(FolderEmbedder::load(&model.folder, &space.model, many)?))
}
