"""An answer for programs: one document, or one line for each event."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .. import refs, wire
from ..model import Result, Summary
from ..typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..engine.conversation import Conversation, Passage, Subagent
    from ..engine.miss import Miss
    from ..model import Resume
    from ..schema import DocumentJson, PassageJson, ResultJson, SummaryJson


class Detail(NamedTuple):
    """What a program may ask for beside the answer: the parts of scores, and where the time went."""

    explain: bool = False
    profile: bool = False
    redact: bool = False  # mask secrets
    miss: Miss | None = None  # why nothing was found


def document(results: Sequence[Result], closing: Summary, home: str, detail: Detail) -> str:
    """The whole answer as one JSON document on one line."""
    doc: DocumentJson = {
        "schema_version": wire.SCHEMA_VERSION,
        "results": [_result(found, home, detail) for found in results],
        "summary": _summary(closing, detail),
    }
    return _dumps(doc)


def result_line(found: Result, home: str, detail: Detail) -> str:
    """One result as one line of NDJSON."""
    return _dumps({"type": "result", **_result(found, home, detail)})


def _result(found: Result, home: str, detail: Detail) -> ResultJson:
    out = wire.result(found, home, explain=detail.explain)
    if not detail.redact:
        return out
    from ..redact import masked  # deferred: its table takes 25 ms to compile

    return masked(out)[0]  # type: ignore[return-value]


def summary_line(closing: Summary, detail: Detail) -> str:
    """The summary as the last line of NDJSON."""
    return _dumps({"type": "summary", "schema_version": wire.SCHEMA_VERSION, **_summary(closing, detail)})


def _summary(closing: Summary, detail: Detail) -> SummaryJson:
    out = wire.summary(closing)
    if detail.profile:
        out["profile"] = wire.profile(closing)
    if detail.miss:
        out["miss"] = wire.miss(detail.miss)
    return out


def passage_json(
    found: Conversation, passage: Passage, subagents: Sequence[Subagent], command: Resume | None, notes: Sequence[str], home: str
) -> str:
    """A window of a conversation as one JSON document on one line."""
    doc: PassageJson = {
        "schema_version": wire.SCHEMA_VERSION,
        "conversation": wire.conversation(found, subagents, command, home),
        "hit": None,
        "records": [wire.entry(one) for one in passage.entries],
        "before": passage.before,
        "after": passage.after,
        "next": passage.next,
        "notes": list(notes),
    }
    if found.hit_number is not None:
        shown = [one["ref"] for one in doc["records"] if one["is_hit"]]
        ref = shown[0] if shown else refs.ref(found.hit) if found.hit else ""
        doc["hit"] = {"ref": ref, "number": found.hit_number, "moved": found.moved}
    return _dumps(doc)


def dumped(doc: object) -> str:
    """A document of another command, on one line."""
    return _dumps(doc)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
