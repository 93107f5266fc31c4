"""`deepgrep grep` prints what ripgrep prints on the decoded texts: byte for byte, over the patterns and flags that both know."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from deepgrep import events
from deepgrep.errors import UsageError
from deepgrep.model import Pattern, Result
from deepgrep.query.regex import compiled
from homes import jsonl, write
from ledger import Guard
from pages import run

RG = shutil.which("rg")
FEW = settings(max_examples=40)  # each starts a program
needs_rg = pytest.mark.skipif(RG is None, reason="ripgrep is not installed: there is nothing to compare with")

# No carriage return and no other control character: those are printed as pictures, and have tests of their own.
PIECES = (
    *"abABkKsS_-. 019()[]{}*+?^$|\\/#\"'", "\n", "\n", "\n\n", "\t", "é", "É", "e\u0301", "ß", "\u1e9e", "\u017f", "\u212a",
    "漢字", "한", "ж", "Ж", "σς", "\u0663",
    "\u24d0", "\u200d", "\xa0", "\u3000", "😀", "\u01c5", "foo", "Foo", "foo bar", "foobar", "E-12:34", "naïve",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join).filter(lambda text: bool(text.strip()))
LITERALS = (*"abABkKsS_019 -#é漢жß\u212a\u017fσ", "foo", "Foo", "foo bar", r"\.", r"\(", r"\\", r"\x41", r"\u{e9}", "😀", "\t", '"')
CLASSES = (
    r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", ".", "[ab]", "[^ab]", "[a-zé]", r"[\w-]", r"[^\s]", r"[\W]", r"[^\W_]", r"[\Sab]",
    "[[:alpha:]_]", "[]a]",
    r"\p{Lu}", r"\P{L}", r"\p{Greek}", r"[^\d]", r"[\D]", "[K]", "[ſ]",
)  # fmt: skip
atoms = st.one_of(st.sampled_from(LITERALS), st.sampled_from(LITERALS), st.sampled_from(CLASSES), st.sampled_from(("^", "$")))
SIGNS = ("*", "+", "?", "{2}", "{1,2}", "{0,1}", "*?", "+?", "??")


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda part: f"({part})"),
        inner.map(lambda part: f"(?i:{part})"),
        st.tuples(inner, st.sampled_from(SIGNS)).map(lambda both: f"(?:{both[0]}){both[1]}"),
    )


patterns = st.recursive(atoms, _larger, max_leaves=6)
# Not both: two forms of output; -C with -A or -B, where ripgrep 13 forgets the other side; -v with what prints matches.
APART = ({"-c", "--vimgrep"}, {"-C2", "-A1"}, {"-C2", "-B1"}, {"-v", "-o"}, {"-v", "--vimgrep"}, {"-v", "--column"}, {"-m1", "-m2"})
SHOWN = st.lists(
    st.sampled_from(("-n", "--column", "-c", "-o", "--vimgrep", "-v", "-A1", "-B1", "-C2", "-m1", "-m2")), max_size=3, unique=True
).filter(lambda flags: not any(both <= {*flags} for both in APART))
HOW = st.lists(st.sampled_from(("-i", "-s", "-S", "-w", "-x")), max_size=2, unique=True)


@pytest.fixture(autouse=True)
def _may_start_rg(programs: Guard) -> None:
    """Each test starts ripgrep."""


def laid(folder: Path, said: list[str]) -> Path:
    """A home with one prompt for each text, each in a conversation of its own; and the decoded texts as files of the same names."""
    shutil.rmtree(folder, ignore_errors=True)
    rows = [{"session_id": f"s{number:03}", "ts": 1767312000 + number, "text": text} for number, text in enumerate(said)]
    home = write(folder / "home", {".codex/history.jsonl": jsonl(*rows)})
    files = folder / "texts"
    files.mkdir()
    for event in events(home=home, agent="codex", order="scan", dedupe=False):
        if isinstance(event, Result):
            name = f"codex:{event.record.conversation_id}"
            (files / name).write_bytes(event.record.text.encode())
    return folder


def ripgrep(folder: Path, words: list[str]) -> tuple[str, int]:
    assert RG
    ran = subprocess.run([RG, "--no-config", "-a", "--sort", "path", *words], cwd=folder / "texts", capture_output=True, check=False)
    assert ran.returncode < 2, ran.stderr
    return re.sub("^(\x1b\\S*)?\\./", "", ran.stdout.decode(), flags=re.MULTILINE), ran.returncode


def quoted(words: list[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def ours(folder: Path, words: list[str]) -> tuple[str, int]:
    ran = run(f"deepgrep grep --home home --no-dedupe {quoted(words)}", folder)
    assert ran.status in (0, 1), ran.err
    return ran.out, ran.status


def agree(folder: Path, said: list[str], words: list[str]) -> None:
    laid(folder, said)
    assert ours(folder, words) == ripgrep(folder, ["--no-heading", *words]), words


def is_shared(pattern: Pattern, said: list[str], shown: list[str]) -> bool:
    """Do both know it: it is not refused here, and no match is empty where each match is printed (ripgrep 13 drops some)."""
    try:
        regex = compiled(pattern)
    except UsageError:
        return False
    each = {"-o", "--vimgrep", "--column"} & set(shown)
    return not each or all(start < end for text in ("", *said) for start, end in regex.spans(text))


@needs_rg
@FEW
@given(patterns, st.lists(texts, min_size=1, max_size=4), HOW, SHOWN)
def test_a_pattern_prints_the_lines_that_ripgrep_prints(
    tmp_path: Path, pattern: str, said: list[str], how: list[str], shown: list[str]
) -> None:
    case = next(({"-i": "ignore", "-s": "exact", "-S": "smart"}[flag] for flag in reversed(how) if flag in ("-i", "-s", "-S")), "exact")
    edges = next(({"-w": "word", "-x": "line"}[flag] for flag in reversed(how) if flag in ("-w", "-x")), "")
    assume(is_shared(Pattern((pattern,), False, case, edges), said, shown))  # type: ignore[arg-type]
    agree(tmp_path / "x", said, [*how, *shown, "-e", pattern])


@needs_rg
@FEW
@given(st.lists(st.lists(st.sampled_from([p for p in PIECES if "\n" not in p]), min_size=1, max_size=3).map("".join), min_size=1,
    max_size=2),
       st.lists(texts, min_size=1, max_size=4), HOW, SHOWN)  # fmt: skip
def test_a_fixed_string_prints_the_lines_that_ripgrep_prints(
    tmp_path: Path, needles: list[str], said: list[str], how: list[str], shown: list[str]
) -> None:
    agree(tmp_path / "x", said, ["-F", *how, *shown, *(word for needle in needles for word in ("-e", needle))])


@needs_rg
@FEW
@given(st.sampled_from((r"\bfoo\b", r"foo\b.*\bbar", r"\b\w+\b", r"\B[ab]", r"\b[a-z]+", r"(?i)\bk", r"\bfoo|bar\b", r"a\b\W")),
       st.lists(texts, min_size=1, max_size=4), SHOWN)  # fmt: skip
@example(r"\bfoo\b", ["éfoo foo", "foo漢", "foo\u0301", "жfoo foo\u200d"], ["-o"])
def test_a_word_boundary_knows_letters_outside_ascii(tmp_path: Path, pattern: str, said: list[str], shown: list[str]) -> None:
    assume(is_shared(Pattern((pattern,)), said, shown))
    agree(tmp_path / "x", said, [*shown, "-e", pattern])


@needs_rg
@FEW
@given(
    st.sampled_from(("foo", "[ab]", "é", r"\w+", "漢")),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from(([], ["-C1"], ["-v"], ["-m1"])),
)
def test_json_events_are_ripgreps(tmp_path: Path, pattern: str, said: list[str], flags: list[str]) -> None:
    folder = laid(tmp_path / "x", said)
    words = ["--json", *flags, "-e", pattern]
    assert list(facts(ours(folder, words)[0])) == list(facts(ripgrep(folder, words)[0].replace('"./', '"')))


def facts(out: str) -> Iterator[object]:
    """The events without times and sizes, which depend on the run."""
    for line in out.splitlines():
        event = json.loads(line)
        data = event["data"]
        data.pop("record", None)
        stats = data.pop("stats", {})
        if event["type"] == "summary":
            yield "summary", stats["matched_lines"], stats["matches"]
        else:
            yield event["type"], data, stats.get("matched_lines"), stats.get("matches")


@needs_rg
@pytest.mark.parametrize(
    "flags", [["-l"], ["-c"], ["-n"], ["-0"], ["-l0"], ["-c0"], ["-I"], ["--heading", "-n"], ["--color=always", "-n"], ["-co"]]
)
def test_forms_of_output_are_ripgreps(tmp_path: Path, flags: list[str]) -> None:
    said = ["a foo\nand foo foo\n", "nothing", "foo\n\n\nfoo\n\nfoo"]
    folder = laid(tmp_path / "x", said)
    theirs = ripgrep(folder, [*([] if "--heading" in flags else ["--no-heading"]), *flags, "foo"])
    assert ours(folder, [*flags, "foo"]) == (theirs[0].replace("\0./", "\0"), theirs[1])


@needs_rg
@pytest.mark.parametrize("flags", [[], ["-o"], ["-x"], ["-w"]])
def test_a_carriage_return_before_a_line_feed_ends_the_line(tmp_path: Path, flags: list[str]) -> None:
    folder = laid(tmp_path / "x", ["foo\r\nbar foo\r\nfoo"])
    out, status = ripgrep(folder, ["--crlf", "--no-heading", *flags, "foo$"])
    assert ours(folder, [*flags, "foo$"]) == (out.replace("\r", ""), status)
