"""`deepgrep grep`: ripgrep's habits over records. A record's decoded text is searched line by line, in the order of reading."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from ..engine.drive import command_line
from ..engine.resolve import query
from ..engine.search import search
from ..errors import UsageError
from ..files import OpenFile, Unreadable
from ..library import machine
from ..model import Event, Finished, Pattern, Query, Result, SourceFinished, Summary
from ..options import SEARCH, arguments
from ..query.regex import compiled
from ..render.grep import COLOURED, PLAIN, Layout, Stats, begin, end, events, heading, hits, name, printed, summary
from ..render.style import PLAIN as BARE
from ..render.style import Style, style
from ..render.text import Page, closing
from ..typed import TYPE_CHECKING
from ..wire import exit_status
from ..wire import summary as summary_json
from .parser import Parser, add_home, answered, count
from .search import Interrupt, Progress, add_option, chosen, watched

if TYPE_CHECKING:
    from typing import TextIO

    from ..render.style import When

# Controls of every search, by their long flags: short ones mean here what they mean to ripgrep.
_SHARED = tuple(option._replace(flags=option.flags[-1:]) for option in SEARCH if option.field not in ("literal", "any", "order", "context"))
_CUT_ON_TERMINAL = 500  # characters of a line: one line of a tool's output may be a megabyte


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "grep", "[OPTION...] PATTERN",
        "Print the lines of records that match PATTERN, a regular expression, with ripgrep's flags.\n"
        "What stands for a file name is a conversation, as agent:conversation, or agent:path where none is recorded; `deepgrep show`\n"
        "takes it. Line numbers count the lines of one record. Files are read in a fixed order: prompt histories first, then by agent,\n"
        "store and name; what matches is printed file by file, as soon as a file is read.",
        "  deepgrep grep -i 'time.?out'                      what you typed\n"
        "  deepgrep grep --exhaustive --scope all -C2 'panicked at'\n"
        "  deepgrep grep --deep -o 'https?://\\S+'             where your prompts lead\n"
        "  deepgrep grep -l -F 'Cargo.lock' --since 7d | xargs -d'\\n' -n1 deepgrep show",
        "exit status: 0 found, 1 nothing found, 2 wrong usage or a source could not be read, 130 cancelled.\n"
        "Look-around and back-references are refused: no pattern can keep a search busy for ever.",
    )  # fmt: skip
    made.add_argument("pattern", nargs="*", metavar="PATTERN", help="a regular expression; left out with -e or -f")
    _add_matching(made.add_argument_group("how PATTERN matches"))
    _add_output(made.add_argument_group("output"))
    groups: dict[str, argparse._ArgumentGroup] = {}
    for option in _SHARED:
        title = option.group if option.group != "the answer" else "which records"
        add_option(groups.get(title) or groups.setdefault(title, made.add_argument_group(title)), option)
    output = made.add_argument_group("terminal")
    colours = ("auto", "always", "ansi", "never")
    output.add_argument("--color", choices=colours, default="auto", help="when to colour (default: on a terminal)")
    output.add_argument("--no-progress", action="store_true", help="no progress on the terminal")
    add_home(output)
    return made


def _add_matching(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-e", "--regexp", action="append", default=[], metavar="PATTERN", help="a pattern; one of several must match")
    group.add_argument("-f", "--file", action="append", default=[], metavar="FILE", help="patterns, one a line; - reads standard input")
    group.add_argument("-F", "--fixed-strings", action="store_true", help="patterns are text, not regular expressions")
    case = {"dest": "case", "action": "store_const", "default": "exact"}
    group.add_argument("-i", "--ignore-case", const="ignore", help="capitals do not count", **case)  # type: ignore[arg-type]
    group.add_argument("-s", "--case-sensitive", const="exact", help="capitals count (default)", **case)  # type: ignore[arg-type]
    group.add_argument("-S", "--smart-case", const="smart", help="capitals count where a pattern has some", **case)  # type: ignore[arg-type]
    edges = {"dest": "edges", "action": "store_const", "default": ""}
    group.add_argument("-w", "--word-regexp", const="word", help="only whole words", **edges)  # type: ignore[arg-type]
    group.add_argument("-x", "--line-regexp", const="line", help="only whole lines", **edges)  # type: ignore[arg-type]
    group.add_argument("-v", "--invert-match", action="store_true", help="lines that do not match")


def _add_output(group: argparse._ArgumentGroup) -> None:
    forms = group.add_mutually_exclusive_group()
    forms.add_argument("-c", "--count", action="store_true", help="how many lines match, by conversation; with -o, how many matches")
    forms.add_argument("-l", "--files-with-matches", action="store_true", help="only the names of conversations")
    forms.add_argument("-q", "--quiet", action="store_true", help="print nothing, and stop at the first match")
    forms.add_argument("--json", action="store_true", help="ripgrep's JSON events, one a line")
    forms.add_argument("--vimgrep", action="store_true", help="one line for each match, with line and column")
    group.add_argument("-o", "--only-matching", action="store_true", help="the matches alone, each on a line of its own")
    group.add_argument("-m", "--max-count", type=count, metavar="N", help="at most N matching lines of each conversation")
    group.add_argument("-A", "--after-context", type=count, metavar="N", help="show N lines after each match, of the same record")
    group.add_argument("-B", "--before-context", type=count, metavar="N", help="show N lines before each match")
    group.add_argument("-C", "--context", type=count, metavar="N", dest="around", help="show N lines before and after")
    numbers = {"dest": "numbers", "action": "store_const"}
    group.add_argument("-n", "--line-number", const=True, help="line numbers (default: on a terminal)", **numbers)  # type: ignore[arg-type]
    group.add_argument("-N", "--no-line-number", const=False, help="no line numbers", **numbers)  # type: ignore[arg-type]
    group.add_argument("--column", action="store_true", help="the column of the first match, in bytes, as ripgrep counts")
    headings = {"dest": "heading", "action": "store_const"}
    group.add_argument("--heading", const=True, help="names above their lines (default: on a terminal)", **headings)  # type: ignore[arg-type]
    group.add_argument("--no-heading", const=False, help="names before each line", **headings)  # type: ignore[arg-type]
    group.add_argument("-I", "--no-filename", action="store_true", help="no names")
    group.add_argument("--refs", action="store_true", help="name each record by its ref instead of its conversation")
    group.add_argument("-0", "--null", action="store_true", help="a NUL after each name")
    group.add_argument(
        "-M", "--max-columns", type=count, metavar="N",
        help=f"cut lines longer than N characters; 0: never (default: {_CUT_ON_TERMINAL} on a terminal)",
    )  # fmt: skip


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_grep, words)


def requested(words: Sequence[str]) -> tuple[Query, Pattern, argparse.Namespace]:
    """The query and the pattern that some words ask for. Raises UsageError."""
    words = _glued(words)
    cut = words.index("--") if "--" in words else len(words)
    options = parser().parse_intermixed_args(words[:cut])
    texts = [*options.pattern, *words[cut + 1 :]]
    if options.max_count == 0:
        raise UsageError("--max-count must be at least 1, not 0")
    if options.regexp or options.file:
        if texts:
            raise UsageError(f"-e and -f give the patterns, so {texts[0]!r} is one too many; for a folder there are --cwd and --project")
        texts = [*options.regexp, *(line for file in options.file for line in _patterns(file))]
    elif len(texts) > 1:
        raise UsageError(f"one PATTERN, not {len(texts)}: several go after -e each, and for a folder there are --cwd and --project")
    if not texts:
        raise UsageError("no pattern: give PATTERN, or -e PATTERN for each of several")
    pattern = Pattern(tuple(texts), options.fixed_strings, options.case, options.edges, options.invert_match)
    compiled(pattern)
    return query(surface="cli", order="scan", pattern=pattern, **chosen(options, _SHARED)), pattern, options  # type: ignore[arg-type]


def _glued(words: Sequence[str]) -> list[str]:
    """The words, a pattern that begins with a dash joined to its -e, which argparse would take for a flag."""
    out: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*out, word, *rest]
        if word in ("-e", "--regexp") and (pattern := next(rest, None)) is not None:
            word = f"--regexp={pattern}"
        out.append(word)
    return out


def _patterns(file: str) -> list[str]:
    """The patterns that stand in a file, one a line. Raises UsageError."""
    if file == "-":
        raw = sys.stdin.buffer.read()
    else:
        try:
            with OpenFile(file) as opened:
                raw = opened.whole()
        except Unreadable as error:
            raise UsageError(f"-f {file}: the file cannot be read ({error.code})") from None
    return raw.decode("utf-8", "replace").removesuffix("\n").replace("\r\n", "\n").split("\n")


def _grep(words: Sequence[str]) -> int:
    made, pattern, options = requested(words)
    where = machine(options.home, options.project_root)
    interrupt, progress = Interrupt(), Progress(not options.no_progress)
    previous = signal.signal(signal.SIGINT, interrupt.handle)
    began = time.monotonic()
    events = watched(search(made, where, cancelled=interrupt, driver=command_line(1)), progress)
    try:
        closed = _Output(pattern, options, where.home, began).print(events)
    finally:
        progress.clear()
        signal.signal(signal.SIGINT, previous)
    if closed is None:  # the first match was enough
        return 0
    if not (options.quiet or options.json):
        _close(closed, words, options, where.home)
    return exit_status(closed)


def _close(closed: Summary, words: Sequence[str], options: argparse.Namespace, home: str) -> None:
    """One line on standard error that says what was read; standard output holds lines of records and nothing else."""
    sys.stdout.flush()
    look = _style(options, sys.stderr) if sys.stderr.isatty() else BARE
    page = Page(look, 0, home, time.time(), again=lambda patch: shlex.join(["deepgrep", "grep", *_changed(words, patch)]))
    sys.stderr.writelines(line + "\n" for line in closing(closed, page))


def _style(options: argparse.Namespace, stream: TextIO) -> Style:
    when: When = "always" if options.color == "ansi" else options.color
    return style(when, stream, os.environ)


def _changed(words: Sequence[str], patch: Mapping[str, object]) -> list[str]:
    """The words as given, with a next action's patch applied."""
    replaced = {flag: option for option in SEARCH if option.field in patch for flag in option.flags[-1:]}
    out: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            out += [word, *rest]
        elif (option := replaced.get(word.partition("=")[0])) is None:
            out.append(word)
        elif option.shape != "switch" and "=" not in word:
            next(rest, None)
    return [*arguments({**patch, "texts": ("",)})[:-1], *out]


