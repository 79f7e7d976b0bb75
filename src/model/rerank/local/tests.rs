use std::fs;

use super::*;
use crate::model::wordpiece::{CLOSE, WordPiece};

/// Just enough of ONNX's protobuf to write a graph: fields of bytes and of numbers.
mod onnx {
    fn varint(mut number: u64, out: &mut Vec<u8>) {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    pub fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        varint(field << 3 | 2, &mut out);
        varint(value.as_ref().len() as u64, &mut out);
        out.extend_from_slice(value.as_ref());
        out
    }

    pub fn number(field: u64, value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        varint(field << 3, &mut out);
        varint(value, &mut out);
        out
    }

    /// A node: inputs, output, operator, and whole-number attributes.
    pub fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, u64)]) -> Vec<u8> {
        let mut node: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input)).collect();
        node.extend(bytes(2, output));
        node.extend(bytes(4, operator));
        for (name, value) in attributes {
            let attribute = [bytes(1, name), number(3, *value), number(20, 2)].concat();
            node.extend(bytes(5, attribute));
        }
        bytes(1, node)
    }

    /// An input or output of `[1, n]`; `kind` 7 is int64, 1 is float.
    pub fn value(field: u64, name: &str, kind: u64) -> Vec<u8> {
        let shape = [bytes(1, number(1, 1)), bytes(1, bytes(2, "n"))].concat();
        let tensor = [number(1, kind), bytes(2, shape)].concat();
        bytes(field, [bytes(1, name), bytes(2, bytes(1, tensor))].concat())
    }

    pub fn model(graph: Vec<u8>) -> Vec<u8> {
        let opset = [bytes(1, ""), number(2, 12)].concat();
        [number(1, 7), bytes(7, graph), bytes(8, opset)].concat()
    }
}

/// A model whose score is the sum of `ids × types`: of the ids of the passage.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let graph = [
        onnx::node("Mul", &["input_ids", "token_type_ids"], "second", &[]),
        onnx::node("Cast", &["second"], "numbers", &[("to", 1)]),
        onnx::node("ReduceSum", &["numbers"], "logits", &[("keepdims", 1)]),
        onnx::bytes(2, "sum"),
        onnx::value(11, "input_ids", 7),
        onnx::value(11, "token_type_ids", 7),
        onnx::value(12, "logits", 1),
    ];
    fs::write(dir.path().join("model.onnx"), onnx::model(graph.concat())).unwrap();
    let vocabulary = concat!(env!("CARGO_MANIFEST_DIR"), "/models/all-minilm-l6-v2-int8/vocab.txt");
    fs::copy(vocabulary, dir.path().join("vocab.txt")).unwrap();
    dir
}

#[test]
fn a_graph_from_a_folder_scores_each_passage() {
    let dir = folder();
    let model = LocalReranker::load(dir.path()).unwrap();
    let sum = |text: &str| WordPiece::builtin().encode(text).iter().sum::<u32>() as f32 + CLOSE as f32;
    let passages = ["high water", "", "low tide at noon"];
    let scores = model.rerank("when is the tide", &passages, Duration::from_secs(60)).unwrap().expect("in time");
    assert_eq!(scores, passages.map(sum));
    let long = "water ".repeat(2_000);
    let cut = model.rerank("tide", &[&long], Duration::from_secs(60)).unwrap().expect("in time");
    assert!(cut[0] < sum(&long), "what is too long is cut");
    assert_eq!(model.rerank("tide", &passages, Duration::ZERO).unwrap(), None);
}

#[test]
fn folders_that_are_no_model_are_told() {
    let dir = folder();
    fs::write(dir.path().join("vocab.txt"), "[PAD]\nhello\n").unwrap();
    let error = LocalReranker::load(dir.path()).err().expect("another vocabulary").to_string();
    assert!(error.contains("bert-base-uncased") && error.contains("tokenizer.json"), "{error}");
    fs::remove_file(dir.path().join("vocab.txt")).unwrap();
    assert!(matches!(LocalReranker::load(dir.path()), Err(Error::Io { .. })), "no vocabulary at all");
    let dir = folder();
    fs::write(dir.path().join("model.onnx"), "no graph").unwrap();
    assert!(matches!(LocalReranker::load(dir.path()), Err(Error::Run { .. })));
    fs::remove_file(dir.path().join("model.onnx")).unwrap();
    assert!(matches!(LocalReranker::load(dir.path()), Err(Error::Io { .. })));
}
