//! What is said while a request to a model waits to be sent again.

use std::{
    io::{self, Write as _},
    sync::Mutex,
    time::{Duration, Instant},
};

use rag::model::http::{Wait, Waits, Why};

use super::sanitize;
use crate::cli::args::Global;

/// Requests of many threads that wait at the same time are one line.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Tells of each wait on stderr, unless the run is to be quiet or to be read by a program.
pub fn told(global: &Global) -> Waits {
    if global.quiet || global.json {
        return Waits::default();
    }
    let last: Mutex<Option<(Instant, Why)>> = Mutex::new(None);
    Waits::new(move |wait| {
        let mut last = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_said = last.is_some_and(|(when, why)| {
            (why == wait.why && when.elapsed() < AT_ONCE) || (why == Why::Loading && wait.why == Why::Loading)
        });
        if !is_said {
            *last = Some((Instant::now(), wait.why));
            // Nobody is left to hear that stderr is closed.
            let _ = writeln!(io::stderr().lock(), "note: {}", sanitize::line(&line(wait)));
        }
    })
}

fn line(wait: &Wait<'_>) -> String {
    let Wait { url, why, pause, next, of } = wait;
    let seconds = (pause.as_secs_f64() * 10.0).round() / 10.0;
    let again = format!("trying again in {seconds} s ({next} of {of})");
    match why {
        Why::Status(status) => format!("`{url}` answered {status}: {again}"),
        Why::Lost => format!("the connection to `{url}` was lost: {again}"),
        Why::Loading => format!("`{url}` is loading its model: waiting for it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_says_why_how_long_and_how_often() {
        let wait = |why| Wait { url: "http://h/v1", why, pause: Duration::from_millis(1960), next: 2, of: 4 };
        for (why, want) in [
            (Why::Status(500), "`http://h/v1` answered 500: trying again in 2 s (2 of 4)"),
            (Why::Lost, "the connection to `http://h/v1` was lost: trying again in 2 s (2 of 4)"),
            (Why::Loading, "`http://h/v1` is loading its model: waiting for it"),
        ] {
            assert_eq!(line(&wait(why)), want);
        }
    }
}
