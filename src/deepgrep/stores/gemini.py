"""Gemini CLI: a prompt log and one chat file per session, in a folder for each project below `~/.gemini/tmp`.

**What it writes.** `GEMINI_CLI_HOME` replaces the home, so the root is `$GEMINI_CLI_HOME/.gemini`. A project's folder is
named with a short slug, before 2026 with the SHA-256 of the project's path (64 hexadecimal digits); the change copied the
old folder and left it. In it: `logs.json`, what was typed, slash commands and shell mode included (`sessionId`, `message`,
`timestamp`); `chats/session-<time>-<first 8 of the id>.jsonl`, the session; `chats/<session id>/<id>.jsonl`, a subagent of
it; `checkpoint-<tag>.json`, what `/chat save` kept; `tool-outputs/`, output too long for a chat; `.project_root`, the
project's path. Until February 2026 a chat was one JSON object (`.json`); resuming such a session writes a `.jsonl` beside.

**How a chat is read.** It is a log that is replayed: rows of one `id` are one message, whose last content and first time
count, and which keeps fields that a later row lacks (a resumed session restamps its messages and drops their tool calls).
`$rewindTo` takes back a message and all after it: these are no records, and are counted (`rewound`). `$set.messages` replaces
the list, at a compaction or when a session is resumed; what a new list leaves out was said all the same and stays found.
Other `$set` change the header.

**What identifies a conversation.** `sessionId`: the same in the log's rows and in the chat's header; a chat's name holds only
its first eight characters, which is no proof. Where a slug folder's copy of a chat is an older folder's file grown on, the
slug's counts.

**Who speaks.** `displayContent` is what was typed, `content` what was sent. Session context, hooks, referenced files and
compaction summaries under the user's role are the runtime's. Shell mode wraps a command in a sentence: the command is the
person's, as typed there (without `!`), its output the runtime's. A subagent's first words are its parent's.

**What cannot be known.** Prompts of `gemini -p` are in no log. No branch. A checkpoint names no session and has no times.
An old folder's path is known only if `projects.json` holds it. Chats are deleted after 30 days by default; log rows stay.

Never opened: accounts and tokens, settings, `shell_history` (a part of `logs.json`), memories, plans, `history/` (Git
repositories of the projects), copies of damaged files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from ..model import Agent, Decoded, Document, Line, Locator, Log, Record, Resume, Sibling, Skip, Source, Store, Text, Traits
from ..text import clean, instant
from ..typed import NamedTuple
from ._shapes.blocks import mapping, string
from ._shapes.envelopes import command_or_prompt
from ._shapes.parts import Said, answered, called, listed, model_parts, tool_parts, user_parts, worded

_UNKNOWN = Skip("unknown_shape")
_ID = re.compile(r"[0-9A-Za-z_-]{8,200}")
_NAME = re.compile(r"session-\d{4}-\d\d-\d\dT\d\d-\d\d-([0-9A-Za-z_-]{8})")
_HASH = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"(?:^|[:/])tmp/([^/]+)/")
_PARENT = re.compile(r"/chats/([^/]+)/[^/]+\Z")
_SESSION = re.compile(r"/tool-outputs/session-([^/]+)/")
_PATH_LIMIT_BYTES, _PROJECTS_LIMIT_BYTES = 1 << 14, 4 << 20

Json = dict[str, object]


# --- projects -------------------------------------------------------------------------------------------------------


def _folder(source: Source) -> str:
    found = _FOLDER.search(source.key)
    return found[1] if found else ""


def _is_hash(folder: str) -> bool:
    return _HASH.fullmatch(folder) is not None


def _digest(path: str) -> str:
    from hashlib import sha256  # deferred: only folders of older releases need it

    return sha256(path.encode("utf-8", "replace")).hexdigest()


def _cwd(source: Source, sibling: Sibling) -> str | None:
    """The project's path: written in its folder, or found among the known projects."""
    folder = _folder(source)
    if not folder:
        return None
    written = (sibling(f"tmp/{folder}/.project_root", _PATH_LIMIT_BYTES) or "").strip()
    if written:
        return clean(written)
    try:
        known = mapping(json.loads(sibling("projects.json", _PROJECTS_LIMIT_BYTES) or "{}"))
    except (ValueError, RecursionError):
        return None
    projects = mapping((known or {}).get("projects")) or {}
    same = (path for path, slug in projects.items() if slug == folder or (_is_hash(folder) and _digest(path) == folder))
    return next(map(clean, same), None)


# --- the prompt log -------------------------------------------------------------------------------------------------


