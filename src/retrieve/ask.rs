//! From a question to a checked answer.
//!
//! Useful for: one question against one snapshot, with what was said before. The model gets no tools and no secrets, so a document that talks to it gains nothing but words, and those are checked.

use std::{ops::ControlFlow, time::Instant};

use super::{
    Answer, AnswerStatus, Ask, AskEvent, AskTimings, Error, Hits, Result, Sentence, Source, Strength, Support, budget,
    cite, compose,
    compose::Composed,
    extractive::{self, Sure},
    offer::Offer,
    passages::{self, MAX_CANDIDATES, Passage},
    prompt,
    relevance::strength,
    stream::Stream,
    talk,
};
use crate::{
    index::Snapshot,
    model::{self, Chat, ChatRequest, Completion, Embedder, Finish},
    types::{Freshness, SourceId},
};

/// Words around `NO_ANSWER` that are not taken for an answer.
const FEW_WORDS: usize = 12;
/// A prompt must have room for this much of the documents.
const MIN_BUDGET_TOKENS: usize = 64;

const HARDLY: &str = "the documents hardly speak of this: read the sources";
const NOTHING: &str = "nothing in the documents is about this";

/// Hash of a source's bytes, in hex.
pub(super) type HashOf<'a> = &'a dyn Fn(SourceId) -> Result<String>;

