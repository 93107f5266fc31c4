"""The glue: one synchronous generator of events from a query on a machine. Closing it ends the search."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from .. import registry
from ..discovery import Machine
from ..model import Event, Finished, Match, Query, Reading, Record, Result, SourceFinished, Started, Summary
from . import coverage as account
from .fold import Group, fold
from .neighbours import neighbours
from .order import Ranked, newest, ordered, passes
from .plan import Plan, plan
from .read import Task, read

Cancelled = Callable[[], bool]


def _never() -> bool:
    return False


def search(query: Query, machine: Machine, *, cancelled: Cancelled = _never) -> Iterator[Event]:
    """Started, then SourceFinished and Result events, then one Finished. Results come in the query's order.

    Under the order `scan` results come as they are found; else after the last source. When `cancelled` says so,
    reading stops within one window, what was found is returned, and the summary says `cancelled`.
    """
    began = time.monotonic()
    made = plan(query, machine)
    yield Started(query, len(made.sources), made.bytes)
    run = _Run(query, made, cancelled)
    yield from run.streamed() if query.order == "scan" else run.drained()
    yield Finished(run.summary(time.monotonic() - began))


class _Run:
    """One search under way: what was read, and what came of it."""

    def __init__(self, query: Query, made: Plan, cancelled: Cancelled) -> None:
        self.query, self.made, self.cancelled = query, made, cancelled
        self.readings: list[Reading] = []
        self.folded: Counter[str] = Counter()
        self.results = 0
        self.more = False  # another match exists beyond the limit

    def drained(self) -> Iterator[Event]:
        """Read everything, then give the first results under the order."""
        matches: list[Match] = []
        for reading in self._readings():
            matches += reading.matches
            yield _finished(reading)
        ranked = ordered(self._groups(matches), self.query)
        yield from self._results(ranked if self.query.limit is None else ranked[: self.query.limit])
        self.more = self.query.limit is not None and len(ranked) > self.query.limit

    def streamed(self) -> Iterator[Event]:
        """Give results source by source and stop once one more than the limit is known. Keeps the first seen."""
        seen: list[Match] = []
        given: set[tuple[object, ...]] = set()
        for reading in self._readings():
            seen += reading.matches
            yield _finished(reading)
            fresh = [g for g in self._groups(seen) if newest(g.match.record) not in given] if reading.matches else []
            # A group whose representative came later than a member that was given already is not new.
            fresh = [g for g in fresh if not any(newest(record) in given for record in g.folded)]
            for group in fresh:
                if self.query.limit is not None and self.results >= self.query.limit:
                    self.more = True
                    return
                given.update(newest(record) for record in (group.match.record, *group.folded))
                yield from self._results([(group, None)])

    def _readings(self) -> Iterator[Reading]:
        for source in self.made.sources:
            if self.cancelled():
                return
            reading = read(Task(self.query, source), self.cancelled)
            self.readings.append(reading._replace(matches=()))
            yield reading

    def _groups(self, matches: Sequence[Match]) -> list[Group]:
        groups = fold(matches) if self.query.dedupe else [Group(match) for match in matches]
        return [group for group in groups if passes(group.match.record, self.query.filters)]

    def _results(self, ranked: Sequence[Ranked]) -> Iterator[Result]:
        around = neighbours(self.query, [group.match.record for group, _ in ranked])
        for (group, score), (before, after) in zip(ranked, around, strict=True):
            record = group.match.record
            self.results += 1
            self.folded[record.agent] += len(group.folded)
            yield Result(record, group.match.spans, score, group.folded, (), before, after, _resume(record))

    def summary(self, elapsed_s: float) -> Summary:
        """The closing account of the run."""
        query = self.query
        found = account.accounts(self.made, self.readings)
        covered = account.coverage(query, found, self.folded)
        state = account.status(self._conditions(found))
        result = account.outcome(query.effort, self.results, state)
        return Summary(
            query=query,
            requested_effort=query.effort,
            completed_effort=account.completed_effort(query.effort, state, result),
            status=state,
            outcome=result,
            coverage=covered,
            diagnostics=account.diagnostics(covered, self.made),
            next_actions=account.next_actions(query, found, state),
            match_count=self.results,
            elapsed_s=elapsed_s,
            order=query.order,
            limit=query.limit,
        )

    def _conditions(self, found: Sequence[account.Account]) -> Iterator[str]:
        outcomes = {reading.outcome for one in found for reading in one.readings}
        if "failed" in outcomes:
            yield "source_failure"
        if "unsupported" in outcomes:
            yield "unsupported_store"
        if "cancelled" in outcomes or (self.cancelled() and len(self.readings) < len(self.made.sources)):
            yield "cancelled"
        if self.more:
            yield "result_limit"


def _finished(reading: Reading) -> SourceFinished:
    return SourceFinished(reading.source, reading.outcome, reading.bytes_read, len(reading.matches))


def _resume(record: Record):  # type: ignore[no-untyped-def]
    command = registry.agent(record.agent).resume
    return command(record) if command else None
