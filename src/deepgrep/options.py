"""One table of every control of a search: flag, field, choices, help. The CLI's parser, its help and a request's flags come from it."""

from __future__ import annotations

from collections.abc import Mapping

from .engine.route import DEFAULT_LIMIT
from .model import EFFORTS, KINDS, ORDERS, SCOPES, SPEAKERS
from .registry import AGENT_IDS
from .typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Shape = Literal["text", "count", "switch", "list"]


class Option(NamedTuple):
    """One control. `field` is its name in a request; `sets` the value that a switch gives it."""

    field: str
    flags: tuple[str, ...]
    shape: Shape
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    sets: object = True
    group: str = "what to find"


WHAT, EFFORT, WHICH, ANSWER = "what to find", "how deep to look", "which records", "the answer"

SEARCH: tuple[Option, ...] = (
    Option("literal", ("-F", "--literal"), "switch", "each TEXT is one literal phrase, quotes and all", group=WHAT),
    Option("any", ("--any",), "switch", "a record with any of the terms will do (default: all of them)", group=WHAT),
    Option("effort", ("--effort",), "text", "which files may be opened (default: prompt)", "EFFORT", EFFORTS, group=EFFORT),
    Option("effort", ("--deep",), "switch", "the same as --effort targeted", sets="targeted", group=EFFORT),
    Option("effort", ("--exhaustive",), "switch", "the same as --effort exhaustive", sets="exhaustive", group=EFFORT),
    Option("scope", ("--scope",), "text", "which records may be returned", "SCOPE", SCOPES, group=EFFORT),
    Option("agent", ("-a", "--agent"), "list", f"only this agent: {', '.join(AGENT_IDS)}; repeatable", "AGENT", AGENT_IDS, group=WHICH),
    Option("cwd", ("--cwd",), "text", "only from this working directory or below it", "DIR", group=WHICH),
    Option("project", ("--project",), "text", "only from the project of this name, the last part of its folder", "NAME", group=WHICH),
    Option("repo", ("--repo",), "text", "only from this repository: its recorded address, or its last parts", "REPO", group=WHICH),
    Option("branch", ("--branch",), "text", "only on this branch", "BRANCH", group=WHICH),
    Option("since", ("--since",), "text", "only from then on: 2026-01-31, yesterday, 12h, 7d, 3mo", "WHEN", group=WHICH),
    Option("until", ("--until",), "text", "only up to then; a day is included whole", "WHEN", group=WHICH),
    Option("on", ("--on",), "text", "only on this day, as your clock has it", "DAY", group=WHICH),
    Option("speaker", ("--speaker",), "list", f"only from this speaker: {', '.join(SPEAKERS)}; repeatable", "WHO", SPEAKERS, group=WHICH),
    Option("kind", ("--kind",), "list", f"only of this kind: {', '.join(KINDS)}; repeatable", "KIND", KINDS, group=WHICH),
    Option("model", ("--model",), "text", "only from models whose name holds this", "NAME", group=WHICH),
    Option("order", ("-o", "--order"), "text", "relevance (default with a TEXT), newest, or scan: as found", "ORDER", ORDERS, group=ANSWER),
    Option("limit", ("-n", "--limit"), "count", "at most this many results (default: all)", "N", group=ANSWER),
    Option("conversation_limit", ("--conversation-limit",), "count", "with --deep: conversations to open (default: 25)", "N", group=EFFORT),
    Option("context", ("-C", "--context"), "count", "show N records before and after each result", "N", group=ANSWER),
    Option("dedupe", ("--no-dedupe",), "switch", "show every copy of an utterance", sets=False, group=ANSWER),
    Option("echoes", ("--no-echoes",), "switch", "leave out what deepgrep itself printed into transcripts", sets=False, group=ANSWER),
)
WHERE: tuple[Option, ...] = (  # of every command that reads: no part of a request
    Option("home", ("--home",), "text", "read DIR as if it were your home; your variables then do not count", "DIR"),
    Option(
        "project_root", ("--project-root",), "list",
        "look in DIR too for what agents leave in projects; repeatable (the working directory's project always counts)", "DIR",
    ),
)  # fmt: skip
_INFERRED = {"prompt": "prompts", "targeted": "all", "exhaustive": "prompts"}  # what the command line takes where no scope is given
_USUAL_BOUND = ("conversation_limit", DEFAULT_LIMIT)
LISTS = frozenset(option.field for option in SEARCH if option.shape == "list")


def arguments(request: Mapping[str, object]) -> list[str]:
    """The command-line words, after `deepgrep search`, that make this request. Fields left out keep their defaults."""
    words: list[str] = []
    for option in SEARCH:
        value = request.get(option.field)
        if option.shape == "switch":
            if (option.field != "effort" and value is option.sets) or (option.field == "effort" and value == option.sets):
                words.append(option.flags[-1])
        elif option.field == "effort":
            if value == "prompt" and request.get("scope_given"):
                words += [option.flags[-1], "prompt"]
        elif option.shape == "list" and isinstance(value, (list, tuple)):
            for one in value:
                words += [option.flags[-1], str(one)]
        elif option.field == "scope":
            if value not in (None, _INFERRED.get(str(request.get("effort")))):
                words += [option.flags[-1], str(value)]
        elif option.field == "order":
            if value not in (None, "relevance" if request.get("texts") else "newest"):
                words += [option.flags[-1], str(value)]
        elif option.shape in ("text", "count") and value not in (None, "", 0) and (option.field, value) != _USUAL_BOUND:
            words += [option.flags[-1], str(value)]
    texts = request.get("texts")
    if isinstance(texts, (list, tuple)) and texts:
        if any(str(text).startswith("-") for text in texts):
            words.append("--")
        words += [str(text) for text in texts]
    return words
