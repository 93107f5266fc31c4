"""oh-my-pi (omp): Pi's transcripts below `~/.omp`, and a database of prompts.

**What it writes.** `~/.omp/agent/sessions/<folder>/<time>_<id>.jsonl`, as Pi does; each named profile has the same below
`~/.omp/profiles/<name>/agent`. Where `~/.local/share/omp` exists, data lies there without the `agent` level. Since 16.3 a title of fixed
width, rewritten in place, stands before the header. A subagent's transcript lies in a folder named like the
transcript of the session that started it, and may have such a folder of its own. `history.db` holds the prompts, each text once,
with the time, folder and session of its last use.

**What identifies a conversation.** The header's `id`, the end of the file's name. `parentSession` of a fork is the parent's id. A
subagent's header names no parent: the nearest folder above that holds an id does.

**Who speaks.** As in Pi. Besides, `$` runs Python as `!` runs a command; a message that is marked as synthetic is the runtime's; one
that is marked as an agent's, and all that a subagent is told, is the parent's.

**What cannot be known.** For a subagent of a subagent the session at the top counts as its parent. `PI_CODING_AGENT_DIR` moves
Pi's folder and omp's alike, and nothing there tells whose it is: it counts as Pi's. `PI_CONFIG_DIR` is not followed. A
prompt that was used again is known by its last use alone.

Never opened: `agent.db`, `config.yml`, blobs, logs.
"""

from __future__ import annotations

import re

from ..files import Unsupported
from ..model import Agent, Database, Decoded, Locator, Record, Resume, Rows, Source, Store, Traits, Wanted
from ..text import instant
from ._shapes.entries import ENTRIES, INSERTED, claimed, id_in_name
from ._shapes.envelopes import command_or_prompt
from ._shapes.lookups import name, number

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}")
_TRAITS = Traits(text_in="line", inserted=INSERTED)
_READ = "source coding-agent/src/session, 2026"


def _resume(record: Record) -> Resume | None:
    native = record.conversation_id or ""
    return None if record.parent_conversation_id or not _ID.fullmatch(native) else Resume(("omp", "--resume", native), record.cwd)


def _prompts(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """Each text once, with the session of its last use; older tables have no column for it."""
    if "history" not in database.tables():
        if database.tables():
            raise Unsupported("unsupported_format")
        return
    here = database.columns("history")
    columns = ("prompt", *(column for column in ("created_at", "cwd", "session_id") if column in here))
    for batch in database.rows("history", columns):
        for rowid, *cells in wanted.among(batch):
            row = dict(zip(columns, cells, strict=True))
            text = name(row["prompt"])
            if text.strip():
                yield Record(
                    source, rowid, 0, "person", "command" if text.startswith("$") and len(text) > 1 else command_or_prompt(text), text,
                    time_us=instant(number(row.get("created_at"))), cwd=name(row.get("cwd")) or None,
                    conversation_id=name(row.get("session_id")) or None,
                )  # fmt: skip


def _history(name: str, root: str, where: tuple[str, ...]) -> Store:
    return Store(
        name, "prompts", where, "source coding-agent/src/session/history-storage.ts", Rows(_prompts), Traits(text_in="line"), root=root,
        endings=(".db",), speakers=("person",),
    )  # fmt: skip


AGENT = Agent(
    "omp",
    "oh-my-pi",
    stores=(
        _history("omp.history", "home", ("agent/history.db", "profiles/*/agent/history.db")),
        _history("omp.history_xdg", "xdg", ("history.db", "profiles/*/history.db")),
        Store("omp.sessions", "transcript", ("agent/sessions/**/*.jsonl", "profiles/*/agent/sessions/**/*.jsonl"), _READ, ENTRIES, _TRAITS),
        Store(
            "omp.sessions_xdg", "transcript", ("sessions/**/*.jsonl", "profiles/*/sessions/**/*.jsonl"), _READ, ENTRIES, _TRAITS, root="xdg"
        ),
    ),
    resume=_resume,
    locate=Locator(
        stores=("omp.sessions", "omp.sessions_xdg"),
        key=lambda native: native if _ID.fullmatch(native) else None,
        names=id_in_name,
        header=claimed,
        head=2,
    ),
)  # fmt: skip
