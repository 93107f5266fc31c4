"""Rows of another table that a row names by id: sought for a whole batch of rows at once.

One question for each name would cost more than the rows themselves where many of them match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...model import Database
from ...text import clean
from ...typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ...model import Value

_AT_ONCE = 100  # names in one question
KEPT = 20_000  # rows that a reader may remember, before it lets all go


def name(value: Value) -> str:
    """A cell of text; what is no text can be no id."""
    return clean(value.decode("utf-8", "replace")) if isinstance(value, bytes) else ""


def number(value: Value) -> object:
    """A cell that should hold a number or a time: also one that was stored as its text."""
    if not isinstance(value, bytes):
        return value
    text = value.decode("utf-8", "replace")
    return int(text) if text.isdecimal() and len(text) < 30 else text


class Lookup:
    """The rows of a table by an id of theirs. Columns that the table lacks are given as None."""

    def __init__(self, database: Database, table: str, key: str, columns: Sequence[str]) -> None:
        self._database, self._table, self._key = database, table, key
        here = database.columns(table)
        self._columns = [column for column in (key, *columns) if column in here]
        self._absent: dict[str, Value] = {column: None for column in columns if column not in here}
        self._is_here = key in here

    def rows(self, names: Iterable[str]) -> Iterator[dict[str, Value]]:
        """The rows that bear these names, in no order, by column."""
        wanted = sorted({one for one in names if one}) if self._is_here else []
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            where = f'"{self._key}" IN ({", ".join("?" * len(some))})'
            for found in self._database.by_key(self._table, self._columns, where, some):
                yield {**self._absent, **dict(zip(self._columns, found, strict=True))}
