"""Standard streams that may be closed, full or left by their reader, and the way out that every command takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def open_streams() -> None:
    """Put the null device where a standard stream is closed: no file that is opened later may take its number.

    Standard output refuses what is written to it, as the closed one would: the answer reaches nobody, and the status says so.
    """
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")  # noqa: SIM115 - it stays open to the end, as do the others
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")  # noqa: SIM115


def say(message: str) -> None:
    """One message on standard error, if anybody can read it."""
    try:
        sys.stderr.write(f"deepgrep: {message}\n")
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def ended(command: Callable[[], int]) -> int:
    """Run a command to its last written byte. The status it ends with: 2 where its answer could not be written, 130 after Ctrl-C."""
    try:
        try:
            status = command()
        except SystemExit as stop:  # argparse, after a help
            status = stop.code if isinstance(stop.code, int) else 0
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)  # the reader has all it wants
        _settle()
        return 0
    except OSError as error:  # the engine raises none: what is on disk becomes Unreadable, or a count
        _drop(sys.stdout)
        say(f"the answer could not be written: {error.strerror or error}")
        _settle()
        return 2
    except KeyboardInterrupt:
        _settle()
        return 130
    return status


def _settle() -> None:
    """Leave nothing to write: Python would try once more at exit, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _drop(stream)


def _drop(stream: TextIO) -> None:
    """Send what is left of a stream to nowhere."""
    with suppress(OSError):  # it is no file of the system
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
