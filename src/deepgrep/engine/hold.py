"""Memory with a limit: the best matches are held whole; of the others, only keys that tell what they could fold with.

A match that was let go matters again only where one that is held could be its copy. Its key then says so, and the
sources are read once more for just those (`Task.only`), so that the answer is the same as if all had been held.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from heapq import heappush, heappushpop
from zlib import crc32

from ..model import LetGo, Match, Query, Record
from ..query.parse import terms
from ..text import squash
from .order import answers, newest, stands_alone
from .relevance import Scorer

Key = tuple[object, ...]
_LEAST = 400  # matches held at least
_PER_RESULT = 8  # and for each result asked for, since several may fold into one
_TEXT_BYTES = 16 << 20  # of held text, about
_PREFIX = 1000  # code points of a text that keys are made of: one key too many costs a second look, never a result
_COMPOSED = 64  # code points at a cut that what follows could change
_RANKS = (-1, 0, 1, 2, 3)  # of spellings: a history's row, then channels


def rank(query: Query) -> Callable[[Record, Match], Key]:
    """The place of a match under the query's order, before anything is folded."""
    if query.order == "relevance":
        score = Scorer(terms(query.tree)).score
        return lambda record, match: (-score(match).total, *newest(record))
    return lambda record, match: newest(record)


class Held:
    """Matches; with a limit the best of them, and what is remembered of the others."""

    def __init__(self, query: Query, *, all_of_them: bool = False) -> None:
        self.query = query
        self.matches: list[Match] = []
        self.keys: array[int] = array("q")  # of matches that were let go, or that no filter admits
        self.boundary: Key | None = None  # the best place among those that were let go
        self._bounded = query.limit is not None and query.order != "scan" and not all_of_them
        self._most = max(_LEAST, _PER_RESULT * (query.limit or 0))
        self._bytes = 0
        self._rank: Callable[[Record, Match], Key] | None = None

    def add(self, match: Match) -> None:
        """Hold one more match."""
        if self._bounded and not answers(match.record, self.query):
            self.keys.extend(keys(match.record))
            return
        self.matches.append(match)
        self._bytes += len(match.record.text)
        if self._bounded and (len(self.matches) > 2 * self._most or self._bytes > 2 * _TEXT_BYTES):
            self._prune()

    def take_over(self, matches: Iterable[Match], let_go: LetGo | None) -> None:
        """Take over what another held, and what it remembers of those that it let go."""
        for match in matches:
            self.add(match)
        if let_go:
            self.keys.extend(let_go.keys)
            if let_go.boundary:
                self._lower(let_go.boundary)

    def let_go(self) -> LetGo | None:
        """What is remembered of the others; None where all are held."""
        return LetGo(self.keys, self.boundary or ()) if self.keys else None

    def _prune(self) -> None:
        rank_of = self._rank = self._rank or rank(self.query)
        self.matches.sort(key=lambda match: rank_of(match.record, match))
        least = (self.query.limit or 0) + 1
        kept, size = 0, 0
        while kept < min(len(self.matches), self._most) and (size <= _TEXT_BYTES or kept < least):
            size += len(self.matches[kept].record.text)
            kept += 1
        if kept < len(self.matches):
            self._lower(rank_of(self.matches[kept].record, self.matches[kept]))
        for match in self.matches[kept:]:
            self.keys.extend(keys(match.record))
        del self.matches[kept:]
        self._bytes = size

    def _lower(self, boundary: Key) -> None:
        if self.boundary is None or boundary < self.boundary:
            self.boundary = boundary

    def missed(self, records: Iterable[Record], found: Iterable[Record]) -> frozenset[int]:
        """Keys of matches that were let go and could change what these records fold with, also by way of others that were found."""
        if not self.keys:
            return frozenset()
        sharing: dict[int, list[Record]] = {}
        for record in found:
            for key in keys(record):
                sharing.setdefault(key, []).append(record)
        wanted: set[int] = set()
        waiting = list(records)
        while waiting:
            fresh = {*kin(waiting.pop())} - wanted
            wanted |= fresh
            for key in fresh:
                waiting += sharing.pop(key, ())
        return frozenset(wanted.intersection(self.keys))


class NewestHeld:
    """The newest instants of records that certainly are results of their own, one more than the limit."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._room = (query.limit or 0) + 1
        self._seen: set[tuple[object, ...]] = set()
        self._best: list[int] = []  # a heap, the oldest first

    def see(self, matches: Iterable[Match]) -> None:
        """Take in more matches."""
        for match in matches:
            sure, time_us = stands_alone(match.record, self.query), match.record.time_us
            if sure is None or time_us is None or sure in self._seen or not answers(match.record, self.query):
                continue
            self._seen.add(sure)
            if len(self._best) < self._room:
                heappush(self._best, time_us)
            else:
                heappushpop(self._best, time_us)

    def floor_us(self) -> int | None:
        """An instant that more results than the limit reach, in microseconds; None while that many were not seen."""
        return self._best[0] if len(self._best) == self._room else None


def keys(record: Record) -> list[int]:
    """What a record that was let go is remembered by."""
    text = _beginning(record.text)
    found = [_same(record), _said(record.conversation_id, record, text, _rank(record))]
    if record.inherited_from is not None:
        found.append(_copied(record.inherited_from, record, text))
    if record.speaker == "person":
        found.append(("without" if _rowless(record) else "within", record.agent, text))
    return [_number(key) for key in found]


def kin(record: Record) -> list[int]:
    """The keys of records that could fold with this one: copies, and other spellings in its conversation.

    What a person typed pairs one to one and nearest in time, so there its equals of the same spelling matter too.
    """
    text = _beginning(record.text)
    own = _rank(record)
    found = [_same(record), _copied(record.conversation_id, record, text)]
    found += [_said(record.conversation_id, record, text, other) for other in _RANKS if other != own or record.speaker == "person"]
    if record.inherited_from is not None:
        found += [_copied(record.inherited_from, record, text), _said(record.inherited_from, record, text, own)]
    if record.speaker == "person":
        found.append(("within" if _rowless(record) else "without", record.agent, text))
    return [_number(key) for key in found]


def _said(conversation_id: str | None, record: Record, text: str, rank_: int) -> Key:
    return conversation_id, record.agent, record.speaker, text, rank_


def _same(record: Record) -> Key:
    """What the same record, written again elsewhere, shares: its own id, or its place in its conversation."""
    if record.native_id is not None:
        return record.native_id, record.block, record.agent
    return record.conversation_id, record.position, record.block, record.time_us, record.agent


def _copied(parent: str | None, record: Record, text: str) -> Key:
    """What the copies that forks hold of one text of their parent share."""
    return parent, "inherited", record.agent, record.speaker, text


def _beginning(text: str) -> str:
    """The first code points of a text as `squash` leaves it, whatever white space stands between them."""
    size = 2 * _PREFIX
    while len(found := squash(text[:size])) < _PREFIX + _COMPOSED and size < len(text):
        size *= 4
    return found[:_PREFIX]


def _rank(record: Record) -> int:
    """Which of the parallel spellings: a row of a prompt history, or a channel of the transcript."""
    return -1 if record.source.role == "prompts" else min(record.channel, _RANKS[-1])


def _rowless(record: Record) -> bool:
    """A row of a prompt history that names no conversation folds with any equal prompt of its agent."""
    return record.source.role == "prompts" and record.conversation_id is None


def _number(key: Key) -> int:
    """62 bits of a key, the same in every process."""
    raw = repr(key).encode("utf-8", "replace")
    return crc32(raw) << 30 ^ crc32(raw, 0x9E3779B9)
