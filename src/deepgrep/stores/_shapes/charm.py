"""Databases of sessions and of messages whose parts stand in one column: OpenCode's in Go, and what has come of it since.

`sessions(id, parent_session_id, title, created_at, summary_message_id)` and `messages(id, session_id, role, parts, model, created_at)`;
`parts` is a JSON list of `{type, data}`. Times are seconds, whatever the schema says. A session with a parent is a subagent's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from ...model import Database, Decoded, Record, Skip, Source, Speaker, Wanted
from ...text import Number, clean, instant
from ...typed import NamedTuple
from .blocks import mapping, string
from .envelopes import command_or_prompt
from .keyed import Undecodable, parsed
from .lookups import KEPT, Lookup, name, number
from .parts import called

_UNKNOWN = Skip("unknown_shape")
_COLUMNS = ("id", "session_id", "role", "parts")


class _Said(NamedTuple):
    speaker: Speaker
    kind: str
    text: str
    tool: str | None = None


class _Session(NamedTuple):
    parent: str | None
    title: str | None
    summary: str  # the message that is one


def _arguments(text: object) -> object:
    """A tool's arguments: JSON in a text, or a text that is none."""
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text, parse_float=Number, strict=False)
    except (ValueError, RecursionError):
        return text


def _text(data: dict[str, object]) -> _Said:
    return _Said("agent", "reply", str(data.get("text") or ""))


def _thinking(data: dict[str, object]) -> _Said:
    return _Said("agent", "reasoning", str(data.get("thinking") or ""))


def _call(data: dict[str, object]) -> _Said:
    return _Said("tool", "tool_call", called(data.get("name"), _arguments(data.get("input"))), string(data, "name"))


def _result(data: dict[str, object]) -> _Said:
    return _Said("tool", "tool_result", str(data.get("content") or ""), string(data, "name"))


_PARTS: Mapping[str, Callable[[dict[str, object]], _Said]] = {
    "text": _text,
    "reasoning": _thinking,
    "tool_call": _call,
    "tool_result": _result,
}
_SILENT = ("finish", "image_url", "binary")  # a tuple: a damaged type may not be hashable


def _owned(said: _Said, role: str, of: _Session, is_summary: bool) -> _Said:
    """An utterance under the name of who really made it."""
    if said.kind != "reply":
        return said
    if is_summary:
        return said._replace(speaker="runtime", kind="summary")
    if role != "user":
        return said
    speaker: Speaker = "parent" if of.parent else "person"
    return said._replace(speaker=speaker, kind="brief" if of.parent else command_or_prompt(said.text))


def _parts(raw: object) -> Iterator[_Said | Skip]:
    for part in raw if isinstance(raw, list) else [None]:
        value = mapping(part) or {}
        kind, data = value.get("type"), mapping(value.get("data"))
        reader = _PARTS.get(kind) if isinstance(kind, str) else None
        if reader and data is not None:
            yield reader(data)
        elif kind not in _SILENT:
            yield _UNKNOWN


class _Sessions:
    """The sessions of the messages at hand, and what else their rows say."""

    def __init__(self, database: Database) -> None:
        self._sessions = Lookup(database, "sessions", "id", ("parent_session_id", "title", "summary_message_id"))
        self._messages = Lookup(database, "messages", "id", ("model", "created_at"))
        self._found: dict[str, _Session] = {}
        self.marks: dict[str, tuple[str | None, int | None]] = {}  # of the messages at hand: model, time

    def load(self, messages: set[str], sessions: set[str]) -> None:
        if len(self._found) > KEPT:
            self._found.clear()
        for row in self._sessions.rows(sessions - self._found.keys()):
            parent, title = name(row["parent_session_id"]), name(row["title"])
            self._found[name(row["id"])] = _Session(parent or None, title or None, name(row["summary_message_id"]))
        self.marks = {
            name(row["id"]): (name(row["model"]) or None, instant(number(row["created_at"]))) for row in self._messages.rows(messages)
        }

    def __getitem__(self, one: str) -> _Session:
        return self._found.get(one) or _Session(None, None, "")


def messages(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """Every message of such a database. `position` is the row, `block` the part."""
    known = _Sessions(database)
    for batch in database.rows("messages", _COLUMNS):
        rows = [(rowid, name(cells[0]), name(cells[1]), name(cells[2]), cells[3]) for rowid, *cells in wanted.among(batch)]
        known.load({row[1] for row in rows}, {row[2] for row in rows})
        for rowid, native, session, role, raw in rows:
            if raw is None:
                continue
            try:
                value = parsed(raw)
            except Undecodable:
                yield Skip("undecodable")
                continue
            model, time_us = known.marks.get(native, (None, None))
            base = Record(
                source, rowid, 0, "runtime", "context", "", time_us=time_us, native_id=native or None, conversation_id=session or None,
                parent_conversation_id=known[session].parent, title=known[session].title,
            )  # fmt: skip
            for block, said in enumerate(_parts(value)):
                if isinstance(said, Skip):
                    yield said
                elif said.text.strip():
                    speaker, kind, text, tool = _owned(said, role, known[session], native == known[session].summary)
                    speaking = model if speaker in ("agent", "tool") else None
                    yield base._replace(block=block, speaker=speaker, kind=kind, text=clean(text), tool=tool, model=speaking)
