"""Targeted routing: prompt evidence chooses conversations, and each is resolved by proof to one transcript, or to a reason.

Private and deterministic. Nothing of it is returned: no candidate, no id, no path.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .. import registry
from ..discovery import Installed, Located, locate
from ..files import OpenFile, Unreadable, sibling
from ..model import EVERYTHING, Agent, All, Any, Document, Filters, Lines, Locator, Log, Match, Query, Record, Source, Store, Tree
from ..query.match import matcher
from ..query.parse import clues, has_fields
from ..query.paths import below
from ..typed import NamedTuple
from .lines import members, parse
from .order import project

ENTRY_BUDGET = 200_000  # directory entries that locating may list in one request
PROOF_BYTES = 1 << 20  # of each file whose name carries a selected id
DEFAULT_LIMIT = 25  # conversations; docs/efforts.md shows what a higher one finds


class Candidate(NamedTuple):
    """A conversation that evidence names, with its evidence."""

    agent: str
    native_id: str
    evidence: tuple[Record, ...]


class Conversation(NamedTuple):
    """A selected conversation that is proved: the sources that are all of it."""

    agent: str
    sources: tuple[Source, ...]


class Routed(NamedTuple):
    """What routing came to: proved conversations in the order of their evidence, and counts for each agent."""

    conversations: tuple[Conversation, ...] = ()
    counts: Mapping[str, Mapping[str, int]] = {}
    has_clue: bool = True


def evidence_query(query: Query) -> Query:
    """What prompt records must satisfy to be evidence: any positive text clue, whatever the other controls say.

    Without the limit, which is for results: every prompt that matches may lead to a conversation.
    """
    positive = clues(query.tree)
    tree: Tree = Any(positive) if positive else EVERYTHING
    if not _needs_clue(query.tree):  # a prompt may be an answer without being evidence
        tree = Any((*positive, query.tree)) if positive else EVERYTHING
    return query._replace(tree=tree, scope="prompts", limit=None, filters=Filters(agents=query.filters.agents))


def evidence_of(query: Query, matches: Sequence[Match]) -> Sequence[Match]:
    """Which of the prompts that the evidence query matches are evidence."""
    positive = clues(query.tree)
    if not positive or _needs_clue(query.tree):
        return matches
    match = matcher(Any(positive))
    return [found for found in matches if match(found.record.text) is not None]


def _needs_clue(tree: Tree) -> bool:
    """Can the tree hold only where one of its clues does?"""
    if isinstance(tree, (All, Any)):
        return (any if isinstance(tree, All) else all)(_needs_clue(part) for part in tree.parts)
    return tree in clues(tree)


def has_clue(query: Query) -> bool:
    """Is there anything positive that evidence could satisfy: a text, or metadata that holds for a whole conversation?"""
    filters = query.filters
    if clues(query.tree) or filters.agents or any((filters.cwd, filters.project, filters.repo, filters.branch)):
        return True
    if not has_fields(query.tree):
        return False
    from ..query.evaluate import asked_fields  # deferred: a query of words needs no field table
    from ..query.fields import BY_NAME

    return any(BY_NAME[field.name].invariant for field in asked_fields(query.tree))


def admits(record: Record, query: Query) -> bool | None:
    """Do the predicates on a conversation hold for this evidence? None where the history does not say."""
    by_filters, by_fields = _admitted(record, query.filters), _fields_admit(record, query)
    if by_filters is False or by_fields is False:
        return False
    return True if by_filters and by_fields else None


def _fields_admit(record: Record, query: Query) -> bool | None:
    if not has_fields(query.tree):
        return True
    from ..query.evaluate import asked_fields, of_evidence
    from ..query.fields import BY_NAME, of_record

    if of_evidence(query.tree, record) is False:
        return False
    invariants = [field for field in asked_fields(query.tree) if BY_NAME[field.name].invariant]
    return True if all(of_record(field, record) is not None for field in invariants) else None


def _admitted(record: Record, filters: Filters) -> bool | None:
    verdicts = [verdict for known, verdict in _predicates(record, filters) if known]
    if False in verdicts:
        return False
    return None if len(verdicts) < len(_predicates(record, filters)) else True


def _predicates(record: Record, filters: Filters) -> list[tuple[bool, bool]]:
    """For each predicate that was asked: whether the record tells, and what it says."""
    out = []
    if filters.cwd is not None:
        out.append((record.cwd is not None, record.cwd is not None and below(record.cwd, filters.cwd)))
    if filters.project is not None:
        out.append((project(record) is not None, project(record) == filters.project))
    if filters.repo is not None:
        out.append((record.repo is not None, record.repo == filters.repo))
    if filters.branch is not None:
        out.append((record.branch is not None, record.branch == filters.branch))
    return out


def candidates(evidence: Iterable[Match], query: Query, agents: Mapping[str, Agent]) -> tuple[list[Candidate], dict[str, Counter[str]]]:
    """Conversations by their newest evidence, and counts of evidence that leads nowhere or may not belong."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in agents}
    groups: dict[tuple[str, str], list[Record]] = {}
    for match in evidence:
        record = match.record
        verdict = admits(record, query)
        if verdict is False:
            continue
        locator = agents[record.agent].locate
        native = record.conversation_id
        if native is None or locator is None or locator.key(native) is None:
            counts[record.agent]["unroutable"] += 1
            continue
        counts[record.agent]["undecided"] += verdict is None
        groups.setdefault((record.agent, native), []).append(record)
    found = [Candidate(agent, native, tuple(records)) for (agent, native), records in groups.items()]
    for one in found:
        counts[one.agent]["eligible"] += 1
    return sorted(found, key=_newest), counts


