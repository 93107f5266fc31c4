"""Cursor CLI (`cursor-agent`, newer alias `agent`): a list of prompts, and one transcript for each conversation.

What it writes. Cursor is closed source: all of this is what readers of its files report. Below `~/.cursor` on every system; settings,
the prompt history and chats lie there or in `~/.config/cursor` (`CURSOR_CONFIG_DIR` and `XDG_CONFIG_HOME` move them).

- `prompt_history.json`: what was typed, a JSON list of texts, oldest first, written anew with each prompt. No id, no time, no folder.
- `projects/<folder>/agent-transcripts/<id>/<id>.jsonl`, before that `agent-transcripts/<id>.jsonl`: a conversation, one message a line:
  `role` and a `message` of blocks as the Anthropic API shapes them. Builds of 2025 wrote `.txt` instead. Agents of the Cursor editor
  write here too.
- `projects/<folder>/agent-transcripts/<id>/subagents/<child>.jsonl`: what a subagent did.
- `projects/<folder>/agent-tools/*.txt`: output too long for the model. `terminals/*.txt`: what terminals showed. `uploads/*.md`:
  what was attached. `plans/*.plan.md`: plans.
- `chats/<md5 of the directory>/<id>/store.db`, `meta.json` beside it: the same conversations once more, as a database of blobs. The newest
  root names those that make up the chat as it stands. Blobs in JSON are messages; the others are protocol buffers without a known
  schema: those that may hold words are counted (`unsupported_format`), not read. Blobs may be encrypted: then the chat is not read.
- `agent-sessions`, `conversations`, `sessions`: transcripts of builds before 2026.

What identifies a conversation: the name of its file. Nothing inside repeats it, so it is no proof, and the prompt history has no id:
targeted effort cannot follow it. `<folder>` is the directory with separators made `-`: it cannot be turned back. The directory is known
only where `.workspace-trusted` beside the transcripts names one that makes this folder.

Who spoke. The person's words stand in `<user_query>`; the blocks around it (`<timestamp>`, open and attached files, rules, git status)
are the runtime's, as is a query that follows a `<system_notification>`. A text without a query is the person's. In a subagent's
transcript the query is its brief.

What cannot be known: messages have no time but the `<timestamp>` of the prompt, to the minute, which its answers share; one without a
zone is none. Tool output is mostly left out. `[REDACTED]` stands for hidden reasoning. Prompts of `cursor-agent -p` are in no
history. Never opened: `cli-config.json`, `auth.json`, `mcp.json`, `ai-tracking`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from ..model import (
    Agent,
    Database,
    Decoded,
    Document,
    Line,
    Lines,
    Near,
    Record,
    Resume,
    Rows,
    Sibling,
    Skip,
    Source,
    Speaker,
    Store,
    Text,
    Traits,
    Wanted,
)
from ..text import clean, days_from_civil, instant, plain
from ._shapes import blobs, wrapped
from ._shapes.blocks import BLOBS, blocks, joined, mapping, readable, string
from ._shapes.envelopes import Said, command_or_prompt
from ._shapes.workspaces import below

Json = dict[str, object]
_Saying = Iterator[Said | Skip]
_UNKNOWN = Skip("unknown_shape")

# Blocks that Cursor puts around a prompt, cut also where no query stands between them.
_TAGS = frozenset(
    {
        "additional_data", "agent_skills", "agent_transcripts", "attached_files", "available_subagent_models", "available_subagent_types",
        "cursor_commands", "cursor_rules", "dynamic_tools", "external_links", "git_status", "hooks_context", "image_files", "linter_errors",
        "manually_attached_skills", "mcp_file_system", "mcp_meta_tool_servers", "mcp_meta_tools", "open_and_recently_viewed_files",
        "plugin_info", "project_context", "project_layout", "recently_viewed_files", "system-reminder", "system_notification",
        "system_reminder", "terminal_files_information", "terminal_state", "timestamp", "user_info", "user_rules",
    }
)  # fmt: skip
# What Cursor asks its own model when a background task ends, in a query of its own.
_OWN_QUERIES = ("Briefly inform the user about the task result",)


# --- the prompt history -------------------------------------------------------------------------------------------


def _history(value: object, source: Source, sibling: Sibling) -> Decoded:
    if not isinstance(value, list):
        yield _UNKNOWN
        return
    for number, row in enumerate(value):
        if not isinstance(row, str):
            yield _UNKNOWN
        elif row.strip():
            yield Record(source, number, 0, "person", command_or_prompt(row), clean(row))


# --- who said what ------------------------------------------------------------------------------------------------


def _user_text(text: str) -> Iterator[Said]:
    for said in wrapped.utterances(text, _TAGS):
        if said.speaker == "person" and said.text.startswith(_OWN_QUERIES):
            yield said._replace(speaker="runtime", kind="notice")
        else:
            yield said


_REDACTED = re.compile(r"(?:\s*\[REDACTED\])+\s*\Z")


def _agent_text(text: str) -> Iterator[Said]:
    yield Said("agent", "reply", _REDACTED.sub("", text).strip())


def _call(block: Json) -> _Saying:
    name = string(block, "name") or string(block, "toolName")
    asked = block.get("input") or block.get("args")
    yield Said("tool", "tool_call", f"{name}\n{plain(readable(asked))}" if asked else name, tool=name) if name else _UNKNOWN


def _output(block: Json) -> _Saying:
    found = next((block[key] for key in ("content", "output", "text", "result") if block.get(key)), "")
    text = joined(found) if isinstance(found, (str, list)) else plain(readable(found))
    yield Said("tool", "tool_result", text, tool=string(block, "name") or string(block, "toolName"))


def _thinking(block: Json) -> _Saying:
    text = block.get("thinking", block.get("text"))
    yield Said("agent", "reasoning", text) if isinstance(text, str) else _UNKNOWN


_BLOCKS: Mapping[str, Callable[[Json], _Saying]] = {
    "tool_use": _call,
    "tool-call": _call,  # so spelled in the databases of chats
    "tool_result": _output,
    "tool-result": _output,
    "command_output": _output,
    "thinking": _thinking,
    "reasoning": _thinking,
}
_SILENT_BLOCKS = frozenset({*BLOBS, "file", "redacted", "redacted_thinking", "redacted-reasoning"})
_TEXTS: Mapping[str, Callable[[str], Iterator[Said]]] = {
    "user": _user_text,
    "assistant": _agent_text,
    "system": lambda text: iter([Said("runtime", "context", text)]),
    "tool": lambda text: iter([Said("tool", "tool_result", text)]),
}


def _message(value: Json) -> _Saying:
    told = _TEXTS[str(value["role"])]
    content = blocks((mapping(value.get("message")) or value).get("content"))
    if content is None:
        yield _UNKNOWN
        return
    for block in content:
        inner = mapping(block) or {"type": "text", "text": block}
        kind, text = inner.get("type"), inner.get("text")
        if kind in ("text", None) and isinstance(text, str):
            yield from told(text)
        elif isinstance(kind, str) and kind in _BLOCKS:
            yield from _BLOCKS[kind](inner)
        elif not isinstance(kind, str) or kind not in _SILENT_BLOCKS:
            yield _UNKNOWN


def _status(value: Json) -> _Saying:
    """A line without a role: the end of a turn, and why it failed."""
    kind = value.get("type")
    if not isinstance(kind, str) or not kind.startswith("turn_"):
        yield _UNKNOWN
        return
    error = value.get("error")
    yield Said("runtime", "notice", error if isinstance(error, str) else plain(readable(error or "")))


# --- times and folders --------------------------------------------------------------------------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_STAMP = re.compile(
    r"\s*<timestamp>(?:[A-Za-z]+, )?([A-Za-z]{3})[a-z]* (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d)(?::(\d\d))?\s?([AP]M)"
    r" \((?:UTC|GMT)(?:([+-])(\d{1,2})(?::?(\d\d))?)?\)</timestamp>"
)


def _stamped(text: str) -> int | None:
    """The time that Cursor puts before a prompt, where it says the zone."""
    found = _STAMP.match(text.replace("\u202f", " ").replace("\u2212", "-"))
    if not found or found[1].lower() not in _MONTHS:
        return None
    hour = int(found[4]) % 12 + (12 if found[7] == "PM" else 0)
    shift = int(found[9] or 0) * 60 + int(found[10] or 0)
    minutes = hour * 60 + int(found[5]) - (-shift if found[8] == "-" else shift)
    days = days_from_civil(int(found[3]), _MONTHS.index(found[1].lower()) + 1, int(found[2]))
    return (days * 86400 + minutes * 60 + int(found[6] or 0)) * 1_000_000


def _time_us(value: Json) -> int | None:
    """When a message was sent, as its own field or the mark in its text says."""
    own = instant(value.get("timestamp"))
    if own is not None or value.get("role") != "user":
        return own
    content = blocks((mapping(value.get("message")) or value).get("content")) or []
    texts = (text for block in content if isinstance(text := (mapping(block) or {}).get("text"), str))
    return next((time_us for text in texts if (time_us := _stamped(text)) is not None), None)


class _Transcript:
    """What is known of a transcript so far: the time of the latest prompt, and the directory once it was asked for."""

    __slots__ = ("_cwd", "time_us")

    def __init__(self, source: Source) -> None:
        self.time_us: int | None = None
        self._cwd: str | None = None

    def cwd(self, source: Source, sibling: Sibling) -> str | None:
        if self._cwd is None:
            self._cwd = _trusted(source, sibling) or ""
        return self._cwd or None


_PROJECT = re.compile(r"(?:^|:)projects/([^/]+)/")
_FOLDER = re.compile(r"[^A-Za-z0-9]+")


def _trusted(source: Source, sibling: Sibling) -> str | None:
    """The directory that was trusted for this folder, if the folder's name is made from it."""
    project = _PROJECT.search(source.key)
    text = sibling(f"projects/{project[1]}/.workspace-trusted", 1 << 16) if project else None
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    path = string(mapping(value) or {}, "workspacePath")
    return path if path and project and _FOLDER.sub("-", path).strip("-") == _FOLDER.sub("-", project[1]).strip("-") else None


