"""JSON lines from raw bytes: objects with their offsets, damage told apart, shapes counted without parsing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from ..bytesearch import count
from ..files import Peek, Window, sibling
from ..text import Number
from ..typed import NamedTuple

_DECODER = json.JSONDecoder(parse_float=Number, strict=False)
_SPACE = re.compile(r"[ \t\r\n\x00\ufeff]*")  # NUL: a crash leaves blocks of it; U+FEFF: a byte order mark
_RESTARTS = 64  # places tried inside a damaged line for a whole record that follows the damage
_BLANK = b" \t\r\n\x00\xef\xbb\xbf"  # a byte order mark's bytes: no object begins or ends with them

IsLine = Callable[[dict[str, object]], bool]


class Parsed(NamedTuple):
    """The objects of one physical line with their byte offsets in it, and how many pieces were no record."""

    values: tuple[tuple[int, dict[str, object]], ...]
    malformed: int = 0
    undecodable: int = 0  # valid JSON beyond what can be held: nesting or digits without end
    replaced: bool = False  # some bytes were not UTF-8


def parse(raw: bytes, is_line: IsLine, *, quick: bool = False) -> Parsed:
    """Every object of a line, also where records are glued together or a torn one precedes a whole one.

    With `quick`, floats may come without their spelling (`text.Number`).
    """
    value = _quick(raw) if quick else None
    if value is not None:
        return Parsed(((0, value),))
    try:
        text, replaced = raw.decode(), False
    except UnicodeDecodeError:
        text, replaced = raw.decode("utf-8", "replace"), True
    values: list[tuple[int, dict[str, object]]] = []
    malformed = undecodable = 0
    at = _skip_space(text, 0)
    while at < len(text):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            undecodable += 1
            break
        except ValueError as error:
            if not isinstance(error, json.JSONDecodeError):  # an integer of more digits than Python converts
                undecodable += 1
                break
            malformed += 1
            at = _restart(text, at + 1, is_line)
            continue
        if isinstance(value, dict):
            values.append((_byte_offset(raw, text, at, replaced), value))
        else:
            malformed += 1
        at = _skip_space(text, end)
    return Parsed(tuple(values), malformed, undecodable, replaced)


_QUICK_AFTER = 500  # lines: importing orjson takes as long as parsing some hundred
_parsed = 0
_loads: Callable[[bytes], object] | None = None


def _quick(raw: bytes) -> dict[str, object] | None:
    """The object of a line that orjson takes as it is; None for anything that needs a closer look."""
    global _parsed, _loads  # noqa: PLW0603 - an import that only much work is worth
    _parsed += 1
    if _loads is None:
        if _parsed < _QUICK_AFTER:
            return None
        try:
            import orjson
        except ImportError:
            _parsed = -(1 << 62)
            return None
        _loads = orjson.loads
    try:
        value = _loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def members(text: str) -> dict[str, object]:
    """The whole members that an object begins with, also where it is cut off; none for anything else."""
    found: dict[str, object] = {}
    at = _skip_space(text, 0)
    mark = "{"
    while text[at : at + 1] == mark:
        try:
            key, at = _DECODER.raw_decode(text, _skip_space(text, at + 1))
            at = _skip_space(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                break
            found[key], at = _DECODER.raw_decode(text, _skip_space(text, at + 1))
        except (ValueError, RecursionError):
            break
        at, mark = _skip_space(text, at), ","
    return found


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _byte_offset(raw: bytes, text: str, at: int, replaced: bool) -> int:
    if at == 0 or len(raw) == len(text):
        return at
    if not replaced:
        return len(text[:at].encode())
    # Replacement changes lengths: count the same braces in the bytes instead.
    offset = -1
    for _ in range(text.count("{", 0, at + 1)):
        offset = raw.find(b"{", offset + 1)
    return max(offset, 0)


def _restart(text: str, at: int, is_line: IsLine) -> int:
    """Where the next whole line of the format starts inside a damaged line, or the end."""
    for _ in range(_RESTARTS):
        at = text.find('{"', at)
        if at < 0:
            break
        try:
            value, _ = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict) and is_line(value):
            return at
        at += 1
    return len(text)


class Shape(NamedTuple):
    """Lines of a window seen as bytes. `misshapen`: spans of lines that are visibly no JSON object; blank ones are neither."""

    lines: int
    shaped: int
    misshapen: tuple[tuple[int, int], ...]


def shape(window: Window) -> Shape:
    """Count a window's lines; look closer only where line feeds and braces do not add up."""
    buffer, end = window.buffer, window.end
    if not end:
        return Shape(0, 0, ())
    with memoryview(buffer) as whole, whole[:end] as view:
        feeds = count(view, b"\n")
        closed = buffer[end - 1] == 0x0A
        lines = feeds if closed else feeds + 1
        last = end - 2 if closed else end - 1
        if buffer[0] == 0x7B and buffer[last] == 0x7D and count(view, b"}\n{") == lines - 1:
            return Shape(lines, lines, ())
    blank, misshapen = _misshapen(buffer, end)
    return Shape(lines, lines - blank - len(misshapen), tuple(misshapen))


