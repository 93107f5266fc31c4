"""Memory does not grow with the corpus, and files that change under the reader cost at most one counted reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import DEEPGREP
from deepgrep.files import OpenFile
from homes import jsonl
from talk import claude_file, claude_row, claude_tool, lay, run, thread

MB = 1 << 20


def peak(outside: dict[str, str], home: Path, *words: str) -> tuple[dict[str, object], int]:
    """The answer of a search as a program of its own, and its peak memory in bytes."""
    code = (
        "import re, resource, sys, deepgrep.cli.search as cli\n"
        f"status = cli.run(['--home', {str(home)!r}, '--exhaustive', '--scope', 'all', '--json', '--workers', '1', *{list(words)!r}])\n"
        "sys.stdout.flush()\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"  # on Linux it starts at the parent's
        "if sys.platform == 'linux':\n"
        "    peak = int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "print(peak, file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout), int(ran.stderr) * (1 if sys.platform == "darwin" else 1024)


@pytest.fixture
def wordy(tmp_path: Path) -> Path:
    """60 MB in three sessions; every line holds the word."""
    for number in range(3):
        path = tmp_path / claude_file(thread(number))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            for n in range(9000):
                file.write(json.dumps(claude_tool(f"ok {number} {n} " + "filler " * 280, n, thread(number), f"u{number}-{n}")) + "\n")
    return tmp_path


@pytest.mark.parametrize("order", ["newest", "relevance"])
def test_a_limit_bounds_memory_whatever_the_corpus(order: str, wordy: Path, outside: dict[str, str]) -> None:
    made, bytes_ = peak(outside, wordy, "--limit", "20", "--order", order, "ok")
    assert len(made["results"]) == 20  # type: ignore[arg-type]
    assert bytes_ < 80 * MB


def test_a_long_line_that_is_no_candidate_costs_its_length_a_few_times(tmp_path: Path, outside: dict[str, str]) -> None:
    rows = [claude_row("user", "ok", 1, thread(1), uuid="u"), claude_tool("x" * (40 * MB), 2, thread(1), "v")]
    home = lay(tmp_path, {claude_file(thread(1)): rows})
    made, bytes_ = peak(outside, home, "ok")
    assert len(made["results"]) == 1  # type: ignore[arg-type]
    assert bytes_ < 80 * MB + 3 * 40 * MB


def test_thousands_of_tiny_files_are_all_counted(tmp_path: Path, outside: dict[str, str]) -> None:
    folder = tmp_path / ".claude/projects/-work-shop"
    folder.mkdir(parents=True)
    for number in range(5000):
        row = claude_row("user", "ok", number, thread(number), uuid=f"u{number}")
        (folder / f"{thread(number)}.jsonl").write_text("" if number % 2 else jsonl(row))
    ran = run(tmp_path)
    assert (ran.planned, ran.counts["completed"], len(ran.results)) == (5000, 5000, 2500)
    words = [*DEEPGREP, "search", "--home", str(tmp_path), "--json", "--exhaustive", "--workers", "2", "--order", "newest", "--limit", "3"]
    words.append("ok")
    made = json.loads(subprocess.run(words, env=outside, capture_output=True, check=True, timeout=60).stdout)
    counts = made["summary"]["coverage"]["sources"]
    assert counts["planned"] == 5000 == counts["attempted"] + counts["skipped"]


# --- files that change ------------------------------------------------------------------------------------------------

Change = Callable[[Path], None]


def _grows(path: Path) -> None:
    with path.open("a") as file:
        file.write(jsonl(claude_row("user", "ok later", 99, thread(1), uuid="late")))


def _is_replaced(path: Path) -> None:
    path.with_suffix(".new").write_text(jsonl(claude_row("user", "ok other", 5, thread(1), uuid="other")))
    os.replace(path.with_suffix(".new"), path)


CHANGES: dict[str, tuple[Change, set[str], dict[str, int]]] = {
    "grows": (_grows, {"ok 0", "ok 1", "ok later", "ok here"}, {}),
    "shrinks": (lambda path: os.truncate(path, len(path.read_bytes().splitlines(keepends=True)[0])), {"ok 0", "ok here"}, {}),
    "is emptied": (lambda path: os.truncate(path, 0), {"ok here"}, {}),
    "is replaced": (_is_replaced, {"ok other", "ok here"}, {}),
    "is deleted": (Path.unlink, {"ok here"}, {"vanished": 1}),
    "becomes a folder": (lambda path: (path.unlink(), path.mkdir())[1], {"ok here"}, {"not_a_file": 1}),
}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """A home of two sessions, and the file of the first."""
    rows = [claude_row("user", f"ok {n}", n, thread(1), uuid=f"u{n}") for n in range(2)]
    home = lay(tmp_path, {claude_file(thread(1)): rows, claude_file(thread(2)): [claude_row("user", "ok here", 9, thread(2), uuid="x")]})
    return home, home / claude_file(thread(1))


@pytest.mark.parametrize("options", [{}, {"order": "newest", "limit": 10}, {"order": "scan"}], ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_between_listing_and_reading(
    change: str, options: dict[str, object], two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    act, texts, reasons = CHANGES[change]
    home, path = two
    init, done = OpenFile.__init__, []

    def opened(self: OpenFile, name: str) -> None:
        if name == str(path) and not done:
            done.append(name)
            act(path)
        init(self, name)

    monkeypatch.setattr(OpenFile, "__init__", opened)
    ran = run(home, **options)
    assert done
    assert {result.record.text for result in ran.results} == texts
    agent = ran.summary.coverage["agents"]["claude"]  # type: ignore[index]
    assert agent["reasons"] == reasons
    assert (ran.counts["completed"], ran.counts["failed"]) == (2 - len(reasons), len(reasons))
    assert ran.summary.status.state == ("failed" if reasons else "complete")


@pytest.mark.parametrize("change", ["grows", "shrinks", "is replaced", "is deleted"])
@pytest.mark.parametrize("options", [{}, {"order": "newest", "limit": 10}], ids=str)
def test_a_file_that_changes_while_it_is_open(
    change: str, options: dict[str, object], two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there when it was opened is what is read; a file that got shorter is said to have changed."""
    home, path = two
    init = OpenFile.__init__

    def opened(self: OpenFile, name: str) -> None:
        init(self, name)
        if name == str(path):
            monkeypatch.setattr(OpenFile, "__init__", init)
            CHANGES[change][0](path)

    monkeypatch.setattr(OpenFile, "__init__", opened)
    ran = run(home, **options)
    shrank = change == "shrinks"
    assert {result.record.text for result in ran.results} == {"ok 0", "ok here"} | (set() if shrank else {"ok 1"})
    assert ran.counts["failed"] == int(shrank)
    assert ran.summary.coverage["agents"]["claude"]["reasons"] == ({"changed_while_read": 1} if shrank else {})  # type: ignore[index]


