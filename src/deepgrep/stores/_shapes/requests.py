"""Chat sessions as VS Code and its forks keep them: a list of requests, each a message, what was attached, and the parts of a response.

Pure values in, utterances out. Knows no file, no folder and no agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from ...model import Skip, Speaker
from ...text import Number, instant, plain, squash
from ...typed import NamedTuple
from .blocks import mapping, readable, string

UNKNOWN = Skip("unknown_shape")
_Value = dict[str, object]


class Said(NamedTuple):
    """One utterance of a request. `response` tells the two sides of it apart."""

    speaker: Speaker
    kind: str
    text: str
    tool: str | None = None
    response: bool = False


class Request(NamedTuple):
    """What a request says, and the facts that all of it shares."""

    id: str | None
    response_id: str | None
    asked_us: int | None
    answered_us: int | None
    model: str | None
    said: tuple[Said | Skip, ...]


_Saying = Iterator["Said | Skip"]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _words(value: object) -> str:
    """A string, or the text of a markdown string."""
    found = value if isinstance(value, str) else (mapping(value) or {}).get("value")
    return found if isinstance(found, str) else ""


def spaced(pieces: Iterable[str], gap: str) -> str:
    """The pieces in one text, a gap between two that would touch: glued together they would stand nowhere in the file."""
    out: list[str] = []
    for piece in filter(None, pieces):
        if out and not out[-1][-1].isspace() and not piece[0].isspace():
            out.append(gap)
        out.append(piece)
    return "".join(out)


def place(value: object) -> str:
    """The path of a URI as VS Code stores it: an object with `fsPath` or `path`, or text."""
    if isinstance(value, str):
        return value
    uri = mapping(value) or {}
    inner = uri.get("uri") or uri.get("location")
    if isinstance(inner, dict) and "path" not in uri:
        return place(inner)
    return next((text for key in ("fsPath", "path", "external") if isinstance(text := uri.get(key), str) and text), "")


# --- the person's side --------------------------------------------------------------------------------------------

_COMMAND = re.compile(r"(?:@\S+\s+)?/[A-Za-z][\w.-]*(?:\s|\Z)")


def _message(request: _Value) -> _Saying:
    """What was typed, with its `/command`, `#file` and `@agent`. Some requests are made by a button or by the program."""
    message = request.get("message")
    parts = [_words((mapping(part) or {}).get("text")) for part in _list((mapping(message) or {}).get("parts"))]
    text = message if isinstance(message, str) else _words((mapping(message) or {}).get("text")) or spaced(parts, " ")
    if message is None or (not isinstance(message, str) and not isinstance(message, dict)):
        yield UNKNOWN
    elif request.get("isSystemInitiated") is True or request.get("confirmation"):
        yield Said("runtime", "notice", text)
    else:
        yield Said("person", "command" if _COMMAND.match(text) else "prompt", text)


_WORDED = ("name", "fullName", "modelDescription", "code", "content", "text")


def _attached(request: _Value) -> _Saying:
    """Files, selections, instructions and pastes that went along: names, paths and what text they carry."""
    data = mapping(request.get("variableData")) or {}
    for variable in _list(data.get("variables")):
        value = mapping(variable)
        if value is None:
            yield UNKNOWN
            continue
        words = [text for key in _WORDED if isinstance(text := value.get(key), str)]
        words += [place(value.get("value"))] if value.get("kind") != "image" else []
        yield Said("runtime", "context", "\n".join(dict.fromkeys(filter(None, words))))


# --- parts of a response ------------------------------------------------------------------------------------------


class _Tools(NamedTuple):
    """What the extension keeps of its tool calls, by their ids: the arguments, and the results. Emptied as they are told."""

    calls: dict[str, tuple[str, str]]
    results: dict[str, str]


def _told(value: object) -> str:
    """Arguments as text; they are often JSON in a string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(value, parse_float=Number, strict=False)
        except (ValueError, RecursionError):
            return value if isinstance(value, str) else ""
    return "" if value is None else plain(readable(value))