def _newest(candidate: Candidate) -> tuple[bool, int, str, str]:
    times = [record.time_us for record in candidate.evidence if record.time_us is not None]
    return not times, -max(times, default=0), candidate.agent, candidate.native_id


def route(query: Query, evidence: Sequence[Match], agents: Mapping[str, tuple[Agent, Installed]]) -> Routed:
    """Select at most `query.conversation_limit` conversations and prove each. Lists names, and opens only proofs."""
    if not has_clue(query):
        return Routed(has_clue=False)
    found, counts = candidates(evidence, query, {name: declared for name, (declared, _) in agents.items()})
    selected = found[: query.conversation_limit or DEFAULT_LIMIT]
    budget = ENTRY_BUDGET
    proved: dict[tuple[str, str], tuple[Source, ...]] = {}
    for name in dict.fromkeys(candidate.agent for candidate in selected):
        declared, here = agents[name]
        assert declared.locate is not None
        mine = [candidate for candidate in selected if candidate.agent == name]
        files, located = _files(mine, declared, declared.locate, here, budget)
        budget = located.left
        for candidate in mine:
            counts[name]["selected"] += 1
            key = declared.locate.key(candidate.native_id) or ""
            outcome, sources, proofs = _resolve(candidate, files.get(key, []), declared.locate)
            if outcome == "unresolved":
                outcome = _not_found(key, declared.locate, located)
            counts[name][outcome] += 1
            counts[name]["proofs"] += proofs
            if sources:
                proved[name, candidate.native_id] = sources
    conversations = tuple(Conversation(c.agent, proved[c.agent, c.native_id]) for c in selected if (c.agent, c.native_id) in proved)
    return Routed(conversations, {name: dict(counted) for name, counted in counts.items()})


def prove(native_id: str, declared: Agent, here: Installed) -> tuple[str, tuple[Source, ...]]:
    """One conversation by its id alone: the outcome, and the sources that are it; for `ambiguous` those whose names carry it."""
    locator = declared.locate
    key = locator.key(native_id) if locator else None
    if locator is None or key is None:
        return "unresolved", ()
    candidate = Candidate(declared.id, native_id, ())
    files, located = _files([candidate], declared, locator, here, ENTRY_BUDGET)
    outcome, sources, _ = _resolve(candidate, files.get(key, []), locator)
    return (_not_found(key, locator, located) if outcome == "unresolved" else outcome), sources or tuple(files.get(key, ()))


