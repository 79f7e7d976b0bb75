#!/bin/sh
# Installs what the test of the page takes: Chromium, from the system's packages, and playwright-core, at one version, in
# .node-test/page. Does nothing if they are there.
set -eu
cd "$(dirname "$0")/.."

if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }; } >&2
fi

version=1.64.1
folder=.node-test/page
installed=$(sed -n 's/^ *"version": *"\(.*\)".*/\1/p' "$folder/node_modules/playwright-core/package.json" 2>/dev/null | head -n 1 || true)
if [ "$installed" != "$version" ]; then
    mkdir -p "$folder"
    echo '{ "private": true }' > "$folder/package.json"
    npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "playwright-core@$version" >&2
fi
