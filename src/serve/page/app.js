// Search, ask and read, with the routes that every other client has. No text of a document is ever parsed as HTML:
// every node is made here, and text goes in as text.

const $ = (id) => document.getElementById(id);
const bytes = new TextEncoder();
const letters = new TextDecoder();

/** An element: `el("p", {class: "quiet"}, "text", child)`. */
function el(name, facts = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(facts)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return node;
}

// What goes over the wire.

class Refused extends Error {
  constructor(status, detail) {
    super(detail?.message ?? `the server answered ${status}`);
    this.status = status;
    this.hint = detail?.hint;
  }
}

const key = { get: () => sessionStorage.getItem("key"), set: (value) => sessionStorage.setItem("key", value) };

async function call(route, { body, signal, method, raw, headers = {} } = {}) {
  const send = { method: method ?? (body === undefined ? "GET" : "POST"), signal, headers: { ...headers } };
  if (key.get()) send.headers.authorization = `Bearer ${key.get()}`;
  if (body instanceof FormData) send.body = body;
  else if (body !== undefined) {
    send.headers["content-type"] = "application/json";
    send.body = JSON.stringify(body);
  }
  const answer = await fetch(route, send);
  if (answer.ok) return raw ? answer : answer.json();
  const detail = await answer.json().then((read) => read.error, () => undefined);
  if (answer.status === 401 && (await askForKey())) return call(route, { body, signal, method, raw, headers });
  throw new Refused(answer.status, detail);
}

/** One question at a time, whoever needs the key. */
let asking;
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = $("login");
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      const given = $("key").value;
      $("key").value = "";
      asking = undefined;
      if (given) key.set(given);
      resolve(Boolean(given));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

/** The events of a stream: `for await (const {event, data} of events(answer))`. */
async function* events(answer) {
  let text = "";
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    text += value ?? "";
    for (let end; (end = text.search(/\r?\n\r?\n/)) >= 0; ) {
      const block = text.slice(0, end);
      text = text.slice(end).replace(/^\r?\n\r?\n/, "");
      const field = (name) => block.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart());
      const data = field("data").join("\n");
      if (data) yield { event: field("event")[0] ?? "message", data: JSON.parse(data) };
    }
    if (done) return;
  }
}

// What is said on the page.

function note(text, bad = false) {
  $("note").textContent = text;
  $("note").classList.toggle("bad", bad);
}

function failed(error) {
  if (error.name === "AbortError") return;
  const what = error instanceof TypeError ? "the server cannot be reached" : error.message;
  note(error.hint ? `${what} — ${error.hint}` : what, true);
}

const count = (n, word) => `${n.toLocaleString()} ${word}${n === 1 ? "" : "s"}`;
const strengthClass = (relevance) => (relevance >= 0.5 ? "good" : relevance >= 0.2 ? "warn" : "bad");

/** `path:12-30`, `path p. 7`, as the terminal says it. */
function place(path, lines, pages) {
  const range = ([first, last]) => (first === last ? first : `${first}-${last}`);
  if (pages) {
    const word = /\.(pptx|pptm|ppsx|ppsm|potx|potm|odp|otp|fodp)$/i.test(path) ? "slide" : /\.(xlsx|xlsm|xltx|xltm|xlsb|xls|xlt|ods|ots|fods)$/i.test(path) ? "sheet" : /\.epub$/i.test(path) ? "chapter" : "p.";
    return `${path} ${word} ${range(pages)}`;
  }
  return lines ? `${path}:${range(lines)}` : path;
}

/** A text with byte ranges marked. Ranges come sorted, and none overlaps another. */
function marked(text, ranges) {
  const all = bytes.encode(text);
  const out = [];
  let at = 0;
  for (const [from, to] of ranges) {
    if (from < at) continue;
    out.push(letters.decode(all.subarray(at, from)), el("mark", {}, letters.decode(all.subarray(from, to))));
    at = to;
  }
  out.push(letters.decode(all.subarray(at)));
  return out.filter((part) => part !== "");
}

const narrowed = () => {
  const request = {};
  for (const name of ["filter", "collection", "mode"]) if ($(name).value.trim()) request[name] = $(name).value.trim();
  return request;
};

