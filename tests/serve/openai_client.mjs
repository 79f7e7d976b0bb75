// What the official client reads of `rag serve`; BASE_URL names it.
import assert from "node:assert/strict";

import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "any", maxRetries: 0 });
const messages = [{ role: "user", content: "When is the quay closed?" }];
const wanted = "The quay is closed on Mondays [1].";

const whole = await client.chat.completions.create({ model: "rag", messages });
assert.equal(whole.choices[0].message.content, wanted);
assert.equal(whole.choices[0].message.annotations[0].url_citation.title, "Quay");
assert.equal(whole.rag.schema, "rag.answer/1");

let text = "";
for await (const chunk of await client.chat.completions.create({ model: "rag", messages, stream: true })) {
  text += chunk.choices[0]?.delta?.content ?? "";
}
assert.equal(text, wanted);
const runner = client.chat.completions.stream({ model: "rag", messages });
assert.equal(await runner.finalContent(), wanted);

const answer = await client.responses.create({ model: "rag", input: messages });
assert.equal(answer.output_text, wanted);
text = "";
for await (const event of await client.responses.create({ model: "rag", input: "When is the quay closed?", stream: true })) {
  if (event.type === "response.output_text.delta") text += event.delta;
}
assert.equal(text, wanted);

const packed = await client.embeddings.create({ model: "rag", input: ["the quay", "a tide"] });
const floats = await client.embeddings.create({ model: "rag", input: ["the quay", "a tide"], encoding_format: "float" });
assert.equal(packed.data.length, 2);
for (const at of [0, 1]) {
  assert.deepEqual(packed.data[at].embedding.map(Math.fround), floats.data[at].embedding.map(Math.fround));
}
const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
assert.equal(ids[0], "rag");
await assert.rejects(client.chat.completions.create({ model: "rag", messages: [] }), OpenAI.BadRequestError);
console.log("all is well");
