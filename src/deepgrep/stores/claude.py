"""Claude Code: the prompt history, the transcripts and the tool outputs below `~/.claude`.

What it writes (`CLAUDE_CONFIG_DIR` moves the folder; Claude Code is closed source, all of this is observation):

- `history.jsonl`: what was typed in the interactive program, one row a prompt, slash and bang command: `display`, `timestamp` in
  milliseconds, `project` (the working directory) and `sessionId`. A paste of several lines is a placeholder in `display`; its text is in
  `pastedContents`, or in `paste-cache/<16 hex>.txt` named by a hash there.
- `projects/<folder>/<session id>.jsonl`: one transcript, one JSON object a line. The folder's name is the working directory with most
  characters made `-`: it cannot be turned back, and two directories may share it, so the directory comes from each line's `cwd`.
- `projects/<folder>/<session id>/subagents/**/agent-<id>.jsonl` (before 2.1: `projects/<folder>/agent-<id>.jsonl`): what a subagent did.
  Its lines carry the `sessionId` of the session that started it, so its own id is the file's stem.
- `projects/<folder>/<session id>/tool-results/*`: output too long for the transcript.
- `__store.db` (0.2, until mid 2025): the same messages in a database; where a transcript holds them too, it stands for them.
- Claude Desktop's agent mode keeps the same transcripts below a folder of its own (`claude.cowork`).

What identifies a conversation: `sessionId`, which is also the stem of its file. The history's `sessionId` equals it exactly.
`--fork-session` and a move to the background copy all rows into a new file under a new `sessionId`, with the same `uuid`s and no way back.

Who spoke. Most rows of `type: user` are not the person's: tool results, compaction summaries, meta rows, command output,
notifications, messages of other agents, briefs of subagents. A row is a person's prompt only where none of these marks is on it.
One message may hold several: a tool result that quotes the words of a refusal, or a reminder put before a prompt. Slash commands
(`<command-name>`), bang commands (`<bash-input>`), memory notes (`<user-memory-input>`) and marked pastes (`<pasted_content>`)
are given as they were typed. Reminders at the start or at the end of a text and a command's output at its start are cut off it.

What cannot be known: prompts of headless runs (`claude -p`, SDK) are in no history. Transcripts are deleted after 30 days by default,
so many history rows name none. `/clear` starts a new session without a link. A `summary` row may title another session that the same
file continues. A tool's output does not name its tool; where it was shortened for the model, only what the model saw is searched, not
the longer `toolUseResult` beside it. Encrypted reasoning is not text. Images and PDFs are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..model import (
    Agent,
    Database,
    Decoded,
    Facts,
    Line,
    Lines,
    Locator,
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
from ..text import clean, instant, plain
from ..typed import NamedTuple
from ._shapes.blocks import BLOBS, block_text, blocks, joined, mapping, readable, string
from ._shapes.envelopes import Said, command_or_prompt, utterances
from ._shapes.storedb import lines

_PASTE_LIMIT_BYTES = 4 << 20
_UNKNOWN = Skip("unknown_shape")


class _Row(NamedTuple):
    """One line of a transcript with what decides who speaks in it. `near` is None for a line that lies inside another."""

    value: dict[str, object]
    near: Near | None
    delegated: bool  # under a user role stands what another agent wrote


_Saying = Iterator[Said | Skip]


# --- the prompt history -------------------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(r"\[(?:Pasted text|\.\.\.Truncated text) #(\d{1,9})[^\]\n]{0,40}\]")
_PASTE_HASH = re.compile(r"[0-9a-f]{16}")


def _pasted(entry: dict[str, object] | None, near: Near) -> str | None:
    """The text behind a placeholder: kept in the row itself or in a file of the paste cache; None where it is gone."""
    if entry is None or entry.get("type", "text") != "text":
        return None
    content, name = entry.get("content"), entry.get("contentHash")
    if isinstance(content, str):
        return content
    if isinstance(name, str) and _PASTE_HASH.fullmatch(name):
        return near.sibling(f"paste-cache/{name}.txt", _PASTE_LIMIT_BYTES)
    return None


def _expanded(display: str, pastes: dict[str, object], near: Near) -> tuple[str, bool]:
    """The prompt with its pastes in place, as Claude Code sends it, and whether one of them is gone."""
    texts = {number: _pasted(mapping(pastes.get(number)), near) for number in {*_PLACEHOLDER.findall(display)}}
    text = _PLACEHOLDER.sub(lambda found: found[0] if (paste := texts[found[1]]) is None else paste, display)
    return text, None in texts.values()


def _history(line: Line, state: object, near: Near) -> Decoded:
    value = line.value
    display = value.get("display")
    if not isinstance(display, str):
        yield _UNKNOWN
        return
    text, missing = _expanded(display, mapping(value.get("pastedContents")) or {}, near)
    if text.strip():
        yield Record(
            line.source, line.position, 0, "person", command_or_prompt(display), clean(text),
            time_us=instant(value.get("timestamp")), conversation_id=string(value, "sessionId"), cwd=string(value, "project"),
        )  # fmt: skip
    if missing:
        yield Skip("paste_missing")


# --- who sent a row --------------------------------------------------------------------------------------------------

# `origin.kind` of a row, or `commandMode` of a queued one (seen 2.1.123 to 2.1.332): who sent it. No kind at all: older, the person.
_SENDERS: Mapping[str, tuple[Speaker, str]] = {
    "human": ("person", "prompt"),
    "prompt": ("person", "prompt"),
    "bash": ("person", "prompt"),
    "task-notification": ("runtime", "notice"),
    "coordinator": ("parent", "brief"),
    "peer": ("parent", "brief"),
}


def _sender(marks: dict[str, object]) -> tuple[Speaker, str] | None:
    """Who sent a row, as its own marks tell; None where they do not."""
    origin = marks.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin or marks.get("commandMode")
    if marks.get("promptSource") == "system":
        return "runtime", "context"
    # A kind that is not known is not known to be a person.
    return _SENDERS.get(kind, ("runtime", "context")) if isinstance(kind, str) else None


def _owned(said: Said, marks: dict[str, object], delegated: bool) -> Said:
    """The utterance under the name of who really wrote it."""
    if said.speaker != "person":
        return said
    if delegated:
        return said._replace(speaker="parent", kind="brief")
    speaker, kind = _sender(marks) or ("person", said.kind)
    if speaker != "person":
        return said._replace(speaker=speaker, kind=kind)
    headless = marks.get("promptSource") == "sdk" or (string(marks, "entrypoint") or "").startswith("sdk-")
    return said._replace(origin="headless" if headless else None)


def _user_text(text: str, marks: dict[str, object], delegated: bool) -> Iterator[Said]:
    if marks.get("isCompactSummary") is True:
        yield Said("runtime", "summary", text)
    elif marks.get("isMeta") is True:
        caveat = text.lstrip().startswith(("<local-command-caveat>", "Caveat:"))
        yield Said("runtime", "notice" if caveat else "context", text)
    else:
        yield from (_owned(said, marks, delegated) for said in utterances(text))


# --- user rows ----------------------------------------------------------------------------------------------------

# How a tool's answer quotes the words that a person typed while refusing the call: since 2.0, before, and in a subagent.
_REFUSAL = re.compile(
    r"(?:Error: )?(?:The user doesn't want to proceed with this tool use|Permission for this tool use was denied)\.[^\n]{0,400}?"
    r"(?:the user said:|the user provided the following reason for the rejection:)\s*(?=\S)",
    re.IGNORECASE,
)
_REFUSAL_END = "\n\nNote: The user's next message may contain a correction or preference."
_RESULT_FIELDS = ("stdout", "stderr", "content", "result", "output")


def _beside(result: object) -> str:
    """The output that a row keeps beside a tool result without text: an empty one, or one of images."""
    if isinstance(result, str):
        return result
    value = mapping(result) or {}
    return "\n".join(text for key in _RESULT_FIELDS if isinstance(text := value.get(key), str) and text.strip())


def _tool_result(block: dict[str, object], row: _Row) -> _Saying:
    """What the model was shown. What the row keeps beside it, often at greater length, is read only where that gives no text."""
    text = joined(block.get("content"))
    text = text if text.strip() else _beside(row.value.get("toolUseResult"))
    yield Said("tool", "tool_result", text)
    refusal = _REFUSAL.match(text) if block.get("is_error") is True else None
    if refusal:
        yield Said("person", "feedback", text[refusal.end() :].partition(_REFUSAL_END)[0].strip())


def _user_block(block: object, row: _Row) -> _Saying:
    value = mapping(block) or {}
    kind, text = value.get("type"), value.get("text")
    if kind == "text" and isinstance(text, str):
        yield from _user_text(text, row.value, row.delegated)
    elif kind == "tool_result":
        yield from _tool_result(value, row)
    elif kind not in BLOBS:
        yield _UNKNOWN


def _user(row: _Row) -> _Saying:
    message = mapping(row.value.get("message"))
    content = blocks(message.get("content")) if message else None
    if content is None:
        yield _UNKNOWN
        return
    for block in content:
        yield from _user_block(block, row)


# --- assistant rows -----------------------------------------------------------------------------------------------

_WORDS: Mapping[str, str] = {"text": "reply", "thinking": "reasoning"}  # a block's type, also the name of its text: its kind
_SILENT_BLOCKS = frozenset({"redacted_thinking", "image", "document", "container_upload", "fallback"})
_SNAPSHOT_REACH = 2  # lines: a grown snapshot is the next line, or the one after a line of progress


def _later_blocks(row: _Row, message: dict[str, object]) -> list[object]:
    """The blocks of the next assistant line if it belongs to the same message."""
    name = message.get("id")
    if row.near is None or not isinstance(name, str):
        return []
    for value in row.near.after(_SNAPSHOT_REACH):
        if value.get("type") == "assistant":
            later = mapping(value.get("message")) or {}
            return (blocks(later.get("content")) or []) if later.get("id") == name else []
    return []


def _superseded(kind: str, text: str, later: list[object]) -> bool:
    """Does a later snapshot of the same message hold this text and perhaps more?"""
    for block in later:
        value = mapping(block) or {}
        grown = value.get(kind)
        if value.get("type") == kind and isinstance(grown, str) and grown.startswith(text):
            return True
    return False


def _called(block: dict[str, object], model: str | None) -> Said | Skip:
    name = string(block, "name")
    if name is None:
        return _UNKNOWN
    return Said("tool", "tool_call", f"{name}\n{plain(block.get('input'))}" if block.get("input") else name, tool=name, model=model)


def _assistant_block(block: object, model: str | None, later: list[object]) -> Said | Skip | None:
    value = mapping(block) or {}
    kind = value.get("type")
    if not isinstance(kind, str):
        return _UNKNOWN
    if kind in _WORDS:
        text = value.get(kind)
        if not isinstance(text, str):
            return _UNKNOWN
        if text.strip() and _superseded(kind, text, later):
            return Skip("superseded")
        return Said("agent", _WORDS[kind], text, model=model)
    if kind.endswith("tool_use"):
        return _called(value, model)
    if kind.endswith("tool_result"):
        return Said("tool", "tool_result", joined(value.get("content")))
    return None if kind in _SILENT_BLOCKS else _UNKNOWN


def _assistant(row: _Row) -> _Saying:
    message = mapping(row.value.get("message"))
    content = blocks(message.get("content")) if message else None
    if message is None or content is None:
        yield _UNKNOWN
        return
    model = string(message, "model")
    # Messages that the program itself puts under the assistant's role: errors of the service, "No response requested."
    if row.value.get("isApiErrorMessage") is True or model == "<synthetic>":
        yield from (Said("runtime", "notice", block_text(block)) for block in content)
        return
    later = _later_blocks(row, message)
    for block in content:
        said = _assistant_block(block, model, later)
        if said is not None:
            yield said


# --- other rows ---------------------------------------------------------------------------------------------------


def _queued(row: _Row) -> _Saying:
    """What the person typed while the agent was busy: the only spelling of it that says so, without a role or a message."""
    attachment = mapping(row.value.get("attachment")) or {}
    content = blocks(attachment.get("prompt"))
    if content is None:
        yield _UNKNOWN
        return
    marks = {**row.value, **attachment}
    for block in content:
        yield from _user_text(block_text(block), marks, row.delegated)


def _attachment(row: _Row) -> _Saying:
    attachment = mapping(row.value.get("attachment"))
    if attachment is None:
        yield _UNKNOWN
        return
    if attachment.get("type") == "queued_command":
        yield from _queued(row)
        return
    shown = row.value.get("rendered")  # since 2.1.3xx: what the model is really shown of it
    texts = [text for item in shown if (text := joined((mapping(item) or {}).get("content")))] if isinstance(shown, list) else []
    yield Said("runtime", "context", "\n".join(texts) or plain(readable(attachment)))


def _system(row: _Row) -> _Saying:
    content = row.value.get("content")
    if content is None:
        return  # durations, hook counts: nothing said
    if not isinstance(content, str):
        yield _UNKNOWN
    elif row.value.get("subtype") == "local_command":
        yield from _user_text(content, row.value, row.delegated)
    else:
        yield Said("runtime", "notice", content)


def _queue_operation(row: _Row) -> _Saying:
    """The queue's book-keeping: the text again, and the only spelling of it where the agent took it in between two steps."""
    if row.value.get("operation") != "enqueue" or row.value.get("content") is None:
        return
    content = blocks(row.value.get("content"))
    if content is None:
        yield _UNKNOWN
        return
    for block in content:
        yield from _user_text(block_text(block), row.value, row.delegated)


