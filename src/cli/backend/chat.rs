//! The model that answers, as flags and settings name it.

use std::time::Duration;

use rag::{
    model::{
        Chat,
        http::{HttpOptions, Key},
        openai::{Api, ChatOptions, LimitField, OpenAiChat},
    },
    types::Cancel,
};

use super::{Place, ca_pem, llm_key};
use crate::cli::{config::Config, env, report::Failure};

/// What the command line says of the model that answers.
#[derive(Debug, Default)]
pub struct LlmFlags<'a> {
    pub url: Option<&'a str>,
    pub model: Option<&'a str>,
    pub headers: &'a [String],
    pub no_system: bool,
    /// Hangs up when it is asked.
    pub cancel: Cancel,
}

impl Place {
    /// The model that answers, if one is configured. `config` is that of the model asked for ([`Config::for_model`]).
    pub fn chat(&self, config: &Config, flags: &LlmFlags<'_>) -> Result<Option<Box<dyn Chat>>, Failure> {
        let Some(url) = flags.url.or(config.text("llm.url")) else {
            return match flags.model {
                Some(_) => Err(Failure::usage("--model names a model, but no endpoint is known")
                    .hint("name one with --llm-url or RAG_LLM_URL, or make a profile of that name in your config")),
                None => Ok(None),
            };
        };
        let mut headers = Vec::new();
        for line in config.list("llm.headers").iter().chain(flags.headers) {
            headers.push(header(line)?);
        }
        let mut key = llm_key(config, url)?;
        if let (Some(name), Some(value)) = (config.text("llm.key_header"), &key) {
            headers.push((name.to_owned(), value.clone()));
            key = None;
        }
        let ca_pem = ca_pem(config)?;
        let address = match config.text("llm.api_version") {
            Some(version) => with_version(url, version),
            None => url.to_owned(),
        };
        let time = |key: &str, default: u64| config.time(key).unwrap_or(Duration::from_secs(default));
        let options = ChatOptions {
            model: config.text("llm.model").unwrap_or_default().to_string(),
            key,
            headers,
            no_system: flags.no_system || config.bool("llm.no_system"),
            api: if config.text("llm.api") == Some("responses") { Api::Responses } else { Api::Chat },
            temperature: config.share("llm.temperature").unwrap_or(0.0),
            limit_field: match config.text("llm.max_tokens_field") {
                Some("max_tokens") => Some(LimitField::MaxTokens),
                Some("max_completion_tokens") => Some(LimitField::MaxCompletionTokens),
                Some("none") => Some(LimitField::None),
                Some(_) | None => None,
            },
            http: HttpOptions {
                connect_timeout: time("llm.connect_timeout", 10),
                first_byte_timeout: time("llm.first_token_timeout", 120),
                idle_timeout: time("llm.idle_timeout", 60),
                total_timeout: config.time("llm.timeout"),
                allow_plaintext: config.bool("llm.allow_plaintext"),
                ca_pem,
                waits: self.waits.clone(),
                ..HttpOptions::default()
            },
            cancel: flags.cancel.clone(),
            ..ChatOptions::new(address)
        };
        Ok(Some(Box::new(OpenAiChat::new(options)?)))
    }
}

/// Reads `Name: value` or `Name=value`; `${VARIABLE}` in the value is taken from the environment.
fn header(line: &str) -> Result<(String, Key), Failure> {
    let wrong =
        || Failure::usage("a header of the endpoint is written `Name: value`").hint("values are not shown here");
    let (name, value) = line.split_once([':', '=']).ok_or_else(wrong)?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(wrong());
    }
    let mut out = String::new();
    let mut rest = value.trim();
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}') else { break };
        let variable = &rest[at + 2..at + end];
        out.push_str(&rest[..at]);
        let found = env::text(variable);
        out.push_str(&found.ok_or_else(|| {
            Failure::usage(format!(
                "the variable {variable}, which the header `{name}` takes its value from, is not set"
            ))
        })?);
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok((name.to_owned(), Key::new(out)))
}

/// The address with `api-version`, unless it has one.
fn with_version(url: &str, version: &str) -> String {
    if url.contains("api-version=") {
        return url.to_owned();
    }
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}api-version={version}")
}
