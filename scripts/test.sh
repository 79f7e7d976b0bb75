#!/usr/bin/env bash
# Runs every test in the release profile, which `make demo` has built already.
set -euo pipefail
cd "$(dirname "$0")/.."
# Property tests draw the same cases in every run; another number draws others.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-7}
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --release --locked --no-fail-fast
else
  cargo test --release --locked --no-fail-fast
fi

[ -d "${RAG_SHARED:-../shared}" ] || echo "left out: the test collections and the corpus (no ../shared beside this checkout)"
[ -d .venv-test ] || [ -n "${RAG_TEST_ONNXRUNTIME:-}" ] || echo "left out: the built-in model on an ONNX Runtime"
[ -d .node-test/node_modules/openai ] || echo "left out: the JavaScript client of OpenAI"
[ -f .node-test/mcp/ready ] || echo "left out: the official clients, the inspector and the conformance suite of MCP"
[ -d .node-test/page/node_modules ] || echo "left out: the page in a browser"
[ -d .venv-llm ] || [ -n "${RAG_TEST_LLAMA:-}" ] || echo "left out: a real llama.cpp server"
