"""An answer for programs: one document, or one line for each event."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .. import wire
from ..model import Result, Summary
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ..schema import DocumentJson


def document(results: Sequence[Result], closing: Summary, home: str, *, explain: bool = False) -> str:
    """The whole answer as one JSON document on one line."""
    doc: DocumentJson = {
        "schema_version": wire.SCHEMA_VERSION,
        "results": [wire.result(found, home, explain=explain) for found in results],
        "summary": wire.summary(closing),
    }
    return _dumps(doc)


def result_line(found: Result, home: str, *, explain: bool = False) -> str:
    """One result as one line of NDJSON."""
    return _dumps({"type": "result", **wire.result(found, home, explain=explain)})


def summary_line(closing: Summary) -> str:
    """The summary as the last line of NDJSON."""
    return _dumps({"type": "summary", "schema_version": wire.SCHEMA_VERSION, **wire.summary(closing)})


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
