"""The same question has the same answer, whatever order a folder lists its names in."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from homes import FIXTURES, SAMPLE, STORES, write
from pages import run

COMMANDS = (
    "--json --exhaustive --scope all e",
    "--json --exhaustive --scope all --order scan e",
    "--json --exhaustive --scope all --order newest --limit 3 e",
    "--json --exhaustive --scope all --no-dedupe --speaker person,agent,tool,runtime,parent",
    "--exhaustive --scope all -C 1 e",
)


def everybody(folder: Path) -> Path:
    """One home with the histories of every agent and the sample's, and files that tie with each other."""
    home = folder / "home"
    for source in (SAMPLE, *(STORES / agent / "home" for agent in FIXTURES)):
        for path in source.rglob("*"):
            target = home / path.relative_to(source)
            if path.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
    row = '{"type":"user","uuid":"u%d","timestamp":"2026-01-01T00:00:00Z","sessionId":"s%d","message":{"role":"user","content":"even"}}\n'
    return write(home, {f".claude/projects/-tie/{name}.jsonl": row % (name, name) for name in range(20)})


def shuffled(patch: pytest.MonkeyPatch, seed: int) -> None:
    """Folders list their names in another order."""
    real, dice = os.listdir, random.Random(seed)

    def listdir(path: object = ".") -> list[str]:
        names = real(path)  # type: ignore[call-overload]
        dice.shuffle(names)
        return names  # type: ignore[no-any-return]

    real_scan = os.scandir

    class Scan:
        """What os.scandir gives, shuffled."""

        def __init__(self, path: object) -> None:
            with real_scan(path) as entries:  # type: ignore[call-overload]
                self.entries = list(entries)
            dice.shuffle(self.entries)

        def __enter__(self):  # type: ignore[no-untyped-def]
            return self

        def __exit__(self, *_: object) -> None: ...

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(self.entries)

        def __next__(self):  # type: ignore[no-untyped-def]
            if not self.entries:
                raise StopIteration
            return self.entries.pop()

        def close(self) -> None: ...

    patch.setattr(os, "listdir", listdir)
    patch.setattr(os, "scandir", Scan)


@pytest.mark.parametrize("command", COMMANDS)
def test_ten_orders_of_listing_give_the_same_bytes(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everybody(tmp_path)
    words = f"deepgrep search --home home {command}"
    first = run(words, tmp_path)
    assert len(first.out) > 1000
    assert run(words, tmp_path) == first
    for seed in range(10):
        with monkeypatch.context() as patch:
            shuffled(patch, seed)
            assert run(words, tmp_path) == first, seed


def test_a_home_written_in_another_order_gives_the_same_bytes(tmp_path: Path) -> None:
    """What the file system itself does with names: written forwards and backwards."""
    home = everybody(tmp_path / "one")
    names = sorted(path.relative_to(home) for path in home.rglob("*") if path.is_file())
    for name in reversed(names):
        target = tmp_path / "two" / "home" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(home / name, target)
    words = "deepgrep search --home home --json --exhaustive --scope all e"
    assert run(words, tmp_path / "one") == run(words, tmp_path / "two")
