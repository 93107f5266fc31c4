"""Grok Build (xAI's `grok`): one prompt history for each working directory, and a folder for each session.

What it writes below `~/.grok` (`GROK_HOME` moves the folder). `<cwd>` is the working directory, percent-encoded; where that is longer
than a file name may be, the folder's name ends in a hash and a file `.cwd` in it holds the directory.

- `sessions/<cwd>/prompt_history.jsonl`: what was typed, one row a prompt: `timestamp`, `session_id`, `prompt`, `is_bash`. The newest
  10,000; above that the file is replaced by a shorter one.
- `sessions/<cwd>/<session>/updates.jsonl`: everything that was shown, as updates of the Agent Client Protocol, appended. A message is
  split into chunks. The session's own log: it keeps what compaction and `/rewind` took out of the model's context.
- `sessions/<cwd>/<session>/chat_history.jsonl`: what the model is sent now, one item a line, without times. Compaction and `/rewind`
  replace it. Before version 1 of `chat_format_version` its lines are keyed by `role`.
- `sessions/<cwd>/<session>/summary.json`: id, directory, title, branch, remotes, and what the session was forked from.
- `sessions/<cwd>/<session>/subagents/<id>/meta.json`: the brief of a subagent, whose turns lie in a session folder of its own.

What identifies a conversation: the session id, which is the folder's name, `info.id` of its summary and `sessionId` of its updates.
A history row's `session_id` equals it.

Who spoke. A `user` item with a `synthetic_reason` is the runtime's, unless the reason is `interjection` (typed while the agent was
busy); in a subagent's session it is a brief. Blocks such as `<user_info>` around the `<user_query>` are the runtime's. Most turns stand
in both files: the update, which has a time, represents them, and the chat item folds into it. A tool's lines among the updates are read
only where the chat history no longer has the call.

Forks copy both files. Chat items before `inherited_prefix_len` are the parent's; where that is not recorded, those that stand at the
same place of the parent's chat history. Updates older than `forked_at` are the parent's.

What cannot be known: chat items have no time. Sessions of `grok -p` and subagents are in no prompt history. Files are deleted one by
one 30 days after they changed, so a session may be there in part. Rewound turns stay in the log and are given like others. Encrypted
reasoning is not text. Where one session lies in two directories, the evidence's directory decides. Not read: compaction checkpoints
and the search index (copies), plans, memory. Never opened: `auth.json`, settings.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from ..model import (
    Agent,
    Decoded,
    Document,
    Facts,
    Line,
    Lines,
    Locator,
    Near,
    Record,
    Resume,
    Sibling,
    Skip,
    Source,
    Speaker,
    Store,
    Traits,
)
from ..text import Number, clean, instant, plain
from ..typed import NamedTuple
from ._shapes import acp, envelopes, wrapped
from ._shapes.blocks import block_text, blocks, joined, mapping, readable, string
from ._shapes.envelopes import Said, command_or_prompt

Json = dict[str, object]
_Saying = Iterator[Said | Skip]
_UNKNOWN = Skip("unknown_shape")

_SUMMARY_BYTES = 1 << 20
_CHAT_BYTES = 64 << 20  # a chat history is what a model is sent: a megabyte or two
_ALL = 1 << 40
_SUMMARY, _CHAT = "summary.json", "chat_history.jsonl"


# --- folders and summaries ----------------------------------------------------------------------------------------

_HEX = re.compile(rb"%([0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:|\\\\")


def _decoded(folder: str) -> str | None:
    """The directory that a folder's name spells; None for a name that ends in a hash."""
    raw = _HEX.sub(lambda found: bytes.fromhex(found[1].decode()), folder.encode("utf-8", "surrogateescape"))
    path = raw.decode("utf-8", "replace")
    return clean(path) if _ABSOLUTE.match(path) else None


def _encoded(path: str) -> str:
    """The folder's name that a directory is given, if it is not too long for one."""
    return "".join(chr(byte) if chr(byte).isalnum() or byte in b"-_.~" else f"%{byte:02X}" for byte in path.encode())


class _Fork(NamedTuple):
    """Where the copied part of a session ends."""

    parent: str
    made_us: int | None  # updates before this were copied
    items: int | None  # chat items that were copied; None where it is not recorded


