"""From a query and a machine to the sources that will be read, and an account of those that will not."""

from __future__ import annotations

from collections.abc import Sequence

from ..discovery import Installed, Listing, Machine, installed, listing, loaded
from ..model import NOTHING, TYPED, Agent, Query, Role, Source, Store
from ..query.parse import has_fields
from ..registry import agent
from ..typed import NamedTuple


class AgentPlan(NamedTuple):
    """What was found of one agent. `declared` is None where none of its folders is here."""

    id: str
    declared: Agent | None
    found: Installed
    listing: Listing


class Plan(NamedTuple):
    """Every agent that was looked at, and the sources to read in plan order: prompt histories first, then by name."""

    agents: tuple[AgentPlan, ...]
    sources: tuple[Source, ...]

    @property
    def bytes(self) -> int:
        return sum(source.size for source in self.sources)


def roles(query: Query) -> frozenset[Role]:
    """Which roles of stores the effort and the scope admit."""
    if query.effort != "exhaustive":  # targeted adds what routing proves, and nothing else
        return frozenset({"prompts"})
    return frozenset({"transcript"}) if query.scope == "conversations" else frozenset({"prompts", "transcript"})


def admitted(store: Store, query: Query) -> bool:
    """May this store be opened for this query, and can it hold anything that may be returned?"""
    speakers = set(query.filters.speakers or store.speakers)
    if query.scope == "prompts":
        speakers &= {"person"}
    if query.effort == "targeted":
        speakers = set(store.speakers)  # a prompt history is read for its evidence, whoever may be returned
    kinds = query.filters.kinds
    if store.role == "prompts" and query.effort != "targeted" and kinds and not TYPED.intersection(kinds):
        return False
    return store.role in roles(query) and bool(speakers & set(store.speakers)) and _may_hold(query, store)


def _may_hold(query: Query, store: Store) -> bool:
    """Do the fields of the query let any record of this store pass?"""
    if not has_fields(query.tree):
        return True
    from ..query.evaluate import for_store  # deferred: a query of words needs no field table

    return for_store(query.tree, store.id) != NOTHING


def _worth_opening(query: Query, sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources of which, by their names and times alone, some record may pass."""
    if not has_fields(query.tree) or query.effort == "targeted":  # whose evidence is judged by itself
        return tuple(sources)
    from ..query.evaluate import for_source

    return tuple(source for source in sources if for_source(query.tree, source) != NOTHING)


def plan(query: Query, machine: Machine) -> Plan:
    """List what the query may open. Opens nothing, and lists no folder that the effort excludes."""
    agents = []
    here = {found.id: found for found in installed(machine, query.filters.agents)}
    for agent_id, found in here.items():
        if not found.places:
            agents.append(AgentPlan(agent_id, None, found, Listing(())))
            continue
        declared = loaded(found)
        stores = [store for store in declared.stores if admitted(store, query)]
        listed = listing(found, stores)
        worth = _worth_opening(query, listed.sources)
        pruned = len(listed.sources) - len(worth)
        agents.append(AgentPlan(agent_id, declared, found, listed._replace(sources=worth, pruned=pruned)))
    absent = [agent_id for agent_id in query.filters.agents if agent_id not in here]
    agents += [AgentPlan(agent_id, None, Installed(agent_id, ()), Listing(())) for agent_id in absent]
    sources = [source for one in agents for source in one.listing.sources]
    return Plan(tuple(agents), tuple(sorted(sources, key=_place)))


def _place(source: Source) -> tuple[bool, str, int, str]:
    stores = [store.id for store in agent(source.agent).stores]  # as declared: what stands for a copy comes first
    return source.role != "prompts", source.agent, stores.index(source.store), source.key
