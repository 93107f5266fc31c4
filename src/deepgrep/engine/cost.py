"""What a query would read at each effort, and what it looks for in the bytes, before anything is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .. import registry
from ..discovery import Machine, installed, listing, loaded
from ..model import EFFORTS, Effort, Query, Source
from ..query.parse import has_fields
from ..query.prefilter import runs
from ..typed import NamedTuple
from .plan import plan
from .route import DEFAULT_LIMIT, PROOF_BYTES, has_clue


class Cost(NamedTuple):
    """What an effort may open. `at_most`: an upper bound, since what prompts lead to is known only by reading them."""

    effort: Effort
    scope: str
    sources: int
    bytes: int
    at_most: bool
    asked: bool


class Probing(NamedTuple):
    """What is looked for in the bytes of a store before anything is decoded; nothing where all of it is decoded."""

    store: str
    sources: int
    looks_for: tuple[str, ...]


def costs(query: Query, machine: Machine) -> Iterator[Cost]:
    """The cost of each effort, with the scope that it would have."""
    for effort in EFFORTS:
        asked = at_effort(query, effort)
        sources = plan(asked, machine).sources
        extra, at_most = (0, 0), False
        if effort == "targeted" and has_clue(asked):
            extra, at_most = _selected_at_most(asked, machine), True
        size = sum(source.size for source in sources)
        yield Cost(effort, asked.scope, len(sources) + extra[0], size + extra[1], at_most, effort == query.effort)


def at_effort(query: Query, effort: Effort) -> Query:
    """The same query at another effort: with its own scope where that effort can give it, else with the usual one."""
    if effort == query.effort:
        return query
    scope = query.scope if query.scope_given else "all"
    if effort == "prompt":
        scope = "prompts"
    if effort == "targeted" and scope == "prompts":
        scope = "all"
    limit = (query.conversation_limit or DEFAULT_LIMIT) if effort == "targeted" else None
    return query._replace(effort=effort, scope=scope, conversation_limit=limit)


def _selected_at_most(query: Query, machine: Machine) -> tuple[int, int]:
    """The biggest transcripts that could be selected, and the start of each that proves it."""
    sizes: list[int] = []
    for found in installed(machine, query.filters.agents):
        declared = loaded(found)
        if found.places and declared.locate:
            stores = [store for store in declared.stores if store.id in declared.locate.stores]
            sizes += [source.size for source in listing(found, stores).sources]
    biggest = sorted(sizes, reverse=True)[: query.conversation_limit or DEFAULT_LIMIT]
    return len(biggest), sum(size + min(size, PROOF_BYTES) for size in biggest)


def probes(query: Query, sources: Sequence[Source]) -> Iterator[Probing]:
    """For each store that is planned: what must stand in its bytes."""
    for name, number in Counter(source.store for source in sources).items():
        store = registry.store(name)
        tree = query.tree
        if has_fields(tree):
            from ..query.evaluate import for_store

            tree = for_store(tree, name)
        needed = runs(tree, store.traits.inserted) if store.traits.text_in else None
        yield Probing(name, number, needed or ())
