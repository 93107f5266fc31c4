"""Antigravity CLI (`agy`): a prompt history, and a folder of logs per conversation.

**What it writes.** Below `~/.gemini/antigravity-cli` on every system (`antigravity-acp` beside it, for editors that speak the
Agent Client Protocol): `history.jsonl`, a row per prompt (`display`, `timestamp` in milliseconds, `workspace`, and mostly
`conversationId`); `brain/<conversation>/.system_generated/logs/transcript_full.jsonl`, the steps of a conversation, and
`transcript.jsonl`, the same cut short: where both exist the full one counts; `brain/<conversation>/*.md`, plans and other
papers of the agent; `conversations/<conversation>.db`, the conversation as it is resumed (SQLite), before that
`conversations/` and `implicit/` `<conversation>.pb`, encrypted. No variable moves the folder.

**What identifies a conversation.** Its id: `conversationId` of a history row, and the name of the folder below `brain/`. The
logs hold no id; their folder is the proof. The working directory stands in the history only.

**Who speaks.** A step of type `USER_INPUT` holds what was typed between `<USER_REQUEST>` marks; all other blocks in it are the
runtime's. `PLANNER_RESPONSE` is the agent's: thinking, answer, tool calls. Steps of the system are the runtime's
(`CHECKPOINT`: its summary at a compaction), all others are what tools gave back, under the step's type.

**What cannot be known.** The first prompt of a conversation may have no id. Headless runs are in no history. No model, no
branch. Fields that the program cut short (`truncated_fields`) are given as they are, and counted (`truncated_text`). Of a
conversation's database, prompts, answers, thinking, calls and errors are read and fold into those of the log; what tools gave
back is spelled in a form of its own for each, and counted (`unsupported_format`). Encrypted conversations are reported, never
tried.

Never opened: tokens, settings, caches and indexes (`conversation_summaries.db`), decoded copies by other programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ..model import Agent, Line, Lines, Locator, Near, Record, Resume, Sibling, Skip, Store, Traits
from ..text import clean, instant
from ._shapes import brains
from ._shapes.blocks import mapping, string
from ._shapes.envelopes import command_or_prompt
from ._shapes.steps import UNKNOWN, folder

_ID = re.compile(r"[0-9A-Za-z_-]{1,200}")
_HISTORY_LIMIT_BYTES = 32 << 20


def _history(line: Line, state: object, near: Near) -> Iterator[Record | Skip]:
    row = line.value
    text = row.get("display")
    if not isinstance(text, str):
        yield UNKNOWN
    elif text.strip():
        kind = "command" if row.get("type") == "slash_command" else command_or_prompt(text)
        yield Record(
            line.source, line.position, 0, "person", kind, clean(text), time_us=instant(row.get("timestamp")),
            conversation_id=string(row, "conversationId"), cwd=folder(row.get("workspace")),
        )  # fmt: skip


def _cwd(native: str | None, sibling: Sibling) -> str | None:
    """The folder that the history's first row of this conversation names."""
    history = sibling("history.jsonl", _HISTORY_LIMIT_BYTES) if native else None
    at = history.find(f'"{native}"') if history else -1
    while history and at >= 0:
        start, end = history.rfind("\n", 0, at) + 1, history.find("\n", at)
        end = len(history) if end < 0 else end
        found = _workspace(history[start:end], native)
        if found:
            return found
        at = history.find(f'"{native}"', end)
    return None


def _workspace(line: str, native: str | None) -> str | None:
    try:
        row = mapping(json.loads(line)) or {}
    except (ValueError, RecursionError):
        return None
    return folder(row.get("workspace")) if row.get("conversationId") == native else None


def _resume(record: Record) -> Resume | None:
    native = record.conversation_id
    return Resume(("agy", "--conversation", native), record.cwd) if native and _ID.fullmatch(native) else None


AGENT = Agent(
    id="antigravity-cli",
    name="Antigravity CLI",
    stores=(
        Store(
            id="antigravity-cli.history",
            role="prompts",
            where=("history.jsonl",),
            evidence="reported readers of the format, 2026-06",
            reader=Lines(decode=_history, is_line=lambda value: "display" in value),
            traits=Traits(text_in="line", append_only=True),
            speakers=("person",),
        ),
        *brains.stores("antigravity-cli", "reported readers of the format and a fixture of 2026-06", _cwd),
        Store(
            id="antigravity-cli.messages",
            role="transcript",
            where=("brain/*/.system_generated/messages/*.json",),
            evidence="reported one user of the program, 2026; the format is not known",
            reader=None,
            endings=(".json",),
            unsupported="unsupported_format",
        ),
    ),
    resume=_resume,
    locate=Locator(
        stores=("antigravity-cli.transcripts",),
        key=lambda native: native if _ID.fullmatch(native) else None,
        names=lambda name: name,
        header=None,  # the logs hold no id: the folder's name is the whole id
        level=3,
    ),
    limits=("headless_not_in_history",),
)
