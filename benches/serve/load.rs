//! The load table: every mode of asking, overload, the start, the memory.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    Program, Result,
    client::Client,
    corpus::{Of, fill, questions},
    drive::{Ask, Body, Counted, closed, open},
    server::Server,
};

const CONNECTIONS: usize = 16;
/// So many questions whose vectors the server has seen.
const CACHED: usize = 200;

#[derive(Args)]
pub struct Load {
    #[command(flatten)]
    program: Program,
    #[arg(long, default_value_t = 100_000)]
    chunks: usize,
    /// Of each run.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Keep the index here, and use it if it is there.
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Only rows whose name has this.
    #[arg(long, default_value = "")]
    only: String,
}

/// A row of the table in the design: name, path, further fields, bars of closed loop, rate and p99.
struct Mode {
    name: &'static str,
    path: &'static str,
    fields: &'static str,
    /// Questions come again, so that their vectors are known.
    again: bool,
    closed: f64,
    rate: f64,
    p99_ms: f64,
}

const MODES: [Mode; 4] = [
    Mode {
        name: "BM25",
        path: "/v1/query",
        fields: r#","mode":"lexical""#,
        again: false,
        closed: 1200.0,
        rate: 600.0,
        p99_ms: 20.0,
    },
    Mode {
        name: "hybrid, vector cached",
        path: "/v1/query",
        fields: r#","mode":"hybrid""#,
        again: true,
        closed: 500.0,
        rate: 250.0,
        p99_ms: 40.0,
    },
    Mode {
        name: "hybrid, built-in encoder",
        path: "/v1/query",
        fields: r#","mode":"hybrid""#,
        again: false,
        closed: 40.0,
        rate: 20.0,
        p99_ms: 200.0,
    },
    Mode {
        name: "ask, extractive",
        path: "/v1/ask",
        fields: r#","extractive":true"#,
        again: true,
        closed: 200.0,
        rate: 100.0,
        p99_ms: 60.0,
    },
];

impl Mode {
    fn body(&self, questions: &Arc<Vec<String>>, from: usize) -> Body {
        let (questions, fields, again) = (Arc::clone(questions), self.fields, self.again);
        Arc::new(move |number| {
            let at = if again { number % CACHED } else { CACHED + (from + number) % (questions.len() - CACHED) };
            format!(r#"{{"text":"{}"{fields}}}"#, questions[at])
        })
    }
}

struct Row {
    name: String,
    bar: String,
    measured: String,
    holds: Option<bool>,
}

impl Load {
    pub fn run(self) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let kept = tempfile::tempdir()?;
        let index = self.index.clone().unwrap_or_else(|| kept.path().join("load.rag"));
        if !index.join("FORMAT").exists() {
            let seconds = fill(
                &self.program,
                &[],
                Of { collection: "default", seed: self.program.seed, chunks: self.chunks },
                &index,
            )?;
            say(&json!({"row": "fill", "chunks": self.chunks, "seconds": seconds}));
        }
        let rows = runtime.block_on(self.rows(&index))?;
        println!("\n| mode | bar | measured | |\n| --- | --- | --- | --- |");
        for Row { name, bar, measured, holds } in rows {
            let verdict = holds.map_or("", |holds| if holds { "holds" } else { "missed" });
            println!("| {name} | {bar} | {measured} | {verdict} |");
        }
        Ok(())
    }

    fn serve(&self, index: &Path) -> Result<Server> {
        let mut command = Command::new(&self.program.rag);
        Server::start(command.args(["serve", "--access-log", "/dev/null", "--index"]).arg(index))
    }

