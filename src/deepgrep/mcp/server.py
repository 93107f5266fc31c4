"""The server: tools, resources and prompts on the SDK's MCPServer, over standard input and output. Says nothing on standard error."""

from __future__ import annotations

import logging

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import FunctionResource

from .. import __version__
from . import answers, text
from .answers import Setting
from .budget import dumped
from .calls import Call
from .params import SourcesModel
from .tools import tools


def server(setting: Setting) -> MCPServer:
    """A server for one machine. Nothing is opened before the first call."""
    # CRITICAL: the SDK logs refused arguments and tracebacks, and both may hold what a person searched for.
    made = MCPServer(
        "deepgrep", title="deepgrep", description="Searches what coding agents and their users said on this machine.",
        instructions=text.INSTRUCTIONS, version=__version__, tools=tools(setting), log_level="CRITICAL",
    )  # fmt: skip
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    for resource in _resources(setting):
        made.add_resource(resource)
    for prompt in _prompts():
        made.add_prompt(prompt)
    return made


def _resources(setting: Setting) -> tuple[FunctionResource, ...]:
    def query_language() -> str:
        return text.query_language()

    def stores() -> str:
        given = SourcesModel().model_dump()
        return dumped(answers.sources(given, setting, Call(setting.deadline_s)))

    def capabilities() -> str:
        return dumped(text.capabilities(__version__, redacting=setting.redacting, deadline_s=setting.deadline_s))

    made = FunctionResource.from_function
    return (
        made(query_language, "deepgrep://query-language", "query-language", "The query language",
             "Words, phrases, operators and fields of a query.", "text/markdown"),
        made(stores, "deepgrep://stores", "stores", "What is here",
             "Agents whose history is on this machine, and which efforts can search it.", "application/json"),
        made(capabilities, "deepgrep://capabilities", "capabilities", "What this server does",
             "Efforts, budget, redaction, deadline.", "application/json"),
    )  # fmt: skip


def _prompts() -> tuple[Prompt, ...]:
    def find_decision(topic: str) -> str:
        return text.DECISION_PROMPT.format(topic=topic)

    def what_was_tried(error: str) -> str:
        return text.ERROR_PROMPT.format(error=error)

    made = Prompt.from_function
    return (
        made(find_decision, "find_decision", "Find a past decision", "Why was it decided so? Searches past conversations."),
        made(what_was_tried, "what_was_tried", "What was tried for this error", "Earlier attempts at an error, and what worked."),
    )


def serve(setting: Setting) -> None:
    """Answer on standard input and output until the client goes."""
    server(setting).run("stdio")