class _Session:
    """What lies beside a transcript, read once and only when a record needs it."""

    __slots__ = (
        "_chat", "_copied", "_last", "_past", "_summary", "_synthetic", "ahead", "folder", "fork", "group", "id", "source", "subagent",
    )  # fmt: skip

    def __init__(self, source: Source) -> None:
        folders = source.key.rpartition(":")[2].split("/")
        self.source = source
        self.group, self.id = (folders[-3], folders[-2]) if len(folders) > 3 else ("", source.stem)
        self.folder = f"sessions/{self.group}/{self.id}"
        self.fork: _Fork | None = None
        self.subagent = False
        self._summary: Json | None = None
        self._chat: str | None = None
        self._synthetic: dict[str, str] | None = None
        self._copied: int | None = None  # chat items at the start that are the parent's
        self._last: tuple[Json, int] | None = None  # the item asked for last, and how many stand before it
        self.ahead: deque[Json] = deque()  # chunks of the message that was put together last
        self._past = False  # is it behind the copied ones?

    def summary(self, sibling: Sibling) -> Json:
        if self._summary is None:
            self._summary = _object(sibling(f"{self.folder}/{_SUMMARY}", _SUMMARY_BYTES))
            kind = _either(self._summary, "session_kind") or ""
            parent = _either(self._summary, "parent_session_id")
            self.subagent = kind.startswith("subagent") or self._summary.get("hidden") is True
            items = self._summary.get("inherited_prefix_len", self._summary.get("inheritedPrefixLen"))
            made_us = instant(_either(self._summary, "forked_at"))
            copied = items if isinstance(items, int) and not isinstance(items, bool) and items >= 0 else None
            if parent and (made_us is not None or copied is not None):
                # A subagent's first words are its own unless it is recorded that they were copied.
                self.fork = _Fork(parent, made_us, 0 if copied is None and kind in ("subagent", "subagent_resume") else copied)
        return self._summary

    def chat(self, sibling: Sibling) -> str:
        """The chat history beside the updates; empty where it is gone or too large."""
        if self._chat is None:
            self._chat = sibling(f"{self.folder}/{_CHAT}", _CHAT_BYTES) or ""
        return self._chat

    def reason(self, text: str, sibling: Sibling) -> str | None:
        """Why the chat history says that a message was made without a person; None where it does not."""
        if self._synthetic is None:
            items = [_object(raw) for raw in self.chat(sibling).split("\n") if '"synthetic_reason"' in raw]
            self._synthetic = {joined(item.get("content")).strip(): reason for item in items if (reason := _reason(item))}
        return self._synthetic.get(text.strip())

    def is_copied(self, line: Line, near: Near) -> bool:
        """Does this chat item belong to what a fork took from its parent? Asked of the items in file order."""
        if self.fork is None or self._past:
            return False
        if self._copied is None:
            self._copied = self.fork.items
        if self._copied is None:
            own, parents = self.chat(near.sibling), self._parents_chat(self.fork, near.sibling)
            self._copied = _common(_items(own), _items(parents))
        place = self._place(line, near, self._copied)
        self._past = place >= self._copied
        self._last = (line.value, place)
        return not self._past

    def _place(self, line: Line, near: Near, most: int) -> int:
        """How many items stand before this one: counted back to the one asked for last, and no further than it matters."""
        steps = 0
        for value in near.before(_ALL):
            if steps >= most:
                break
            if self._last and value == self._last[0]:
                return self._last[1] + steps + 1
            steps += bool(_kind(value))
        return steps

    def _parents_chat(self, fork: _Fork, sibling: Sibling) -> str:
        elsewhere = _either(self._summary or {}, "source_workspace_dir")
        groups = dict.fromkeys([self.group, *([_encoded(elsewhere)] if elsewhere else [])])
        if not _ID.fullmatch(fork.parent):
            return ""
        texts = (sibling(f"sessions/{group}/{fork.parent}/{_CHAT}", _CHAT_BYTES) for group in groups)
        return next(filter(None, texts), "")

    def cwd(self, sibling: Sibling) -> str | None:
        recorded = string(mapping(self.summary(sibling).get("info")) or {}, "cwd")
        return recorded or _decoded(self.group) or _spelled_out(self.group, sibling)


def _items(chat: str) -> list[Json]:
    """Every item of a chat history."""
    return [item for line in chat.split("\n") if _kind(item := _object(line))]