// Search.

let pending;
function begin() {
  pending?.abort();
  pending = new AbortController();
  return pending.signal;
}

async function search(text) {
  if (!text.trim()) {
    begin();
    $("main").replaceChildren();
    return note("");
  }
  const signal = begin();
  try {
    const found = await call("v1/query", { body: { text, ...narrowed() }, signal });
    if (signal.aborted) return;
    $("main").replaceChildren(...found.results.map(card));
    const words = { found: "", weak: "Weak matches only: the documents may not speak of this.", nothing: "No good match: what is shown is merely nearest." };
    const said = found.results.length ? words[found.strength] : "Nothing in the documents matches.";
    const miss = found.near_miss ? `Without that condition the best is ${place(found.near_miss.path, found.near_miss.lines, found.near_miss.pages)}.` : "";
    note([said, miss, ...found.notes].filter(Boolean).join(" "));
  } catch (error) {
    failed(error);
  }
}

function card(hit) {
  const heading = [hit.title, ...hit.heading].filter((part, i, all) => part && part !== all[i - 1]).join(" › ");
  const copies = hit.copies?.length ? `also in ${hit.copies.slice(0, 5).map((copy) => copy.path).join(", ")}` : "";
  return el("button", { type: "button", class: "card", "data-open": true, onclick: () => read(hit.source_id, [hit.byte_range], hit.lines) },
    el("span", { class: `relevance ${strengthClass(hit.relevance)}`, title: "relevance" }, hit.relevance.toFixed(2)),
    el("span", { class: "place" }, place(hit.path, hit.lines, hit.pages)),
    hit.state ? el("span", { class: "badge warn" }, hit.state) : "",
    heading ? el("div", { class: "heading" }, heading) : "",
    el("div", {}, ...marked(hit.snippet.text, hit.snippet.highlights)),
    copies ? el("div", { class: "quiet" }, copies) : "");
}

// Ask.

let cited = [];
const said = [];

async function ask(text) {
  if (!text.trim()) return;
  const signal = begin();
  cited = [];
  const box = el("div", { class: "answer waiting", "aria-live": "polite" });
  $("main").replaceChildren(box);
  note("Looking…");
  try {
    const answer = await call("v1/ask", { body: { text, stream: true, history: said.slice(-6), ...narrowed() }, signal, raw: true, headers: { accept: "text/event-stream" } });
    for await (const { event, data } of events(answer)) {
      if (signal.aborted) return;
      if (event === "retrieved") note("Answering; citations are checked at the end.");
      else if (event === "text") box.append(data.text);
      else if (event === "answer") show(data, box);
      else if (event === "error") throw new Refused(0, data.error);
    }
    box.classList.remove("waiting");
  } catch (error) {
    box.classList.remove("waiting");
    // Another question took the place of this one, and says what it does itself.
    if (pending?.signal !== signal) return;
    if (error.name === "AbortError") return note("Stopped.");
    failed(error);
  }
}

function show(answer, box) {
  box.classList.remove("waiting");
  cited = answer.sources.filter((source) => source.cited);
  const all = bytes.encode(answer.answer);
  const parts = [];
  let at = 0;
  for (const sentence of answer.sentences) {
    if (sentence.start < at) continue;
    parts.push(...withMarkers(letters.decode(all.subarray(at, sentence.start)), answer));
    const text = letters.decode(all.subarray(sentence.start, sentence.end));
    parts.push(el("span", { class: `sentence ${sentence.state}`, title: sentence.reason ?? sentence.state }, ...withMarkers(text, answer, sentence)));
    at = sentence.end;
  }
  parts.push(...withMarkers(letters.decode(all.subarray(at)), answer));
  box.replaceChildren(...parts);
  const words = {
    answered: "Every citation was checked against its passage.",
    extractive: "Sentences of the documents; no model wrote this.",
    unsupported: "No sentence of this answer is supported by its sources.",
    refused: "The model refused.",
    no_answer: "The documents do not answer this.",
  };
  if (!answer.answer) box.replaceChildren(words[answer.status] ?? "");
  note([answer.answer ? words[answer.status] : "", ...answer.notes].filter(Boolean).join(" "), answer.status === "unsupported");
  const shown = cited.length ? cited : answer.sources.slice(0, 5);
  if (shown.length) {
    $("main").append(el("h3", {}, cited.length ? "Sources" : "Read"), ...shown.map((source) => sourceCard(source, answer)));
  }
  if (answer.answer) said.push({ question: answer.question, answer: answer.answer, ...(answer.searched ? { searched: answer.searched } : {}) });
}

