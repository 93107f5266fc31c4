"""The glue: one synchronous generator of events from a query on a machine. Closing it ends the search."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .. import registry
from ..discovery import Machine
from ..files import OpenFile, Unreadable
from ..model import (
    Event,
    Facts,
    Finished,
    Lines,
    Log,
    Match,
    Profile,
    Query,
    Reading,
    Record,
    Result,
    Resume,
    Rows,
    Source,
    SourceFinished,
    Started,
    Summary,
)
from ..query.match import matcher
from ..query.parse import has_fields
from . import coverage as account
from . import lineage
from .drive import INLINE, Driver, readings
from .fold import Group, Seen, fold
from .hold import Held, NewestHeld, rank
from .neighbours import neighbours
from .order import Ranked, answers, ordered
from .plan import Plan, plan
from .read import ASK_EVERY, Task, admits, database_records, records
from .resolve import placed
from .route import Conversation, Routed, evidence_of, evidence_query, route

Cancelled = Callable[[], bool]
_NEWEST_FIRST_FILES = 512  # the same for small files
_NEWEST_FIRST_BYTES = 64 << 20  # beyond this, reading the rest at full speed beats looking file by file


def _never() -> bool:
    return False


def _latched(cancelled: Cancelled) -> Cancelled:
    """The same, asked no more once it has said so: what is cancelled stays cancelled."""
    said = False

    def latched() -> bool:
        nonlocal said
        said = said or cancelled()
        return said

    return latched


def search(query: Query, machine: Machine, *, cancelled: Cancelled = _never, driver: Driver = INLINE) -> Iterator[Event]:
    """Started, then SourceFinished and Result events, then one Finished. Results come in the query's order.

    Under the order `scan` results come as they are found; else after the last source. When `cancelled` says so,
    reading stops within one window, what was found is returned, and the summary says `cancelled`. The driver changes
    how long it takes, and no result.
    """
    began = time.monotonic()
    if has_fields(query.tree):
        query = query._replace(tree=placed(query.tree, machine.home))
    made = plan(query, machine)
    planned = time.monotonic()
    yield Started(query, len(made.sources), made.bytes)
    run = _Run(query, made, cancelled, driver)
    run.planning_s = planned - began
    try:
        yield from run.streamed() if query.order == "scan" else run.drained()
    except Exception:
        if os.environ.get("DEEPGREP_DEBUG"):
            raise
        run.broke = True  # the summary says so: an answer without one would claim more than it knows
    yield Finished(run.summary(time.monotonic() - began))


class _Run:
    """One search under way: what was read, and what came of it."""

    def __init__(self, query: Query, made: Plan, cancelled: Cancelled, driver: Driver) -> None:
        self.query, self.made, self.cancelled, self.driver = query, made, _latched(cancelled), driver
        self.readings: list[Reading] = []
        self.held = Held(query)
        self.facts: dict[str, Facts] = {}  # of forks, by path
        self.forked: dict[tuple[str, str], str] = {}  # the recorded parent of each (agent, conversation)
        self.read_through: set[tuple[str, str]] = set()
        self._places: dict[Source, int] = {}
        self._begun: dict[frozenset[tuple[str, tuple[Source, ...]]], dict[str, int | None]] = {}
        self._written: dict[Source, dict[str, int]] = {}
        self.folded: Counter[str] = Counter()
        self.results = 0
        self.more = False  # another match exists beyond the limit
        self.cut_short = False  # cancelled while looking again
        self.by_file_times = False  # reading stopped because the files that are left are older than what is held
        self.planning_s = self.ordering_s = 0.0
        self.unread_lineage = self.broke = False
        self.evidence_failed = False
        self.unrouted = False  # cancelled between the prompts and the conversations
        self.routed = Routed()

    def drained(self) -> Iterator[Event]:
        """Read what the limit and the order need, then give the first results under the order."""
        newest_first = self.query.limit is not None and self.query.order == "newest" and self.query.effort == "exhaustive"
        for reading in self._newest_first() if newest_first else self._readings():
            self.held.take_over(reading.matches, reading.let_go)
            yield _finished(reading)
        began = time.monotonic()
        ranked = self._ranked()
        self.ordering_s = time.monotonic() - began
        limit = self.query.limit
        self.more = limit is not None and len(ranked) > limit
        yield from self._results(ranked[:limit])

    def streamed(self) -> Iterator[Event]:
        """Give results source by source and stop once one more than the limit is known. Keeps the first seen."""
        seen = Seen()
        for reading in self._readings():
            for group in seen.fresh(reading.matches, self._groups) if self.query.dedupe else self._groups(reading.matches):
                if self.query.limit is not None and self.results >= self.query.limit:
                    self.more = True
                    break
                yield from self._results([(group, None)])
            yield _finished(reading)  # behind its results: who prints them together need not wait for the next source
            if self.more:
                return

    def _readings(self) -> Iterator[Reading]:
        """What reading each source came to: the planned ones, and at targeted effort those that the prompts lead to."""
        if self.query.effort == "targeted":
            yield from self._routed_readings()
        else:
            yield from self._read(self.query, self.made.sources)

    def _read(self, query: Query, sources: Iterable[Source]) -> Iterator[Reading]:
        driver = INLINE if self.query.order == "scan" else self.driver  # results in plan order need one reader
        for reading in readings([Task(query, source) for source in sources], driver, self.cancelled):
            self._note(reading)
            yield reading

    def _note(self, reading: Reading) -> None:
        """Keep what a reading came to; its matches are held elsewhere."""
        said, agent = reading.facts, reading.source.agent
        if said.conversation_id:
            if said.forked_from:
                self.facts[reading.source.path] = said
                self.forked[agent, said.conversation_id] = said.forked_from
            if reading.outcome == "completed":
                self.read_through.add((agent, said.conversation_id))
        self.readings.append(reading._replace(matches=(), let_go=None) if reading.matches or reading.let_go else reading)

    def _newest_first(self) -> Iterator[Reading]:
        """Newest files first, until none that is left can hold anything newer than what is held; else all."""
        limit = self.query.limit or 0
        prompts = [source for source in self.made.sources if source.role == "prompts"]
        bodies = sorted((s for s in self.made.sources if s.role != "prompts"), key=lambda s: -s.mtime_ns)  # stable: ties in plan order
        yield from self._read(self.query, prompts)
        newest_held = NewestHeld(self.query)  # of conversations: a row of a prompt history may fold into one of theirs
        read_bytes = read_files = 0
        while read_files < len(bodies) and read_bytes < _NEWEST_FIRST_BYTES and read_files < _NEWEST_FIRST_FILES:
            source, floor = bodies[read_files], newest_held.floor_us()
            if self.cancelled():
                return
            if floor is not None and floor * 1000 > source.mtime_ns and self._enough(limit, source.mtime_ns):
                self.by_file_times = True
                return
            read_files += 1
            read_bytes += source.size
            for reading in readings([Task(self.query, source, floor_us=floor, from_end=True)], INLINE, self.cancelled):
                self.by_file_times = self.by_file_times or reading.outcome == "bounded"
                newest_held.see(reading.matches)
                self._note(reading)
                yield reading
        yield from self._read(self.query, bodies[read_files:])

    def _enough(self, limit: int, mtime_ns: int) -> bool:
        """Once folded, are there more results than the limit that are newer than this?"""
        times = (group.match.record.time_us for group in self._groups(self.held.matches))
        return sum(time_us is not None and time_us * 1000 > mtime_ns for time_us in times) > limit

    def _ranked(self) -> list[Ranked]:
        """All results under the order, or with a limit at least one more than it: the same as if every match had been held."""
        found = {lineage.identity(match.record): match for match in self.held.matches}
        limit, asked = self.query.limit, frozenset[int]()
        while True:
            folded = self._folded(list(found.values()))
            ranked = ordered(self._admitted(folded), self.query)
            if limit is None:
                return ranked
            near = self._near(folded, ranked[limit : limit + 1], found) if self.held.keys and self.query.dedupe else ()
            missed = self.held.missed(near, (match.record for match in found.values())) - asked
            if not missed or self.cancelled():
                break
            asked |= missed
            self._look_again(found, asked)
        if not missed and self._reaches(ranked, limit):
            return ranked
        # Copies of what is held lie so deep that what was let go could come before them: hold everything, once.
        self._look_again(found, None)
        return ordered(self._groups(list(found.values())), self.query)

    def _near(self, folded: Iterable[Group], beyond: Sequence[Ranked], found: Mapping[lineage.Identity, Match]) -> Iterator[Record]:
        """Every record of the groups that hold one which alone would come within the limit, or just beyond it."""
        place = rank(self.query)
        last = place(beyond[0][0].match.record, beyond[0][0].match) if beyond else None
        for group in folded:
            said = (group.match.record, *group.folded)
            if last is None or any(place(record, found[lineage.identity(record)]) <= last for record in said):
                yield from said

    def _look_again(self, found: dict[lineage.Identity, Match], only: frozenset[int] | None) -> None:
        """Add what was let go, or that with one of these keys. A source that has gone since then counts as one that failed."""
        for reading in self._again(only):
            found.update({lineage.identity(match.record): match for match in reading.matches})
            if reading.outcome != "completed":
                at = [known.source for known in self.readings].index(reading.source)
                self.readings[at] = self.readings[at]._replace(outcome=reading.outcome, reason=reading.reason)
        self.cut_short = self.cut_short or self.cancelled()

    def _reaches(self, ranked: Sequence[Ranked], limit: int) -> bool:
        """Does every result within the limit, and the next, come before all that was let go?"""
        if self.held.boundary is None:
            return True
        if len(ranked) <= limit:
            return False
        match = ranked[limit][0].match
        return rank(self.query)(match.record, match) <= self.held.boundary

    def _again(self, only: frozenset[int] | None) -> Iterator[Reading]:
        """Read again what was read, for matches with one of these keys, or for all."""
        sources = [reading.source for reading in self.readings if reading.counts.get("matched")]
        yield from readings([Task(self.query, source, only=only, whole=True) for source in sources], self.driver, self.cancelled)

    def _routed_readings(self) -> Iterator[Reading]:
        """Prompt histories for evidence, then only the conversations that evidence proves. Fails closed."""
        evidence: list[Match] = []
        waiting: list[Reading] = []
        failed = any(one.listing.broken for one in self.made.agents)
        asked = evidence_query(self.query)
        for reading in self._read(asked, self.made.sources):
            failed = failed or reading.outcome in ("failed", "cancelled")
            evidence += evidence_of(self.query, reading.matches)
            found = self._verdicts(reading.matches)
            self.readings[-1] = self.readings[-1]._replace(counts={**reading.counts, "matched": len(found)})
            if self.query.order == "scan":  # a limit may end the stream, and must not change what is selected
                waiting.append(reading._replace(matches=found))
            else:
                yield reading._replace(matches=found)
        self.evidence_failed = failed and not self.cancelled()
        self.unrouted = self.cancelled()
        chosen = [] if failed or self.unrouted else self._chosen(evidence)
        yield from waiting
        yield from self._read(self.query, chosen)

    def _chosen(self, evidence: Sequence[Match]) -> list[Source]:
        """The sources of the conversations that evidence proves, added to the plan."""
        agents = {one.id: (one.declared, one.found) for one in self.made.agents if one.declared}
        self.routed = route(self.query, evidence, agents)
        chosen = [source for conversation in self.routed.conversations for source in conversation.sources]
        self.made = self.made._replace(sources=(*self.made.sources, *chosen))
        return chosen

    def _verdicts(self, evidence: Sequence[Match]) -> tuple[Match, ...]:
        """Which evidence is an answer too: the whole query decides, by the ordinary matcher."""
        query = self.query
        match = matcher(query.tree)
        verdicts = ((found.record, match(found.record.text)) for found in evidence if admits(query, found.record) is None)
        return tuple(Match(record, spans) for record, spans in verdicts if spans is not None)

    def _groups(self, matches: Sequence[Match]) -> list[Group]:
        return self._admitted(self._folded(matches))

    def _admitted(self, groups: Iterable[Group]) -> list[Group]:
        return [group for group in groups if answers(group.match.record, self.query)]

    def _folded(self, matches: Sequence[Match]) -> list[Group]:
        if not self.query.dedupe:
            return [Group(match) for match in matches]
        self.unread_lineage = lineage.unread(matches, self.facts, self.read_through)
        matches = sorted(matches, key=lambda m: (self._place(m.record.source), m.record.position, m.record.block))
        return fold(matches, lineage.links(matches, self.forked, self._begins))

    def _place(self, source: Source) -> int:
        """Where a source stands in the plan, which routing may have lengthened."""
        if len(self._places) != len(self.made.sources):
            self._places = {planned: index for index, planned in enumerate(self.made.sources)}
        return self._places[source]

    def _begins(self, sharing: Mapping[str, Sequence[Record]]) -> dict[str, int | None]:
        """When each conversation's own records begin: those whose ids none of the others has. Reads their sources whole."""
        places = {name: tuple(dict.fromkeys(record.source for record in some)) for name, some in sharing.items()}
        asked = frozenset(places.items())
        if asked in self._begun:
            return self._begun[asked]  # conversations that share one record share many
        held: dict[str, dict[str, int]] = {}
        for name, sources in places.items():
            held[name] = {}
            for source in sources:
                for native, time_us in self._times(source).items():
                    held[name].setdefault(native, time_us)
        out: dict[str, int | None] = {}
        for name, own in held.items():
            others = {native for other, ids in held.items() if other != name for native in ids}
            out[name] = min((time_us for native, time_us in own.items() if native not in others), default=None)
        self._begun[asked] = out
        return out

    def _times(self, source: Source) -> Mapping[str, int]:
        """When each record of a source with an id of its own was written. A source is read once; none is when cancelled."""
        found = self._written.setdefault(source, {})
        if not found and not self.cut_short:
            for number, record in enumerate(_all_records(self.query, source)):
                if not number & ASK_EVERY and self.cancelled():
                    self.cut_short = True
                    break
                if record.native_id and record.time_us is not None:
                    found.setdefault(record.native_id, record.time_us)
        return found

    def _results(self, ranked: Sequence[Ranked]) -> Iterator[Result]:
        around = neighbours(self.query, [group.match.record for group, _ in ranked])
        for (group, score), (before, after) in zip(ranked, around, strict=True):
            record = group.match.record
            self.results += 1
            self.folded[record.agent] += len(group.folded)
            yield Result(record, group.match.spans, score, group.folded, group.also_in, before, after, _resume(record))

    def summary(self, elapsed_s: float) -> Summary:
        """The closing account of the run."""
        query = self.query
        found = account.accounts(self.made, self.readings, self._routing())
        covered = account.coverage(query, found, self.folded)
        state = account.status(self._conditions(found))
        result = account.outcome(query.effort, self.results, state, covered)
        return Summary(
            query=query,
            requested_effort=query.effort,
            completed_effort=account.completed_effort(query.effort, state, result),
            status=state,
            outcome=result,
            coverage=covered,
            diagnostics=account.diagnostics(query, covered, self.made, state.conditions),
            next_actions=account.next_actions(query, found, state),
            match_count=self.results,
            elapsed_s=elapsed_s,
            order=query.order,
            limit=query.limit,
            profile=self._profile(),
        )

    def _profile(self) -> Profile:
        by_store: dict[str, float] = {}
        for reading in self.readings:
            by_store[reading.source.store] = by_store.get(reading.source.store, 0.0) + reading.times_s[0]
        decoding_s, matching_s = (sum(reading.times_s[part] for reading in self.readings) for part in (1, 2))
        return Profile(self.planning_s, by_store, decoding_s, matching_s, self.ordering_s)

    def _routing(self) -> dict[str, dict[str, int]]:
        """The routing counts of each agent, with how many conversations were read to their end."""
        read_through = {reading.source for reading in self.readings if reading.outcome == "completed"}
        done = Counter(one.agent for one in self.routed.conversations if _whole(one, read_through))
        return {name: {**counts, "completed": done[name]} for name, counts in self.routed.counts.items()}

    def _conditions(self, found: Sequence[account.Account]) -> Iterator[str]:
        outcomes = {reading.outcome for one in found for reading in one.readings}
        if "failed" in outcomes:
            yield "evidence_failure" if self.evidence_failed else "source_failure"
        if self.broke:
            yield "engine_failure"
        if "unsupported" in outcomes:
            yield "unsupported_store"
        if "cancelled" in outcomes or self.unrouted or self.cut_short or (self.cancelled() and len(self.readings) < len(self.made.sources)):
            yield "cancelled"
        if self.query.effort == "targeted":
            yield "candidate_selection"
            if not self.routed.has_clue:
                yield "no_positive_clue"
        if self.by_file_times and self.more:
            yield "file_times"
        if self.unread_lineage:
            yield "lineage_unread"
        if self.more:
            yield "result_limit"


def _whole(conversation: Conversation, read_through: set[Source]) -> bool:
    return all(source in read_through for source in conversation.sources)


def _finished(reading: Reading) -> SourceFinished:
    return SourceFinished(reading.source, reading.outcome, reading.bytes_read, len(reading.matches))


def _all_records(query: Query, source: Source) -> Iterator[Record]:
    """Every record of a source that is still there."""
    reader = registry.store(source.store).reader
    try:
        if isinstance(reader, Rows):
            yield from database_records(Task(query, source, probing=False), reader)
        if not isinstance(reader, (Lines, Log)):
            return
        with OpenFile(source.path) as file:
            yield from records(Task(query, source, probing=False), file)
    except Unreadable:
        return


def _resume(record: Record) -> Resume | None:
    command = registry.agent(record.agent).resume
    return command(record) if command else None
