//! `ingest`: documents into the index, where that is allowed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Call, Effect, Group, Tool, arguments};
use crate::{
    ingest::{self, Content, Deposit, Deposited, Event, GIVEN_ROOT, Report},
    serve::{
        mcp::{
            reply::{Budget, Fence, NOTICE, Reply, one_line, put},
            schema::{boolean, count, list, needed, notice, object, optional, string},
            state::State,
        },
        told::Told,
        writes::{Change, Step},
    },
    types::Kind,
};

pub const TOOL: Tool = Tool {
    name: "ingest",
    title: "Index documents",
    description: "Make the index agree with a file or folder on the machine of the server (new and changed files are \
                  read, vanished ones removed), or index a text under a name. Paths lead below the folders that the \
                  server was started with. Returns when it is on disk; progress is told meanwhile.",
    // A folder's vanished files go.
    effect: Effect::Removes,
    group: Group::Write,
    input,
    output,
    run,
};

/// The longest text that is taken, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// Entries of each list of a report.
const MAX_LISTED: usize = 50;
/// Between two words of progress.
const TELL: Duration = Duration::from_millis(200);

fn input() -> Value {
    object(vec![
        optional("path", string("The file or folder; relative to the first folder of the server")),
        optional("text", string("The text, instead of a path")),
        optional("name", string("What the text is called in the index, such as `notes/tides.md` (with `text`)")),
        optional("title", string("The title of the text (with `text`)")),
        optional("collection", string("The collection to put it in (default `default`)")),
        optional("tags", list(string("KEY=VALUE"), "Tags of the documents")),
        optional("dry_run", boolean("Say what would change and change nothing (with `path`)")),
    ])
}

fn output() -> Value {
    let entry = || {
        object(vec![
            needed("path", string("The document")),
            needed("passages", count("Passages it has now")),
            optional("message", string("What is wrong")),
        ])
    };
    object(vec![
        notice(),
        needed("added", list(entry(), "New documents, the first 50")),
        needed("updated", list(entry(), "Changed documents, the first 50")),
        needed("removed", list(entry(), "Documents that vanished, the first 50")),
        needed("failed", list(entry(), "Documents that could not be read, the first 50")),
        needed("skipped", list(entry(), "Files left alone, the first 50")),
        needed(
            "counts",
            object(vec![
                needed("added", count("New documents")),
                needed("updated", count("Changed documents")),
                needed("unchanged", count("Documents that are as they were")),
                needed("moved", count("Documents that moved")),
                needed("removed", count("Documents that vanished")),
                needed("failed", count("Documents that could not be read")),
                needed("skipped", count("Files left alone")),
                needed("passages", count("Passages written")),
            ]),
        ),
        needed("interrupted", boolean("It was stopped before its end; what was whole is stored")),
        needed("dry_run", boolean("Nothing was changed")),
        needed("generation", count("The state of the index that holds it")),
    ])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    text: Option<String>,
    name: Option<String>,
    title: Option<String>,
    collection: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

fn run(state: &State, call: &Call, given: Map<String, Value>) -> Result<Reply, Told> {
    let given: Arguments = arguments(given)?;
    let collection = collection(given.collection.as_deref())?;
    let tags = tags(&given.tags)?;
    match (given.path, given.text) {
        (Some(_), Some(_)) => Err(Told::usage("both `path` and `text` are given").hint("send one of them")),
        (None, None) => Err(Told::usage("neither `path` nor `text` is given").hint("send one of them")),
        (Some(_), None) if given.name.is_some() || given.title.is_some() => {
            Err(Told::usage("`name` and `title` go with `text`, files have their own"))
        }
        (Some(path), None) => folder(state, call, &path, collection, tags, given.dry_run),
        (None, Some(_)) if given.dry_run => Err(Told::usage("`dry_run` goes with `path`")),
        (None, Some(text)) => {
            let name = given.name.ok_or_else(|| {
                Told::usage("`text` without a `name`")
                    .hint("name it, such as `notes/tides.md`; the same name replaces it")
            })?;
            let extra = (given.title, tags);
            one(state, call, name, text, collection, extra)
        }
    }
}

fn collection(name: Option<&str>) -> Result<String, Told> {
    let name = name.unwrap_or("default").trim();
    if name.is_empty() || name.contains('/') || name.contains(char::is_control) || name.len() > 128 {
        return Err(Told::usage(format!("`{}` is no name of a collection", one_line(name)))
            .hint("use up to 128 bytes without `/` and control characters"));
    }
    Ok(name.to_owned())
}

fn tags(pairs: &[String]) -> Result<BTreeMap<String, String>, Told> {
    let read = |pair: &String| match pair.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        Some(_) | None => Err(Told::usage(format!("the tag `{}` is not KEY=VALUE", one_line(pair)))),
    };
    pairs.iter().map(read).collect()
}