def _progress(row: _Row) -> _Saying:
    value = mapping(row.value.get("data"))
    if value is None or value.get("type") == "agent_progress":  # the latter without its message
        yield _UNKNOWN
        return
    outputs = (value.get(key) for key in ("fullOutput", "output", "stdout"))
    yield Said("runtime", "context", next((text for text in outputs if isinstance(text, str) and text), ""))


def _summary(row: _Row) -> _Saying:
    text = row.value.get("summary")
    yield Said("runtime", "summary", text) if isinstance(text, str) else _UNKNOWN


def _request(row: _Row) -> _Saying:
    """Copies of what was sent to the service: system prompts, tool definitions, messages once more."""
    yield Said("runtime", "context", plain(readable(row.value.get("message") or row.value.get("shape") or "")))


_READERS: Mapping[str, Callable[[_Row], _Saying]] = {
    "user": _user,
    "assistant": _assistant,
    "attachment": _attachment,
    "system": _system,
    "queue-operation": _queue_operation,
    "progress": _progress,
    "summary": _summary,
    "api-request-shape": _request,
    "api-request-blob": _request,
}
# Known, and nobody's words: state, snapshots, costs, names (titles are read from some of them, see `_observe`).
_SILENT = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "atis-latch", "attribution-snapshot",
        "content-replacement", "cost-state", "custom-title", "file-history-snapshot", "last-prompt", "mode", "permission-mode",
        "pr-link", "tag", "tools-used", "worktree-state",
    }
)  # fmt: skip
# The queue repeats what a user row or an attachment says later; progress repeats a subagent's own file.
_CHANNELS: Mapping[str, int] = {"queue-operation": 2, "progress": 2}
_IN_SUBAGENT = re.compile(r"(?:^|/)([^/]+)/subagents/(?:[^/]+/)*[^/]+\Z")
_SIDE_QUESTION = "agent-aside_question"  # a conversation beside the main one, in which the person asks


