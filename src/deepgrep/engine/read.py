"""Read one source for one query: a picklable task in, plain counts and matches out. The only part that touches the disk.

A store that promises where its text stands is probed as bytes, and only candidate lines are decoded; a store that
promises nothing is decoded whole, in order. Both ways give the same records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from heapq import heappush, heappushpop
from time import perf_counter

from .. import registry, text
from ..files import LINE_CAP, WINDOW, OpenFile, Peek, Unreadable, Unsupported, Window, sibling, windows
from ..model import Document, Facts, Filters, Line, Lines, Log, Match, Query, Reading, Record, Rows, Skip, Source, Store, Text
from ..query.match import Matcher, matcher
from ..query.parse import has_fields
from ..query.prefilter import Probe, markers, probe
from ..query.prefilter import lines as probed_lines
from ..text import clean
from ..typed import NamedTuple
from .hold import Held, keys
from .lines import Neighbours, parse, shape
from .order import answers, stands_alone
from .rows import Candidates

Cancelled = Callable[[], bool]
Objects = tuple[tuple[int, dict[str, object]], ...]  # with their byte offsets in the line

ASK_EVERY = 0x3F  # records between two looks at cancellation, less one: a window may hold thousands
_QUIET = 64  # matches in a row, from a source's end, that cannot be among the results


class Task(NamedTuple):
    """What a worker is given. `window` and `line_cap` in bytes; `probing` False decodes everything (the oracle).

    `only`: keep only matches that `hold.keys` gives one of these; `whole`: hold every match, whatever the limit.
    `floor_us`: an append-only source may be read from its end, and left when it holds nothing newer any more.
    """

    query: Query
    source: Source
    only: frozenset[int] | None = None
    whole: bool = False
    floor_us: int | None = None
    from_end: bool = False
    window: int = WINDOW
    line_cap: int = LINE_CAP
    probing: bool = True


class Compiled(NamedTuple):
    match: Matcher
    probe: Probe | None
    context: Probe | None


@lru_cache(maxsize=256)
def _compiled(query: Query, store_id: str, probing: bool) -> Compiled:
    store = registry.store(store_id)
    tree = query.tree
    if has_fields(tree):
        from ..query.evaluate import for_store  # deferred: a query of words needs no field table

        tree = for_store(tree, store_id)
    traits = store.traits
    found = probe(tree, traits.inserted, traits.always) if probing and traits.text_in else None
    context = markers(store.reader.context) if isinstance(store.reader, Lines) and store.reader.context else None
    return Compiled(matcher(tree), found, context)


def admits(query: Query, record: Record) -> str | None:
    """Why a record cannot be returned whatever its text: a code, or None where it can. Folding changes none of this."""
    if query.scope == "prompts" and record.speaker != "person":
        return "scope"
    if query.scope == "conversations" and record.source.role != "transcript":
        return "scope"
    filters = query.filters
    if filters.speakers and record.speaker not in filters.speakers:
        return "filter"
    if record.kind == "context" and "context" not in filters.kinds and "runtime" not in filters.speakers:
        return "context"
    return None


def read(task: Task, cancelled: Cancelled = lambda: False) -> Reading:
    """Read one source to its end, or to where it fails or is cancelled. Never raises for what a file holds.

    A source that is cut off, of which a lesser twin is whole, as when one is being made from the other, is read as that twin.
    """
    reading = _read(task, cancelled)
    if task.source.twin and reading.counts.get("skip.torn_tail"):
        twin = _read(task._replace(source=task.source._replace(path=task.source.twin, twin="")), cancelled)
        if twin.outcome == "completed" and twin.counts.get("probed", 0) > reading.counts.get("probed", 0):
            matches = tuple(m._replace(record=m.record._replace(source=task.source)) for m in twin.matches)
            return twin._replace(source=task.source, matches=matches, bytes_read=twin.bytes_read + reading.bytes_read)
    return reading


def _read(task: Task, cancelled: Cancelled) -> Reading:
    began = perf_counter()
    store = registry.store(task.source.store)
    if store.reader is None:
        return Reading(task.source, "unsupported", store.unsupported or "unsupported_format", False, 0, {}, ())
    work = _Work(task, store, cancelled)
    try:
        if isinstance(store.reader, Rows):
            work.run_rows(store.reader)
        else:
            with OpenFile(task.source.path) as file:
                work.file = file
                work.run()
                if file.shrank():
                    raise Unreadable("changed_while_read")
                work.check_format()
        outcome, reason = "cancelled" if work.stopped else "bounded" if work.bounded else "completed", None
    except Unsupported as error:
        outcome, reason = "unsupported", error.code
    except Unreadable as error:
        outcome, reason = ("cancelled", None) if error.code == "cancelled" else ("failed", error.code)
    except Exception:  # noqa: BLE001 - the one place: a reader that breaks on some content costs one source, counted
        outcome, reason = "failed", "reader_crashed"
    bytes_read = work.file.bytes_read if work.file else work.database_bytes
    matches, let_go = work.titled(), work.held.let_go()
    times_s = (perf_counter() - began, work.decoding_s, work.matching_s)
    counts, opened = dict(work.counts), work.file is not None or work.opened_database
    return Reading(task.source, outcome, reason, opened, bytes_read, counts, matches, work.facts, let_go, times_s)  # type: ignore[arg-type]


class _Work:
    """The state of reading one source."""

    def __init__(self, task: Task, store: Store, cancelled: Cancelled) -> None:
        self.task, self.store, self.cancelled = task, store, cancelled
        self.compiled = _compiled(task.query, store.id, task.probing)
        self.file: OpenFile | None = None
        self.opened_database, self.database_bytes = False, 0  # bytes read of a database's files
        self.stopped = self.bounded = False
        self.taken = 0  # records
        self.decoding_s = self.matching_s = 0.0
        self.counts: Counter[str] = Counter()
        self.held = Held(task.query, all_of_them=task.whole)
        self.passing: list[tuple[int, object]] = []  # of matches that the filters admit, reading from the end: instant, what is its own
        self.counted: set[object] = set()
        self.facts = Facts()

    def run(self) -> None:
        """Read the open file in the way its store's reader asks for."""
        assert self.file is not None
        reader = self.store.reader
        if isinstance(reader, Lines):
            from_end = self.task.from_end and self.store.traits.append_only and not self.file.compressed
            for found in self.lines_from_end(self.file, reader) if from_end else self.lines(self.file, reader):
                self.take(found)
                if self.stopped:
                    break
        elif isinstance(reader, Log):
            self.take(self.log(self.file, reader))
        elif isinstance(reader, Document):
            self.take(self.document(self.file, reader))
        elif isinstance(reader, Text):
            self.take(self.plain_text(self.file, reader))

    def run_rows(self, reader: Rows) -> None:
        """Open the source as a database and read it as its store asks for."""
        from ..databases import Database  # loads with the first database: most searches meet none

        self.facts = reader.facts(self.task.source)
        database = Database(self.task.source.path, self.cancelled)
        try:
            database.check()
            found = self.compiled.probe if self.store.traits.text_in == "line" else None
            self.take(reader.decode(database, Candidates(found), self.task.source))
        finally:
            database.close()
            self.opened_database, self.database_bytes = database.was_opened, database.bytes_read
            self.counts["probed"] += database.rows_read
            if database.oversized:
                self.counts["skip.oversized"] += database.oversized

    def titled(self) -> tuple[Match, ...]:
        """The matches, with the title that the whole source gives its conversation."""
        title = self.facts.title
        if not title:
            return tuple(self.held.matches)
        return tuple(m._replace(record=m.record._replace(title=m.record.title or title)) for m in self.held.matches)

    def check_format(self) -> None:
        """Raise Unreadable for a file that is not of its format at all: it has whole lines, and each is visibly no record."""
        if self.counts["skip.malformed"] and not self.counts["shaped"]:
            raise Unreadable("wrong_format")

    def take(self, decoded: Iterable[Record | Skip]) -> None:
        """Count each record or skip, and keep the records that match."""
        query, match = self.task.query, self.compiled.match
        began = perf_counter()
        for item in decoded:
            if isinstance(item, Skip):
                self.counts["skip." + item.reason] += 1
                continue
            self.counts["decoded"] += 1
            self.taken += 1
            if not self.taken & ASK_EVERY and self.cancelled():
                self.stopped = True
                break
            why_not = admits(query, item)
            if why_not in ("scope", "filter"):
                continue
            record = item._replace(text=clean(item.text))
            spans = match(record.text)
            if spans is None:
                continue
            if why_not is None and not query.echoes:
                from .echo import is_echo  # deferred: most searches take everything

                why_not = "echo" if is_echo(record) else None
            if why_not:
                self.counts["withheld." + why_not] += 1
            else:
                self.counts["matched"] += 1
                if self.task.only is None or not self.task.only.isdisjoint(keys(record)):
                    self.held.add(Match(record, spans))
                if self.task.from_end and record.time_us is not None and answers(record, query):
                    self.passing.append((record.time_us, stands_alone(record, query)))
        self.matching_s += perf_counter() - began

    def _sibling(self, relative: str, limit_bytes: int) -> str | None:
        return sibling(self.task.source.root, relative, limit_bytes)

    def log(self, file: OpenFile, reader: Log) -> Iterator[Record | Skip]:
        """The records of a file that is replayed as a whole, if any of its lines may match."""
        found = self.compiled.probe
        self.facts = reader.facts(self.task.source)
        if found:
            if not self._any_candidate(file, found):
                return
            self.counts.clear()
            file.rewind()
        yield from reader.decode(self._objects(file, reader), self.task.source, self._sibling)

    def _objects(self, file: OpenFile, reader: Log) -> Iterator[Line]:
        for window in self._windows(file):
            spans = dict(_all_lines(window.buffer, window.end))
            self._count_shapes(window, frozenset(spans))
            for span in spans.items():
                for offset, value in self._parse(window, span, reader, counted=True):
                    yield Line(value, window.start + span[0] + offset, self.task.source)

    def document(self, file: OpenFile, reader: Document) -> Iterator[Record | Skip]:
        """The records of a whole-file JSON source."""
        raw = file.whole()
        self.counts["probed"] += 1
        if self.compiled.probe and not any(find(raw, 0) >= 0 for find in self.compiled.probe.finders):
            if not _is_closed(raw):  # whatever the query, a torn document is no answer
                raise Unreadable("undecodable")
            return
        value = _whole_value(raw)
        if value is None:
            raise Unreadable("undecodable")
        yield from reader.decode(value, self.task.source, self._sibling)

    def plain_text(self, file: OpenFile, reader: Text) -> Iterator[Record | Skip]:
        """The records of a plain-text source."""
        raw = file.whole()
        self.counts["probed"] += 1
        if self.compiled.probe and not any(find(raw, 0) >= 0 for find in self.compiled.probe.finders):
            return
        yield from reader.decode(raw.decode("utf-8", "replace"), self.task.source, self._sibling)

    def lines(self, file: OpenFile, reader: Lines) -> Iterator[list[Record | Skip]]:
        """What each decoded line gives, in file order."""
        found = self.compiled.probe
        if found and (reader.context or reader.head or self.store.traits.text_in == "file"):
            # Context lines matter only where a candidate is: most files have none, and are read once.
            if not self._any_candidate(file, found):
                self.facts = reader.facts(reader.start(self.task.source))
                return
            self.counts.clear()
            file.rewind()
            if self.store.traits.text_in == "file":
                found = None
        state = reader.start(self.task.source)
        peek = Peek(file, self.task.line_cap)
        head = reader.head
        try:
            for window in self._windows(file):
                for span, is_candidate, is_context in self._wanted(window, reader, found, head):
                    parsed = self._parse(window, span, reader, is_candidate)
                    if is_context:
                        for offset, value in parsed:
                            state = reader.observe(Line(value, window.start + span[0] + offset, self.task.source), state)
                    if is_candidate:
                        yield self._decoded(window, span, parsed, reader, state, peek)
                if head:  # blank lines may fill a window
                    head -= sum(1 for _ in _head(window.buffer, window.end, head))
        finally:
            peek.close()
            self.facts = reader.facts(state)

    def _decoded(
        self, window: Window, span: tuple[int, int], parsed: Objects, reader: Lines, state: object, peek: Peek
    ) -> list[Record | Skip]:
        """The records of one line's objects."""
        began = perf_counter()
        near = Neighbours(window, span, peek, self.task.source.root, reader.is_line)
        before = text.floats_shown
        out = self._decoded_values(parsed, near, window.start + span[0], reader, state)
        if text.floats_shown != before:  # numbers were shown that the quick parser does not spell as the file does
            parsed = parse(bytes(memoryview(window.buffer)[span[0] : span[1]]), reader.is_line).values
            out = self._decoded_values(parsed, near, window.start + span[0], reader, state)
        self.decoding_s += perf_counter() - began
        return out

    def _decoded_values(self, parsed: Objects, near: Neighbours, start: int, reader: Lines, state: object) -> list[Record | Skip]:
        near.values = parsed
        out: list[Record | Skip] = []
        for index, (offset, value) in enumerate(parsed):
            near.index = index
            out.extend(reader.decode(Line(value, start + offset, self.task.source), state, near))
        return out

    def lines_from_end(self, file: OpenFile, reader: Lines) -> Iterator[list[Record | Skip]]:
        """What each decoded line gives, last line first, until a whole stretch of matches is older than what a limit can return.

        Context is carried forward in a first pass, which only notes where candidates are. That an append-only file
        holds older records before newer ones is its writer's habit, no proof: the source then counts as bounded.
        """
        survey = self._surveyed(file, reader)
        peek = Peek(file, self.task.line_cap)
        best: list[int] = []  # the newest instants of this source, one more than the limit, smallest first
        quiet = 0
        try:
            for start, stop, state in reversed(survey):
                raw = bytearray(peek.piece(start, stop + 1 - start))
                window = Window(raw, len(raw), start, 0)
                span = (0, stop - start)
                self.passing.clear()
                yield self._decoded(window, span, self._parse(window, span, reader, counted=True), reader, state, peek)
                for time_us, sure in self.passing:
                    quiet = 0 if self._improves(best, time_us, sure) else quiet + 1
                if quiet >= _QUIET:
                    self.bounded = True
                    return
        finally:
            peek.close()

    def _improves(self, best: list[int], time_us: int, sure: object) -> bool:
        """Could a match of this instant be among the results, given this source's best so far and the engine's floor?"""
        if self.task.floor_us is not None and time_us < self.task.floor_us:
            return False
        full = len(best) > (self.task.query.limit or 0)
        if full and time_us <= best[0]:
            return False
        if sure is not None and sure not in self.counted:  # else it may fold into one that was counted
            self.counted.add(sure)
            (heappushpop if full else heappush)(best, time_us)
        return True

    def _surveyed(self, file: OpenFile, reader: Lines) -> list[tuple[int, int, object]]:
        """Where the candidate lines are, with the state that each is decoded in."""
        state, head = reader.start(self.task.source), reader.head
        out: list[tuple[int, int, object]] = []
        for window in self._windows(file):
            for span, is_candidate, is_context in self._wanted(window, reader, self.compiled.probe, head):
                if is_context:
                    for offset, value in self._parse(window, span, reader, counted=False):
                        state = reader.observe(Line(value, window.start + span[0] + offset, self.task.source), state)
                if is_candidate:
                    out.append((window.start + span[0], window.start + span[1], state))
            if head:
                head -= sum(1 for _ in _head(window.buffer, window.end, head))
        self.facts = reader.facts(state)
        return out

    def _windows(self, file: OpenFile) -> Iterator[Window]:
        for window in windows(file, size=self.task.window, cap=self.task.line_cap):
            if self.cancelled():
                self.stopped = True
                return
            if window.oversized:
                self.counts["skip.oversized"] += window.oversized
            if window.end:
                yield window

    def _any_candidate(self, file: OpenFile, found: Probe) -> bool:
        """Look for a first candidate, counting lines and shapes on the way."""
        for window in self._windows(file):
            if next(probed_lines(found, window.buffer, window.end), None):
                return True
            self._count_shapes(window, frozenset())
        return False

    def _count_shapes(self, window: Window, decoded: frozenset[int]) -> None:
        """Count a window's lines, and those that are visibly no record and will not be decoded."""
        seen = shape(window)
        self.counts["probed"] += seen.lines
        self.counts["shaped"] += seen.shaped
        for start, stop in seen.misshapen:
            if start not in decoded:
                self.counts["skip.torn_tail" if stop == window.end and self._is_tail(window) else "skip.malformed"] += 1

    def _is_tail(self, window: Window) -> bool:
        return window.buffer[window.end - 1] != 0x0A

    def _wanted(self, window: Window, reader: Lines, found: Probe | None, head: int) -> Iterator[tuple[tuple[int, int], bool, bool]]:
        """The lines of a window to parse: (span, candidate, context)."""
        buffer, end = window.buffer, window.end
        context: dict[int, int] = {}
        if self.compiled.context:
            context = dict(probed_lines(self.compiled.context, buffer, end))
        if head:
            context.update(_head(buffer, end, head))
        candidates = dict(probed_lines(found, buffer, end)) if found else dict(_all_lines(buffer, end))
        self._count_shapes(window, frozenset(candidates))
        for start, stop in sorted({**context, **candidates}.items()):
            yield (start, stop), start in candidates, start in context

    def _parse(self, window: Window, span: tuple[int, int], reader: Lines | Log, counted: bool) -> Objects:
        quick = isinstance(reader, Lines)  # a log's state may outlive the line, and its floats with it
        parsed = parse(bytes(memoryview(window.buffer)[span[0] : span[1]]), reader.is_line, quick=quick)
        if counted:
            torn = parsed.malformed and span[1] == window.end and self._is_tail(window)
            self.counts["skip.torn_tail"] += 1 if torn else 0
            self.counts["skip.malformed"] += parsed.malformed - (1 if torn else 0)
            self.counts["skip.undecodable"] += parsed.undecodable
            self.counts["replaced"] += parsed.replaced
        return parsed.values


