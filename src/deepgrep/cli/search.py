"""`deepgrep search`: the parser from the option table, the run, progress, and the way out."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from types import FrameType

from ..engine.drive import command_line
from ..engine.resolve import query
from ..engine.search import search
from ..errors import UsageError
from ..library import machine
from ..model import Event, Finished, Query, Result, Source, SourceFinished, Started, Summary
from ..options import SEARCH, Option
from ..render.style import style, width
from ..render.text import Page, closing, flat, grouped, missed, profile
from ..wire import exit_status
from .parser import Parser, add_home, answered, where_flags

_PROGRESS_AFTER_S = 0.5
_PROGRESS_EVERY_S = 0.1
_FLUSH_EVERY_S = 0.05

_DESCRIBED = """\
Find records whose text holds every TEXT. Several words are several terms; "quoted words" are one phrase;
`deepgrep fields` lists what else a query may ask."""
_EXAMPLES = """\
  deepgrep search flaky test                          what you typed, from prompt histories
  deepgrep search --exhaustive --scope all "connection pool"
  deepgrep search --since 7d --project shop --json deploy
  deepgrep search 'agent:codex (deploy OR release) NOT staging'"""
_STATUS = "exit status: 0 found, 1 nothing found, 2 wrong usage or a source could not be read, 130 cancelled"


def parser(
    command: str = "search", described: str = _DESCRIBED, examples: str = _EXAMPLES, status: str = _STATUS
) -> argparse.ArgumentParser:
    """The parser, made from the option table and the flags that only a terminal knows."""
    made = Parser(command, "[OPTION...] [--] [TEXT...]", described, examples, status)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for option in SEARCH:
        group = groups.get(option.group) or groups.setdefault(option.group, made.add_argument_group(option.group))
        add_option(group, option)
    answer = groups["the answer"]
    answer.add_argument("--no-group", action="store_true", help="one line for each result instead of grouping by conversation")
    answer.add_argument("--refs", action="store_true", help="show each result's ref")
    answer.add_argument("--explain", action="store_true", help="say why each result matched and ranks where it does; or why there is none")
    output = made.add_argument_group("output")
    forms = output.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON document")
    forms.add_argument("--ndjson", action="store_true", help="one JSON line for each result, the summary last")
    output.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="when to colour (default: on a terminal)")
    output.add_argument("--workers", type=_count, metavar="N", help="processes that read (default: by work and cores); changes no result")
    output.add_argument("--redact", action="store_true", help="mask private keys, tokens, key-shaped values and passwords in URLs")
    output.add_argument("--profile", action="store_true", help="say where the time went")
    output.add_argument("--no-progress", action="store_true", help="no progress on the terminal")
    add_home(output)
    made.add_argument("texts", nargs="*", metavar="TEXT", help="what to find; may be left out where a filter stands")
    return made


def add_option(group: argparse._ArgumentGroup, option: Option) -> None:
    """Give a parser one control of the table."""
    if option.shape == "switch":
        group.add_argument(*option.flags, dest=option.flags[-1], action="store_const", const=True, help=option.help)
    elif option.shape == "list":
        group.add_argument(*option.flags, dest=option.field, action="append", metavar=option.metavar, default=[], help=option.help)
    elif option.shape == "count":
        group.add_argument(*option.flags, dest=option.field, type=_count, metavar=option.metavar, help=option.help)
    else:
        choices = f": {', '.join(option.choices)}" if option.choices and option.choices[0] not in option.help else ""
        group.add_argument(*option.flags, dest=option.field, metavar=option.metavar, help=option.help + choices)


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from error


def requested(words: Sequence[str], of: argparse.ArgumentParser | None = None) -> tuple[Query, argparse.Namespace]:
    """The query that some words ask for, by this parser or that of a search. Raises UsageError."""
    words = list(words)
    cut = words.index("--") if "--" in words else len(words)
    options = (of or parser()).parse_intermixed_args(words[:cut])
    if options.workers is not None and options.workers < 1:
        raise UsageError("--workers must be at least 1: leave it out to let the work decide")
    texts = [*options.texts, *words[cut + 1 :]]
    return query(texts, surface="cli", **chosen(options, SEARCH)), options  # type: ignore[arg-type]


def chosen(options: argparse.Namespace, table: Sequence[Option]) -> dict[str, object]:
    """What the parsed flags of a table ask for. Raises UsageError where two say different things."""
    fields: dict[str, object] = {}
    for option in table:
        if option.shape == "switch":
            if getattr(options, option.flags[-1]):
                _set(fields, option, option.sets)
        elif (value := getattr(options, option.field)) not in (None, []):
            _set(fields, option, value)
    return fields


def _set(fields: dict[str, object], option: Option, value: object) -> None:
    if option.field in fields:
        raise UsageError(f"{option.flags[-1]} and another flag for {option.field} contradict each other: give one of them")
    fields[option.field] = value


class Interrupt:
    """Ctrl-C once: stop reading and say what was found. Twice: end at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            os._exit(130)
        self.asked = True