def _base(source: Source, position: int, cwd: str | None) -> Record:
    """What all records of a transcript share. A child's folder names the conversation that started it."""
    folders = source.key.split("/")
    child = len(folders) > 2 and folders[-2] == "subagents"
    name = folders[-2] if source.stem in _OLD_NAMES and len(folders) > 1 else source.stem
    return Record(
        source, position, 0, "runtime", "context", "",
        conversation_id=name, parent_conversation_id=folders[-3] if child else None, cwd=cwd,
    )  # fmt: skip


def _records(base: Record, found: Iterator[Said | Skip]) -> Decoded:
    for block, said in enumerate(found):
        if isinstance(said, Skip):
            yield said
        elif said.text.strip():
            briefed = said.speaker == "person" and base.parent_conversation_id is not None
            if briefed:
                said = said._replace(speaker="parent", kind="brief")
            yield base._replace(block=block, speaker=said.speaker, kind=said.kind, text=clean(said.text), tool=said.tool)


# --- transcripts of JSON lines ------------------------------------------------------------------------------------


def _observe(line: Line, state: object) -> object:
    if isinstance(state, _Transcript) and line.value.get("role") == "user":
        state.time_us = _time_us(line.value)
    return state


def _transcript(line: Line, state: object, near: Near) -> Decoded:
    known = state if isinstance(state, _Transcript) else _Transcript(line.source)
    role = line.value.get("role")
    own = _time_us(line.value)
    base = _base(line.source, line.position, known.cwd(line.source, near.sibling))
    base = base._replace(time_us=own if own is not None or role == "user" else known.time_us)
    reader = _message if isinstance(role, str) and role in _TEXTS else _status
    try:
        found = tuple(reader(line.value))
    except RecursionError:
        found = (Skip("undecodable"),)
    yield from _records(base, iter(found))