/// Answers a question from the documents. With no `chat`: the sentences that answer, quoted. `on_event` may hang up.
///
/// Errors: those of the query; `Options` if the context has no room for a passage; those of the model, `Cancelled` among
/// them where `on_event` hung up.
pub fn ask(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    chat: Option<&dyn Chat>,
    ask: &Ask,
    on_event: &mut dyn FnMut(AskEvent<'_>) -> ControlFlow<()>,
) -> Result<Answer> {
    let talk_start = Instant::now();
    let searched = talk::standalone(chat, ask)?;
    let talk_ms = ms(talk_start);
    let alone = searched.as_ref().map(|searched| {
        let mut alone = ask.clone();
        alone.query.text.clone_from(&searched.text);
        alone
    });
    let start = Instant::now();
    let (question, ask) = (ask.query.text.as_str(), alone.as_ref().unwrap_or(ask));
    let mut query = ask.query.clone();
    if chat.is_none() {
        // A list may begin in the chunk after the one that introduces it.
        query.context = query.context.max(1);
    }
    let hits = super::query(snapshot, embedder, &query)?;
    let retrieve_ms = ms(start);
    if on_event(AskEvent::Retrieved(&hits)).is_break() {
        return Err(Error::Model(model::Error::Cancelled));
    }
    let hash_of = |id| Ok(snapshot.source(id)?.map(|source| source.hash).unwrap_or_default());
    let mut answer = answer(&hits, embedder, chat, ask, &hash_of, on_event)?;
    answer.timings.retrieve_ms = retrieve_ms;
    if let Some(searched) = searched {
        answer.question = question.to_owned();
        if let Some(usage) = searched.usage {
            answer.timings.model_ms += talk_ms;
            answer.usage = Some(answer.usage.map_or(usage, |own| own.plus(usage)));
        }
        answer.searched = Some(searched.text);
    }
    Ok(answer)
}

/// Everything after retrieval.
pub(super) fn answer(
    hits: &Hits,
    embedder: Option<&dyn Embedder>,
    chat: Option<&dyn Chat>,
    ask: &Ask,
    hash_of: HashOf<'_>,
    on_event: &mut dyn FnMut(AskEvent<'_>) -> ControlFlow<()>,
) -> Result<Answer> {
    let mut answer = blank(hits, chat, ask);
    // A question that the collection does not speak of costs no call and cannot be answered wrongly.
    let nothing = hits.strength == Strength::Nothing && !ask.no_gate;
    if hits.hits.is_empty() || (nothing && chat.is_some()) {
        answer.notes.push(NOTHING.to_owned());
        return Ok(answer);
    }
    if hits.strength != Strength::Found && !nothing {
        answer.notes.push(HARDLY.to_owned());
    }
    match chat {
        None => extracted(hits, embedder, ask, hash_of, answer),
        Some(chat) => asked(hits, chat, ask, hash_of, on_event, answer),
    }
}

fn blank(hits: &Hits, chat: Option<&dyn Chat>, ask: &Ask) -> Answer {
    Answer {
        status: AnswerStatus::NoAnswer,
        question: ask.query.text.clone(),
        searched: None,
        text: String::new(),
        sentences: Vec::new(),
        sources: Vec::new(),
        invalid_citations: Vec::new(),
        truncated: false,
        strength: hits.strength,
        relevance: hits.relevance,
        model_requested: chat.map(|chat| chat.model().to_owned()),
        model_returned: None,
        usage: None,
        generation: hits.generation,
        notes: hits.notes.clone(),
        timings: AskTimings::default(),
    }
}

fn extracted(
    hits: &Hits,
    embedder: Option<&dyn Embedder>,
    ask: &Ask,
    hash_of: HashOf<'_>,
    mut answer: Answer,
) -> Result<Answer> {
    let start = Instant::now();
    let embedder = embedder.filter(|_| hits.mode != super::Mode::Lexical);
    let found = hits.strength != Strength::Nothing || ask.no_gate;
    let sure = Sure { trust: hits.trust, found };
    let extract = extractive::extract(&hits.hits, &ask.query.text, embedder, sure)?;
    if extract.is_none() && !found {
        answer.notes.push(NOTHING.to_owned());
    }
    if let Some(extract) = extract {
        // What no chunk was relevant enough for, a sentence may be.
        if let Some(relevance) = extract.relevance.filter(|_| !found) {
            answer.relevance = relevance;
            answer.strength = strength(relevance);
            if answer.strength != Strength::Found {
                answer.notes.push(HARDLY.to_owned());
            }
        }
        answer.status = AnswerStatus::Extractive;
        answer.sources = sources(&extract.passages, &extract.sentences, hash_of)?;
        answer.text = extract.text;
        answer.sentences = extract.sentences;
    }
    answer.timings.verify_ms = ms(start);
    Ok(answer)
}

fn asked(
    hits: &Hits,
    chat: &dyn Chat,
    ask: &Ask,
    hash_of: HashOf<'_>,
    on_event: &mut dyn FnMut(AskEvent<'_>) -> ControlFlow<()>,
    mut answer: Answer,
) -> Result<Answer> {
    let question = ask.query.text.as_str();
    let context = chat.context_tokens().map_or(ask.context_tokens, |known| known.min(ask.context_tokens));
    let frame = frame(ask, context);
    let mut passages = fitting(hits, ask, context, usize::MAX)?;
    let model_start = Instant::now();
    let mut first_token_ms = None;
    let mut call = |passages: &[Passage]| {
        let request = ChatRequest {
            messages: prompt::messages(question, passages, hits.generation, &frame),
            max_tokens: ask.max_tokens,
            stream: ask.stream,
        };
        converse(chat, &request, passages, on_event, &mut first_token_ms, model_start)
    };
    let completion = match call(&passages) {
        Err(Error::Model(model::Error::TooLong { found, limit, .. })) => {
            let fewer = fewer(hits, ask, context, &passages, found, limit)?;
            let left_out = passages.len() - fewer.len().min(passages.len());
            answer.notes.push(match limit {
                Some(limit) => format!("the model reads {limit} tokens: {left_out} passages were left out"),
                None => format!("the model reads fewer tokens: {left_out} passages were left out"),
            });
            passages = fewer;
            call(&passages)?
        }
        other => other?,
    };
    answer.timings.model_ms = ms(model_start);
    answer.timings.first_token_ms = first_token_ms;
    let verify_start = Instant::now();
    finish(&completion, &passages, ask, hash_of, &mut answer)?;
    answer.timings.verify_ms = ms(verify_start);
    Ok(answer)
}

/// What stands around the passages, history within its share of the context.
fn frame(ask: &Ask, context_tokens: usize) -> prompt::Frame<'_> {
    let history = talk::recent(&ask.history, context_tokens);
    prompt::Frame { system: ask.system.as_deref(), history, datamark: ask.datamark }
}

/// Passages that fit into a context and cost `most_tokens` at most.
fn fitting(hits: &Hits, ask: &Ask, context_tokens: usize, most_tokens: usize) -> Result<Vec<Passage>> {
    let overhead = prompt::overhead_tokens(&ask.query.text, &frame(ask, context_tokens));
    let budget = budget::for_passages(context_tokens, ask.max_tokens, overhead);
    if budget < MIN_BUDGET_TOKENS {
        let max = ask.max_tokens;
        let what = format!(
            "a context of {context_tokens} tokens has no room for a passage: the answer may take {max}, rules and question take {overhead}"
        );
        return Err(Error::Options { what });
    }
    let budget = if ask.datamark { budget / prompt::DATAMARK_COST } else { budget };
    let candidates = &hits.hits[..hits.hits.len().min(MAX_CANDIDATES)];
    let headers: Vec<String> = candidates.iter().map(|hit| prompt::header(&Passage::of_hit(0, hit))).collect();
    Ok(passages::choose(candidates, budget.min(most_tokens), prompt::frame_tokens(&headers)))
}

/// Fewer passages, for a model that found `found` tokens in a prompt where it reads `limit`, the answer among them.
fn fewer(
    hits: &Hits,
    ask: &Ask,
    context: usize,
    passages: &[Passage],
    found: u64,
    limit: Option<u64>,
) -> Result<Vec<Passage>> {
    let question = ask.query.text.as_str();
    let before = passages.len();
    // What we thought the prompt costs stands for what the model found in it.
    let frame = frame(ask, context);
    let ours: usize =
        prompt::messages(question, passages, hits.generation, &frame).iter().map(|m| budget::tokens(&m.content)).sum();
    let room = limit.map(|limit| limit.saturating_sub(u64::from(ask.max_tokens)) as f64);
    let shrink = match room {
        Some(room) if found > 0 => (0.9 * room / found as f64).min(1.0),
        Some(_) | None => 0.5,
    };
    let most = ((ours as f64 * shrink) as usize)
        .saturating_sub(prompt::overhead_tokens(question, &frame))
        .max(MIN_BUDGET_TOKENS);
    let mut passages = fitting(hits, ask, context, most)?;
    // The counts may deceive; fewer passages than before are fewer tokens than before.
    if passages.len() >= before && before > 1 {
        let mut ranked: Vec<(f32, u32)> = passages.iter().map(|passage| (passage.score, passage.n)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let kept: Vec<u32> = ranked.into_iter().take(before - 1).map(|(_, n)| n).collect();
        passages.retain(|passage| kept.contains(&passage.n));
        (1..).zip(&mut passages).for_each(|(n, passage)| passage.n = n);
    }
    Ok(passages)
}

/// One call of the model, shown as it comes where that is wanted.
fn converse(
    chat: &dyn Chat,
    request: &ChatRequest,
    passages: &[Passage],
    on_event: &mut dyn FnMut(AskEvent<'_>) -> ControlFlow<()>,
    first_token_ms: &mut Option<f64>,
    start: Instant,
) -> Result<Completion> {
    let offer = Offer::new(passages);
    let mut stream = Stream::new(&offer);
    let mut hung_up = false;
    let mut show = |text: String, hung_up: &mut bool| {
        if !request.stream || text.is_empty() || *hung_up {
            return ControlFlow::Continue(());
        }
        let flow = on_event(AskEvent::Text(&text));
        *hung_up |= flow.is_break();
        flow
    };
    let mut completion = chat.chat(request, &mut |text| {
        first_token_ms.get_or_insert_with(|| ms(start));
        show(stream.push(&prompt::unmarked(text)), &mut hung_up)
    })?;
    completion.text = prompt::unmarked(&completion.text).into_owned();
    if completion.finish != Finish::Refused {
        let _ = show(stream.finish(), &mut hung_up);
    }
    if hung_up {
        return Err(Error::Model(model::Error::Cancelled));
    }
    Ok(completion)
}

/// Reads, checks and repairs what the model said.
fn finish(
    completion: &Completion,
    passages: &[Passage],
    ask: &Ask,
    hash_of: HashOf<'_>,
    answer: &mut Answer,
) -> Result<()> {
    answer.usage = Some(completion.usage);
    answer.model_returned.clone_from(&completion.model);
    answer.truncated = completion.finish == Finish::Truncated;
    let read = cite::read(&completion.text, &Offer::new(passages));
    answer.invalid_citations.clone_from(&read.invalid);
    let composed = compose::compose(&read, passages, &ask.query.text, ask.unsupported, answer.truncated);
    let supported = composed.sentences.iter().filter(|sentence| sentence.state == Support::Supported).count();
    let words = read.text.split_whitespace().count();
    let declined = read.declined && (supported == 0 || words <= FEW_WORDS);
    let empty = composed.sentences.is_empty() && composed.dropped == 0;
    let no_answer = declined || empty || composed.abstains;
    answer.status = if completion.finish == Finish::Refused || (supported == 0 && is_refusal(&read.text)) {
        AnswerStatus::Refused
    } else if answer.truncated && empty && !declined {
        // It was cut off before there was anything to check: that says nothing of the documents.
        AnswerStatus::Unsupported
    } else if no_answer {
        AnswerStatus::NoAnswer
    } else if supported > 0 {
        AnswerStatus::Answered
    } else {
        AnswerStatus::Unsupported
    };
    notes(&read, &composed, answer);
    if read.declined && answer.status == AnswerStatus::NoAnswer {
        answer.sources = sources(passages, &[], hash_of)?;
        return Ok(());
    }
    answer.sources = sources(passages, &composed.sentences, hash_of)?;
    answer.text = composed.text;
    answer.sentences = composed.sentences;
    Ok(())
}

fn notes(read: &cite::Read, composed: &Composed, answer: &mut Answer) {
    let plural = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    if answer.truncated {
        let last = if composed.unfinished { "; its last sentence was not checked" } else { "" };
        answer.notes.push(format!("the answer was cut off{last}"));
    }
    if composed.links_removed > 0 {
        answer.notes.push(format!(
            "{} removed that no cited passage holds",
            plural(composed.links_removed, "link was", "links were")
        ));
    }
    if composed.dropped > 0 {
        answer.notes.push(format!(
            "{} taken out that no passage supports",
            plural(composed.dropped, "sentence was", "sentences were")
        ));
    }
    if read.declined && answer.status == AnswerStatus::Answered {
        answer.notes.push("the model also said that the passages do not answer".to_owned());
    }
}

/// The usual words of a model that will not, as the beginning of a short answer.
fn is_refusal(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    let begins = [
        "i'm sorry, but i can",
        "i am sorry, but i can",
        "i can't",
        "i cannot",
        "i'm unable",
        "i am unable",
        "sorry, i can",
    ];
    let about = ["assist with", "help with", "comply", "fulfill", "provide that", "do that"];
    begins.iter().any(|phrase| text.starts_with(phrase)) && about.iter().any(|phrase| text.contains(phrase))
}

/// The passages as sources: those the text cites in order of first use, then the others.
fn sources(passages: &[Passage], sentences: &[Sentence], hash_of: HashOf<'_>) -> Result<Vec<Source>> {
    let mut order: Vec<u32> = Vec::new();
    for sentence in sentences {
        for citation in &sentence.citations {
            // A citation that failed and was replaced is told of, but its marker is gone.
            if sentence.text.contains(&format!("[{}]", citation.n)) && !order.contains(&citation.n) {
                order.push(citation.n);
            }
        }
    }
    let cited = order.len();
    order.extend(passages.iter().map(|passage| passage.n).filter(|n| !order[..cited].contains(n)).collect::<Vec<_>>());
    let mut sources = Vec::with_capacity(passages.len());
    for (at, n) in order.into_iter().enumerate() {
        let Some(passage) = passages.iter().find(|passage| passage.n == n) else { continue };
        let record = passage.record();
        sources.push(Source {
            n,
            chunks: passage.chunks.iter().map(|chunk| chunk.id).collect(),
            source: record.source,
            path: record.path.clone(),
            title: record.title.clone(),
            heading: record.heading.clone(),
            lines: passage.lines(),
            pages: passage.pages(),
            span: passage.span(),
            text: passage.text.clone(),
            hash: hash_of(record.source)?,
            score: passage.score,
            relevance: passage.relevance,
            cited: at < cited,
            freshness: Freshness::default(),
            copies: passage.copies.clone(),
        });
    }
    Ok(sources)
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
