"""Sessions of messages of typed parts, as OpenCode and its descendants keep them: what each part says, and who says it.

A part tells what was said, its message who spoke, its session to whom. Pure values: where the three lie is their reader's matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ...model import Record, Skip, Speaker
from ...text import clean, instant
from ...typed import NamedTuple
from .blocks import mapping, string
from .envelopes import command_or_prompt
from .parts import called

UNKNOWN = Skip("unknown_shape")


class Session(NamedTuple):
    """What a session says of itself. `headless`: it was begun by `run`, which may ask nobody anything."""

    id: str
    parent: str | None = None
    cwd: str | None = None
    title: str | None = None
    began_us: int | None = None
    headless: bool = False


class Message(NamedTuple):
    """What a message says of itself. `idle`: no model was asked for it; `parent`: the message that it answers."""

    id: str
    session: str
    role: str
    time_us: int | None
    model: str | None = None
    cwd: str | None = None
    is_summary: bool = False
    idle: bool = False
    parent: str | None = None


class Said(NamedTuple):
    """One utterance of a part. `at`: its own time, as written; `mark`: what its copies have in common."""

    speaker: Speaker
    kind: str
    text: str
    tool: str | None = None
    at: object = None
    mark: object = None
    headless: bool = False


class Turn(NamedTuple):
    """A message in its session. `by_hand`: the person ran the tool in it, as the message that it answers tells."""

    session: Session
    message: Message
    by_hand: Callable[[], bool] = lambda: False


_Saying = Iterator[Said | Skip]


# --- sessions and messages --------------------------------------------------------------------------------------


def session(value: dict[str, object], name: str, began: object) -> Session:
    """A session from its fields: `parentID` and `permission` in files, `parent_id` in rows."""
    rules = value.get("permission")
    denied = [rule for one in (rules if isinstance(rules, list) else []) if (rule := mapping(one)) and rule.get("action") == "deny"]
    return Session(
        name,
        string(value, "parentID") or string(value, "parent_id"),
        string(value, "directory"),
        string(value, "title"),
        instant(began),
        any(rule.get("permission") == "question" for rule in denied),
    )


def message(value: dict[str, object], name: str, session_id: str, created: object) -> Message:
    """A message from its JSON value."""
    tokens, path, asked = (mapping(value.get(key)) or {} for key in ("tokens", "path", "model"))
    return Message(
        name,
        session_id,
        string(value, "role") or "",
        instant((mapping(value.get("time")) or {}).get("created")) or instant(created),
        string(value, "modelID") or string(asked, "modelID"),
        string(path, "cwd"),
        value.get("summary") is True,
        not any(tokens.get(key) for key in ("input", "output", "reasoning")),
        string(value, "parentID"),
    )


def notes(value: dict[str, object]) -> _Saying:
    """What a message says beside its parts: an error, and before 0.3 the system prompt."""
    error = mapping(value.get("error"))
    if error is not None:
        data = mapping(error.get("data")) or {}
        yield Said("runtime", "notice", "\n".join(filter(None, (string(error, "name"), string(data, "message")))))
    system = value.get("system")
    lines = [system] if isinstance(system, str) else system if isinstance(system, list) else []
    if lines:
        yield Said("runtime", "context", "\n".join(line for line in lines if isinstance(line, str)))


# --- what was typed ---------------------------------------------------------------------------------------------

# `opencode run "a b"` puts quotes around a word that holds spaces, and backslashes before the quotes in it; what was piped in follows on
# a line of its own. Several such words in one prompt look like a sentence with quotes, and stay.
_QUOTE = re.compile(r'(?<!\\)"')


def unquoted(text: str) -> tuple[str, bool]:
    """A prompt without the quotes that `opencode run` puts around it, and whether there were any."""
    found = _QUOTE.search(text, 1) if text[:1] == '"' else None
    inner, rest = (text[1 : found.start()], text[found.end() :]) if found else ("", "")
    if " " not in inner or (rest and rest[0] != "\n"):
        return text, False
    return inner.replace('\\"', '"') + rest.rstrip("\n"), True


def _text(part: dict[str, object], turn: Turn) -> _Saying:
    text = part.get("text")
    if not isinstance(text, str):
        yield UNKNOWN
        return
    at = (mapping(part.get("time")) or {}).get("start")
    if turn.message.role == "assistant":
        speaker, kind = ("runtime", "summary") if turn.message.is_summary else ("agent", "reply")
        yield Said(speaker, kind, text, at=at, mark=at)  # type: ignore[arg-type] # a pair of literals
    elif turn.message.role != "user":
        yield UNKNOWN
    elif part.get("synthetic") is True:
        yield Said("runtime", "context", text, mark=at)
    elif part.get("ignored") is True:  # shown to the person, and to no model
        yield Said("runtime", "notice", text, mark=at)
    elif turn.session.parent:
        yield Said("parent", "brief", text, mark=at)
    else:
        typed, was_quoted = unquoted(text)
        yield Said("person", command_or_prompt(typed), typed, mark=at, headless=was_quoted and turn.session.headless)


def _reasoning(part: dict[str, object], turn: Turn) -> _Saying:
    text = part.get("text")
    at = (mapping(part.get("time")) or {}).get("start")
    yield Said("agent", "reasoning", text, at=at, mark=at) if isinstance(text, str) else UNKNOWN


def _file(part: dict[str, object], turn: Turn) -> _Saying:
    """An attachment: its name. What stands in it is no text, or a part of its own."""
    source = mapping(part.get("source")) or {}
    yield Said("runtime", "context", string(part, "filename") or string(source, "path") or string(source, "uri") or "")


def _subtask(part: dict[str, object], turn: Turn) -> _Saying:
    prompt = part.get("prompt")
    yield Said("parent", "brief", prompt) if isinstance(prompt, str) else UNKNOWN


def _retry(part: dict[str, object], turn: Turn) -> _Saying:
    yield from notes({"error": part.get("error")})


# --- tools ------------------------------------------------------------------------------------------------------

_REFUSAL = "The user rejected permission to use this specific tool call with the following feedback: "
RAN_BY_HAND = "The following tool was executed by the user"  # the message before a command that was typed behind a `!`


def _answers(state: dict[str, object]) -> Iterator[str]:
    """What the person typed instead of one of the answers that a question offered."""
    asked = (mapping(state.get("input")) or {}).get("questions")
    offered = {
        string(option, "label")
        for question in (asked if isinstance(asked, list) else [])
        for one in _listed((mapping(question) or {}).get("options"))
        if (option := mapping(one))
    }
    given = (mapping(state.get("metadata")) or {}).get("answers")
    yield from (text for one in _listed(given) for text in _listed(one) if isinstance(text, str) and text not in offered)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _by_hand(command: str, output: object, at: object, mark: object) -> _Saying:
    yield Said("person", "command", command, at=at, mark=mark)
    yield Said("runtime", "notice", output if isinstance(output, str) else "", at=at, mark=mark)


def _tool(part: dict[str, object], turn: Turn) -> _Saying:
    state, name = mapping(part.get("state")), string(part, "tool")
    if state is None or name is None:
        yield UNKNOWN
        return
    times, given = mapping(state.get("time")) or {}, mapping(state.get("input"))
    began, ended, mark = times.get("start"), times.get("end"), part.get("callID")
    failed = state.get("error")
    output = failed if isinstance(failed, str) else state.get("output")
    command = given.get("command") if given and turn.message.idle and turn.message.parent else None
    if isinstance(command, str) and turn.by_hand():
        yield from _by_hand(command, output, began, mark)
        return
    yield Said("tool", "tool_call", called(name, given or state.get("raw")), name, began, mark)
    yield Said("tool", "tool_result", output if isinstance(output, str) else "", name, ended, mark)
    if isinstance(failed, str) and _REFUSAL in failed:
        yield Said("person", "feedback", failed.partition(_REFUSAL)[2], None, ended, mark)
    if name == "question":
        yield from (Said("person", "prompt", text, None, ended, mark) for text in _answers(state))


_PARTS: Mapping[str, Callable[[dict[str, object], Turn], _Saying]] = {
    "text": _text,
    "reasoning": _reasoning,
    "tool": _tool,
    "file": _file,
    "subtask": _subtask,
    "retry": _retry,
}
# Known, and nobody's words: book-keeping; an agent's name, which stands in the text as well.
_SILENT = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "compaction"})


# --- records ----------------------------------------------------------------------------------------------------


def records(part: dict[str, object], turn: Turn, base: Record) -> Iterator[Record | Skip]:
    """What a part says, as records at the place of `base`."""
    kind = part.get("type")
    reader = _PARTS.get(kind) if isinstance(kind, str) else None
    if reader:
        yield from placed(reader(part, turn), turn, base)
    elif not isinstance(kind, str) or kind not in _SILENT:
        yield UNKNOWN


def _shared(time_us: int | None, mark: object) -> str | None:
    return f"{time_us}.{mark}" if time_us and mark else str(time_us) if time_us else None


def placed(said: _Saying, turn: Turn, base: Record) -> Iterator[Record | Skip]:
    """Utterances as records, one block each from that of `base` on.

    A fork copies messages and parts under new ids, without a word of where from. What stays is when a message was made, when a part
    began, and the id of a tool's call: that is what a record is known by.
    """
    session_of, message_of = turn.session, turn.message
    for block, one in enumerate(said, base.block):
        if isinstance(one, Skip):
            yield one
        elif one.text.strip():
            speaking, time_us = one.speaker in ("agent", "tool"), message_of.time_us
            yield base._replace(
                block=block, speaker=one.speaker, kind=one.kind, text=clean(one.text), tool=one.tool,
                time_us=instant(one.at) or time_us,
                conversation_id=session_of.id or None, parent_conversation_id=session_of.parent,
                native_id=_shared(time_us, one.mark),
                cwd=session_of.cwd or message_of.cwd, title=session_of.title, model=message_of.model if speaking else None,
                origin="headless" if one.headless else None,
                is_copy=bool(time_us and session_of.began_us and time_us < session_of.began_us),
            )  # fmt: skip