def _is_line(value: Json) -> bool:
    return ("role" in value and ("message" in value or "content" in value)) or str(value.get("type")).startswith("turn_")


# --- transcripts of plain text ------------------------------------------------------------------------------------

_TURN = re.compile(r"^(user|assistant|tool|system):[ \t\r]*$", re.MULTILINE)
_MARK = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]*", re.MULTILINE)
_MARGIN = re.compile(r"^\S", re.MULTILINE)


def _lines_of_text(text: str, source: Source, sibling: Sibling) -> Decoded:
    text = text.replace("\r\n", "\n")
    turns = list(_TURN.finditer(text))
    if not turns:
        yield _UNKNOWN
        return
    cwd = _Transcript(source).cwd(source, sibling)
    time_us: int | None = None
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        body = text[turn.end() : following.start() if following else len(text)]
        if turn[1] == "user":
            time_us = _stamped(body)
        # Channel 1: where the same conversation is there as JSON lines, those represent it.
        base = _base(source, turn.start(), cwd)._replace(time_us=time_us, channel=1)
        yield from _records(base, _turn(turn[1], body))


def _turn(role: str, body: str) -> _Saying:
    """What one turn holds: text at the margin, and marked blocks whose further lines are indented."""
    told = _TEXTS[role]
    if role == "user":
        yield from told(body.strip())
        return
    at = 0
    while mark := _MARK.search(body, at):
        yield from told(body[at : mark.start()].strip())
        line_end = body.find("\n", mark.end())
        margin = _MARGIN.search(body, line_end) if line_end >= 0 else None
        end = margin.start() if margin else len(body)
        yield from _marked(mark[1], body[mark.end() : end])
        at = end
    yield from told(body[at:].strip())


