"""`deepgrep resume`: the agent's own command that goes back into a conversation, printed or run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..engine.conversation import opened, way_back
from ..errors import UsageError
from ..library import machine
from ..model import Resume
from ..render.conversation import command
from .parser import Parser, add_home, answered


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "resume", "[--run] REF|ID|PATH",
        "Print the agent's own command that goes back into a conversation; with --run, go there.",
        "  deepgrep resume 5eed0000                            print the command\n"
        "  deepgrep resume --run REF                           go there\n"
        '  eval "$(deepgrep resume 5eed0000)"                  the same, in this shell',
        "exit status: 0 printed, 2 there is no way back; with --run, the agent's own",
    )  # fmt: skip
    made.add_argument("name", metavar="REF|ID|PATH", help="a ref, a conversation's id or the start of one, or a file of a history")
    made.add_argument("--run", action="store_true", help="run the command in its folder")
    add_home(made)
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_resume, words)


def _resume(words: Sequence[str]) -> int:
    options = parser().parse_args(list(words))
    where = machine(options.home, options.project_root)
    found, _ = opened(options.name, where)
    way = way_back(found)
    if options.run:
        return _run(way)
    sys.stdout.write(command(way, where.home) + "\n")
    return 0


def _run(way: Resume) -> int:
    """Become the agent's program, in the conversation's folder."""
    from shutil import which

    if way.cwd is not None and not os.path.isdir(way.cwd):
        raise UsageError(f"the folder of this conversation is not here any more: {way.cwd!r}; without --run the command is printed")
    program = which(way.argv[0])
    if program is None:
        raise UsageError(f"{way.argv[0]} is not on PATH: install it, or leave --run out to see the command")
    sys.stdout.flush()
    try:
        if way.cwd is not None:
            os.chdir(way.cwd)
        os.execvp(os.path.abspath(program), list(way.argv))  # noqa: S606 - no shell: each word is one argument
    except (OSError, ValueError) as error:
        raise UsageError(f"{way.argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from error