def _common(own: Sequence[Json], parents: Sequence[Json]) -> int:
    """How many items at the start of both are the same; the system prompt, which may be made anew, may differ."""
    count = 0
    for one, other in zip(own, parents, strict=False):
        if one != other and not (count == 0 and _kind(one) == _kind(other) == "system"):
            break
        count += 1
    return count


def _spelled_out(group: str, sibling: Sibling) -> str | None:
    """The directory behind a hashed name."""
    text = sibling(f"sessions/{group}/.cwd", 1 << 16)
    return clean(text.strip()) or None if text else None


def _object(text: str | None) -> Json:
    try:
        value = json.loads(text.removeprefix("\ufeff"), strict=False) if text else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _either(value: Json, key: str) -> str | None:
    """The text under a name or, as older builds spell it, under the same name in camel case."""
    first, *rest = key.split("_")
    return string(value, key) or string(value, first + "".join(part.capitalize() for part in rest))


def _remote(summary: Json) -> str | None:
    """The first recorded remote: a text, or an object that holds its address."""
    remotes = summary.get("git_remotes")
    if isinstance(remotes, dict):
        remotes = list(remotes.values())
    first = remotes[0] if isinstance(remotes, list) and remotes else remotes
    if isinstance(first, list) and first:
        first = first[-1]
    found = string({"url": first}, "url") or string(mapping(first) or {}, "url")
    return found or _either(summary, "git_root_dir")


# --- the prompt history -------------------------------------------------------------------------------------------


def _history_folder(source: Source) -> list[str | None]:
    """The working directory of a history: spelled by its folder's name, or not yet looked up."""
    return [_decoded(source.key.split("/")[-2])] if source.key.count("/") > 1 else [""]


def _history(line: Line, state: object, near: Near) -> Decoded:
    text = line.value.get("prompt")
    if not isinstance(text, str):
        yield _UNKNOWN
        return
    known = state if isinstance(state, list) else [""]
    if known[0] is None:
        known[0] = _spelled_out(line.source.key.split("/")[-2], near.sibling) or ""
    bash = line.value.get("is_bash") is True
    if bash and not text.lstrip().startswith("!"):
        text = f"!{text}"
    if text.strip():
        yield Record(
            line.source, line.position, 0, "person", "command" if bash else command_or_prompt(text), clean(text),
            time_us=instant(line.value.get("timestamp")), conversation_id=string(line.value, "session_id"), cwd=known[0] or None,
        )  # fmt: skip


# --- chat items ---------------------------------------------------------------------------------------------------

# Blocks that Grok Build puts around a prompt (its SYSTEM_TAGS), and those that readers of it have met.
_TAGS = frozenset(
    {
        "user_info", "project_layout", "git_status", "fork-context", "system-reminder", "system_reminder", "agent-memory",
        "background_context", "rules", "agent_skills", "mcp_servers", "image_files",
    }
)  # fmt: skip
# Who is behind a `synthetic_reason`; any other is the runtime's context.
_REASONS: Mapping[str, tuple[Speaker, str]] = {
    "interjection": ("person", "prompt"),
    "agent_message": ("parent", "brief"),
    "parent_agent_message": ("parent", "brief"),
    "compaction_meta": ("runtime", "summary"),
    "goal_summary": ("runtime", "summary"),
    "task_completed": ("runtime", "notice"),
    "subagent_completed": ("runtime", "notice"),
    "notification_drain": ("runtime", "notice"),
    "scheduler_fired": ("runtime", "notice"),
    "stop_hook_feedback": ("runtime", "notice"),
    "auto_recovery": ("runtime", "notice"),
}


def _reason(value: Json) -> str | None:
    """Why an item was made without a person; reasons with details are objects of one key."""
    found = value.get("synthetic_reason", value.get("syntheticReason"))
    if isinstance(found, dict):
        found = next(iter(found), "unknown")
    return found if isinstance(found, str) else None if found is None else "unknown"


def _sent(text: str, reason: str | None) -> Iterator[Said]:
    """A text under the user's role: the person's, unless there is a reason why it was made."""
    speaker, kind = _REASONS.get(reason, ("runtime", "context")) if reason else ("person", "prompt")
    if speaker != "person":
        yield Said(speaker, kind, text)
        return
    for said in wrapped.utterances(text, _TAGS):
        if said.speaker == "person" and said.text.startswith("<command-"):
            yield from envelopes.utterances(said.text)
        else:
            yield said


