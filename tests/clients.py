"""Talking to the server, in memory and over stdio; answers are held against their published schemas. Needs the MCP SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import jsonschema
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from deepgrep.library import machine
from deepgrep.mcp.answers import Setting
from deepgrep.mcp.server import server
from deepgrep.mcp.tools import SPECS, output_schema
from homes import SAMPLE, jsonl

CHECKS = {spec.name: jsonschema.Draft202012Validator(output_schema(spec)) for spec in SPECS}
Asks = Callable[[Client], Awaitable[None]]


def talk(asks: Asks, setting: Setting | None = None, *, mode: str = "legacy", **client: object) -> None:
    """Run a conversation with a server in memory."""

    async def main() -> None:
        async with Client(server(setting or Setting(machine(SAMPLE))), mode=mode, **client) as connected:  # type: ignore[arg-type]
            await asks(connected)

    anyio.run(main)


@asynccontextmanager
async def program(home: Path, outside: dict[str, str], *words: str, errors: Path) -> AsyncIterator[Client]:
    """A client of a server that runs as a program of its own."""
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "deepgrep", "mcp", "--home", str(home), *words], env=outside)
    with errors.open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), mode="legacy") as connected:
            yield connected


async def answer(client: Client, tool: str, **arguments: object) -> dict[str, object]:
    """A tool's answer, held against its schema, its own text and its budget."""
    given = await client.call_tool(tool, arguments)
    assert not given.is_error, given.content
    document = given.structured_content
    assert document is not None
    CHECKS[tool].validate(document)
    assert json.loads(given.content[0].text) == document  # type: ignore[union-attr]
    asked = document["budget"]["max_tokens"]
    assert len(given.content[0].text.encode()) <= asked * document["budget"]["bytes_per_token"]  # type: ignore[union-attr]
    return document


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """The one line that a tool refuses arguments with."""
    given = await client.call_tool(tool, arguments)
    assert given.is_error
    text: str = given.content[0].text  # type: ignore[union-attr]
    assert "\n" not in text
    return text


def prompts(count: int, text: str = "mend the ferry, part {}") -> str:
    """A prompt history of so many prompts, each its own conversation."""
    name = "{:08x}-0000-4000-8000-000000000001"
    return jsonl(*(
        {"display": text.format(n), "timestamp": 1767225600000 + n, "project": "/src/pier", "sessionId": name.format(n)}
        for n in range(count)
    ))  # fmt: skip
