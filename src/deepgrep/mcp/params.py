"""What the tools take: models made from the option table, and errors of one line that name the field and never its value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Literal, get_args

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import ConfigDict, Field, ValidationError, create_model

from ..engine.resolve import CHOICES
from ..engine.resolve import query as make_query
from ..errors import UsageError
from ..model import KINDS, SPEAKERS, Query
from ..options import SEARCH, Option
from ..query.fields import BY_NAME
from ..registry import AGENT_IDS
from .budget import DEFAULT_TOKENS, ESTIMATE, LEAST_TOKENS, MOST_TOKENS

QUERY_LENGTH = 2_000  # code points
WORD_LENGTH = 500
LIMIT = 20
LEAST_DEADLINE_S, MOST_DEADLINE_S = 0.1, 3_600.0
ACTIONS = ("search.targeted", "search.exhaustive", "search.without_failing")

# What the option table says in the words of the command line, said in those of a tool.
_HELP = {
    "literal": "take the whole query as one literal phrase, quotes and all",
    "effort": "which files may be opened; left out: prompt, or exhaustive where the scope needs conversations",
    "scope": "which records may be returned; left out: prompts at prompt effort, else all",
    "order": "left out: relevance with a query, else newest; scan: as found",
    "limit": f"at most this many results (default {LIMIT})",
    "conversation_limit": "with effort targeted: conversations to open (default 25)",
    "dedupe": "fold copies of an utterance into one result",
    "context": "records to show before and after each result",
    "echoes": "also return what this program itself printed into transcripts",
}
_TOKENS = f"bound of the answer (default {DEFAULT_TOKENS}), estimated as {ESTIMATE}"
_DEADLINE = "seconds after which the answer says what was found so far"


class Model(ArgModelBase):
    """Arguments of a tool; nothing but what it names."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


Fields = dict[str, Any]  # what pydantic's create_model takes: a type and a Field for each name


def _option_fields(*leave_out: str) -> Fields:
    """A field for each control of a search."""
    out: Fields = {}
    for option in SEARCH:
        if option.field not in (*leave_out, *out):
            out[option.field] = _field(option)
    return out


def _field(option: Option) -> tuple[Any, Any]:
    text = _HELP.get(option.field) or option.help.removesuffix("; repeatable")
    if option.shape == "switch" and option.field != "effort":
        return bool, Field(default=option.field == "dedupe", description=text)
    if option.shape == "list":
        return list[Literal[option.choices]], Field(default=[], description=text.partition(":")[0])  # type: ignore[name-defined]
    if option.shape == "count":
        return int, Field(default=LIMIT if option.field == "limit" else 0, ge=int(option.field == "limit"), le=10_000, description=text)
    if option.choices:
        return Literal[("", *option.choices)], Field(default="", description=text)
    return str, Field(default="", max_length=WORD_LENGTH, description=text)


def _bounds() -> Fields:
    return {
        "max_tokens": (int, Field(default=DEFAULT_TOKENS, ge=LEAST_TOKENS, le=MOST_TOKENS, description=_TOKENS)),
        "deadline_s": (float, Field(default=0.0, ge=0.0, le=MOST_DEADLINE_S, description=_DEADLINE)),
    }


def _query() -> Fields:
    return {
        "query": (str, Field(default="", max_length=QUERY_LENGTH, description="what to find; may be left out where a filter stands")),
        "match": (Literal["all", "any"], Field(default="all", description="whether a record must hold all of the words, or any of them")),
    }


def _some(name: str, choices: tuple[str, ...], text: str) -> Fields:
    return {name: (list[Literal[choices]], Field(default=[], description=text))}  # type: ignore[valid-type]


def _one(name: str, choices: tuple[str, ...], usual: str, text: str) -> Fields:
    return {name: (Literal[("", *choices)], Field(default=usual, description=text))}


SearchModel = create_model(
    "SearchArguments", __base__=Model, **_query(), **_option_fields("any"),
    **_one("action", ACTIONS, "", "carry out this next action of the summary that the same arguments gave"), **_bounds(),
)  # fmt: skip
ExplainModel = create_model("ExplainArguments", __base__=Model, **_query(), **_option_fields("any"), **_bounds())
RecentModel = create_model(
    "RecentArguments", __base__=Model,
    **{name: field for name, field in _option_fields().items() if name in ("agent", "cwd", "project", "repo", "branch", "since", "until")},
    **_one("effort", ("prompt", "exhaustive"), "prompt", "exhaustive also reads agents without a prompt history"),
    limit=(int, Field(default=LIMIT, ge=1, le=1_000, description="at most this many conversations")), **_bounds(),
)  # fmt: skip
ReadModel = create_model(
    "ReadArguments", __base__=Model,
    ref=(str, Field(min_length=1, max_length=WORD_LENGTH, description="a result's ref, a conversation_id or its unique start")),
    around=(int, Field(default=5, ge=0, le=1_000, description="with a result's ref: records on each side of it")),
    first=(int, Field(default=0, ge=0, description="start at the record of this number, counted from 1")),
    limit=(int, Field(default=50, ge=1, le=10_000, description="at most this many records, where not around a ref")),
    **_some("speaker", SPEAKERS, "only from these speakers"), **_some("kind", KINDS, "only of these kinds"),
    cursor=(str, Field(default="", pattern=r"^(\d{1,9}\.\d{1,12})?$", description="where to go on: the cursor of the last answer")),
    **_bounds(),
)  # fmt: skip
SourcesModel = create_model("SourcesArguments", __base__=Model, **_some("agent", AGENT_IDS, "only these agents"), **_bounds())


