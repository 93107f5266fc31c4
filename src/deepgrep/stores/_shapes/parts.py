"""Message content as the Gemini API shapes it, and what Gemini CLI and its descendants put under the user's role.

Pure values. Knows no file and no line of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...model import Speaker
from ...text import clean, plain
from ...typed import NamedTuple
from .blocks import mapping, readable, string
from .envelopes import command_or_prompt


class Said(NamedTuple):
    """One utterance of a message. `call`: the id of the tool call that it makes or answers; `at`: its own time, as written."""

    speaker: Speaker
    kind: str
    text: str
    tool: str | None = None
    call: str | None = None
    at: object = None


def called(name: object, arguments: object) -> str:
    """A tool call as text: the name, then the arguments."""
    return "\n".join(filter(None, (name if isinstance(name, str) else "", plain(readable(arguments)) if arguments else "")))


def answered(response: object) -> str:
    """What a tool gave back: the bare words where there is nothing else, all fields where there is."""
    inner = mapping(response)
    if inner is not None and len(inner) == 1 and (only := next(iter(inner))) in ("output", "error") and isinstance(inner[only], str):
        return str(inner[only])
    return plain(readable(response)) if response else ""


def listed(content: object) -> list[object]:
    """Content is a string, one part, or a list of both."""
    return content if isinstance(content, list) else [content]


def _part(part: object) -> dict[str, object]:
    return {"text": part} if isinstance(part, str) else mapping(part) or {}


def model_parts(content: object) -> Iterator[Said]:
    """What the model said: replies, thoughts, and calls of tools."""
    for part in listed(content):
        value = _part(part)
        text = value.get("text")
        if isinstance(text, str):
            yield reply(text) if value.get("thought") is not True else Said("agent", "reasoning", text)
        yield from tool_parts(value)


_ACKNOWLEDGED = frozenset({"Got it. Thanks for the context!", "Got it. Thanks for the additional context!"})


def reply(text: str) -> Said:
    """The model's words; an answer that the program put into its mouth is the program's."""
    return Said("runtime", "context", text) if text.strip() in _ACKNOWLEDGED else Said("agent", "reply", text)


def tool_parts(part: dict[str, object]) -> Iterator[Said]:
    """The tool call or the tool's answer that a part holds."""
    call, response = mapping(part.get("functionCall")), mapping(part.get("functionResponse"))
    if call is not None:
        yield Said("tool", "tool_call", called(call.get("name"), call.get("args")), string(call, "name"), string(call, "id"))
    if response is not None:
        text = answered(response.get("response"))
        yield Said("tool", "tool_result", text, string(response, "name"), string(response, "id"))
    if (code := mapping(part.get("executableCode"))) is not None:
        yield Said("tool", "tool_call", plain(readable(code)))
    if (result := mapping(part.get("codeExecutionResult"))) is not None:
        yield Said("tool", "tool_result", plain(readable(result)))


# --- under the user's role ------------------------------------------------------------------------------------------

_FILES = "--- Content from referenced files ---"
_FILES_END = "--- End of content ---"


def user_parts(content: object, *, typed: bool = False) -> Iterator[Said]:
    """What stands under the user's role: the person's words, what the program added to them, and answers of tools.

    `typed`: the format says that these are the words as typed, so nothing is looked for in them.
    """
    inside = False  # between the marks around files that a prompt refers to, each of them in parts of its own
    for part in listed(content):
        value = _part(part)
        text = value.get("text")
        if isinstance(text, str) and text.strip():
            if typed:
                yield Said("person", command_or_prompt(text), text)
            elif inside or text.strip() == _FILES:
                inside = not text.strip().startswith(_FILES_END)
                if text.strip() not in (_FILES, _FILES_END):
                    yield Said("runtime", "context", text)
            else:
                yield from utterances(text)
        yield from tool_parts(value)


# Elements that open a text of the program's. "Starts with an angle bracket" would be wrong: people paste XML.
_ELEMENTS = {"session_context": "context", "hook_context": "context", "system_note": "context", "state_snapshot": "summary"}
_ELEMENT = re.compile(r"[\s\ufeff]*<(" + "|".join(_ELEMENTS) + ")>")
_MOST_ELEMENTS = 16
_SENTENCES = re.compile(
    r"[\s\ufeff]*(?:This is (?:the )?(?:Gemini CLI|Qwen Code)\. We are setting up the context for our chat\."
    r"|Here is (?:the|a summary of changes in the) user's editor context"
    r"|System: (?:Please continue\.|Potential loop detected\.))"
)
_SHELL, _SHELL_RESULT = "I ran the following shell command:\n```", "\n```\n\nThis produced the following result:\n```"
_HOOK, _HOOK_END = "<hook_context>", "</hook_context>"


def utterances(text: str) -> Iterator[Said]:
    """A text under the user's role, cut at the program's own marks."""
    for _ in range(_MOST_ELEMENTS):
        found = _ELEMENT.match(text)
        end = text.find(f"</{found[1]}>", found.end()) if found else -1
        if not found or end < 0:  # without its end the text only talks of the element
            break
        end = len(text) if found[1] == "state_snapshot" else end + len(found[1]) + 3
        yield Said("runtime", _ELEMENTS[found[1]], text[:end])
        text = text[end:].lstrip()
    if _SENTENCES.match(text):
        yield Said("runtime", "context", text)
    elif text.strip():
        yield from _shell(text) or _request(text)


def _shell(text: str) -> tuple[Said, ...]:
    """The command that the person ran in shell mode, as typed there, and what it printed. Nothing for any other text."""
    start = text.lstrip()
    middle = start.find(_SHELL_RESULT)
    if not start.startswith(_SHELL) or middle < 0:
        return ()
    command = start[len(_SHELL) : middle].partition("\n")[2]
    output = start[middle + len(_SHELL_RESULT) :].rstrip().removesuffix("```")
    return Said("person", "command", command), Said("runtime", "notice", output.strip("\n"))


def _request(text: str) -> Iterator[Said]:
    """A prompt, and behind it what hooks said and the files it refers to."""
    cut = len(text)
    if text.rstrip().endswith(_HOOK_END) and (at := text.rfind(_HOOK)) > 0:
        cut = at
    if (at := _files(text)) >= 0:
        cut = min(cut, at)
    prompt, added = text[:cut].rstrip(), text[cut:].strip()
    yield Said("person", command_or_prompt(prompt), prompt)
    yield Said("runtime", "context", added)


def _files(text: str) -> int:
    """Where the program put the files in that a prompt refers to; -1 where it did not."""
    at = text.find("\n" + _FILES)
    follows = text[at + 1 + len(_FILES) :].lstrip("\n") if at >= 0 else ""
    return at if follows.startswith(("Content from ", _FILES_END)) else -1


def worded(found: Iterable[Said]) -> Iterator[Said]:
    """Those that hold words, as valid Unicode."""
    return (said._replace(text=clean(said.text)) for said in found if said.text.strip())
