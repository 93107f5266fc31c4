"""The field table: every name that query text may use before a colon, what it looks at, and how its values compare.

The parser, help, completion and reference come from this table. Knows records and sources, and no agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from ..model import ROLE_OF, Field, Record, Source
from ..refs import ref
from ..text import fold
from ..typed import TYPE_CHECKING, NamedTuple
from . import paths

if TYPE_CHECKING:
    from typing import Literal

    Compare = Literal["whole", "part", "path", "repo", "instant", "control", "text"]

Value = str | int | None


class FieldSpec(NamedTuple):
    """One field. `of_record` gives what a record says (None: nothing); `of_source` what its source already decides.

    `invariant`: what it says holds for the whole conversation, so that evidence can be judged by it.
    """

    name: str
    help: str
    compare: Compare
    of_record: Callable[[Record], Value] = lambda record: None
    of_source: Callable[[Source], Value] | None = None
    aliases: tuple[str, ...] = ()
    invariant: bool = False
    flag: str = ""  # the flag that asks for the same


FIELDS: tuple[FieldSpec, ...] = (
    FieldSpec("agent", "the program whose history it is", "whole", lambda r: r.agent, lambda s: s.agent, invariant=True, flag="--agent"),
    FieldSpec("store", "the file format it was read from", "whole", lambda r: r.store, lambda s: s.store),
    FieldSpec("path", "the file it stands in, by whole segments", "path", lambda r: r.source.path, lambda s: s.path),
    FieldSpec("mtime", "when that file last changed", "instant", lambda r: r.source.mtime_ns // 1000, lambda s: s.mtime_ns // 1000),
    FieldSpec("speaker", "who said it: person, agent, tool, runtime, parent", "whole", lambda r: r.speaker, flag="--speaker"),
    FieldSpec("role", "the same as agents call it: user, assistant, tool, system", "whole", lambda r: ROLE_OF[r.speaker]),
    FieldSpec("kind", "what it is: prompt, command, reply, reasoning, tool_call, ...", "whole", lambda r: r.kind, flag="--kind"),
    FieldSpec("tool", "the tool that was called", "whole", lambda r: r.tool),
    FieldSpec("model", "the model, or a part of its name", "part", lambda r: r.model, flag="--model"),
    FieldSpec("text", "a text, as without any field", "text"),
    FieldSpec("title", "the conversation's title, or a part of it", "part", lambda r: r.title),
    FieldSpec("timestamp", "when it was said: a day, >day, <=day, [day TO day]", "instant", lambda r: r.time_us, aliases=("date",)),
    FieldSpec("since", "from then on: a day, a moment, an age such as 7d", "instant", lambda r: r.time_us, flag="--since"),
    FieldSpec("until", "up to then; a day is included whole", "instant", lambda r: r.time_us, flag="--until"),
    FieldSpec("on", "on this day of your calendar", "instant", lambda r: r.time_us, flag="--on"),
    FieldSpec("cwd", "the working directory, or one above it", "path", lambda r: r.cwd, invariant=True, flag="--cwd"),
    FieldSpec("repo", "the repository's address, its last parts, or its name", "repo", lambda r: r.repo, invariant=True, flag="--repo"),
    FieldSpec("worktree", "the name of the worktree", "whole", lambda r: paths.worktree(r.cwd), invariant=True),
    FieldSpec("branch", "the branch", "whole", lambda r: r.branch, invariant=True, flag="--branch"),
    FieldSpec(
        "project", "the last part of the repository's or the working folder", "whole", lambda r: paths.project(r.repo, r.cwd),
        invariant=True, flag="--project",
    ),
    FieldSpec("conversation", "the conversation's id", "whole", lambda r: r.conversation_id, invariant=True),
    FieldSpec("parent", "the id of the conversation that started it", "whole", lambda r: r.parent_conversation_id, invariant=True),
    FieldSpec("ref", "the record's ref", "whole", ref),
    FieldSpec("origin", "headless for what a script asked", "whole", lambda r: r.origin),
    FieldSpec("scope", "which records may be returned: prompts, conversations, all", "control", flag="--scope"),
    FieldSpec("depth", "which files may be opened: prompt, targeted, exhaustive", "control", aliases=("effort",), flag="--effort"),
)  # fmt: skip
BY_NAME: Mapping[str, FieldSpec] = {name: spec for spec in FIELDS for name in (spec.name, *spec.aliases)}


def of_record(field: Field, record: Record) -> bool | None:
    """Does the record satisfy the field? None where it does not say."""
    spec = BY_NAME[field.name]
    value = spec.of_record(record)
    return None if value is None else satisfies(field, spec, value)


def of_source(field: Field, source: Source) -> bool | None:
    """Does everything in the source satisfy the field, or nothing? None where it takes reading to know."""
    spec = BY_NAME[field.name]
    if spec.of_source is None:
        return None
    value = spec.of_source(source)
    return None if value is None else satisfies(field, spec, value)


def satisfies(field: Field, spec: FieldSpec, value: str | int) -> bool:
    """Is this value what the field asks for?"""
    if isinstance(value, int):
        return (field.low is None or value >= field.low) and (field.high is None or value < field.high)
    if field.value is None:
        return True
    if spec.compare == "part" and not _has_wildcard(field.value):
        return fold(field.value) in fold(value)
    if _has_wildcard(field.value):
        return _glob(field.value).fullmatch(fold(value)) is not None
    return _COMPARE.get(spec.compare, _whole)(value, field.value)


def _whole(value: str, asked: str) -> bool:
    return fold(value) == fold(asked)


_COMPARE: Mapping[str, Callable[[str, str], bool]] = {"path": paths.holds, "repo": paths.is_repo}


def _has_wildcard(asked: str) -> bool:
    return "*" in asked or "?" in asked


@cache
def _glob(asked: str) -> re.Pattern[str]:
    """A value with `*` (any run) and `?` (any one character) as a pattern over folded values. Cannot backtrack without end."""
    # Each star takes as little as it can up to the next piece; possessive groups keep that choice.
    pieces = [re.escape(piece).replace(r"\?", ".") for piece in re.split(r"\*+", fold(asked))]
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL)
