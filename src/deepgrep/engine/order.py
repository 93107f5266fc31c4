"""Total orders over groups, and which records pass the filters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..model import Filters, Query, Record, Score
from ..query import paths
from ..query.parse import has_fields, terms
from ..query.paths import below
from .fold import Group
from .relevance import Scorer

Ranked = tuple[Group, Score | None]  # a group and its score, where the order has one


def newest(record: Record) -> tuple[object, ...]:
    """Newest instant first, then agent, conversation, position; undated last. A total order over distinct records."""
    undated = record.time_us is None
    return (
        undated, -(record.time_us or 0), record.agent, record.conversation_id or "",
        record.store, record.source.key, record.position, record.block,
    )  # fmt: skip


def stands_alone(record: Record, query: Query) -> tuple[object, ...] | None:
    """What tells a record from others that certainly are other results; None where it may be another spelling or a copy."""
    if query.dedupe and (record.source.role != "transcript" or record.channel or record.inherited_from is not None):
        return None
    if query.dedupe and record.native_id is not None:
        return record.agent, record.native_id, record.block
    return record.source.key, record.position, record.block


def ordered(groups: Iterable[Group], query: Query) -> list[Ranked]:
    """The groups under the query's declared order; `scan` keeps the order in which they come."""
    if query.order == "scan":
        return [(group, None) for group in groups]
    if query.order == "newest":
        return [(group, None) for group in sorted(groups, key=lambda g: newest(g.match.record))]
    scorer = Scorer(terms(query.tree))
    ranked: list[Ranked] = [(group, scorer.score(group.match)) for group in groups]
    return sorted(ranked, key=lambda item: (-item[1].total if item[1] else 0, newest(item[0].match.record)))


def answers(record: Record, query: Query) -> bool:
    """Is a record whose text may match an answer: by the filters, and by the fields in the query's text?"""
    if not passes(record, query.filters):
        return False
    if not has_fields(query.tree):
        return True
    from ..query.evaluate import holds  # deferred: a query of words needs no field table

    return holds(query.tree, record)


def passes(record: Record, filters: Filters) -> bool:
    """Do the filters admit this record? What a record does not say is not what was asked for."""
    return all(test(record, filters) for test in _TESTS)


def _agent(record: Record, filters: Filters) -> bool:
    return not filters.agents or record.agent in filters.agents


def _time(record: Record, filters: Filters) -> bool:
    if filters.since_us is None and filters.until_us is None:
        return True
    if record.time_us is None:
        return False
    return (filters.since_us is None or record.time_us >= filters.since_us) and (
        filters.until_us is None or record.time_us < filters.until_us
    )


def _cwd(record: Record, filters: Filters) -> bool:
    return filters.cwd is None or (record.cwd is not None and below(record.cwd, filters.cwd))


def _project(record: Record, filters: Filters) -> bool:
    return filters.project is None or project(record) == filters.project


def _repo(record: Record, filters: Filters) -> bool:
    if filters.repo is None:
        return True
    if record.repo is None:
        return False
    return paths.is_repo(record.repo, filters.repo)


def _branch(record: Record, filters: Filters) -> bool:
    return filters.branch is None or record.branch == filters.branch


def _speaker(record: Record, filters: Filters) -> bool:
    return not filters.speakers or record.speaker in filters.speakers


def _kind(record: Record, filters: Filters) -> bool:
    return not filters.kinds or record.kind in filters.kinds


def _model(record: Record, filters: Filters) -> bool:
    return filters.model is None or (record.model is not None and filters.model.casefold() in record.model.casefold())


_TESTS: tuple[Callable[[Record, Filters], bool], ...] = (_agent, _time, _cwd, _project, _repo, _branch, _speaker, _kind, _model)


def project(record: Record) -> str | None:
    """The last segment of the recorded repository root or working directory."""
    return paths.project(record.repo, record.cwd)
