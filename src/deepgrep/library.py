"""The library: one call that returns an Answer, one that streams events. The same engine as every other surface."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from .discovery import Machine, around
from .engine.resolve import query as make_query
from .engine.search import search as run
from .errors import EngineError, UsageError
from .files import inside
from .model import Event, Finished, Query, Result, Summary
from .options import LISTS
from .typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Unpack

    from .schema import Options


class Answer(NamedTuple):
    """What a search found, in the query's order, and the one account of what was read."""

    results: tuple[Result, ...]
    summary: Summary


def machine(home: str | os.PathLike[str] | None = None, project_roots: Iterable[str | os.PathLike[str]] = ()) -> Machine:
    """This user's machine, or another home, whose owner's variables are not ours. Raises UsageError for no such folder.

    Agents' files in projects are looked for around the working directory, in another home only if it lies there, and in `project_roots`.
    """
    projects = tuple(_folder(root, "--project-root", "a folder of a project") for root in project_roots)
    if home is None:
        own = os.path.expanduser("~")
        return Machine(own, os.environ, (*projects, *_at_hand(own, anywhere=True)))
    path = _folder(home, "--home", "a folder to read as if it were a home")
    return Machine(path, {}, (*projects, *_at_hand(path, anywhere=False)))


def _folder(given: str | os.PathLike[str], flag: str, what: str) -> str:
    if not os.fspath(given):
        raise UsageError(f"{flag} is empty: name {what}, or leave the flag out")
    path = os.path.abspath(os.path.expanduser(os.fspath(given)))
    if not os.path.isdir(path):
        raise UsageError(f"no such folder: {os.fspath(given)}: {flag} names {what}")
    return path


def _at_hand(home: str, *, anywhere: bool) -> tuple[str, ...]:
    """The folders of the project that the working directory lies in."""
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        return ()
    return around(here, home) if anywhere or inside(here, home) else ()


def request(text: str | Iterable[str] = (), **options: Unpack[Options]) -> Query:
    """A Query from the library's words; `options` are those of `engine.resolve.query`. Raises UsageError."""
    texts = ((text,) if text else ()) if isinstance(text, str) else tuple(text)
    fields = {name: (value,) if name in LISTS and isinstance(value, str) else value for name, value in options.items()}
    try:
        return make_query(texts, **fields)  # type: ignore[arg-type]
    except TypeError as error:
        raise UsageError(f"unknown option: {error}") from error


def events(
    text: str | Iterable[str] = (),
    *,
    home: str | os.PathLike[str] | None = None,
    project_roots: Iterable[str | os.PathLike[str]] = (),
    cancelled: Callable[[], bool] | None = None,
    **options: Unpack[Options],
) -> Iterator[Event]:
    """Started, SourceFinished, Result and one Finished, as the search goes. Closing the iterator ends the search.

    `options`: effort, scope, order, limit, literal, any, agent, cwd, project, repo, branch, since, until, on, speaker,
    kind, model, dedupe, context. Raises UsageError at once for a request that makes no sense.
    """
    made, where = request(text, **options), machine(home, project_roots)
    return run(made, where, cancelled=cancelled) if cancelled else run(made, where)


def search(
    text: str | Iterable[str] = (),
    *,
    home: str | os.PathLike[str] | None = None,
    project_roots: Iterable[str | os.PathLike[str]] = (),
    **options: Unpack[Options],
) -> Answer:
    """Search and wait for the whole answer: `search("deploy", effort="exhaustive", limit=20)`.

    Options as for `events`. Raises UsageError for a request that makes no sense; what is on disk raises nothing.
    """
    results: list[Result] = []
    for event in events(text, home=home, project_roots=project_roots, **options):
        if isinstance(event, Result):
            results.append(event)
        elif isinstance(event, Finished):
            return Answer(tuple(results), event.summary)
    raise EngineError("the search ended without a summary")