class Progress:
    """A line on stderr that says how far reading is: only on a terminal, only after half a second."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted and sys.stderr.isatty()
        self.began = self.last = time.monotonic()
        self.sources = self.bytes = self.done = self.read = self.matches = 0
        self.shown = False

    def see(self, event: Event) -> None:
        if isinstance(event, Started):
            self.sources, self.bytes = event.sources, event.bytes
        elif isinstance(event, SourceFinished):
            self.done, self.read, self.matches = self.done + 1, self.read + event.bytes_read, self.matches + event.matches
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if not self.wanted or now - self.began < _PROGRESS_AFTER_S or now - self.last < _PROGRESS_EVERY_S:
            return
        self.last, self.shown = now, True
        share = f"{self.read / 1e6:,.0f} of {self.bytes / 1e6:,.0f} MB"
        sys.stderr.write(f"\r\x1b[K{self.done:,} of {self.sources:,} sources, {share}, {self.matches:,} matches")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.shown = False


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_search, words)


def _search(words: Sequence[str]) -> int:
    made, options = requested(words)
    where = machine(options.home, options.project_root)
    for warning in made.warnings:
        sys.stderr.write(f"deepgrep: {warning}\n")
    interrupt = Interrupt()
    previous = signal.signal(signal.SIGINT, interrupt.handle)
    progress = Progress(not options.no_progress)
    try:
        events = search(made, where, cancelled=interrupt, driver=command_line(options.workers))
        return _print(watched(events, progress), made, options, where.home)
    finally:
        progress.clear()
        signal.signal(signal.SIGINT, previous)


def watched(events: Iterator[Event], progress: Progress) -> Iterator[Event]:
    """The events as they come, with progress shown in between."""
    for event in events:
        progress.see(event)
        if not isinstance(event, (Started, SourceFinished)):
            progress.clear()
        yield event


def _print(events: Iterator[Event], made: Query, options: argparse.Namespace, home: str) -> int:
    if options.json or options.ndjson:
        return _print_json(events, made, options, home)
    out, variables = sys.stdout, os.environ
    look, flags = style(options.color, out, variables), where_flags(options)
    page = Page(look, width(out, variables), home, time.time(), options.explain, options.refs, flags, redact=options.redact)
    held: list[Result] = []
    read: list[Source] = []
    began = time.monotonic()
    for event in events:
        if options.explain and isinstance(event, SourceFinished):
            read.append(event.source)
        if isinstance(event, Result):
            if options.no_group or made.order == "scan":
                _write(flat(event, page))
                sys.stdout.flush()
            else:
                held.append(event)
        elif isinstance(event, Finished):
            _write(grouped(held, page))
            if event.summary.match_count:
                sys.stdout.write("\n")
            _write(closing(event.summary, page))
            if options.explain and not event.summary.match_count:
                from ..engine.miss import miss

                _write(missed(miss(made, read), page))
            sys.stdout.flush()
            if options.profile:
                output_s = time.monotonic() - began - event.summary.elapsed_s
                sys.stderr.writelines(line + "\n" for line in profile(event.summary, output_s))
            return exit_status(event.summary)
    return 2


def _write(lines: Iterator[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")


def _print_json(events: Iterator[Event], made: Query, options: argparse.Namespace, home: str) -> int:
    from ..render.json import Detail, document, result_line, summary_line  # deferred: people read text

    detail, flushed = Detail(options.explain, options.profile, options.redact), 0.0
    held: list[Result] = []
    read: list[Source] = []
    closed: Summary | None = None
    out = sys.stdout.buffer
    for event in events:
        if options.explain and isinstance(event, SourceFinished):
            read.append(event.source)
        if isinstance(event, Result):
            if options.json:
                held.append(event)
            else:
                out.write(result_line(event, home, detail).encode() + b"\n")
                if (now := time.monotonic()) - flushed > _FLUSH_EVERY_S:  # soon enough for a reader, and no call to the system a line
                    out.flush()
                    flushed = now
        elif isinstance(event, Finished):
            closed = event.summary
    if closed is None:
        return 2
    if options.explain and not closed.match_count:
        from ..engine.miss import miss  # deferred: only a miss that is to be explained pays for it

        detail = detail._replace(miss=miss(made, read))
    out.write((document(held, closed, home, detail) if options.json else summary_line(closed, detail)).encode() + b"\n")
    out.flush()
    return exit_status(closed)