def _marked(mark: str, text: str) -> Iterator[Said]:
    head, _, rest = text.partition("\n")
    name, inner = head.strip() or None, _unindented(rest)
    if mark == "Thinking":
        yield Said("agent", "reasoning", _REDACTED.sub("", f"{head.strip()}\n{inner}".strip()))
    elif mark == "Tool call":
        yield Said("tool", "tool_call", f"{name or ''}\n{inner}".strip(), tool=name)
    else:
        yield Said("tool", "tool_result", inner, tool=name)


def _unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n")).strip()


# --- chats in databases --------------------------------------------------------------------------------------------


def _chat(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """The messages of a chat: channel 1, for where a transcript tells the same, it represents them."""
    own = blobs.about(database)
    beside = _meta(source)
    model = string(own, "lastUsedModel")
    folders = source.key.split("/")
    common = Record(
        source, 0, 0, "runtime", "context", "", channel=1, conversation_id=folders[-2] if len(folders) > 1 else None,
        title=blobs.title(own) or blobs.title(beside), cwd=string(beside, "cwd"),
    )  # fmt: skip
    for rowid, value in blobs.messages(database, wanted, string(own, "latestRootBlobId")):
        if isinstance(value, Skip) or not isinstance(value.get("role"), str):
            yield value if isinstance(value, Skip) else _UNKNOWN
            continue
        base = common._replace(position=rowid, time_us=_time_us(value))
        for found in _records(base, _message(value) if value["role"] in _TEXTS else iter((_UNKNOWN,))):
            speaks = isinstance(found, Record) and found.speaker in ("agent", "tool") and model != "default"
            yield found._replace(model=model) if isinstance(found, Record) and speaks else found


def _meta(source: Source) -> Json:
    """The note beside a chat's database."""
    text = below(source)(source.key.rpartition(":")[2].rpartition("/")[0] + "/meta.json", 1 << 16)
    try:
        return mapping(json.loads(text)) or {} if text else {}
    except (ValueError, RecursionError):
        return {}


# --- texts beside the transcripts ---------------------------------------------------------------------------------


def _whole(text: str, source: Source, sibling: Sibling) -> Decoded:
    """A file that is one text: who wrote it is what its store says."""
    speaker, kind = _WHOLE[source.store]
    if text.strip():
        yield Record(source, 0, 0, speaker, kind, clean(text.strip()), cwd=_Transcript(source).cwd(source, sibling))


_WHOLE: Mapping[str, tuple[Speaker, str]] = {
    "cursor-cli.agent_tools": ("tool", "tool_result"),
    "cursor-cli.terminals": ("tool", "tool_result"),
    "cursor-cli.uploads": ("runtime", "context"),
    "cursor-cli.plans": ("agent", "plan"),
}

# --- the declaration ----------------------------------------------------------------------------------------------

_CHAT_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}")


