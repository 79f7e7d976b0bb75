//! `rag ingest --remote`: walks here, says what it found, and hands over what the server wants.

use std::time::{Duration, Instant};

use rag::{
    index::Problem,
    ingest::{
        self, Event, Given, Observer as _, Options, ScoutOptions, Scouted, ScoutedFile, ScoutedRoot, Times, scout,
    },
    serve::{
        api::{
            DocumentRequest, IngestRequest, IngestSettings, ListRequest, MAX_SYNC_FILES, SyncContent, SyncFile,
            SyncFiles, SyncFinish, SyncRequest,
        },
        client::{Client, Contents},
        wire::{IngestChunks, IngestReport, Outcome},
    },
    types::Cancel,
};

use super::Args;
use crate::cli::{output::progress::Progress, remote, report::Failure};

/// Contents are sent when there are so many bytes of them: what is sent is durable, and need not be sent again.
const BATCH_BYTES: usize = 8 << 20;
/// Of a text in a request of JSON, which may double it.
const MAX_TEXT_BYTES: usize = 3 << 20;
/// The pause between two looks at how far the server is with what it fetches itself.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Errors: a flag is about who reads and embeds, which the server does.
pub fn check(args: &Args) -> Result<(), Failure> {
    let embed = &args.embed;
    let flags = [
        ("--no-embed", embed.no_embed),
        ("--embed-url", embed.embed_url.is_some()),
        ("--embed-model", embed.embed_model.is_some()),
        ("--onnxruntime", embed.onnxruntime.is_some()),
        ("--ocr", args.ocr),
        ("--password", !args.password.is_empty()),
        ("--jobs", args.jobs.is_some()),
        ("--file-timeout", args.file_timeout.is_some()),
        ("--wait", !args.wait.is_zero()),
    ];
    remote::refuse(&flags, "the server's own settings say how files are read and embedded")
}

/// One run.
pub struct HandOver<'a> {
    pub remote: &'a Client,
    pub args: &'a Args,
    pub options: &'a Options,
    pub progress: &'a Progress,
    pub cancel: &'a Cancel,
}