# --- lines of a transcript ----------------------------------------------------------------------------------------


def _base(line: Line) -> Record:
    """What all records of a line share. The speaker and the text are put in later."""
    value, source = line.value, line.source
    session, parent = string(value, "sessionId"), None
    conversation = session or source.stem
    if source.stem.startswith("agent-"):
        above = _IN_SUBAGENT.search(source.key)
        conversation, parent = source.stem, above[1] if above else session
    return Record(
        source, line.position, 0, "runtime", "context", "",
        time_us=instant(value.get("timestamp")), conversation_id=conversation, parent_conversation_id=parent,
        native_id=string(value, "uuid"), cwd=string(value, "cwd"), branch=string(value, "gitBranch"),
        channel=_CHANNELS.get(str(value.get("type")), 0), is_copy=value.get("sessionKind") == "bg",
    )  # fmt: skip


def _within(line: Line) -> tuple[Record, _Row] | None:
    """The message of a subagent that a line of progress carries, with where it belongs; None for any other line."""
    outer = mapping(line.value.get("data")) if line.value.get("type") == "progress" else None
    inner = mapping(outer.get("message")) if outer and outer.get("type") == "agent_progress" else None
    if outer is None or inner is None:
        return None
    base, name = _base(line), string(outer, "agentId")
    base = base._replace(
        time_us=instant(inner.get("timestamp")) or base.time_us,
        native_id=string(inner, "uuid") or base.native_id,
        conversation_id=f"agent-{name}" if name else base.conversation_id,
        parent_conversation_id=base.conversation_id if name else None,
    )
    return base, _Row(inner, None, delegated=True)