/** `[1]` and `[1][2]` become buttons, where such a source is. */
function withMarkers(text, answer, sentence) {
  return text.split(/(\[\d+\])/).filter(Boolean).map((part) => {
    const n = Number(/^\[(\d+)\]$/.exec(part)?.[1]);
    const source = answer.sources.find((one) => one.n === n);
    if (!source) return part;
    const citation = sentence?.citations.find((one) => one.n === n);
    return el("button", { type: "button", class: "cite", title: place(source.source, source.lines, source.pages), onclick: () => openSource(source, citation ? [citation] : []) }, part);
  });
}

function sourceCard(source, answer) {
  const quotes = answer.sentences.flatMap((sentence) => sentence.citations).filter((citation) => citation.n === source.n && citation.quote);
  return el("button", { type: "button", class: "card", "data-open": true, onclick: () => openSource(source, quotes) },
    el("span", { class: "place" }, `[${source.n}] ${place(source.source, source.lines, source.pages)}`),
    source.state ? el("span", { class: "badge warn" }, source.state) : "",
    el("div", { class: "heading" }, [source.title, ...source.heading].filter((part, i, all) => part && part !== all[i - 1]).join(" › ")),
    quotes.length ? el("div", {}, `“${quotes[0].quote}”`) : "");
}

function openSource(source, citations) {
  const quotes = citations.map(({ quote_start, quote_end }) => [quote_start, quote_end]).filter(([from, to]) => to > from);
  read(source.source_id, quotes.length ? quotes : [source.byte_range], source.lines);
}

// A document, with passages marked.

/** So many chunks around a passage are shown of a long document. */
const AROUND = 40;

async function read(id, ranges, lines) {
  try {
    const shown = await call("v1/show", { body: { what: id } });
    const { document: facts, chunks } = shown;
    if (!chunks.length) return note("This document has no text.", true);
    $("reader-title").textContent = facts?.path ?? chunks[0].path;
    const about = [facts?.title, facts?.type, facts?.lang, facts?.pages ? count(facts.pages, "page") : "", count(chunks.length, "chunk"), facts?.author];
    $("reader-facts").textContent = about.filter(Boolean).join(" · ");
    chunks.sort((a, b) => a.ordinal - b.ordinal);
    fill(chunks, ranges.map(([from, to]) => [from, to]).sort((a, b) => a[0] - b[0]));
    if (!$("reader").open) $("reader").showModal();
    const first = $("reader-text").querySelector(".passage");
    (first ?? $("reader-text")).scrollIntoView({ block: first ? "center" : "start" });
    $("reader-text").focus({ preventScroll: true });
  } catch (error) {
    failed(error);
  }
}

function fill(chunks, ranges, whole = false) {
  const touches = (chunk) => ranges.some(([from, to]) => from < chunk.byte_range[1] && to > chunk.byte_range[0]);
  const at = Math.max(0, chunks.findIndex(touches));
  const [from, to] = whole ? [0, chunks.length] : [Math.max(0, at - AROUND), Math.min(chunks.length, at + AROUND + 1)];
  const text = $("reader-text");
  const everything = (label) => el("button", { type: "button", onclick: () => fill(chunks, ranges, true) }, label);
  const parts = [];
  if (from > 0) parts.push(everything(`${count(from, "chunk")} before`));
  let end = chunks[from].byte_range[0];
  let heading = "";
  for (const chunk of chunks.slice(from, to)) {
    const [start, stop] = chunk.byte_range;
    const where = [chunk.pages ? place(chunk.path, null, chunk.pages).slice(chunk.path.length + 1) : "", ...chunk.heading].filter(Boolean).join(" › ");
    if (where !== heading && where) parts.push(el("span", { class: "where" }, where));
    else if (start > end) parts.push("\n");
    heading = where;
    if (stop > end) {
      const all = bytes.encode(chunk.text);
      const begins = Math.max(start, end);
      parts.push(...cutAt(all, start, begins, stop, ranges));
      end = stop;
    }
  }
  if (to < chunks.length) parts.push("\n", everything(`${count(chunks.length - to, "chunk")} after`));
  text.replaceChildren(...parts);
}

