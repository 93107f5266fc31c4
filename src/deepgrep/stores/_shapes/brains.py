"""What Antigravity keeps of a conversation, the same for its command line and its editor: logs, papers and a database."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...model import Decoded, Line, Log, Record, Rows, Sibling, Source, Store, Text, Traits
from .steps import conversation, papers, step_records
from .trajectories import conversation as trajectory


def _nowhere(native: str | None, sibling: Sibling) -> str | None:
    return None


def stores(agent: str, evidence: str, cwd: Callable[[str | None, Sibling], str | None] = _nowhere) -> tuple[Store, ...]:
    """The stores below an agent's folder. `evidence` is that of the logs; `cwd` tells the folder that a conversation was held in."""

    def transcript(lines: Iterable[Line], source: Source, sibling: Sibling) -> Decoded:
        native = conversation(source.key)
        common = Record(source, 0, 0, "person", "prompt", "", conversation_id=native, cwd=cwd(native, sibling))
        for line in lines:
            yield from step_records(line.value, common._replace(position=line.position))

    return (
        Store(
            id=f"{agent}.transcripts",
            role="transcript",
            where=tuple(f"brain/*/.system_generated/logs/transcript{ending}" for ending in ("_full.jsonl", ".jsonl")),
            evidence=evidence,
            reader=Log(transcript, is_line=lambda value: "type" in value and "step_index" in value),
            traits=Traits(text_in="file", inserted=":"),
            endings=("_full.jsonl", ".jsonl"),
        ),
        Store(
            id=f"{agent}.plans",
            role="transcript",
            where=("brain/*/*.md",),
            evidence="reported readers of the format, 2026",
            reader=Text(papers),
            traits=Traits(text_in="file"),
            endings=(".md",),
            speakers=("agent",),
        ),
        Store(
            id=f"{agent}.conversations",
            role="transcript",
            where=("conversations/*.db",),
            evidence="reported several readers of 1.x to 2.18, 2026-08",
            reader=Rows(trajectory),
            traits=Traits(text_in="line", inserted=":"),
            endings=(".db",),
        ),
        Store(
            id=f"{agent}.encrypted",
            role="transcript",
            where=("conversations/*.pb", "implicit/*.pb"),
            evidence="reported 8 bits of entropy per byte, 2026",
            reader=None,
            endings=(".pb",),
            unsupported="encrypted",
        ),
    )
