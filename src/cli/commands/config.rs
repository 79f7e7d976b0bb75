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

/// A value as it may be shown: addresses without what they may hold of secrets, headers without their values.
fn public(key: &str, value: &Value) -> serde_json::Value {
    let header = |line: &str| {
        let name = line.split([':', '=']).next().unwrap_or_default();
        format!("{}: ***", name.trim())
    };
    match value {
        Value::One(text) if key.ends_with(".url") => shown(text).into(),
        Value::One(text) if key.ends_with(".headers") => header(text).into(),
        Value::One(text) => text.clone().into(),
        Value::Many(list) if key.ends_with(".headers") => {
            list.iter().map(|line| header(line)).collect::<Vec<_>>().into()
        }
        Value::Many(list) => list.clone().into(),
    }
}

pub fn run(context: &Context, _args: Args) -> Result<u8, Failure> {
    let mut settings = Vec::new();
    for setting in SETTINGS {
        let (value, origin) = match context.config.get(setting.key) {
            Some((value, origin)) => (Some(public(setting.key, value)), origin.to_string()),
            None => (None, "unset".to_string()),
        };
        settings.push(wire::Setting { key: setting.key.to_string(), value, origin, help: setting.help.to_string() });
    }
    for (name, values) in context.config.profiles() {
        for (key, (value, origin)) in values {
            let own = key.trim_start_matches("llm.");
            let help = SETTINGS.iter().find(|setting| setting.key == *key).map_or("", |setting| setting.help);
            settings.push(wire::Setting {
                key: format!("profiles.{name}.{own}"),
                value: Some(public(key, value)),
                origin: origin.to_string(),
                help: help.to_string(),
            });
        }
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
        context.screen.print_json(&wire::ConfigResult { schema: "rag.config/1".into(), settings })?;
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