    async fn rows(&self, index: &Path) -> Result<Vec<Row>> {
        // Enough that a run without cached vectors never asks the same twice.
        let questions = Arc::new(questions(self.program.seed, 60_000));
        let time = Duration::from_secs_f64(self.seconds);
        let mut rows = Vec::new();
        let mut asked = 0;
        rows.push(self.cold(index, &questions[0]).await?);
        let server = self.serve(index)?;
        let mut fastest = 0.0f64;
        for mode in MODES.iter().filter(|mode| mode.name.contains(&self.only)) {
            let ask = |from| Ask {
                address: server.address.clone(),
                path: mode.path,
                body: mode.body(&questions, from),
                key: String::new(),
            };
            // What is cached is cached before the clock starts; other questions come new each time.
            let warm = closed(&ask(asked), 4, time.div_f64(4.0)).await?;
            asked += warm.times.len() as usize;
            if mode.again {
                let mut client = Client::connect(&server.address).await?;
                // What makes the vector is asked alone: all else is part of what is measured.
                for number in 0..CACHED {
                    client.post("/v1/query", &(MODES[1].body(&questions, 0))(number), "").await?;
                }
            }
            let cpu = server.cpu_seconds();
            let loop_ = closed(&ask(asked), CONNECTIONS, time).await?;
            asked += loop_.times.len() as usize;
            let spent = server.cpu_seconds().zip(cpu).map(|(after, before)| after - before);
            let ms = spent.map(|spent| 1e3 * spent / (loop_.times.len().max(1) as f64));
            rows.push(tell(
                mode.name,
                "closed",
                &loop_,
                json!({"connections": CONNECTIONS, "server_cpu_ms": ms}),
                |c| Row {
                    name: format!("{}, {CONNECTIONS} connections", mode.name),
                    bar: format!("≥ {} rps", mode.closed),
                    measured: format!(
                        "{:.0} rps, p99 {:.1} ms, {:.2} ms CPU each",
                        c.rate(),
                        c.ms(0.99),
                        ms.unwrap_or(f64::NAN)
                    ),
                    holds: Some(c.failed == 0 && c.rate() >= mode.closed),
                },
            ));
            if mode.name == "BM25" {
                fastest = loop_.rate();
            }
            let constant = open(&ask(asked), mode.rate, time).await?;
            asked += constant.times.len() as usize;
            rows.push(tell(mode.name, "open", &constant, json!({"rate": mode.rate}), |c| Row {
                name: format!("{}, {} rps", mode.name, mode.rate),
                bar: format!("p99 ≤ {} ms", mode.p99_ms),
                measured: format!("p50 {:.1} p99 {:.1} ms, {} refused", c.ms(0.5), c.ms(0.99), c.refusals.len()),
                holds: Some(c.failed == 0 && c.refusals.is_empty() && c.ms(0.99) <= mode.p99_ms),
            }));
        }
        if fastest > 0.0 {
            let ask = Ask {
                address: server.address.clone(),
                path: MODES[0].path,
                body: MODES[0].body(&questions, asked),
                key: String::new(),
            };
            rows.extend(self.overload(&ask, fastest, time).await?);
        }
        if let (Some(resident), Some(own)) = (server.megabytes("VmRSS"), server.megabytes("RssAnon")) {
            say(&json!({"row": "memory", "rss_mb": resident, "anonymous_mb": own}));
            rows.push(Row {
                name: "resident after all this".into(),
                bar: "≤ 350 MB".into(),
                measured: format!("{resident:.0} MB, of which {own:.0} are no file's"),
                holds: Some(resident <= 350.0),
            });
        }
        let stopped = server.stop()?;
        say(&json!({"row": "stop", "ms": millis(stopped)}));
        rows.push(Row {
            name: "stop".into(),
            bar: "≤ 5 s".into(),
            measured: format!("{:.0} ms", millis(stopped)),
            holds: Some(stopped <= Duration::from_secs(5)),
        });
        Ok(rows)
    }

    /// From the start of the process to its first answer, without a model.
    async fn cold(&self, index: &Path, question: &str) -> Result<Row> {
        let begun = Instant::now();
        let server = self.serve(index)?;
        let body = format!(r#"{{"text":"{question}","mode":"lexical"}}"#);
        let answer = Client::connect(&server.address).await?.post("/v1/query", &body, "").await?;
        let taken = begun.elapsed();
        say(
            &json!({"row": "cold start", "status": answer.status, "listening_ms": millis(server.started), "answer_ms": millis(taken)}),
        );
        server.stop()?;
        Ok(Row {
            name: "start to first answer".into(),
            bar: "≤ 300 ms".into(),
            measured: format!("{:.0} ms", millis(taken)),
            holds: Some(answer.status == 200 && millis(taken) <= 300.0),
        })
    }

    /// Three times what the closed loop came to, and what is answered right after it.
    async fn overload(&self, ask: &Ask, peak: f64, time: Duration) -> Result<Vec<Row>> {
        let over = open(ask, 3.0 * peak, time).await?;
        let begun = Instant::now();
        let after = closed(ask, 1, Duration::from_millis(500)).await?;
        let recovered = begun.elapsed();
        let goodput = over.rate() / peak;
        let refused_ms = over.refusals.value_at_quantile(0.99) as f64 / 1e3;
        let all = [
            tell("overload", "open", &over, json!({"rate": 3.0 * peak, "goodput": goodput}), |c| Row {
                name: format!("overload, {:.0} rps", 3.0 * peak),
                bar: "goodput ≥ 80 %, p99 of the admitted ≤ 60 ms".into(),
                measured: format!("{:.0} %, p99 {:.1} ms", 100.0 * goodput, c.ms(0.99)),
                holds: Some(goodput >= 0.8 && c.ms(0.99) <= 60.0),
            }),
            Row {
                name: "overload, the rest".into(),
                bar: "503 with Retry-After within 50 ms".into(),
                measured: format!(
                    "{} refused, p99 {refused_ms:.1} ms, {} without the header, {} failed otherwise",
                    over.refusals.len(),
                    over.refused_without_word,
                    over.failed
                ),
                holds: Some(over.failed == 0 && over.refused_without_word == 0 && refused_ms <= 50.0),
            },
            tell("after overload", "closed", &after, Value::Null, |c| Row {
                name: "after overload".into(),
                bar: "answers within 2 s".into(),
                measured: format!(
                    "{} in {:.1} s, none refused: {}",
                    c.times.len(),
                    recovered.as_secs_f64(),
                    c.refusals.is_empty()
                ),
                holds: Some(c.failed == 0 && c.refusals.is_empty() && c.times.max() < 2_000_000),
            }),
        ];
        Ok(all.into())
    }
}

fn tell(name: &str, kind: &str, counted: &Counted, more: Value, row: impl FnOnce(&Counted) -> Row) -> Row {
    let mut line = json!({"row": name, "loop": kind});
    for part in [counted.json(), more] {
        if let (Value::Object(line), Value::Object(part)) = (&mut line, part) {
            line.extend(part);
        }
    }
    say(&line);
    row(counted)
}

/// One JSON object a line.
pub fn say(line: &Value) {
    println!("{line}");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
