"""Lines as Pi and its descendants write them: a header, then entries that form a tree by `parentId`, one file a session.

Knows no folder and no agent. All branches of a tree are kept: each entry is a line of its own, whichever leaf is current.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ...model import Decoded, Facts, Line, Lines, Near, Record, Skip, Source, Speaker
from ...text import clean, instant, plain
from ...typed import NamedTuple
from .blocks import BLOBS, blocks, mapping, readable, string

_UNKNOWN = Skip("unknown_shape")
_Value = dict[str, object]


class _Said(NamedTuple):
    speaker: Speaker
    kind: str
    text: str
    tool: str | None = None


_Saying = Iterator["_Said | Skip"]


class Session(NamedTuple):
    """What the lines so far say of the session."""

    id: str
    headed: bool = False  # a copy of another session's header is none of its own
    cwd: str | None = None
    forked_from: str | None = None
    begun_us: int | None = None  # when the file was begun: what is older was copied into it
    model: str | None = None
    title: str | None = None
    parent: str | None = None  # the session that started this one as its subagent


# --- names and headers --------------------------------------------------------------------------------------------

_NAME = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z?_([^_]+)")


def id_in_name(stem: str) -> str | None:
    """The session id in a file's or folder's name, `<time>_<id>`; None for any other name."""
    found = _NAME.fullmatch(stem)
    return found[1] if found else None


def claimed(value: _Value) -> str | None:
    """The id that a header claims."""
    return string(value, "id") if value.get("type") == "session" else None


def _parent_session(value: _Value) -> str | None:
    """The session that a fork comes from: an id, or a path whose last name holds it, on whatever system it was written."""
    told = string(value, "parentSession") or string(value, "branchedFrom")
    if told is None:
        return None
    name = re.split(r"[/\\]", told)[-1]
    if name == told and not told.endswith(".jsonl"):
        return told
    return id_in_name(name.removesuffix(".jsonl"))


def _start(source: Source) -> Session:
    """A subagent's file lies in a folder that is named like the transcript of the session that started it."""
    above = (id_in_name(folder) for folder in reversed(source.key.split("/")[:-1]))
    return Session(id_in_name(source.stem) or source.stem, parent=next(filter(None, above), None))


def _headed(value: _Value, session: Session) -> Session:
    if session.headed:
        return session
    return session._replace(
        id=string(value, "id") or session.id,
        headed=True,
        cwd=string(value, "cwd"),
        forked_from=_parent_session(value),
        begun_us=instant(value.get("timestamp")),
        model=string(value, "modelId"),
        title=session.title or string(value, "title"),
    )


def _remodelled(value: _Value, session: Session) -> Session:
    model = string(value, "modelId") or (string(value, "model") or "").rpartition("/")[2]
    return session._replace(model=model or session.model)


def _retitled(value: _Value, session: Session) -> Session:
    return session._replace(title=string(value, "name") or string(value, "title") or session.title)


_OBSERVED: Mapping[str, Callable[[_Value, Session], Session]] = {
    "session": _headed,
    "model_change": _remodelled,
    "session_info": _retitled,
    "title": _retitled,
    "title_change": _retitled,
}


def _observe(line: Line, state: object) -> Session:
    session = state if isinstance(state, Session) else _start(line.source)
    rule = _OBSERVED.get(_kind(line.value))
    return rule(line.value, session) if rule else session


def _facts(state: object) -> Facts:
    if not isinstance(state, Session):
        return Facts()
    return Facts(state.title, state.id, state.forked_from)


# --- what stands under the user's role ----------------------------------------------------------------------------

# `pi @file prompt` puts the files before the prompt; `/skill:name words` becomes the skill and the words.
_FILE = re.compile(r'<file name="[^"\n]{1,4096}">')
_SKILL = re.compile(r'<skill name="([^"\n]{1,256})" location="[^"\n]{0,4096}">\n')
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)|!\s*\S")  # a path such as /etc/hosts is no command


