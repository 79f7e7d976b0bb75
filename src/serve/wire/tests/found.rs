//! What searching and answering say.

use super::*;

#[test]
fn results_of_a_query_survive() {
    let full = QueryResult {
        schema: "rag.query/1".into(),
        query: "q \"\u{7f}".into(),
        strength: "weak".into(),
        relevance: 0.25,
        mode: "hybrid".into(),
        fusion: "blend".into(),
        generation: 12,
        results: vec![hit(), bare_hit()],
        near_miss: Some(NearMiss {
            chunk_id: ChunkId(1),
            path: "p".into(),
            lines: Some([1, 1]),
            pages: None,
            relevance: 0.123456,
            left_out_by: "min_score".into(),
            remedy: "--min-score 0.12".into(),
        }),
        notes: texts(),
        explain: Some(QueryExplain {
            weight: 0.7,
            fertility: 1.25,
            code: 0.0,
            trust: 1.0,
            candidates: 200,
            dense: Some(DenseExplain {
                plan: "exact+graph".into(),
                effort: "recall 0.99".into(),
                code_bits: 4,
                segments: 2,
                evaluated: 100,
                hops: 3,
                rescored: 50,
            }),
        }),
        timing_ms: QueryTiming { encode: 1.234, search: 0.1, fuse: 0.0, load: 3.0, rerank: Some(7.5) },
    };
    survives(&full);
    let timing_ms = QueryTiming { rerank: None, ..full.timing_ms.clone() };
    survives(&QueryResult { near_miss: None, explain: None, results: Vec::new(), timing_ms, ..full });
    survives(&hit());
}

#[test]
fn answers_survive() {
    let full = AnswerResult {
        schema: "rag.answer/1".into(),
        status: "answered".into(),
        question: "q".into(),
        searched: Some("s".into()),
        answer: "It is [1].".into(),
        sentences: vec![Sentence {
            text: "It is.".into(),
            start: 0,
            end: 6,
            citations: vec![Citation {
                n: 1,
                support: "supported".into(),
                score: 0.999999,
                quote: "it is".into(),
                quote_start: 3,
                quote_end: 8,
                attached: false,
            }],
            state: "weak".into(),
            reason: Some("numbers differ".into()),
        }],
        sources: vec![AnswerSource {
            n: 1,
            chunk_id: Some(ChunkId(3)),
            chunk_ids: vec![ChunkId(3), ChunkId(4)],
            source_id: SourceId(5),
            source: "a.md".into(),
            title: None,
            heading: texts(),
            page: None,
            pages: None,
            lines: Some([1, 9]),
            byte_range: [0, 10],
            blake3: "ff".into(),
            score: 0.2,
            relevance: 0.9,
            cited: true,
            state: Some("missing".into()),
            copies: duplicates(),
            text: "it is".into(),
        }],
        invalid_citations: vec![9],
        truncated: true,
        strength: "found".into(),
        relevance: 0.75,
        model: Some(ModelNames { requested: Some("m".into()), returned: None }),
        usage: Some(Usage { prompt_tokens: 1, completion_tokens: 2, estimated: true }),
        cost: Some(Cost { input: 0.000000001, output: 0.2, total: 0.200000001 }),
        notes: texts(),
        timing_ms: AnswerTiming { retrieve: 1.5, first_token: Some(2.0), model: 3.0, verify: 0.001 },
        index: Generation { generation: 3 },
    };
    survives(&full);
    survives(&AnswerResult { searched: None, model: None, usage: None, cost: None, sentences: vec![], ..full });
    survives(&TurnResult {
        schema: "rag.turn/1".into(),
        question: "q".into(),
        searched: Some("s".into()),
        answer: "a".into(),
        status: "answered".into(),
        sources: texts(),
    });
}

#[test]
fn checks_survive() {
    survives(&CheckResult {
        schema: "rag.check/1".into(),
        holds: false,
        question: String::new(),
        supported: 1,
        weak: 2,
        unsupported: 3,
        lost: 4,
        sentences: vec![CheckedSentence {
            text: "s".into(),
            citations: vec![1, 2],
            was: Some("weak".into()),
            state: "unsupported".into(),
            score: 0.5,
            lost: true,
            reason: Some("r".into()),
        }],
        sources: vec![CheckedSource {
            n: 1,
            source: "a".into(),
            standing: "moved".into(),
            file: "unknown".into(),
            chunk_ids: vec![ChunkId(1)],
            quotes_found: Some(false),
        }],
        index: CheckedGeneration { generation: 2, answered: None },
    });
}
