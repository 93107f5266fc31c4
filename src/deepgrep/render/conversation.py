"""A conversation for people: as text for a terminal, or as Markdown. Neither can be steered by what a transcript holds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from ..engine.conversation import Conversation, Entry, Passage, Subagent
from ..engine.order import project
from ..model import Record, Resume
from ..text import safe
from ..typed import NamedTuple
from ..wire import shown
from .style import PLAIN, Style
from .text import WHO, local

FOLDED_LINES = 4  # of a tool's text, unless asked for whole
FOLDED_CHARS = 400


class Sheet(NamedTuple):
    """A passage with all that is said around it. `unfolded`: tools' texts whole."""

    found: Conversation
    passage: Passage
    subagents: tuple[Subagent, ...]
    resume: Resume | None
    notes: tuple[str, ...]
    home: str
    unfolded: bool = False
    style: Style = PLAIN


def who(record: Record) -> str:
    """Who speaks, and what kind of thing it is where that is not plain."""
    name = WHO[record.speaker] + (f" {record.tool}" if record.tool else "")
    usual = record.kind in ("prompt", "reply", "tool_call", "brief")
    return _line(name + ("" if usual else f" ({record.kind.replace('_', ' ')})"))


def place(found: Conversation) -> str:
    """Agent, project, time, branch and title in one line."""
    record, (began, _) = found.describes, found.times
    if record is None:
        return found.sources[0].agent
    parts = [record.agent, project(record) or "-", local(began)]
    parts += [f"on {record.branch}"] if record.branch else []
    parts += [record.title or found.title or ""]
    return "  ".join(_line(part) for part in parts if part)


def facts(sheet: Sheet) -> Iterator[tuple[str, str]]:
    """What is said of the conversation before its records: a word, and a line."""
    found = sheet.found
    if found.conversation_id:
        yield "conversation", _line(found.conversation_id)
    for source in found.sources:
        yield "file", _line(shown(source.path, sheet.home))
    if sheet.resume:
        yield "resume", command(sheet.resume, sheet.home)
    record = found.describes
    if record and record.parent_conversation_id:
        yield "started by", _line(record.parent_conversation_id)
    for subagent in sheet.subagents:
        yield "subagent", _line(subagent.name)
    for note in sheet.notes:
        yield "note", _line(note)


def command(resume: Resume, home: str) -> str:
    """A resume command as a shell takes it."""
    folder = shown(resume.cwd, home) if resume.cwd else ""
    quoted = "~/" + shlex.quote(folder[2:]) if folder.startswith("~/") else shlex.quote(folder)
    return _line((f"cd {quoted} && " if folder else "") + shlex.join(resume.argv))


def folded(record: Record, *, unfolded: bool) -> tuple[str, str]:
    """The text of a record, and what was left out of it: tools' texts are cut to a few lines unless asked for whole."""
    if unfolded or record.speaker not in ("tool", "runtime"):
        return record.text, ""
    lines = record.text.split("\n")
    kept = "\n".join(lines[:FOLDED_LINES])
    cut = kept[:FOLDED_CHARS]
    if len(lines) > FOLDED_LINES:
        left = len(lines) - FOLDED_LINES
        return cut, f"{left:,} more line{'' if left == 1 else 's'}"
    return cut, f"{len(kept) - len(cut):,} more characters" if len(kept) > len(cut) else ""


def gap(number: int, where: str) -> str:
    """How many records stand outside the window."""
    return f"{number:,} {where} record{'' if number == 1 else 's'}"


def lines(sheet: Sheet) -> Iterator[str]:
    """The passage as text: a mark and a number before each record, its text below."""
    style = sheet.style
    yield f"{style.place}{place(sheet.found)}{style.reset}"
    for word, line in facts(sheet):
        yield f"{style.faint}  {word}: {line}{style.reset}"
    if sheet.passage.before:
        yield ""
        yield f"{style.faint}  … {gap(sheet.passage.before, 'earlier')}{style.reset}"
    for entry in sheet.passage.entries:
        yield ""
        yield from _entry_lines(entry, sheet)
    if sheet.passage.after:
        yield ""
        yield f"{style.faint}  … {gap(sheet.passage.after, 'later')}{style.reset}"


def _entry_lines(entry: Entry, sheet: Sheet) -> Iterator[str]:
    record, style = entry.record, sheet.style
    colour = style.person if record.speaker == "person" else style.agent if record.speaker == "agent" else ""
    mark = f"{style.hit}>{style.reset}" if entry.is_hit else " "
    name = f"{colour}{who(record)}{style.reset if colour else ''}"
    yield f"{mark} {style.faint}{entry.number}{style.reset}  {name}  {style.faint}{local(record.time_us, '%Y-%m-%d %H:%M:%S')}{style.reset}"
    text, left = folded(record, unfolded=sheet.unfolded)
    for line in safe(text).split("\n"):
        yield f"    {line}".rstrip() if not line.strip() else f"    {line}"
    if left:
        yield f"    {style.faint}… {left}; --tools shows all{style.reset}"


# --- Markdown -------------------------------------------------------------------------------------------------------

# Code keeps its characters; elsewhere a tag or an image would be more than text.
_ACTIVE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])|!(?=\[)")


def markdown(sheet: Sheet) -> Iterator[str]:
    """The passage as Markdown: replies as quotes, everything else in fences that its text cannot close."""
    yield f"# {_escaped(place(sheet.found))}"
    yield ""
    for word, line in facts(sheet):
        yield f"- {word}: {_code(line)}"
    if sheet.passage.before:
        yield from ("", f"*{gap(sheet.passage.before, 'earlier')}*")
    for entry in sheet.passage.entries:
        yield ""
        yield from _entry_markdown(entry, sheet)
    if sheet.passage.after:
        yield from ("", f"*{gap(sheet.passage.after, 'later')}*")


def _entry_markdown(entry: Entry, sheet: Sheet) -> Iterator[str]:
    record = entry.record
    mark = "**→** " if entry.is_hit else ""
    yield f"## {mark}{entry.number} · {_escaped(who(record))} · {local(record.time_us, '%Y-%m-%d %H:%M:%S')}"
    yield ""
    text, left = folded(record, unfolded=sheet.unfolded)
    text = safe(text)
    if record.speaker == "agent" and record.kind != "reasoning":
        yield from _quote(text)
    else:
        mark = fence(text)
        yield f"{mark}text"
        yield from text.split("\n")
        yield mark
    if left:
        yield from ("", f"*{left}*")


def fence(text: str) -> str:
    """A fence that no run of backticks in the text can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _quote(text: str) -> Iterator[str]:
    """A quote, in which an unclosed fence ends with the quote, and tags and images are text."""
    inside = ""
    for line in text.split("\n"):
        found = re.match(r"\s{0,3}(`{3,}|~{3,})", line)
        if found and (not inside or (found[1][0] == inside[0] and len(found[1]) >= len(inside))):
            inside = "" if inside else found[1]
        elif not inside:
            line = _ACTIVE.sub(_inert, line)
        yield f"> {line}".rstrip()


def _inert(found: re.Match[str]) -> str:
    return {"<": "&lt;", "!": "\\!"}.get(found[0], found[0])


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|!])", r"\\\1", text)


def _code(text: str) -> str:
    mark = fence(text)[:-2] if "`" not in text else fence(text)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{mark}{pad}{text}{pad}{mark}"


def _line(text: str) -> str:
    return " ".join(safe(text).split())
