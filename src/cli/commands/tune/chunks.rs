//! Chunk sizes: the documents of the index, read again and cut otherwise, in an index that goes away.

use std::collections::{BTreeMap, HashMap};

use rag::{
    index::Snapshot,
    model::Embedder,
    retrieve::eval::{Names, Qrels, Question, Run, auto::Made},
    types::{ChunkId, SourceId},
};

use super::Tried;
use crate::cli::{
    commands::eval::{
        MadeSet,
        bench::{Bench, Filled},
        files::Corpus,
        matrix::Cut,
        measure::{Judged, Measuring},
        set::Set,
    },
    config::Config,
    report::Failure,
};

/// An index of so many chunks is embedded again without being asked.
const FEW_CHUNKS: u64 = 2000;
/// Sizes that are tried there.
const SIZES: [usize; 2] = [128, 254];
/// Results are compared at this many word pieces altogether: larger chunks are fewer results.
const BUDGET_TOKENS: usize = 1000;

/// The sizes to try; else why none is.
pub fn sizes(asked: &[u16], config: &Config, chunks: u64) -> Result<Vec<usize>, String> {
    let now = config.chunk_tokens();
    let sizes: Vec<usize> = match asked {
        [] if chunks >= FEW_CHUNKS => {
            return Err(
                "chunk sizes were not tried, for that embeds all documents again: `--chunk-tokens 128,254`".into()
            );
        }
        [] => SIZES.to_vec(),
        asked => asked.iter().map(|&size| usize::from(size)).collect(),
    };
    Ok(sizes.into_iter().filter(|size| *size != now).collect())
}

/// What a trial of chunk sizes needs.
pub struct Trial<'a> {
    pub measuring: &'a Measuring<'a>,
    pub snapshot: &'a Snapshot,
    pub set: &'a Set,
    pub made: Option<&'a MadeSet>,
}

impl Trial<'_> {
    /// Measures each size and the current one; else says why that cannot be. `embedder`: of the index's own space.
    pub fn run(
        &self,
        sizes: &[usize],
        collection: Option<&str>,
        embedder: Option<Box<dyn Embedder>>,
    ) -> Result<Result<Tried, String>, Failure> {
        let Measuring { context, config, cancel, .. } = *self.measuring;
        let now = config.chunk_tokens();
        let places = context.place.places(self.snapshot);
        let sources = self.snapshot.sources(collection)?;
        let is_same = |path: &std::path::Path, size: u64| path.metadata().is_ok_and(|file| file.len() == size);
        let files: Vec<_> = sources
            .iter()
            .filter(|source| source.chunks > 0)
            .filter_map(|source| {
                let path = places.file(&source.display_path())?;
                is_same(&path, source.size_bytes).then(|| (source.display_path(), path))
            })
            .collect();
        let wanted = sources.iter().filter(|source| source.chunks > 0).count();
        if files.len() < wanted {
            let gone = wanted - files.len();
            return Ok(Err(format!(
                "chunk sizes were not tried: {gone} of {wanted} documents are not on disk as they were"
            )));
        }
        let corpus = Corpus::Files(files);
        let bench = Bench::new(context, config, &corpus, None, true)?.with_embedder(embedder);
        let remembering = bench.remembering()?;
        let embedder = remembering.as_ref().map(|embedder| embedder as &dyn Embedder);
        let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut metric = String::new();
        for &tokens in sizes.iter().chain([&now]) {
            let cut = Cut { tokens, overlap: config.chunk_overlap(tokens).min(tokens / 2) };
            let Filled { snapshot, names, .. } = bench.fill(cut, embedder, cancel)?;
            let scored = match self.made {
                Some(made) => {
                    metric = format!("answered within {BUDGET_TOKENS} word pieces");
                    self.by_chunk(made, &snapshot, &names, &sources_by_path(&sources), (embedder, cut))?
                }
                None => {
                    metric = super::BEST_FIRST.to_string();
                    let spelled: Vec<_> = names.iter().map(|(id, path)| (*id, vec![path.clone()])).collect();
                    let judged = Judged::Sources(Names::new(&spelled, &self.set.qrels.documents()).of);
                    let measured = self.measuring.ways(&snapshot, embedder, &judged, (Some(cut), 0.0), self.set)?;
                    measured[0].scores.column(0)
                }
            };
            values.insert(tokens, scored);
        }
        let current = values.remove(&now).unwrap_or_default();
        let others = values.into_iter().map(|(tokens, values)| (tokens as f64, values)).collect();
        Ok(Ok(Tried::new("ingest.chunk_tokens", metric, (now as f64, current), others, false)))
    }

    /// Whether each made question is answered within the budget: 0 or 1.
    fn by_chunk(
        &self,
        made: &MadeSet,
        snapshot: &Snapshot,
        names: &HashMap<SourceId, String>,
        old: &HashMap<SourceId, String>,
        (embedder, cut): (Option<&dyn Embedder>, Cut),
    ) -> Result<Vec<f64>, Failure> {
        let new: HashMap<&str, SourceId> = names.iter().map(|(id, path)| (path.as_str(), *id)).collect();
        let mut qrels = Qrels::default();
        let mut questions = Vec::new();
        for (question, number) in made.made.iter().zip(0usize..) {
            let Some(source) = old.get(&question.source).and_then(|path| new.get(path.as_str())) else { continue };
            let moved = Made { source: *source, ..question.clone() };
            let id = format!("{number:08}");
            let chunks = snapshot.chunks_of(*source)?;
            let answers = chunks.iter().filter(|chunk| moved.is_answered_by(chunk));
            answers.for_each(|chunk| qrels.judge(&id, &chunk.id.to_string(), 1));
            questions.push(Question { id, text: question.text.clone() });
        }
        let ids: Vec<String> = questions.iter().map(|question| question.id.clone()).collect();
        let set = Set::new(questions, qrels)?;
        let judged = Judged::Chunks(names.len());
        let measured = self.measuring.ways(snapshot, embedder, &judged, (Some(cut), 0.0), &set)?;
        ids.iter().map(|id| answered(snapshot, &set.qrels, &measured[0].run, id)).collect()
    }
}

fn answered(snapshot: &Snapshot, qrels: &Qrels, run: &Run, id: &str) -> Result<f64, Failure> {
    let Some(answers) = run.by_query.get(id) else { return Ok(0.0) };
    let ids: Vec<ChunkId> = answers.ranking.iter().filter_map(|found| found.document.parse().ok()).collect();
    let mut left = BUDGET_TOKENS;
    for (found, chunk) in answers.ranking.iter().zip(snapshot.chunks(&ids)?) {
        let tokens = chunk.map_or(0, |chunk| chunk.tokens as usize);
        if tokens > left {
            break;
        }
        left -= tokens;
        if qrels.is_relevant(id, &found.document) {
            return Ok(1.0);
        }
    }
    Ok(0.0)
}

fn sources_by_path(sources: &[rag::index::SourceRecord]) -> HashMap<SourceId, String> {
    sources.iter().map(|source| (source.id, source.display_path())).collect()
}
