"""Pi (pi-coding-agent): one transcript a session below `~/.pi/agent`, a tree of entries.

**What it writes.** `PI_CODING_AGENT_DIR` replaces the folder. `sessions/--<working directory, - for separators>--/<time>_<id>.jsonl` is
one session; with `PI_CODING_AGENT_SESSION_DIR` (or `--session-dir`, or a setting) the files lie flat in that folder. Release 0.30.0
put them straight into the agent's folder. The first line is a header (`id`, `cwd`, `parentSession`); every other line is an entry with an
`id` and a `parentId`. Going back and typing again adds a branch: all branches are read, whichever is current. Version 1 of the
format has no entry ids; version 1 and 2 are rewritten when they are opened again.

**What identifies a conversation.** The header's `id`, which is also the end of the file's name. A fork is a new file with copies of the
entries under the same ids; its header names the parent's file, and the parent's id is taken from that name.

**Who speaks.** The user's role is the person's, but for files given on the command line and for the text of a skill: those stand before the
words and are the runtime's; a skill is given as the command that called it. `!` and `!!` commands are the person's, their output is the
runtime's, as are system prompts, messages of extensions, and summaries of compactions and of branches that were left.

**What cannot be known.** There is no prompt history. A first prompt is written only when an answer arrives. Templates called
by a slash command are stored as their text alone. No branch of a repository is recorded.

Never opened: `auth.json`, `settings.json`, `models.json`, prompt templates, databases of extensions.
"""

from __future__ import annotations

import re

from ..model import Agent, Locator, Record, Resume, Store, Traits
from ._shapes.entries import ENTRIES, INSERTED, claimed, id_in_name

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}")
_TRAITS = Traits(text_in="line", inserted=INSERTED)
_OBSERVED = "observed 1.6.0 2026-11-30"


def _resume(record: Record) -> Resume | None:
    """Pi finds a session by its id only where it looks for sessions: not in a folder above theirs."""
    native = record.conversation_id or ""
    if record.store == "pi.misplaced" or record.parent_conversation_id or not _ID.fullmatch(native):
        return None
    return Resume(("pi", "--session", native), record.cwd)


AGENT = Agent(
    "pi",
    "Pi",
    stores=(
        Store("pi.sessions", "transcript", ("sessions/*/*.jsonl",), _OBSERVED, ENTRIES, _TRAITS),
        Store("pi.misplaced", "transcript", ("*.jsonl",), "source a migration script for 0.30.0", ENTRIES, _TRAITS),
        Store("pi.flat", "transcript", ("*.jsonl",), "reported by readers of newer versions", ENTRIES, _TRAITS, root="flat"),
    ),
    resume=_resume,
    locate=Locator(
        stores=("pi.sessions", "pi.flat"),
        key=lambda native: native if _ID.fullmatch(native) else None,
        names=id_in_name,
        header=claimed,
        head=2,
    ),
)
