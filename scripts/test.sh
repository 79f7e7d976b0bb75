#!/usr/bin/env bash
# Runs every test in the release profile, which `make demo` has built already.
set -euo pipefail
cd "$(dirname "$0")/.."
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --release --locked --no-fail-fast
else
  cargo test --release --locked --no-fail-fast
fi
