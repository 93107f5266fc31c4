"""What Codex puts under the user's role, and what the person typed: texts cut at the marks that Codex writes.

Pure text. Knows no line, no event and no neighbour; those belong to `rollout`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...model import Speaker
from ...typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal


class Said(NamedTuple):
    """One piece of a line: who, what, and which of the parallel spellings it is."""

    speaker: Speaker
    kind: str
    text: str
    channel: int = 0
    tool: str | None = None


def say(speaker: Speaker, kind: str, texts: Iterable[object], channel: int = 0) -> Iterator[Said]:
    for text in texts:
        if isinstance(text, str) and text.strip():
            yield Said(speaker, kind, text, channel)


# Elements that Codex writes under the role "user" (context/contextual_user_message.rs and older builds). "Starts with
# an angle bracket" would be wrong: people paste XML.
_FRAGMENT = re.compile(
    r"<(environment_context|environments_instructions|user_instructions|INSTRUCTIONS|skill|skill_instructions|skills_instructions"
    r"|user_shell_command|user_shell_command_output|turn_aborted|subagent_notification|goal_context|codex_internal_context"
    r"|internal_model_context|hook_prompt|recommended_plugins|permissions instructions|collaboration_mode|multi_agent_mode|model_switch"
    r"|personality_spec|realtime_conversation|apps_instructions|plugins_instructions|unified_exec_process_limit_warning"
    r"|apply_patch_exec_command_warning|model_mismatch\w*|additional_context|context_window|context_window_guidance|rollout_budget"
    r"|token_budget|user_action|external_\w+)(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
_AGENTS_MD = "# AGENTS.md instructions"
# Builds of early 2026 wrote these as bare sentences.
_WARNINGS = ("Warning: apply_patch was requested via ", "Warning: The maximum number of unified exec processes ")
_MOST_FRAGMENTS = 64  # in one text; real ones hold up to three, and each costs a copy of what follows
_NOTICES = ("turn_aborted", "subagent_notification", "user_shell_command_output")
IMAGE_MARK = re.compile(r"\s*(?:<image\b[^<>]*>|</image>)\s*")  # stand around an input_image block
_REQUEST = "## My request for Codex:"
_BLANK = re.compile(r"[\s\ufeff]*")  # a byte order mark stands where a text came out of a file


class Cut(NamedTuple):
    """A stretch of a user text, and what tells who wrote it.

    `marked`: Codex's own marks, both ends. `opening`: it starts like something injected. `plain`: nothing in the text.
    """

    said: Said
    basis: Literal["marked", "opening", "plain"]


def cuts(text: str, channel: int) -> Iterator[Cut]:
    """A text under the user's role, cut into what Codex injected and what was typed after it."""
    rest = text
    for _ in range(_MOST_FRAGMENTS):
        opened = _opened(rest)
        found = _fragment(opened)
        if not found:
            break
        rest = opened
        name, end = found
        if end is None:
            yield Cut(Said("runtime", "context", rest, channel), "opening")
            return
        yield from (Cut(piece, "marked") for piece in _injected(name, rest[:end], channel))
        rest = _opened(rest[end:])
    yield from _unmarked(rest, channel)


def _opened(text: str) -> str:
    """The text from its first visible character."""
    blank = _BLANK.match(text)
    return text[blank.end() :] if blank else text


def _unmarked(text: str, channel: int) -> Iterator[Cut]:
    if IMAGE_MARK.fullmatch(text):
        yield Cut(Said("runtime", "context", text, channel), "marked")
        return
    wrapper, request = ide(text)
    yield from (Cut(piece, "marked") for piece in say("runtime", "context", [wrapper], channel))
    if request.strip():
        yield Cut(typed(request, channel), "marked" if wrapper else "plain")


def _fragment(text: str) -> tuple[str, int | None] | None:
    """The name of the fragment that the text opens with, and where it ends; None in place of the end if it never does."""
    if text.startswith(_AGENTS_MD):
        return "agents_md", _end(text, "INSTRUCTIONS")
    if text.startswith(_WARNINGS):
        return "warning", None
    found = _FRAGMENT.match(text)
    return (found[1].lower(), _end(text, found[1])) if found else None


def _end(text: str, name: str) -> int | None:
    """Where the first element of this name ends: nested ones are counted, since instructions quote their own tags."""
    depth = 0
    last: int | None = None
    for tag in re.finditer(rf"<(/?){re.escape(name)}(?:\s[^<>]*)?>", text, re.IGNORECASE):
        depth += -1 if tag[1] else 1
        last = tag.end() if tag[1] else last
        if depth == 0:
            return last
    return last


def _injected(name: str, text: str, channel: int) -> Iterator[Said]:
    if name == "user_shell_command":
        yield from _shell(text, channel)
    else:
        yield Said("runtime", "notice" if name in _NOTICES else "context", text, channel)


def _shell(text: str, channel: int) -> Iterator[Said]:
    """The command that the person ran with `!`, as typed, and what it printed."""
    body = text[text.find(">") + 1 : text.rfind("<")]
    command, output = body, ""
    if (start := body.find("<command>")) >= 0 and (stop := body.find("</command>", start)) >= 0:
        command = body[start + len("<command>") : stop]
        output = body[stop + len("</command>") :].strip().removeprefix("<result>").removesuffix("</result>")
    if command.strip():
        yield Said("person", "command", f"!{command.strip()}", channel)
    yield from say("runtime", "notice", [output.strip()], channel)


def ide(text: str) -> tuple[str, str]:
    """The editor's preface and the request after it. Without a heading at its start the text only talks of the marker."""
    at = f"\n{text}".rfind(f"\n{_REQUEST}") if _opened(text).startswith("#") else -1
    if at < 0:
        return "", text
    end = at + len(_REQUEST)
    return text[:end], text[end:].lstrip()


def command_or_prompt(text: str) -> str:
    """`command` for a slash or bang command as typed, else `prompt`. A path such as /etc/hosts is no command."""
    return "command" if re.match(r"/[A-Za-z][\w:-]*(?:\s|$)|!\s*\S", text) else "prompt"


def typed(text: str, channel: int) -> Said:
    return Said("person", command_or_prompt(text), text, channel)
