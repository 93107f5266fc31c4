"""Refs: opaque strings that name one record without a path, the same on every surface and in every run."""

from __future__ import annotations

import re

from .model import Record
from .text import digest
from .typed import NamedTuple

_FORM = re.compile(r"([a-z0-9_-]+\.[a-z0-9_]+):([0-9a-f]{14}):(-?[0-9a-f]+)\.([0-9a-f]+):([0-9a-f]{6})")


class Ref(NamedTuple):
    """The parts of a ref. `source` is a digest of the source's key, `check` of the record."""

    store: str
    source: str
    position: int
    block: int
    check: str


def ref(record: Record) -> str:
    """`<store>:<source>:<position>.<block>:<check>`; the check tells a rewritten file from the one that was read."""
    return f"{record.store}:{of_key(record.source.key)}:{record.position:x}.{record.block:x}:{check(record)}"


def of_key(key: str) -> str:
    """The part of a ref that names its source."""
    return digest(key.encode("utf-8", "surrogateescape"), 7).hex()


def check(record: Record) -> str:
    """The part of a ref that tells its record from another that took its place."""
    return digest((record.native_id or record.text).encode("utf-8", "replace"), 3).hex()


def parsed(text: str) -> Ref | None:
    """The parts of a ref, or None for a text that is none."""
    found = _FORM.fullmatch(text.strip())
    return Ref(found[1], found[2], int(found[3], 16), int(found[4], 16), found[5]) if found else None
