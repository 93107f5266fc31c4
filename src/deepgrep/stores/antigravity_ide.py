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

from collections.abc import Iterable

from ..model import Agent, Decoded, Line, Log, Record, Rows, Sibling, Source, Store, Text, Traits
from ._shapes.steps import conversation, papers, step_records
from ._shapes.trajectories import conversation as trajectory


def _transcript(lines: Iterable[Line], source: Source, sibling: Sibling) -> Decoded:
    common = Record(source, 0, 0, "person", "prompt", "", conversation_id=conversation(source.key))
    for line in lines:
        yield from step_records(line.value, common._replace(position=line.position))


AGENT = Agent(
    id="antigravity-ide",
    name="Antigravity",
    stores=(
        Store(
            id="antigravity-ide.transcripts",
            role="transcript",
            where=tuple(f"brain/*/.system_generated/logs/transcript{ending}" for ending in ("_full.jsonl", ".jsonl")),
            evidence="reported readers of the format, 2026",
            reader=Log(_transcript, is_line=lambda value: "type" in value and "step_index" in value),
            traits=Traits(text_in="file", inserted=":"),
            endings=("_full.jsonl", ".jsonl"),
        ),
        Store(
            id="antigravity-ide.plans",
            role="transcript",
            where=("brain/*/*.md",),
            evidence="reported readers of the format, 2026",
            reader=Text(papers),
            traits=Traits(text_in="file"),
            endings=(".md",),
            speakers=("agent",),
        ),
        Store(
            id="antigravity-ide.conversations",
            role="transcript",
            where=("conversations/*.db",),
            evidence="reported several readers of 1.x to 2.18, 2026-08",
            reader=Rows(trajectory),
            traits=Traits(text_in="line", inserted=":"),
            endings=(".db",),
        ),
        Store(
            id="antigravity-ide.encrypted",
            role="transcript",
            where=("conversations/*.pb", "implicit/*.pb"),
            evidence="reported 8 bits of entropy per byte, 2026",
            reader=None,
            endings=(".pb",),
            unsupported="encrypted",
        ),
    ),
)
