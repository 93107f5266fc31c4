"""Every command with its flags and their values, as completion and the reference are made of. Loads all commands."""

from __future__ import annotations

import argparse
from importlib import import_module

from .. import registry
from ..engine.resolve import CHOICES
from ..model import KINDS, SPEAKERS
from ..options import SEARCH
from ..query.fields import FIELDS
from ..typed import NamedTuple
from .main import COMMANDS

_FOLDERS = ("home", "cwd", "project_root")
_QUERIES = ("search", "explain")
_NAMED = ("show", "resume")


class Flag(NamedTuple):
    """One flag of a command. `values`: what may follow; `folder`: a folder may."""

    names: tuple[str, ...]
    metavar: str  # empty for a switch
    values: tuple[str, ...]
    folder: bool
    help: str
    group: str


class CommandWords(NamedTuple):
    """One command. `takes`: query, file, or nothing that could be completed; `words`: those that it takes instead."""

    name: str
    help: str
    description: str
    usage: str
    examples: str
    flags: tuple[Flag, ...]
    positionals: tuple[Flag, ...]
    takes: str
    words: tuple[str, ...] = ()


def commands() -> tuple[CommandWords, ...]:
    """Every command, in the order of the help."""
    return tuple(_command(name, text) for name, text in COMMANDS.items())


def query_words() -> tuple[str, ...]:
    """What a query may name: each field with a colon, and with each of its values where they are known."""
    known = {**CHOICES, "store": _stores()}
    names = [f"{name}:" for spec in FIELDS for name in (spec.name, *spec.aliases)]
    return (*names, *(f"{field}:{value}" for field, values in known.items() for value in values))


def _stores() -> tuple[str, ...]:
    return tuple(store.id for agent_id in registry.AGENT_IDS for store in registry.agent(agent_id).stores)


def _command(name: str, text: str) -> CommandWords:
    made = import_module(f".{name}", __package__).parser()
    flags: list[Flag] = []
    positionals: list[Flag] = []
    for group in made._action_groups:  # noqa: SLF001 - argparse names its parts in no other way
        for action in group._group_actions:  # noqa: SLF001
            (flags if action.option_strings else positionals).append(_flag(action, group.title or "options"))
    takes = "query" if name in _QUERIES else "file" if name in _NAMED else ""
    words = tuple(word for action in made._actions if not action.option_strings for word in action.choices or ())  # noqa: SLF001
    usage = (made.usage or "").removeprefix("deepgrep ")
    return CommandWords(name, text, made.description or "", usage, made.epilog or "", tuple(flags), tuple(positionals), takes, words)


def _flag(action: argparse.Action, group: str) -> Flag:
    takes = action.nargs != 0
    values = tuple(map(str, action.choices or ())) or (_VALUES.get(action.dest, ()) if takes else ())
    metavar = action.metavar or "|".join(values) or action.dest.upper()
    names = tuple(action.option_strings)
    return Flag(names, str(metavar) if takes else "", _values(action.dest, values), action.dest in _FOLDERS, action.help or "", group)


def _values(dest: str, values: tuple[str, ...]) -> tuple[str, ...]:
    return _stores() if dest == "store" else values


_VALUES = {
    **{option.field: option.choices for option in SEARCH if option.choices},
    "agent": registry.AGENT_IDS,
    "speaker": SPEAKERS,
    "kind": KINDS,
    "format": ("text", "markdown", "json", "html"),
    "type": ("prompts", "transcript"),
}
