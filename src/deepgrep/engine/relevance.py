"""Relevance: a pure function of query and record, in coarse steps, so that equal matches stay in order of time.

docs/searching.md publishes the table; `--explain` shows the parts of each result.
"""

from __future__ import annotations

from ..model import Match, Score
from ..query.match import Matcher, matcher
from ..query.parse import Term

_SPEAKER = {"person": 30, "agent": 20, "parent": 10, "runtime": 5, "tool": 0}
_KIND = {"reasoning": -10}
_CLOSE, _SAME_PARAGRAPH = 40, 400  # code points between the first and the last of several terms
_EARLY = 200
_SHORT, _MEDIUM = 400, 4000


class Scorer:
    """Scores matches of one query."""

    def __init__(self, terms: tuple[str, ...]) -> None:
        self._matchers: tuple[Matcher, ...] = tuple(matcher(Term(text)) for text in terms)

    def score(self, match: Match) -> Score:
        """The score of one match of this query."""
        record = match.record
        found = self._spans(match)
        first = min((spans[0][0] for spans in found), default=0)
        return Score(
            terms=40 * len(found) // max(len(self._matchers), 1) // 10 * 10,
            words=_words(record.text, found),
            near=_near(found),
            early=5 if found and first < _EARLY else 0,
            speaker=max(0, _SPEAKER[record.speaker] + _KIND.get(record.kind, 0)),
            length=10 if len(record.text) <= _SHORT else 5 if len(record.text) <= _MEDIUM else 0,
        )

    def _spans(self, match: Match) -> list[tuple[tuple[int, int], ...]]:
        """The spans of each term that occurs."""
        if len(self._matchers) == 1:
            return [match.spans] if match.spans else []
        return [spans for find in self._matchers if (spans := find(match.record.text))]


def _words(text: str, found: list[tuple[tuple[int, int], ...]]) -> int:
    if not found:
        return 0
    whole = sum(any(_is_word(text, *span) for span in spans[:50]) for spans in found)
    return 20 if whole == len(found) else 10 if whole else 0


def _is_word(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return not (_joins(before) and _joins(text[start])) and not (_joins(text[end - 1]) and _joins(after))


def _joins(char: str) -> bool:
    return char.isalnum() or char == "_"


def _near(found: list[tuple[tuple[int, int], ...]]) -> int:
    if len(found) < 2:
        return 10 if found else 0
    width = _smallest_window([[span[0] for span in spans[:200]] for spans in found])
    return 10 if width <= _CLOSE * len(found) else 5 if width <= _SAME_PARAGRAPH else 0


def _smallest_window(places: list[list[int]]) -> int:
    """The least distance between the first and the last of one place from each list."""
    events = sorted((place, index) for index, inner in enumerate(places) for place in inner)
    last: dict[int, int] = {}
    best = events[-1][0] - events[0][0]
    for place, index in events:
        last[index] = place
        if len(last) == len(places):
            best = min(best, place - min(last.values()))
    return best
