//! Configuration after configuration: index, ask, score.

use std::{collections::HashMap, time::Instant};

use rag::{
    index::{ChunkRecord, Snapshot, SourceRecord},
    model::{Embedder, remember::Remembering},
    retrieve::{
        Mode, Query,
        eval::{self, Asking, DEPTH, Metric, Names, Run, Scores},
    },
    types::{Cancel, ChunkId, SourceId},
};

use super::{
    bench::{Bench, Filled, ids, interrupted},
    files::Corpus,
    matrix::{Configuration, Cut},
    set::Set,
};
use crate::cli::{
    commands::{Context, ingest::EmbedArgs},
    config::Config,
    output::{count, progress::Steps},
    report::Failure,
};

/// A configuration and how it did.
pub struct Measured {
    pub configuration: Configuration,
    pub run: Run,
    pub scores: Scores,
    pub documents: usize,
    pub chunks: u64,
    pub ingest_seconds: f64,
    pub query_seconds: f64,
}

/// What judgements judge.
pub enum Judged {
    /// Documents, by what they call them.
    Sources(HashMap<SourceId, String>),
    /// Chunks, by id; of so many documents.
    Chunks(usize),
}

impl Judged {
    fn name(&self, chunk: &ChunkRecord) -> Option<String> {
        match self {
            Self::Sources(names) => names.get(&chunk.source).cloned(),
            Self::Chunks(_) => Some(chunk.id.to_string()),
        }
    }

    fn documents(&self) -> usize {
        match self {
            Self::Sources(names) => names.len(),
            Self::Chunks(documents) => *documents,
        }
    }
}

/// What is measured, and how.
#[derive(Clone)]
pub struct Measuring<'a> {
    pub context: &'a Context,
    pub config: &'a Config,
    pub metrics: &'a [Metric],
    pub ways: Vec<Query>,
    pub jobs: usize,
    pub cancel: &'a Cancel,
}

