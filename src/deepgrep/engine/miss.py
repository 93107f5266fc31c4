"""Why a search found nothing: in how many records each part of its text stands, and what the filters left out.

Reads once more what the search read, and nothing else; only when it is asked for, so that a search pays nothing for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ..model import EVERYTHING, All, Any, Filters, Query, Record, Source, Term, Tree
from ..query.evaluate import holds
from ..query.language import show
from ..query.match import matcher
from ..query.parse import terms
from ..typed import NamedTuple
from .order import passes
from .read import Task, read

Test = Callable[[Record], bool]


class Removal(NamedTuple):
    """A filter, field or exclusion: how many records whose text matched it left out, and how many of them it alone left out."""

    what: str
    removed: int
    alone: int


class Miss(NamedTuple):
    """`terms`: in how many records each part of the text stands; `text_matched`: how many hold all that is asked of the text."""

    sources: int
    terms: Mapping[str, int]
    text_matched: int
    removed: tuple[Removal, ...]


def miss(query: Query, sources: Iterable[Source]) -> Miss:
    """What became of the records of these sources that the text of a query could have found."""
    read_again = tuple(dict.fromkeys(sources))
    parts = query.tree.parts if isinstance(query.tree, All) else (query.tree,)
    asked = [part for part in parts if isinstance(part, Term) or terms(part)]
    tests = _tests(query, [part for part in parts if part not in asked])
    # Of the filters, reading looks only at this kind: with it, injected context is returned like everything else.
    every = Filters(kinds=("context",))
    relaxed = query._replace(tree=Any(tuple(asked)) if asked else EVERYTHING, filters=every, scope="all", limit=None, order="scan")
    finders = {show(part): matcher(part) for part in asked}
    found: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    whole = 0
    for record in _records(relaxed, read_again):
        standing = {name for name, find in finders.items() if find(record.text) is not None}
        found.update(standing)
        if len(standing) < len(finders):
            continue
        whole += 1
        failing = [name for name, test in tests.items() if not test(record)]
        removed.update(failing)
        alone.update(failing if len(failing) == 1 else ())
    left_out = tuple(Removal(name, number, alone[name]) for name, number in removed.most_common())
    return Miss(len(read_again), {name: found[name] for name in finders}, whole, left_out)


def _records(relaxed: Query, sources: Iterable[Source]) -> Iterable[Record]:
    """Source by source, so that no more than the matches of one is held."""
    for source in sources:
        for match in read(Task(relaxed, source, whole=True)).matches:
            yield match.record


def _tests(query: Query, rest: Iterable[Tree]) -> dict[str, Test]:
    """By the name that a person gave it, everything beside the text that a record must pass."""
    out: dict[str, Test] = {}
    if query.scope == "prompts":
        out["scope prompts"] = lambda record: record.speaker == "person"
    elif query.scope == "conversations":
        out["scope conversations"] = lambda record: record.source.role == "transcript"
    if "context" not in query.filters.kinds and "runtime" not in query.filters.speakers:
        out["injected context, without --kind context"] = lambda record: record.kind != "context"
    out.update(_filter_tests(query.filters))
    for part in rest:
        out[show(part)] = _tree_test(part)
    return out


def _filter_tests(filters: Filters) -> dict[str, Test]:
    """One test for each filter that is set, by its flag: the ordinary test with only that filter."""
    nothing = Filters()
    flags = {"agents": "--agent", "speakers": "--speaker", "kinds": "--kind", "since_us": "--since", "until_us": "--until"}
    out: dict[str, Test] = {}
    for name, value in filters._asdict().items():
        if value != getattr(nothing, name):
            only = nothing._replace(**{name: value})
            out[flags.get(name, f"--{name}")] = lambda record, only=only: passes(record, only)  # type: ignore[misc]
    return out


def _tree_test(part: Tree) -> Test:
    return lambda record: holds(part, record)
