//! What becomes of a model's answer: each sentence checked against what it cites, supported from other passages where its
//! own fail, marked or dropped where none helps.
//!
//! Useful for: one answer over numbered passages. Not for: reading markers (`cite`) and deciding about support (`verify`).

use std::ops::Range;

use super::{
    Citation, Sentence, Support, Unsupported,
    cite::{Read, marker},
    links,
    offer::holds_link,
    passages::Passage,
    sentences::{Kind, Unit, bullet_len, units},
    verify::{Checker, Verdict, best_quote, has_figure, is_abstention},
};

/// What stands after a sentence that no passage supports.
pub(super) const UNVERIFIED: &str = " [unverified]";
/// What stands after a sentence that was cut off.
const CUT_OFF: &str = " […]";
/// So many best passages are tried two by two for a sentence that none supports alone.
const PAIRED: usize = 4;

/// A checked answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Composed {
    pub text: String,
    pub sentences: Vec<Sentence>,
    /// Every sentence says that the passages do not answer.
    pub abstains: bool,
    pub links_removed: usize,
    /// Sentences taken out.
    pub dropped: usize,
    /// A last sentence that was cut off and not checked.
    pub unfinished: bool,
}

/// A sentence with what is known of it before it is written down.
struct Draft {
    unit: Unit,
    /// Without markers.
    bare: String,
    named: Vec<u32>,
    citations: Vec<Citation>,
    state: Support,
    reason: Option<String>,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Claim,
    /// Says that the passages do not answer.
    Abstention,
    /// A heading, a rule: nothing is claimed.
    Frame,
    Unfinished,
}

/// Checks and repairs an answer. `truncated`: its last sentence may be unfinished.
pub(super) fn compose(
    read: &Read,
    passages: &[Passage],
    question: &str,
    unsupported: Unsupported,
    truncated: bool,
) -> Composed {
    let checker = Checker::new(passages, question);
    let end = without_source_list(&read.text);
    let text = &read.text[..end];
    let mut drafts: Vec<Draft> = Vec::new();
    for unit in joined_markers(text, read) {
        drafts.push(draft(text, read, unit, passages));
    }
    if truncated
        && let Some(last) = drafts.last_mut()
        && !is_finished(&last.bare, last.unit.kind)
    {
        last.role = Role::Unfinished;
    }
    for draft in drafts.iter_mut().filter(|draft| draft.role == Role::Claim) {
        check(draft, &checker);
    }
    write(text, read, drafts, passages, unsupported)
}

/// The units of an answer, those of markers alone joined to what they follow.
pub(super) fn joined_markers(text: &str, read: &Read) -> Vec<Unit> {
    let mut joined: Vec<Unit> = Vec::new();
    for unit in units(text) {
        let bare = without_markers(text, &unit.range, read);
        let only_markers = !bare.contains(char::is_alphanumeric) && markers_in(read, &unit.range).next().is_some();
        match joined.last_mut() {
            Some(last) if only_markers => last.range.end = unit.range.end,
            _ => joined.push(unit),
        }
    }
    joined
}

pub(super) fn markers_in<'r>(
    read: &'r Read,
    range: &Range<usize>,
) -> impl Iterator<Item = &'r (Range<usize>, Vec<u32>)> {
    let range = range.clone();
    read.markers.iter().filter(move |(at, _)| range.start <= at.start && at.end <= range.end)
}

pub(super) fn without_markers(text: &str, range: &Range<usize>, read: &Read) -> String {
    let mut bare = String::new();
    let mut at = range.start;
    for (marker, _) in markers_in(read, range) {
        bare.push_str(text[at..marker.start].trim_end_matches([' ', '\t']));
        at = marker.end;
    }
    bare.push_str(&text[at..range.end]);
    bare.trim().to_owned()
}

fn draft(text: &str, read: &Read, unit: Unit, passages: &[Passage]) -> Draft {
    let bare = without_markers(text, &unit.range, read);
    let mut named: Vec<u32> = Vec::new();
    for n in markers_in(read, &unit.range).flat_map(|(_, numbers)| numbers) {
        if !named.contains(n) {
            named.push(*n);
        }
    }
    let lang = passages.first().and_then(|passage| passage.record().lang.as_deref()).unwrap_or("en");
    let role = role(&bare, unit.kind, named.is_empty(), lang);
    let (state, reason) = match role {
        Role::Abstention => (Support::Weak, Some("it says what the passages do not hold".to_owned())),
        Role::Claim | Role::Frame | Role::Unfinished => (Support::Unsupported, None),
    };
    Draft { unit, bare, named, citations: Vec::new(), state, reason, role }
}

/// What a sentence without its markers is there for, in a text that is whole.
pub(super) fn role(bare: &str, kind: Kind, cites_nothing: bool, lang: &str) -> Role {
    if !bare.contains(char::is_alphanumeric) || (kind == Kind::Heading && cites_nothing && !has_figure(bare, lang)) {
        Role::Frame
    } else if is_abstention(bare) && !has_figure(bare, lang) {
        Role::Abstention
    } else {
        Role::Claim
    }
}

