"""Echoes: records that are this program's own output, come back as history. Pure; asked only of records that match."""

from __future__ import annotations

import re

from ..model import Record

_OURS = re.compile(r"(?:^|[^a-z])deepgrep(?:$|[^a-z])", re.IGNORECASE)  # the name of a tool: mcp__deepgrep__search, deepgrep_read
# A command that runs this program: alone in a line or a JSON value, or after a shell's joint.
_RUNS = re.compile(r"(?:^|[\n\"'`:;&|(]\s*|\\n|\b(?:uvx|pipx run|exec|time|-m)\s+)deepgrep\s+(?:search|grep|find|show|mcp)\b")
_Q = r"\\{0,7}\""  # a quote, escaped as often as JSON was put into JSON
_PRINTED = (
    # A result, neighbour or entry in any of our JSON forms: its ref says so.
    re.compile(rf"{_Q}ref{_Q}:\s*{_Q}[a-z0-9_-]+\.[a-z0-9_]+:[0-9a-f]{{14}}:-?[0-9a-f]+\.[0-9a-f]+:[0-9a-f]{{6}}{_Q}"),
    # A summary.
    re.compile(rf"{_Q}requested_effort{_Q}:\s*{_Q}(?:prompt|targeted|exhaustive){_Q}"),
    # The closing line for people.
    re.compile(r"\d results?(?: \([^()\n]{1,90}\))?; read \d[\d,]* (?:prompt histor|conversation file)"),
    # A result for people, grouped.
    re.compile(r"(?:^|\n)  (?:\d{4}-\d\d-\d\d \d\d:\d\d|undated)  (?:you|agent|tool|runtime|brief)\b[^:\n]{0,80}: "),
    # The head of a conversation that `show` prints.
    re.compile(r"(?:^|\n)  conversation: \S+\n  file: [^\n]+\n"),
)  # fmt: skip


def is_echo(record: Record) -> bool:
    """Is this record a call of this program, or what it printed? Never what a person or an agent wrote about it."""
    if record.speaker not in ("tool", "runtime"):
        return False
    if record.tool and _OURS.search(record.tool):
        return True
    text = record.text
    if record.kind == "tool_call":
        return "deepgrep" in text and _RUNS.search(text) is not None
    return any(pattern.search(text) for pattern in _PRINTED)