impl HandOver<'_> {
    pub fn run(&self) -> Result<IngestReport, Failure> {
        let began = Instant::now();
        let mut report = empty(self.options.dry_run);
        if !self.options.paths.is_empty() {
            match scout(&self.scout_options(), self.progress, self.cancel)? {
                Some(scouted) => self.folders(scouted, &mut report)?,
                None => report.interrupted = true,
            }
        }
        for given in &self.options.given {
            if !self.stops(&mut report) {
                self.given(given, &mut report)?;
            }
        }
        if !self.options.pages.is_empty() && !self.stops(&mut report) {
            self.pages(&mut report)?;
        }
        sort(&mut report);
        report.seconds = (began.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        Ok(report)
    }

    fn stops(&self, report: &mut IngestReport) -> bool {
        report.interrupted |= self.cancel.is_asked();
        report.interrupted
    }

    fn scout_options(&self) -> ScoutOptions {
        let Options { paths, include, exclude, ignore_rules, hidden, follow, max_file_bytes, .. } = self.options;
        ScoutOptions {
            paths: paths.clone(),
            include: include.clone(),
            exclude: exclude.clone(),
            ignore_rules: *ignore_rules,
            hidden: *hidden,
            follow: *follow,
            max_file_bytes: *max_file_bytes,
            name: self.args.root.clone(),
        }
    }

    /// What a flag says counts; what none says is the server's.
    fn settings(&self) -> IngestSettings {
        let Args { chunk_tokens, chunk_overlap, archives, .. } = self.args;
        IngestSettings {
            collection: Some(self.options.collection.clone()),
            tags: self.options.tags.clone(),
            chunk_tokens: *chunk_tokens,
            chunk_overlap: *chunk_overlap,
            archives: archives.then_some(true),
            retry_failed: self.options.retry_failed,
            no_prune: !self.options.prune,
            allow_empty: self.options.allow_empty,
            dry_run: self.options.dry_run,
        }
    }

    fn folders(&self, mut scouted: Scouted, report: &mut IngestReport) -> Result<(), Failure> {
        let known = self.known(&scouted)?;
        report.ignored += scouted.ignored;
        for (list, found) in [
            (&mut report.skipped, &mut scouted.skipped),
            (&mut report.failed, &mut scouted.failed),
            (&mut report.warnings, &mut scouted.warnings),
        ] {
            list.extend(found.drain(..).map(|outcome| Outcome::from(&outcome)));
        }
        for (root, known) in scouted.roots.iter().zip(&known) {
            if self.stops(report) {
                break;
            }
            self.folder(root, known, (scouted.narrowed, scouted.scanned_ns), report)?;
        }
        Ok(())
    }

    /// What the index holds of each root, where that matters: where patterns narrowed the walk, and where a folder is empty.
    /// Errors: a pattern that matches nothing, a folder that is empty and was not.
    fn known(&self, scouted: &Scouted) -> Result<Vec<Vec<String>>, Failure> {
        let mut all = Vec::new();
        for root in &scouted.roots {
            let matters = scouted.narrowed || !root.is_full();
            let known = if matters { self.listed(&root.name)? } else { Vec::new() };
            scouted.mark_known(root, &known);
            if self.options.prune
                && !self.options.allow_empty
                && let Some((path, documents)) = root.emptied(&known)
            {
                return Err(ingest::Error::EmptyFolder { path, documents }.into());
            }
            all.push(known);
        }
        scouted.check_patterns()?;
        Ok(all)
    }

    fn listed(&self, root: &str) -> Result<Vec<String>, Failure> {
        let is_plain = root.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        let request = ListRequest {
            filter: is_plain.then(|| format!("path:{root}/**")),
            collection: Some(self.options.collection.clone()),
            ..ListRequest::default()
        };
        let below = format!("{root}/");
        let listed = self.remote.list(&request)?.documents.into_iter();
        Ok(listed.filter_map(|document| document.path.strip_prefix(&below).map(str::to_owned)).collect())
    }

    fn folder(
        &self,
        root: &ScoutedRoot,
        known: &[String],
        (narrowed, scanned_ns): (bool, i64),
        report: &mut IngestReport,
    ) -> Result<(), Failure> {
        let request = SyncRequest { root: root.name.clone(), below: root.below(), narrowed, settings: self.settings() };
        let sync = self.remote.sync(&request)?;
        let display = |path: &str| format!("{}/{path}", root.name);
        let mut files: Vec<&ScoutedFile> = Vec::new();
        for file in &root.files {
            if file.size_bytes <= sync.max_file_bytes {
                files.push(file);
            } else {
                let message =
                    format!("{} bytes, and the server takes at most {}", file.size_bytes, sync.max_file_bytes);
                let problem = Problem { reason: "too_large".into(), message, transient: false };
                report.skipped.push(one(&display(&file.path), problem));
            }
        }
        let (mut unreadable, mut wanted) = (root.unreadable.clone(), Vec::new());
        let mut vanished = if narrowed && self.options.prune { root.vanished(known) } else { Vec::new() };
        let mut failed = |path: &str, problem: Problem, report: &mut IngestReport| {
            if problem.reason == "vanished" {
                // Gone since it was found: as if it had never been there.
                vanished.push(path.to_owned());
            } else {
                self.progress.event(Event::Failed { path: &display(path), problem: &problem });
                report.failed.push(one(&display(path), problem));
                unreadable.push(path.to_owned());
            }
        };
        let mut hashed = Vec::new();
        for some in files.chunks(MAX_SYNC_FILES) {
            let mut named = Vec::new();
            for file in some {
                let name = |size, Times { mtime_ns, ctime_ns, inode }: Times, hash| SyncFile {
                    path: file.path.clone(),
                    size,
                    mtime_ns,
                    ctime_ns,
                    inode,
                    hash,
                };
                match file.is_fresh(scanned_ns).then(|| file.hash()) {
                    None => named.push(name(file.size_bytes, file.times, None)),
                    Some(Ok((hash, size, times))) => named.push(name(size, times, Some(hash))),
                    Some(Err(problem)) => failed(&file.path, problem, report),
                }
            }
            let answer = self.remote.sync_files(&sync.id, &SyncFiles { files: named, last: false })?;
            wanted.extend(answer.send);
            hashed.extend(answer.hash);
            if self.stops(report) {
                return self.give_up(&sync.id);
            }
        }
        let by_path: std::collections::HashMap<&str, &ScoutedFile> =
            files.iter().map(|file| (file.path.as_str(), *file)).collect();
        for some in hashed.chunks(MAX_SYNC_FILES) {
            let mut named = Vec::new();
            for path in some {
                let Some(file) = by_path.get(path.as_str()) else { continue };
                match file.hash() {
                    Ok((hash, size, Times { mtime_ns, ctime_ns, inode })) => {
                        let (path, hash) = (path.clone(), Some(hash));
                        named.push(SyncFile { path, size, mtime_ns, ctime_ns, inode, hash });
                    }
                    Err(problem) => failed(path, problem, report),
                }
                if self.stops(report) {
                    return self.give_up(&sync.id);
                }
            }
            let answer = self.remote.sync_files(&sync.id, &SyncFiles { files: named, last: false })?;
            wanted.extend(answer.send);
        }
        wanted.extend(self.remote.sync_files(&sync.id, &SyncFiles { files: Vec::new(), last: true })?.send);
        let wanted: Vec<&ScoutedFile> = wanted.iter().filter_map(|path| by_path.get(path.as_str()).copied()).collect();
        let bytes = wanted.iter().map(|file| file.size_bytes).sum();
        self.progress.event(Event::Planned { sources: wanted.len() as u64, bytes });
        let most = usize::try_from(sync.max_contents_bytes).unwrap_or(usize::MAX);
        let mut sender =
            Sender { run: self, id: &sync.id, root: &root.name, contents: Contents::default(), paths: Vec::new() };
        for file in wanted {
            if self.stops(report) {
                return sender.stop(report);
            }
            match file.read(sync.max_file_bytes) {
                Ok((bytes, Times { mtime_ns, ctime_ns, inode })) => {
                    let (path, size) = (file.path.clone(), bytes.len() as u64);
                    let about = SyncContent { path, size, mtime_ns, ctime_ns, inode, extension: None };
                    sender.push(&about, &bytes, most, report)?;
                }
                Err(problem) => failed(&file.path, problem, report),
            }
        }
        if !sender.flush(report)? {
            return sender.stop(report);
        }
        add(report, self.remote.sync_finish(&sync.id, &SyncFinish { vanished, unreadable })?);
        Ok(())
    }

    fn give_up(&self, id: &str) -> Result<(), Failure> {
        // The server forgets by itself who does not come back.
        let _ = self.remote.sync_give_up(id);
        Ok(())
    }

    /// What came by standard input: one file under a root of its own.
    fn given(&self, given: &Given, report: &mut IngestReport) -> Result<(), Failure> {
        if let Some(document) = self.document(given) {
            self.progress.event(Event::Planned { sources: 1, bytes: given.bytes.len() as u64 });
            add(report, self.remote.document(&document)?);
            return Ok(());
        }
        let settings = IngestSettings { no_prune: true, ..self.settings() };
        let (root, below) = (given.root.clone(), vec![given.name.clone()]);
        let sync = self.remote.sync(&SyncRequest { root, below, narrowed: false, settings })?;
        let (path, size) = (given.name.clone(), given.bytes.len() as u64);
        if size > sync.max_file_bytes {
            return Err(Failure::usage(format!(
                "standard input has {size} bytes, and the server takes at most {}",
                sync.max_file_bytes
            )));
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let mtime_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let hash = Some(blake3::hash(&given.bytes).to_hex().to_string());
        let file = SyncFile { path: path.clone(), size, mtime_ns, ctime_ns: 0, inode: 0, hash };
        let wanted = self.remote.sync_files(&sync.id, &SyncFiles { files: vec![file], last: true })?;
        let sources = wanted.send.len() as u64;
        self.progress.event(Event::Planned { sources, bytes: size });
        let mut sender =
            Sender { run: self, id: &sync.id, root: &given.root, contents: Contents::default(), paths: Vec::new() };
        if sources > 0 {
            let extension = given.extension.clone();
            let about = SyncContent { path, size, mtime_ns, ctime_ns: 0, inode: 0, extension };
            sender.push(&about, &given.bytes, usize::MAX, report)?;
        }
        if !sender.flush(report)? {
            return sender.stop(report);
        }
        add(report, self.remote.sync_finish(&sync.id, &SyncFinish::default())?);
        Ok(())
    }

    /// A text as it is, where a request can hold it: the same text again changes nothing then.
    fn document(&self, given: &Given) -> Option<DocumentRequest> {
        let Args { chunk_tokens: None, chunk_overlap: None, archives: false, retry_failed: false, .. } = self.args
        else {
            return None;
        };
        let fits = given.bytes.len() <= MAX_TEXT_BYTES && !self.options.dry_run;
        let text = std::str::from_utf8(&given.bytes).ok().filter(|_| fits)?;
        Some(DocumentRequest {
            name: given.name.clone(),
            text: text.to_owned(),
            root: Some(given.root.clone()),
            extension: given.extension.clone(),
            title: None,
            collection: Some(self.options.collection.clone()),
            tags: self.options.tags.clone(),
        })
    }

    /// Pages are fetched by the server, if it does that for others.
    fn pages(&self, report: &mut IngestReport) -> Result<(), Failure> {
        let pages = self.options.pages.iter().map(ToString::to_string).collect();
        let request = IngestRequest { pages, settings: self.settings(), ..IngestRequest::default() };
        let mut job = self.remote.ingest(&request)?;
        let mut told = 0;
        loop {
            if let Some(planned) = job.planned.filter(|_| told == 0) {
                self.progress.event(Event::Planned { sources: planned, bytes: 0 });
                told = 1;
            }
            match job.state.as_str() {
                "queued" | "running" => {}
                "failed" => {
                    return Err(match job.error {
                        Some(error) => self.remote.told(error).into(),
                        None => Failure::new(rag::types::Kind::Model, "the server failed and does not say why"),
                    });
                }
                state => {
                    report.interrupted |= state == "cancelled";
                    job.report.into_iter().for_each(|more| add(report, more));
                    return Ok(());
                }
            }
            if self.cancel.is_asked() && !report.interrupted {
                report.interrupted = true;
                self.remote.cancel_job(&job.id)?;
            }
            std::thread::sleep(LOOK_AGAIN);
            job = self.remote.job(&job.id)?;
        }
    }
}

/// Collects contents and sends them in batches.
struct Sender<'a> {
    run: &'a HandOver<'a>,
    id: &'a str,
    root: &'a str,
    contents: Contents,
    /// Display paths of what is collected.
    paths: Vec<String>,
}