fn check(draft: &mut Draft, checker: &Checker<'_>) {
    let kind = draft.unit.kind;
    // Links are no words; those that stay are looked up letter by letter.
    let claim = if kind == Kind::Code { draft.bare.clone() } else { links::strip(&draft.bare, &|_| false).0 };
    let claim = checker.claim(&claim, kind);
    let judge = |cited: &[usize]| checker.judge(&claim, cited);
    let named: Vec<usize> = draft.named.iter().map(|n| *n as usize - 1).collect();
    let mut single: Vec<Verdict> = named.iter().map(|at| judge(&[*at])).collect();
    let mut verdict = judge(&named);
    if let Some(best) = single.iter().filter(|one| one.state > verdict.state).max_by(|a, b| a.score.total_cmp(&b.score))
    {
        verdict = best.clone();
    }
    share(&verdict, &named, &mut single, &judge);
    let mut attached: Vec<(usize, Verdict)> = Vec::new();
    if verdict.state != Support::Supported {
        let mut others: Vec<(usize, Verdict)> =
            (0..checker.len()).filter(|at| !named.contains(at)).map(|at| (at, judge(&[at]))).collect();
        others.sort_by(|a, b| b.1.state.cmp(&a.1.state).then(b.1.score.total_cmp(&a.1.score)));
        if let Some(best) = others.first().filter(|(_, one)| one.state == Support::Supported) {
            attached.push(best.clone());
            verdict = best.1.clone();
        } else if let Some((pair, together)) = supporting_pair(&others, judge) {
            attached.extend(pair);
            verdict = together;
        } else if let Some(best) = others.first().filter(|(_, one)| named.is_empty() && one.state == Support::Weak) {
            verdict = best.1.clone();
            if best.1.score > 0.0 {
                attached.push(best.clone());
            }
        } else if named.is_empty()
            && let Some((_, closest)) = others.first()
        {
            verdict.reason.clone_from(&closest.reason);
            verdict.mismatch = closest.mismatch;
        }
    }
    // A line that only introduces what follows claims little.
    let introduces = draft.bare.ends_with([':', '：']) || kind == Kind::Heading;
    if introduces && verdict.state == Support::Unsupported && !verdict.mismatch {
        verdict.state = Support::Weak;
    }
    draft.state = verdict.state;
    draft.reason = verdict.reason.filter(|_| verdict.state != Support::Supported);
    attached.sort_by_key(|(at, _)| *at);
    let own = named.into_iter().zip(single).map(|(at, verdict)| (at, verdict, false));
    let found = attached.into_iter().map(|(at, verdict)| (at, verdict, true));
    draft.citations = own
        .chain(found)
        .filter_map(|(at, verdict, attached)| {
            let (quote, quote_span) = best_quote(checker, &claim, at)?;
            let n = u32::try_from(at + 1).ok()?;
            Some(Citation { n, support: verdict.state, score: verdict.score, quote, quote_span, attached })
        })
        .collect();
}

/// Where passages support a sentence only together, each that is needed for it supports it.
fn share(together: &Verdict, cited: &[usize], single: &mut [Verdict], judge: &impl Fn(&[usize]) -> Verdict) {
    if together.state != Support::Supported || single.iter().any(|one| one.state == Support::Supported) {
        return;
    }
    for (at, one) in cited.iter().zip(single) {
        let others: Vec<usize> = cited.iter().copied().filter(|other| other != at).collect();
        if judge(&others).state != Support::Supported {
            one.state = Support::Supported;
        }
    }
}

type Attached = Vec<(usize, Verdict)>;

/// Two of the best passages that support a sentence together.
fn supporting_pair(others: &[(usize, Verdict)], judge: impl Fn(&[usize]) -> Verdict) -> Option<(Attached, Verdict)> {
    let best: Vec<&(usize, Verdict)> = others.iter().filter(|(_, one)| one.score > 0.0).take(PAIRED).collect();
    for (i, a) in best.iter().enumerate() {
        for b in &best[i + 1..] {
            let together = judge(&[a.0, b.0]);
            if together.state == Support::Supported {
                let mut single = [a.1.clone(), b.1.clone()];
                share(&together, &[a.0, b.0], &mut single, &judge);
                return Some(([a.0, b.0].into_iter().zip(single).collect(), together));
            }
        }
    }
    None
}

