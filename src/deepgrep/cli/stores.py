"""`deepgrep stores`: per agent what is known, found and readable here. Opens no conversation, and nothing else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from ..engine.inventory import AgentStock, StoreStock, inventory
from ..engine.resolve import choices
from ..library import machine
from ..registry import AGENT_IDS
from ..render.text import local, size, why
from ..text import visible
from ..wire import SCHEMA_VERSION, agent_stock, shown
from .parser import Parser, add_agent, add_home, answered


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "stores", "[OPTION...]",
        "List the agents whose history is known, where it is on this machine, and what of it can be read. Opens none of it.",
        "  deepgrep stores                     what is here\n"
        "  deepgrep stores --all               with the agents that are not here, and where they would be\n"
        f"  deepgrep stores --agent {AGENT_IDS[0]} --json",
        "exit status: 0, or 2 for wrong usage",
    )  # fmt: skip
    add_agent(made)
    made.add_argument("--all", action="store_true", help="also agents and stores of which nothing is here")
    made.add_argument("--json", action="store_true", help="one JSON document, always with all")
    add_home(made)
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_stores, words)


def _stores(words: Sequence[str]) -> int:
    options = parser().parse_args(list(words))
    where = machine(options.home, options.project_root)
    agents = choices("agent", options.agent, AGENT_IDS)
    stock = inventory(where, agents)
    if options.json:
        from ..render.json import dumped

        sys.stdout.write(dumped({"schema_version": SCHEMA_VERSION, "agents": [agent_stock(one, where.home) for one in stock]}) + "\n")
        return 0
    here = [one for one in stock if one.found or one.missing or options.all or options.agent]
    for number, one in enumerate(here):
        if number:
            sys.stdout.write("\n")
        sys.stdout.writelines(line + "\n" for line in _lines(one, where.home, options.all or bool(options.agent)))
    absent = [one.agent.id for one in stock if one not in here]
    if absent:
        sys.stdout.write(("\n" if here else "") + f"known, but not here: {', '.join(absent)}\n")
    return 0


def _lines(one: AgentStock, home: str, everything: bool) -> Iterator[str]:
    yield f"{one.agent.id}  {one.agent.name}"
    for place in one.places:
        yield f"  {_visible(place, home)}"
    if one.missing:
        yield "  a variable names a folder that is not there"
    if not one.found:
        for place in one.looked_in:
            yield f"  not here: {_visible(place, home)}"
    for store in one.stores:
        if store.sources or store.unreadable or everything:
            yield from _store_lines(store)
    for code in one.agent.limits:
        yield f"    prompts do not hold: {why(code)}"
    if one.copies:
        yield f"    {one.copies:,} second cop{'y' if one.copies == 1 else 'ies'} of files, read once"
    if one.refused:
        yield f"    {one.refused:,} link{'' if one.refused == 1 else 's'} out of the agent's folder, not followed"


def _store_lines(one: StoreStock) -> Iterator[str]:
    store, number = one.store, len(one.sources)
    newest = f", newest {local(one.newest_ns // 1000)}" if one.newest_ns is not None else ""
    yield f"    {store.id:<26} {store.role:<10}  {number:,} file{'' if number == 1 else 's'}, {size(one.bytes)}{newest}"
    yield f"      {' '.join(store.where)}  ({store.evidence})"
    if store.reader is None:
        yield f"      not read: {why(store.unsupported or 'unsupported_format')}"
    for code, files in one.unreadable.items():
        yield f"      cannot be read: {files:,}, {why(code)}"


def _visible(path: str, home: str) -> str:
    return visible(shown(path, home)).replace("\n", "\ufffd")