def _rendered(value: object) -> str:
    """The text of a rendered prompt: nodes hold children, and at the end text, on a line of its own where it says so."""
    pieces: list[str] = []
    pending = [value]
    while pending:  # not recursive: as deep as a parser allows
        inner = pending.pop()
        if isinstance(inner, list):
            pending += reversed(inner)
            continue
        node = mapping(inner) or {}
        if text := _words(node.get("text")):
            fresh = node.get("lineBreakBefore") is True and pieces and not pieces[-1].endswith("\n")
            pieces.append(f"\n{text}" if fresh else text)
        pending += [node[key] for key in ("children", "node", "value") if isinstance(node.get(key), dict | list)]
    return spaced(pieces, " ")


def _result(value: object) -> str:
    """The output of a tool as its extension keeps it: parts of text, or rendered prompts."""
    parts = ((mapping(part) or {}).get("value") for part in _list((mapping(value) or {}).get("content")))
    return spaced([part if isinstance(part, str) else _rendered(part) for part in parts], "\n").strip("\n")


def _tools(metadata: _Value) -> _Tools:
    tools = _Tools({}, {})
    for turn in _list(metadata.get("toolCallRounds")):
        for call in _list((mapping(turn) or {}).get("toolCalls")):
            value = mapping(call) or {}
            name, native = string(value, "name"), string(value, "id")
            if name and native:
                tools.calls[native] = (name, _told(value.get("arguments")))
    results = mapping(metadata.get("toolCallResults")) or {}
    tools.results.update({native: text for native, value in results.items() if (text := _result(value))})
    return tools


_BINARY = ("image/", "audio/", "video/")


def _shown(item: object) -> str:
    """One item of an output: text, or a place."""
    one = mapping(item) or {}
    if isinstance(item, str):
        return item
    if one.get("isText") is False or "base64Data" in one or (string(one, "mimeType") or "").startswith(_BINARY):
        return ""
    return _words(one) or place(one.get("uri") or one)


def _output(details: object) -> str:
    """What a tool's own record shows of its result: text, a list of places, or a list of outputs."""
    found = (mapping(details) or {}).get("output", details)
    return found if isinstance(found, str) else "\n".join(filter(None, map(_shown, _list(found))))


# Of what the editor keeps of a call: not the question put to the agent. A subagent's prompt is a record of its own.
_NOT_ASKED = frozenset(
    {
        "kind", "language", "autoApproveInfo", "terminalToolSessionId", "terminalCommandUri", "terminalCommandId", "terminalTheme",
        "terminalCommandOutput", "terminalCommandState", "presentationOverrides", "result", "prompt", "output",
    }
)  # fmt: skip


def _invoked(value: _Value, tools: _Tools) -> _Saying:
    native, data = string(value, "toolCallId") or "", mapping(value.get("toolSpecificData")) or {}
    name, arguments = tools.calls.pop(native, (string(value, "toolId") or "tool", ""))
    details = value.get("resultDetails")
    message = _words(value.get("pastTenseMessage")) or _words(value.get("invocationMessage"))
    asked = [readable({key: inner}) for key, inner in data.items() if key not in _NOT_ASKED and inner is not None]
    given = (message, arguments, *map(plain, asked), _told((mapping(details) or {}).get("input")))
    yield Said("tool", "tool_call", "\n".join(dict.fromkeys(filter(None, (name, *given)))), name, True)
    yield Said("parent", "brief", _words(data.get("prompt")), None, True)
    outputs: list[str] = []
    terminal = mapping(data.get("terminalCommandOutput")) or {}
    for text in (tools.results.pop(native, ""), _output(details), _words(terminal.get("text")), _words(data.get("result"))):
        if not any(squash(text) in squash(other) for other in outputs):
            outputs.append(text)
    yield from (Said("tool", "tool_result", text, name, True) for text in outputs)