fn write(text: &str, read: &Read, drafts: Vec<Draft>, passages: &[Passage], unsupported: Unsupported) -> Composed {
    let claims = drafts.iter().filter(|draft| matches!(draft.role, Role::Claim | Role::Abstention)).count();
    let abstentions = drafts.iter().filter(|draft| draft.role == Role::Abstention).count();
    let mut composed = Composed {
        abstains: claims > 0 && abstentions == claims,
        links_removed: read.links_removed,
        ..Composed::default()
    };
    let mut at = 0;
    for draft in drafts {
        let between = &text[at..draft.unit.range.start];
        at = draft.unit.range.end;
        let failed = draft.role == Role::Claim && draft.state == Support::Unsupported;
        composed.unfinished |= draft.role == Role::Unfinished;
        if unsupported == Unsupported::Drop && (failed || draft.role == Role::Unfinished) {
            composed.dropped += usize::from(failed);
            continue;
        }
        composed.text.push_str(if composed.text.is_empty() { between.trim_start() } else { between });
        let start = composed.text.len();
        let (body, removed) = body(text, read, &draft, passages);
        composed.links_removed += removed;
        composed.text.push_str(&body);
        let range = start..composed.text.len();
        match draft.role {
            Role::Frame => continue,
            Role::Unfinished => {
                composed.text.push_str(CUT_OFF);
                continue;
            }
            Role::Claim | Role::Abstention => {}
        }
        composed.sentences.push(Sentence {
            text: body,
            range,
            citations: draft.citations,
            state: draft.state,
            reason: draft.reason,
        });
        if failed {
            composed.text.push_str(UNVERIFIED);
        }
    }
    composed
}

/// The text of a sentence with the markers it ends up with, and without links that none of its passages has.
fn body(text: &str, read: &Read, draft: &Draft, passages: &[Passage]) -> (String, usize) {
    let repaired = draft.citations.iter().any(|citation| citation.attached) && draft.state == Support::Supported;
    let stays = |n: &u32| {
        !repaired || draft.citations.iter().all(|citation| citation.n != *n || citation.support != Support::Unsupported)
    };
    let cited: Vec<&Passage> = passages
        .iter()
        .filter(|passage| {
            draft.named.contains(&passage.n) || draft.citations.iter().any(|citation| citation.n == passage.n)
        })
        .collect();
    let allowed = |link: &str| cited.iter().any(|passage| holds_link(passage, link));
    let mut removed = 0;
    let mut clean = |part: &str| {
        let (part, taken) = links::strip(part, &allowed);
        removed += taken;
        part
    };
    let mut body = String::new();
    let mut at = draft.unit.range.start;
    for (place, numbers) in markers_in(read, &draft.unit.range) {
        let kept: Vec<u32> = numbers.iter().copied().filter(|n| stays(n)).collect();
        let before = &text[at..place.start];
        body.push_str(&clean(if kept.is_empty() { before.trim_end_matches([' ', '\t']) } else { before }));
        body.push_str(&marker(&kept));
        at = place.end;
    }
    body.push_str(&clean(&text[at..draft.unit.range.end]));
    let attached: Vec<u32> =
        draft.citations.iter().filter(|citation| citation.attached).map(|citation| citation.n).collect();
    if !attached.is_empty() {
        attach(&mut body, &marker(&attached), draft.unit.kind);
    }
    (body, removed)
}

/// Puts a marker at the end of a sentence, before its full stop.
fn attach(body: &mut String, marker: &str, kind: Kind) {
    if kind == Kind::Code {
        body.push('\n');
        body.push_str(marker);
        return;
    }
    let stem = body.trim_end_matches(['.', '!', '?', '。', '！', '？', ':', '：', '|']).trim_end();
    let at = if body[stem.len()..].chars().count() > 3 || stem.is_empty() { body.len() } else { stem.len() };
    let tight = body[..at].ends_with(']') || body[..at].chars().next_back().is_some_and(super::words::is_cjk);
    body.insert_str(at, &if tight { marker.to_owned() } else { format!(" {marker}") });
}

fn is_finished(bare: &str, kind: Kind) -> bool {
    if kind == Kind::Code {
        return bare.lines().count() > 1 && bare.ends_with("```");
    }
    let end = bare.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '」', '』', '*', '_', '`']);
    end.ends_with(['.', '!', '?', '…', '。', '！', '？', '।', '؟']) && !end.ends_with("..")
}

/// A line that stands above a list of sources.
pub(super) fn is_source_title(line: &str) -> bool {
    const TITLES: [&str; 10] = [
        "sources",
        "source",
        "references",
        "citations",
        "sources used",
        "quellen",
        "fuentes",
        "referencias",
        "来源",
        "参考",
    ];
    let title = line.trim_matches(['*', '#', '_', ':', '：', ' ']).to_lowercase();
    TITLES.contains(&title.as_str())
}

/// Where a list of sources begins that the model wrote under its answer: ours follows, so it is left out.
fn without_source_list(text: &str) -> usize {
    let mut at = text.len();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for line in lines.iter().rev() {
        at -= line.len();
        let body = line.trim();
        if is_source_title(body) && at > 0 {
            return text[..at].trim_end().len();
        }
        if !body.is_empty() && !body.starts_with('[') && bullet_len(body) == 0 {
            break;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