def _user(value: Json) -> _Saying:
    content = blocks(value.get("content"))
    if content is None:
        yield _UNKNOWN
        return
    reason = _reason(value)
    for block in content:
        yield from _sent(block_text(block), reason)


def _called(call: object) -> Said | Skip:
    value = mapping(call) or {}
    inner = mapping(value.get("function")) or value
    name, arguments = string(inner, "name"), inner.get("arguments")
    if name is None:
        return _UNKNOWN
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):  # else shown as it is
            arguments = json.loads(arguments, parse_float=Number, strict=False)
    text = plain(readable(arguments)) if arguments not in (None, "", {}) else ""
    return Said("tool", "tool_call", f"{name}\n{text}".rstrip("\n"), tool=name)


def _assistant(value: Json) -> _Saying:
    model = _either(value, "model_id")
    thought = value.get("reasoning_content")
    if isinstance(thought, str):
        yield Said("agent", "reasoning", thought, model=model)
    content, calls = value.get("content"), value.get("tool_calls")
    for block in blocks(content) or ():
        yield Said("agent", "reply", block_text(block), model=model)
    for call in calls if isinstance(calls, list) else ():
        said = _called(call)
        yield said._replace(model=model) if isinstance(said, Said) else said
    if content is None and not isinstance(calls, list):
        yield _UNKNOWN


def _system(value: Json) -> _Saying:
    yield Said("runtime", "context", joined(value.get("content")))


def _tool_result(value: Json) -> _Saying:
    content = value.get("content")
    yield Said("tool", "tool_result", joined(content) if isinstance(content, (str, list)) else plain(readable(content or "")))


def _reasoning(value: Json) -> _Saying:
    for key in ("summary", "content"):
        for block in blocks(value.get(key)) or ():
            yield Said("agent", "reasoning", block_text(block))


def _backend_call(value: Json) -> _Saying:
    """A tool that runs at the service: its type names it."""
    inner = mapping(value.get("kind")) or {}
    name = string(inner, "tool_type") or string(inner, "type")
    if name is None:
        yield _UNKNOWN
        return
    rest = {key: item for key, item in inner.items() if key not in ("tool_type", "type", "id")}
    yield Said("tool", "tool_call", f"{name}\n{plain(readable(rest))}".rstrip("\n"), tool=name)


_ITEMS: Mapping[str, Callable[[Json], _Saying]] = {
    "system": _system,
    "developer": _system,
    "user": _user,
    "assistant": _assistant,
    "tool_result": _tool_result,
    "tool": _tool_result,  # as version 0 calls it
    "reasoning": _reasoning,
    "backend_tool_call": _backend_call,
}


def _kind(value: Json) -> str:
    """What an item is: its type or, before version 1, its role."""
    return string(value, "type") or string(value, "role") or ""


def _chat(line: Line, state: object, near: Near) -> Decoded:
    session = state if isinstance(state, _Session) else _Session(line.source)
    reader = _ITEMS.get(_kind(line.value))
    if reader is None:
        yield _UNKNOWN
        return
    base = _base(line, session, near.sibling)
    copied = session.is_copied(line, near)
    base = base._replace(channel=1, inherited_from=session.fork.parent if session.fork and copied else None)
    yield from _records(base, session, reader, line.value)


# --- updates ------------------------------------------------------------------------------------------------------

# Lines of state, progress and cost: nobody's words, or words that another line has too.
_SILENT = frozenset(
    {
        "available_commands_update", "compaction_checkpoint", "config_option_update", "current_mode_update", "hook_execution", "plan",
        "retry_state", "rewind_marker", "session_info_update", "session_recap_unavailable", "swarm_mode_changed", "turn_completed",
        "usage_update",
    }
)  # fmt: skip
_SILENT_FAMILIES = ("auto_compact", "compaction_", "goal_", "hook_", "mcp_", "monitor_", "subagent_", "task_", "turn_")


def _user_message(value: Json, session: _Session, near: Near) -> _Saying:
    content = mapping((acp.update(value) or {}).get("content")) or {}
    command = string(mapping(content.get("_meta")) or {}, "bash_command")
    if command:
        yield Said("person", "command", f"!{command.strip()}")
        return
    resource = mapping(content.get("resource"))
    if resource is not None:
        yield Said("runtime", "context", string(resource, "text") or "")
        return
    text = acp.whole(value, near, session.ahead)
    if text is None:
        return
    yield from _sent(text, _reason(acp.remarks(value)) or session.reason(text, near.sibling))


