"""Executed pages: fenced blocks of Markdown, commands run in process, output compared line by line."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

NOW_S = 1_769_904_000  # 2026-02-01T00:00:00Z: what the clock says in every page
_FENCE = re.compile(r"^```(\w+)?[ ]?(.*)$")


class Block(NamedTuple):
    """A fenced block: its word, what follows it, its lines, and the number of its first line in the page, from 1."""

    word: str
    rest: str
    lines: list[str]
    at: int


class Ran(NamedTuple):
    """What a command did."""

    out: str
    err: str
    status: int

    @property
    def lines(self) -> list[str]:
        """What a reader sees: standard output, then standard error, then the status unless it is 0."""
        text = (self.out + self.err).replace("\x1b", "\u241b")  # a page holds no escape character
        return [*(text.removesuffix("\n").split("\n") if text else ()), *([f"(exit {self.status})"] if self.status else [])]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    word, rest, start, held = None, "", 0, []
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.match(line)
        if word is None and fence:
            word, rest, start, held = fence[1] or "", fence[2].strip(), number + 1, []
        elif word is not None and line == "```":
            yield Block(word, rest, held, start)
            word = None
        elif word is not None:
            held.append(line)
    assert word is None, "a fenced block is not closed"


def steps(block: Block) -> Iterator[tuple[str, list[str], int]]:
    """The commands of a console block: the command, the lines it should print, and the number of its line in the page."""
    starts = [i for i, line in enumerate(block.lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {block.at}: a console block starts with a command"
    for start, stop in zip(starts, [*starts[1:], len(block.lines)]):
        yield block.lines[start][2:], block.lines[start + 1 : stop], block.at + start


def matches(wanted: list[str], got: list[str]) -> bool:
    """Line by line: `[..]` stands for anything within a line, `...` alone for any lines."""
    pattern = "".join("(?:[^\n]*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("[..]"))) + "\n" for line in wanted)
    return re.fullmatch(pattern, "".join(line + "\n" for line in got)) is not None


class _Frozen(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
        return dt.datetime.fromtimestamp(time.time(), tz)


@contextlib.contextmanager
def frozen(folder: Path, variables: dict[str, str], now_s: int) -> Iterator[None]:
    """A place, an environment and a clock that stands still."""
    import deepgrep.query.dates

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in variables.items():
            patch.setenv(name, value)
        time.tzset()
        patch.setattr(time, "time", lambda: float(now_s))
        patch.setattr(time, "monotonic", lambda: 0.0)
        patch.setattr(deepgrep.query.dates, "datetime", _Frozen)
        yield
    time.tzset()


def run(command: str, folder: Path, now_s: int = NOW_S) -> Ran:
    """Run `[NAME=value ...] deepgrep ...` in this process, as if typed in `folder`."""
    from deepgrep.cli.main import main

    words = shlex.split(command)
    variables = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    assert words.pop(0) == "deepgrep", command
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True) for _ in range(2))
    with frozen(folder, variables, now_s), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
    return Ran(*(stream.buffer.getvalue().decode() for stream in (out, err)), status)


def lay(block: Block, folder: Path) -> None:
    """Write the home that a block describes: `=== path` before each file's lines."""
    home = folder / block.rest
    home.mkdir(parents=True, exist_ok=True)
    held: dict[str, list[str]] = {}
    for line in block.lines:
        if line.startswith("=== "):
            held[line[4:]] = []
        elif held:
            list(held.values())[-1].append(line)
    for name, lines in held.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
        os.utime(path, (NOW_S - 86_400, NOW_S - 86_400))


def rewritten(text: str, changes: list[tuple[int, int, list[str]]]) -> str:
    """The page with lines replaced: (number of the first line, how many, by what)."""
    lines = text.split("\n")
    for at, count, new in sorted(changes, reverse=True):
        lines[at - 1 : at - 1 + count] = new
    return "\n".join(lines)
