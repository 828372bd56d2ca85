"""Goes through all tools with the official client: client.py URL KEY CHANNEL REVISION.

The client checks every answer against the tool's output schema. Prints one JSON object.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, channel: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
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
            unknown = await client.call_tool("get_messages", {"channelId": "Cnone"})
            for answer in (channels, members, found):
                assert not answer.is_error and answer.content[0].text, answer
            said = {
                "revision": client.protocol_version,
                "server": client.server_info and client.server_info.name,
                "tools": [tool.name for tool in tools.tools],
                "messages": seen,
                "channels": [row["channelId"] for row in channels.structured_content["channels"]],
                "members": [row["userId"] for row in members.structured_content["members"]],
                "total": found.structured_content["total"],
                "unknown": unknown.is_error and unknown.content[0].text,
            }
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
