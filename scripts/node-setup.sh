#!/bin/sh
# Sets up the official JavaScript client of OpenAI for the tests, in .node-test. Safe to run again.
set -eu
cd "$(dirname "$0")/.."

version=7.59.0
folder=.node-test
[ "$(cat "$folder/openai-version" 2>/dev/null)" = "$version" ] && exit 0
mkdir -p "$folder"
[ -f "$folder/package.json" ] || echo '{ "private": true }' > "$folder/package.json"
npm install --prefix "$folder" --no-audit --no-fund --loglevel=error --save-exact "openai@$version"
echo "$version" > "$folder/openai-version"
