"""The start of the server: its few flags, the configuration of clients, and one line where the SDK is missing. Loads no library."""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from ..errors import UsageError
from ..library import machine
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO, NoReturn

_INSTALL = "deepgrep mcp needs the MCP SDK: pip install 'deepgrep[mcp]' (or: uvx --from 'deepgrep[mcp]' deepgrep mcp)"
_DEADLINE_S = 45.0


class _Parser(argparse.ArgumentParser):
    """argparse that raises instead of ending the process, and does not repeat what was written."""

    def error(self, message: str) -> NoReturn:
        flags = [flag for action in self._actions for flag in action.option_strings[-1:]]
        raise UsageError(f"mcp: an unknown or incomplete flag, or a value that it does not take; flags are {', '.join(flags)}")

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        (file or sys.stdout).write(self.format_help())


def clients() -> dict[str, dict[str, str]]:
    """How each client is told of the server: by id a title, the file it belongs into, and the text."""
    import tomllib

    raw = pkgutil.get_data(__package__ or "", "clients.toml")
    assert raw is not None
    found: dict[str, dict[str, str]] = tomllib.loads(raw.decode("utf-8"))
    return found


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = _Parser(
        prog="deepgrep mcp",
        usage="deepgrep mcp [OPTION...]",
        description="Answer agents over the Model Context Protocol on standard input and output. A client starts it; see --print-config.",
        epilog="examples:\n  deepgrep mcp --print-config claude-code\n  deepgrep mcp --home /mnt/backup/home",
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=100),
    )
    known = list(clients())
    made.add_argument("--print-config", metavar="CLIENT", choices=known, help=f"print what tells a client of it: {', '.join(known)}")
    made.add_argument("--no-redact", action="store_true", help="hand secrets out as they stand in the histories")
    made.add_argument("--deadline", metavar="SECONDS", type=float, default=_DEADLINE_S, help="longest call (default: 45)")
    made.add_argument("--home", metavar="DIR", help="read DIR as if it were your home; your variables then do not count")
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    try:
        options = parser().parse_args(list(words))
        if not 0.1 <= options.deadline <= 3_600:
            raise UsageError("--deadline takes seconds between 0.1 and 3600")
        home = machine(options.home)
        if options.print_config:
            where, body = config(options.print_config, _arguments(options))
            sys.stderr.write(f"{where}\n")
            sys.stdout.write(body)
            return 0
    except UsageError as error:
        sys.stderr.write(f"deepgrep: {error}\n")
        return 2
    if find_spec("mcp") is None or find_spec("mcp.server") is None:
        sys.stderr.write(f"deepgrep: {_INSTALL}\n")
        return 2
    if sys.stdin.isatty():
        sys.stderr.write("deepgrep: waiting for an MCP client on standard input; --print-config CLIENT says how to set one up\n")
    from .answers import Setting  # deferred: the SDK takes most of a second to load
    from .server import serve

    try:
        serve(Setting(home, redacting=not options.no_redact, deadline_s=options.deadline))
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except ExceptionGroup as group:  # standard output takes nothing: the one error of the task that writes
        cause: Exception = group
        while isinstance(cause, ExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, OSError):
            raise cause from None
        raise
    return 0


def _arguments(options: argparse.Namespace) -> list[str]:
    words = ["mcp"]
    words += ["--no-redact"] if options.no_redact else []
    words += ["--deadline", f"{options.deadline:g}"] if options.deadline != _DEADLINE_S else []
    return words + (["--home", os.path.abspath(options.home)] if options.home else [])


def config(client: str, arguments: Sequence[str]) -> tuple[str, str]:
    """Where it belongs, and what to put there. The program by its full path, since clients start with another PATH."""
    chosen = clients()[client]
    program, *words = [shutil.which("deepgrep") or sys.executable, *arguments]
    if program == sys.executable:  # run from a checkout
        words = ["-m", "deepgrep", *words]
    places = {
        "@PROGRAM@": json.dumps(program),
        "@ARGUMENTS@": json.dumps(words),
        "@LIST@": ", ".join(map(json.dumps, (program, *words))),
        "@WORDS@": shlex.join([program, *words]),
    }
    where, body = f"{chosen['title']}: {chosen['where']}", chosen["text"].lstrip()
    for mark, value in places.items():
        where, body = where.replace(mark, value), body.replace(mark, value)
    return where, body


def main() -> int:
    """The entry point `deepgrep-mcp`."""
    return run(sys.argv[1:])
