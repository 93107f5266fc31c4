"""Pure text: folding with a way back to the original, times, JSON values as text, snippets, terminal safety.

Touches no file and knows no agent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import count

from .typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Self

_INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?)?\s*(Z|z|[+-]\d\d:?\d\d)?")
_ASCII_SPACE = bytes(code for code in range(128) if chr(code).isspace())
_SECOND = 1_000_000  # microseconds
# Between these bounds a bare number is seconds; above, milliseconds, microseconds, nanoseconds. 5e10 s is the year 3554.
_SECONDS_BELOW = 5e10


class Number(float):
    """A JSON number with a fraction or an exponent that remembers its spelling, so that text shows what the file says."""

    raw: str

    def __new__(cls, raw: str) -> Self:
        self = super().__new__(cls, raw)
        self.raw = raw
        return self


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def instant(value: object) -> int | None:
    """Microseconds since 1970 UTC from RFC 3339 text or a number in s, ms, us or ns; None for anything else.

    Text without a zone counts as UTC: every agent seen so far writes UTC. Outside of the years 1 to 9999 in UTC there is none.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    if not isinstance(value, str):
        return None
    if len(value) == 24 and value[10] == "T" and value[19] == "." and value[23] == "Z" and value.isascii():
        quick = _quick_instant(value)  # the spelling of nearly every record
        if quick is not None:
            return quick
    found = _INSTANT.fullmatch(value.strip())
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= _month_days(year, month) and hour < 24 and minute < 60 and second <= 60):
        return None
    fraction = int((found[7] or "0").ljust(9, "0")) // 1000
    seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    zone = found[8] or "Z"
    if zone not in "Zz":
        shift = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds += shift if zone[0] == "-" else -shift
    return seconds * _SECOND + fraction if _FIRST_S <= seconds < _END_S else None


_FIRST_S, _END_S = days_from_civil(1, 1, 1) * 86400, days_from_civil(10_000, 1, 1) * 86400
_midnights: dict[str, int | None] = {}  # seconds since 1970 of days, as spelled


def _quick_instant(value: str) -> int | None:
    """`2026-01-31T09:00:00.000Z`, or None for anything that needs a closer look."""
    day, clock = value[:10], value[11:19] + value[20:23]
    if day not in _midnights:
        _midnights[day] = instant(day)
    midnight = _midnights[day]
    digits = clock.replace(":", "", 2)
    if midnight is None or len(digits) != 9 or not digits.isdecimal() or digits[:2] > "23" or digits[2:4] > "59" or digits[4:6] > "59":
        return None
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:6])
    return midnight + seconds * _SECOND + int(digits[6:]) * 1000


def _month_days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _from_number(value: float) -> int | None:
    if not 0 < value < 5e19:
        return None
    per_second = 1
    while value >= _SECONDS_BELOW * per_second:
        per_second *= 1000
    if isinstance(value, int):  # exact: a float holds no microseconds of these years in nanoseconds
        return value * _SECOND // per_second
    return round(value / per_second * _SECOND)


def rfc3339(time_us: int) -> str:
    """The instant as RFC 3339 in UTC, with milliseconds or microseconds only where there are any."""
    seconds, fraction = divmod(time_us, _SECOND)
    days, rest = divmod(seconds, 86400)
    year, month, day = _civil_from_days(days)
    tail = "" if not fraction else f".{fraction:06d}" if fraction % 1000 else f".{fraction // 1000:03d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}{tail}Z"


def _civil_from_days(days: int) -> tuple[int, int, int]:
    days += 719468
    era = days // 146097
    of_era = days - era * 146097
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def clean(text: str) -> str:
    """The text as valid Unicode: paired surrogates joined, lone ones replaced by U+FFFD."""
    try:
        if not text.isascii():
            text.encode()  # refuses surrogates, and is faster than looking for them
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# The number of the last float that `plain` has shown whose spelling in the file is not known. Each number is written once, so that
# a thread that reads it before and after its own work sees a difference whatever other threads do.
floats_shown = 0
_floats = count(1)