def _said(row: _Row) -> tuple[Said | Skip, ...]:
    """All utterances of a line, so that one which is nested beyond what can be walked costs only itself."""
    kind = row.value.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return () if isinstance(kind, str) and kind in _SILENT else (_UNKNOWN,)
    try:
        return tuple(reader(row))
    except RecursionError:
        return (Skip("undecodable"),)


def _transcript(line: Line, state: object, near: Near | None) -> Decoded:
    asked = line.source.stem.startswith(_SIDE_QUESTION)
    delegated = not asked and (line.source.stem.startswith("agent-") or line.value.get("isSidechain") is True)
    base, row = _within(line) or (_base(line), _Row(line.value, near, delegated))
    for block, said in enumerate(_said(row)):
        if isinstance(said, Skip):
            yield said
        elif said.text.strip():
            speaker, kind, text, tool, model, origin = said
            yield base._replace(block=block, speaker=speaker, kind=kind, text=clean(text), tool=tool, model=model, origin=origin)


class _Titles(NamedTuple):
    custom: str | None = None
    made: str | None = None
    summary: str | None = None


_TITLE_ROWS: Mapping[str, tuple[str, str]] = {
    "custom-title": ("customTitle", "custom"),
    "ai-title": ("aiTitle", "made"),
    "summary": ("summary", "summary"),
}


