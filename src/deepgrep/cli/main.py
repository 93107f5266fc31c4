"""The entry point: finds the command and starts it. Imports nothing that `--version` and `--help` do not need."""

from __future__ import annotations

import sys

from .. import __version__

HELP = """\
Search what you asked coding agents, and what they did, in the histories they leave on this machine.

usage: deepgrep COMMAND [OPTION...] [TEXT...]

commands:
  search   find records by text, place and time

options:
  -h, --help     show this help; `deepgrep COMMAND --help` shows a command's
  -V, --version  show the version

examples:
  deepgrep search flaky test                       what you typed, from prompt histories
  deepgrep search --exhaustive --scope all "connection pool"
  deepgrep search --since 7d --project shop --json deploy
"""
COMMANDS = ("search",)


def main(argv: list[str] | None = None) -> int:
    """Run one command. Returns its exit status; see `engine` for their meaning."""
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(HELP)
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"deepgrep {__version__}\n")
        return 0
    if words[0] not in COMMANDS:
        return _unknown(words)
    from .search import run  # deferred: --help and --version must not wait for the engine

    return run(words[1:])


def _unknown(words: list[str]) -> int:
    from shlex import join

    what = "option" if words[0].startswith("-") else "command"
    sys.stderr.write(f"deepgrep: unknown {what} {words[0]!r}; to search for it, write: {join(['deepgrep', 'search', *words])}\n")
    return 2