def _head(buffer: bytearray, end: int, count: int) -> Iterator[tuple[int, int]]:
    for number, span in enumerate(_all_lines(buffer, end)):
        if number >= count:
            return
        yield span


def _all_lines(buffer: bytearray, end: int) -> Iterator[tuple[int, int]]:
    """Spans of every line that is not blank."""
    start = 0
    while start < end:
        stop = buffer.find(b"\n", start, end)
        stop = end if stop < 0 else stop
        if buffer[start:stop].strip(b" \t\r\x00"):
            yield start, stop
        start = stop + 1


def _is_closed(raw: bytes) -> bool:
    """Is this, as far as its two ends tell, one JSON object or list?"""
    start, end = raw[:64].removeprefix(b"\xef\xbb\xbf").lstrip(), raw[-64:].rstrip(b" \t\r\n\x00")
    return start[:1] + end[-1:] in (b"{}", b"[]")


def _whole_value(raw: bytes) -> object:
    """The one JSON value of a file, or None where it is none."""
    import json

    from ..text import Number

    try:
        return json.loads(raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), parse_float=Number, strict=False)
    except (ValueError, RecursionError):
        return None


def database_records(task: Task, reader: Rows, cancelled: Cancelled = lambda: False) -> Iterator[Record]:
    """Every record of a database, whatever the query. Raises Unreadable."""
    from ..databases import open_database  # loads with the first database

    with open_database(task.source.path, cancelled) as database:
        decoded = reader.decode(database, Candidates(None), task.source)
        yield from (item._replace(text=clean(item.text)) for item in decoded if isinstance(item, Record))