def _edited(value: _Value, tools: _Tools) -> _Saying:
    """What the agent wrote into a file: pieces of text in the order in which they came."""
    pieces: list[str] = []
    pending = [value.get("edits")]
    while pending:
        inner = pending.pop()
        if isinstance(inner, list):
            pending += reversed(inner)
        elif isinstance(inner, dict):
            pieces.append(_words(inner.get("text")))
            pending += [inner[key] for key in ("edit", "edits", "cells", "source") if isinstance(inner.get(key), dict | list)]
        elif isinstance(inner, str):
            pieces.append(inner)
    kind = str(value["kind"])
    yield Said("tool", "tool_call", "\n".join(filter(None, (kind, place(value.get("uri")), spaced(pieces, "\n")))), kind, True)


def _thought(value: _Value, tools: _Tools) -> _Saying:
    parts = value.get("value")
    texts = [parts] if isinstance(parts, str) else [part for part in _list(parts) if isinstance(part, str)]
    yield Said("agent", "reasoning", spaced(texts, "\n"), None, True)


def _noticed(*keys: str) -> Callable[[_Value, _Tools], _Saying]:
    def rule(value: _Value, tools: _Tools) -> _Saying:
        yield Said("runtime", "notice", "\n".join(filter(None, (_words(value.get(key)) for key in keys))), None, True)

    return rule


def _answered(value: _Value, tools: _Tools) -> _Saying:
    """Questions that the agent asked in a form, and what the person typed into it. A choice from a list is typed by nobody."""
    for question in _list(value.get("questions")):
        words = (_words((mapping(question) or {}).get(key)) for key in ("title", "message"))
        yield Said("agent", "reply", "\n".join(dict.fromkeys(filter(None, words))), None, True)
    for answer in (mapping(value.get("data")) or {}).values():
        typed = (mapping(answer) or {}).get("freeformValue")
        if isinstance(typed, str):
            yield Said("person", "feedback", typed, None, True)


def _planned(value: _Value, tools: _Tools) -> _Saying:
    yield Said("agent", "plan", "\n".join(filter(None, (_words(value.get(key)) for key in ("title", "content")))), None, True)


_PARTS: Mapping[str, Callable[[_Value, _Tools], _Saying]] = {
    "toolInvocationSerialized": _invoked,
    "toolInvocation": _invoked,
    "textEditGroup": _edited,
    "notebookEditGroup": _edited,
    "thinking": _thought,
    "questionCarousel": _answered,
    "planReview": _planned,
    "progressMessage": _noticed("content"),
    "progressTask": _noticed("content"),
    "progressTaskSerialized": _noticed("content"),
    "warning": _noticed("content"),
    "info": _noticed("content"),
    "confirmation": _noticed("title", "message"),
    "elicitation": _noticed("title", "message"),
    "elicitationSerialized": _noticed("title", "message"),
    "pullRequest": _noticed("title", "description"),
    "systemNotification": _noticed("content"),
}
# Known, and nobody's words: places for buttons and diffs, marks for undoing, calls that come again when they are made.
_SILENT = frozenset(
    {
        "prepareToolInvocation", "undoStop", "codeblockUri", "command", "treeData", "multiDiffData", "mcpServersStarting", "extensions",
        "clearToPreviousToolInvocation", "workspaceEdit", "disabledClaudeHooks", "hook", "references", "usedContext", "codeCitation",
        "autoModeResolution", "externalToolInvocationUpdate",
    }
)  # fmt: skip
_MARKDOWN = frozenset({"markdownContent", "markdownVuln"})
_FENCE = "`~ \t\r\n"  # all that a response holds where an edit stood between two fences


