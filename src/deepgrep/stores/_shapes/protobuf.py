"""Protocol buffers without their schema: the fields of one message, by number. A message that breaks off is none.

Pure bytes. Knows no message's meaning.
"""

from __future__ import annotations

Fields = dict[int, list[int | bytes]]  # numbers as they are spelled, unsigned; texts, messages and bytes alike as bytes


def fields(raw: bytes) -> Fields | None:
    """The fields of one message in the order of their occurrence, None for bytes that are no message."""
    out: Fields = {}
    at, end = 0, len(raw)
    while at < end:
        tag, at = _number(raw, at)
        size = {1: 8, 5: 4}.get(tag & 7)
        value: int | bytes
        if tag & 7 == 0:
            value, at = _number(raw, at)
            size = 0
        elif tag & 7 == 2:
            size, at = _number(raw, at)
            value = raw[at : at + size]
        elif size is not None:
            value = raw[at : at + size]
        if tag < 8 or size is None or at < 0 or at + size > end:
            return None
        at += size
        out.setdefault(tag >> 3, []).append(value)
    return out


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A number of variable length and where it ends, -1 where it does not."""
    value = shift = 0
    while 0 <= at < len(raw) and shift < 70:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, -1


def message(found: Fields, number: int) -> Fields:
    """The first message at this number; no fields where there is none."""
    raw = next((value for value in found.get(number, ()) if isinstance(value, bytes)), b"")
    return fields(raw) or {}


def text(found: Fields, *numbers: int) -> str:
    """The first text at one of these numbers."""
    for number in numbers:
        for value in found.get(number, ()):
            if isinstance(value, bytes) and value:
                return value.decode("utf-8", "replace")
    return ""


def moment_us(found: Fields) -> int | None:
    """A `google.protobuf.Timestamp` as microseconds since 1970; None for one that is no time of these years."""
    seconds, nanos = (next((value for value in found.get(number, ()) if isinstance(value, int)), 0) for number in (1, 2))
    return seconds * 1_000_000 + nanos // 1000 if 1 << 30 < seconds < 1 << 33 else None
