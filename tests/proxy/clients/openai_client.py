"""The official client, unmodified: whole, streamed, counted, embedded. Prints one JSON line."""
import json
import sys

import openai
from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="sk-of-the-test", max_retries=0)
asked = dict(model="m", temperature=0, messages=[{"role": "user", "content": "How high is it?"}])
told = {"cache": [], "texts": []}


def tell(response, text):
    told["cache"].append(response.headers.get("x-rag-cache"))
    told["texts"].append(text)


for _ in range(2):
    raw = client.chat.completions.with_raw_response.create(**asked)
    whole = raw.parse()
    assert whole.usage.total_tokens > 0, whole
    tell(raw, whole.choices[0].message.content)
for counts in (False, True):
    options = {"stream_options": {"include_usage": True}} if counts else {}
    with client.chat.completions.with_streaming_response.create(**asked, stream=True, **options) as raw:
        chunks = list(raw.parse())
        usage = [chunk.usage for chunk in chunks if chunk.usage]
        assert len(usage) == int(counts), usage
        tell(raw, "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))
for _ in range(2):
    raw = client.embeddings.with_raw_response.create(model="e", input=["one", "two"])
    vectors = [item.embedding for item in raw.parse().data]
    tell(raw, vectors)
told["models"] = [model.id for model in client.models.list()]
try:
    client.chat.completions.create(**asked, seed=1, extra_headers={"x-rag-cache": "only"})
except openai.APIStatusError as error:
    told["refused"] = [error.status_code, error.code]
print(json.dumps(told))