def test_a_file_that_goes_before_a_second_look_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limited search may read a source twice; what it found the first time stands, and the source has failed."""
    from deepgrep.engine import hold
    from deepgrep.engine.search import _Run

    monkeypatch.setattr(hold, "_LEAST", 1)
    monkeypatch.setattr(hold, "_PER_RESULT", 2)
    rows = [claude_row("user", "ok go", n, thread(1), uuid=f"u{n}") for n in range(20)]
    home = lay(tmp_path, {claude_file(thread(1)): rows})
    again = _Run._again

    def gone(self: _Run, only: object):  # type: ignore[no-untyped-def]
        (home / claude_file(thread(1))).unlink(missing_ok=True)
        return again(self, only)  # type: ignore[arg-type]

    monkeypatch.setattr(_Run, "_again", gone)
    ran = run(home, order="newest", limit=2)
    assert [result.record.position for result in ran.results] == sorted((r.record.position for r in ran.results), reverse=True)
    assert len(ran.results) == 2
    assert (ran.counts["failed"], ran.summary.status.state) == (1, "failed")


# --- output ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize("form", [["--json"], ["--ndjson"], [], ["--no-group"], ["--order", "scan", "--no-group"]], ids=str)
def test_a_full_disk_is_one_clear_line(form: list[str], two: tuple[Path, Path], outside: dict[str, str]) -> None:
    words = [*DEEPGREP, "search", "--home", str(two[0]), "--exhaustive", *form, "ok"]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(words, env=outside, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert ran.stderr == "deepgrep: the answer could not be written: No space left on device\n"
    assert ran.returncode == 2
