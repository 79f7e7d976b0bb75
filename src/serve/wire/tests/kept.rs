//! What keeping an index in order, and measuring, say.

use super::*;

#[test]
fn what_keeps_an_index_in_order_survives() {
    survives(&VerifyResult {
        schema: "rag.verify/1".into(),
        index: ".rag".into(),
        generation: Some(1),
        sound: false,
        faults: texts(),
        files: 1,
        bytes: 2,
        paranoid: true,
        orphans: texts(),
    });
    survives(&CompactResult {
        schema: "rag.compact/1".into(),
        index: ".rag".into(),
        generation: 1,
        changed: true,
        bytes_before: 2,
        bytes_after: 1,
        segments_before: CompactSegments { text: 3, vectors: 4 },
        segments_after: CompactSegments { text: 1, vectors: 1 },
        dropped: 5,
        seconds: 0.5,
    });
    survives(&ExportResult {
        schema: "rag.export/1".into(),
        documents: 1,
        chunks: 2,
        bytes: 3,
        out: Some("f".into()),
        generation: 4,
    });
    survives(&ReembedResult {
        schema: "rag.reembed/1".into(),
        index: ".rag".into(),
        generation: 1,
        embedding_space: Some(space()),
        chunks: 1,
        embedded: 2,
        resumed: 3,
        shortened: 4,
        unchanged: false,
        interrupted: true,
        aborted: 5,
        bytes_written: 6,
        seconds: 7.5,
    });
    let check =
        |state| DoctorCheck { name: "index".into(), state, message: "m".into(), fix: Some("rag verify".into()) };
    let states = [DoctorState::Ok, DoctorState::Warning, DoctorState::Failed, DoctorState::Fixed];
    survives(&DoctorResult {
        schema: "rag.doctor/1".into(),
        index: ".rag".into(),
        healthy: true,
        checks: states.map(check).into(),
    });
    survives(&MigrateResult {
        schema: "rag.migrate/1".into(),
        index: ".rag".into(),
        from: 1,
        to: 2,
        changed: true,
        generation: 3,
    });
    survives(&ConfigResult {
        schema: "rag.config/1".into(),
        settings: vec![Setting {
            key: "retrieve.k".into(),
            value: Some(serde_json::json!([1, "a"])),
            origin: "default".into(),
            help: "h".into(),
        }],
    });
    survives(&ErrorResult::new(Kind::NotFound, "m".into(), Some("h".into()), 2));
}

#[test]
fn measures_survive() {
    let metrics = [Metric::Map, Metric::Ndcg(10), Metric::Recall(100)];
    let interval = EvalInterval { mean: 0.123456, low: 0.1, high: 0.2 };
    let difference = EvalDifference { difference: interval, p: 0.05, better: 1, alike: 2, worse: 3 };
    let intervals = EvalMetrics::new(&metrics, [interval; 3]);
    let differences = EvalDifferences::new(&metrics, [difference; 3]);
    let configuration = EvalConfiguration {
        mode: "hybrid".into(),
        fusion: Some("rrf".into()),
        alpha: Some(0.4),
        chunk_tokens: Some(200),
        chunk_overlap: Some(40),
    };
    let made = EvalMade::new(7, BTreeMap::from([("title", 3), ("sentence", 4)]));
    survives(&EvalResult {
        schema: "rag.eval/1".into(),
        collection: Some("cranfield".into()),
        queries: 3,
        documents: Some(4),
        made: Some(made.clone()),
        metrics: intervals.clone(),
        configurations: vec![EvalMeasured {
            configuration,
            metrics: intervals.clone(),
            chunks: 9,
            seconds: EvalSeconds { ingest: 0.5, queries: 1.25 },
            against_first: Some(differences.clone()),
            per_query: Some(vec![EvalQuery {
                id: "1".into(),
                relevance: None,
                found: 2,
                metrics: EvalValues::new(&metrics, [0.5, 1.0, 0.0]),
            }]),
        }],
        comparison: Some(EvalComparison {
            first: "a".into(),
            second: "b".into(),
            first_metrics: intervals.clone(),
            second_metrics: intervals,
            differences,
        }),
        bars: vec![EvalBar { metric: "map".into(), at_least: 0.5, mean: 0.25, met: false }],
        warnings: texts(),
    });
    let trial = TuneTrial { value: 0.4, estimate: interval, against_current: Some(difference) };
    survives(&TuneResult {
        schema: "rag.tune/1".into(),
        queries: 3,
        made: Some(made),
        settings: vec![TuneSetting {
            key: "retrieve.alpha".into(),
            metric: "ndcg@10".into(),
            current: 0.5,
            proposal: Some(0.4),
            discarded: vec![0.3],
            trials: vec![trial],
        }],
        written: Some("rag.toml".into()),
        warnings: Vec::new(),
    });
}
