//! `rag eval --remote`: questions and judgements of here, asked of the index of there.

use std::collections::BTreeMap;

use rag::{
    retrieve::eval::Metric,
    serve::{
        api::{EvalQuestion, EvalRequest},
        client::Client,
        wire::EvalResult,
    },
};

use super::{Args, Bar, bars, set::Set};
use crate::cli::{commands::query::SearchArgs, remote, report::Failure};

/// Measures one configuration. Errors: flags that need the documents, or several configurations.
pub fn measured(client: &Client, args: &Args, metrics: &[Metric], wanted: &[Bar]) -> Result<EvalResult, Failure> {
    let embed = &args.embed;
    let flags = [
        ("DIR", args.dir.is_some()),
        ("--auto", args.auto),
        ("--run-out", args.run_out.is_some()),
        ("--compare", !args.compare.is_empty()),
        ("--chunk-tokens", args.matrix.cuts_anew()),
        ("--jobs", args.jobs.is_some()),
        ("--no-embed", embed.no_embed),
        ("--embed-url", embed.embed_url.is_some()),
        ("--embed-model", embed.embed_model.is_some()),
        ("--onnxruntime", embed.onnxruntime.is_some()),
    ];
    remote::refuse(&flags, "a server measures its own index with `--queries` and `--qrels`")?;
    let one = args.matrix.one().ok_or_else(|| {
        Failure::usage("several configurations cannot be asked of a server at once").hint("measure one after the other")
    })?;
    let Set { questions, qrels, warnings } = Set::read(None, args.queries.as_deref(), args.qrels.as_deref())?;
    let mut judged: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    for (question, document, grade) in qrels.judgements() {
        judged.entry(question.to_owned()).or_default().insert(document.to_owned(), grade.into());
    }
    let search = remote::search(&SearchArgs { collection: args.collection.clone(), ..one });
    let request = EvalRequest {
        queries: questions.into_iter().map(|question| EvalQuestion { id: question.id, text: question.text }).collect(),
        qrels: judged,
        metrics: metrics.iter().map(ToString::to_string).collect(),
        per_query: args.per_query,
        ..EvalRequest::searching(search)
    };
    let mut result = client.eval(&request)?;
    let means = result.metrics.0.iter().map(|(metric, value)| (*metric, value.mean)).collect();
    result.bars = bars(wanted, &[means]);
    result.warnings = [warnings, result.warnings].concat();
    Ok(result)
}
