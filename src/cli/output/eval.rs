//! What was measured, for people: tables of means, intervals and differences.

use rag::serve::wire::{
    EvalComparison, EvalConfiguration, EvalDifferences, EvalInterval, EvalMetrics, EvalResult, TuneResult, TuneTrial,
};

use super::{Screen, Style, count, sanitize};

/// Differences with a lower p are called significant.
pub const SIGNIFICANT: f64 = 0.05;

/// One configuration is a table of its metrics, several are a line each; then comparisons and bars.
pub fn text(screen: &Screen, result: &EvalResult) -> String {
    let mut out = heading(result);
    match &result.configurations[..] {
        [] => {}
        [_] => out.push_str(&column(&result.metrics)),
        all => {
            let labels: Vec<String> = all.iter().map(|one| label(&one.configuration)).collect();
            let row = |(label, one): (&String, &rag::serve::wire::EvalMeasured)| {
                (label.clone(), one.metrics.0.iter().map(|(_, value)| estimated(*value)).collect())
            };
            let head: Vec<String> = result.metrics.0.iter().map(|(metric, _)| metric.to_string()).collect();
            let rows: Vec<(String, Vec<String>)> = labels.iter().zip(all).map(row).collect();
            out.push_str(&table("", &head, &rows));
            let against: Vec<_> =
                labels.iter().zip(all).filter_map(|(label, one)| Some((label, one.against_first.as_ref()?))).collect();
            out.push('\n');
            let rows: Vec<(String, Vec<String>)> =
                against.iter().map(|(label, differences)| ((*label).clone(), different(differences))).collect();
            out.push_str(&table(&format!("over {}", labels[0]), &head, &rows));
        }
    }
    if let Some(comparison) = &result.comparison {
        if !result.configurations.is_empty() {
            out.push('\n');
        }
        out.push_str(&compared(comparison));
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

fn heading(result: &EvalResult) -> String {
    let mut parts = vec![count(result.queries as u64, "question")];
    parts.extend(result.documents.map(|documents| count(documents as u64, "document")));
    if let [one] = &result.configurations[..] {
        parts.push(count(one.chunks, "chunk"));
        parts.push(label(&one.configuration));
    }
    let name = result.collection.as_deref().map_or_else(String::new, |name| format!("{}: ", sanitize::line(name)));
    format!("{name}{}\n\n", parts.join(", "))
}

/// `hybrid blend 0.5 200/40`.
pub fn label(configuration: &EvalConfiguration) -> String {
    let EvalConfiguration { mode, fusion, alpha, chunk_tokens, chunk_overlap } = configuration;
    let mut parts = vec![mode.to_string()];
    parts.extend(fusion.as_deref().map(str::to_owned));
    parts.extend(alpha.map(|alpha| alpha.to_string()));
    parts.extend(chunk_tokens.zip(*chunk_overlap).map(|(tokens, overlap)| format!("{tokens}/{overlap}")));
    parts.join(" ")
}

fn column(metrics: &EvalMetrics) -> String {
    let row = |(metric, value): &(rag::retrieve::eval::Metric, EvalInterval)| {
        (metric.to_string(), vec![format!("{:.4}", value.mean), format!("{:.4} – {:.4}", value.low, value.high)])
    };
    let rows: Vec<_> = metrics.0.iter().map(row).collect();
    table("", &["mean".to_owned(), "95 % interval".to_owned()], &rows)
}

fn compared(comparison: &EvalComparison) -> String {
    let EvalComparison { first, second, first_metrics, second_metrics, differences } = comparison;
    let (first, second) = (sanitize::line(first), sanitize::line(second));
    let head: Vec<String> = first_metrics.0.iter().map(|(metric, _)| metric.to_string()).collect();
    let row = |name: &str, metrics: &EvalMetrics| {
        (name.to_owned(), metrics.0.iter().map(|(_, value)| estimated(*value)).collect::<Vec<_>>())
    };
    let rows =
        [row(&first, first_metrics), row(&second, second_metrics), ("difference".to_owned(), different(differences))];
    let better = differences.0.first().map_or_else(String::new, |(metric, one)| {
        format!("{metric}: {} better, {} alike, {} worse\n", one.better, one.alike, one.worse)
    });
    table("", &head, &rows) + &better
}

/// `0.4262 ±0.033`: half of the interval.
fn estimated(value: EvalInterval) -> String {
    format!("{:.4} ±{:.3}", value.mean, (value.high - value.low) / 2.0)
}

/// `+0.0123 p .012`, with a star where that is no accident.
fn different(differences: &EvalDifferences) -> Vec<String> {
    let one = |(_, one): &(_, rag::serve::wire::EvalDifference)| {
        let star = if one.p < SIGNIFICANT { "*" } else { " " };
        format!("{:+.4} {}{star}", one.difference.mean, probability(one.p))
    };
    differences.0.iter().map(one).collect()
}

/// `p 0.012`; no chance is none at all: `p <.001`.
fn probability(p: f64) -> String {
    if p < 0.0005 { "p <.001".to_owned() } else { format!("p {p:.3}") }
}

/// Names to the left, numbers to the right.
pub fn table(corner: &str, head: &[String], rows: &[(String, Vec<String>)]) -> String {
    let width = |text: &str| text.chars().count();
    let first = rows.iter().map(|(name, _)| width(name)).chain([width(corner)]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len())
        .map(|at| {
            rows.iter()
                .filter_map(|(_, cells)| cells.get(at))
                .chain([&head[at]])
                .map(|cell| width(cell))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}")).collect();
        format!("{}\n", format!("{name:first$}{cells}").trim_end())
    };
    let mut out = line(corner, head);
    rows.iter().for_each(|(name, cells)| out.push_str(&line(name, cells)));
    out
}

/// The values of each setting that were tried, and what to do.
pub fn tuned(screen: &Screen, result: &TuneResult) -> String {
    let mut out = String::from(&count(result.queries as u64, "question"));
    if let Some(made) = &result.made {
        let kinds: Vec<String> = made.kinds.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
        out.push_str(&format!(" made from the documents ({})", kinds.join(", ")));
    }
    out.push('\n');
    for setting in &result.settings {
        let row = |trial: &TuneTrial| {
            let against = match trial.against_current {
                Some(one) => format!("{:+.4} {}", one.difference.mean, probability(one.p)),
                None => "current".to_owned(),
            };
            (trial.value.to_string(), vec![estimated(trial.estimate), against])
        };
        let rows: Vec<_> = setting.trials.iter().map(row).collect();
        out.push('\n');
        out.push_str(&table(&setting.key, &[setting.metric.clone(), String::new()], &rows));
        let said = match setting.proposal {
            Some(value) => screen.paint(Style::Good, &format!("proposal: {} = {value}", setting.key)),
            None => match &setting.discarded[..] {
                [] => format!("keep {}: nothing tried is better beyond chance", setting.current),
                less => {
                    let less: Vec<String> = less.iter().map(ToString::to_string).collect();
                    format!(
                        "keep {}: {} is better here beyond chance, but made questions repeat the words of the documents, so \
                         that less weight of meaning is not proposed by them; your own questions can tell: `--queries` and \
                         `--qrels`",
                        setting.current,
                        less.join(", ")
                    )
                }
            },
        };
        out.push_str(&format!("{said}\n"));
    }
    if result.settings.iter().any(|setting| setting.key == "ingest.chunk_tokens" && setting.proposal.is_some()) {
        out.push_str("\nother chunks come with the next `rag ingest` of the documents\n");
    }
    match &result.written {
        Some(path) => out.push_str(&format!("\nwritten to {}\n", sanitize::line(path))),
        None if result.settings.iter().all(|setting| setting.proposal.is_none()) => {
            out.push_str("\nkeep the settings as they are\n")
        }
        None => out.push_str("\n`--write` puts what is proposed into the index's rag.toml\n"),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::probability;

    #[test]
    fn no_chance_is_none_at_all() {
        for (p, want) in
            [(0.0, "p <.001"), (0.0004, "p <.001"), (0.0005, "p 0.001"), (0.0377, "p 0.038"), (1.0, "p 1.000")]
        {
            assert_eq!(probability(p), want);
        }
    }
}
