"""`deepgrep explain`: what a search means and what it would read, at each effort. Opens nothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from ..engine.cost import Cost, Probing, costs, probes
from ..engine.plan import plan
from ..engine.resolve import placed
from ..library import machine
from ..model import Query
from ..query.language import show
from ..render.text import command, size
from ..text import safe
from ..wire import explanation, tree_lines
from .parser import answered, where_flags
from .search import parser as search_parser
from .search import requested

_DESCRIBED = "Say what a search means and what it would read at each effort. Takes what `deepgrep search` takes, and opens nothing."
_EXAMPLES = """\
  deepgrep explain --deep flaky test
  deepgrep explain --json 'agent:codex since:7d deploy'"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command: that of a search."""
    return search_parser("explain", _DESCRIBED, _EXAMPLES, "exit status: 0, or 2 for wrong usage")


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_explain, words)


def _explain(words: Sequence[str]) -> int:
    made, options = requested(words, parser())
    where = machine(options.home, options.project_root)
    made = made._replace(tree=placed(made.tree, where.home))
    found, looked = list(costs(made, where)), list(probes(made, plan(made, where).sources))
    if options.json or options.ndjson:
        from ..render.json import dumped

        sys.stdout.write(dumped(explanation(made, found, looked)) + "\n")
        return 0
    for line in _lines(made, found, looked, where_flags(options)):
        print(line)
    return 0


def _lines(made: Query, found: Sequence[Cost], looked: Sequence[Probing], flags: Sequence[str]) -> Iterator[str]:
    yield f"query: {safe(show(made.tree)) or '(any text)'}"
    for line in tree_lines(made.tree):
        yield f"  {safe(line)}"
    for warning in made.warnings:
        yield f"  warning: {safe(warning)}"
    controls = f"effort {made.effort}, scope {made.scope}{'' if made.scope_given else ' (from the effort)'}, order {made.order}"
    yield f"request: {controls}, {'no limit' if made.limit is None else f'limit {made.limit}'}"
    yield f"the same: {command(made, {}, flags)}"
    yield "cost:"
    most = max((cost.bytes for cost in found if not cost.at_most), default=0)
    for cost in found:
        mark = ">" if cost.asked else " "
        bound, files = "at most " if cost.at_most else "", f"{cost.sources:,} file{'' if cost.sources == 1 else 's'}"
        twice = ", with what is read first to prove whose a file is" if cost.at_most and cost.bytes > most else ""
        yield f"{mark} {cost.effort:<10} {cost.scope:<13}  {bound}{files}, {size(cost.bytes)}{twice}"
    yield "looks for, in the bytes:"
    for one in looked:
        needed = " or ".join(repr(text) for text in one.looks_for) or "nothing: every record is decoded"
        yield f"  {one.store:<26} {one.sources:,} file{'' if one.sources == 1 else 's'}: {safe(needed)}"
    if not looked:
        yield "  nothing is planned"
