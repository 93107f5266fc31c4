"""Refs: opaque strings that name one record without a path, the same on every surface and in every run."""

from __future__ import annotations

from hashlib import blake2b

from ..model import Record


def ref(record: Record) -> str:
    """`<store>:<source>:<position>.<block>:<check>`; the check tells a rewritten file from the one that was read."""
    source = blake2b(record.source.key.encode("utf-8", "surrogateescape"), digest_size=7).hexdigest()
    check = blake2b((record.native_id or record.text).encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{record.store}:{source}:{record.position:x}.{record.block:x}:{check}"
