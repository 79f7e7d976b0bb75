#!/bin/sh
# Installs the official JavaScript client of OpenAI, at one version, into .node-test. Does nothing if it is there.
set -eu
cd "$(dirname "$0")/.."

version=7.59.0
installed=$(sed -n 's/^ *"version": *"\(.*\)".*/\1/p' .node-test/node_modules/openai/package.json 2>/dev/null | head -n 1 || true)
if [ "$installed" != "$version" ]; then
    mkdir -p .node-test
    [ -f .node-test/package.json ] || echo '{ "private": true }' > .node-test/package.json
    npm install --prefix .node-test --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "openai@$version" >&2
fi
echo "$PWD/.node-test"