impl Measuring<'_> {
    /// Measures on a collection that is indexed for this, once for each way to cut it.
    pub fn collection(
        &self,
        corpus: &Corpus,
        cuts: &[Cut],
        flags: &EmbedArgs,
        set: &mut Set,
    ) -> Result<Vec<Measured>, Failure> {
        if let Corpus::Lines(path) = corpus {
            let known = ids(path)?;
            let unknown: Vec<String> =
                set.qrels.documents().into_iter().filter(|id| !known.contains(*id)).map(str::to_owned).collect();
            set.check_documents(&unknown)?;
        }
        // Vectors would be made for nothing, unless the index stays.
        let words_alone = self.ways.iter().all(|way| way.mode == Mode::Lexical) && !self.context.place.is_named;
        let flags = EmbedArgs { no_embed: flags.no_embed || words_alone, ..flags.clone() };
        let kept = self.context.place.is_named.then_some(self.context.place.dir.as_path());
        let bench = Bench::new(self.context, self.config, corpus, kept, cuts.len() > 1)?
            .with_embedder_of(&flags, self.cancel)?;
        let remembering = bench.remembering()?;
        let embedder = remembering.as_ref().map(|embedder| embedder as &dyn Embedder);
        let mut measured = Vec::new();
        for (&cut, at) in cuts.iter().zip(0..) {
            let Filled { snapshot, mut names, seconds, failed } = bench.fill(cut, embedder, self.cancel)?;
            if at == 0 {
                if let Some(first) = failed.first() {
                    set.warnings.push(format!("not readable: {} (`{first}`)", count(failed.len() as u64, "document")));
                }
                if let Corpus::Folder(_) = corpus {
                    let sources: Vec<_> = names.iter().map(|(id, path)| (*id, vec![path.clone()])).collect();
                    note_names(set, &Names::new(&sources, &set.qrels.documents()))?;
                }
            }
            if let Corpus::Folder(_) = corpus {
                let sources: Vec<_> = names.iter().map(|(id, path)| (*id, vec![path.clone()])).collect();
                names = Names::new(&sources, &set.qrels.documents()).of;
            }
            let judged = Judged::Sources(names);
            measured.extend(self.ways(&snapshot, embedder, &judged, (Some(cut), seconds), set)?);
        }
        Ok(measured)
    }

    /// Measures on the index there is.
    pub fn index(&self, set: &mut Set) -> Result<Vec<Measured>, Failure> {
        let snapshot = self.context.place.open()?.snapshot()?;
        let judged = self.judged(&snapshot, set)?;
        let embedder = self.embedder(&snapshot)?;
        let embedder = embedder.as_deref().map(|embedder| Remembering::new(embedder, None)).transpose()?;
        let embedder = embedder.as_ref().map(|embedder| embedder as &dyn Embedder);
        self.ways(&snapshot, embedder, &judged, (None, 0.0), set)
    }

    /// Whom judgements name in an index: chunks, if all of them have the form of a chunk's id and one of them is there.
    pub fn judged(&self, snapshot: &Snapshot, set: &mut Set) -> Result<Judged, Failure> {
        let collection = self.ways.first().and_then(|way| way.collection.as_deref());
        let ids: Option<Vec<ChunkId>> = set.qrels.documents().into_iter().map(|id| id.parse().ok()).collect();
        if let Some(ids) = ids {
            let found = snapshot.chunks(&ids)?;
            if found.iter().any(Option::is_some) {
                let absent = ids.iter().zip(&found).filter(|(_, found)| found.is_none());
                let absent: Vec<String> = absent.map(|(id, _)| id.to_string()).collect();
                set.check_documents(&absent)?;
                return Ok(Judged::Chunks(snapshot.sources(collection)?.len()));
            }
        }
        let spelled = |source: SourceRecord| (source.id, vec![source.display_path(), source.path.to_string()]);
        let sources: Vec<_> = snapshot.sources(collection)?.into_iter().map(spelled).collect();
        let names = Names::new(&sources, &set.qrels.documents());
        note_names(set, &names)?;
        Ok(Judged::Sources(names.of))
    }

    /// The model that embeds questions, where any way of searching needs one.
    pub fn embedder(&self, snapshot: &Snapshot) -> Result<Option<Box<dyn Embedder>>, Failure> {
        let words_alone = self.ways.iter().all(|way| way.mode == Mode::Lexical);
        let mode = if words_alone { Mode::Lexical } else { Mode::Hybrid };
        self.context.place.queries_embedder(self.config, snapshot, mode, true)
    }

    /// Asks in every way and scores. `cut` with the seconds that it took to fill the index.
    pub fn ways(
        &self,
        snapshot: &Snapshot,
        embedder: Option<&dyn Embedder>,
        judged: &Judged,
        (cut, seconds): (Option<Cut>, f64),
        set: &Set,
    ) -> Result<Vec<Measured>, Failure> {
        let chunks = snapshot.stats()?.chunks;
        let name = |chunk: &ChunkRecord| judged.name(chunk);
        let by_chunk = matches!(judged, Judged::Chunks(_));
        let depth = self.metrics.iter().filter_map(|metric| metric.cutoff()).max().unwrap_or(0).max(DEPTH);
        let mut measured = Vec::new();
        for (query, ingest_seconds) in self.ways.iter().zip(std::iter::once(seconds).chain(std::iter::repeat(0.0))) {
            let configuration = Configuration { cut, query: query.clone() };
            let what = format!("asking, {}", configuration.label());
            let steps = Steps::new(&self.context.screen, &what, set.questions.len() as u64);
            let told = || steps.step();
            let (threads, cancel) = (self.jobs, self.cancel);
            let asking =
                Asking { snapshot, embedder, query, depth, threads, name: &name, by_chunk, told: &told, cancel };
            let begun = Instant::now();
            let run = eval::ask(&asking, &set.questions);
            steps.finish();
            let run = run?.ok_or_else(interrupted)?;
            let query_seconds = begun.elapsed().as_secs_f64();
            let scores = eval::score(&set.qrels, &run, self.metrics);
            let documents = judged.documents();
            measured.push(Measured { configuration, run, scores, documents, chunks, ingest_seconds, query_seconds });
        }
        Ok(measured)
    }
}

fn note_names(set: &mut Set, names: &Names) -> Result<(), Failure> {
    set.check_documents(&names.unknown)?;
    if let Some(first) = names.ambiguous.first() {
        let number = names.ambiguous.len() as u64;
        set.warnings.push(format!(
            "the name of several documents, which all count: {} (`{first}`)",
            count(number, "judged id")
        ));
    }
    Ok(())
}
