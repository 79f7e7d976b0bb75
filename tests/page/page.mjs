// The page in a real browser: search as one types, open a passage in its document, ask, read the list, write nothing.
// Usage: node page.mjs URL FOLDER-FOR-SCREENSHOTS. Prints one line a check; ends with 1 at the first that fails.

import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.NODE_MODULES ?? process.cwd(), "x.js"));
const { chromium } = require("playwright-core");
const [url, out] = process.argv.slice(2);

function check(what, is, told = "") {
  console.log(`${is ? "ok" : "FAILED"}: ${what} ${is ? "" : told}`);
  if (!is) process.exit(1);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1000, height: 800 }, colorScheme: "light" });
page.setDefaultTimeout(20_000);
const wrong = [];
const elsewhere = [];
page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
page.on("pageerror", (error) => wrong.push(String(error)));
page.on("request", (request) => {
  if (!request.url().startsWith(url) && !request.url().startsWith("data:")) elsewhere.push(request.url());
});

await page.goto(url);
await page.waitForFunction(() => document.getElementById("holds").textContent.includes("document"));
check("it says how much there is", /\d+ documents?/.test(await page.textContent("#holds")));

// Search while typing; no key is pressed but letters.
await page.locator("#text").pressSequentially("how are refunds handled", { delay: 5 });
await page.waitForSelector("main .card mark");
const first = page.locator("main .card").first();
check("results come while typing", (await first.textContent()).includes("faq.html"), await first.textContent());
check("matches are marked", (await first.locator("mark").count()) > 0);
check("the address holds the search", page.url().includes("q=how%20are%20refunds%20handled"), page.url());
await page.screenshot({ path: path.join(out, "page-light.png") });

// Down and Enter open the first result, the passage in sight.
await page.keyboard.press("ArrowDown");
await page.keyboard.press("Enter");
await page.waitForSelector("#reader[open] .passage");
check("the passage is marked in its document", (await page.textContent("#reader .passage")).includes("refunds"), await page.textContent("#reader .passage"));
check("the passage is in sight", await page.locator("#reader .passage").first().isVisible());
await page.keyboard.press("Escape");
check("Escape closes it", (await page.locator("#reader[open]").count()) === 0);

// A filter narrows down.
await page.click("#more summary");
await page.fill("#filter", "type:markdown");
await page.locator("#filter").press("Enter");
await page.waitForFunction(() => {
  const places = [...document.querySelectorAll("main .card .place")];
  return places.length > 0 && places.every((place) => place.textContent.includes(".md"));
});
check("a filter narrows down", true);
await page.fill("#filter", "nonsense:x");
await page.locator("#filter").press("Enter");
await page.waitForSelector("#note.bad");
check("a wrong filter is told", /nonsense/.test(await page.textContent("#note")), await page.textContent("#note"));
await page.fill("#filter", "");
await page.click("#more summary");

// Ask: an answer with numbers that open what they cite.
await page.click("#tab-ask");
await page.fill("#text", "How long is the warranty of the Otter 3?");
await page.click("#go");
await page.waitForSelector("main .answer .cite");
check("the answer has the fact", (await page.textContent(".answer")).includes("36 months"), await page.textContent(".answer"));
await page.locator(".answer .cite").first().click();
await page.waitForSelector("#reader[open] .passage");
check("a citation opens its sentence", (await page.textContent("#reader .passage")).includes("36 months"));
await page.emulateMedia({ colorScheme: "dark" });
await page.keyboard.press("Escape");
await page.screenshot({ path: path.join(out, "page-dark.png") });
await page.emulateMedia({ colorScheme: "light" });
await page.click("#theme");
const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
await page.click("#theme");
const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
check("light and dark differ", dark !== light, `${dark} ${light}`);

// Documents, by key.
await page.click("main");
await page.keyboard.press("d");
await page.waitForSelector("main table tbody tr");
check("documents are listed with their state", (await page.textContent("main table")).includes("indexed"));
check("nothing can be dropped where writing is off", (await page.locator(".drop").count()) === (process.env.MAY_WRITE ? 1 : 0));
if (process.env.MAY_WRITE) {
  await page.setInputFiles(".drop input", { name: "<img src=x onerror=alert(1)>.md", mimeType: "text/markdown", buffer: Buffer.from("# <script>alert(1)</script>\n\nThe heron nests <b>by</b> the weir.\n") });
  await page.waitForFunction(() => /1 added/.test(document.getElementById("note").textContent));
  await page.keyboard.press("Escape");
  await page.click("#tab-search");
  await page.fill("#text", "heron weir");
  await page.waitForFunction(() => document.querySelector("main .card")?.textContent.includes("heron"));
  check("what was dropped is found", true);
  check("its markup is text", (await page.locator("main .card img, main .card script, main .card b").count()) === 0);
}

// Back goes back.
const here = page.url();
await page.goBack();
await page.waitForFunction((before) => location.href !== before, here);
const shown = await page.evaluate(() => [document.querySelector("[role=tab][aria-selected=true]").dataset.view, document.getElementById("text").value]);
check("the page goes back to what it showed", page.url().includes(`#${shown[0]}?q=${encodeURIComponent(shown[1])}`), `${page.url()} ${shown}`);

check("nothing is fetched from elsewhere", elsewhere.length === 0, elsewhere.join(" "));
const told = wrong.filter((text) => !/400 \(Bad Request\)/.test(text));
check("the browser complains of nothing", told.length === 0, told.join("\n"));
await browser.close();
