"""Fixture homes: private copies, what they look like before and after a run, and lines as agents write them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
STORES = TESTS / "stores"
FIXTURES = sorted(path.parent.name for path in STORES.glob("*/manifest.toml"))  # agents; the contract test wants every one
SAMPLE = ROOT / "src" / "deepgrep" / "sample_home"


class Entry(NamedTuple):
    """One name of a home. `content` is a file's digest or a link's target."""

    kind: str
    mode: int
    mtime_ns: int
    size: int
    content: str


def snapshot(home: Path) -> dict[str, Entry]:
    """Names, bytes, modes and times of everything below a home, and of itself."""
    out = {}
    for path in (home, *home.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            kind, content, size = "link", os.readlink(path), 0
        elif path.is_dir():
            kind, content, size = "folder", "", 0
        elif path.is_file():
            kind, content, size = "file", hashlib.sha256(path.read_bytes()).hexdigest(), status.st_size
        else:
            kind, content, size = "other", "", 0
        out[path.relative_to(home).as_posix()] = Entry(kind, status.st_mode, status.st_mtime_ns, size, content)
    return out


def copied(home: Path, target: Path) -> Path:
    """A writable copy of a home with its times and links."""
    shutil.copytree(home, target, symlinks=True, copy_function=shutil.copy2)
    return target


def write(home: Path, files: dict[str, str | bytes]) -> Path:
    """A home with these files."""
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return home


def jsonl(*rows: object) -> str:
    """Rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def path_of(name: str) -> str:
    """The file that a manifest's name means: one that two stores read is named with the role of each behind it, `x.db#prompts`."""
    return name.partition("#")[0]


def paths(*names: Iterable[str]) -> set[str]:
    """The files that names mean."""
    return {path_of(name) for some in names for name in some}


class Manifest(NamedTuple):
    """A fixture's hand-written account of itself."""

    agent: str
    home: Path
    prompts: frozenset[str]
    transcripts: frozenset[str]
    twins: frozenset[str]
    unsupported: frozenset[str]
    extras: frozenset[str]
    untouched: frozenset[str]
    beside: frozenset[str]  # small files that are opened beside transcripts, so at exhaustive effort alone
    unmarked: frozenset[str]  # transcripts whose lines look like what lies inside a line: a fragment glued before one costs it
    records: tuple[dict[str, object], ...]

    @property
    def files(self) -> dict[str, frozenset[str]]:
        names = ("prompts", "transcripts", "twins", "unsupported", "extras", "beside", "untouched")
        return {name: getattr(self, name) for name in names}


def manifest(agent: str) -> Manifest:
    """The manifest of an agent's fixture. Unknown or doubled keys are a defect of the manifest."""
    folder = STORES / agent
    given = tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
    records = tuple(given.pop("record", ()))
    names = ("prompts", "transcripts", "twins", "unsupported", "extras", "beside", "untouched", "unmarked")
    lists = {name: given.pop(name, []) for name in names}
    assert not given, f"{agent}: unknown keys in the manifest: {sorted(given)}"
    for name, files in lists.items():
        assert len(files) == len(set(files)), f"{agent}: a file stands twice under {name}"
    return Manifest(agent, folder / "home", **{name: frozenset(files) for name, files in lists.items()}, records=records)