/** The bytes of a chunk from `begins` to `stop` of its document, what is within a range marked. */
function cutAt(all, start, begins, stop, ranges) {
  const out = [];
  let at = begins;
  const upTo = (where, isPassage) => {
    if (where <= at) return;
    const text = letters.decode(all.subarray(at - start, where - start));
    out.push(isPassage ? el("mark", { class: "passage" }, text) : text);
    at = where;
  };
  for (const [from, to] of ranges) {
    upTo(Math.min(from, stop), false);
    upTo(Math.min(to, stop), from <= at && at < to);
  }
  upTo(stop, false);
  return out;
}

// Documents.

let mayWrite = false;

async function documents(filter) {
  const signal = begin();
  const body = { limit: 200, ...narrowed() };
  delete body.mode;
  if (filter.trim()) body.filter = filter.trim();
  const rows = el("tbody");
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...["Document", "Type", "State", "Chunks", "Size"].map((name) => el("th", { scope: "col" }, name)))), rows);
  const more = el("button", { type: "button", hidden: true }, "More");
  const page = async (cursor) => {
    try {
      const list = await call("v1/list", { body: { ...body, ...(cursor ? { cursor } : {}) }, signal });
      rows.append(...list.documents.map(row));
      more.hidden = !list.next;
      more.onclick = () => page(list.next);
      note(rows.childElementCount ? `${count(rows.childElementCount, "document")}${list.next ? " so far" : ""}` : "No documents.");
    } catch (error) {
      failed(error);
    }
  };
  $("main").replaceChildren(...(mayWrite ? [dropZone()] : []), table, more);
  await page();
}

function row(source) {
  const bad = source.status !== "indexed" || source.problems?.length;
  const why = (source.problems ?? []).map((problem) => problem.message ?? problem.kind).join("; ");
  return el("tr", {},
    el("td", {}, el("button", { type: "button", "data-open": true, onclick: () => read(source.source_id, []) }, source.path), source.title ? el("div", { class: "quiet" }, source.title) : ""),
    el("td", {}, source.type),
    el("td", { class: bad ? (source.status === "failed" ? "bad" : "warn") : "good" }, source.status, why ? el("div", { class: "quiet" }, why) : ""),
    el("td", { class: "number" }, String(source.chunks)),
    el("td", { class: "number" }, size(source.size)));
}

function size(n) {
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  while (n >= 1000 && at < 3) [n, at] = [n / 1000, at + 1];
  return `${at ? n.toFixed(1) : n} ${units[at]}`;
}

function dropZone() {
  const picker = el("input", { type: "file", multiple: true, hidden: true, onchange: () => upload([...picker.files]) });
  const zone = el("div", { class: "drop" }, "Drop files here, or ", el("button", { type: "button", onclick: () => picker.click() }, "choose them"), picker);
  const over = (is) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", is);
  };
  zone.addEventListener("dragover", over(true));
  zone.addEventListener("dragleave", over(false));
  zone.addEventListener("drop", (event) => {
    over(false)(event);
    upload([...event.dataTransfer.files]);
  });
  return zone;
}

async function upload(files) {
  if (!files.length) return;
  note(`Reading ${count(files.length, "file")}…`);
  const form = new FormData();
  for (const file of files) form.append("file", file, file.webkitRelativePath || file.name);
  try {
    const report = await call("v1/documents", { body: form });
    const number = (word) => report[word]?.length ?? report[word] ?? 0;
    const words = ["added", "updated", "unchanged", "failed"].filter(number).map((word) => `${number(word)} ${word}`);
    const why = (report.failed ?? []).map((one) => `${one.path}: ${one.problems?.[0]?.message ?? "failed"}`);
    await documents($("text").value);
    note([words.join(", ") || "nothing to do", ...why].join("; "), why.length > 0);
    holds();
  } catch (error) {
    failed(error);
  }
}

