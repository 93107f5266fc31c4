"""The entry point: finds the command and starts it. Imports nothing that `--version` and `--help` do not need."""

from __future__ import annotations

import sys

from .. import __version__
from ..typed import TYPE_CHECKING
from .output import ended, open_streams, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = {  # in the order of the help; each is a module of this package, imported when it is used
    "search": "find records by text, place and time",
    "grep": "print the lines that match a pattern, as ripgrep would",
    "find": "list the files of agents' histories",
    "show": "a record in its conversation, or a conversation",
    "resume": "the agent's own command that goes back into a conversation",
    "stores": "which agents are known, found and readable here",
    "doctor": "parse everything, and say what is damaged or unknown",
    "explain": "what a search means and would read",
    "fields": "what a query may name before a colon",
    "mcp": "answer agents over the Model Context Protocol",
    "completion": "a script that completes commands in bash, zsh or fish",
}
HELP = f"""\
Search what you asked coding agents, and what they did, in the histories they leave on this machine.

usage: deepgrep COMMAND [OPTION...] [TEXT...]

commands:
{"".join(f"  {name:<10}  {text}" + chr(10) for name, text in COMMANDS.items())}
options:
  -h, --help     show this help; `deepgrep COMMAND --help` shows a command's
  -V, --version  show the version

examples:
  deepgrep search flaky test                       what you typed, from prompt histories
  deepgrep search --exhaustive --scope all "connection pool"
  deepgrep search --since 7d --project shop --json deploy
  deepgrep show REF                                the conversation around a result; --refs shows refs
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command. Returns its exit status; see `engine` for their meaning."""
    words = sys.argv[1:] if argv is None else argv
    open_streams()
    return ended(lambda: _main(words))


def _main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(HELP)
        return 0 if words else 2
    if words[0] == "help":
        return _main([words[1], "--help"] if words[1:2] and words[1] in COMMANDS else ["--help"])
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"deepgrep {__version__}\n")
        return 0
    if words[0] not in COMMANDS:
        return _unknown(words)
    return _command(words[0])(words[1:])


def _command(name: str) -> Callable[[Sequence[str]], int]:
    """How a command is run. While its module loads, Ctrl-C ends the program at once: nothing is written yet."""
    import os  # deferred, as what follows: --help and --version must wait for no command
    import signal
    from importlib import import_module

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, or somebody else's
    if usual:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        run: Callable[[Sequence[str]], int] = import_module(f".{name}", __package__).run
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return run


def _unknown(words: list[str]) -> int:
    from shlex import join

    close = _close(words[0])
    if words[0].startswith("-"):
        said = f"unknown option {words[0]!r}"
    else:
        said = f"unknown command {words[0]!r}" + (f" (did you mean {close}?)" if close else "")
    say(f"{said}; to search for it, write: {join(['deepgrep', 'search', *words])}")
    return 2


def _close(word: str) -> str | None:
    """The command that a word nearly spells."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), list(COMMANDS), n=1, cutoff=0.6)), None)
