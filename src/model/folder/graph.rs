//! A graph of the user's own on the runtime that is compiled in: ids in, numbers out, one text a run.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueView};

use super::{graph_of, tokens::Ids};
use crate::model::{Error, Result};

/// A loaded graph of one output. Called from several threads at once.
pub struct Graph {
    model: Model,
    input_ids: NodeId,
    attention_mask: Option<NodeId>,
    token_type_ids: Option<NodeId>,
    output: NodeId,
    /// The graph gives one vector a text, not one a token.
    pub pools: bool,
    /// Pools of one thread that no run uses now; as many come to be as callers run at once.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

impl Graph {
    /// Loads the graph of a folder. `prepare`: many texts will be run. Errors: `Io` where there is none; `Run` for one that
    /// this runtime cannot run, or whose inputs have other names than BERT's.
    pub fn load(folder: &Path, prepare: bool) -> Result<Self> {
        let path = graph_of(folder)?;
        let failed = |why: String| Error::Run { model: folder.display().to_string(), why };
        let mut options = ModelOptions::with_all_ops();
        options.enable_optimization(prepare).prepack_weights(prepare);
        let model = options.load_file(&path).map_err(|error| failed(error.to_string()))?;
        let input_ids = model.node_id("input_ids").map_err(|error| failed(error.to_string()))?;
        let pooled = model.find_node("sentence_embedding");
        let first = || model.output_ids().first().copied();
        let output = pooled.or_else(first).ok_or_else(|| failed("the graph has no output".into()))?;
        Ok(Self {
            input_ids,
            attention_mask: model.find_node("attention_mask"),
            token_type_ids: model.find_node("token_type_ids"),
            output,
            pools: pooled.is_some(),
            model,
            idle: Mutex::default(),
        })
    }

    /// Runs one text, all of its ids attended to. Gives the output's shape and its values.
    pub fn run(&self, text: &Ids) -> Result<(Vec<usize>, Vec<f32>), String> {
        // Ids are lines of a vocabulary: far below the limit of i32, which is what rten takes for int64.
        let numbers = |values: &[u32]| values.iter().map(|&value| value.cast_signed()).collect::<Vec<i32>>();
        let (ids, types) = (numbers(&text.ids), numbers(&text.types));
        let mask = vec![1i32; ids.len()];
        let row = |values| ValueView::from_shape([1, ids.len()], values).map_err(|error| error.to_string());
        let mut inputs = vec![(self.input_ids, row(&ids)?.into())];
        for (node, values) in [(self.attention_mask, &mask), (self.token_type_ids, &types)] {
            if let Some(node) = node {
                inputs.push((node, row(values)?.into()));
            }
        }
        let [output] = self
            .with_pool(|pool| {
                let options = RunOptions::default().with_thread_pool(Some(pool));
                self.model.run_n(inputs, [self.output], Some(options))
            })
            .map_err(|error| error.to_string())?;
        let Value::FloatTensor(values) = output else { return Err("its output is not made of floats".to_owned()) };
        let shape = rten_tensor::Layout::shape(&values).to_vec();
        Ok((shape, values.into_data()))
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
