"""Matching lines as ripgrep prints them: names, numbers, columns, context, colours; and as ripgrep's JSON events."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from ..engine.order import project
from ..model import Record
from ..query.regex import lines
from ..refs import ref
from ..text import rfc3339, safe, visible
from ..typed import NamedTuple
from ..wire import shown

Spans = Sequence[tuple[int, int]]


class Colours(NamedTuple):
    """Escape sequences, as ripgrep's; all empty where colour is off."""

    name: str = ""
    number: str = ""
    column: str = ""
    hit: str = ""
    reset: str = ""


PLAIN = Colours()
COLOURED = Colours("\x1b[0m\x1b[35m", "\x1b[0m\x1b[32m", "\x1b[0m", "\x1b[0m\x1b[1m\x1b[31m", "\x1b[0m")


class Layout(NamedTuple):
    """What stands before a line, and how much of it. `most`: characters of a line; None for all of it."""

    colours: Colours = PLAIN
    heading: bool = False
    named: bool = True
    numbered: bool = False
    column: bool = False
    only: bool = False  # the matches, each on a line of its own
    each: bool = False  # the line once for each of its matches
    null: bool = False
    context: bool = False  # separate what is not adjacent
    most: int | None = None


class Hit(NamedTuple):
    """A line of a record: its number from 1, where it starts in the text, the text, and the matches in it; `matched` False in context."""

    number: int
    start: int
    text: str
    spans: tuple[tuple[int, int], ...]
    matched: bool


def name(record: Record, home: str, *, exact: bool = False) -> str:
    """What stands for a file: `agent:conversation`, or `agent:path` where a source tells no conversation; `exact`: the record's ref.

    `deepgrep show` takes each of them.
    """
    if exact:
        return ref(record)
    return safe(f"{record.agent}:{record.conversation_id or shown(record.source.path, home)}").replace("\n", "\ufffd")


def hits(text: str, spans: Spans, *, before: int = 0, after: int = 0, most: int | None = None) -> Iterator[list[Hit]]:
    """The lines that hold matches, with lines around them; adjacent lines are one group. At most `most` lines that match."""
    group: list[Hit] = []
    waiting: deque[Hit] = deque(maxlen=before)  # lines just before, which a match would show
    left, at, trailing = most, 0, 0
    for number, (start, end) in enumerate(lines(text), 1):
        mine: list[tuple[int, int]] = []
        while at < len(spans) and spans[at][0] <= end:
            mine.append((spans[at][0] - start, spans[at][1] - start))
            at += 1
        if mine and (left is None or left > 0):
            left = None if left is None else left - 1
            if group and group[-1].number < number - 1 - len(waiting):
                yield group
                group = []
            group += [*waiting, Hit(number, start, text[start:end], tuple(mine), True)]
            waiting.clear()
            trailing = after
        elif trailing:  # beyond `most`, a line that matches is still shown as one, as ripgrep does
            group.append(Hit(number, start, text[start:end], tuple(mine), bool(mine)))
            trailing -= 1
        elif left == 0 or at >= len(spans):
            break
        elif before:
            waiting.append(Hit(number, start, text[start:end], (), False))
    if group:
        yield group


def printed(groups: Iterable[Sequence[Hit]], named: str, layout: Layout, *, first: bool) -> Iterator[str]:
    """The lines for a record's groups. `first`: nothing was printed before that these would have to be set apart from."""
    for group in groups:
        if not first and layout.context:
            yield "--\n"
        first = False
        for hit in group:
            yield from _lines(hit, named, layout)


def heading(record: Record, named: str, layout: Layout) -> str:
    """The line above the lines of one conversation: its name, and where it was."""
    colours = layout.colours
    if layout.null:
        return f"{colours.name}{named}{colours.reset}\0"
    where = project(record)
    place = f"  {safe(where)}".replace("\n", " ") if where else ""
    return f"{colours.name}{named}{colours.reset}{place}\n"


def _lines(hit: Hit, named: str, layout: Layout) -> Iterator[str]:
    text = hit.text.removesuffix("\r")
    if not hit.matched:
        yield f"{_prefix(hit, named, layout, None)}{_cut(text, (), layout)}\n"
    elif layout.only or layout.each:
        for start, end in hit.spans:
            whole = (text[start:end], ((0, end - start),)) if layout.only else (text, ((start, end),))
            yield f"{_prefix(hit, named, layout, start)}{_cut(*whole, layout)}\n"
    else:
        yield f"{_prefix(hit, named, layout, hit.spans[0][0])}{_cut(text, hit.spans, layout)}\n"