def records(task: Task, file: OpenFile) -> Iterator[Record]:
    """Every record of an open source, decoded whole and in order, whatever the query. Not of a database."""
    yield from _decoded_records(_Work(task, registry.store(task.source.store), lambda: False), file)


def _decoded_records(work: _Work, file: OpenFile) -> Iterator[Record]:
    reader = work.store.reader
    decoded: Iterator[Record | Skip]
    if isinstance(reader, Lines):
        decoded = (item for found in work.lines(file, reader) for item in found)
    elif isinstance(reader, Log):
        decoded = work.log(file, reader)
    elif isinstance(reader, Document):
        decoded = work.document(file, reader)
    else:
        assert isinstance(reader, Text)
        decoded = work.plain_text(file, reader)
    yield from (item._replace(text=clean(item.text)) for item in decoded if isinstance(item, Record))


class Whole:
    """Every record of one source of any kind, whatever the query, in order. Raises Unreadable while it is iterated.

    `facts` and `bytes_read` are known when the last record has been given. Where `STOP` says so, it ends as Unreadable: cancelled.
    """

    def __init__(self, source: Source, reader: Lines | None = None) -> None:
        self.source = source
        self.facts = Facts()
        self.bytes_read = 0
        self._reader = reader  # in place of the store's own

    def __iter__(self) -> Generator[Record, None, None]:
        store = registry.store(self.source.store)
        if self._reader:
            store = store._replace(reader=self._reader)
        if store.reader is None:
            raise Unsupported(store.unsupported or "unsupported_format")
        task = Task(_EVERY_RECORD, self.source, probing=False)
        try:
            yield from self._rows(task, store.reader) if isinstance(store.reader, Rows) else self._file(task, store)
        except (Unreadable, GeneratorExit):
            raise
        except Exception as error:
            raise Unreadable("reader_crashed") from error

    def _file(self, task: Task, store: Store) -> Iterator[Record]:
        cancelled = STOP.get()
        work = _Work(task, store, cancelled)
        with OpenFile(self.source.path) as file:
            try:
                for record in _decoded_records(work, file):
                    yield record
                    if cancelled():
                        break
                if cancelled():
                    raise Unreadable("cancelled")
            finally:
                self.facts, self.bytes_read = work.facts, file.bytes_read

    def _rows(self, task: Task, reader: Rows) -> Iterator[Record]:
        self.facts, self.bytes_read = reader.facts(self.source), self.source.size
        yield from database_records(task, reader, STOP.get())


# Asked while a source is read whole: set it in the context of a call that may be abandoned. Everything that leads to one reading
# (naming, proving, surveying, windows) would have to hand it on otherwise.
STOP: ContextVar[Cancelled] = ContextVar("STOP", default=lambda: False)
_EVERY_RECORD = Query((), False, False, "exhaustive", "all", True, "scan", None, Filters())
