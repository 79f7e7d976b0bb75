//! Several tenants in one server: what stays in memory, and whether one is shown what is another's.

use std::process::Command;

use clap::Args;
use serde_json::{Value, json};

use crate::{
    Program, Result,
    client::Client,
    corpus::{Of, fill, questions},
    load::say,
    server::Server,
};

#[derive(Args)]
pub struct Density {
    #[command(flatten)]
    program: Program,
    #[arg(long, default_value_t = 5)]
    tenants: usize,
    /// Of each tenant.
    #[arg(long, default_value_t = 100_000)]
    chunks: usize,
    /// Of each tenant.
    #[arg(long, default_value_t = 200)]
    questions: usize,
    /// Have the server told that it may hold so many megabytes of its own (`prlimit --data`): mapped files are no part of it,
    /// for the system takes them away and brings them back as it needs.
    #[arg(long, value_name = "MB")]
    data_limit: Option<u64>,
}

/// How many results are of another collection than the tenant's own.
fn strangers(body: &[u8], own: &str) -> Result<usize> {
    let answer: Value = serde_json::from_slice(body)?;
    let results = answer["results"].as_array().ok_or("an answer without results")?;
    Ok(results.iter().filter(|hit| hit["collection"] != own).count())
}

impl Density {
    pub fn run(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let tenants = folder.path().join("tenants");
        std::fs::create_dir(&tenants)?;
        let mut keys = String::new();
        let mut secrets = Vec::new();
        for tenant in 0..self.tenants {
            let name = format!("t{tenant}");
            let of = Of { collection: &name, seed: self.program.seed + tenant as u64, chunks: self.chunks };
            let seconds = fill(&self.program, &[], of, &tenants.join(&name))?;
            say(&json!({"row": "fill", "tenant": name, "chunks": self.chunks, "seconds": seconds}));
            let secret = format!("rag_{}", blake3::hash(name.as_bytes()).to_hex());
            keys.push_str(&format!(
                "[[key]]\nname = \"{name}\"\nhash = \"blake3:{}\"\ntenant = \"{name}\"\n\n",
                blake3::hash(secret.as_bytes()).to_hex()
            ));
            secrets.push((name, secret));
        }
        let keys_file = folder.path().join("keys.toml");
        std::fs::write(&keys_file, keys)?;
        let mut command = match self.data_limit {
            Some(megabytes) => {
                let mut limited = Command::new("prlimit");
                limited.arg(format!("--data={}", megabytes << 20)).arg(&self.program.rag);
                limited
            }
            None => Command::new(&self.program.rag),
        };
        command.args(["serve", "--access-log", "/dev/null", "--keys-file"]).arg(&keys_file);
        let server = Server::start(command.arg("--tenants").arg(&tenants).arg("--index").arg(tenants.join("t0")))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.ask(&server, &secrets))?;
        server.stop()?;
        Ok(())
    }

    async fn ask(&self, server: &Server, tenants: &[(String, String)]) -> Result<()> {
        let mut clients = Vec::new();
        for _ in tenants {
            clients.push(Client::connect(&server.address).await?);
        }
        let (mut asked, mut failed, mut leaks) = (0, 0, 0);
        // One after the other in turn, so that all are open at once; each asks what the others' documents say too.
        for round in 0..self.questions {
            for (at, (name, secret)) in tenants.iter().enumerate() {
                let of = (at + round) % tenants.len();
                let text = &questions(self.program.seed + of as u64, round + 1)[round];
                let mode = if round % 2 == 0 { "lexical" } else { "hybrid" };
                let body = json!({"text": text, "mode": mode}).to_string();
                let answer = clients[at].post("/v1/query", &body, secret).await?;
                asked += 1;
                match answer.status {
                    200 => leaks += strangers(&answer.body, name)?,
                    _ => failed += 1,
                }
            }
        }
        let megabytes = |line| server.megabytes(line);
        say(&json!({
            "row": "density", "tenants": tenants.len(), "chunks": self.chunks, "asked": asked, "failed": failed, "leaks": leaks,
            "rss_mb": megabytes("VmRSS"), "anonymous_mb": megabytes("RssAnon"), "mapped_mb": megabytes("RssFile"),
            "data_limit_mb": self.data_limit,
        }));
        if failed + leaks > 0 {
            return Err(format!("{failed} answers failed, {leaks} results were another tenant's").into());
        }
        Ok(())
    }
}
