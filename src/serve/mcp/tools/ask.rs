//! `ask`: an answer with checked citations.

use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Call, Effect, Group, Tool, arguments, parts};
use crate::{
    retrieve::{self, Answer, Ask, Query, Source, Support},
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, one_line, put},
            schema::{boolean, count, list, needed, notice, object, optional, pair, share, string, word},
            state::State,
        },
        told::Told,
        wire,
    },
};

pub const TOOL: Tool = Tool {
    name: "ask",
    title: "Answer from the documents",
    description: "Answer a question from the indexed documents alone. Every sentence comes with the passages it was \
                  checked against and whether they support it. With a language model configured it writes the answer; \
                  without one the sentences of the documents that answer are quoted. Prefer `search` to read the \
                  passages yourself.",
    effect: Effect::Reads,
    group: Group::Always,
    input,
    output,
    run,
};

const STATES: [&str; 3] = ["supported", "weak", "unsupported"];

fn input() -> Value {
    object(vec![
        needed("question", string("The question, complete in itself")),
        optional("collection", string("Answer from this collection only")),
        optional("filter", string("Answer from these documents only, e.g. `type:pdf path:guides/** lang:de`")),
    ])
}

fn output() -> Value {
    let sentence = object(vec![
        needed("text", string("The sentence")),
        needed("state", word(&STATES, "Whether the passages it cites say so")),
        needed("citations", list(count("Number of a source"), "The sources it cites")),
        optional("reason", string("Why it is not supported")),
    ]);
    let source = object(vec![
        needed("n", count("Its number in the answer")),
        needed("cited", boolean("Whether the answer cites it")),
        needed("id", string("Id of its first passage, for `get`")),
        needed("document_id", string("Id of its document, for `get` and `rag://doc/{id}`")),
        needed("path", string("Where the document is from")),
        optional("title", string("The document's title")),
        optional("heading", list(string("A heading"), "The headings it stands under")),
        optional("lines", pair("First and last line in the source")),
        optional("pages", pair("First and last page in the source")),
        needed("relevance", share("How much it speaks of the question")),
        needed("text", string("The passage, verbatim")),
    ]);
    object(vec![
        notice(),
        needed(
            "status",
            word(
                &["answered", "no_answer", "refused", "unsupported", "extractive"],
                "answered: by a model; extractive: quoted; no_answer: the documents do not answer",
            ),
        ),
        needed("answer", string("The answer, with `[n]` for source n")),
        needed("sentences", list(sentence, "The answer, sentence by sentence")),
        needed("sources", list(source, "The passages, those cited first")),
        needed("relevance", share("How much the documents speak of the question")),
        optional("model", string("The model that answered")),
        needed("notes", list(string("A note"), "What to know of the answer")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    collection: Option<String>,
    filter: Option<String>,
}

fn run(state: &State, call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    let snapshot = state.need_documents()?;
    let embedder = state.embedder(&snapshot)?;
    let chat = state.options.models.chat()?;
    let template = &state.options.ask;
    let ask = Ask {
        query: Query {
            text: given.question,
            collection: given.collection,
            filter: given.filter,
            ..template.query.clone()
        },
        stream: chat.is_some(),
        history: Vec::new(),
        ..template.clone()
    };
    let answer = retrieve::ask(&snapshot, embedder.as_deref(), chat.as_deref(), &ask, &mut |_| {
        if call.cancel.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(reply(&answer))
}

fn reply(answer: &Answer) -> Reply {
    let mut budget = Budget::new();
    let fence = Fence::new();
    let sentences: Vec<Value> = answer
        .sentences
        .iter()
        .map(|sentence| {
            let mut map = Map::new();
            put(&mut map, "text", Some(sentence.text.clone()));
            put(&mut map, "state", Some(wire::support_word(sentence.state)));
            let citations: Vec<u32> = sentence.citations.iter().map(|citation| citation.n).collect();
            put(&mut map, "citations", Some(json!(citations)));
            put(&mut map, "reason", sentence.reason.clone());
            Value::Object(map)
        })
        .collect();
    let status = wire::answer_word(answer.status);
    let mut text = match answer.sentences.is_empty() {
        true => "The documents do not answer this. `search` shows what is nearest.\n".to_owned(),
        false => format!("{NOTICE}\n{}", fence.around(&format!("answer ({status})"), &answer.text)),
    };
    let doubtful: Vec<&str> = answer
        .sentences
        .iter()
        .filter(|sentence| sentence.state == Support::Unsupported)
        .map(|sentence| sentence.text.as_str())
        .collect();
    if !doubtful.is_empty() {
        text.push_str(&fence.around("sentences that no source supports", &doubtful.join("\n")));
    }
    // The answer itself has been paid for.
    budget.takes(&json!([answer.text, sentences]), &text);
    let (mut sources, mut notes) = (Vec::new(), answer.notes.clone());
    for source in &answer.sources {
        let (structure, shown) = (source_of(source), fence.around(&label(source), &source.text));
        if !budget.takes(&structure, &shown) {
            notes.push("further sources are left out: `get` shows passages by their id".to_owned());
            break;
        }
        sources.push(structure);
        if source.cited {
            text.push_str(&shown);
        }
    }
    for note in &notes {
        text.push_str(&format!("Note: {}\n", one_line(note)));
    }
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    put(&mut structure, "status", Some(status));
    put(&mut structure, "answer", Some(answer.text.clone()));
    put(&mut structure, "sentences", Some(sentences));
    put(&mut structure, "sources", Some(sources));
    put(&mut structure, "relevance", Some(wire::rounded(answer.relevance)));
    put(&mut structure, "model", answer.model_returned.clone().or_else(|| answer.model_requested.clone()));
    put(&mut structure, "notes", Some(json!(notes)));
    Reply { structure, text, is_untrusted: true }
}

fn source_of(source: &Source) -> Value {
    let mut map = Map::new();
    put(&mut map, "n", Some(source.n));
    put(&mut map, "cited", Some(source.cited));
    put(&mut map, "id", Some(source.chunks.first().map(ToString::to_string).unwrap_or_default()));
    put(&mut map, "document_id", Some(source.source.to_string()));
    put(&mut map, "path", Some(source.path.clone()));
    put(&mut map, "title", source.title.clone());
    put(&mut map, "heading", (!source.heading.is_empty()).then(|| json!(source.heading)));
    put(&mut map, "lines", source.lines.map(|lines| json!([lines.first, lines.last])));
    put(&mut map, "pages", source.pages.map(|pages| json!([pages.first, pages.last])));
    put(&mut map, "relevance", Some(wire::rounded(source.relevance)));
    put(&mut map, "text", Some(source.text.clone()));
    Value::Object(map)
}

fn label(source: &Source) -> String {
    let place = parts::place(&source.path, source.lines, source.pages);
    let id = source.chunks.first().map(ToString::to_string).unwrap_or_default();
    format!("[{}] {} · id {id}", source.n, one_line(&place))
}
