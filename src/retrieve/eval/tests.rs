//! The metrics against trec_eval's figures, and a run over a small index.

use super::*;

fn scores(qrels: &str, run: &str, metrics: &[&str]) -> Vec<(String, Vec<f64>)> {
    let metrics: Vec<Metric> = metrics.iter().map(|name| name.parse().unwrap()).collect();
    let scores = score(&Qrels::read(qrels).unwrap(), &Run::read(run).unwrap(), &metrics);
    scores.queries.into_iter().zip(scores.values).collect()
}

#[track_caller]
fn check(qrels: &str, run: &str, want: &[(&str, [f64; 5])]) {
    let names = ["ndcg@10", "recall@10", "recall@100", "mrr@10", "map"];
    let got = scores(qrels, run, &names);
    assert_eq!(got.len(), want.len(), "{got:?}");
    for ((id, values), (want_id, want)) in got.iter().zip(want) {
        assert_eq!(id, want_id);
        for ((name, value), want) in names.iter().zip(values).zip(want) {
            assert!((value - want).abs() < 1e-6, "{id} {name}: {value}, not {want}");
        }
    }
}

/// By hand from trec_eval's definitions: 3 ÷ log₂3 and so on.
#[test]
fn grades_are_gains() {
    let dcg = 1.0 / 1.0 + 3.0 / 4f64.log2();
    let ideal = 3.0 + 1.0 / 3f64.log2() + 1.0 / 4f64.log2();
    check(
        "q a 3\nq b 1\nq c 1\nq d 0\nq e -1\n",
        "q Q0 b 9 4 t\nq Q0 e 9 3 t\nq Q0 a 9 2 t\nq Q0 d 9 1 t\n",
        &[("q", [dcg / ideal, 2.0 / 3.0, 2.0 / 3.0, 1.0, (1.0 + 2.0 / 3.0) / 3.0])],
    );
}

#[test]
fn ties_fall_to_the_greater_id() {
    let run = "q Q0 10 1 1.0 t\nq Q0 9 2 1.0 t\nq Q0 1 3 1.0 t\n";
    // As texts, greatest first: 9, 10, 1.
    check("q 9 1\n", run, &[("q", [1.0; 5])]);
    let second = 1.0 / 3f64.log2();
    check("q 10 1\n", run, &[("q", [second, 1.0, 1.0, 0.5, 0.5])]);
    // Scores are read as 32 bits, so these two are the same.
    let close = "q Q0 a 1 0.100000001 t\nq Q0 b 2 0.1 t\n";
    check("q b 1\n", close, &[("q", [1.0; 5])]);
}

#[test]
fn what_is_missing_scores_nothing() {
    check("q a 1\nr a 1\ns a 0\nt a -2\n", "q Q0 a 1 1 t\nx Q0 a 1 1 t\n", &[("q", [1.0; 5]), ("r", [0.0; 5])]);
}

#[test]
fn cutoffs_cut() {
    let run: String = (0..200).map(|i| format!("q Q0 d{i} 1 {} t\n", 1000 - i)).collect();
    let one = |at: usize| 1.0 / ((at + 2) as f64).log2();
    let ideal = one(0) + one(1) + one(2) + one(3);
    check(
        "q d9 1\nq d10 1\nq d99 1\nq d100 1\n",
        &run,
        &[("q", [one(9) / ideal, 0.25, 0.75, 0.1, (0.1 + 2.0 / 11.0 + 3.0 / 100.0 + 4.0 / 101.0) / 4.0])],
    );
    let got = scores("q d2 1\n", &run, &["ndcg@2", "recall@3", "mrr@2", "MRR@3"]);
    assert_eq!(got[0].1, [0.0, 1.0, 0.0, 1.0 / 3.0]);
}

#[test]
fn names_of_metrics() {
    for metric in DEFAULT_METRICS {
        assert_eq!(metric.to_string().parse(), Ok(metric));
    }
    for text in ["", "ndcg", "ndcg@0", "ndcg@x", "precision@5", "map@10"] {
        let error = text.parse::<Metric>().unwrap_err().to_string();
        assert!(error.contains("ndcg@K"), "{error}");
    }
}

#[test]
fn ids_with_spaces_meet_those_of_run_files() {
    check("my query\tmy file\t1\n", "my%20query Q0 my%20file 1 1 t\n", &[("my query", [1.0; 5])]);
}
