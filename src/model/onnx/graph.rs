//! The model's two files as they lie in the program: the graph, and the weights it refers to by file name.

/// The name under which the graph asks for [`WEIGHTS`].
pub(super) const WEIGHTS_NAME: &str = "model.onnx.data";

pub(super) static GRAPH: &[u8] = include_bytes!("../../../models/all-minilm-l6-v2-int8/model.onnx");

/// Graph and weights together.
pub fn built_in_bytes() -> u64 {
    (GRAPH.len() + weights().len()) as u64
}

/// Aligned for any element type, so that they can be read in place.
pub(super) fn weights() -> &'static [u8] {
    ::rten::include_external_data!("../../../models/all-minilm-l6-v2-int8/model.onnx.data")
}
