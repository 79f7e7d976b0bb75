//! Who may do what: keys, and the rule that nobody else is asked in from outside without one.

use std::{fs, net::SocketAddr, path::Path};

use rag::serve::server::{Access, Keys, NewKey, StoredKey, is_open};

use super::Args;
use crate::cli::{commands::Context, config::is_open_to_others, env, exit, report::Failure};

/// What flags and environment allow.
pub fn access(context: &Context, args: &Args) -> Result<Access, Failure> {
    let mut keys = match &args.keys_file {
        Some(path) => read(context, path)?,
        None => Keys::default(),
    };
    if args.tenants.is_none()
        && let Some(key) = keys.iter().find(|key| key.tenant.is_some())
    {
        return Err(Failure::usage(format!(
            "the key `{}` is of a tenant, and there is no folder for tenants",
            key.name
        ))
        .hint("name one with `--tenants DIR`"));
    }
    if let Some(key) = env::text(env::KEY) {
        keys.push(StoredKey::plain(env::KEY, key.trim()));
    }
    for origin in &args.cors_origin {
        let is_origin = origin.split_once("://").is_some_and(|(scheme, host)| {
            matches!(scheme, "http" | "https") && !host.is_empty() && !host.contains(['/', '*', ' '])
        });
        if !is_origin {
            return Err(Failure::usage(format!("`{origin}` is no origin"))
                .hint("an origin is a scheme and a host, `https://app.example`; `*` is not allowed"));
        }
    }
    let root = |path: &std::path::PathBuf| {
        fs::canonicalize(path)
            .map_err(|error| Failure::usage(format!("cannot use `{}` (--ingest-root): {error}", path.display())))
    };
    Ok(Access {
        keys,
        allow_write: args.allow_write,
        ingest_roots: args.ingest_root.iter().map(root).collect::<Result<_, _>>()?,
        allow_url_ingest: args.allow_url_ingest,
        allowed_hosts: args.allowed_host.clone(),
        cors_origins: args.cors_origin.clone(),
    })
}

fn read(context: &Context, path: &Path) -> Result<Keys, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the keys file `{shown}`: {error}")))?;
    if is_open_to_others(path) {
        context.screen.note(&format!("others may read `{shown}`, which says who may do what; `chmod 600 {shown}`"));
    }
    let keys = Keys::read(&text).map_err(|why| Failure::usage(format!("the keys file `{shown}`, {why}")))?;
    match keys.is_empty() {
        true => Err(Failure::usage(format!("the keys file `{shown}` holds no key"))
            .hint("`rag serve --new-key NAME` makes one")),
        false => Ok(keys),
    }
}

/// Errors: an address that others can reach, and nobody would be asked for a key.
pub fn check_open(context: &Context, addresses: &[SocketAddr], access: &Access, args: &Args) -> Result<(), Failure> {
    let Some(open) = addresses.iter().find(|address| is_open(address)) else { return Ok(()) };
    if !access.keys.is_empty() {
        if args.tls_cert.is_none() {
            context.screen.note(&format!(
                "{open} speaks plain HTTP: keys and texts can be read on the way (`--tls-cert`, or a proxy that speaks TLS)"
            ));
        }
        return Ok(());
    }
    if !args.insecure {
        return Err(Failure::usage(format!("{open} can be reached from other machines, and no key is asked for"))
            .hint("set RAG_API_KEY or name a `--keys-file`; `--insecure` listens all the same"));
    }
    let banner = "INSECURE: everybody who can reach this machine can read the index";
    let more = if access.allow_write { ", add documents and remove them" } else { "" };
    context.screen.note(&format!("{banner}{more}"));
    Ok(())
}

/// Makes a key, and prints it with the entry that a keys file needs for it.
pub fn new_key(context: &Context, name: &str) -> Result<u8, Failure> {
    let made = NewKey::make()
        .map_err(|error| Failure::new(rag::types::Kind::Io, format!("this machine has no randomness: {error}")))?;
    if context.screen.json {
        let object = serde_json::json!({
            "schema": "rag.key/1", "name": name, "key": made.key, "hash": made.hash,
        });
        context.screen.print_json(&object)?;
        return Ok(exit::OK);
    }
    let entry = toml::Value::String(name.to_owned());
    context.screen.print(&format!(
        "# The key, shown this once: {}\n[[key]]\nname = {entry}\nhash = \"{}\"\nscopes = [\"read\"]\n",
        made.key, made.hash
    ))?;
    Ok(exit::OK)
}
