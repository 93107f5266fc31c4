"""What this process does to the outside, as the interpreter itself reports it: files opened, folders listed, sockets, programs.

An audit hook cannot be removed, so there is one for the whole run; it does nothing while no ledger is open.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile")


class Ledger:
    """Paths in the order in which they were opened or listed, absolute, symlinks not followed."""

    def __init__(self) -> None:
        self.opened: list[Path] = []
        self.listed: list[Path] = []

    def opened_below(self, folder: Path) -> set[str]:
        """The files below a folder that were opened, relative to it."""
        return {path.relative_to(folder).as_posix() for path in self.opened if folder in path.parents}

    def listed_below(self, folder: Path) -> set[str]:
        """The folders in a folder, or itself, that were listed, relative to it."""
        return {path.relative_to(folder).as_posix() for path in self.listed if folder == path or folder in path.parents}


class Guard:
    """What a test may not do. `violations` outlives whatever swallowed the exception."""

    def __init__(self, private: tuple[str, ...]) -> None:
        self.private = private  # folders of the person who runs the tests
        self.programs = False
        self.sockets = False  # may they be made? An event loop wakes itself through a pair; none may be bound or connected
        self.violations: list[str] = []

    def refuse(self, what: str) -> None:
        self.violations.append(what)
        raise PermissionError(f"a test may not do this: {what}")


_ledgers: list[Ledger] = []
_guards: list[Guard] = []


def _hook(event: str, args: tuple[object, ...]) -> None:
    if not _ledgers and not _guards:
        return
    if event in ("open", "sqlite3.connect", "os.listdir", "os.scandir"):
        name = args[0]
        if isinstance(name, int):
            return
        path = os.path.abspath("." if name is None else os.fsdecode(name))  # type: ignore[arg-type]
        if _ledgers and os.path.lexists(path):  # looking for what is not there opens nothing
            for ledger in _ledgers:
                (ledger.listed if event.startswith("os.") else ledger.opened).append(Path(path))
        for guard in _guards:
            if any(path == folder or path.startswith(folder + os.sep) for folder in guard.private):
                guard.refuse(f"{event} in the real home: {path}")
    elif event.startswith("socket."):
        for guard in _guards:
            if not (guard.sockets and event == "socket.__new__"):
                guard.refuse(event)
    elif event in _PROGRAMS:
        for guard in _guards:
            if not guard.programs:
                guard.refuse(f"{event}: ask for the fixture `programs`")


sys.addaudithook(_hook)


@contextmanager
def recording() -> Iterator[Ledger]:
    """A ledger that fills while the block runs."""
    ledger = Ledger()
    _ledgers.append(ledger)
    try:
        yield ledger
    finally:
        _ledgers.remove(ledger)


@contextmanager
def guarding(guard: Guard) -> Iterator[Guard]:
    """A guard that refuses while the block runs."""
    _guards.append(guard)
    try:
        yield guard
    finally:
        _guards.remove(guard)
