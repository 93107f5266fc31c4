"""Conversations of Antigravity as it resumes them: a database each, its steps as protocol buffers, the same for command line and editor.

The numbers of the fields are what several readers of 1.x to 2.18 found alike. Read are what was asked, what was answered, thought and
called, and errors; what tools gave back is spelled differently for each tool and is counted as `unsupported_format`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from ...files import Unsupported
from ...model import Database, Decoded, Record, Skip, Source, Wanted
from ...text import clean
from ...typed import TYPE_CHECKING
from .protobuf import Fields, fields, message, moment_us, text
from .steps import folder, step_records

if TYPE_CHECKING:
    from ...model import Value

Json = dict[str, object]
_UNREAD = Skip("unsupported_format")
_COLUMNS = ("step_type", "metadata", "step_payload")


def conversation(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """The records of a conversation, as spellings that fold into those of its log."""
    if not {"idx", *_COLUMNS}.issubset(database.columns("steps")):
        raise Unsupported("unsupported_format")
    cwd: str | None = None
    asked = False
    for batch in database.rows("steps", _COLUMNS):
        for row in wanted.among(batch):
            if not asked:
                cwd, asked = _workspace(database), True
            yield from _step(row[1:], Record(source, row[0], 0, "person", "prompt", "", conversation_id=source.stem, cwd=cwd, channel=1))


def _workspace(database: Database) -> str | None:
    """The folder that the conversation's own notes name."""
    if "data" not in database.columns("trajectory_metadata_blob"):
        return None
    for batch in database.rows("trajectory_metadata_blob", ("data",)):
        for row in batch:
            raw = row[1:][0]
            found = fields(raw) if isinstance(raw, bytes) else None
            uri = found and (text(found, 7) or text(message(found, 1), 1))
            if uri and uri.startswith(("file://", "/")):
                return folder(uri)
    return None


def _step(row: tuple[Value, ...], common: Record) -> Iterator[Record | Skip]:
    kind, metadata, payload = row
    if not isinstance(payload, bytes) or not payload:
        return
    step = fields(payload)
    tell = _failed if step and 24 in step else _STEPS.get(kind) if isinstance(kind, int) else None
    if step is None or tell is None:
        yield _UNREAD
        return
    noted = (fields(metadata) if isinstance(metadata, bytes) and metadata else None) or message(step, 5)
    time_us = moment_us(message(noted, 1))
    for found in step_records(tell(step), common):
        yield found if isinstance(found, Skip) else found._replace(time_us=time_us, text=clean(found.text))


def _asked(step: Fields) -> Json:
    return {"type": "USER_INPUT", "content": text(message(step, 19), 2, 1)}


def _answered(step: Fields) -> Json:
    told = message(step, 20)
    calls = [found for raw in told.get(7, ()) if isinstance(raw, bytes) and (found := fields(raw))]
    return {
        "type": "PLANNER_RESPONSE",
        "content": text(told, 1, 8),
        "thinking": text(told, 3),
        "tool_calls": [{"name": text(call, 2), "args": _arguments(text(call, 3))} for call in calls],
    }


def _arguments(spelled: str) -> object:
    try:
        return json.loads(spelled, strict=False) if spelled else None
    except (ValueError, RecursionError):
        return spelled


def _failed(step: Fields) -> Json:
    return {"type": "ERROR_MESSAGE", "source": "SYSTEM", "content": text(message(step, 24), 1)}


_STEPS: Mapping[int, Callable[[Fields], Json]] = {14: _asked, 15: _answered}