def _observe(line: Line, state: object) -> object:
    field, slot = _TITLE_ROWS.get(str(line.value.get("type")), ("", ""))
    title = string(line.value, field)
    return state._replace(**{slot: title}) if title and isinstance(state, _Titles) else state


def _facts(state: object) -> Facts:
    return Facts(next(filter(None, state), None)) if isinstance(state, _Titles) else Facts()


def _is_line(value: dict[str, object]) -> bool:
    """A whole line, not a message or a block that lies inside one."""
    kind = value.get("type")
    if kind in ("user", "assistant"):
        return "sessionId" in value or "parentUuid" in value
    return isinstance(kind, str) and (kind in _READERS or kind in _SILENT)


# --- the database of old ------------------------------------------------------------------------------------------


def _old_store(database: Database, wanted: Wanted, source: Source) -> Decoded:
    for line in lines(database, wanted, source):
        yield from (line,) if isinstance(line, Skip) else _transcript(line, None, None)


# --- tool outputs, resume, the declaration ------------------------------------------------------------------------


def _output(text: str, source: Source, sibling: Sibling) -> Decoded:
    folders = source.key.split("/")
    if text.strip():
        conversation = folders[-3] if len(folders) > 2 else None
        yield Record(source, 0, 0, "tool", "tool_result", clean(text), conversation_id=conversation)


