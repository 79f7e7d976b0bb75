#!/usr/bin/env bash
# Ingests sample-docs/ into a temporary index and asks it something. Usage: demo.sh PATH-TO-RAG
set -euo pipefail
rag=$(realpath "$1")
cd "$(dirname "$0")/.."
index=$(mktemp -d)
trap 'rm -rf "$index"' EXIT
export RAG_INDEX="$index/index"
run() {
  echo
  echo "\$ rag $*"
  "$rag" "${@}"
}
run ingest sample-docs
run query "how are refunds handled" -k 3
run ask "What does error E4 mean?" --extractive
