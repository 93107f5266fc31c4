"""`deepgrep fields`: the fields of the query language, from their table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..engine.resolve import CHOICES
from ..query.fields import FIELDS, FieldSpec
from ..wire import SCHEMA_VERSION
from .parser import Parser, answered

# How the values of a field compare with what is asked.
COMPARES = {
    "whole": "the whole value; * and ? are wildcards",
    "part": "a part of the value",
    "folder": "the folder or one above it, by whole segments",
    "path": "whole segments of the path",
    "repo": "the address, its last parts, or its name",
    "instant": "a day, an age, >, >=, <, <=, [a TO b], {a TO b}",
    "control": "a control of the whole search",
    "text": "a text in the record",
}


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "fields", "[--json]",
        "List the fields that a query may name before a colon, as in `agent:codex deploy`.",
        "  deepgrep fields\n"
        "  deepgrep search --exhaustive 'speaker:agent model:gpt* NOT branch:main deploy'",
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="one JSON document")
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_fields, words)


def _fields(words: Sequence[str]) -> int:
    options = parser().parse_args(list(words))
    if options.json:
        from ..render.json import dumped

        sys.stdout.write(dumped({"schema_version": SCHEMA_VERSION, "fields": [_json(spec) for spec in FIELDS]}) + "\n")
        return 0
    width = max(len(_names(spec)) for spec in FIELDS)
    for spec in FIELDS:
        print(f"{_names(spec):<{width}}  {spec.help}{f'; also {spec.flag}' if spec.flag else ''}")
    print("\nfield:* asks that there be any value; * and ? stand for any run and any character; a value with spaces goes in quotes.")
    return 0


def _names(spec: FieldSpec) -> str:
    return ", ".join(f"{name}:" for name in (spec.name, *spec.aliases))


def _json(spec: FieldSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "aliases": list(spec.aliases),
        "help": spec.help,
        "compares": COMPARES[spec.compare],
        "flag": spec.flag or None,
        "decided_by_source": spec.of_source is not None,
        "invariant": spec.invariant,
        "values": list(CHOICES.get(spec.name, ())),
    }