impl Sender<'_> {
    /// Adds a file. `most`: bytes of one body.
    fn push(
        &mut self,
        about: &SyncContent,
        bytes: &[u8],
        most: usize,
        report: &mut IngestReport,
    ) -> Result<(), Failure> {
        /// The line before a file's bytes.
        const LINE_BYTES: usize = 16 << 10;
        let path = format!("{}/{}", self.root, about.path);
        self.run.progress.event(Event::Started { path: &path });
        if !self.contents.is_empty() && self.contents.len() + bytes.len() + LINE_BYTES > most.min(BATCH_BYTES) {
            self.flush(report)?;
        }
        self.contents.push(about, bytes)?;
        self.paths.push(path);
        Ok(())
    }

    /// Sends what is collected. `false`: a stop was asked for meanwhile.
    fn flush(&mut self, report: &mut IngestReport) -> Result<bool, Failure> {
        if !self.contents.is_empty() {
            let taken = self.run.remote.sync_contents(self.id, std::mem::take(&mut self.contents))?;
            report.generation = report.generation.max(taken.generation);
            let progress = self.run.progress;
            progress.event(Event::Chunked { path: self.root, chunks: taken.chunks, to_embed: 0, bytes: 0 });
            self.paths.drain(..).for_each(|path| progress.event(Event::Done { path: &path }));
            progress.event(Event::Committed { generation: taken.generation });
        }
        Ok(!self.run.stops(report))
    }

    /// Gives up. What was sent is committed, and the next run is not asked for it.
    fn stop(&self, report: &mut IngestReport) -> Result<(), Failure> {
        report.interrupted = true;
        self.run.give_up(self.id)
    }
}

