"""Antigravity, the editor: the same step logs as its command line, a folder per conversation, and no prompt history.

**What it writes.** Below `~/.gemini/antigravity`, since 2.0 also `~/.gemini/antigravity-ide`, the same on every system:
`brain/<conversation>/.system_generated/logs/transcript_full.jsonl` and `transcript.jsonl` (the same cut short; the full one
counts), `brain/<conversation>/*.md`, plans and other papers of the agent, `conversations/<conversation>.db` (SQLite), before
that `conversations/` and `implicit/` `<conversation>.pb`, encrypted.

**What identifies a conversation.** The name of its folder below `brain/`, or of its file. **Who speaks**: see Antigravity CLI.

**What cannot be known.** There is no prompt history, so nothing leads to a conversation but reading all. The working
directory, the model and the branch are not in the logs. Of a conversation's database, prompts, answers, thinking, calls and
errors are read and fold into those of the log; what tools gave back is spelled in a form of its own for each, and counted
(`unsupported_format`). Encrypted conversations are reported, never tried.

Never opened: the editor's own databases (`state.vscdb` holds accounts), settings, skills, annotations.
"""

from __future__ import annotations

from ..model import Agent
from ._shapes import brains

AGENT = Agent(
    id="antigravity-ide",
    name="Antigravity",
    stores=brains.stores("antigravity-ide", "reported readers of the format, 2026"),
)