def plain(value: object) -> str:
    """A JSON value as readable text: strings bare, `key: value` a line, the key of a nested value on a line of its own.

    Every word, number and name stands as the file spells it, so that a probe of the raw bytes stays sound.
    """
    lines: list[str] = []
    pending: list[tuple[str, object]] = [("", value)]
    while pending:  # not recursive: arguments may nest as deep as a parser allows
        label, inner = pending.pop()
        if isinstance(inner, dict):
            if label:
                lines.append(label.rstrip())
            pending += [(f"{key}: ", deeper) for key, deeper in reversed(inner.items())]
        elif isinstance(inner, list):
            pending += [(label, deeper) for deeper in reversed(inner)]
        else:
            lines.append(label + _scalar(inner))
    return "\n".join(lines)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Number):
        return value.raw
    if isinstance(value, float):
        global floats_shown  # noqa: PLW0603 - the reader looks whether a line must be parsed again with its spellings
        floats_shown = next(_floats)
    return str(value)


def _fold_char(char: str) -> str:
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return folded
    return char


def fold(text: str) -> str:
    """Canonical composition, then the simple case fold of each character: the form in which texts are compared."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", text)
    folded = text.casefold()
    # casefold() only ever lengthens, so an equal length means that each character became one character.
    if len(folded) == len(text):
        return folded
    pieces = _lengthening().split(text)  # every other piece is one such character
    return "".join(_fold_char(piece) if at % 2 else piece.casefold() for at, piece in enumerate(pieces))


@cache
def _lengthening() -> re.Pattern[str]:
    """The characters whose full fold is longer than themselves: sharp s, ligatures, some Greek and Armenian."""
    ranges = (*range(0x80, 0x600), *range(0x1E00, 0x2000), *range(0xFB00, 0xFB20))
    return re.compile("([" + "".join(chr(code) for code in ranges if len(chr(code).casefold()) > 1) + "])")


def squash(text: str) -> str:
    """Composed and without white space: what two spellings of one utterance are compared by.

    A history glues a paste to what was typed around it; the transcript sets it apart on lines of its own.
    """
    if text.isascii():
        return text.encode().translate(None, _ASCII_SPACE).decode()  # ten times faster than splitting at white space
    return "".join(unicodedata.normalize("NFC", text).split())


def digest(raw: bytes, size: int) -> bytes:
    """A digest of `size` bytes, the same in every process and on every machine."""
    from hashlib import blake2b  # deferred: 2 ms that most searches of prompts do not need

    return blake2b(raw, digest_size=size).digest()


class Folded:
    """A folded text and the way back to positions in the original, worked out when a span first asks for it."""

    __slots__ = ("_original", "_starts", "text")

    def __init__(self, text: str, original: str | None) -> None:
        self.text = text
        self._original = original  # None: positions are unchanged
        self._starts: list[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original span, in code points, of a span of the folded text. Never cuts a composed character."""
        if self._original is None:
            return start, end
        if self._starts is None:
            self._starts = _starts(self._original)
        starts = self._starts
        first, last = starts[start], starts[end]
        while last == starts[end - 1] and end < len(self.text):  # the end lies inside one composed cluster
            end += 1
            last = starts[end]
        return first, last


def folded(text: str) -> Folded:
    """`fold(text)` with the way back to the original positions."""
    if text.isascii():
        return Folded(text.lower(), None)
    return Folded(fold(text), None if unicodedata.is_normalized("NFC", text) else text)


_ASCII_RUN = re.compile("[\x00-\x7f]+(?=[\x00-\x7f])")  # but for its last character, which may be composed with what follows


def _starts(text: str) -> list[int]:
    """Where in the text each character of its composed form comes from, and the text's length."""
    starts: list[int] = []
    at = 0
    for run in _ASCII_RUN.finditer(text):
        starts += _composed_starts(text, at, run.start())
        starts += range(*run.span())
        at = run.end()
    return [*starts, *_composed_starts(text, at, len(text)), len(text)]


