"""`deepgrep find`: the files of agents' histories, listed by name, store and time. Opens none of them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate

from ..discovery import Machine, installed, listing, loaded
from ..engine.resolve import choices
from ..errors import UsageError
from ..library import machine
from ..model import Source
from ..query.dates import start_of
from ..registry import AGENT_IDS
from ..render.text import size
from ..text import rfc3339, visible
from ..typed import NamedTuple
from ..wire import SCHEMA_VERSION, shown
from .parser import Parser, add_agent, add_home, answered

Test = Callable[[Source], bool]
ROLES = ("prompts", "transcript")


class Found(NamedTuple):
    """A source, and why it is not read, if it is not."""

    source: Source
    unsupported: str | None


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "find", "[OPTION...] [PATTERN]",
        "List the files of agents' histories whose name holds PATTERN, a regular expression. Opens none of them.",
        "  deepgrep find                                       every file that a search may read\n"
        "  deepgrep find -l --changed-within 7d -t transcript  what changed this week, with sizes\n"
        "  deepgrep find -0 -e jsonl | xargs -0 du -ch         for other programs\n"
        "  deepgrep find -g '*-2026-03-*'",
        "A pattern without capitals matches either case. Exit status: 0 found, 1 nothing found, 2 wrong usage.",
    )  # fmt: skip
    made.add_argument("pattern", nargs="?", metavar="PATTERN", help="what the file's name must hold; left out: every file")
    how = made.add_argument_group("how PATTERN matches")
    kinds = how.add_mutually_exclusive_group()
    kinds.add_argument("-g", "--glob", action="store_true", help="PATTERN is a glob over the whole name")
    kinds.add_argument("-F", "--fixed-strings", action="store_true", help="PATTERN is text, no regular expression")
    kinds.add_argument("--exact", action="store_true", help="PATTERN is the whole name, as it is")
    how.add_argument("-p", "--full-path", action="store_true", help="look at the whole path, not only the file's name")
    cases = how.add_mutually_exclusive_group()
    cases.add_argument("-s", "--case-sensitive", action="store_true", help="capitals count (default: only where PATTERN has some)")
    cases.add_argument("-i", "--ignore-case", action="store_true", help="capitals never count")
    which = made.add_argument_group("which files")
    which.add_argument("-e", "--extension", action="append", default=[], metavar="EXT", help="only with this ending; repeatable")
    which.add_argument("-t", "--type", metavar="ROLE", help=f"only of this role: {', '.join(ROLES)}")
    add_agent(which)
    which.add_argument("--store", action="append", default=[], metavar="STORE", help="only this store of `deepgrep stores`; repeatable")
    which.add_argument("--changed-within", metavar="WHEN", help="only changed since then: 2026-01-31, yesterday, 12h, 7d")
    which.add_argument("--changed-before", metavar="WHEN", help="only last changed before then")
    output = made.add_argument_group("output")
    forms = output.add_mutually_exclusive_group()
    forms.add_argument("-l", "--long", action="store_true", help="size, time, store, and the path with the home as ~")
    forms.add_argument("-0", "--print0", action="store_true", help="a NUL after each path")
    forms.add_argument("--json", action="store_true", help="one JSON document")
    add_home(output)
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_find, words)


def _find(words: Sequence[str]) -> int:
    options = parser().parse_intermixed_args(list(words))
    where = machine(options.home, options.project_root)
    agents = choices("agent", options.agent, AGENT_IDS)
    tests = tuple(_tests(options))
    found = [one for one in sources(where, agents, tuple(options.store)) if all(test(one.source) for test in tests)]
    if options.json:
        from ..render.json import dumped

        sys.stdout.write(dumped({"schema_version": SCHEMA_VERSION, "sources": [_json(one, where.home) for one in found]}) + "\n")
    elif options.long:
        sys.stdout.writelines(_long(one, where.home) + "\n" for one in found)
    else:
        _paths(found, "\0" if options.print0 else "\n")
    return 0 if found else 1


def sources(where: Machine, agents: Sequence[str], stores: Sequence[str]) -> Iterator[Found]:
    """Every source of these agents and stores, in the order of their names. Raises UsageError for a store that is not known."""
    _check_stores(stores)
    for here in sorted(installed(where, agents)):
        if not here.places:
            continue
        declared = loaded(here)
        wanted = [store for store in declared.stores if not stores or store.id in stores]
        why = {store.id: store.unsupported if store.reader is None else None for store in wanted}
        yield from (Found(source, why[source.store]) for source in listing(here, wanted).sources)


def _check_stores(stores: Sequence[str]) -> None:
    from ..registry import agent

    for name in stores:
        owner = name.partition(".")[0]
        known = [store.id for store in agent(owner).stores] if owner in AGENT_IDS else AGENT_IDS
        if name not in known or "." not in name:
            those = f"; of {owner}: {', '.join(known)}" if owner in AGENT_IDS else ""
            raise UsageError(f"unknown store {name!r}: `deepgrep stores --all` lists them{those}")


def _tests(options: argparse.Namespace) -> Iterator[Test]:
    """What a source must satisfy."""
    if options.type is not None:
        (role,) = choices("role", [options.type], ROLES) or ("",)
        yield lambda source: source.role == role
    if options.extension:
        endings = tuple("." + ending.lstrip(".").lower() for ending in options.extension)
        yield lambda source: source.path.lower().endswith(endings)
    if options.changed_within is not None:
        since_us = start_of(options.changed_within)
        yield lambda source: source.mtime_ns // 1000 >= since_us
    if options.changed_before is not None:
        until_us = start_of(options.changed_before)
        yield lambda source: source.mtime_ns // 1000 < until_us
    if options.pattern is not None:
        fits = _pattern(options)
        yield lambda source: fits(source.path if options.full_path else os.path.basename(source.path))


def _pattern(options: argparse.Namespace) -> Callable[[str], bool]:
    """Does a name hold the pattern? Only a regular expression needs an engine that no pattern can keep busy for ever."""
    pattern: str = options.pattern
    if not pattern:
        raise UsageError("an empty PATTERN: leave it out to list every file")
    ignore_case = options.ignore_case or (not options.case_sensitive and pattern == pattern.lower())
    if options.glob:
        glob = re.compile(translate(pattern), re.IGNORECASE if ignore_case else 0)
        return lambda name: glob.fullmatch(name) is not None
    if options.fixed_strings or options.exact:
        asked = pattern.casefold() if ignore_case else pattern

        def holds(name: str) -> bool:
            given = name.casefold() if ignore_case else name
            return given == asked if options.exact else asked in given

        return holds
    from ..query.regex import compile as compile_regex  # deferred: RE2 loads with the first pattern

    regex = compile_regex(pattern, ignore_case=ignore_case)
    return lambda name: bool(regex.search(name.encode("utf-8", "replace").decode()))


def _paths(found: Sequence[Found], end: str) -> None:
    """The paths as they are on disk, byte for byte; made visible where a terminal would act on them."""
    on_terminal = sys.stdout.isatty() and end == "\n"
    for one in found:
        if on_terminal:
            sys.stdout.write(visible(one.source.path).replace("\n", "\ufffd") + end)
        else:
            sys.stdout.buffer.write(os.fsencode(one.source.path) + end.encode())
    sys.stdout.buffer.flush() if not on_terminal else None


def _long(one: Found, home: str) -> str:
    from ..render.text import local

    source = one.source
    left = f"  (not read: {one.unsupported})" if one.unsupported else ""
    path = visible(shown(source.path, home)).replace("\n", "\ufffd")
    return f"{size(source.size):>9}  {local(source.mtime_ns // 1000)}  {source.store:<22}  {path}{left}"


def _json(one: Found, home: str) -> dict[str, object]:
    source = one.source
    return {
        "path": shown(source.path, home), "agent": source.agent, "store": source.store, "role": source.role, "size": source.size,
        "changed": rfc3339(source.mtime_ns // 1000), "unsupported": one.unsupported,
    }  # fmt: skip
