"""Goes through all tools with the official client: client.py [PROGRAM ]URL KEY CHANNEL REVISION.

With a program, that is started as the bridge to the address.

The client checks every answer against the tool's output schema. Prints one JSON object.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, channel: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        program, _, address = url.rpartition(" ")
        if program:
            arguments = ["mcp", "stdio", "--url", address]
            bridge = StdioServerParameters(command=program, args=arguments, env={"CHATKEEP_KEY": key})
            transport = stdio_client(bridge)
        else:
            transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = await client.list_tools()
            seen: list[str] = []
            arguments = {"channelId": channel, "limit": 4}
            while True:
                page = await client.call_tool("get_messages", arguments)
                assert not page.is_error, page
                seen += [row["id"] for row in page.structured_content["messages"]]
                if page.structured_content["nextCursor"] is None:
                    break
                arguments["cursor"] = page.structured_content["nextCursor"]
            channels = await client.call_tool("list_channels", {})
            members = await client.call_tool("get_members", {"channelId": channel})
            found = await client.call_tool("search_messages", {"query": "hello"})
            # With what a search tells beside its hits: the client refuses a result that is not valid.
            query = "hello OR world since:2026-01-01 from:Nobody"
            hinted = await client.call_tool("search_messages", {"query": query})
            assert len(hinted.structured_content["hints"]) == 2, hinted
            unknown = await client.call_tool("get_messages", {"channelId": "Cnone"})
            around = {"message": "m4", "before": 1, "after": 2}
            context = await client.call_tool("get_context", around)
            listed = await client.call_tool("list_channels", {"recent": True})
            documents = await client.call_tool("search", {"query": "hello"})
            document = documents.structured_content["results"][0]
            fetched = await client.call_tool("fetch", {"id": document["id"]})
            cited = {"url": "m4", "quoted": "hello"}
            citation = await client.call_tool("verify_citation", cited)
            templates = await client.list_resource_templates()
            resource = await client.read_resource(document["id"])
            overview = await client.call_tool("get_overview", {"channelId": channel, "days": 31})
            prompts = await client.list_prompts()
            prompt = await client.get_prompt("catch_up", {"days": "3"})
            read = (channels, members, found, hinted, context, listed)
            read += (documents, fetched, citation, overview)
            for answer in read:
                assert not answer.is_error and answer.content[0].text, answer
            said = {
                "revision": client.protocol_version,
                "server": client.server_info and client.server_info.name,
                "tools": [tool.name for tool in tools.tools],
                "messages": seen,
                "channels": [row["channelId"] for row in channels.structured_content["channels"]],
                "members": [row["userId"] for row in members.structured_content["members"]],
                "total": found.structured_content["total"],
                "context": [row["id"] for row in context.structured_content["messages"]],
                "lines": [
                    row["id"] for row in listed.structured_content["channels"][0]["recent"]
                ],
                "fetched": fetched.structured_content["id"] == document["id"],
                "verdict": citation.structured_content["verdict"],
                "templates": len(templates.resource_templates),
                "resource": "hello" in resource.contents[0].text,
                "overview": overview.structured_content["totals"]["messages"],
                "prompts": [prompt.name for prompt in prompts.prompts],
                "prompt": prompt.messages[0].content.text,
                "unknown": unknown.is_error and unknown.content[0].text,
            }
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
