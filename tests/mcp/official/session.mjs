// The official TypeScript clients talk with `rag mcp`: over standard input and output, or over HTTP.
//
// Usage: session.mjs FOLDER PACKAGE MODE URL | session.mjs FOLDER PACKAGE MODE -- PROGRAM ARGUMENT…
// FOLDER holds node_modules; PACKAGE is `client` (both eras) or `sdk` (sessions). Prints one JSON object. The clients
// check every result against the tool's output schema.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [folder, name, mode, ...rest] = process.argv.slice(2);
const from = createRequire(path.join(folder, "package.json"));
const load = (what) => import(pathToFileURL(from.resolve(what)));

let Client, StdioClientTransport, StreamableHTTPClientTransport;
if (name === "client") {
  ({ Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client"));
  ({ StdioClientTransport } = await load("@modelcontextprotocol/client/stdio"));
} else {
  ({ Client } = await load("@modelcontextprotocol/sdk/client/index.js"));
  ({ StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js"));
  ({ StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js"));
}

const options = name === "client" ? { versionNegotiation: { mode: mode === "pin" ? { pin: "2026-07-28" } : mode } } : {};
const client = new Client({ name: "official", version: "1" }, options);
const transport =
  rest[0] === "--"
    ? new StdioClientTransport({ command: rest[1], args: rest.slice(2), stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(rest[0]));
await client.connect(transport);

const call = (tool, args) => client.callTool({ name: tool, arguments: args });
const tools = await client.listTools();
const first = await call("remember", { content: "Ada likes the quay.", key: "ada", tags: ["t"] });
const found = await call("recall", { query: "what does Ada like" });
const search = await call("search", { query: "How long do refunds take?", k: 2 });
const hit = search.structuredContent.results[0];
const read = await call("get", { id: hit.document_id });
const around = await call("neighbors", { id: hit.id });
const answer = await call("ask", { question: "How long do refunds take?" });
const status = await call("status", {});
const listed = await call("list_sources", { limit: 3 });
const wrong = await call("search", { query: "x", colour: "red" });
const resources = await client.listResources();
const resource = await client.readResource({ uri: resources.resources[0].uri });
const prompt = await client.getPrompt({ name: "ask_docs", arguments: { question: "How long?" } });
const gone = await call("forget", { key: "ada" });
const results = [first, found, search, read, around, answer, status, listed, gone];
console.log(
  JSON.stringify({
    version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null,
    tools: tools.tools.map((tool) => tool.name),
    memory: found.structuredContent.memories[0].content,
    errors: results.map((result) => result.isError === true),
    wrong: wrong.isError === true,
    resource: resource.contents[0].text.length,
    prompt: prompt.messages[0].content.text,
    answer: answer.structuredContent.status,
  }),
);
await client.close();
