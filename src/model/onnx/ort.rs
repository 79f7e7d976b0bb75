//! The graph on an ONNX Runtime library that the user has: found or named at run time, never linked.
//!
//! Only used when asked for: loading it costs ten times a whole query on the built-in runtime. A process can load one
//! library; the first that loads stays. Libraries from 1.17 on will do.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ::ort::{
    environment::Environment,
    inputs,
    session::{Session, builder::GraphOptimizationLevel},
    value::TensorRef,
};

use super::{Error, Model, Result, Runtime};

mod search;
mod unpack;

pub use search::{python_folders, system_folders};

/// Where the library is, and where the model may be laid for it.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The library, if it was named: a file, or a folder that holds it. Nothing else is tried then.
    pub path: Option<PathBuf>,
    /// Else the first of these files and folders that holds one that loads.
    pub search: Vec<PathBuf>,
    /// A folder of ours. ONNX Runtime reads a graph with weights beside it from files only: 23 MB are unpacked here once.
    pub unpack_to: PathBuf,
}

/// The graph in one session per caller.
pub(super) struct OnnxRuntime {
    environment: Environment,
    library: PathBuf,
    graph: PathBuf,
    /// Sessions that no run uses now; as many come to be as callers run at once.
    idle: Mutex<Vec<Session>>,
}

impl OnnxRuntime {
    /// Loads the library and the first session.
    pub(super) fn load(model: &Model, options: &Options) -> Result<Self> {
        let (library, environment) = environment(options)?;
        let graph = unpack::unpack(model, &options.unpack_to)?;
        let runtime = Self { environment, library, graph, idle: Mutex::default() };
        let session = runtime.session().map_err(|why| Error::Run { model: model.name.to_owned(), why })?;
        runtime.give_back(session);
        Ok(runtime)
    }

    fn session(&self) -> Result<Session, String> {
        let text = |error: ::ort::Error| error.to_string();
        let builder = Session::builder(&self.environment).map_err(text)?;
        // These errors give the builder back, which is large.
        let builder = builder.with_intra_threads(1).map_err(|error| error.to_string())?;
        let builder = builder.with_optimization_level(GraphOptimizationLevel::All).map_err(|error| error.to_string());
        builder?.commit_from_file(&self.graph).map_err(text)
    }

    fn take(&self) -> Result<Session, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.session(), Ok)
    }

    fn give_back(&self, session: Session) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }
}

impl Runtime for OnnxRuntime {
    fn run(&self, ids: &[u32]) -> Result<Vec<f32>, String> {
        let mut session = self.take()?;
        let vector = run(&mut session, ids).map_err(|error| error.to_string())?;
        self.give_back(session);
        Ok(vector)
    }

    fn name(&self) -> String {
        match search::version(&self.library) {
            Some(version) => format!("onnxruntime {version} (`{}`)", self.library.display()),
            None => format!("onnxruntime (`{}`)", self.library.display()),
        }
    }
}

fn run(session: &mut Session, ids: &[u32]) -> ::ort::Result<Vec<f32>> {
    let shape = [1, ids.len()];
    let ids: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    let mask = vec![1i64; ids.len()];
    let outputs = session.run(inputs![
        "input_ids" => TensorRef::from_array_view((shape, &*ids))?,
        "attention_mask" => TensorRef::from_array_view((shape, &*mask))?,
    ])?;
    let output =
        outputs.get("sentence_embedding").ok_or_else(|| ::ort::Error::new("the graph has no `sentence_embedding`"))?;
    let (_, values) = output.try_extract_tensor::<f32>()?;
    Ok(values.to_vec())
}

/// The library this process loaded, and its environment. Kept to the end: a second one cannot be made.
static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// Loads the first library of the options that can be used, or takes the one that is loaded if they allow it.
fn environment(options: &Options) -> Result<(PathBuf, Environment)> {
    let places = options.path.as_ref().map_or(options.search.as_slice(), std::slice::from_ref);
    let libraries: Vec<PathBuf> = places.iter().filter_map(|place| search::library_in(place)).collect();
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((library, environment)) = &*loaded
        && libraries.contains(library)
    {
        return Ok((library.clone(), environment.clone()));
    }
    let Some(first) = libraries.first() else {
        return Err(match &options.path {
            Some(path) => Error::NoRuntime { path: path.clone(), why: "there is no such library".to_owned() },
            None => Error::NoRuntime { path: search::file_name(), why: format!("searched {}", listed(places)) },
        });
    };
    if let Some((other, _)) = &*loaded {
        let why = format!("this process already uses `{}`", other.display());
        return Err(Error::NoRuntime { path: first.clone(), why });
    }
    let mut failure = None;
    for library in &libraries {
        match start(library) {
            Ok(environment) => {
                *loaded = Some((library.clone(), environment.clone()));
                return Ok((library.clone(), environment));
            }
            Err(why) => failure = failure.or(Some(Error::NoRuntime { path: library.clone(), why })),
        }
    }
    Err(failure.expect("there was a library, and it failed"))
}

fn listed(places: &[PathBuf]) -> String {
    let places: Vec<_> = places.iter().map(|place| format!("`{}`", place.display())).collect();
    if places.is_empty() { "no place: none was given".to_owned() } else { places.join(", ") }
}

/// Loads one library. It asserts where a library is not what it seems, so panics are caught.
fn start(library: &Path) -> Result<Environment, String> {
    let start = AssertUnwindSafe(|| {
        let builder = ::ort::init_from(library).map_err(|error| error.to_string())?;
        builder
            .with_name("rag")
            .with_telemetry(false)
            // It would write to stderr, which is the screen's; what matters comes back as an error.
            .with_logger(Arc::new(|_, _, _, _, _| {}))
            .build()
            .map_err(|error| error.to_string())
    });
    catch_unwind(start).unwrap_or_else(|_| Err("it is not an ONNX Runtime of version 1.17 or later".to_owned()))
}
