"""Databases of keys and JSON values, as VS Code and Cursor keep their state in: one value, or a few, fetched by their keys alone.

Knows the two tables' columns and no key. What is no JSON is told apart from what is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...files import Unreadable
from ...model import Database, Wanted
from ...text import Number
from ...typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ...model import Value

ITEMS = "ItemTable"
_COLUMNS = ("key", "value")
_AT_ONCE = 200  # keys asked for in one statement


class Undecodable(Exception):
    """A value that is no JSON."""


def parsed(raw: Value) -> object:
    """The JSON value of a cell, None for an empty one. Raises Undecodable."""
    if raw is None or raw == b"":
        return None
    if not isinstance(raw, bytes):
        raise Undecodable
    try:
        return json.loads(raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), parse_float=Number, strict=False)
    except (ValueError, RecursionError) as error:
        raise Undecodable from error


def fetched(database: Database, keys: tuple[str, ...], table: str = ITEMS) -> dict[str, Value]:
    """The values at these keys, each sought in the index over the keys: no other row is read."""
    where = f"key IN ({', '.join('?' * len(keys))})"
    found = database.by_key(table, _COLUMNS, where, keys)
    return {key.decode("utf-8", "replace"): value for key, value in found if isinstance(key, bytes)}


def rows(database: Database, wanted: Wanted, table: str) -> Iterator[tuple[int, Value, Value]]:
    """The rows of a table whose values are wanted: row id, key, value.

    Walking over the values alone takes half as long as over both columns, so keys are asked for where they are needed. A row comes as it
    is when its key is asked for; one that a writer has replaced since then stands further on, under a new row id.
    """
    if wanted():  # everything is
        for batch in database.rows(table, _COLUMNS):
            for row in batch:
                key, value = row[1:]
                yield row[0], key, value
        return
    for batch in database.rows(table, ("value",)):
        found = [row[0] for row in wanted.among(batch)]
        for start in range(0, len(found), _AT_ONCE):
            yield from _keyed(database, table, found[start : start + _AT_ONCE])


def _keyed(database: Database, table: str, rowids: list[int]) -> Iterator[tuple[int, Value, Value]]:
    found = database.by_key(table, _COLUMNS, f"rowid IN ({', '.join('?' * len(rowids))}) ORDER BY rowid", rowids)
    if len(found) == len(rowids):
        for rowid, (key, value) in zip(rowids, found, strict=True):
            yield rowid, key, value
    elif len(rowids) > 1:  # a writer has taken some away
        for rowid in rowids:
            yield from _keyed(database, table, [rowid])


def history(database: Database, wanted: Wanted, key: str) -> Iterator[object]:
    """The value of a prompt history that is one key, where it may hold what is looked for. Raises Unreadable for what is no JSON."""
    for raw in fetched(database, (key,)).values():
        if wanted(raw):
            yield whole(raw)
        elif isinstance(raw, bytes) and raw.strip() and not is_closed(raw):  # whatever the query, a torn value is no answer
            raise Unreadable("undecodable")


def whole(raw: Value) -> object:
    """The value of a cell that is a history by itself. Raises Unreadable for what is no JSON."""
    try:
        return parsed(raw)
    except Undecodable as error:
        raise Unreadable("undecodable") from error


def is_closed(raw: bytes) -> bool:
    """Is this, as far as its two ends tell, one JSON object or list?"""
    text = raw[:64].lstrip()[:1] + raw[-64:].rstrip()[-1:]
    return text in (b"{}", b"[]")