def _logs(value: object, source: Source, sibling: Sibling) -> Decoded:
    if not isinstance(value, list):
        yield _UNKNOWN
        return
    cwd = _cwd(source, sibling)
    # A folder that was migrated holds the same rows as its slug's: of two spellings of one row the slug's counts.
    channel = 1 if _is_hash(_folder(source)) else 0
    for index, item in enumerate(value):
        row = mapping(item) or {}
        text = row.get("message")
        if row.get("type") != "user" or not isinstance(text, str):
            yield _UNKNOWN
        elif text.strip():
            yield Record(
                source, index, 0, "person", command_or_prompt(text), clean(text),
                time_us=instant(row.get("timestamp")), conversation_id=string(row, "sessionId"), cwd=cwd, channel=channel,
            )  # fmt: skip


# --- chats ----------------------------------------------------------------------------------------------------------


class _Message(NamedTuple):
    """What its rows say of a message, and where the first of them stands."""

    value: Json
    position: int


class _Chat:
    """A chat being replayed."""

    def __init__(self) -> None:
        self.header: Json = {}
        self.seen: dict[str, _Message] = {}
        self.live: dict[str, None] = {}  # ids of the list that the program would show now, in its order
        self.rewound: set[str] = set()
        self.unknown = 0

    def row(self, value: Json, position: int) -> None:
        """Apply one row, told apart as the program does: rewind, message, update, header."""
        target, change = value.get("$rewindTo"), mapping(value.get("$set"))
        if isinstance(target, str):
            self._rewind(target)
        elif isinstance(value.get("id"), str):
            self._put(value, position)
        elif change is not None:
            self.change(change, position)
        elif isinstance(value.get("sessionId"), str):
            self.change(value, position)
        else:
            self.unknown += 1

    def change(self, change: Json, position: int) -> None:
        """Change the header; a list of messages is the whole list from now on."""
        self.header.update({key: inner for key, inner in change.items() if key != "messages" and inner is not None})
        listing = change.get("messages")
        if not isinstance(listing, list):
            self.unknown += listing is not None
            return
        self.live = {}
        for index, one in enumerate(listing):
            if (message := mapping(one)) is None:
                self.unknown += 1
            else:
                self._put(message, position + index)  # a line is longer than its list: places stay distinct

    def _put(self, value: Json, position: int) -> None:
        native = value.get("id")
        key = native if isinstance(native, str) else f"#{position}"
        old = self.seen.get(key)
        self.seen[key] = _Message(_merged(old.value, value), old.position) if old else _Message(value, position)
        self.live[key] = None
        self.rewound.discard(key)

    def _rewind(self, target: str) -> None:
        """Take back a message and all after it; a target that is not in the list takes back all of it, as in the program."""
        known = target in self.live
        while self.live:
            key, _ = self.live.popitem()
            self.rewound.add(key)
            if known and key == target:
                break

    def messages(self) -> Iterator[tuple[str, _Message]]:
        """What was said and not taken back, also what a later list left out."""
        return ((key, message) for key, message in self.seen.items() if key not in self.rewound)

    def skips(self) -> Iterator[Skip]:
        """What was taken back, and what is of no known shape."""
        yield from (_UNKNOWN for _ in range(self.unknown))
        yield from (Skip("rewound") for _ in self.rewound)


def _merged(old: Json, new: Json) -> Json:
    """A message after one more row: the last content, the first time, and whatever the later row lacks."""
    kept = {key: value for key, value in new.items() if key in ("content", "displayContent") or value not in (None, "", [])}
    merged = {**old, **kept}
    return {**merged, "timestamp": old["timestamp"]} if instant(old.get("timestamp")) is not None else merged


_NOTICES = ("info", "error", "warning")


def _said(message: Json) -> Iterator[Said | Skip]:
    """What one message holds."""
    kind, content = message.get("type"), message.get("content")
    if kind == "user":
        yield from worded(_user(content, message.get("displayContent")))
    elif kind == "gemini":
        yield from worded(_gemini(message))
    elif kind in _NOTICES:
        yield from worded(said._replace(speaker="runtime", kind="notice", call=None) for said in model_parts(content))
    else:
        yield _UNKNOWN


def _user(content: object, display: object) -> Iterator[Said]:
    """A user's message. With `displayContent`, the rest of `content` is what the program added."""
    if not display:
        yield from user_parts(content)
        return
    shown = list(user_parts(display, typed=True))
    yield from shown
    for said in user_parts(content):
        if said.speaker == "tool":
            yield said
            continue
        added = said.text
        for typed in shown:
            added = added.removeprefix(typed.text)
        yield Said("runtime", "context", added.strip())