def _resume(record: Record) -> Resume | None:
    name = record.conversation_id or ""
    if record.parent_conversation_id or not _CHAT_ID.fullmatch(name):
        return None
    return Resume(("cursor-agent", "--resume", name), record.cwd)


_MESSAGES = Lines(_transcript, start=_Transcript, observe=_observe, context=(b'"user"',), is_line=_is_line)
_LINES = Traits(text_in="line", inserted=":")  # mostly appended to, but reported emptied and written anew after a restart
_WHOLE_FILE = Traits(text_in="file")
_OLD_FOLDERS, _OLD_NAMES = ("agent-sessions", "conversations", "sessions"), ("events", "transcript")
_IN_PROJECT = "projects/*/agent-transcripts/"

AGENT = Agent(
    "cursor-cli",
    "Cursor CLI",
    stores=(
        Store(
            "cursor-cli.prompt_history", "prompts", ("prompt_history.json",), "reported by readers of 2026",
            Document(_history), _WHOLE_FILE, endings=(".json",), speakers=("person",),
        ),
        Store(
            "cursor-cli.transcripts", "transcript", (f"{_IN_PROJECT}*.jsonl", f"{_IN_PROJECT}*/*.jsonl"),
            "reported by readers of 2026.07", _MESSAGES, _LINES,
        ),
        Store(
            "cursor-cli.transcripts_text", "transcript", tuple(f"{_IN_PROJECT}{name}.txt" for name in ("*", "*/*", "*/subagents/*")),
            "reported by readers of 2025", Text(_lines_of_text), _WHOLE_FILE, endings=(".txt",), yields_to="cursor-cli.transcripts",
        ),
        Store(
            "cursor-cli.subagents", "transcript", (f"{_IN_PROJECT}*/subagents/*.jsonl",), "reported by readers of 2026.09",
            _MESSAGES, _LINES, speakers=("parent", "agent", "tool", "runtime"),
        ),
        Store(
            "cursor-cli.sessions_old", "transcript",
            tuple(f"{folder}/**/{name}.jsonl" for folder in _OLD_FOLDERS for name in _OLD_NAMES),
            "reported by one reader of builds before 2026", _MESSAGES, _LINES,
        ),
        Store(
            "cursor-cli.agent_tools", "transcript", ("projects/*/agent-tools/*.txt",), "reported by readers of 2026",
            Text(_whole), _WHOLE_FILE, endings=(".txt",), speakers=("tool",),
        ),
        Store(
            "cursor-cli.terminals", "transcript", ("projects/*/terminals/*.txt",), "reported by readers of 2026",
            Text(_whole), _WHOLE_FILE, endings=(".txt",), speakers=("tool",),
        ),
        Store(
            "cursor-cli.uploads", "transcript", ("projects/*/uploads/*.md",), "reported by readers of 2026",
            Text(_whole), _WHOLE_FILE, endings=(".md",), speakers=("runtime",),
        ),
        Store(
            "cursor-cli.plans", "transcript", ("plans/*.plan.md",), "reported by readers of 2026",
            Text(_whole), _WHOLE_FILE, endings=(".plan.md",), speakers=("agent",),
        ),
        Store(
            "cursor-cli.chats", "transcript", ("chats/*/*/store.db",), "reported by readers of 2026",
            Rows(_chat), _LINES, endings=(".db",),
        ),
    ),
    resume=_resume,
    limits=("headless_not_in_history", "no_conversation_id"),
)  # fmt: skip
