"""Colours and widths of a terminal, without a library: a search must not wait for one to load."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal, TextIO

    When = Literal["auto", "always", "never"]


class Style(NamedTuple):
    """Escape sequences for the parts of an answer; all empty where colour is off."""

    agent: str = ""
    place: str = ""
    faint: str = ""
    hit: str = ""
    person: str = ""
    warning: str = ""
    reset: str = ""


PLAIN = Style()
COLOURED = Style(
    agent="\x1b[35m", place="\x1b[1m", faint="\x1b[2m", hit="\x1b[1;31m", person="\x1b[32m", warning="\x1b[33m", reset="\x1b[0m"
)


def style(when: When, stream: TextIO, variables: Mapping[str, str]) -> Style:
    """The style for a stream: `auto` colours a terminal unless NO_COLOR is set or TERM is dumb."""
    if when == "auto":
        on = stream.isatty() and not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"
        return COLOURED if on else PLAIN
    return COLOURED if when == "always" else PLAIN


def width(stream: TextIO, variables: Mapping[str, str]) -> int:
    """Columns of a terminal: COLUMNS, the terminal's own word, or 100 where there is none."""
    given = variables.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(40, int(given))
    try:
        return max(40, os.get_terminal_size(stream.fileno()).columns) if stream.isatty() else 100
    except (OSError, ValueError):
        return 100