def _agent_message(kind: str) -> Callable[[Json, _Session, Near], _Saying]:
    def rule(value: Json, session: _Session, near: Near) -> _Saying:
        text = acp.whole(value, near, session.ahead)
        if text is not None:
            yield Said("agent", kind, text, model=string(acp.remarks(value), "modelId"))

    return rule


def _is_in_chat(update: Json, session: _Session, sibling: Sibling) -> bool:
    """Does the chat history still have this call? Then it has the output too."""
    name = string(update, "toolCallId")
    return name is not None and json.dumps(name) in session.chat(sibling)


def _tool_name(update: Json) -> str | None:
    own = mapping((mapping(update.get("_meta")) or {}).get("x.ai/tool")) or {}
    return string(own, "name") or string(update, "title") or string(update, "kind")


def _tool_call(value: Json, session: _Session, near: Near) -> _Saying:
    update = acp.update(value) or {}
    asked, name = update.get("rawInput"), _tool_name(update)
    if asked is None or name is None or _is_in_chat(update, session, near.sibling):
        return
    yield Said("tool", "tool_call", f"{name}\n{plain(readable(asked))}".rstrip("\n"), tool=name)


def _tool_update(value: Json, session: _Session, near: Near) -> _Saying:
    """A tool's last line has all its output; those before it repeat what there was so far."""
    update = acp.update(value) or {}
    if update.get("status") not in ("completed", "failed") or _is_in_chat(update, session, near.sibling):
        return
    content = update.get("content")
    shown = [joined([inner.get("content")]) for item in content if (inner := mapping(item))] if isinstance(content, list) else []
    text = "\n".join(filter(None, shown)) or plain(readable(update.get("rawOutput") or ""))
    yield Said("tool", "tool_result", text, tool=string(mapping((mapping(update.get("_meta")) or {}).get("x.ai/tool")) or {}, "name"))


def _recap(value: Json, session: _Session, near: Near) -> _Saying:
    yield Said("runtime", "summary", string(acp.update(value) or {}, "summary") or "")


_UPDATES: Mapping[str, Callable[[Json, _Session, Near], _Saying]] = {
    "user_message_chunk": _user_message,
    "agent_message_chunk": _agent_message("reply"),
    "agent_thought_chunk": _agent_message("reasoning"),
    "tool_call": _tool_call,
    "tool_call_update": _tool_update,
    "session_recap": _recap,
}


def _updates(line: Line, state: object, near: Near) -> Decoded:
    session = state if isinstance(state, _Session) else _Session(line.source)
    kind = acp.kind(line.value)
    reader = _UPDATES.get(kind)
    if reader is None:
        if kind not in _SILENT and not kind.startswith(_SILENT_FAMILIES):
            yield _UNKNOWN
        return
    time_us = acp.time_us(line.value)
    base = _base(line, session, near.sibling)._replace(time_us=time_us)
    child = string(acp.remarks(line.value), "subagentId")
    if child:  # shown in the parent's window; the child's own session has it too
        base = base._replace(conversation_id=child, parent_conversation_id=session.id, channel=2)
    fork = session.fork
    if fork and fork.made_us is not None and time_us is not None and time_us < fork.made_us:
        base = base._replace(inherited_from=fork.parent)
    yield from _records(base, session, lambda value: reader(value, session, near), line.value)


# --- what both have in common -------------------------------------------------------------------------------------


def _base(line: Line, session: _Session, sibling: Sibling) -> Record:
    summary = session.summary(sibling)
    return Record(
        line.source, line.position, 0, "runtime", "context", "",
        conversation_id=session.id,
        parent_conversation_id=_either(summary, "parent_session_id") if session.subagent else None,
        cwd=session.cwd(sibling), repo=_remote(summary), branch=_either(summary, "head_branch"),
        title=_either(summary, "generated_title") or _either(summary, "session_summary"),
    )  # fmt: skip


def _records(base: Record, session: _Session, reader: Callable[[Json], _Saying], value: Json) -> Decoded:
    try:
        found = tuple(reader(value))
    except RecursionError:
        found = (Skip("undecodable"),)
    for block, said in enumerate(found):
        if isinstance(said, Skip):
            yield said
        elif said.text.strip():
            if said.speaker == "person" and session.subagent and base.inherited_from is None:
                said = said._replace(speaker="parent", kind="brief")  # nobody types into a subagent's session
            speaker, kind, text, tool, model, _ = said
            yield base._replace(block=block, speaker=speaker, kind=kind, text=clean(text), tool=tool, model=model)


