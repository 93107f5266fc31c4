"""Claude Code's database of old (0.2): its rows, put together as the lines that a transcript would hold. Says nothing of who spoke.

`base_messages(uuid, session_id, timestamp in seconds, cwd, isSidechain, ...)` holds what every message has; `user_messages` and
`assistant_messages` hold the JSON message of the same `uuid`, `conversation_summaries` a summary made at the message `leaf_uuid`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...files import Unsupported
from ...model import Database, Line, Skip, Source, Wanted
from ...typed import TYPE_CHECKING
from .keyed import Undecodable, parsed
from .lookups import Lookup, name, number

if TYPE_CHECKING:
    from ...model import Row, Value

_BASE = ("session_id", "timestamp", "cwd", "isSidechain")
_TABLES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "user_messages": ("user", "uuid", ("message", "tool_use_result")),
    "assistant_messages": ("assistant", "uuid", ("message", "is_api_error_message")),
    "conversation_summaries": ("summary", "leaf_uuid", ("summary",)),
}  # each with the type of its lines, the column of the message's id, and what else it holds


def _line(kind: str, cells: Mapping[str, Value], base: Mapping[str, Value]) -> dict[str, object]:
    """A row as a line. Raises Undecodable."""
    line: dict[str, object] = {
        "type": kind,
        "message": parsed(cells.get("message")),
        "toolUseResult": parsed(cells.get("tool_use_result")),
        "summary": name(cells.get("summary")),
        "uuid": "" if kind == "summary" else name(cells["uuid"]),
        "sessionId": name(base.get("session_id")),
        "timestamp": number(base.get("timestamp")),
        "cwd": name(base.get("cwd")),
        "isSidechain": bool(base.get("isSidechain")),
        "isApiErrorMessage": bool(cells.get("is_api_error_message")),
    }
    return {key: value for key, value in line.items() if value not in (None, "")}


def _table(batch: Sequence[Row], columns: Sequence[str], base: Lookup, kind: str) -> Iterator[tuple[int, dict[str, object] | None]]:
    rows = [(rowid, dict(zip(columns, cells, strict=True))) for rowid, *cells in batch]
    known = {name(row["uuid"]): row for row in base.rows(name(cells[columns[0]]) for _, cells in rows)}
    for rowid, cells in rows:
        try:
            yield rowid, _line(kind, cells, known.get(name(cells[columns[0]]), {}))
        except Undecodable:
            yield rowid, None


def lines(database: Database, wanted: Wanted, source: Source) -> Iterator[Line | Skip]:
    """The rows that are wanted, as lines. Positions of different tables never meet."""
    tables = database.tables()
    if tables and "base_messages" not in tables:
        raise Unsupported("unsupported_format")
    base = Lookup(database, "base_messages", "uuid", _BASE)
    for place, (table, (kind, key, others)) in enumerate(_TABLES.items()):
        here = database.columns(table)
        columns = (key, *(column for column in others if column in here))
        for batch in database.rows(table, columns) if here else ():
            for rowid, value in _table(list(wanted.among(batch)), columns, base, kind):
                yield Skip("undecodable") if value is None else Line(value, len(_TABLES) * rowid + place, source)
