"""The executed specification: every page of tests/spec is run, top to bottom, in a folder of its own.

Blocks: `home NAME` lays files (`=== path` before each); `console` is commands and exact output, standard error after standard output,
`(exit N)` last unless 0; `json` is one command and facts about the document it prints; `opened` lists every file of the homes that
the last command opened. `[..]` stands for anything within a line, `...` alone for any lines. The clock says 2026-02-01T00:00:00Z.
--update-goldens rewrites console output. Facts and `opened` blocks are written by hand, and never by a machine.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from homes import snapshot
from ledger import Ledger, recording
from pages import Block, Ran, blocks, lay, matches, rewritten, run, steps

PAGES = sorted((Path(__file__).parent / "spec").glob("*.md"))
_COMPARE: dict[str, Callable[[object, object], bool]] = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
    "has": lambda left, right: right in left, "lacks": lambda left, right: right not in left,
}  # fmt: skip
_FACT = re.compile(r"(.+?) (==|!=|>=|<=|>|<|has|lacks) (.+)")


def value(term: str, doc: object) -> object:
    """A path into the document: names, `[0]`, `[*]` for all of a list; `len(PATH)` for its length."""
    if term.startswith("len("):
        return len(value(term[4:-1], doc))  # type: ignore[arg-type]
    held: list[object] = [doc]
    many = False
    for name, index in re.findall(r"([\w-]+)|\[(\d+|\*)\]", term):
        if index == "*":
            held, many = [inner for one in held for inner in one], True  # type: ignore[attr-defined]
        else:
            held = [one[int(index) if index else name] for one in held]  # type: ignore[index]
    return held if many else held[0]


def holds(fact: str, doc: object) -> bool:
    """Does `PATH OP JSON`, or `PATH OP PATH + PATH`, hold for the document?"""
    found = _FACT.fullmatch(fact)
    assert found, f"no fact: {fact}"
    left, compare, right = found.groups()
    try:
        wanted = json.loads(right)
    except ValueError:
        parts = [value(part, doc) for part in right.split(" + ")]
        wanted = sum(parts) if len(parts) > 1 else parts[0]  # type: ignore[arg-type]
    return _COMPARE[compare](value(left, doc), wanted)


class Page:
    """One run of a page: what went wrong, and which outputs a machine may rewrite."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wrong: list[str] = []
        self.changes: list[tuple[int, int, list[str]]] = []
        self.checked = 0
        self.ledger = Ledger()

    def command(self, text: str, at: int) -> Ran:
        before = snapshot(self.folder)
        with recording() as self.ledger:
            ran = run(text, self.folder)
        if snapshot(self.folder) != before:
            self.wrong.append(f"line {at}: the homes changed")
        if "Traceback" in ran.err:
            self.wrong.append(f"line {at}: a traceback")
        return ran

    def expect(self, good: bool, at: int, what: str) -> None:
        self.checked += 1
        if not good:
            self.wrong.append(f"line {at}: {what}")

    def play(self, block: Block) -> None:
        getattr(self, "_" + block.word, lambda block: None)(block)

    def _home(self, block: Block) -> None:
        lay(block, self.folder)

    def _console(self, block: Block) -> None:
        for text, wanted, at in steps(block):
            got = self.command(text, at).lines
            while wanted and not wanted[-1]:
                wanted = wanted[:-1]
            if not matches(wanted, got):
                self.changes.append((at + 1, len(wanted), got))
            self.expect(matches(wanted, got), at, f"{text}\n  printed\n    " + "\n    ".join(got))

    def _json(self, block: Block) -> None:
        ((text, facts, at),) = steps(block)
        ran = self.command(text, at)
        status = next((int(fact[6:-1]) for fact in facts if fact.startswith("(exit ")), 0)
        self.expect((ran.status, ran.err) == (status, ""), at, f"{text}\n  exit {ran.status} {ran.err}")
        doc = json.loads(ran.out)
        for offset, fact in enumerate(facts, 1):
            if fact and not fact.startswith(("(exit ", "# ")):
                try:
                    good, found = holds(fact, doc), value(fact.split(" ")[0], doc)
                except (KeyError, IndexError, TypeError) as error:
                    good, found = False, repr(error)
                self.expect(good, at + offset, f"{fact}\n  but it is {json.dumps(found, ensure_ascii=False)}")

    def _opened(self, block: Block) -> None:
        opened, wanted = self.ledger.opened_below(self.folder), {line for line in block.lines if line}
        self.expect(opened == wanted, block.at, f"opened too much: {sorted(opened - wanted)}, too little: {sorted(wanted - opened)}")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_page_is_true(path: Path, tmp_path: Path, updating: bool) -> None:
    page, text = Page(tmp_path), path.read_text(encoding="utf-8")
    for block in blocks(text):
        page.play(block)
    if updating and page.changes:
        path.write_text(rewritten(text, page.changes), encoding="utf-8", newline="\n")
    assert page.checked, "the page asserts nothing"
    assert not page.wrong, f"{path.name}\n" + "\n".join(page.wrong)


@pytest.mark.parametrize(
    ("fact", "good"),
    [
        ("a == 1", True), ("a == 2", False), ("b.c has 2", True), ("b.c has 5", False), ("b.c lacks 5", True), ("len(b.c) == 3", True),
        ("a == b.c[0]", True), ("b.c[2] == a + b.c[1]", True), ("b.c[2] == a + a", False),
        ("d[*].e == [1, 2]", True), ("d[*].e == [2, 1]", False),
    ],
)  # fmt: skip
def test_a_fact_can_fail(fact: str, good: bool) -> None:
    assert holds(fact, {"a": 1, "b": {"c": [1, 2, 3]}, "d": [{"e": 1}, {"e": 2}]}) == good


@pytest.mark.parametrize(
    ("wanted", "got", "good"),
    [
        (["a"], ["a"], True), (["a"], ["a", "b"], False), (["a [..] c"], ["a b c"], True), (["a[..]c"], ["a", "c"], False),
        (["..."], ["x", "y"], True), (["a", "..."], ["a"], True), (["...", "z"], ["a", "b"], False), (["a.c"], ["abc"], False),
    ],
)  # fmt: skip
def test_output_matches_as_a_whole(wanted: list[str], got: list[str], good: bool) -> None:
    assert matches(wanted, got) == good
