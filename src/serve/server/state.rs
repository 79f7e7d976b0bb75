//! What all requests share: the indexes, the gates, the counts.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header};

use super::{
    failure::{Failure, Result},
    gate::{Gate, Place},
    guard::Caller,
    house::House,
    jobs::Jobs,
    metrics::Metrics,
    options::Options,
    politeness::Politeness,
    rate::Rates,
    sync::Sessions,
};
use crate::{index::Snapshot, model::Embedder, retrieve::Query, types::EmbeddingSpace};

/// A model, once it was opened.
type Opened = Mutex<Option<Arc<dyn Embedder>>>;

/// What uploads hold in memory at once, in MiB: three of the largest, or many small ones.
const UPLOADS_MIB: usize = 192;

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct State(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub options: Options,
    main: Arc<House>,
    tenants: Mutex<HashMap<String, Arc<House>>>,
    /// Searches are work for the CPU: twice as many as cores at once, the rest waits.
    search: Gate,
    /// Answers mostly wait for a model.
    answers: Gate,
    /// Bodies of files are held in memory until they are written: each takes as many places as it has MiB.
    uploads: Gate,
    /// Who waits here to write holds none of the threads that readers need.
    writes: Gate,
    /// By folder name of the space: tenants share a model, and who opens one keeps nobody from another.
    embedders: Mutex<HashMap<String, Arc<Opened>>>,
    /// Gates of each tenant: half of each, so that none takes all.
    shares: Mutex<HashMap<String, Arc<(Gate, Gate)>>>,
    pub metrics: Metrics,
    pub failed_keys: Rates<std::net::IpAddr>,
    pub requests: Rates<String>,
    pub jobs: Jobs,
    pub sessions: Sessions,
    pub politeness: Arc<Politeness>,
    /// New at each start.
    pub instance: String,
    counter: AtomicU64,
}

/// A server that may be gone.
#[derive(Clone)]
pub struct WeakState(Weak<Inner>);

impl WeakState {
    pub fn upgrade(&self) -> Option<State> {
        self.0.upgrade().map(State)
    }
}

/// What kind of work a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Search,
    Answer,
}

impl State {
    pub fn new(options: Options) -> Self {
        let limits = &options.limits;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let searches = (2 * cores).min(limits.in_flight);
        let main = Arc::new(House::new(options.index.clone(), options.ingest.home.clone(), None));
        let seed = (std::process::id(), std::time::SystemTime::now());
        let instance = blake3::hash(format!("{seed:?}").as_bytes()).to_hex()[..8].to_owned();
        Self(Arc::new(Inner {
            search: Gate::new(searches, limits.queue),
            answers: Gate::new(limits.in_flight, limits.queue),
            uploads: Gate::new(UPLOADS_MIB, limits.queue),
            writes: Gate::new(limits.in_flight, limits.queue),
            shares: Mutex::new(HashMap::new()),
            embedders: Mutex::new(HashMap::new()),
            main,
            tenants: Mutex::new(HashMap::new()),
            metrics: Metrics::default(),
            failed_keys: Rates::default(),
            requests: Rates::default(),
            jobs: Jobs::default(),
            sessions: Sessions::default(),
            politeness: Arc::default(),
            instance,
            counter: AtomicU64::new(0),
            options,
        }))
    }

    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// For a thread that must not keep the server alive.
    pub fn downgrade(&self) -> WeakState {
        WeakState(Arc::downgrade(&self.0))
    }

    /// An index by its tenant, for such a thread.
    pub fn weak_house(&self, tenant: Option<&str>) -> Result<Weak<House>> {
        self.house_of(tenant).map(|house| Arc::downgrade(&house))
    }