def _files(
    mine: Sequence[Candidate], declared: Agent, locator: Locator, here: Installed, budget: int
) -> tuple[dict[str, list[Source]], Located]:
    """The files whose names carry a selected id, by the key in the name; one walk for all of an agent's candidates."""
    keys = {locator.key(candidate.native_id) for candidate in mine}
    stores: list[Store] = [store for store in declared.stores if store.id in locator.stores]
    located = locate(here, stores, lambda place: _key(place, locator) in keys, budget)
    files: dict[str, list[Source]] = {}
    for source in located.sources:
        place = source.key[: source.key.rfind("/") + 1] + source.stem
        files.setdefault(_key(place, locator) or "", []).append(source)
    return files, located


def _not_found(key: str, locator: Locator, located: Located) -> str:
    """Why no file carries an id: none does, its name leads nowhere, or not every folder could be looked into."""
    if located.left < 0:
        return "budget_exhausted"
    if any(_key(place, locator) == key for place in located.gone):
        return "stale"
    return "unreadable" if located.broken else "unresolved"


def _key(place: str, locator: Locator) -> str | None:
    """The key that a file's place below the root carries, or None where it lies too high to carry one."""
    if not locator.level:
        return locator.names(place[place.rfind("/") + 1 :])
    names = place.split("/")
    return locator.names(names[-1 - locator.level]) if locator.level < len(names) else None


def _resolve(candidate: Candidate, files: Sequence[Source], locator: Locator) -> tuple[str, tuple[Source, ...], int]:
    """The outcome for one candidate, the sources where it is `resolved`, and how many files were opened to prove it."""
    if not files:
        return "unresolved", (), 0
    claims = [(source, _claim(source, candidate.native_id, locator)) for source in files]
    proved = [source for source, claim in claims if claim == "proved"]
    if len(proved) > 1:
        chosen = locator.choose(proved, candidate.evidence)
        return ("resolved", chosen, len(files)) if chosen else ("ambiguous", (), len(files))
    if proved:
        return "resolved", tuple(proved), len(files)
    return ("unreadable" if any(claim == "unreadable" for _, claim in claims) else "stale"), (), len(files)


def _claim(source: Source, native_id: str, locator: Locator) -> str:
    """`proved` where one of the first objects claims the id, `stale` where they claim none or another, `unreadable`."""
    try:
        with OpenFile(source.path) as file:
            raw = file.start(PROOF_BYTES)
    except Unreadable:
        return "unreadable"
    if locator.header is None:
        return "proved" if raw.strip() else "stale"
    reader = registry.store(source.store).reader
    if isinstance(reader, Document):
        claim = locator.header(members(raw.decode("utf-8", "replace")))
        return "proved" if claim == native_id else "stale"
    # An object inside a line that is damaged or cut off claims nothing, unless it is a whole line of the format.
    is_line = reader.is_line if isinstance(reader, Lines | Log) else _never
    looked_at, claimed = 0, False
    for line in raw.split(b"\n"):
        for _, value in parse(line, is_line).values:
            looked_at += 1
            claim = locator.header(value)
            if claim == native_id:
                return "proved"
            claimed = claimed or claim is not None
        if looked_at >= locator.head:
            break
    if locator.beside and not claimed and _claimed_beside(source, locator) == native_id:
        return "proved"
    return "stale" if looked_at else "unreadable"


def _never(value: dict[str, object]) -> bool:
    return False


def _claimed_beside(source: Source, locator: Locator) -> str | None:
    """The id that the file beside a transcript claims; None where there is none, or it is no object."""
    folder = os.path.relpath(os.path.dirname(source.path), source.root).replace(os.sep, "/")
    raw = sibling(source.root, f"{folder}/{locator.beside}", PROOF_BYTES)
    try:
        value = None if raw is None else json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return locator.header(value) if isinstance(value, dict) and locator.header else None
