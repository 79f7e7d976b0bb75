//! The graph on `rten`, which is compiled in: pure Rust, no library to find.

use std::sync::{Arc, Mutex, PoisonError};

use rten::{Model, ModelOptions, NodeId, RunOptions, ShapeInferenceMode, ThreadPool, Value, ValueView};

use super::{
    Profile, Runtime,
    graph::{GRAPH, WEIGHTS_NAME, weights},
};

/// The version that `Cargo.toml` asks for.
const NAME: &str = "rten 0.27";

pub(super) struct Rten {
    model: Model,
    input_ids: NodeId,
    attention_mask: NodeId,
    output: NodeId,
    /// Pools of one thread that no run uses now; as many come to be as callers run at once.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

impl Rten {
    pub(super) fn load(profile: Profile) -> Result<Self, String> {
        let prepare = profile == Profile::Throughput;
        let mut options = ModelOptions::with_all_ops();
        options
            .enable_optimization(prepare)
            .shape_inference(if prepare { ShapeInferenceMode::On } else { ShapeInferenceMode::Off })
            .prepack_weights(prepare)
            .external_data_static(WEIGHTS_NAME, weights());
        let model = options.load_static_slice(GRAPH).map_err(|error| error.to_string())?;
        let node = |name| model.node_id(name).map_err(|error| error.to_string());
        Ok(Self {
            input_ids: node("input_ids")?,
            attention_mask: node("attention_mask")?,
            output: node("sentence_embedding")?,
            model,
            idle: Mutex::default(),
        })
    }

    /// Runs something with a pool of one thread of its own.
    fn with_pool<R>(&self, run: impl FnOnce(Arc<ThreadPool>) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = idle().pop().unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
        let result = run(Arc::clone(&pool));
        idle().push(pool);
        result
    }
}

impl Runtime for Rten {
    fn run(&self, ids: &[u32]) -> Result<Vec<f32>, String> {
        // Ids are lines of a vocabulary: far below the limit of i32, which is what rten takes for int64.
        let ids: Vec<i32> = ids.iter().map(|&id| id.cast_signed()).collect();
        let mask = vec![1i32; ids.len()];
        let row = |values| ValueView::from_shape([1, ids.len()], values).map_err(|error| error.to_string());
        let inputs = vec![(self.input_ids, row(&ids)?.into()), (self.attention_mask, row(&mask)?.into())];
        let [vector] = self
            .with_pool(|pool| {
                let options = RunOptions::default().with_thread_pool(Some(pool));
                self.model.run_n(inputs, [self.output], Some(options))
            })
            .map_err(|error| error.to_string())?;
        let (_, values) = Value::into_shape_vec::<f32, 2>(vector).map_err(|error| error.to_string())?;
        Ok(values)
    }

    fn name(&self) -> String {
        NAME.to_owned()
    }
}