def _prose(part: object) -> str | None:
    """The words of a part that is text the agent shows, or the name of what it refers to; None for any other part."""
    value = mapping(part)
    if value is None:
        return part if isinstance(part, str) else None
    kind = value.get("kind")
    if kind == "inlineReference":
        reference = value.get("inlineReference")
        return string(value, "name") or string(mapping(reference) or {}, "name") or place(reference)
    if kind is None or (isinstance(kind, str) and kind in _MARKDOWN):
        return _words(value.get("content")) or _words(value.get("value")) if "value" in value or "content" in value else None
    return None


def _is_reference(part: object) -> bool:
    return (mapping(part) or {}).get("kind") == "inlineReference"


def _part(part: object, tools: _Tools) -> _Saying:
    value = mapping(part) or {}
    kind = value.get("kind")
    rule = _PARTS.get(kind) if isinstance(kind, str) else None
    if rule:
        yield from rule(value, tools)
    elif not (isinstance(kind, str) and kind in _SILENT) and "treeData" not in value and part is not None:
        yield UNKNOWN


def _response(request: _Value, tools: _Tools) -> _Saying:
    """The parts in order; text and the references inside it are one reply, up to what stands between two."""
    parts = request.get("response")
    reply = ""
    referred = False
    for part in [parts] if isinstance(parts, str) else _list(parts):
        prose = _prose(part)
        if prose is None:
            said = tuple(_part(part, tools))
            if said and reply:
                yield from _reply(reply)
                reply = ""
            yield from said
            continue
        here = _is_reference(part)
        reply = spaced([reply, prose], " " if here or referred else "\n")
        referred = here
    yield from _reply(reply)


def _reply(text: str) -> _Saying:
    if text.strip(_FENCE):
        yield Said("agent", "reply", text, None, True)


# --- the rest of a request ----------------------------------------------------------------------------------------


def _rest(request: _Value, metadata: _Value, tools: _Tools) -> _Saying:
    """Calls that no part of the response shows, what went wrong, and what the extension made of the message."""
    for native, (name, arguments) in tools.calls.items():
        yield Said("tool", "tool_call", "\n".join(filter(None, (name, arguments))), name, True)
        yield Said("tool", "tool_result", tools.results.pop(native, ""), name, True)
    yield from (Said("tool", "tool_result", text, None, True) for text in tools.results.values())
    result = mapping(request.get("result")) or {}
    for details in (result.get("errorDetails"), request.get("responseErrorDetails")):
        yield Said("runtime", "notice", _words((mapping(details) or {}).get("message")), None, True)
    yield Said("runtime", "summary", string(mapping(metadata.get("summary")) or {}, "text") or "", None, True)
    for key in ("renderedGlobalContext", "renderedUserMessage"):
        yield Said("runtime", "context", spaced([_words((mapping(part) or {}).get("text")) for part in _list(metadata.get(key))], "\n"))


def _all(request: _Value, metadata: _Value) -> _Saying:
    tools = _tools(metadata)
    yield from _message(request)
    yield from _attached(request)
    yield from _response(request, tools)
    yield from _rest(request, metadata, tools)


def _answered_us(request: _Value, asked_us: int | None) -> int | None:
    """When the response was whole: as recorded, else when it was asked for."""
    state = mapping(request.get("modelState")) or {}
    return instant(request.get("responseTimestamp")) or instant(state.get("completedAt")) or asked_us


def request(value: object) -> Request | None:
    """One request of a session; None for what is none. Nothing in it raises."""
    one = mapping(value)
    if one is None or not ("message" in one or "response" in one):
        return None
    metadata = mapping((mapping(one.get("result")) or {}).get("metadata")) or {}
    try:
        said = tuple(item for item in _all(one, metadata) if isinstance(item, Skip) or item.text.strip())
    except RecursionError:
        said = (Skip("undecodable"),)
    asked_us = instant(one.get("timestamp"))
    model = string(metadata, "resolvedModel") or (string(one, "modelId") or "").removeprefix("copilot/") or None
    identity = string(one, "requestId")
    return Request(identity, string(one, "responseId") or identity, asked_us, _answered_us(one, asked_us), model, said)