def _typed(text: str) -> _Saying:
    skill = _SKILL.match(text)
    end = text.find("\n</skill>", skill.end()) if skill else -1
    if skill and end >= 0:
        end += len("\n</skill>")
        yield _Said("runtime", "context", text[:end])
        yield _Said("person", "command", f"/skill:{skill[1]} {text[end:].strip()}".rstrip())
        return
    at = 0
    while (found := _FILE.match(text, at)) and (end := text.find("</file>", found.end())) >= 0:
        at = end + len("</file>")
        at += text.startswith("\n", at)
    if at:
        yield _Said("runtime", "context", text[:at])
    rest = text[at:]
    yield _Said("person", "command" if _COMMAND.match(rest.lstrip()) else "prompt", rest)


def _user(message: _Value) -> _Saying:
    for text in _texts(message.get("content")):
        if isinstance(text, Skip):
            yield text
        elif message.get("synthetic") is True:
            yield _Said("runtime", "context", text)
        elif message.get("attribution") == "agent":
            yield _Said("parent", "brief", text)
        else:
            yield from _typed(text)


# --- messages -----------------------------------------------------------------------------------------------------


def _texts(content: object) -> Iterator[str | Skip]:
    """The text of each block; nothing for images."""
    found = blocks(content)
    for block in (None,) if found is None else found:
        value = mapping(block) or {}
        text = block if isinstance(block, str) else value.get("text")
        if isinstance(text, str):
            yield text
        elif value.get("type") not in BLOBS:
            yield _UNKNOWN


def _all(speaker: Speaker, kind: str, content: object, tool: str | None = None) -> _Saying:
    for text in _texts(content):
        yield text if isinstance(text, Skip) else _Said(speaker, kind, text, tool)


def _system(message: _Value) -> _Saying:
    """A system prompt: text, or since 1.6 named sections beside an empty one."""
    sections = mapping(message.get("sections")) or {}
    yield from _all("runtime", "context", "" if message.get("content") is None else message.get("content"))
    yield from (_Said("runtime", "context", text) for text in sections.values() if isinstance(text, str))


_WORDS: Mapping[str, str] = {"text": "reply", "thinking": "reasoning"}  # a block's type, also the name of its text: its kind
_SILENT_BLOCKS = frozenset({"image", "redactedThinking", "fallback", "anthropicServerTool"})


def _assistant_block(block: object) -> _Said | Skip | None:
    value: _Value = {"type": "text", "text": block} if isinstance(block, str) else mapping(block) or {}
    kind = value.get("type")
    if not isinstance(kind, str) or kind in _SILENT_BLOCKS:
        return None if isinstance(kind, str) else _UNKNOWN
    if kind == "toolCall":
        name, arguments = string(value, "name"), value.get("arguments")
        return _Said("tool", "tool_call", f"{name}\n{plain(arguments)}" if arguments else name, name) if name else _UNKNOWN
    text = value.get(kind)
    return _Said("agent", _WORDS[kind], text) if kind in _WORDS and isinstance(text, str) else _UNKNOWN


def _assistant(message: _Value) -> _Saying:
    content = blocks(message.get("content"))
    if content is None:
        yield _UNKNOWN
    for block in content or ():
        said = _assistant_block(block)
        if said is not None:
            yield said
    yield _Said("runtime", "notice", string(message, "errorMessage") or "")


def _executed(field: str, mark: str) -> Callable[[_Value], _Saying]:
    """What the person ran from the prompt, and what it printed. A doubled mark keeps both from the model."""

    def rule(message: _Value) -> _Saying:
        typed = message.get(field)
        if not isinstance(typed, str):
            yield _UNKNOWN
            return
        yield _Said("person", "command", mark * (2 if message.get("excludeFromContext") is True else 1) + typed)
        yield _Said("runtime", "notice", string(message, "output") or "")

    return rule


def _injected(message: _Value) -> _Saying:
    """What an extension put in: shown to the person, or for the model alone."""
    return _all("runtime", "notice" if message.get("display") is True else "context", message.get("content"))


def _mentioned(message: _Value) -> _Saying:
    files = message.get("files")
    for file in files if isinstance(files, list) else [None]:
        value = mapping(file)
        words = [string(value, key) or "" for key in ("path", "content")] if value else []
        yield _Said("runtime", "context", "\n".join(filter(None, words))) if value else _UNKNOWN


def _summary(value: _Value) -> _Saying:
    text = value.get("summary")
    yield _Said("runtime", "summary", text) if isinstance(text, str) else _UNKNOWN