def _prefix(hit: Hit, named: str, layout: Layout, start: int | None) -> str:
    """Name, number and column. `start`: where the match begins; None for context."""
    colours, mark = layout.colours, ":" if hit.matched else "-"
    out = ""
    if layout.named and not layout.heading:
        out += f"{colours.name}{named}{colours.reset}" + ("\0" if layout.null else mark)
    if layout.numbered:
        out += f"{colours.number}{hit.number}{colours.reset}{mark}"
    if layout.column and start is not None:
        out += f"{colours.column}{len(hit.text[:start].encode()) + 1}{colours.reset}{mark}"
    return out


def _cut(text: str, spans: Spans, layout: Layout) -> str:
    """The line, or what is near its first match with a note where it is longer than it may be."""
    most, left_out = layout.most, 0
    if most is not None and len(text) > most:
        first = spans[0][0] if spans else 0
        start = max(0, min(first - most // 3, len(text) - most))
        left_out = len(text) - most
        spans = [(low - start, min(high - start, most)) for low, high in spans if start <= low < start + most]
        text = text[start : start + most]
    out, at, colours = "", 0, layout.colours
    shown_text = visible(text)
    for low, high in spans if colours.hit else ():
        if low < high:
            out += f"{shown_text[at:low]}{colours.hit}{shown_text[low:high]}{colours.reset}"
            at = high
    out += shown_text[at:]
    return f"{out} [... {left_out:,} more characters; --max-columns 0 shows all]" if left_out else out


# --- JSON -----------------------------------------------------------------------------------------------------------


class Stats(NamedTuple):
    """What ripgrep counts."""

    searches: int = 0
    with_match: int = 0
    bytes_searched: int = 0
    bytes_printed: int = 0
    matched_lines: int = 0
    matches: int = 0
    elapsed_s: float = 0.0

    def plus(self, other: Stats) -> Stats:
        """Both together."""
        return Stats(
            self.searches + other.searches, self.with_match + other.with_match, self.bytes_searched + other.bytes_searched,
            self.bytes_printed + other.bytes_printed, self.matched_lines + other.matched_lines, self.matches + other.matches,
            self.elapsed_s + other.elapsed_s,
        )  # fmt: skip


def begin(named: str) -> str:
    """The event before the lines of one conversation."""
    return _event("begin", {"path": {"text": named}})


def events(groups: Iterable[Sequence[Hit]], record: Record, named: str, *, inverted: bool) -> Iterator[str]:
    """An event for each line. Offsets are bytes of the record's text; what ripgrep does not know stands under `record`."""
    about = {
        "ref": ref(record), "agent": record.agent, "conversation_id": record.conversation_id, "speaker": record.speaker,
        "kind": record.kind,
        "timestamp": None if record.time_us is None else rfc3339(record.time_us), "project": project(record),
    }  # fmt: skip
    offset = at = 0
    for group in groups:
        for hit in group:
            offset += len(record.text[at : hit.start].encode())
            at = hit.start
            line = record.text[hit.start : hit.start + len(hit.text) + 1]
            spans = () if inverted else hit.spans
            matches = [{"match": {"text": hit.text[low:high]}, "start": _bytes(hit, low), "end": _bytes(hit, high)} for low, high in spans]
            yield _event("match" if hit.matched else "context", {
                "path": {"text": named}, "lines": {"text": line}, "line_number": hit.number, "absolute_offset": offset,
                "submatches": matches, "record": about,
            })  # fmt: skip


def _bytes(hit: Hit, at: int) -> int:
    return len(hit.text[:at].encode())


def end(named: str, stats: Stats) -> str:
    """The event after the lines of one conversation."""
    return _event("end", {"path": {"text": named}, "binary_offset": None, "stats": _stats(stats)})


def summary(stats: Stats, closing: object) -> str:
    """The last event; `closing` is deepgrep's own summary, or None where reading stopped as soon as one was found."""
    return _event("summary", {"elapsed_total": _time(stats.elapsed_s), "stats": _stats(stats), "deepgrep": closing})


def _stats(stats: Stats) -> dict[str, object]:
    return {
        "elapsed": _time(stats.elapsed_s), "searches": stats.searches, "searches_with_match": stats.with_match,
        "bytes_searched": stats.bytes_searched, "bytes_printed": stats.bytes_printed, "matched_lines": stats.matched_lines,
        "matches": stats.matches,
    }  # fmt: skip


def _time(seconds: float) -> dict[str, object]:
    whole = int(seconds)
    return {"secs": whole, "nanos": int((seconds - whole) * 1e9), "human": f"{seconds:.6f}s"}


def _event(kind: str, data: dict[str, object]) -> str:
    return json.dumps({"type": kind, "data": data}, ensure_ascii=False, separators=(",", ":")) + "\n"