// The house.

const views = { search, ask, documents };
let view = "search";
const labels = {
  search: ["Search", "words, or a question"],
  ask: ["Ask", "What do the documents say about …?"],
  documents: ["Show", "type:pdf path:guides/**   (a filter; empty: all)"],
};

/** A question goes along from search to ask and back; the filter of the list is a text of its own. */
const kept = { question: "", list: "" };
const kind = () => (view === "documents" ? "list" : "question");

function go(name, text) {
  kept[kind()] = $("text").value;
  view = name in views ? name : "search";
  for (const tab of document.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", String(tab.dataset.view === view));
  const [label, hint] = labels[view];
  $("go").textContent = label;
  $("text").placeholder = hint;
  $("text").value = text ?? kept[kind()];
  note("");
  if (view !== "ask" || !$("text").value.trim()) $("main").replaceChildren();
  if (view !== "ask") views[view]($("text").value);
}

function remember(push) {
  const address = `#${view}?q=${encodeURIComponent($("text").value)}`;
  if (location.hash === address) return;
  history[push ? "pushState" : "replaceState"](null, "", address);
}

function fromAddress() {
  const [name, query] = location.hash.slice(1).split("?");
  const text = new URLSearchParams(query ?? "").get("q") ?? "";
  go(name || "search", text);
  if (view === "ask" && text) ask(text);
}

async function holds() {
  try {
    const hello = await call("v1/hello");
    mayWrite = hello.scopes.includes("write");
    const { collections } = await call("v1/collections");
    const total = collections.reduce((sum, one) => sum + one.documents, 0);
    $("holds").textContent = count(total, "document");
    const chosen = $("collection").value;
    $("collection").replaceChildren(el("option", { value: "" }, "all"), ...collections.map(({ name, documents: n }) => el("option", { value: name }, `${name} (${n})`)));
    $("collection").value = chosen;
  } catch (error) {
    failed(error);
  }
}

let typing;
$("text").addEventListener("input", () => {
  clearTimeout(typing);
  if (view === "ask") return;
  typing = setTimeout(() => {
    remember(false);
    views[view]($("text").value);
  }, view === "search" ? 120 : 300);
});
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  remember(true);
  views[view]($("text").value);
});
for (const name of ["filter", "collection", "mode"]) $(name).addEventListener("change", () => view !== "ask" && views[view]($("text").value));
for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => {
    go(tab.dataset.view);
    remember(true);
    $("text").focus();
  });
}
for (const closer of document.querySelectorAll("[data-close]")) closer.addEventListener("click", () => closer.closest("dialog").close());
$("help").addEventListener("click", () => $("keys").showModal());
$("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(dark ? "light" : "dark");
});
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  if (theme) localStorage.setItem("theme", theme);
}
window.addEventListener("popstate", fromAddress);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const writes = event.target.matches("input, select, textarea");
  const cards = [...document.querySelectorAll("[data-open]")];
  const at = cards.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1, ...(writes ? {} : { j: 1, k: -1 }) }[event.key];
  if (event.key === "Escape") {
    pending?.abort();
    if (!writes) $("text").focus();
  } else if (step && cards.length && event.target.tagName !== "SELECT") {
    event.preventDefault();
    const next = at < 0 ? (step > 0 ? 0 : -1) : at + step;
    (cards[next] ?? $("text")).focus();
  } else if (!writes && event.key === "/") {
    event.preventDefault();
    $("text").focus();
    $("text").select();
  } else if (!writes && event.key === "?") $("keys").showModal();
  else if (!writes && { s: 1, a: 1, d: 1 }[event.key]) {
    event.preventDefault();
    go({ s: "search", a: "ask", d: "documents" }[event.key]);
    remember(true);
    $("text").focus();
  } else if (!writes && view === "ask" && /^[1-9]$/.test(event.key)) {
    const source = cited.find((one) => one.n === Number(event.key));
    if (source) openSource(source, []);
  }
});

setTheme(localStorage.getItem("theme"));
holds();
fromAddress();
