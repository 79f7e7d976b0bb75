"""What the official client reads of `rag serve`; BASE_URL names it."""

import os

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key="any", max_retries=0)
question = [{"role": "user", "content": "When is the quay closed?"}]
wanted = "The quay is closed on Mondays [1]."

whole = client.chat.completions.create(model="rag", messages=question)
assert whole.choices[0].message.content == wanted, whole
assert whole.choices[0].finish_reason == "stop"
citation = whole.choices[0].message.annotations[0].url_citation
assert citation.title == "Quay" and citation.url.startswith("rag://doc/"), citation
assert whole.rag["schema"] == "rag.answer/1"

stream = client.chat.completions.create(
    model="rag", messages=question, stream=True, stream_options={"include_usage": True}
)
text, usage = "", None
for chunk in stream:
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
    usage = chunk.usage or usage
assert text == wanted, text
assert usage is not None

answer = client.responses.create(model="rag", input="When is the quay closed?")
assert answer.output_text == wanted, answer
assert answer.output[0].content[0].annotations[0].type == "url_citation"
final = None
text = ""
for event in client.responses.create(model="rag", input="When is the quay closed?", stream=True):
    if event.type == "response.output_text.delta":
        text += event.delta
    if event.type == "response.completed":
        final = event.response
assert text == wanted and final.output_text == wanted, (text, final)
with client.responses.stream(model="rag", input="When is the quay closed?") as stream:
    stream.until_done()
    assert stream.get_final_response().output_text == wanted

packed = client.embeddings.create(model="rag", input=["the quay", "a tide"])
floats = client.embeddings.create(model="rag", input=["the quay", "a tide"], encoding_format="float")
for one, other in zip(packed.data, floats.data):
    assert len(one.embedding) == len(other.embedding) > 0
    assert all(abs(a - b) < 1e-6 for a, b in zip(one.embedding, other.embedding))
assert [model.id for model in client.models.list()][0] == "rag"
assert client.models.retrieve("rag").id == "rag"
try:
    client.chat.completions.create(model="rag", messages=[])
    raise SystemExit("an empty conversation was answered")
except openai.BadRequestError as error:
    assert error.body["type"] == "usage", error.body
print("all is well")
