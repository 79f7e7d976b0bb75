//! `rag config`: each setting and where its value comes from.

use rag::{model::http::shown, serve::wire};

use super::Context;
use crate::cli::{
    backend,
    config::{SETTINGS, Value, variable},
    env, exit,
    output::{Style, sanitize},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: Args) -> Result<u8, Failure> {
    let mut settings = Vec::new();
    for setting in SETTINGS {
        let (value, origin) = match context.config.get(setting.key) {
            Some((Value::One(text), origin)) => {
                let text = if setting.key.ends_with(".url") { shown(text) } else { text.clone() };
                (Some(serde_json::Value::from(text)), origin.to_string())
            }
            Some((Value::Many(list), origin)) => (Some(serde_json::Value::from(list.clone())), origin.to_string()),
            None => (None, "unset".to_string()),
        };
        settings.push(wire::Setting { key: setting.key.to_string(), value, origin, help: setting.help.to_string() });
    }
    // Keys are shown as set or not, never as themselves.
    for (key, variable) in
        [("llm.api_key", env::LLM_KEY), ("embed.api_key", env::EMBED_KEY), ("rerank.api_key", env::RERANK_KEY)]
    {
        let origin = backend::key_origin(variable);
        let value = origin.map(|_| serde_json::Value::from("***"));
        let origin = origin.map_or("unset".to_string(), |name| format!("environment {name}"));
        settings.push(wire::Setting { key: key.to_string(), value, origin, help: "from the environment alone".into() });
    }
    if context.screen.json {
        context.screen.print_json(&wire::ConfigResult { schema: "rag.config/1", settings })?;
        return Ok(exit::OK);
    }
    let width = settings.iter().map(|setting| setting.key.len()).max().unwrap_or(0);
    let mut out = String::new();
    for setting in settings {
        let value = setting.value.map_or("–".to_string(), |value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        });
        let origin = match setting.origin.as_str() {
            "unset" => format!("(unset; {})", setting.help),
            origin => format!("({})", sanitize::line(origin)),
        };
        let origin = context.screen.paint(Style::Dim, &origin);
        out.push_str(&format!("{:width$}  {}  {origin}\n", setting.key, sanitize::line(&value)));
    }
    out.push_str(&format!(
        "\nEach setting has an environment variable ({} for llm.url) and a line in {}.\n",
        variable("llm.url"),
        crate::cli::config::user_file().map_or("the user's config file".into(), |path| path.display().to_string()),
    ));
    context.screen.print(&out)?;
    Ok(exit::OK)
}
