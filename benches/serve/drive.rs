//! Asks for a while, at a number of connections or at a rate, and counts.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    Result,
    client::{Answer, Client},
};

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Requests under way in an open loop: the server's own limit of connections is above it.
const MAX_UNDER_WAY: usize = 900;

/// What is asked: number in, body out.
pub type Body = Arc<dyn Fn(usize) -> String + Send + Sync>;

#[derive(Clone)]
pub struct Ask {
    pub address: String,
    pub path: &'static str,
    pub body: Body,
    pub key: String,
}

/// What came of it. Times are of answers, in microseconds.
pub struct Counted {
    pub times: Histogram<u64>,
    /// Of those that were told to come again.
    pub refusals: Histogram<u64>,
    pub refused_without_word: u64,
    pub failed: u64,
    pub seconds: f64,
}

impl Counted {
    fn new() -> Result<Self> {
        let histogram = || Histogram::new_with_bounds(1, 60_000_000, 3);
        Ok(Self { times: histogram()?, refusals: histogram()?, refused_without_word: 0, failed: 0, seconds: 0.0 })
    }

    fn add(&mut self, taken: Duration, answer: Result<Answer>) {
        let micros = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
        match answer {
            Ok(Answer { status: 200, .. }) => self.times.saturating_record(micros),
            Ok(Answer { status: 503 | 429, retry_after, .. }) => {
                self.refusals.saturating_record(micros);
                self.refused_without_word += u64::from(!retry_after);
            }
            Ok(_) | Err(_) => self.failed += 1,
        }
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds.max(1e-9)
    }

    pub fn ms(&self, quantile: f64) -> f64 {
        self.times.value_at_quantile(quantile) as f64 / 1e3
    }

    pub fn json(&self) -> Value {
        json!({
            "answers": self.times.len(), "refused": self.refusals.len(), "failed": self.failed, "seconds": self.seconds,
            "rps": self.rate(), "p50_ms": self.ms(0.5), "p90_ms": self.ms(0.9), "p99_ms": self.ms(0.99),
            "max_ms": self.times.max() as f64 / 1e3, "refused_p99_ms": self.refusals.value_at_quantile(0.99) as f64 / 1e3,
            "refused_without_retry_after": self.refused_without_word,
        })
    }
}

async fn one(client: &mut Option<Client>, ask: &Ask, number: usize) -> Result<Answer> {
    let body = (ask.body)(number);
    let asking = async {
        let mut own = match client.take() {
            Some(own) => own,
            None => Client::connect(&ask.address).await?,
        };
        let answer = own.post(ask.path, &body, &ask.key).await?;
        *client = Some(own);
        Ok(answer)
    };
    timeout(PATIENCE, asking).await.map_err(|_| "no answer in time")?
}

/// `connections` clients that ask, wait, and ask again.
pub async fn closed(ask: &Ask, connections: usize, time: Duration) -> Result<Counted> {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for first in 0..connections {
        let ask = ask.clone();
        tasks.spawn(async move {
            let (mut client, mut own) = (None, Counted::new()?);
            let mut number = first;
            while begun.elapsed() < time {
                let sent = Instant::now();
                let answer = one(&mut client, &ask, number).await;
                own.add(sent.elapsed(), answer);
                number += connections;
            }
            Result::Ok(own)
        });
    }
    let mut all = Counted::new()?;
    while let Some(own) = tasks.join_next().await {
        let own = own??;
        all.times.add(&own.times)?;
        all.refusals.add(&own.refusals)?;
        all.refused_without_word += own.refused_without_word;
        all.failed += own.failed;
    }
    all.seconds = begun.elapsed().as_secs_f64();
    Ok(all)
}

/// Requests at a constant rate, each timed from when it was due.
pub async fn open(ask: &Ask, rate: f64, time: Duration) -> Result<Counted> {
    let counted = Arc::new(Mutex::new(Counted::new()?));
    let idle: Arc<Mutex<Vec<Client>>> = Arc::default();
    let under_way = Arc::new(Semaphore::new(MAX_UNDER_WAY));
    let begun = Instant::now() + Duration::from_millis(20);
    let mut tasks = JoinSet::new();
    for number in 0..(rate * time.as_secs_f64()) as usize {
        let due = begun + Duration::from_secs_f64(number as f64 / rate);
        tokio::time::sleep_until(due.into()).await;
        let place = Arc::clone(&under_way).acquire_owned().await?;
        let (ask, idle, counted) = (ask.clone(), Arc::clone(&idle), Arc::clone(&counted));
        tasks.spawn(async move {
            let mut client = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let answer = one(&mut client, &ask, number).await;
            idle.lock().unwrap_or_else(PoisonError::into_inner).extend(client);
            counted.lock().unwrap_or_else(PoisonError::into_inner).add(due.elapsed(), answer);
            drop(place);
        });
        while tasks.try_join_next().is_some() {}
    }
    while tasks.join_next().await.is_some() {}
    let mut counted = Arc::into_inner(counted)
        .ok_or("a request is still under way")?
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    counted.seconds = begun.elapsed().as_secs_f64();
    Ok(counted)
}
