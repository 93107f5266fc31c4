"""Searches in raw bytes: stringzilla where it has a wheel, else the standard library with the same answers, slower.

Knows nothing of lines, records or queries. Every function takes a view of whole lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

try:
    import stringzilla
except ImportError:  # no wheel for this platform: the functions below fall back, `deepgrep doctor` says so
    stringzilla = None

View = memoryview | bytes
Finder = Callable[[View, int], int]  # (view, start) -> offset of the next hit, or -1


def engine() -> str:
    """Which implementation answers: `stringzilla <version>` or `stdlib`."""
    return f"stringzilla {stringzilla.__version__}" if stringzilla else "stdlib"


def count(view: View, needle: bytes) -> int:
    """How often `needle` stands in the view, not overlapping."""
    if stringzilla:
        return int(stringzilla.count(view, needle))
    return bytes(view).count(needle)


def finder(needle: bytes) -> Finder:
    """Finds exactly these bytes."""
    if stringzilla:
        find = stringzilla.find
        return lambda view, start: find(view, needle, start)
    return lambda view, start: bytes(view).find(needle, start)


def uncased(needle: str) -> Finder:
    """Finds at least every spelling of `needle` that folds like it character by character (`text.fold`).

    stringzilla folds fully (ss = sharp s), which is a superset; positions may lie inside a character.
    """
    if stringzilla:
        if _WIDE_LATIN.search(needle):
            needle = max(_CONFUSED.split(needle), key=len)
        search, raw = stringzilla.utf8_uncased_search, needle.encode()
        return lambda view, start: search(view, raw, start)
    if needle.isascii() and not set(needle.lower()) & {"k", "s"}:
        lowered = needle.lower().encode()
        return lambda view, start: _lower(view).find(lowered, start)
    pattern = re.compile(b"".join(_spellings(char) for char in needle))

    def search_pattern(view: View, start: int) -> int:
        found = pattern.search(view, start)
        return found.start() if found else -1

    return search_pattern


# stringzilla 5.3.2 searches for a needle with Latin Extended Additional in a way (its haswell and icelake kernels) that misses some
# needles which also hold letters from y with diaeresis on (see what is split at: all around, less the Vietnamese letters, which are
# found), and misses what follows bytes that are no UTF-8.
_WIDE_LATIN = re.compile("[\u1e00-\u1eff]")
_CONFUSED = re.compile("[\xff\u0130-\u0168\u016a-\u01a0\u01a2-\u01af\u01b1-\u024f]+")


def doubtful(needle: str) -> Finder | None:
    """Finds where `uncased` may overlook this needle; None where it never does."""
    return invalid if stringzilla and _WIDE_LATIN.search(needle) else None


def invalid(view: View, start: int) -> int:
    """Offset of the next byte at or after `start` that is no UTF-8, or -1."""
    try:
        str(view[start:], "utf-8")
    except UnicodeDecodeError as error:
        return start + error.start
    return -1


def denormalized(view: View, start: int) -> int:
    """Offset of the next character at or after `start` that composition (NFC) may change or join, or -1."""
    if stringzilla:
        found = stringzilla.utf8_find_denormalized(view[start:], "NFC")
        return -1 if found is None else start + int(found)
    raw = bytes(view)[start:]
    if raw.isascii():
        return -1
    found_char = _maybe_composing().search(raw.decode("utf-8", "replace"))
    # The decoded prefix may have replaced bytes, so its length in bytes is a lower bound only where all was valid;
    # the caller wants the line, and asks again from the line's end.
    return -1 if found_char is None else start + _byte_offset(raw, found_char.start())


def _byte_offset(raw: bytes, chars: int) -> int:
    """The byte offset at which `chars` characters of the decoded (with replacement) text have been passed."""
    low, high = 0, len(raw)
    while low < high:
        middle = (low + high) // 2
        if len(raw[:middle].decode("utf-8", "replace")) > chars:
            high = middle
        else:
            low = middle + 1
    return max(low - 1, 0)


_last: tuple[object, bytes] = (None, b"")


def _lower(view: View) -> bytes:
    """The view in lower case, kept for the next call on the same view."""
    global _last  # noqa: PLW0603 - one window is searched many times in a row
    if _last[0] is not view:
        _last = (view, bytes(view).lower())
    return _last[1]


@cache
def _spelling_table() -> dict[str, list[str]]:
    """Every character by its simple fold. About 0.3 s, once, and only without stringzilla."""
    from .text import fold

    table: dict[str, list[str]] = {}
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x20000)):
        char = chr(code)
        if (folded := fold(char)) != char and len(folded) == 1:
            table.setdefault(folded, []).append(char)
    return table


def _spellings(char: str) -> bytes:
    """A byte pattern for every character that folds like `char`."""
    from .text import fold

    folded = fold(char)
    variants = {char, folded, folded.upper() if len(folded.upper()) == 1 else folded, *_spelling_table().get(folded, ())}
    return b"(?:" + b"|".join(sorted(re.escape(v.encode()) for v in variants)) + b")"


@cache
def _maybe_composing() -> re.Pattern[str]:
    """Characters whose NFC quick-check is No or Maybe: found by asking unicodedata, once, without stringzilla."""
    found = [chr(c) for c in (*range(0x80, 0xD800), *range(0xE000, 0x30000)) if _composes(chr(c))]
    return re.compile("[" + "".join(map(re.escape, found)) + "]")


def _composes(char: str) -> bool:
    if unicodedata.normalize("NFC", char) != char or unicodedata.combining(char):
        return True
    from .text import _joining_starters

    return char in _joining_starters()
