"""What of each agent is known, here, and readable, from names and permissions alone: opens nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from ..discovery import Installed, Machine, candidates, installed, listing
from ..model import Agent, Source, Store
from ..registry import ENTRIES, agent
from ..typed import NamedTuple


class StoreStock(NamedTuple):
    """One store: what is known of its format, and what is here. `unreadable`: counts of files by why they cannot be read."""

    store: Store
    sources: tuple[Source, ...]
    unreadable: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(source.size for source in self.sources)

    @property
    def newest_ns(self) -> int | None:
        return max((source.mtime_ns for source in self.sources), default=None)


class AgentStock(NamedTuple):
    """One agent. `looked_in`: the folders that would count; `places`: those that exist."""

    agent: Agent
    looked_in: tuple[str, ...]
    places: tuple[str, ...]
    stores: tuple[StoreStock, ...]
    copies: int = 0
    refused: int = 0
    missing: bool = False  # a variable names a folder that is not there

    @property
    def found(self) -> bool:
        return bool(self.places)


def inventory(machine: Machine, agent_ids: Sequence[str] = ()) -> tuple[AgentStock, ...]:
    """Every agent that is known, or some of them."""
    here = {found.id: found for found in installed(machine, agent_ids)}
    out = []
    for entry in ENTRIES:
        if agent_ids and entry.id not in agent_ids:
            continue
        looked_in = tuple(dict.fromkeys(path for root in entry.roots for path, _ in candidates(root, machine)))
        found = here.get(entry.id, Installed(entry.id, ()))
        out.append(_stock(agent(entry.id), found, looked_in))
    return tuple(out)


def _stock(declared: Agent, found: Installed, looked_in: tuple[str, ...]) -> AgentStock:
    listed = listing(found, declared.stores)
    broken = [(source, code) for source, code in listed.broken]
    stores = []
    for store in declared.stores:
        mine = tuple(source for source in listed.sources if source.store == store.id)
        why = Counter(code for source, code in broken if source.store == store.id)
        why.update(code for source in mine if store.reader and (code := _unreadable(source)))
        stores.append(StoreStock(store, mine, dict(sorted(why.items()))))
    places = tuple(place.path for place in found.places)
    return AgentStock(declared, looked_in, places, tuple(stores), listed.copies, listed.refused, found.missing)


def _unreadable(source: Source) -> str | None:
    """Why a file cannot be read, as far as that can be told without opening it."""
    if not os.access(source.path, os.R_OK):
        return "permission"
    return "zstd_not_installed" if source.path.endswith(".zst") and not _has_zstd() else None


def _has_zstd() -> bool:
    from importlib.util import find_spec

    names = ("compression.zstd", "backports.zstd")
    for name in names:
        try:
            if find_spec(name):
                return True
        except ModuleNotFoundError:  # its package is not there at all
            continue
    return False


def implementations() -> dict[str, str]:
    """Which implementation of each replaceable part is in use, with its version."""
    from importlib.metadata import PackageNotFoundError, version

    from ..bytesearch import engine

    def installed_version(package: str, without: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return without

    from sys import version_info

    own = version_info >= (3, 14)
    zstd = "the standard library's" if own else installed_version("backports.zstd", "none: compressed files are not read")
    return {
        "byte search": engine() if engine() != "stdlib" else "the standard library's: the same answers, slower",
        "json": installed_version("orjson", "the standard library's: the same answers, slower"),
        "databases": installed_version("apsw", "none: databases are not read"),
        "zstd": zstd,
        "regular expressions": installed_version("google-re2", "none: patterns are refused"),
    }
