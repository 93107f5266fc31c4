"""Chats of Cursor's command line: a database of blobs, named by their SHA-256, of which a root names those that make up the chat.

Some blobs are messages in JSON, the others are protocol buffers of no known schema: what they name is followed, what they say is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...files import Unsupported
from ...model import Database, Skip, Wanted
from ...text import Number
from .blocks import mapping, string
from .protobuf import Fields, fields

Json = dict[str, object]
_UNREAD = Skip("unsupported_format")
_ID_BYTES = 32
_DEPTH = 8  # of messages within messages of one node
_NODES_CAP_BYTES = 32 << 20  # of blobs that are no messages, held to find what they name


def about(database: Database) -> Json:
    """What the chat says of itself: JSON, mostly spelled in hexadecimal. It may hold a key to blobs: nothing but named fields is taken."""
    if not {"key", "value"}.issubset(database.columns("meta")):
        raise Unsupported("unsupported_format")
    for (raw,) in database.by_key("meta", ("value",), "key = '0'"):
        for spelled in _spellings(raw):
            try:
                value = mapping(json.loads(spelled))
            except (ValueError, RecursionError):
                continue
            if value is not None:
                return value
    return {}


def _spellings(raw: object) -> Iterator[bytes]:
    if isinstance(raw, bytes):
        yield raw
        try:
            yield bytes.fromhex(raw.decode("ascii"))
        except ValueError:
            return


def messages(database: Database, wanted: Wanted, root: str | None) -> Iterator[tuple[int, Json | Skip]]:
    """The messages of the chat as it stands, with the ids of their rows; of one that names no root, every message.

    Blobs that are no messages and not part of the tree's inside may hold words: those that are wanted are counted.
    """
    nodes, has_messages = _nodes(database)
    if not has_messages and nodes and not any(nodes.values()):
        raise Unsupported("encrypted")  # nothing in it is of any form
    alive = _alive(nodes, root)
    for batch in database.rows("blobs", ("id", "data")):
        for row in wanted.among(batch):
            rowid, (name, data) = row[0], row[1:]
            if not isinstance(data, bytes) or (alive is not None and _id(name) not in alive):
                continue
            if data[:1] != b"{":
                if _id(name) != _id(root) and not _only_names(nodes.get(_id(name), {})):
                    yield rowid, _UNREAD
                continue
            try:
                value = mapping(json.loads(data.decode("utf-8", "replace"), parse_float=Number, strict=False))
            except (ValueError, RecursionError):
                value = None
            yield rowid, Skip("undecodable") if value is None else value


def _id(name: object) -> bytes:
    """A blob's name as its bytes."""
    if isinstance(name, str):
        name = name.encode("ascii", "replace")
    if not isinstance(name, bytes):
        return b""
    if len(name) == 2 * _ID_BYTES:
        try:
            return bytes.fromhex(name.decode("ascii", "replace"))
        except ValueError:
            return name
    return name


def _nodes(database: Database) -> tuple[dict[bytes, Fields], bool]:
    """The blobs that are no messages, as far as they are protocol buffers, and whether there are messages at all."""
    nodes: dict[bytes, Fields] = {}
    room, has_messages = _NODES_CAP_BYTES, False
    for batch in database.rows("blobs", ("id", "data")):
        for row in batch:
            name, data = row[1:]
            if not isinstance(data, bytes):
                continue
            if data[:1] == b"{":
                has_messages = True
            elif len(data) < room:
                room -= len(data)
                nodes[_id(name)] = fields(data) or {}
    return nodes, has_messages


def _alive(nodes: dict[bytes, Fields], root: str | None) -> frozenset[bytes] | None:
    """The names that the root leads to, or None where it leads nowhere."""
    start = _id(root)
    if start not in nodes or not nodes[start]:
        return None
    seen, pending = {start}, [start]
    while pending:
        for name in _names(nodes.get(pending.pop(), {})):
            if name not in seen:
                seen.add(name)
                pending.append(name)
    return frozenset(seen)


def _only_names(found: Fields, depth: int = 0) -> bool:
    """Does a node hold nothing but names of others? Else it may hold words."""
    values = [value for some in found.values() for value in some if isinstance(value, bytes) and value]
    return bool(values) and all(
        len(value) == _ID_BYTES or (depth < _DEPTH and _only_names(fields(value) or {}, depth + 1)) for value in values
    )


def _names(found: Fields, depth: int = 0) -> Iterator[bytes]:
    """What a node may name: all of the right length, also inside its own messages."""
    for values in found.values():
        for value in values:
            if not isinstance(value, bytes):
                continue
            if len(value) == _ID_BYTES:
                yield value
            elif depth < _DEPTH and (inner := fields(value)):
                yield from _names(inner, depth + 1)


def title(value: Json) -> str | None:
    """The name that was given to the chat, unless it is the one that all begin with."""
    found = string(value, "name") or string(value, "title")
    return None if found in ("New Agent", "New Chat") else found