class _Output:
    """Prints results as they come: those of one source together, conversation by conversation."""

    def __init__(self, pattern: Pattern, options: argparse.Namespace, home: str, began: float) -> None:
        self.pattern, self.options, self.home, self.began = pattern, options, home, began
        on_terminal = sys.stdout.isatty()
        coloured = _style(options, sys.stdout) != BARE
        around = options.around or 0
        self.before = around if options.before_context is None else options.before_context
        self.after = around if options.after_context is None else options.after_context
        most = options.max_columns if options.max_columns is not None else _CUT_ON_TERMINAL if on_terminal else 0
        heading_wanted = on_terminal if options.heading is None else options.heading
        self.layout = Layout(
            colours=COLOURED if coloured else PLAIN,
            heading=heading_wanted and not options.vimgrep and not options.no_filename,
            named=not options.no_filename or options.vimgrep,
            numbered=(on_terminal or options.column or options.vimgrep) if options.numbers is None else options.numbers,
            column=(options.column or options.vimgrep) and not pattern.inverted,
            only=options.only_matching and not pattern.inverted,
            each=options.vimgrep and not pattern.inverted,
            null=options.null,
            context=bool(self.before or self.after),
            most=most or None,
        )
        self.counts: dict[str, int] = {}  # lines by name; what -m, -l and -c are decided by
        self.stats = Stats()
        self.last = ""  # the name that was printed last

    def print(self, events: Iterator[Event]) -> Summary | None:
        """Print what comes; the run's summary, or None where a first match ended it."""
        waiting: list[Result] = []
        for event in events:
            if isinstance(event, Result):
                if self.options.quiet:
                    return None
                waiting.append(event)
            elif isinstance(event, (SourceFinished, Finished)):
                self._source(waiting)
                waiting = []
                if isinstance(event, Finished):
                    return self._finished(event.summary)
        return None

    def _source(self, results: Sequence[Result]) -> None:
        """Print the results of one source."""
        named: dict[str, list[Result]] = {}
        for result in results:
            named.setdefault(name(result.record, self.home, exact=self.options.refs), []).append(result)
        for title, inside in named.items():
            if self.options.json:
                self._json(title, inside)
            else:
                for result in inside:
                    self._record(title, result)
        if results:
            sys.stdout.flush()

    def _record(self, title: str, result: Result) -> None:
        seen = self.counts.get(title, 0)
        left = None if self.options.max_count is None else self.options.max_count - seen
        if left is not None and left <= 0:
            return
        options, write = self.options, sys.stdout.write
        if options.files_with_matches:
            if title not in self.counts:
                self.counts[title] = 1
                write(self._named(title, "\0" if options.null else "\n"))
            return
        groups = list(hits(result.record.text, result.spans, before=self.before, after=self.after, most=left))
        found = [hit for group in groups for hit in group if hit.matched][:left]  # what follows was asked for as context
        each = options.count and options.only_matching
        self.counts[title] = seen + (sum(len(hit.spans) for hit in found) if each else len(found))
        if options.count:
            return
        is_new, first = self.layout.heading and title != self.last, not self.last
        if is_new:
            write(("\n" if self.last else "") + heading(result.record, title, self.layout))
        self.last = title
        for line in printed(groups, title, self.layout, first=is_new or first):
            write(line)

    def _named(self, title: str, end_: str) -> str:
        colours = self.layout.colours
        return f"{colours.name}{title}{colours.reset}{end_}"

    def _json(self, title: str, results: Sequence[Result]) -> None:
        seen = self.counts.get(title, 0)
        lines: list[str] = []
        stats = Stats(1, 1)
        for result in results:
            left = None if self.options.max_count is None else self.options.max_count - seen - stats.matched_lines
            if left is not None and left <= 0:
                break
            groups = list(hits(result.record.text, result.spans, before=self.before, after=self.after, most=left))
            found = [hit for group in groups for hit in group if hit.matched][:left]
            lines += events(groups, result.record, title, inverted=self.pattern.inverted)
            matches = 0 if self.pattern.inverted else sum(len(hit.spans) for hit in found)
            stats = stats._replace(
                matched_lines=stats.matched_lines + len(found), matches=stats.matches + matches,
                bytes_searched=stats.bytes_searched + len(result.record.text.encode()),
            )  # fmt: skip
        if not lines:
            return
        self.counts[title] = seen + stats.matched_lines
        out = "".join([begin(title), *lines])
        stats = stats._replace(bytes_printed=len(out.encode()), elapsed_s=time.monotonic() - self.began)
        self.stats = self.stats.plus(stats)
        self._raw(out + end(title, stats))

    def _raw(self, text: str) -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())

    def _finished(self, closed: Summary) -> Summary:
        options = self.options
        if options.json:
            stats = self.stats._replace(elapsed_s=time.monotonic() - self.began)
            self._raw(summary(stats, summary_json(closed)))
        elif options.count:
            for title, number in self.counts.items():
                start = "" if options.no_filename else self._named(title, "\0" if options.null else ":")
                sys.stdout.write(f"{start}{number}\n")
        sys.stdout.flush()
        return closed
