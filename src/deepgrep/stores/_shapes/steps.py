"""The step logs of Antigravity: one JSON object for each step of a conversation, the same for its command line and its editor.

Pure values. Knows no file: the conversation and its folder are given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

from ...model import Record, Sibling, Skip, Source, Speaker
from ...text import clean, instant, plain
from ...typed import NamedTuple
from .blocks import mapping, readable, string
from .envelopes import command_or_prompt

UNKNOWN = Skip("unknown_shape")
Json = dict[str, object]
_CONVERSATION = re.compile(r"(?:^|[:/])brain/([^/]+)/")


class Said(NamedTuple):
    """One utterance of a step."""

    speaker: Speaker
    kind: str
    text: str
    tool: str | None = None


def conversation(key: str) -> str | None:
    """The conversation that a file below `brain/` belongs to: its folder's name."""
    found = _CONVERSATION.search(key)
    return found[1] if found else None


def folder(value: object) -> str | None:
    """A working directory as a path: some rows name it as a file URI."""
    if not isinstance(value, str) or not value:
        return None
    if not value.startswith("file://"):
        return clean(value)
    path = unquote(value.removeprefix("file://"))
    return clean(path[1:] if re.match(r"/[A-Za-z]:", path) else path) or None


def step_records(row: Json, common: Record) -> Iterator[Record | Skip]:
    """The records of one step, in the place and conversation of `common`."""
    kind = row.get("type")
    if not isinstance(kind, str):
        yield UNKNOWN
        return
    time_us = instant(row.get("created_at"))
    for block, said in enumerate(said for said in _said(kind, row) if said.text.strip()):
        text, tool = clean(said.text), said.tool
        yield common._replace(block=block, speaker=said.speaker, kind=said.kind, text=text, time_us=time_us, tool=tool)
    if row.get("truncated_fields"):
        yield Skip("truncated_text")


_RUNTIME = {"CHECKPOINT": "summary", "CONVERSATION_HISTORY": "context", "SYSTEM_MESSAGE": "context", "EPHEMERAL_MESSAGE": "context"}
_ERRORS = frozenset({"ERROR_MESSAGE", "ERROR"})


def _said(kind: str, row: Json) -> Iterator[Said]:
    content, source = row.get("content"), row.get("source")
    text = content if isinstance(content, str) else plain(readable(content)) if content else ""
    if kind == "USER_INPUT":
        yield from _asked(text) if source not in ("SYSTEM", "MODEL") else [Said("runtime", "context", text)]
    elif kind == "PLANNER_RESPONSE":
        yield Said("agent", "reasoning", string(row, "thinking") or "")
        yield Said("agent", "reply", text)
        yield from _calls(row.get("tool_calls"))
    elif kind in _RUNTIME or source == "SYSTEM" or kind in _ERRORS:
        yield Said("runtime", _RUNTIME.get(kind, "notice"), text)
    else:
        yield Said("tool", "tool_result", text, kind)


_REQUEST = "<USER_REQUEST>"
# Blocks that the program adds around a request; a request that talks of one stands inside its own marks.
_ADDED = re.compile(r"\s*<[A-Z][A-Z_]{2,60}>")
_REQUEST_END = "</USER_REQUEST>"
_BEHIND = re.compile(r"</USER_REQUEST>(?=\s*(?:\Z|<[A-Z][A-Z_]{2,60}>))")


def _asked(text: str) -> Iterator[Said]:
    """The person's words inside a request's marks; all around them is the program's."""
    text = text.lstrip("\ufeff \t\r\n")
    at = text.find(_REQUEST)
    end = _request_end(text, at)
    if end and (at == 0 or _ADDED.match(text)):
        request, added = text[at + len(_REQUEST) : end[0]], (text[:at], text[end[1] :])
    else:
        request, rest = _unmarked(text)
        added = ("", rest)
    words = request.strip()
    yield Said("person", command_or_prompt(words), words)
    yield from (Said("runtime", "context", block.strip()) for block in added)


def _request_end(text: str, at: int) -> tuple[int, int] | None:
    """The place of the end mark: the first that nothing but added blocks follows, else the last."""
    if at < 0:
        return None
    found = _BEHIND.search(text, at)
    if found:
        return found.span()
    last = text.rfind(_REQUEST_END, at)
    return (last, last + len(_REQUEST_END)) if last >= 0 else None


def _unmarked(text: str) -> tuple[str, str]:
    """A request without marks: what stands before the first block that the program adds, if one ends the text."""
    for name in ("USER_SETTINGS_CHANGE", "ADDITIONAL_METADATA"):
        at = text.find(f"<{name}>")
        if at >= 0 and text.rstrip().endswith(f"</{name}>"):
            return text[:at], text[at:]
    return text, ""


def _calls(calls: object) -> Iterator[Said]:
    for item in calls if isinstance(calls, list) else []:
        call = mapping(item) or {}
        name = string(call, "name")
        arguments = call.get("args", call.get("arguments"))
        words = plain(readable(_decoded(arguments))) if arguments else ""
        yield Said("tool", "tool_call", "\n".join(filter(None, (name, words))), name)


def _decoded(arguments: object) -> object:
    """Arguments as the tool gets them: each string is itself spelled as a JSON string."""
    values = mapping(arguments)
    return arguments if values is None else {key: _unquoted(value) for key, value in values.items()}


def _unquoted(value: object) -> object:
    if not isinstance(value, str) or not (value.startswith('"') and value.endswith('"')):
        return value
    try:
        inner = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return value
    return inner if isinstance(inner, str) else value


def papers(text: str, source: Source, sibling: Sibling) -> Iterator[Record]:
    """A plan, a list of tasks or a walk-through that the agent wrote for one conversation."""
    if text.strip():
        yield Record(source, 0, 0, "agent", "plan", clean(text), conversation_id=conversation(source.key), title=source.stem)
