"""What every command's parser and run have in common: errors that name the closest flag, one message and status for misuse."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence

from ..engine.resolve import nearest
from ..errors import DeepgrepError, UsageError
from ..files import Unreadable
from ..options import WHERE
from ..registry import AGENT_IDS
from ..typed import TYPE_CHECKING
from .output import say

if TYPE_CHECKING:
    from typing import IO, NoReturn

    Command = Callable[[Sequence[str]], int]

# What a reader should know of a file that cannot be read.
_WHY = {
    "vanished": "it vanished while it was looked at",
    "permission": "there is no permission to read it",
    "changed_while_read": "it was rewritten while it was read; try again",
    "undecodable": "it is damaged, or still being written",
    "reader_crashed": "its content breaks the reader, which is a bug worth a report",
    "zstd_not_installed": "it is compressed, and no zstd decoder is installed",
    "apsw_not_installed": "it is a database, and apsw is not installed",
    "encrypted": "it is encrypted",
}


class Parser(argparse.ArgumentParser):
    """argparse with errors that name the closest flag, and examples at the end of its help."""

    def __init__(self, command: str, usage: str, description: str, examples: str, closing: str = "") -> None:
        super().__init__(
            prog=f"deepgrep {command}",
            usage=f"deepgrep {command} {usage}",
            description=description,
            epilog=f"examples:\n{examples.rstrip()}" + (f"\n\n{closing}" if closing else ""),
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=100),
        )

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of ending the process."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            word = unknown.split()[0]
            hint = "a text that begins with a dash goes after --" if self.prog.endswith(("search", "explain", "grep")) else ""
            what = f"unknown flag {word}{nearest(word, flags)}" if word.startswith("-") else f"one argument too many: {word}"
            message = f"{what}; {hint or f'`{self.prog} --help` lists what it takes'}"
        raise UsageError(message)

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        """Write the help; a stream that takes none of it is no secret, as it is to argparse."""
        (file or sys.stdout).write(self.format_help())


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def add_agent(group: argparse._ActionsContainer) -> None:
    """The flag that chooses agents."""
    known = ", ".join(AGENT_IDS)
    group.add_argument("-a", "--agent", action="append", default=[], metavar="AGENT", help=f"only this agent: {known}; repeatable")


def add_home(group: argparse._ActionsContainer) -> None:
    """The flags that every command that reads has: where to look."""
    for option in WHERE:
        if option.shape == "list":
            group.add_argument(*option.flags, dest=option.field, action="append", metavar=option.metavar, default=[], help=option.help)
        else:
            group.add_argument(*option.flags, dest=option.field, metavar=option.metavar, help=option.help)


def where_flags(options: argparse.Namespace) -> tuple[str, ...]:
    """The words that make another command look where this one does."""
    words: list[str] = []
    for option in WHERE:
        given = getattr(options, option.field)
        for value in given if isinstance(given, list) else [given] if given else []:
            words += [option.flags[-1], value]
    return tuple(words)


def answered(command: Command, words: Sequence[str]) -> int:
    """Run a command: misuse, and a file that cannot be read, become one message and status 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a locale that lacks a character must not end the answer
    try:
        return command(words)
    except DeepgrepError as error:
        say(str(error))
    except Unreadable as error:
        say(f"the file cannot be read: {_WHY.get(error.code, error.code.replace('_', ' '))}")
    return 2
