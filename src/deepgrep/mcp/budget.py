"""Answers within a budget: tokens estimated, texts cut around their matches, whole trailing entries left out. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..redact import MARGIN, masked, redact
from ..text import snippet
from ..typed import NamedTuple

DEFAULT_TOKENS = 8_000
LEAST_TOKENS = 1_000
MOST_TOKENS = 200_000
# Of JSON with ids, refs and paths; prose takes more bytes a token, so the estimate errs towards too many tokens.
BYTES_PER_TOKEN = 3
ESTIMATE = f"one token for {BYTES_PER_TOKEN} bytes of the answer's compact JSON in UTF-8"

_EXCERPT = 280  # code points of a result's text
_PIECES = 3
_REGION = 4 * MARGIN
_CUTS = (400, 120, 40)  # code points of any string in an answer that does not fit otherwise

Json = dict[str, object]
Spans = Sequence[Sequence[int]]


def dumped(document: object) -> str:
    """The document as it is counted and sent."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def size(document: object) -> int:
    """Bytes of a document, or of a part of it."""
    return len(dumped(document).encode("utf-8"))


def tokens(document: object) -> int:
    """The stated estimate of a document's tokens."""
    return -(-size(document) // BYTES_PER_TOKEN)


def budget(max_tokens: int, left_out: int = 0, *, summary_cut: bool = False) -> Json:
    """What an answer says of its budget."""
    return {"max_tokens": max_tokens, "bytes_per_token": BYTES_PER_TOKEN, "left_out": left_out, "summary_cut": summary_cut}


class Shown(NamedTuple):
    """A piece of a text, the matches in it, and how many secrets were masked in it."""

    text: str
    spans: list[list[int]]
    redactions: int = 0


def excerpt(text: str, spans: Spans, *, redacting: bool) -> Shown:
    """What stands around the first matches, up to three places. Secrets are masked before anything is cut."""
    known = [(low, high) for low, high in spans]
    low = max(0, known[0][0] - MARGIN) if known and len(text) > _REGION else 0
    region = text[low : low + _REGION]
    inside = tuple((start - low, end - low) for start, end in known if start >= low and end <= low + len(region))
    marks: list[str] = []
    if redacting:
        found = redact(region)
        marks = [found.text[start:end] for _, _, start, end in found.cuts]
        region, inside = found.text, found.spans(inside)
    if len(text) <= _EXCERPT:
        return Shown(region, [list(span) for span in inside], len(marks))
    joined, places = _pieces(region, inside)
    if low and not joined.startswith("…"):
        joined, places = "…" + joined, [[start + 1, end + 1] for start, end in places]
    if low + _REGION < len(text) and not joined.endswith("…"):
        joined += "…"
    return Shown(joined, places, sum(joined.count(mark) for mark in set(marks)))


def _pieces(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[str, list[list[int]]]:
    """The first places with matches, each with what stands around it; the fewer they are, the more."""
    anchors = list(_apart(spans, _EXCERPT // 2))[:_PIECES]
    out, places = "", []
    for number, first in enumerate(anchors or [0]):
        rest = spans[first : anchors[number + 1] if number + 1 < len(anchors) else None]
        piece = snippet(text, rest, _EXCERPT // max(1, len(anchors)))
        text_of = piece.text.removeprefix("…") if out.endswith("…") else piece.text
        shift = len(out) + len(text_of) - len(piece.text)
        if out and not out.endswith("…"):
            out, shift = out + " … ", shift + 3
        out += text_of
        places += [[low + shift, high + shift] for low, high in piece.spans]
    return out, places


def _apart(spans: tuple[tuple[int, int], ...], distance: int) -> Iterator[int]:
    """The numbers of spans that lie so far from the last one taken."""
    last = None
    for number, (low, _) in enumerate(spans):
        if last is None or low - last > distance:
            last = low
            yield number


def masked_json(value: Json, *, redacting: bool) -> tuple[Json, int]:
    """A part of an answer with its secrets masked, and how many."""
    if not redacting:
        return value, 0
    out, number = masked(value)
    assert isinstance(out, dict)
    return out, number


def cut(text: str, limit_bytes: int) -> str:
    """The start of a text that takes no more than so many bytes as a JSON string, quotes apart."""
    if size(text) - 2 <= limit_bytes:
        return text
    low, high = 0, min(len(text), limit_bytes)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) - 2 <= limit_bytes else (low, middle - 1)
    return text[:low]


def fitted(entries: Iterable[tuple[Json, int]], total: int, build: Callable[[Sequence[Json], int, int], Json], max_tokens: int) -> Json:
    """The longest answer of leading entries that fits. `build` makes it of entries, how many are left out, and their redactions.

    Entries come with the number of secrets masked in them; they are made one by one, and none beyond what fits.
    """
    limit = max_tokens * BYTES_PER_TOKEN
    taken: list[tuple[Json, int]] = []
    used = size(build([], 0, 0))
    for entry in entries:
        used += size(entry[0]) + 1
        if used > limit:
            break
        taken.append(entry)
    while True:
        marks = sum(number for _, number in taken)
        document = build([entry for entry, _ in taken], total - len(taken), marks)
        if size(document) <= limit or not taken:
            break
        taken.pop()
    return document if size(document) <= limit else shrunk(document, limit)


def shrunk(document: Json, limit: int) -> Json:
    """A document without entries that does not fit, with less in its summary: step by step, as little as it takes."""
    out: dict[str, Any] = json.loads(dumped(document))
    if isinstance(out.get("budget"), dict):
        out["budget"]["summary_cut"] = True
    summary = out.get("summary")
    if isinstance(summary, dict):
        for step in _STEPS:
            if size(out) > limit:
                step(summary)
    for length in _CUTS:
        if size(out) > limit:
            out = {key: _short(one, length) for key, one in out.items()}
    return out


def _without_agents(summary: Json) -> None:
    coverage = summary["coverage"]
    assert isinstance(coverage, dict)
    coverage["agents"] = {}


def _without_remarks(summary: Json) -> None:
    found = summary["diagnostics"]
    assert isinstance(found, list)
    summary["diagnostics"] = [one for one in found if one["severity"] == "error" or one["code"] == "response_truncated"]


def _with_short_words(summary: Json) -> None:
    summary["request"] = _short(summary["request"], _CUTS[-1])


def _short(value: object, length: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= length else value[: length - 1] + "…"
    if isinstance(value, list):
        return [_short(one, length) for one in value]
    return {key: _short(one, length) for key, one in value.items()} if isinstance(value, Mapping) else value


def _without_actions(summary: Json) -> None:
    summary["next_actions"] = []


_STEPS: tuple[Callable[[Json], None], ...] = (_without_agents, _without_remarks, _with_short_words, _without_actions)
