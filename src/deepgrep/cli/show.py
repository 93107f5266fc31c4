"""`deepgrep show`: a record in its conversation, or a conversation, as text, Markdown, JSON or HTML."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence

from ..engine.conversation import Conversation, Window, opened, way_back
from ..engine.resolve import choices
from ..engine.target import Target
from ..errors import NotFound, UsageError
from ..library import machine
from ..model import KINDS, SPEAKERS, Resume
from ..render.conversation import Sheet, lines, markdown
from ..render.style import style
from .parser import Parser, add_home, answered, count

FORMATS = ("text", "markdown", "json", "html")
_AROUND = 5


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = Parser(
        "show", "[OPTION...] REF|ID|PATH",
        "Show a record in its conversation, or a whole conversation: by a ref, a conversation's id, the start of one, or a file.",
        "  deepgrep search --refs flaky test                   refs stand in brackets\n"
        "  deepgrep show -C 2 REF                              two records on each side of it\n"
        "  deepgrep show 5eed0000 --speaker person             what you typed in a conversation\n"
        "  deepgrep show --format html ID > conversation.html  one file, no script, nothing loaded",
        "exit status: 0 shown, 2 not here any more, not one thing, or not readable",
    )  # fmt: skip
    made.add_argument("name", metavar="REF|ID|PATH", help="a ref, a conversation's id or the start of one, or a file of a history")
    which = made.add_argument_group("which records")
    which.add_argument("-C", "--context", type=count, metavar="N", help=f"records on each side of a ref's (default: {_AROUND})")
    which.add_argument("--whole", action="store_true", help="the whole conversation, tools' texts unfolded")
    which.add_argument("--from", dest="first", type=count, metavar="NUMBER", help="from this record on")
    which.add_argument("-n", "--limit", type=count, metavar="N", help="with --from, an id or a file: at most so many records")
    which.add_argument("--speaker", action="append", default=[], metavar="WHO", help=f"only {', '.join(SPEAKERS)}; repeatable")
    which.add_argument("--kind", action="append", default=[], metavar="KIND", help=f"only of this kind: {', '.join(KINDS)}; repeatable")
    which.add_argument("--tools", action="store_true", help="tools' texts whole (default: a few lines of each)")
    output = made.add_argument_group("output")
    output.add_argument("--format", metavar="FORM", default="text", help=f"{', '.join(FORMATS)} (default: text)")
    output.add_argument("--json", action="store_true", help="the same as --format json")
    output.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="when to colour (default: on a terminal)")
    output.add_argument("--no-pager", action="store_true", help="no pager on a terminal")
    add_home(output)
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(_show, words)


def _show(words: Sequence[str]) -> int:
    options = parser().parse_args(list(words))
    form = "json" if options.json else options.format
    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}; choose from {', '.join(FORMATS)}")
    if options.limit == 0 or options.first == 0:
        raise UsageError("--from and --limit count from 1")
    wanted = Window(limit=options.limit, speakers=choices("speaker", options.speaker, SPEAKERS), kinds=choices("kind", options.kind, KINDS))
    where = machine(options.home, options.project_root)
    found, named = opened(options.name, where)
    passage = found.window(_placed(wanted, options, found))
    command = _command(found)
    notes = tuple(_notes(found, named))
    if form == "json":
        from ..render.json import passage_json

        _write([passage_json(found, passage, found.subagents(where), command, notes, where.home)])
        return 0
    look = style(options.color if form == "text" else "never", sys.stdout, os.environ)
    unfolded = options.tools or options.whole
    sheet = Sheet(found, passage, found.subagents(where), command, notes, where.home, unfolded, look)
    _print(_rendered(form, sheet), paged=form == "text" and not options.no_pager)
    return 0


def _placed(wanted: Window, options: argparse.Namespace, found: Conversation) -> Window:
    """Around the hit; or from a number on; or all."""
    if options.first is not None:
        if options.context is not None or options.whole:
            raise UsageError("--from starts at a number: leave -C and --whole out")
        return wanted._replace(first=options.first)
    if options.whole or found.hit is None:
        return wanted
    if options.limit is not None:
        raise UsageError("-C says how much is shown around a ref: leave --limit out, or give --from")
    return wanted._replace(around=_AROUND if options.context is None else options.context)


def _command(found: Conversation) -> Resume | None:
    try:
        return way_back(found)
    except NotFound:
        return None


def _notes(found: Conversation, named: Target) -> Iterator[str]:
    if found.moved:
        yield "the file was rewritten since this ref was made; the record was found again at another place"
    if named.why:
        yield named.why
    if named.looked.sources > len(found.sources):
        read = named.looked
        yield f"no name proves this id: looked into {read.sources:,} file{'' if read.sources == 1 else 's'} ({read.bytes:,} B) to find it"


def _rendered(form: str, sheet: Sheet) -> Iterator[str]:
    if form == "html":
        from ..render.html import page

        return page(sheet)
    return markdown(sheet) if form == "markdown" else lines(sheet)


def _write(texts: Iterator[str] | Sequence[str]) -> None:
    for text in texts:
        sys.stdout.write(text + "\n")


def _print(texts: Iterator[str], *, paged: bool) -> None:
    """Through the pager on a terminal, else as it is."""
    pager = shlex.split(os.environ.get("PAGER", "less -R")) if paged and sys.stdout.isatty() else []
    if not pager or pager == ["cat"]:
        _write(texts)
        return
    import subprocess  # deferred: only a terminal has a pager

    variables = {**os.environ, "LESS": os.environ.get("LESS", "FRX")}
    try:
        program = subprocess.Popen(pager, stdin=subprocess.PIPE, env=variables, text=True, errors="backslashreplace")  # noqa: S603 - theirs
    except OSError:
        _write(texts)
        return
    try:
        assert program.stdin
        for text in texts:
            program.stdin.write(text + "\n")
        program.stdin.close()
    except BrokenPipeError:  # they have seen enough
        pass
    finally:
        program.wait()