def _facts(state: object) -> Facts:
    if not isinstance(state, _Session):
        return Facts()
    fork = state.fork
    known = fork is None or fork.items is not None or (fork.made_us is not None and state.source.stem == "updates")
    return Facts(conversation_id=state.id, forked_from=fork.parent if fork else None, prefix_known=known)


def _brief(value: object, source: Source, sibling: Sibling) -> Decoded:
    """What a subagent was asked. Its own session begins with the same words, which then represent it."""
    meta = mapping(value) or {}
    text = string(meta, "prompt")
    if text is None:
        yield _UNKNOWN
        return
    folders = source.key.split("/")
    child = _either(meta, "child_session_id") or _either(meta, "subagent_id") or folders[-2]
    yield Record(
        source, 0, 0, "parent", "brief", text, time_us=instant(meta.get("started_at")), conversation_id=child,
        parent_conversation_id=_either(meta, "parent_session_id") or folders[-4], title=_either(meta, "description"), channel=2,
    )  # fmt: skip


# --- resume, locate, the declaration ------------------------------------------------------------------------------

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{7,63}")


def _resume(record: Record) -> Resume | None:
    name = record.conversation_id or ""
    return Resume(("grok", "--resume", name), record.cwd) if _ID.fullmatch(name) and not record.parent_conversation_id else None


def _claimed(value: Json) -> str | None:
    """The id in a summary, or the session that an update belongs to."""
    return string(mapping(value.get("info")) or {}, "id") or acp.session(value)


def _choose(sources: Sequence[Source], evidence: Sequence[Record]) -> tuple[Source, ...]:
    """Both files of one folder are one conversation; of several folders, the one whose prompt history names it."""
    folders = {source.key.rpartition("/")[0] for source in sources}
    if len(folders) > 1:
        groups = {record.source.key.rpartition("/")[0] for record in evidence}
        folders = {folder for folder in folders if folder.rpartition("/")[0] in groups}
    return tuple(source for source in sources if source.key.rpartition("/")[0] in folders) if len(folders) == 1 else ()


def _is_item(value: Json) -> bool:
    return _kind(value) in _ITEMS and not {"content", "summary", "kind", "tool_calls"}.isdisjoint(value)


# Added: the colon after a key of a tool's arguments, the mark of a bang command.
_INSERTED = ":!"

AGENT = Agent(
    "grok",
    "Grok Build",
    stores=(
        Store(
            "grok.prompt_history", "prompts", ("sessions/*/prompt_history.jsonl",), "source xai-org/grok-build 19d42e3 2026-08",
            Lines(_history, start=_history_folder, is_line=lambda value: "prompt" in value and "session_id" in value),
            # Not append-only: above 10,000 rows a shorter file takes its place.
            Traits(text_in="line", inserted="!"), speakers=("person",),
        ),
        Store(
            "grok.updates", "transcript", ("sessions/*/*/updates.jsonl",), "source xai-org/grok-build 19d42e3 2026-08",
            Lines(_updates, start=_Session, facts=_facts, is_line=lambda value: acp.update(value) is not None and "method" in value),
            Traits(text_in="line", inserted=_INSERTED, always=acp.MARKERS, append_only=True),
        ),
        Store(
            "grok.sessions", "transcript", ("sessions/*/*/chat_history.jsonl",), "source xai-org/grok-build 19d42e3 2026-08",
            Lines(_chat, start=_Session, facts=_facts, is_line=_is_item),
            Traits(text_in="line", inserted=_INSERTED),
        ),
        Store(
            "grok.subagents", "transcript", ("sessions/*/*/subagents/*/meta.json",), "source xai-org/grok-build 19d42e3 2026-08",
            Document(_brief), Traits(text_in="file"), endings=(".json",), speakers=("parent",),
        ),
    ),
    resume=_resume,
    locate=Locator(
        stores=("grok.updates", "grok.sessions"),
        key=lambda native: native if _ID.fullmatch(native) else None,
        names=lambda folder: folder,
        header=_claimed,
        choose=_choose,
        level=1,
        beside=_SUMMARY,
    ),
    limits=("headless_not_in_history",),
)  # fmt: skip
