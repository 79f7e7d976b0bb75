"""The official Python client talks with `rag mcp`: over standard input and output, or over HTTP.

Usage: session.py MODE URL | session.py MODE -- PROGRAM ARGUMENT…
MODE: auto, legacy or a revision. Prints one JSON object. The client checks every result against the tool's output schema.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def talk(mode, server):
    async with Client(server, mode=mode, read_timeout_seconds=100) as client:
        tools = await client.list_tools()
        names = [tool.name for tool in tools.tools]
        first = await client.call_tool("remember", {"content": "Ada likes the quay.", "key": "ada", "tags": ["t"]})
        found = await client.call_tool("recall", {"query": "what does Ada like"})
        search = await client.call_tool("search", {"query": "How long do refunds take?", "k": 2})
        hit = search.structured_content["results"][0]
        read = await client.call_tool("get", {"id": hit["document_id"]})
        around = await client.call_tool("neighbors", {"id": hit["id"]})
        answer = await client.call_tool("ask", {"question": "How long do refunds take?"})
        status = await client.call_tool("status", {})
        listed = await client.call_tool("list_sources", {"limit": 3})
        wrong = await client.call_tool("search", {"query": "x", "colour": "red"})
        resources = await client.list_resources()
        resource = await client.read_resource(resources.resources[0].uri)
        prompt = await client.get_prompt("ask_docs", {"question": "How long?"})
        gone = await client.call_tool("forget", {"key": "ada"})
        results = [first, found, search, read, around, answer, status, listed, gone]
        print(json.dumps({
            "version": client.protocol_version,
            "tools": names,
            "memory": found.structured_content["memories"][0]["content"],
            "errors": [result.is_error for result in results],
            "wrong": wrong.is_error,
            "resource": len(resource.contents[0].text),
            "prompt": prompt.messages[0].content.text,
            "answer": answer.structured_content["status"],
        }))


def main():
    mode, rest = sys.argv[1], sys.argv[2:]
    if rest[0] == "--":
        server = StdioServerParameters(command=rest[1], args=rest[2:])
    else:
        server = rest[0]
    asyncio.run(talk(mode, server))


main()