_ROLES: Mapping[str, Callable[[_Value], _Saying]] = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": lambda message: _all("tool", "tool_result", message.get("content"), string(message, "toolName")),
    "system": _system,
    "developer": lambda message: _all("runtime", "context", message.get("content")),
    "bashExecution": _executed("command", "!"),
    "pythonExecution": _executed("code", "$"),
    "custom": _injected,
    "hookMessage": _injected,  # up to version 2
    "fileMention": _mentioned,
    "branchSummary": _summary,
    "compactionSummary": _summary,
}


# --- entries ------------------------------------------------------------------------------------------------------


def _message(value: _Value) -> _Saying:
    message = mapping(value.get("message")) or {}
    role = message.get("role")
    rule = _ROLES.get(role) if isinstance(role, str) else None
    return rule(message) if rule else iter((_UNKNOWN,))


def _briefed(value: _Value) -> _Saying:
    """What a subagent started with."""
    prompts = value.get("systemPrompt")
    yield from _all("runtime", "context", "" if prompts is None else prompts)
    yield _Said("parent", "brief", string(value, "task") or "")


def _kept(value: _Value) -> _Saying:
    """State that an extension keeps in the session; no model sees it."""
    yield _Said("runtime", "context", plain(readable(value.get("data"))) if value.get("data") else "")


_ENTRIES: Mapping[str, Callable[[_Value], _Saying]] = {
    "message": _message,
    "compaction": _summary,
    "branch_summary": _summary,
    "custom_message": _injected,
    "custom": _kept,
    "session_init": _briefed,
}
# Known, and nobody's words: headers, names (read as titles), settings, bookmarks.
_SILENT = frozenset(
    {
        "session", "title", "title_change", "session_info", "model_change", "model_usage", "thinking_level_change", "service_tier_change",
        "label", "archive", "ttsr_injection", "mode_change", "credential_pin", "reset_boundary",
    }
)  # fmt: skip


def _kind(value: _Value) -> str:
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def _said(value: _Value) -> tuple[_Said | Skip, ...]:
    """All that a line says, so that one which is nested beyond what can be walked costs only itself."""
    kind = _kind(value)
    rule = _ENTRIES.get(kind)
    if rule is None:
        return () if kind in _SILENT else (_UNKNOWN,)
    try:
        return tuple(rule(value))
    except RecursionError:
        return (Skip("undecodable"),)


def _base(line: Line, session: Session) -> Record:
    """What all records of a line share. The speaker and the text are put in later."""
    message = mapping(line.value.get("message")) or {}
    time_us = instant(line.value.get("timestamp")) or instant(message.get("timestamp"))
    copied = time_us is not None and session.begun_us is not None and time_us < session.begun_us
    return Record(
        line.source, line.position, 0, "runtime", "context", "",
        time_us=time_us, conversation_id=session.id, parent_conversation_id=session.parent, native_id=string(line.value, "id"),
        cwd=session.cwd, model=string(message, "model") or session.model, inherited_from=session.forked_from if copied else None,
    )  # fmt: skip


def _decode(line: Line, state: object, near: Near) -> Decoded:
    session = state if isinstance(state, Session) else _start(line.source)
    base = _base(line, session)
    for block, said in enumerate(_said(line.value)):
        if isinstance(said, Skip):
            yield said
        elif said.text.strip():
            speaker, kind, text, tool = said
            if session.parent and speaker == "person":  # nobody types into a subagent's session
                speaker, kind = "parent", "brief"
            model = base.model if speaker in ("agent", "tool") else None
            yield base._replace(block=block, speaker=speaker, kind=kind, text=clean(text), tool=tool, model=model)


def _is_line(value: _Value) -> bool:
    """A whole line, not a message or a block that lies inside one."""
    kind = _kind(value)
    return (kind in _ENTRIES or kind in _SILENT) and any(key in value for key in ("timestamp", "id", "message", "pad"))


ENTRIES = Lines(
    _decode,
    start=_start,
    observe=_observe,
    context=(b'"session"', b'"model_change"', b'"session_info"', b'"title_change"'),
    head=2,  # a title of fixed width may stand before the header
    facts=_facts,
    is_line=_is_line,
)
INSERTED = ":!$"  # what the reader adds: the colon after a key of a tool's arguments or a skill's command, marks of commands
