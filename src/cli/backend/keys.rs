//! Where keys and certificates come from, and which endpoint gets which.

use std::fs;

use rag::model::http::Key;

use crate::cli::{config::Config, env, report::Failure};

/// The certificates of `llm.ca_file`; empty if it is not set.
pub fn ca_pem(config: &Config) -> Result<Vec<u8>, Failure> {
    match config.text("llm.ca_file") {
        Some(path) => fs::read(path)
            .map_err(|error| Failure::usage(format!("cannot read the certificates `{path}` (llm.ca_file): {error}"))),
        None => Ok(Vec::new()),
    }
}

/// The key of the model that answers: of `llm.key_env`, else as any key; a profile's own endpoint gets its own key alone.
pub fn llm_key(config: &Config, url: &str) -> Result<Option<Key>, Failure> {
    if let Some(name) = config.text("llm.key_env") {
        let value = env::text(name);
        let none = || Failure::usage(format!("the variable {name} (llm.key_env) is not set, or is not UTF-8"));
        return value.map(|value| Some(Key::new(value))).ok_or_else(none);
    }
    match (config.has_own_endpoint(), config.text("llm.key_file")) {
        (true, Some(path)) => key_of_file(path).map(Some),
        (true, None) => Ok(is_openai(url).then(|| env::text(env::OPENAI_KEY)).flatten().map(Key::new)),
        (false, file) => key(env::LLM_KEY, file, url),
    }
}

/// A key from its own variable, its file, the common variable, or, for OpenAI alone, `OPENAI_API_KEY`.
pub(super) fn key(own: &'static str, file: Option<&str>, url: &str) -> Result<Option<Key>, Failure> {
    if let Some(value) = env::os(own) {
        let text = value.into_string().map_err(|_| Failure::usage(format!("{own} is not UTF-8")))?;
        return Ok(Some(Key::new(text)));
    }
    if let Some(path) = file {
        return key_of_file(path).map(Some);
    }
    let common = env::common_key();
    Ok(common.or_else(|| is_openai(url).then(|| env::text(env::OPENAI_KEY)).flatten()).map(Key::new))
}

fn key_of_file(path: &str) -> Result<Key, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the key file `{path}`: {error}")))?;
    Ok(Key::new(text.trim()))
}

fn is_openai(url: &str) -> bool {
    url.strip_prefix("https://").and_then(|rest| rest.split(['/', ':', '?']).next()) == Some("api.openai.com")
}

/// The variable that holds a key, for `rag config`; the key itself stays where it is.
pub fn key_origin(own: &'static str) -> Option<&'static str> {
    [own, env::KEY].into_iter().find(|name| env::os(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::is_openai;

    #[test]
    fn k01_the_openai_key_goes_to_openai_alone() {
        assert!(is_openai("https://api.openai.com/v1"));
        for url in [
            "http://api.openai.com/v1",
            "https://api.openai.com.evil.example/v1",
            "https://evil.example/api.openai.com",
            "https://api.openai.com@evil.example/v1",
        ] {
            assert!(!is_openai(url), "{url}");
        }
    }
}
