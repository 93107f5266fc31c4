"""Writes docs/reference/cli.md and docs/reference/deepgrep.1, the manual of every command, from the commands' own flags.

Usage: python scripts/reference.py. tests/test_reference.py fails when the files and the flags differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from deepgrep import __version__
from deepgrep.cli.commands import CommandWords, Flag, commands
from deepgrep.query.fields import FIELDS

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
_STATUS = "0 found or done, 1 nothing found (of `doctor`: something is damaged), 2 wrong usage or not readable, 130 cancelled"


def markdown() -> str:
    """The reference as a page."""
    return "\n".join(_markdown(commands())) + "\n"


def _markdown(found: tuple[CommandWords, ...]) -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "<!-- Written by scripts/reference.py. -->"
    yield ""
    yield "| command | what it does |"
    yield "|---|---|"
    for one in found:
        yield f"| [`{one.name}`](#deepgrep-{one.name}) | {one.help} |"
    yield ""
    yield f"Exit status: {_STATUS}."
    for one in found:
        yield from ("", f"## deepgrep {one.name}", "", "```", f"deepgrep {one.usage}", "```", "")
        yield _escaped(" ".join(one.description.split()))
        for group, flags in _groups(one):
            yield from ("", f"| {group} | |", "|---|---|")
            yield from (f"| {_spelled(flag)} | {_escaped(flag.help)} |" for flag in flags)
        yield from ("", "```text", one.examples, "```")
    yield from ("", "## Fields", "", "What a query may name before a colon.", "", "| field | what it asks |", "|---|---|")
    for spec in FIELDS:
        names = ", ".join(f"`{name}:`" for name in (spec.name, *spec.aliases))
        yield f"| {names} | {_escaped(spec.help)}{f'; also `{spec.flag}`' if spec.flag else ''} |"


def _groups(one: CommandWords) -> Iterator[tuple[str, list[Flag]]]:
    for group, flags in groupby((*one.positionals, *one.flags), key=lambda flag: flag.group):
        yield group, list(flags)


def _spelled(flag: Flag) -> str:
    value = f" {flag.metavar}" if flag.metavar else ""
    return f"`{', '.join(flag.names)}{value}`".replace("|", "\\|").replace("` ", "`")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def manual() -> str:
    """The reference as a page of the manual."""
    return "\n".join(_manual(commands())) + "\n"


def _manual(found: tuple[CommandWords, ...]) -> Iterator[str]:
    yield '.\\" Written by scripts/reference.py.'
    yield f'.TH DEEPGREP 1 "" "deepgrep {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "deepgrep \\- search the histories that coding agents leave on disk"
    yield ".SH SYNOPSIS"
    for number, one in enumerate(found):
        if number:
            yield ".br"
        yield f".B deepgrep {_roff(one.usage)}"
    yield ".SH DESCRIPTION"
    yield _roff("Reads the histories of coding agents, finds what is asked for, and says how much was read to find it. Writes nothing.")
    for one in found:
        yield f".SH {_roff(one.name).upper()}"
        yield _roff(" ".join(one.description.split()))
        for group, flags in _groups(one):
            yield f".SS {_roff(group)}"
            for flag in flags:
                names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in flag.names)
                value = f"\\fI{_roff(flag.metavar)}\\fR" if flag.metavar else ""
                yield from (".TP", " ".join(part for part in (names, value) if part), _roff(flag.help))
        yield from (".SS examples and exit status", ".nf", *(_roff(line) for line in one.examples.split("\n")), ".fi")
    yield ".SH FIELDS"
    for spec in FIELDS:
        names = ", ".join(f"\\fB{name}:\\fR" for name in (spec.name, *spec.aliases))
        yield from (".TP", names, _roff(spec.help))
    yield ".SH EXIT STATUS"
    yield _roff(_STATUS.replace("`", ""))


def _roff(text: str) -> str:
    """Text that no formatter takes for a request, with dashes that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


def main() -> int:
    """Write both files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "cli.md").write_text(markdown(), encoding="utf-8")
    (FOLDER / "deepgrep.1").write_text(manual(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