def _gemini(message: Json) -> Iterator[Said]:
    for item in listed(message.get("thoughts") or []):
        thought = mapping(item) or {}
        text = "\n".join(filter(None, (string(thought, "subject"), string(thought, "description"))))
        yield Said("agent", "reasoning", text, at=thought.get("timestamp"))
    content = message.get("content")
    parts = list(model_parts(content))
    yield from (said for said in parts if said.speaker != "tool")
    for item in listed(message.get("toolCalls") or []):
        yield from _tool(mapping(item) or {})
    yield from (said for said in parts if said.speaker == "tool")  # a resumed session repeats the calls here


def _tool(call: Json) -> Iterator[Said]:
    name, native, at = string(call, "name"), string(call, "id"), call.get("timestamp")
    yield Said("tool", "tool_call", called(name, call.get("args")), name, native, at)
    results = [said for part in listed(call.get("result")) for said in tool_parts(mapping(part) or {}) if said.kind == "tool_result"]
    own = [said for said in results if said.call == native] or results  # siblings of one turn may stand here too
    for said in own:
        yield said._replace(tool=name or said.tool, call=native or said.call, at=at)
    if not own:  # a call that was refused or broke off has only what was shown
        shown = call.get("resultDisplay")
        yield Said("tool", "tool_result", shown if isinstance(shown, str) else answered(shown), name, native, at)


def _records(chat: _Chat, source: Source, sibling: Sibling) -> Decoded:
    """The records of what is live at the end of the replay."""
    nested = _PARENT.search(source.key)
    delegated = nested is not None or chat.header.get("kind") == "subagent"
    native = string(chat.header, "sessionId") or (source.stem if nested else None)
    directories = chat.header.get("directories")
    listed_first = directories[0] if isinstance(directories, list) and directories and isinstance(directories[0], str) else None
    common = Record(
        source, 0, 0, "person", "prompt", "",
        conversation_id=native,
        parent_conversation_id=nested[1] if nested else None,
        cwd=_cwd(source, sibling) or listed_first,
        title=string(chat.header, "summary"),
    )  # fmt: skip
    spelled: dict[tuple[str, str], int] = {}  # how often a call or its answer has been told so far
    for key, message in chat.messages():
        block = 0
        for said in _said(message.value):
            if isinstance(said, Skip):
                yield said
                continue
            if delegated and said.speaker == "person":  # nobody types into a subagent's session
                said = said._replace(speaker="parent", kind="brief")
            yield _record(common, key, message, said, block)._replace(channel=_spelling(said, spelled))
            block += 1
    yield from chat.skips()


def _spelling(said: Said, spelled: dict[tuple[str, str], int]) -> int:
    if said.call is None:
        return 0
    count = spelled.get((said.kind, said.call), 0)
    spelled[said.kind, said.call] = count + 1
    return count


def _record(common: Record, key: str, message: _Message, said: Said, block: int) -> Record:
    time_us = instant(said.at)
    return common._replace(
        position=message.position,
        block=block,
        speaker=said.speaker,
        kind=said.kind,
        text=said.text,
        time_us=instant(message.value.get("timestamp")) if time_us is None else time_us,
        # The id of a session's context is made from its words: equal ones are no copies.
        native_id=None if key.startswith("#") or said.kind == "context" else clean(key),
        model=string(message.value, "model") if said.speaker in ("agent", "tool") else None,
        tool=said.tool,
    )


def _chat(lines: Iterable[Line], source: Source, sibling: Sibling) -> Decoded:
    chat = _Chat()
    for line in lines:
        chat.row(line.value, line.position)
    yield from _records(chat, source, sibling)


def _chat_legacy(value: object, source: Source, sibling: Sibling) -> Decoded:
    whole = mapping(value)
    if whole is None or not ("sessionId" in whole or isinstance(whole.get("messages"), list)):
        yield _UNKNOWN
        return
    chat = _Chat()
    chat.change(whole, 0)
    yield from _records(chat, source, sibling)


def _is_row(value: Json) -> bool:
    marked = "$set" in value or "$rewindTo" in value or "projectHash" in value
    return marked or ("id" in value and "type" in value and "content" in value)


# --- checkpoints and tool outputs -----------------------------------------------------------------------------------


def _checkpoint(value: object, source: Source, sibling: Sibling) -> Decoded:
    history = value if isinstance(value, list) else (mapping(value) or {}).get("history")
    if not isinstance(history, list):
        yield _UNKNOWN
        return
    title = clean(unquote(source.stem.partition("checkpoint-")[2])) or None
    common = Record(source, 0, 0, "person", "prompt", "", cwd=_cwd(source, sibling), title=title)
    spelled: dict[tuple[str, str], int] = {}
    for index, item in enumerate(history):
        turn = mapping(item) or {}
        parts = {"user": user_parts, "model": model_parts}.get(str(turn.get("role")))
        if parts is None:
            yield _UNKNOWN
            continue
        message = _Message({}, index)
        for block, said in enumerate(worded(parts(turn.get("parts")))):
            yield _record(common, "#", message, said, block)._replace(channel=_spelling(said, spelled))


