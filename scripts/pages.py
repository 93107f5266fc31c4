"""Writes what pages say of agents and fields, from the code: a page for each agent, and tables between markers.

Usage: python scripts/pages.py. tests/test_pages.py fails when a page and the code differ.

A marker is `<!-- written by scripts/pages.py: NAME -->`; its table ends at `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

from deepgrep import registry
from deepgrep.model import Agent, Store
from deepgrep.query.fields import FIELDS

ROOT = Path(__file__).resolve().parents[1]
STORES = ROOT / "docs" / "stores"
_MARKED = re.compile(r"(<!-- written by scripts/pages\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ASKED = {
    "whole": "the whole value, any case; `*` and `?` are wildcards",
    "part": "a part of the value, any case; with `*` or `?` the whole",
    "path": "whole segments; from the start where it begins with `/`, `~` or a drive",
    "repo": "its address, the last parts of it, or the name",
    "instant": "a date: see [dates](#dates)",
    "control": "holds for the whole search",
    "text": "a text",
}


def summary(agent_id: str) -> str:
    """What is read of an agent: the first line of its page, without the name."""
    first = docstring(agent_id).split("\n\n")[0]
    said = " ".join(first.split()).partition(": ")[2].rstrip(".")
    return re.sub(r"\bbelow `[^`]*`", "", said).replace("  ", " ").replace(" ,", ",").strip()


def docstring(agent_id: str) -> str:
    """What a store's module says of the agent."""
    return (import_module(f"deepgrep.stores.{agent_id.replace('-', '_')}").__doc__ or "").strip()


def read(agent: Agent, role: str) -> bool:
    """Is any store of this role read?"""
    return any(store.role == role and store.reader is not None for store in agent.stores)


def agents() -> Iterator[str]:
    """The table of agents; links lead from the root of the repository."""
    yield "| agent | `--agent` | what is read | prompt history | targeted | resume |"
    yield "|---|---|---|---|---|---|"
    for agent_id in registry.AGENT_IDS:
        agent = registry.agent(agent_id)
        prompts = read(agent, "prompts")
        marks = ["yes" if is_so else "-" for is_so in (prompts, prompts and agent.locate is not None, agent.resume is not None)]
        yield f"| [{agent.name}](docs/stores/{agent_id}.md) | `{agent_id}` | {summary(agent_id)} | {' | '.join(marks)} |"


def fields() -> Iterator[str]:
    """The table of fields."""
    yield "| field | what it asks | a value is | flag |"
    yield "|---|---|---|---|"
    for spec in FIELDS:
        names = ", ".join(f"`{name}:`" for name in (spec.name, *spec.aliases))
        yield f"| {names} | {spec.help.replace('<', '&lt;')} | {_ASKED[spec.compare]} | {f'`{spec.flag}`' if spec.flag else ''} |"


TABLES = {"agents": agents, "fields": fields}


def filled(text: str) -> str:
    """A page with its marked tables as the code has them."""
    return _MARKED.sub(lambda found: found[1] + "\n".join(TABLES[found[2]]()) + "\n" + found[3], text)


def store_page(agent_id: str) -> str:
    """The page of one agent."""
    agent = registry.agent(agent_id)
    module = agent_id.replace("-", "_")
    lines = [f"# {agent.name}", "", f"<!-- Written by scripts/pages.py from src/deepgrep/stores/{module}.py. -->", ""]
    lines += [docstring(agent_id), ""]
    lines += ["## Folders", "", "| root | below the home | or where a variable points |", "|---|---|---|", *_roots(agent_id), ""]
    lines += ["## Stores", "", "| store | role | files | read | evidence |", "|---|---|---|---|---|", *map(_row, agent.stores), ""]
    return "\n".join(lines)


def _roots(agent_id: str) -> Iterator[str]:
    entry = next(entry for entry in registry.ENTRIES if entry.id == agent_id)
    for (name, variable), roots in groupby(entry.roots, key=lambda root: (root.id, root.variable)):
        some = list(roots)
        below = ", ".join(f"`{root.below}`" for root in some if root.below)
        places = ", ".join(f"`{place}`" for root in some for place in root.places)
        project = " (also in a project)" if any(root.project for root in some) else ""
        yield f"| {name} | {places}{project} | {f'`{variable}`' if variable else ''}{f', in it {below}' if below else ''} |"


def _row(store: Store) -> str:
    files = ", ".join(f"`{pattern}`" for pattern in store.where)
    reads = "yes" if store.reader else f"no: `{store.unsupported or 'unsupported_format'}`"
    return f"| `{store.id}` | {store.role} | {files} (root {store.root}) | {reads} | {store.evidence} |".replace("(root home) ", "")


def main() -> int:
    """Write the pages of the agents and all marked tables."""
    STORES.mkdir(parents=True, exist_ok=True)
    for agent_id in registry.AGENT_IDS:
        (STORES / f"{agent_id}.md").write_text(store_page(agent_id), encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
