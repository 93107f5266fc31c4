"""The records around results, for `--context N`: each result's source is decoded once more, whole, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from .. import registry
from ..files import OpenFile, Unreadable
from ..model import Lines, Log, Query, Record, Source
from .read import Task, records

Around = tuple[tuple[Record, ...], tuple[Record, ...]]  # before, after; both in file order


def neighbours(query: Query, wanted: Sequence[Record]) -> Iterator[Around]:
    """For each record, up to `query.context` records on each side of it in its source, injected context left out."""
    if not query.context:
        yield from (((), ()) for _ in wanted)
        return
    places: dict[Source, set[tuple[int, int]]] = {}
    for record in wanted:
        places.setdefault(record.source, set()).add((record.position, record.block))
    found: dict[tuple[Source, int, int], Around] = {}
    for source, inside in places.items():
        for place, around in _around(_spoken(query, source, inside), inside, query.context):
            found[source, *place] = around
    for record in wanted:
        yield found.get((record.source, record.position, record.block), ((), ()))


def _spoken(query: Query, source: Source, places: set[tuple[int, int]]) -> Iterator[Record]:
    """The wanted records of a source and every other but injected context and second spellings; none where it cannot be read."""
    store = registry.store(source.store)
    if not isinstance(store.reader, (Lines, Log)):
        return
    try:
        with OpenFile(source.path) as file:
            for record in records(Task(query, source, probing=False), file):
                if (record.kind != "context" and record.channel == 0) or (record.position, record.block) in places:
                    yield record
    except Unreadable:
        return


def _around(stream: Iterable[Record], places: set[tuple[int, int]], count: int) -> Iterator[tuple[tuple[int, int], Around]]:
    """Walk a stream once and give each wanted place the records just before and just after it."""
    recent: deque[Record] = deque(maxlen=count)
    open_places: list[tuple[tuple[int, int], tuple[Record, ...], list[Record]]] = []
    for record in stream:
        for _, _, after in open_places:
            after.append(record)
        while open_places and len(open_places[0][2]) == count:
            place, before, after = open_places.pop(0)
            yield place, (before, tuple(after))
        here = (record.position, record.block)
        if here in places:
            open_places.append((here, tuple(recent), []))
        recent.append(record)
    for place, before, after in open_places:
        yield place, (before, tuple(after))