def _tool_output(text: str, source: Source, sibling: Sibling) -> Decoded:
    session = _SESSION.search(source.key)
    if text.strip():
        native = session[1] if session else None
        yield Record(source, 0, 0, "tool", "tool_result", clean(text), conversation_id=native, cwd=_cwd(source, sibling))


# --- the agent ------------------------------------------------------------------------------------------------------


def _resume(record: Record) -> Resume | None:
    native = record.conversation_id
    if not native or record.parent_conversation_id or record.speaker == "parent" or not _ID.fullmatch(native):
        return None
    return Resume(("gemini", "--resume", native), record.cwd)


def _claimed(value: Json) -> str | None:
    """The session that a header names; a subagent's is none that a prompt could name."""
    if "projectHash" not in value or value.get("kind") == "subagent":
        return None
    return string(value, "sessionId")


def _choose(sources: Sequence[Source], evidence: Sequence[Record]) -> tuple[Source, ...]:
    """Of several files of one session: the log that a resumed `.json` went on in, and a project's slug over its hash."""
    ordered = sorted(sources, key=lambda source: source.store == "gemini.chats")
    left = list({(_folder(source), source.stem): source for source in ordered}.values())
    if len(left) == 1:
        return (left[0],)
    digests = {_digest(record.cwd) for record in evidence if record.cwd}
    grown = [source for source in left if not _is_hash(_folder(source))]
    copied = [source for source in left if _folder(source) in digests]
    if len(grown) == 1 and len(copied) == len(left) - 1 and all(_may_precede(old, grown[0]) for old in copied):
        return (grown[0],)
    return ()


def _may_precede(old: Source, new: Source) -> bool:
    return old.stem == new.stem and old.size <= new.size


AGENT = Agent(
    id="gemini",
    name="Gemini CLI",
    stores=(
        Store(
            id="gemini.logs",
            role="prompts",
            where=("tmp/*/logs.json",),
            evidence="observed 0.61.0 2026-11-30",
            reader=Document(_logs),
            traits=Traits(text_in="file"),
            endings=(".json",),
            speakers=("person",),
        ),
        Store(
            id="gemini.chats",
            role="transcript",
            where=("tmp/*/chats/session-*.jsonl",),
            evidence="observed 0.61.0 2026-11-30",
            reader=Log(_chat, is_line=_is_row),
            traits=Traits(text_in="file", inserted=":", append_only=True),
        ),
        Store(
            id="gemini.chats_legacy",
            role="transcript",
            where=("tmp/*/chats/session-*.json",),
            evidence="observed 0.20.0 2026-11-30",
            reader=Document(_chat_legacy),
            traits=Traits(text_in="file", inserted=":"),
            endings=(".json",),
        ),
        Store(
            id="gemini.subagents",
            role="transcript",
            where=("tmp/*/chats/*/*.jsonl",),
            unless=("session-*",),  # sessions lie one folder higher
            evidence="source packages/core/src/services/chatRecordingService.ts 2026",
            reader=Log(_chat, is_line=_is_row),
            traits=Traits(text_in="file", inserted=":", append_only=True),
        ),
        Store(
            id="gemini.checkpoints",
            role="transcript",
            where=("tmp/*/checkpoint-*.json", "tmp/*/checkpoint.json"),
            evidence="source packages/core/src/core/logger.ts 2026",
            reader=Document(_checkpoint),
            traits=Traits(text_in="file", inserted=":"),
            endings=(".json",),
        ),
        Store(
            id="gemini.tool_outputs",
            role="transcript",
            where=("tmp/*/tool-outputs/session-*/*.txt", "tmp/*/tool-outputs/*.txt"),
            evidence="source packages/core/src/utils/fileUtils.ts 2026",
            reader=Text(_tool_output),
            traits=Traits(text_in="file"),
            endings=(".txt",),
            speakers=("tool",),
        ),
    ),
    resume=_resume,
    locate=Locator(
        stores=("gemini.chats", "gemini.chats_legacy"),
        key=lambda native: native[:8] if _ID.fullmatch(native) else None,
        names=lambda stem: found[1] if (found := _NAME.fullmatch(stem)) else None,
        header=_claimed,
        choose=_choose,
    ),
    limits=("headless_not_in_history",),
)
