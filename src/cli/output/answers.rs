//! What was measured of answers, for people.

use rag::{
    retrieve::eval::answers::{Kind, Measure},
    serve::wire::{AnsweredQuestion, AnswersResult, EvalInterval},
};

use super::{
    Screen, Style, count,
    eval::{label, table},
    sanitize,
};

/// A table of measures with their intervals, one of the kinds of questions, what went wrong, and the bars.
pub fn text(screen: &Screen, result: &AnswersResult) -> String {
    let mut parts = vec![
        count(result.questions.len() as u64, "question"),
        count(result.documents as u64, "document"),
        count(result.chunks, "chunk"),
        label(&result.configuration),
    ];
    parts.push(match &result.by.model {
        Some(model) => sanitize::line(model).into_owned(),
        None => "extractive".to_owned(),
    });
    let mut out = format!("{}: {}\n\n", sanitize::line(&result.file), parts.join(", "));
    let row = |(measure, value): &(Measure, EvalInterval)| {
        (measure.to_string(), vec![format!("{:.4}", value.mean), format!("{:.4} – {:.4}", value.low, value.high)])
    };
    let rows: Vec<_> = result.metrics.0.iter().map(row).collect();
    out.push_str(&table("", &["mean".to_owned(), "95 % interval".to_owned()], &rows));
    out.push('\n');
    let head = ["questions", "span@answer", "span@source", "withheld"].map(str::to_owned);
    let rows: Vec<_> = result
        .kinds
        .iter()
        .map(|kind| {
            let cell =
                |measure| kind.metrics.get(measure).map_or_else(String::new, |value| format!("{:.4}", value.mean));
            let withheld = if kind.kind == Kind::Unanswerable { Measure::Abstention } else { Measure::FalseAbstention };
            let cells = [Measure::SpanAtAnswer, Measure::SpanAtSource, withheld].map(cell);
            (kind.kind.word().to_owned(), std::iter::once(kind.questions.to_string()).chain(cells).collect())
        })
        .collect();
    out.push_str(&table("", &head, &rows));
    let is = |wrong: &dyn Fn(&AnsweredQuestion) -> bool| -> Vec<&str> {
        result.questions.iter().filter(|question| wrong(question)).map(|question| question.id.as_str()).collect()
    };
    let withheld = |question: &AnsweredQuestion| matches!(question.status, "no_answer" | "refused");
    let missed = is(&|question| question.span == Some(false) && !withheld(question));
    let silent = is(&|question| question.span == Some(false) && withheld(question));
    let rash = is(&|question| question.span.is_none() && !withheld(question));
    let lists = [("answered beside the point", missed), ("not answered", silent), ("answered without ground", rash)];
    for (at, (what, ids)) in lists.iter().filter(|(_, ids)| !ids.is_empty()).enumerate() {
        out.push_str(if at == 0 { "\n" } else { "" });
        out.push_str(&format!("{what}: {}\n", sanitize::line(&ids.join(" "))));
    }
    if !result.bars.is_empty() {
        out.push('\n');
    }
    for bar in &result.bars {
        let word = if bar.met { screen.paint(Style::Good, "met") } else { screen.paint(Style::Bad, "missed") };
        out.push_str(&format!("{word}  {} at least {}, is {:.4}\n", bar.metric, bar.at_least, bar.mean));
    }
    out
}