fn one(path: &str, problem: Problem) -> Outcome {
    Outcome { path: path.to_owned(), chunks: 0, from: None, problems: vec![problem] }
}

fn empty(dry_run: bool) -> IngestReport {
    IngestReport {
        schema: "rag.ingest/1".into(),
        added: Vec::new(),
        updated: Vec::new(),
        unchanged: 0,
        moved: Vec::new(),
        removed: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
        warnings: Vec::new(),
        ignored: 0,
        chunks: IngestChunks { written: 0, embedded: 0, reused: 0 },
        bytes_read: 0,
        bytes_written: 0,
        generation: 0,
        interrupted: false,
        dry_run,
        estimated_seconds: None,
        embedder: None,
        seconds: 0.0,
    }
}

/// Adds what another report counts and lists.
fn add(report: &mut IngestReport, mut more: IngestReport) {
    for (list, more) in lists(report).into_iter().zip(lists(&mut more)) {
        list.append(more);
    }
    report.unchanged += more.unchanged;
    report.ignored += more.ignored;
    report.chunks.written += more.chunks.written;
    report.chunks.embedded += more.chunks.embedded;
    report.chunks.reused += more.chunks.reused;
    report.bytes_read += more.bytes_read;
    report.bytes_written += more.bytes_written;
    report.generation = report.generation.max(more.generation);
    report.interrupted |= more.interrupted;
    report.estimated_seconds = match (report.estimated_seconds, more.estimated_seconds) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    };
    report.embedder = report.embedder.take().or(more.embedder);
}

fn sort(report: &mut IngestReport) {
    lists(report).into_iter().for_each(|list| list.sort_by(|a, b| a.path.cmp(&b.path)));
}

fn lists(report: &mut IngestReport) -> [&mut Vec<Outcome>; 7] {
    let IngestReport { added, updated, moved, removed, skipped, failed, warnings, .. } = report;
    [added, updated, moved, removed, skipped, failed, warnings]
}