def _misshapen(buffer: bytearray, end: int) -> tuple[int, list[tuple[int, int]]]:
    """How many lines are blank, and the spans of those that neither are nor look like an object."""
    start = blank = 0
    out: list[tuple[int, int]] = []
    while start < end:
        stop = buffer.find(b"\n", start, end)
        stop = end if stop < 0 else stop
        line = bytes(buffer[start:stop]).strip(_BLANK)
        if not line:
            blank += 1
        elif not (line.startswith(b"{") and line.endswith(b"}")):
            out.append((start, stop))
        start = stop + 1
    return blank, out


class Neighbours:
    """The objects around one object: its own line's, the window's, and beyond the window by peeking."""

    def __init__(self, window: Window, span: tuple[int, int], peek: Peek, root: str, is_line: IsLine) -> None:
        self._window, self._span, self._peek, self._root, self._is_line = window, span, peek, root, is_line
        self.values: tuple[tuple[int, dict[str, object]], ...] = ()
        self.index = 0

    def before(self, count: int) -> Iterator[dict[str, object]]:
        """Up to `count` objects before this one, nearest first."""
        yield from _take(count, (value for _, value in reversed(self.values[: self.index])), self._objects(self._raw_before(), -1))

    def after(self, count: int) -> Iterator[dict[str, object]]:
        """Up to `count` objects after this one, nearest first."""
        yield from _take(count, (value for _, value in self.values[self.index + 1 :]), self._objects(self._raw_after(), +1))

    def sibling(self, relative: str, limit_bytes: int) -> str | None:
        """The text of a small file below the agent's root that this record names, or None where there is none."""
        return sibling(self._root, relative, limit_bytes)

    def _objects(self, raws: Iterator[bytes], step: int) -> Iterator[dict[str, object]]:
        for raw in raws:
            for _, value in parse(raw, self._is_line, quick=True).values[::step]:
                yield value

    def _raw_after(self) -> Iterator[bytes]:
        buffer, end, start, _ = self._window
        at = self._span[1] + 1
        while at < end:
            stop = buffer.find(b"\n", at, end)
            stop = end if stop < 0 else stop
            yield bytes(buffer[at:stop])
            at = stop + 1
        yield from self._peek.after(start + at)

    def _raw_before(self) -> Iterator[bytes]:
        buffer, _, start, _ = self._window
        at = self._span[0]
        while at > 0:
            low = buffer.rfind(b"\n", 0, at - 1) + 1
            yield bytes(buffer[low : at - 1])
            at = low
        yield from self._peek.before(start)


def _take(count: int, *sources: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
    for source in sources:
        for value in source:
            if count <= 0:
                return
            count -= 1
            yield value
            if count == 0:
                return