_SESSION_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}")


def _resume(record: Record) -> Resume | None:
    """Claude Code finds a session only from the folder it ran in, and resumes no subagent. Claude Desktop has no such command."""
    name = record.conversation_id or ""
    if record.store == "claude.cowork" or record.parent_conversation_id or not _SESSION_ID.fullmatch(name):
        return None
    return Resume(("claude", "--resume", name), record.cwd)


def _choose(sources: Sequence[Source], evidence: Sequence[Record]) -> tuple[Source, ...]:
    """Of several files of one session, the one in the folder that Claude Code makes of the recorded project."""
    folders = {re.sub("[^A-Za-z0-9-]", "-", record.cwd) for record in evidence if record.cwd}
    fitting = tuple(source for source in sources if source.key.split("/")[-2:-1] == [*folders])
    return fitting if len(fitting) == 1 else ()


_TRANSCRIPT = Lines(
    _transcript,
    start=lambda source: _Titles(),
    observe=_observe,
    context=(b'"customTitle"', b'"aiTitle"', b'"leafUuid"'),
    facts=_facts,
    is_line=_is_line,
)
# A marked paste joins what stood on both sides of its marks: `always`. Added: the colon after a key of a tool's arguments, the mark
# of a bang command or a memory note.
_TRAITS = Traits(text_in="line", inserted=":!#", append_only=True)

AGENT = Agent(
    "claude",
    "Claude Code",
    stores=(
        Store(
            "claude.history", "prompts", ("history.jsonl",), "observed 2.1.332 2026-11-30",
            Lines(_history, is_line=lambda value: "display" in value),
            Traits(text_in="line", always=(b"text #",), append_only=True), speakers=("person",),
        ),
        Store(
            "claude.sessions", "transcript", ("projects/*/*.jsonl",), "observed 2.1.332 2026-11-30", _TRANSCRIPT, _TRAITS,
            unless=("agent-*.jsonl",),
        ),
        Store(
            "claude.subagents", "transcript", ("projects/*/*/subagents/**/agent-*.jsonl", "projects/*/agent-*.jsonl"),
            "observed 2.0.60 2026-11-30", _TRANSCRIPT, _TRAITS,
        ),
        Store(
            "claude.tool_results", "transcript", ("projects/*/*/tool-results/*",), "reported by readers of 2.1",
            Text(_output), Traits(text_in="file"), endings=("",), speakers=("tool",),
            unless=("*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.pdf"),
        ),
        Store(
            "claude.cowork", "transcript", ("**/projects/*/*.jsonl", "**/projects/*/*/subagents/**/agent-*.jsonl"),
            "reported by a reader of Claude Desktop", _TRANSCRIPT, _TRAITS, root="desktop",
        ),
        Store(
            "claude.store_db", "transcript", ("__store.db",), "reported by readers of old homes", Rows(_old_store),
            Traits(text_in="line", inserted=":!#"), endings=(".db",),
        ),
    ),
    resume=_resume,
    locate=Locator(
        stores=("claude.sessions",),
        key=lambda native: native if _SESSION_ID.fullmatch(native) else None,
        names=lambda stem: stem,
        header=lambda value: string(value, "sessionId"),
        choose=_choose,
    ),
    limits=("headless_not_in_history",),
)  # fmt: skip