def _composed_starts(text: str, low: int, high: int) -> Iterator[int]:
    """The same for a piece that composes by itself."""
    for start, end in _clusters(text[low:high]):
        piece = unicodedata.normalize("NFC", text[low + start : low + end])
        unchanged = piece == text[low + start : low + end]
        yield from range(low + start, low + end) if unchanged else [low + start] * len(piece)


def _clusters(text: str) -> list[tuple[int, int]]:
    """Spans that compose independently of each other: cut before every starter that cannot join what precedes it."""
    if not text:
        return []
    joiners = _joining_starters()
    cuts = [0]
    cuts += [index for index, char in enumerate(text) if index and not unicodedata.combining(char) and char not in joiners]
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


_JOINERS: frozenset[str] = frozenset()


def _joining_starters() -> frozenset[str]:
    """Starters that can compose with the character before them: vowel signs, Hangul vowels and finals. Made once."""
    global _JOINERS  # noqa: PLW0603 - a constant that costs 30 ms, needed only for text that is not composed
    if not _JOINERS:
        found = {chr(c) for c in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
        for code in (*range(0xC0, 0x3100), *range(0xF900, 0x10000), *range(0x11000, 0x12000), *range(0x16100, 0x16E00)):
            parts = unicodedata.decomposition(chr(code)).split()
            if len(parts) == 2 and parts[0][0] != "<":
                second = chr(int(parts[1], 16))
                if not unicodedata.combining(second):
                    found.add(second)
        _JOINERS = frozenset(found)
    return _JOINERS


_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def safe(text: str) -> str:
    """The text with control and bidirectional characters made visible, so that it cannot steer a terminal.

    Tab and line feed stay; escape and its like become the pictures of U+2400, the others U+FFFD.
    """
    return visible(text.replace("\r\n", "\n"))


def visible(text: str) -> str:
    """`safe`, one character for one, so that spans still fit."""
    return _UNSAFE.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


class Snippet(NamedTuple):
    """A short piece of a text, on one line, with the matches that lie in it as spans of the piece."""

    text: str
    spans: tuple[tuple[int, int], ...]


def snippet(text: str, spans: tuple[tuple[int, int], ...], width: int) -> Snippet:
    """About `width` code points around the first match, white space squashed, cut at words where one is near."""
    first = spans[0] if spans else (0, 0)
    lead = max(0, width // 3 - (first[1] - first[0]) // 2)
    start = max(0, min(first[0] - lead, len(text) - width))
    end = min(len(text), max(start + width, first[1]))
    start = _word_edge(text, start, first[0], +1) if start else 0
    end = _word_edge(text, end, first[1], -1) if end < len(text) else end
    out: list[str] = ["…"] if start else []
    length = len(out)
    marks: list[tuple[int, int]] = []
    places: dict[int, int] = {}
    edges = {edge for span in spans for edge in span if start <= edge <= end}
    pending = False
    for index in range(start, end):
        char = text[index]
        if char.isspace():
            pending = length > 0
            if index in edges:
                places[index] = length
            continue
        if pending:
            out.append(" ")
            length += 1
            pending = False
        if index in edges:
            places[index] = length
        out.append(char)
        length += 1
    places.setdefault(end, length)
    for low, high in spans:
        if start <= low and high <= end and places[low] < places[high]:
            marks.append((places[low], places[high]))
    if end < len(text):
        out.append("…")
    return Snippet("".join(out), tuple(marks))


def _word_edge(text: str, at: int, stop: int, step: int) -> int:
    """The nearest white space within 16 characters of `at`, going towards `stop` but never past it."""
    for offset in range(16):
        index = at + step * offset
        if (step > 0 and index >= stop) or (step < 0 and index <= stop):
            break
        if text[index if step > 0 else index - 1].isspace():
            return index
    return at
