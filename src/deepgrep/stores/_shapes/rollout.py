"""Rollout lines: what one line of the Responses API log says, and who says it.

Knows the lines, their items and events, and the texts that a runtime slips in under the user's role. Knows no
conversation: ids, folders and models are the business of the store that uses this shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from ...model import Near, Skip
from ...text import Number, plain, squash
from ...typed import NamedTuple
from .injected import IMAGE_MARK, Said, cuts, ide, say, typed

Json = dict[str, object]

UNKNOWN = Skip("unknown_shape")
_BACK, _AHEAD = 24, 12  # lines around a user message that are asked for the turn's events; they stand within 3 in what was seen
_TWINS = 12  # a tool's event stands within a few lines of its response item, further only where calls run in parallel


class _Entry(NamedTuple):
    """What a rule may look at: the inner object, the envelope's own remarks, and the neighbours."""

    inner: Json
    remarks: Json
    near: Near


Pieces = Iterable[Said | Skip]
_Rule = Callable[[_Entry], Pieces]


def said(value: Json, near: Near) -> Pieces:
    """The pieces that one line says, in order. Looks at neighbours where the line alone does not tell."""
    inner = value.get("payload")
    if isinstance(inner, dict):
        rule = _LINES.get(_word(value, "type"))
        return rule(_Entry(inner, _object(value.get("metadata")), near)) if rule else (UNKNOWN,)
    if "payload" in value:
        return (UNKNOWN,)
    return _bare(_Entry(value, {}, near))


def is_bare_header(value: Json) -> bool:
    """Is this the first line of a file from before September 2025, which has no envelope?"""
    return "payload" not in value and "type" not in value and "role" not in value and {"id", "timestamp"} <= value.keys()


def _bare(entry: _Entry) -> Pieces:
    if is_bare_header(entry.inner):
        return _header(entry)
    if "record_type" in entry.inner:
        return ()
    return _item(entry)


# --- values -------------------------------------------------------------------------------------------------------


