"""Total orders over groups, and which records pass the filters. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..model import Filters, Query, Record, Score
from ..query.parse import parse, terms
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


def ordered(groups: Iterable[Group], query: Query) -> list[Ranked]:
    """The groups under the query's declared order; `scan` keeps the order in which they come."""
    if query.order == "scan":
        return [(group, None) for group in groups]
    if query.order == "newest":
        return [(group, None) for group in sorted(groups, key=lambda g: newest(g.match.record))]
    scorer = Scorer(terms(parse(query.texts, literal=query.literal, any_term=query.any)))
    ranked: list[Ranked] = [(group, scorer.score(group.match)) for group in groups]
    return sorted(ranked, key=lambda item: (-item[1].total if item[1] else 0, newest(item[0].match.record)))


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
    return filters.repo in (record.repo, _repo_name(record.repo)) or _repo_path(record.repo).endswith("/" + filters.repo.strip("/"))


def _branch(record: Record, filters: Filters) -> bool:
    return filters.branch is None or record.branch == filters.branch


def _speaker(record: Record, filters: Filters) -> bool:
    return not filters.speakers or record.speaker in filters.speakers


def _kind(record: Record, filters: Filters) -> bool:
    return not filters.kinds or record.kind in filters.kinds


def _model(record: Record, filters: Filters) -> bool:
    return filters.model is None or (record.model is not None and filters.model.casefold() in record.model.casefold())


_TESTS: tuple[Callable[[Record, Filters], bool], ...] = (_agent, _time, _cwd, _project, _repo, _branch, _speaker, _kind, _model)


def segments(path: str) -> tuple[str, ...]:
    """A path's segments, split at either separator; an absolute one begins with an empty segment or a drive."""
    parts = re.split(r"[/\\]+", path)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if parts and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts[0] = parts[0].lower()
    return tuple(parts)


def below(path: str, folder: str) -> bool:
    """Is `path` the folder or in it, by whole segments?"""
    inner, outer = segments(path), segments(folder)
    return inner[: len(outer)] == outer


def project(record: Record) -> str | None:
    """The last segment of the recorded repository root or working directory."""
    root = record.repo if record.repo and not _is_remote(record.repo) else record.cwd
    return segments(root)[-1] or None if root else None


def _is_remote(repo: str) -> bool:
    return "://" in repo or re.match(r"[^/\\]+@[^/\\]+:", repo) is not None or repo.endswith(".git")


def _repo_path(repo: str) -> str:
    return "/" + re.sub(r"^\w+://", "", repo).replace(":", "/").replace("\\", "/").removesuffix("/").removesuffix(".git")


def _repo_name(repo: str) -> str:
    return _repo_path(repo).rpartition("/")[2]
