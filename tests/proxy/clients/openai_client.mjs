// The official client, unmodified: whole, streamed, counted, embedded. Prints one JSON line.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , baseURL, folder] = process.argv;
const require = createRequire(pathToFileURL(folder + "/"));
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);

const client = new OpenAI({ baseURL, apiKey: "sk-of-the-test", maxRetries: 0 });
const asked = { model: "m", temperature: 0, messages: [{ role: "user", content: "How high is it?" }] };
const told = { cache: [], texts: [] };
const tell = (response, text) => {
  told.cache.push(response.headers.get("x-rag-cache"));
  told.texts.push(text);
};

for (let i = 0; i < 2; i++) {
  const { data, response } = await client.chat.completions.create(asked).withResponse();
  if (!(data.usage.total_tokens > 0)) throw new Error("no usage");
  tell(response, data.choices[0].message.content);
}
for (const counts of [false, true]) {
  const options = counts ? { stream_options: { include_usage: true } } : {};
  const { data, response } = await client.chat.completions.create({ ...asked, stream: true, ...options }).withResponse();
  let text = "";
  let counted = 0;
  for await (const chunk of data) {
    text += chunk.choices[0]?.delta?.content ?? "";
    counted += chunk.usage ? 1 : 0;
  }
  if (counted !== Number(counts)) throw new Error(`counted ${counted}`);
  tell(response, text);
}
for (let i = 0; i < 2; i++) {
  const { data, response } = await client.embeddings.create({ model: "e", input: ["one", "two"] }).withResponse();
  tell(response, data.data.map((item) => Array.from(item.embedding)));
}
told.models = [];
for await (const model of client.models.list()) told.models.push(model.id);
try {
  await client.chat.completions.create({ ...asked, seed: 1 }, { headers: { "x-rag-cache": "only" } });
} catch (error) {
  told.refused = [error.status, error.code];
}
console.log(JSON.stringify(told));