def _word(value: Mapping[str, object], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _blocks(content: object) -> list[Json]:
    """Content as a list of blocks; old files hold bare strings."""
    if isinstance(content, str):
        return [{"text": content}]
    blocks = [{"text": part} if isinstance(part, str) else part for part in _list(content)]
    return [part if isinstance(part, dict) else {} for part in blocks]


def _texts(content: object) -> Iterator[str]:
    for block in _blocks(content):
        text = _word(block, "text")
        if text.strip():
            yield text


def _parsed(text: str) -> object:
    """The value of JSON inside a string, or None where it is none."""
    try:
        found: object = json.loads(text, strict=False, parse_float=Number, parse_constant=Number)
    except (ValueError, RecursionError):
        return None
    return found


def _inner(text: str) -> object:
    return _parsed(text) if text.lstrip()[:1] in ("{", "[") else None


def _readable(value: object) -> str:
    """Arguments as text. They are often a JSON string inside the line: unwrapped once, else shown as they are."""
    if isinstance(value, str):
        inner = _inner(value)
        return value if inner is None else _readable(inner)
    try:
        return "" if value is None else plain(value)
    except RecursionError:
        return ""


_AGAIN = ("structuredContent", "structured_content")  # the same output as data
# What a tool's output is wrapped in, and what may stand beside it there. With anything else beside it an object is the output itself.
_WRAPPERS: Mapping[str, frozenset[str]] = {
    "output": frozenset({"metadata"}),
    "content": frozenset({"success", "isError", "is_error", *_AGAIN, "_meta", "meta"}),
    "Ok": frozenset(),
    "Err": frozenset(),
    "message": frozenset(),
}
_MEASURES = frozenset({"exit_code", "duration_seconds"})
_TEXT_TYPES = ("text", "input_text", "output_text")
_WORDLESS = frozenset({"image", "input_image", "audio", "input_audio", "encrypted_content"})


def _output(value: object) -> str:
    """A tool's output. A string is the output, be it JSON or not, unless it is exactly what Codex itself wraps one in."""
    if not isinstance(value, str):
        return _structured(value)
    text = _unwrapped(value)
    return value if text is None else text


def _unwrapped(text: str) -> str | None:
    """The output in `{"output": …, "metadata": …}`, or the texts of an MCP tool's blocks; None where the string is no such wrapper."""
    inner = _inner(text) if '"metadata"' in text or '"type"' in text else None
    if isinstance(inner, dict):
        ours = inner.keys() == {"output", "metadata"} and isinstance(inner["output"], str) and _is_measured(inner["metadata"])
        return _structured(inner) or None if ours else None
    return _structured(inner) if isinstance(inner, list) and inner and all(map(_is_known, inner)) else None


def _is_known(block: object) -> bool:
    """Is this a block of text or an image as MCP writes them, with nothing else in it?"""
    if not isinstance(block, dict) or "type" not in block:
        return False
    return _is_text(block) or (block["type"] == "image" and block.keys() <= {"type", "data", "mimeType"})


def _structured(value: object, depth: int = 4) -> str:
    """An output that is no string: the texts of its blocks, and all fields of whatever is no block."""
    if isinstance(value, list):
        return "\n".join(text for text in map(_block_text, value) if text.strip())
    inner = _object(value)
    key = next((key for key, beside in _WRAPPERS.items() if key in inner and inner.keys() <= {key, *beside}), None)
    if key is None or not depth or not all(_is_mere_mark(name, inner[name]) for name in inner if name != key):
        return "" if value is None else plain(value)
    found = inner[key]
    text = found if isinstance(found, str) else _structured(found, depth - 1)
    again = [inner[name] for name in _AGAIN if inner.get(name)]
    return "\n".join(filter(None, [text, *(plain(other) for other in again if other != _inner(text))]))


def _is_mere_mark(name: str, value: object) -> bool:
    """Does this field of a wrapper hold no words of its own?"""
    if name in _AGAIN or value is None or isinstance(value, bool):
        return True
    return value in ({}, []) or (name == "metadata" and _is_measured(value))


def _is_measured(metadata: object) -> bool:
    """Is this what Codex notes beside an output: its exit code and how long it took?"""
    if not isinstance(metadata, dict) or not metadata.keys() <= _MEASURES:
        return False
    return not any(isinstance(value, (str, list, dict)) for value in metadata.values())


def _is_text(block: Json) -> bool:
    """Is this a block that holds a text and nothing else?"""
    known = block.get("type", "text") in _TEXT_TYPES and isinstance(block.get("text"), str)
    return known and not any(block[name] for name in block.keys() - {"type", "text"})


def _block_text(block: object) -> str:
    """The text of a block, nothing for an image, all fields of a block that is not known."""
    if isinstance(block, dict):
        if _is_text(block):
            return _word(block, "text")
        if _word(block, "type") in _WORDLESS:
            return ""
    return plain(block)


# --- what stands under the user's role ----------------------------------------------------------------------------


def _user(entry: _Entry) -> Iterator[Said]:
    """One user message: metadata decides where there is any (0.171), else the text itself, else the turn's own events."""
    blocks = _blocks(entry.inner.get("content"))
    several = sum(bool(_word(block, "text").strip()) for block in blocks) > 1
    for index, block in enumerate(blocks):
        text = _word(block, "text")
        if _word(block, "type") in ("tool_use", "tool_result"):
            yield from _foreign(block)
        elif text.strip():
            yield from _user_block(entry, text, _written_by(entry.inner, index, len(blocks)), several)


def _user_block(entry: _Entry, text: str, writer: str, several: bool) -> Iterator[Said]:
    if writer == "person":
        wrapper, request = ide(text)
        image = IMAGE_MARK.fullmatch(text)
        yield from say("runtime", "context", [text if image else wrapper])
        yield from [] if image or not request.strip() else [typed(request, 0)]
        return
    for piece, basis in cuts(text, 0):
        if basis == "marked":
            yield piece
        elif writer == "runtime":
            yield _as_context(piece)
        else:
            yield _judged(entry.near, piece, typed_unless_told=basis == "plain", several=several)


def _judged(near: Near, piece: Said, *, typed_unless_told: bool, several: bool) -> Said:
    """The person's if an event of the turn repeats it, or if the turn has no such event and the text does not look injected."""
    wanted, told = squash(piece.text), False
    for text in _typed_events(near):
        if wanted == squash(text) or (several and wanted in squash(text)):
            return typed(piece.text, piece.channel)
        told = True
    return piece if typed_unless_told and not told else _as_context(piece)


def _as_context(piece: Said) -> Said:
    return piece._replace(speaker="runtime", kind="context")


def _written_by(inner: Json, index: int, count: int) -> str:
    """What 0.171 and later note beside each block: `person`, `runtime`, or nothing."""
    notes = _object(inner.get("internal_chat_message_metadata_passthrough"))
    kinds, sources = _list(notes.get("content_item_kinds")), _list(notes.get("content_item_metadata"))
    kind = kinds[index] if len(kinds) == count else None
    if isinstance(kind, str) and kind not in ("", "unknown"):
        return "person" if kind.startswith("user.") else "runtime"
    source = _word(_object(_object(sources[index]).get("provenance")), "type") if len(sources) == count else ""
    return "" if source in ("", "unknown") else "person" if source == "user" else "runtime"


_TURN_STARTS = ("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted")
_AGENT_ACTS = ("agent_message", "function_call", "custom_tool_call", "local_shell_call", "reasoning", "agent_reasoning")


def _typed_events(near: Near) -> Iterator[str]:
    """What the events of this turn say was typed, nearest first. Builds after 0.147 may write none."""
    for value in near.after(_AHEAD):
        inner = _object(value.get("payload"))
        kind = _word(inner, "type")
        if kind in _TURN_STARTS or kind in _AGENT_ACTS or _word(inner, "role") == "assistant":
            break
        yield from _typed_event(inner)
    for value in near.before(_BACK):
        inner = _object(value.get("payload"))
        if _word(inner, "type") in _TURN_STARTS or _word(value, "type") in ("turn_context", "session_meta", "compacted"):
            break
        yield from _typed_event(inner)


def _typed_event(inner: Json) -> Iterator[str]:
    kind = _word(inner, "type")
    if kind == "user_message":
        pieces: Iterable[Said] = _user_event_pieces(inner)
    elif kind == "item_completed" and _word(_object(inner.get("item")), "type") == "UserMessage":
        pieces = _user_item_pieces(_object(inner.get("item")))
    else:
        return
    yield from (piece.text for piece in pieces if piece.speaker == "person")


def _user_event_pieces(inner: Json) -> Iterator[Said]:
    """A `user_message` event. Builds of autumn 2025 wrote one for injected context too, and said so in `kind`."""
    text = _word(inner, "message")
    if _word(inner, "kind") not in ("", "plain"):
        yield from say("runtime", "context", [text], 1)
        return
    yield from _event_pieces(text)


def _event_pieces(text: str) -> Iterator[Said]:
    """The event is the proof that the text was typed, so only what is marked at both ends is taken out of it."""
    for piece, basis in cuts(text, 1):
        yield typed(piece.text, 1) if basis == "opening" else piece


def _user_item_pieces(item: Json) -> Iterator[Said]:
    for text in _texts(item.get("content")):
        yield from _event_pieces(text)


def _user_event(entry: _Entry) -> Iterator[Said]:
    """The event joins the blocks of a message that has several: then the blocks, each a record, stand for it."""
    if not _is_joined(entry):
        yield from _user_event_pieces(entry.inner)


def _is_joined(entry: _Entry) -> bool:
    wanted = "".join(_word(entry.inner, "message").split())
    for value in chain(entry.near.before(3), entry.near.after(3)):
        inner = _object(value.get("payload"))
        texts = list(_texts(inner.get("content"))) if _word(inner, "role") == "user" else []
        texts = [text for text in texts if not IMAGE_MARK.fullmatch(text)]
        if texts and wanted == "".join("".join(texts).split()):
            return len(texts) > 1
    return False


# --- messages, reasoning, summaries -------------------------------------------------------------------------------


def _message(entry: _Entry) -> Pieces:
    role = _word(entry.inner, "role")
    if role == "user":
        return _user(entry)
    if role == "assistant":
        return _assistant(entry)
    return say("runtime", "context", _texts(entry.inner.get("content")))


def _assistant(entry: _Entry) -> Iterator[Said]:
    for block in _blocks(entry.inner.get("content")):
        if _word(block, "type") in ("tool_use", "tool_result"):
            yield from _foreign(block)
        elif entry.remarks.get("compaction_output") is True:  # the model's answer to "summarise this thread"
            yield from say("runtime", "summary", [block.get("text")])
        else:
            yield from _reply(_word(block, "text"), 0)


def _foreign(block: Json) -> Iterator[Said]:
    """Tool blocks in the Anthropic manner, in files that other programs converted to rollouts."""
    if _word(block, "type") == "tool_use":
        yield from _call(_word(block, "name"), _readable(block.get("input")))
    else:
        yield from say("tool", "tool_result", [_output(block.get("content"))])


def _reply(text: str, channel: int) -> Iterator[Said]:
    """An answer; a proposed plan inside it (plan mode) is a piece of its own, equal to the Plan item's text."""
    start = f"\n{text}".find("\n<proposed_plan>")
    stop = text.find("</proposed_plan>", start)
    if start < 0 or stop < 0:
        yield from say("agent", "reply", [text], channel)
        return
    yield from say("agent", "reply", [text[:start]], channel)
    yield from say("agent", "plan", [text[start + len("<proposed_plan>") : stop].strip()], channel)
    yield from say("agent", "reply", [text[stop + len("</proposed_plan>") :]], channel)


def _reasoning(entry: _Entry) -> Iterator[Said]:
    for key in ("summary", "content"):
        yield from say("agent", "reasoning", _texts(entry.inner.get(key)))


def _header(entry: _Entry) -> Iterator[Said]:
    base = entry.inner.get("base_instructions")
    yield from say("runtime", "context", [_word(base, "text") if isinstance(base, dict) else base, entry.inner.get("instructions")])


def _turn(entry: _Entry) -> Iterator[Said]:
    mode = _object(_object(entry.inner.get("collaboration_mode")).get("settings"))
    texts = [entry.inner.get("user_instructions"), entry.inner.get("developer_instructions"), mode.get("developer_instructions")]
    yield from say("runtime", "context", texts)


def _compacted(entry: _Entry) -> Pieces:
    """The summary alone: `replacement_history` repeats messages that stand in the file, or in the parent's."""
    return say("runtime", "summary", [entry.inner.get("message")])


def _mail(channel: int) -> _Rule:
    """A message between agents: a brief on its way down, a notice on its way up."""

    def rule(entry: _Entry) -> Iterator[Said]:
        content = entry.inner.get("content")
        author, recipient = _word(entry.inner, "author"), _word(entry.inner, "recipient").rstrip("/")
        if author.startswith(f"{recipient}/"):
            yield from say("runtime", "notice", _texts(content), channel)
        else:
            yield from say("parent", "brief", _texts(content), channel)

    return rule


# --- tools --------------------------------------------------------------------------------------------------------


def _call(name: str, arguments: str, *, channel: int = 0, space: str = "") -> Iterator[Said]:
    text = "\n".join(part for part in (space, name, arguments) if part.strip())
    if text:
        yield Said("tool", "tool_call", text, channel, name or None)


def _function_call(entry: _Entry) -> Iterator[Said]:
    name, arguments = _word(entry.inner, "name"), _readable(entry.inner.get("arguments"))
    if name == "update_plan" and arguments.strip():
        yield Said("agent", "plan", arguments, 0, name)
    else:
        yield from _call(name, arguments, space=_word(entry.inner, "namespace"))


def _custom_call(entry: _Entry) -> Pieces:
    value = entry.inner.get("input")
    return _call(_word(entry.inner, "name"), value if isinstance(value, str) else _readable(value), space=_word(entry.inner, "namespace"))


def _builtin(key: str) -> _Rule:
    """A call of one of the model's own tools: the item's type names it, one field says what it was asked."""

    def rule(entry: _Entry) -> Pieces:
        return _call(_word(entry.inner, "type").removesuffix("_call"), _readable(entry.inner.get(key)))

    return rule


def _result(entry: _Entry) -> Pieces:
    return say("tool", "tool_result", [_output(entry.inner.get("output"))])


def _found_tools(entry: _Entry) -> Pieces:
    return say("tool", "tool_result", [plain(entry.inner.get("tools") or [])])


def _twin_event(entry: _Entry, call_id: str, call: Said | None, result: str) -> Iterator[Said]:
    """A tool's event, unless the response items near it tell the same. An output that they cut short is told here."""
    told = False  # by a response item: then the call is there too, and the output unless they shortened it
    for output in _twins(entry.near, call_id):
        told = not output or squash(result) in squash(output)
        call = None
        if output:
            break
    if call:
        yield call
    if not told:
        yield from say("tool", "tool_result", [result], 1)


def _twins(near: Near, call_id: str) -> Iterator[str]:
    """The outputs of the response items near this event that carry its id; empty for those that are calls."""
    for value in chain(near.after(_TWINS), near.before(_TWINS)) if call_id else ():
        inner = _object(value.get("payload"))
        if value.get("type") == "response_item" and call_id in (inner.get("call_id"), inner.get("id")):
            yield _spellings(inner.get("output"))


def _spellings(output: object) -> str:
    """An output as its record gives it, and below it what is inside where it is JSON in a string: an event tells that without the JSON."""
    text = _output(output)
    inner = _structured(_inner(text)) if isinstance(output, str) else ""
    return f"{text}\n{inner}" if inner else text


def _command(inner: Json, entry: _Entry, call_id: str) -> Iterator[Said]:
    output = _word(inner, "aggregated_output") or "\n".join(filter(None, (_word(inner, "stdout"), _word(inner, "stderr"))))
    command = inner.get("command")
    if _word(inner, "source") == "user_shell":
        typed = [part for part in _list(command) if isinstance(part, str)][-1:]
        if not _is_told_shell(entry.near, "".join(typed)):
            yield from say("person", "command", [f"!{part.strip()}" for part in typed], 1)
            yield from say("runtime", "notice", [output], 1)
        return
    call = next(_call("", _readable(command), channel=1), None)
    yield from _twin_event(entry, call_id, call, output)


def _is_told_shell(near: Near, command: str) -> bool:
    """Does a `<user_shell_command>` message near this event already show the command and its output?"""
    return any(
        text.lstrip().startswith("<user_shell_command>") and command.strip() in text
        for value in chain(near.after(4), near.before(4))
        for text in _texts(_object(value.get("payload")).get("content"))
    )


def _mcp(inner: Json, entry: _Entry, call_id: str) -> Iterator[Said]:
    asked = _object(inner.get("invocation")) or inner
    call = next(_call(_word(asked, "tool"), _readable(asked.get("arguments")), channel=1, space=_word(asked, "server")), None)
    yield from _twin_event(entry, call_id, call, _output(inner.get("result")) or _output(inner.get("error")))


def _patch(inner: Json, entry: _Entry, call_id: str) -> Iterator[Said]:
    changes = _object(inner.get("changes"))
    call = next(_call("", "\n".join(f"{path}\n{_readable(change)}" for path, change in changes.items()), channel=1), None)
    yield from _twin_event(entry, call_id, call, "\n".join(filter(None, (_word(inner, "stdout"), _word(inner, "stderr")))))


def _search(inner: Json, entry: _Entry, call_id: str) -> Iterator[Said]:
    call = next(_call("", _word(inner, "query") or _readable(inner.get("action")), channel=1), None)
    yield from _twin_event(entry, call_id, call, "")


_Told = Callable[[Json, _Entry, str], Iterator[Said]]


def _tool_end(rule: _Told) -> _Rule:
    return lambda entry: rule(entry.inner, entry, _word(entry.inner, "call_id"))


# --- events -------------------------------------------------------------------------------------------------------


def _spoken(key: str, kind: str, channel: int) -> _Rule:
    return lambda entry: say("agent", kind, [entry.inner.get(key)], channel)


def _last_reply(entry: _Entry) -> Pieces:
    return _reply(_word(entry.inner, "last_agent_message"), 2)


def _notice(entry: _Entry) -> Pieces:
    """Errors, warnings and whatever else of the event's own words is meant for a reader."""
    return say("runtime", "notice", (entry.inner.get(key) for key in ("message", "text", "user_facing_hint", "summary", "details")))


def _aborted(entry: _Entry) -> Iterator[Said]:
    if reason := _word(entry.inner, "reason"):
        yield Said("runtime", "notice", f"turn_aborted: {reason}")


def _silent(entry: _Entry) -> Pieces:
    return ()


def _completed(entry: _Entry) -> Pieces:
    item = _object(entry.inner.get("item"))
    kind = _word(item, "type")
    if kind in _SILENT_ITEMS:
        return ()
    rule = _COMPLETED.get(kind)
    return rule(item, entry, _word(item, "id")) if rule else (UNKNOWN,)


def _agent_item(item: Json, entry: _Entry, item_id: str) -> Iterator[Said]:
    for text in _texts(item.get("content")):
        yield from _reply(text, 1)


def _reasoning_item(item: Json, entry: _Entry, item_id: str) -> Iterator[Said]:
    for key in ("summary_text", "raw_content"):
        yield from say("agent", "reasoning", _list(item.get(key)), 1)


def _plan_item(item: Json, entry: _Entry, item_id: str) -> Iterator[Said]:
    yield from say("agent", "plan", [_word(item, "text").strip()], 1)


def _hook_item(item: Json, entry: _Entry, item_id: str) -> Iterator[Said]:
    yield from say("runtime", "context", _texts(item.get("fragments")), 1)


_COMPLETED: Mapping[str, _Told] = {
    "UserMessage": lambda item, entry, item_id: _user_item_pieces(item),
    "AgentMessage": _agent_item,
    "Reasoning": _reasoning_item,
    "Plan": _plan_item,
    "HookPrompt": _hook_item,
    "CommandExecution": _command,
    "McpToolCall": _mcp,
    "FileChange": _patch,
    "WebSearch": _search,
}
_SILENT_ITEMS = ("ContextCompaction", "Sleep", "ImageView", "ImageGeneration", "SubAgentActivity", "CollabAgentToolCall", "DynamicToolCall")

_EVENTS: Mapping[str, _Rule] = {
    "user_message": _user_event,
    "agent_message": lambda entry: _reply(_word(entry.inner, "message"), 1),
    "agent_reasoning": _spoken("text", "reasoning", 1),
    "agent_reasoning_raw_content": _spoken("text", "reasoning", 1),
    "item_completed": _completed,
    "task_complete": _last_reply,
    "turn_complete": _last_reply,
    "exec_command_end": _tool_end(_command),
    "mcp_tool_call_end": _tool_end(_mcp),
    "patch_apply_end": _tool_end(_patch),
    "web_search_end": _tool_end(_search),
    "turn_aborted": _aborted,
}

_ITEMS: Mapping[str, _Rule] = {
    "message": _message,
    "agent_message": _mail(0),
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
    "local_shell_call": _builtin("action"),
    "web_search_call": _builtin("action"),
    "tool_search_call": _builtin("arguments"),
    "image_generation_call": _builtin("revised_prompt"),
    "function_call_output": _result,
    "custom_tool_call_output": _result,
    "local_shell_call_output": _result,
    "mcp_tool_call_output": _result,
    "tool_search_output": _found_tools,
    **dict.fromkeys(
        ("compaction", "compaction_summary", "context_compaction", "compaction_trigger", "ghost_snapshot", "additional_tools"), _silent
    ),
}


def _item(entry: _Entry) -> Pieces:
    """A response item. Old and converted files leave out the type of messages."""
    kind = _word(entry.inner, "type") or ("message" if _word(entry.inner, "role") else "")
    rule = _ITEMS.get(kind)
    return rule(entry) if rule else (UNKNOWN,)


_LINES: Mapping[str, _Rule] = {
    "session_meta": _header,
    "turn_context": _turn,
    "response_item": _item,
    "event_msg": lambda entry: _EVENTS.get(_word(entry.inner, "type"), _notice)(entry),
    "compacted": _compacted,
    "inter_agent_communication": _mail(1),
    **dict.fromkeys(
        (
            "world_state",
            "token_usage_record",
            "inter_agent_communication_metadata",
            "security_risk_score",
            "retained_context",
            "realtime_item",
            "rollout_reference",
        ),
        _silent,
    ),
}
