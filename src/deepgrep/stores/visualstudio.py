"""GitHub Copilot in Visual Studio: traces of what its agent did, as OpenTelemetry spells them.

**What it writes.** `%TEMP%/VSGitHubCopilotLogs/traces/<id>_VSGitHubCopilot_traces.jsonl` (Windows: `AppData/Local/Temp`; readers name
`Library/Caches` and `.cache` for other systems): a line for each batch of spans, without anything being set up for it. Windows clears
the folder as it likes. Chats themselves lie in each solution's folder, `.vs/<solution>/copilot-chat/`, in a form of their own, partly
encrypted: they are not looked for.

**What identifies a conversation.** The attribute `gen_ai.conversation.id` of each span.

**Who speaks.** A span `execute_tool` is a tool's call and what it gave back. A span `chat` holds, where the program was told to keep
words, what was sent to the model and what came back: the first time that a text stands under the user's role it is the person's,
the same text in later requests is a copy, and no record. Instructions are the runtime's.

**What cannot be known.** Without such a setting traces hold no prompt and no answer. What the program puts around a prompt is not known,
and stands in it. There is no prompt history, no folder, no branch. Never opened: the logs beside the traces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from ..model import Agent, Decoded, Line, Log, Record, Sibling, Skip, Source, Store, Traits
from ..text import Number, clean, instant, plain
from ._shapes.blocks import mapping, readable, string
from ._shapes.envelopes import Said, command_or_prompt

Json = dict[str, object]
_UNKNOWN = Skip("unknown_shape")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _spans(line: Json) -> Iterator[Json | None]:
    """The spans of one batch, None for one of no known shape."""
    for resource in _list(line.get("resourceSpans")):
        for scope in _list((mapping(resource) or {}).get("scopeSpans")):
            yield from map(mapping, _list((mapping(scope) or {}).get("spans")))


def _attributes(span: Json) -> Json:
    out: Json = {}
    for one in _list(span.get("attributes")):
        pair = mapping(one) or {}
        name, value = string(pair, "key"), mapping(pair.get("value")) or {}
        if name:
            out[name] = next(iter(value.values()), None)
    return out


def _inner(value: object) -> object:
    """What an attribute spells as a string of JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value, parse_float=Number, strict=False)
        except (ValueError, RecursionError):
            return value
    return value


def _words(value: object) -> str:
    found = _inner(value)
    return found if isinstance(found, str) else plain(readable(found)) if found else ""


def _tool(told: Json) -> Iterator[Said]:
    name = string(told, "gen_ai.tool.name")
    asked = _words(told.get("gen_ai.tool.call.arguments"))
    yield Said("tool", "tool_call", "\n".join(filter(None, (name, asked))), tool=name)
    yield Said("tool", "tool_result", _words(told.get("gen_ai.tool.call.result")), tool=name)


_PARTS: Mapping[str, Callable[[str], Said]] = {
    "user": lambda text: Said("person", command_or_prompt(text), text),
    "assistant": lambda text: Said("agent", "reply", text),
    "system": lambda text: Said("runtime", "context", text),
}


def _chat(told: Json) -> Iterator[Said]:
    """What was sent and what came back. Calls and outputs of tools have spans of their own."""
    for one in _list(_inner(told.get("gen_ai.system_instructions"))):
        yield Said("runtime", "context", string(mapping(one) or {}, "content") or "")
    for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
        for one in _list(_inner(told.get(name))):
            message = mapping(one) or {}
            for piece in _list(message.get("parts")):
                part = mapping(piece) or {}
                text, tell = string(part, "content"), _PARTS.get(str(message.get("role")))
                if text and part.get("type") == "reasoning":
                    yield Said("agent", "reasoning", text)
                elif text and tell and part.get("type") in ("text", None):
                    yield tell(text)


_NAMES: Mapping[str, Callable[[Json], Iterator[Said]]] = {"execute_tool": _tool, "chat": _chat, "invoke_agent": _chat}


def _traces(lines: Iterator[Line], source: Source, sibling: Sibling) -> Decoded:
    said_before: set[tuple[str | None, str, str]] = set()
    for line in lines:
        block = 0
        for span in _spans(line.value):
            if span is None:
                yield _UNKNOWN
                continue
            told = _attributes(span)
            tell = _NAMES.get(str(told.get("gen_ai.operation.name") or str(span.get("name")).partition(" ")[0]))
            native = string(told, "gen_ai.conversation.id")
            for said in tell(told) if tell else ():
                key = (native, said.speaker, said.text)
                if said.text.strip() and (said.speaker == "tool" or key not in said_before):
                    said_before.add(key)
                    yield _record(source, line.position, span, told, said)._replace(block=block)
                block += 1


def _record(source: Source, position: int, span: Json, told: Json, said: Said) -> Record:
    ended = said.speaker == "agent" or said.kind == "tool_result"
    spelled = span.get("endTimeUnixNano" if ended else "startTimeUnixNano")
    time_us = instant(int(spelled)) if isinstance(spelled, str) and spelled.isascii() and spelled.isdigit() and len(spelled) < 20 else None
    model = string(told, "gen_ai.response.model") or string(told, "gen_ai.request.model")
    return Record(
        source, position, 0, said.speaker, said.kind, clean(said.text), time_us=time_us, tool=said.tool,
        conversation_id=string(told, "gen_ai.conversation.id"), model=model if said.speaker == "agent" else None,
    )  # fmt: skip


AGENT = Agent(
    "visualstudio",
    "Visual Studio Copilot",
    stores=(
        Store(
            "visualstudio.traces", "transcript", ("traces/*_VSGitHubCopilot_traces.jsonl",), "observed 18.6 published sample of 2026-06",
            Log(_traces, is_line=lambda value: "resourceSpans" in value), Traits(text_in="file", inserted=":"),
        ),
    ),
)  # fmt: skip
