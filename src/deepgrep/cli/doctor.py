"""`deepgrep doctor`: parses everything that is readable, and says what of it is no record, unknown, or damaged."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from ..engine.checkup import Stage, StoreHealth, checkup
from ..engine.drive import command_line
from ..engine.inventory import implementations
from ..engine.resolve import choices
from ..errors import UsageError
from ..library import machine
from ..registry import AGENT_IDS
from ..render.text import size, why
from ..wire import SCHEMA_VERSION
from .parser import Parser, add_agent, add_home, answered, count
from .search import Interrupt

_EVERY_S = 0.1
_AFTER_S = 0.5


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "doctor", "[OPTION...]",
        "Parse everything that can be read here, without a query: records, what was skipped and why, and shapes that are not known. "
        "Prints names of keys, never a text.",
        "  deepgrep doctor\n"
        f"  deepgrep doctor --agent {AGENT_IDS[0]} --json",
        "exit status: 0 nothing is damaged, 1 a file cannot be read or holds what is no record, 2 wrong usage, 130 cancelled.\n"
        "An unfinished last line, an unknown shape and a format that is not supported are reported, and are no damage.",
    )  # fmt: skip
    add_agent(made)
    made.add_argument("--json", action="store_true", help="one JSON document")
    made.add_argument("--workers", type=count, metavar="N", help="processes that read (default: by work and cores)")
    made.add_argument("--no-progress", action="store_true", help="no progress on the terminal")
    add_home(made)
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_doctor, words)


def _doctor(words: Sequence[str]) -> int:
    options = parser().parse_args(list(words))
    if options.workers == 0:
        raise UsageError("--workers must be at least 1: leave it out to let the work decide")
    where = machine(options.home, options.project_root)
    agents = choices("agent", options.agent, AGENT_IDS)
    progress, interrupt = _Progress(not options.no_progress), Interrupt()
    previous = signal.signal(signal.SIGINT, interrupt.handle)
    try:
        found = list(checkup(where, agents, driver=command_line(options.workers), cancelled=interrupt, watch=progress.see))
    finally:
        progress.clear()
        signal.signal(signal.SIGINT, previous)
    damaged = any(one.damaged for one in found)
    if options.json:
        from ..render.json import dumped

        stores = [_json(one) for one in found]
        doc = {"schema_version": SCHEMA_VERSION, "paths": implementations(), "stores": stores, "damaged": damaged}
        sys.stdout.write(dumped(doc) + "\n")
    else:
        _print(found)
    return 130 if interrupt.asked else 1 if damaged else 0


class _Progress:
    """A line on stderr that says how far it is: only on a terminal, only after half a second."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._began = self._last = time.monotonic()
        self._shown = False

    def see(self, stage: Stage) -> None:
        now = time.monotonic()
        if self._wanted and now - self._began > _AFTER_S and now - self._last > _EVERY_S:
            self._last, self._shown = now, True
            sys.stderr.write(f"\r\x1b[K{stage.done:,} of {stage.sources:,} files, {size(stage.read)} of {size(stage.bytes)}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _print(found: Sequence[StoreHealth]) -> None:
    for part, used in implementations().items():
        print(f"{part}: {used}")
    print()
    for one in found:
        mark = "damaged" if one.damaged else "ok" if one.completed == one.sources else "partly read" if one.completed else "not read"
        files = f"{one.completed:,} of {one.sources:,} file{'' if one.sources == 1 else 's'}"
        print(f"{one.store:<28} {mark:<11}  {files}, {size(one.bytes)}, {one.records:,} record{'' if one.records == 1 else 's'}")
        for code, number in one.failures.items():
            print(f"  failed: {number:,}, {why(code)}")
        for code, number in one.unsupported.items():
            print(f"  not supported: {number:,}, {why(code)}")
        for code, number in one.skipped.items():
            print(f"  skipped: {number:,}, {why(code)}")
        for keys in one.unknown_shapes:
            print(f"    keys of an unknown shape: {', '.join(keys)}")
    if not found:
        print("no agent's history was found here")


def _json(one: StoreHealth) -> dict[str, object]:
    return {
        **{name: dict(value) if isinstance(value, dict) else value for name, value in one._asdict().items()},
        "unknown_shapes": [list(keys) for keys in one.unknown_shapes],
    }
