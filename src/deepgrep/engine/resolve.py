"""From what a surface was given to one normalized Query: the effort and scope table, choices, limits. Pure but for the clock."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ..errors import UsageError
from ..model import (
    EFFORTS,
    EVERYTHING,
    KINDS,
    ORDERS,
    ROLE_OF,
    SCOPES,
    SPEAKERS,
    All,
    Effort,
    Field,
    Filters,
    Not,
    Pattern,
    Query,
    Scope,
    Tree,
)  # fmt: skip
from ..model import Any as AnyOf
from ..query.parse import Parsed, has_fields, parse, terms
from ..registry import AGENT_IDS
from ..registry import agent as agent_of
from ..typed import TYPE_CHECKING
from .route import DEFAULT_LIMIT

if TYPE_CHECKING:
    from typing import Literal

    Surface = Literal["cli", "tui", "mcp", "library"]

_EFFORT_WORDS = {"deep": "targeted"}


def controls(surface: Surface, effort: str | None, scope: str | None) -> tuple[Effort, Scope, bool]:
    """Effort, scope, and whether the scope was given, by the table of design.md 3. Raises UsageError for its errors."""
    asked = _choice("effort", _EFFORT_WORDS.get(effort, effort), EFFORTS) if effort is not None else None
    wanted = _choice("scope", scope, SCOPES) if scope is not None else None
    if asked is None:
        asked = "exhaustive" if wanted in ("conversations", "all") else "prompt"
    if asked == "prompt" and wanted in ("conversations", "all"):
        raise UsageError(f"effort prompt reads no conversation, so it cannot return scope {wanted}: use --exhaustive, or --scope prompts")
    if asked == "targeted" and wanted == "prompts":
        raise UsageError("effort targeted opens conversations to return them: use --scope all, or --exhaustive for prompts alone")
    if wanted is not None:
        return asked, wanted, True  # type: ignore[return-value]
    inferred: Scope = "prompts"
    if asked == "targeted" or (asked == "exhaustive" and surface in ("mcp", "library")):
        inferred = "all"
    return asked, inferred, False  # type: ignore[return-value]


def query(
    texts: Iterable[str] = (),
    *,
    surface: Surface = "library",
    literal: bool = False,
    any: bool = False,  # noqa: A002 - the request's own word
    effort: str | None = None,
    scope: str | None = None,
    order: str | None = None,
    limit: int | None = None,
    agent: Iterable[str] = (),
    cwd: str | None = None,
    project: str | None = None,
    repo: str | None = None,
    branch: str | None = None,
    since: str | None = None,
    until: str | None = None,
    on: str | None = None,
    speaker: Iterable[str] = (),
    kind: Iterable[str] = (),
    model: str | None = None,
    dedupe: bool = True,
    context: int = 0,
    echoes: bool = True,
    conversation_limit: int | None = None,
    pattern: Pattern | None = None,
) -> Query:
    """A request as every surface makes it; with `pattern`, for that instead of texts. Raises UsageError, one line that names the fix."""
    texts = tuple(texts) if pattern is None else pattern.texts
    tree, warnings = Parsed(pattern) if pattern else parse(texts, literal=literal, any_term=any, choices=CHOICES)
    if has_fields(tree):
        tree, said = _without_controls(tree)
        effort, scope = _agreed("effort", effort, said.get("depth")), _agreed("scope", scope, said.get("scope"))
        if said:
            texts = _texts(tree)
            literal = any = False  # noqa: A001 - what is left says itself how its parts hang together
        flags = {"--agent": agent, "--cwd": cwd, "--project": project, "--repo": repo, "--branch": branch, "--model": model}
        _check_fields(tree, flags | {"--speaker": speaker, "--kind": kind, "--since": since, "--until": until, "--on": on})
    asked, wanted, given = controls(surface, effort, scope)
    since_us, until_us = _moments(since, until, on)
    filters = Filters(
        agents=choices("agent", agent, AGENT_IDS),
        cwd=_folder(cwd) if cwd is not None else None,
        project=_named("project", project),
        repo=_named("repo", repo),
        branch=_named("branch", branch),
        since_us=since_us,
        until_us=until_us,
        speakers=choices("speaker", speaker, SPEAKERS),
        kinds=choices("kind", kind, KINDS),
        model=_named("model", model),
    )
    if tree == EVERYTHING and filters == Filters():
        raise UsageError("nothing to search for: give a text, or a filter such as --agent, --project or --since")
    _at_least("limit", limit, 1)
    _at_least("context", context, 0)
    _at_least("conversation-limit", conversation_limit, 1)
    if asked == "targeted":
        conversation_limit = conversation_limit or DEFAULT_LIMIT
    elif conversation_limit is not None:
        raise UsageError("--conversation-limit bounds what targeted effort may open: add --deep, or leave it out")
    applied = _choice("order", order, ORDERS) if order is not None else "relevance" if terms(tree) else "newest"
    return Query(
        texts,
        literal,
        any,
        asked,
        wanted,
        given,
        applied,  # type: ignore[arg-type]
        limit,
        filters,
        dedupe,
        context,
        conversation_limit,
        tree,
        warnings,
        echoes,
    )


CHOICES = {
    "agent": AGENT_IDS,
    "speaker": SPEAKERS,
    "role": tuple(sorted(set(ROLE_OF.values()))),
    "kind": KINDS,
    "scope": SCOPES,
    "depth": (*EFFORTS, *_EFFORT_WORDS),
}
_CONTROLS = ("depth", "scope")


def _without_controls(tree: Tree) -> tuple[Tree, dict[str, str]]:
    """The tree without `scope:` and `depth:`, and what they said. They must stand beside the rest, not excluded, not in OR."""
    from ..query.evaluate import fields  # deferred: a query of words needs no field table

    said: dict[str, str] = {}
    rest: list[Tree] = []
    for part in _flat(tree):
        if isinstance(part, Field) and part.name in _CONTROLS:
            word = _EFFORT_WORDS.get(part.value or "", part.value or "").lower()
            if said.setdefault(part.name, word) != word:
                raise UsageError(f"{part.name}: is given as {said[part.name]} and as {word}: give it once")
        else:
            rest.append(part)
    if inner := [field.name for part in rest for field in fields(part) if field.name in _CONTROLS]:
        raise UsageError(f"{inner[0]}: holds for the whole search: it cannot be excluded, nor be one side of OR")
    return rest[0] if len(rest) == 1 else All(tuple(rest)), said


def _flat(tree: Tree) -> Iterator[Tree]:
    """What must hold side by side, also in groups."""
    if isinstance(tree, All):
        for part in tree.parts:
            yield from _flat(part)
    else:
        yield tree


def placed(tree: Tree, home: str) -> Tree:
    """The tree with `~`, `.` and `..` of its folders and files followed, and links too: records may hold either spelling."""
    if isinstance(tree, Not):
        return Not(placed(tree.part, home))
    if isinstance(tree, (All, AnyOf)):
        return type(tree)(tuple(placed(part, home) for part in tree.parts))
    if not isinstance(tree, Field) or tree.name not in ("cwd", "path") or not tree.value:
        return tree
    first = re.split(r"[/\\]", tree.value, maxsplit=1)[0]
    value = home + tree.value[1:] if first == "~" else os.path.abspath(tree.value) if first in (".", "..") else tree.value
    field = tree._replace(value=value)
    if not os.path.isabs(value) or "*" in value or "?" in value or "\0" in value:
        return field
    real = os.path.realpath(value)
    return field if real == os.path.normpath(value) else AnyOf((field, field._replace(value=real)))


def _agreed(what: str, flag: str | None, text: str | None) -> str | None:
    if flag is not None and text is not None:
        raise UsageError(f"--{what} and {'depth' if what == 'effort' else what}: in the text say the same thing: give one of them")
    return text if flag is None else flag


def _check_fields(tree: Tree, flags: Mapping[str, object]) -> None:
    from ..query.evaluate import fields
    from ..query.fields import BY_NAME

    for field in fields(tree):
        if field.name == "store" and field.value and "*" not in field.value and "?" not in field.value:
            _check_store(field.value.lower())
        flag = BY_NAME[field.name].flag
        if flags.get(flag):
            raise UsageError(f"{flag} and {field.name}: in the text say the same thing: give one of them")


def _check_store(name: str) -> None:
    """Raise UsageError for a store that no agent has: one that nothing can be in would find nothing, and not say why."""
    owner = name.partition(".")[0]
    if owner not in AGENT_IDS:
        raise UsageError(f"unknown store {name!r}: a store is called AGENT.NAME, as `deepgrep stores` lists them")
    _choice("store", name, tuple(store.id for store in agent_of(owner).stores))


def _texts(tree: Tree) -> tuple[str, ...]:
    from ..query.language import show

    shown = show(tree)
    return (shown,) if shown else ()


def _choice(what: str, given: str, choices: tuple[str, ...]) -> str:
    if given in choices:
        return given
    raise UsageError(f"unknown {what} {given!r}{nearest(given, choices)}; choose from {', '.join(choices)}")


def choices(what: str, given: Iterable[str], known: tuple[str, ...]) -> tuple:  # type: ignore[type-arg]
    """Distinct choices in the order of `known`; each may be a list separated by commas."""
    words = [word.strip() for one in given for word in one.split(",")]
    return tuple(sorted({_choice(what, word, known) for word in words}, key=known.index))


def nearest(given: str, choices: Iterable[str]) -> str:
    """` (did you mean X?)` where a choice is close, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(given.lower(), list(choices), n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""


def _named(what: str, given: str | None) -> str | None:
    if given is not None and not given.strip():
        raise UsageError(f"--{what} is empty: name one, or leave the flag out")
    return given


def _folder(given: str) -> str:
    """The folder as it would stand in a record: absolute; a path of another system stays as given."""
    if not given.strip():
        raise UsageError("--cwd is empty: name a folder, or leave the flag out")
    if given[1:3] in (":\\", ":/") or given.startswith("\\\\"):
        return given
    return os.path.abspath(os.path.expanduser(given))


def _at_least(what: str, given: int | None, least: int) -> None:
    if given is not None and given < least:
        raise UsageError(f"--{what} must be at least {least}, not {given}" + (": leave it out for no limit" if what == "limit" else ""))


def _moments(since: str | None, until: str | None, on: str | None) -> tuple[int | None, int | None]:
    if since is None and until is None and on is None:
        return None, None
    from ..query.dates import day_of, end_of, start_of

    if on is not None:
        if since is not None or until is not None:
            raise UsageError("--on names one day: use it alone, or --since with --until")
        return day_of(on)
    bounds = (None if since is None else start_of(since), None if until is None else end_of(until))
    if bounds[0] is not None and bounds[1] is not None and bounds[0] >= bounds[1]:
        raise UsageError(f"--since {since} is not before --until {until}: nothing can lie between them")
    return bounds


def patched(given: Mapping[str, object], patch: Mapping[str, object], surface: Surface = "library") -> Query:
    """The request of a summary with a next action's patch applied, as a valid Query."""
    fields = {**given, **patch}
    texts = fields.pop("texts")
    if fields["effort"] != "targeted":
        fields.pop("conversation_limit", None)
    known = {name: value for name, value in fields.items() if value is not None}
    return query(texts, surface=surface, **known)  # type: ignore[arg-type]