def query_of(given: Mapping[str, Any]) -> Query:
    """The request that a tool's arguments make. Raises UsageError in words that hold none of their values."""
    fields = {option.field: given[option.field] for option in SEARCH if option.field in given}
    fields = {name: value for name, value in fields.items() if value not in ("", [])}
    for name in ("conversation_limit", "limit"):
        if not fields.get(name):
            fields.pop(name, None)
    text = given.get("query", "")
    try:
        return make_query((text,) if text else (), surface="mcp", any=given.get("match") == "any", **fields)
    except UsageError as error:
        raise UsageError(_said(error, given)) from None


_WORDS = frozenset((*(word for choices in CHOICES.values() for word in choices), *BY_NAME, *(option.field for option in SEARCH), "query"))
_IN_TOOLS = (
    ("--deep", "effort targeted"), ("--exhaustive", "effort exhaustive"), ("--conversation-limit", "conversation_limit"),
    ("--any", "match any"), ("--", ""),
)  # fmt: skip
_MOMENTS = "a day (2026-01-31, today, yesterday), a moment (2026-01-31T09:00) or an age (12h, 7d, 3mo)"


def _said(error: UsageError, given: Mapping[str, Any]) -> str:
    """The engine's own line where it holds no value that was given; else which field it is, and what would do."""
    line = str(error).splitlines()[0]
    if not any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line) for word in _values(given)):
        for flag, name in _IN_TOOLS:
            line = line.replace(flag, name)
        places = {name: found.start() for name in given if (found := re.search(rf"\b{name}\b", line))}
        return f"{'query' if line.startswith('nothing') or not places else min(places, key=lambda name: places[name])}: {line}"
    column = getattr(error, "column", None)
    takes = re.search(r"choose from ([\w, -]+)$", line)
    if column is not None and takes:
        return f"query: the field at column {column} takes other values: {takes[0]}"
    if column is not None:
        return f"query: makes no sense at column {column}; put text with colons, dashes or parentheses in double quotes, or set literal"
    asked = [name for name in ("since", "until", "on") if given.get(name)]
    if asked:
        return f"{', '.join(asked)}: takes {_MOMENTS}, and since must come before until"
    return "query: it contradicts another argument, or a field in it takes other values; see deepgrep://query-language"


def _values(given: Mapping[str, Any]) -> Iterator[str]:
    """Every word that was given, but for those that the tables know."""
    for value in given.values():
        for text in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
            yield from (word for word in [str(text), *re.findall(r"\w+", str(text))] if word.strip() and word not in _WORDS)


def rejected(error: ValidationError, model: type[ArgModelBase]) -> str:
    """Why arguments were refused: the first field, and what it takes. Never what was given."""
    first = error.errors(include_input=False, include_url=False, include_context=True)[0]
    name = str(first["loc"][0]) if first["loc"] else "arguments"
    if first["type"] == "extra_forbidden":
        close = get_close_matches(name, list(model.model_fields), n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        return f"arguments: one of them is not known{meant}; this tool takes {', '.join(model.model_fields)}"
    if name not in model.model_fields:
        return "arguments: they must be one object of named fields"
    context = first.get("ctx", {})
    fix = {
        "missing": "is required",
        "literal_error": f"choose from {', '.join(_choices(model, name))}",
        "greater_than_equal": f"must be at least {context.get('ge')}",
        "less_than_equal": f"must be at most {context.get('le')}",
        "string_too_long": f"must have at most {context.get('max_length')} characters",
        "string_too_short": "must not be empty",
        "string_pattern_mismatch": "take it from an earlier answer, unchanged",
    }.get(first["type"])
    return f"{name}: {fix or _KINDS.get(first['type'].partition('_')[0], 'has a value of the wrong type; see the schema')}"


def _choices(model: type[ArgModelBase], name: str) -> list[str]:
    """What a field of choices takes, alone or in a list."""
    values = get_args(model.model_fields[name].annotation)
    return [str(value) for value in (get_args(values[0]) or values if values else ()) if value != ""]


_KINDS = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be a text",
    "list": "must be a list",
    "finite": "must be a number",
}