    /// A name for a request that no other one has.
    pub fn next_id(&self) -> String {
        format!("{}-{:06x}", self.0.instance, self.0.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// The index of a caller: of the key's tenant, never of anything in the request.
    pub fn house(&self, caller: &Caller) -> Result<Arc<House>> {
        self.house_of(caller.tenant())
    }

    fn house_of(&self, tenant: Option<&str>) -> Result<Arc<House>> {
        let Some(tenant) = tenant else { return Ok(Arc::clone(&self.0.main)) };
        let Some(folder) = &self.options().tenants else {
            return Err(Failure::forbidden("the key is of a tenant, and this server has none"));
        };
        let mut houses = self.0.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let house = houses
            .entry(tenant.to_owned())
            .or_insert_with(|| Arc::new(House::new(folder.join(tenant), None, Some(tenant.to_owned()))));
        Ok(Arc::clone(house))
    }

    /// Makes what was taken durable, in every index. Says whether that was done in time. Blocks.
    pub fn close(&self, within: Duration) -> bool {
        let begun = Instant::now();
        let tenants: Vec<Arc<House>> =
            self.0.tenants.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut all = true;
        for house in std::iter::once(&self.0.main).chain(&tenants) {
            all &= house.close(within.saturating_sub(begun.elapsed()));
        }
        all
    }

    /// The embedder of a space, opened with the first who needs it.
    pub fn embedder(&self, space: &EmbeddingSpace) -> Result<Arc<dyn Embedder>> {
        let place = {
            let mut known = self.0.embedders.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(space.folder()).or_default())
        };
        let mut embedder = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = &*embedder {
            return Ok(Arc::clone(embedder));
        }
        Ok(Arc::clone(embedder.insert(self.options().models.embedder(space)?)))
    }

    /// Does blocking work for a caller, at a time when there is room for it. `limit`: after so long from now the caller hears
    /// `Timeout`, and the work goes on to its end with its place taken, for nothing can stop it half-way.
    pub async fn work<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: Work,
        limit: Option<Duration>,
        act: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let begun = Instant::now();
        let doing = async {
            let places = self.enter(caller, work).await?;
            let politeness = Arc::clone(&self.0.politeness);
            let task = tokio::task::spawn_blocking(move || {
                let _places = places;
                let _reading = politeness.reading();
                act()
            });
            match task.await {
                Ok(result) => result,
                // The panic itself was told on stderr.
                Err(_) => Err(Failure::bug("the server has a fault; the request was dropped")),
            }
        };
        let result = match limit {
            None => doing.await,
            Some(limit) => match tokio::time::timeout(limit, doing).await {
                Ok(result) => result,
                Err(_) => Err(Failure::timeout(limit.as_secs_f64())),
            },
        };
        self.0.metrics.worked(work, begun.elapsed());
        result
    }

    async fn enter(&self, caller: &Caller, work: Work) -> Result<(Option<Place>, Place)> {
        let share = caller.tenant().map(|tenant| self.share(tenant));
        let own = match &share {
            Some(share) => Some(match work {
                Work::Search => share.0.enter().await?,
                Work::Answer => share.1.enter().await?,
            }),
            None => None,
        };
        let gate = match work {
            Work::Search => &self.0.search,
            Work::Answer => &self.0.answers,
        };
        Ok((own, gate.enter().await?))
    }

    fn share(&self, tenant: &str) -> Arc<(Gate, Gate)> {
        let mut shares = self.0.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let share = shares.entry(tenant.to_owned()).or_insert_with(|| {
            let limits = &self.options().limits;
            let cores = std::thread::available_parallelism().map_or(2, usize::from);
            let searches = cores.min(limits.in_flight);
            Arc::new((Gate::new(searches, limits.queue / 2), Gate::new(limits.in_flight / 2, limits.queue / 2)))
        });
        Arc::clone(share)
    }

    /// How full the gates are: inside and waiting, of searches and of answers.
    pub fn load(&self) -> [(usize, usize); 2] {
        [self.0.search.load(), self.0.answers.load()]
    }

    /// Blocking work that is not a search and takes as long as it takes: looking things up, writing.
    pub async fn blocking<T: Send + 'static>(&self, act: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        match tokio::task::spawn_blocking(act).await {
            Ok(result) => result,
            Err(_) => Err(Failure::bug("the server has a fault; the request was dropped")),
        }
    }

    /// Blocking work that waits for a commit. Many may share one, and no more than there may be requests in flight: each
    /// holds a thread until it is durable.
    pub async fn writing<T: Send + 'static>(&self, act: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let place = self.0.writes.enter().await?;
        self.blocking(move || {
            let _place = place;
            act()
        })
        .await
    }

    /// Room for a body of files of which `headers` tell the length; one that does not tell is taken for the longest. Whoever
    /// holds the bytes holds the place.
    pub async fn room_for_files(&self, headers: &HeaderMap, longest: u64) -> Result<Place> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let mib = length.unwrap_or(longest).min(longest).div_ceil(1 << 20);
        self.0.uploads.enter_as(u32::try_from(mib).unwrap_or(u32::MAX)).await
    }

    /// Errors: the server only reads, or the caller may not write.
    pub fn check_writable(&self, caller: &Caller) -> Result<()> {
        if !self.options().access.allow_write {
            return Err(Failure::forbidden("this server only reads").hint("it was started without `--allow-write`"));
        }
        caller.check(super::keys::Scope::Write)
    }

    /// A query narrowed to what the caller's key may see.
    pub fn narrowed(&self, caller: &Caller, snapshot: &Snapshot, mut query: Query) -> Result<Query> {
        let (filter, collection) =
            super::scope::narrow(caller, snapshot, query.filter.take(), query.collection.take())?;
        query.filter = filter;
        query.collection = collection;
        Ok(query)
    }
}
