"""Parses all that is readable, without a query: records, skips by reason, and the keys of records whose shape is not known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from .. import registry
from ..discovery import Machine, installed, listing, loaded
from ..files import OpenFile, Unreadable, windows
from ..model import NOTHING, Decoded, Document, Filters, Line, Lines, Log, Near, Query, Reading, Skip, Source, Store
from ..typed import NamedTuple
from .drive import INLINE, Driver, readings
from .lines import parse
from .read import Task, Whole

SAMPLES = 3  # of unknown shapes, for each store
_KEYS = 16  # of a sample
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$-]{0,39}")  # what a format calls its fields; other keys may be what somebody wrote
_DAMAGE = ("malformed", "undecodable", "oversized")
# Every record is decoded, and none is held.
_NOBODY = Query((), False, False, "exhaustive", "all", True, "scan", None, Filters(), tree=NOTHING)


class StoreHealth(NamedTuple):
    """What parsing all of a store came to."""

    store: str
    sources: int
    completed: int
    bytes: int
    records: int
    skipped: Mapping[str, int]
    failures: Mapping[str, int]
    unsupported: Mapping[str, int]
    unknown_shapes: tuple[tuple[str, ...], ...]

    @property
    def damaged(self) -> bool:
        """Is anything in it that can be no record, or a file that cannot be read? What is merely unknown is no damage."""
        return bool(self.failures) or any(self.skipped.get(reason) for reason in _DAMAGE)


class Stage(NamedTuple):
    """How far a checkup is."""

    sources: int
    done: int
    bytes: int
    read: int


def checkup(
    machine: Machine,
    agent_ids: Iterable[str] = (),
    *,
    driver: Driver = INLINE,
    cancelled: Callable[[], bool] = lambda: False,
    watch: Callable[[Stage], None] = lambda stage: None,
) -> Iterator[StoreHealth]:
    """The health of every store that has a file here, in the order of the registry. Ends early, with what was read, when cancelled."""
    sources, broken = _everything(machine, tuple(agent_ids))
    total = sum(source.size for source in sources)
    by_store: dict[str, list[Reading]] = {}
    read = 0
    for done, reading in enumerate(readings([Task(_NOBODY, source, probing=False) for source in sources], driver, cancelled), 1):
        read += reading.source.size
        by_store.setdefault(reading.source.store, []).append(reading)
        watch(Stage(len(sources), done, total, read))
    for source, code in broken:
        by_store.setdefault(source.store, []).append(Reading(source, "failed", code, False, 0, {}, ()))
    for name in sorted(by_store, key=_place):
        yield _health(name, by_store[name])


def _place(store_id: str) -> tuple[int, int]:
    declared = registry.agent(store_id.partition(".")[0])
    return registry.AGENT_IDS.index(declared.id), [store.id for store in declared.stores].index(store_id)


def _everything(machine: Machine, agent_ids: tuple[str, ...]) -> tuple[list[Source], list[tuple[Source, str]]]:
    sources: list[Source] = []
    broken: list[tuple[Source, str]] = []
    for found in installed(machine, agent_ids):
        if found.places:
            listed = listing(found, loaded(found).stores)
            sources += listed.sources
            broken += listed.broken
    return sources, broken


def _health(name: str, found: list[Reading]) -> StoreHealth:
    skipped: Counter[str] = Counter()
    for reading in found:
        skipped.update({key.removeprefix("skip."): n for key, n in reading.counts.items() if key.startswith("skip.") and n})
    unsure = [reading.source for reading in found if reading.counts.get("skip.unknown_shape")]
    return StoreHealth(
        store=name,
        sources=len(found),
        completed=sum(reading.outcome == "completed" for reading in found),
        bytes=sum(reading.bytes_read for reading in found),
        records=sum(reading.counts.get("decoded", 0) for reading in found),
        skipped=dict(sorted(skipped.items())),
        failures=_by_reason(found, "failed"),
        unsupported=_by_reason(found, "unsupported"),
        unknown_shapes=_shapes(registry.store(name), unsure),
    )


def _by_reason(found: Iterable[Reading], outcome: str) -> dict[str, int]:
    return dict(sorted(Counter(reading.reason or outcome for reading in found if reading.outcome == outcome).items()))


# --- unknown shapes -------------------------------------------------------------------------------------------------


def _shapes(store: Store, sources: Iterable[Source]) -> tuple[tuple[str, ...], ...]:
    """The keys of a few records of unknown shape, each shape once."""
    found: dict[tuple[str, ...], None] = {}
    for source in sources:
        try:
            for value in _unknown(store, source):
                found.setdefault(_keys(value))
                if len(found) >= SAMPLES:
                    return tuple(found)
        except Unreadable:
            continue
    return tuple(found)


def _unknown(store: Store, source: Source) -> Iterator[dict[str, object]]:
    """The objects of a source that its reader knows no shape for."""
    reader = store.reader
    if isinstance(reader, Lines):
        yield from _unknown_lines(reader, source)
    elif isinstance(reader, Log):
        yield from (value for value in _objects(source) if not reader.is_line(value))
    elif isinstance(reader, Document):
        yield from _top(source)


def _unknown_lines(reader: Lines, source: Source) -> Iterator[dict[str, object]]:
    seen: list[dict[str, object]] = []

    def decode(line: Line, state: object, near: Near) -> Decoded:
        items = list(reader.decode(line, state, near))
        if any(isinstance(item, Skip) and item.reason == "unknown_shape" for item in items):
            seen.append(line.value)
        return items

    for _ in Whole(source, reader._replace(decode=decode)):
        yield from seen
        seen.clear()
    yield from seen


def _objects(source: Source) -> Iterator[dict[str, object]]:
    with OpenFile(source.path) as file:
        for window in windows(file):
            for line in bytes(memoryview(window.buffer)[: window.end]).split(b"\n"):
                for _, value in parse(line, lambda value: True).values:
                    yield value


def _top(source: Source) -> Iterator[dict[str, object]]:
    """The object that a document is, or the first of its list."""
    import json

    with OpenFile(source.path) as file:
        try:
            value = json.loads(file.whole())
        except (ValueError, RecursionError):
            return
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        yield first


def _keys(value: dict[str, object]) -> tuple[str, ...]:
    """Names of fields, and of fields one level down; what looks like no name is not shown, since somebody may have written it."""
    out: list[str] = []
    for key, inner in value.items():
        out.append(_named(key))
        if isinstance(inner, dict):
            out += [f"{_named(key)}.{_named(deeper)}" for deeper in inner]
    return tuple(dict.fromkeys(out[:_KEYS]))


def _named(key: str) -> str:
    return key if _NAME.fullmatch(key) else "…"