/// A text under a name.
fn one(
    state: &State,
    call: &Call,
    name: String,
    text: String,
    collection: String,
    (title, tags): (Option<String>, BTreeMap<String, String>),
) -> Result<Reply, Told> {
    let is_name = |part: &str| !matches!(part.trim(), "" | "." | "..");
    if name.len() > 512 || name.contains(char::is_control) || !name.split('/').all(is_name) {
        return Err(Told::usage(format!("`{}` is no name of a document", one_line(&name)))
            .hint("write it as a relative path, such as `notes/tides.md`"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(Told::usage(format!("the text has {} bytes, at most {MAX_TEXT_BYTES} are taken", text.len()))
            .hint("ingest it in parts, or as a file by its path"));
    }
    let has_extension = name.rsplit('/').next().is_some_and(|last| last.trim_matches('.').contains('.'));
    // A name without an ending says nothing: Markdown reads plain text as it stands too.
    let extension = (!has_extension).then(|| "md".to_owned());
    let deposit = Deposit {
        collection,
        root: String::new(),
        name,
        content: Content::File { bytes: text.into_bytes(), extension },
        title,
        tags: (!tags.is_empty()).then_some(tags),
        metadata: BTreeMap::new(),
    };
    let change = Change::planned(move |view| {
        // A folder of the index may have come to the name first.
        let roots = view.snapshot().roots();
        let free = |name: &String| !roots.contains_key(name);
        let root =
            std::iter::once(GIVEN_ROOT.to_owned()).chain((2u64..).map(|n| format!("{GIVEN_ROOT}-{n}"))).find(free);
        Ok(vec![Step::Put(Box::new(Deposit { root: root.unwrap_or_default(), ..deposit }))])
    });
    let done = state.change_documents(change.within(call.room))?;
    let mut report = Report { generation: done.generation, ..Report::default() };
    for (record, deposited) in &done.put {
        let outcome = ingest::Outcome {
            path: record.display_path(),
            problems: record.problems.clone(),
            chunks: record.chunks,
            from: None,
        };
        if *deposited != Deposited::Unchanged {
            report.chunks_written += u64::from(record.chunks);
        }
        match deposited {
            Deposited::Added => report.added.push(outcome),
            Deposited::Updated => report.updated.push(outcome),
            Deposited::Unchanged => report.unchanged.push(outcome),
        }
    }
    Ok(reply(&report))
}

/// A file or folder of the server's machine.
fn folder(
    state: &State,
    call: &Call,
    path: &str,
    collection: String,
    tags: BTreeMap<String, String>,
    dry_run: bool,
) -> Result<Reply, Told> {
    let path = allowed(state, call, path)?;
    let options = ingest::Options {
        paths: vec![path],
        given: Vec::new(),
        pages: Vec::new(),
        collection,
        tags,
        dry_run,
        follow: false,
        ..state.options.ingest.clone()
    };
    let (cancel, report) = (call.cancel.clone(), Arc::new(Mutex::new(None)));
    let (made, progress) = (Arc::clone(&report), Arc::new(Progress::default()));
    let seen = Arc::clone(&progress);
    let change = Change::whole(move |writer, embedder| {
        let observer = |event: Event<'_>| seen.take(&event);
        let result = ingest::ingest(writer, embedder, &options, &observer, &cancel)?;
        *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        Ok(())
    });
    let receipt = state.submit_documents(change.within(call.room))?;
    let done = receipt.wait_telling(&mut || progress.tell(call));
    done?;
    let report = report.lock().unwrap_or_else(PoisonError::into_inner).take();
    report.map(|report| reply(&report)).ok_or_else(|| Told::new(Kind::Bug, "the ingest ended without a report"))
}

/// What is known of a run, for whoever waits for it.
#[derive(Default)]
struct Progress {
    planned: AtomicU64,
    done: AtomicU64,
    told: AtomicU64,
    last: Mutex<Option<Instant>>,
}

impl Progress {
    fn take(&self, event: &Event<'_>) {
        match event {
            Event::Planned { sources, .. } => self.planned.store(*sources, Ordering::Relaxed),
            Event::Done { .. } => {
                self.done.fetch_add(1, Ordering::Relaxed);
            }
            Event::Found { .. }
            | Event::Started { .. }
            | Event::Slow { .. }
            | Event::Chunked { .. }
            | Event::Embedded { .. }
            | Event::Failed { .. }
            | Event::Committed { .. } => {}
        }
    }

    /// Tells what is new, now and then.
    fn tell(&self, call: &Call) {
        let (done, planned) = (self.done.load(Ordering::Relaxed), self.planned.load(Ordering::Relaxed));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|at| at.elapsed() >= TELL);
        if planned == 0 || !is_due || self.told.load(Ordering::Relaxed) == done + 1 {
            return;
        }
        *last = Some(Instant::now());
        self.told.store(done + 1, Ordering::Relaxed);
        (call.progress)(done, Some(planned), format!("{done} of {planned} documents"));
    }
}

/// The place that a path means, if it is below a folder that may be read: links are resolved before it is decided.
fn allowed(state: &State, call: &Call, given: &str) -> Result<PathBuf, Told> {
    let options = &state.options;
    let mut roots: Vec<PathBuf> = options.roots.clone();
    if roots.is_empty() && options.trust_roots {
        roots.clone_from(&call.roots);
    }
    if roots.is_empty() {
        roots.extend(options.home.clone());
    }
    let real: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let Some(first) = real.first() else {
        return Err(Told::usage("this server reads no folder").hint("start it with `--root FOLDER`, or send a `text`"));
    };
    let outside = || {
        // Whether something is there is nothing to be told of what may not be read.
        Told::new(Kind::NotFound, format!("`{}` is not in a folder that this server reads", one_line(given)))
            .hint("name a file or folder below those of `--root`, relative to the first of them")
    };
    if given.trim().is_empty() || given.contains('\0') {
        return Err(outside());
    }
    let path = Path::new(given);
    let whole = if path.is_absolute() { path.to_path_buf() } else { first.join(path) };
    let place = whole.canonicalize().map_err(|_| outside())?;
    if real.iter().any(|root| place.starts_with(root)) { Ok(place) } else { Err(outside()) }
}

fn reply(report: &Report) -> Reply {
    let mut budget = Budget::new();
    let fence = Fence::new();
    let lists: [(&str, &[ingest::Outcome]); 5] = [
        ("added", &report.added),
        ("updated", &report.updated),
        ("removed", &report.removed),
        ("failed", &report.failed),
        ("skipped", &report.skipped),
    ];
    let mut structure = Map::new();
    put(&mut structure, "notice", Some(NOTICE));
    let mut lines = String::new();
    // What went wrong first: it is what the reader has to know if not all fits.
    for (name, outcomes) in [lists[3], lists[4], lists[0], lists[1], lists[2]] {
        let mut entries = Vec::new();
        for outcome in outcomes.iter().take(MAX_LISTED) {
            let mut entry = Map::new();
            put(&mut entry, "path", Some(outcome.path.clone()));
            put(&mut entry, "passages", Some(outcome.chunks));
            put(&mut entry, "message", outcome.problems.first().map(|problem| problem.message.clone()));
            let why = outcome.problems.first().map(|problem| format!(": {}", problem.message)).unwrap_or_default();
            let line = format!("{name} {}\n", one_line(&format!("{}{why}", outcome.path)));
            let entry = Value::Object(entry);
            if !budget.takes(&entry, &line) {
                break;
            }
            entries.push(entry);
            lines.push_str(&line);
        }
        put(&mut structure, name, Some(entries));
    }
    let counts = json!({
        "added": report.added.len(), "updated": report.updated.len(), "unchanged": report.unchanged.len(),
        "moved": report.moved.len(), "removed": report.removed.len(), "failed": report.failed.len(),
        "skipped": report.skipped.len(), "passages": report.chunks_written,
    });
    let mut text = format!(
        "{}{} added, {} updated, {} unchanged, {} moved, {} removed, {} failed, {} skipped; {} passages; generation {}.\n",
        if report.dry_run { "Nothing was changed; it would be: " } else { "" },
        report.added.len(),
        report.updated.len(),
        report.unchanged.len(),
        report.moved.len(),
        report.removed.len(),
        report.failed.len(),
        report.skipped.len(),
        report.chunks_written,
        report.generation,
    );
    if report.interrupted {
        text.push_str("It was stopped before its end: what was whole is stored, the rest comes with the next call.\n");
    }
    if !lines.is_empty() {
        text.push_str(&format!("{NOTICE}\n{}", fence.around("documents", &lines)));
    }
    put(&mut structure, "counts", Some(counts));
    put(&mut structure, "interrupted", Some(report.interrupted));
    put(&mut structure, "dry_run", Some(report.dry_run));
    put(&mut structure, "generation", Some(report.generation));
    Reply { structure, text, is_untrusted: true }
}
