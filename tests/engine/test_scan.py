"""The order `scan`: results as they are found, the first seen is kept, and no text is held for it."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from deepgrep.engine.fold import Seen
from deepgrep.model import Finished, Result, SourceFinished
from talk import BASE_S, Talks, claude_file, claude_row, claude_tool, lay, place, run, thread


def test_results_come_before_the_last_source_is_read(tmp_path: Path) -> None:
    for number in range(5):
        lay(tmp_path, {claude_file(thread(number)): [claude_row("user", f"ok {number}", number, thread(number), uuid=f"u{number}")]})
    ran = run(tmp_path, order="scan")
    kinds = [type(event) for event in ran.events[1:]]
    assert kinds == [Result, SourceFinished] * 5 + [Finished]  # a source is finished behind its results


@pytest.mark.parametrize("limit", [1, 3, 4, 5, 6])
def test_a_limit_ends_the_scan_with_one_more_than_it(limit: int, tmp_path: Path) -> None:
    for number in range(5):
        lay(tmp_path, {claude_file(thread(number)): [claude_row("user", f"ok {number}", number, thread(number), uuid=f"u{number}")]})
    ran = run(tmp_path, order="scan", limit=limit)
    assert [result.record.text for result in ran.results] == [f"ok {number}" for number in range(min(limit, 5))]
    assert ran.counts["completed"] == min(limit + 1, 5)
    assert ran.counts["skipped"] == 5 - min(limit + 1, 5)
    assert ran.summary.status.state == ("bounded" if limit < 5 else "complete")


@pytest.mark.parametrize("seed", range(150))
def test_a_scan_loses_nothing_of_what_a_drained_run_gives(seed: int, tmp_path: Path) -> None:
    """Nothing of a drained run is lost: each of its results has one in the scan that is it, or folded into it."""
    home = Talks(seed).lay(tmp_path)
    drained, scanned = run(home), run(home, order="scan")
    assert len(scanned.results) >= len(drained.results)
    group = {place(record): index for index, result in enumerate(drained.results) for record in (result.record, *result.folded)}
    given = [group[place(result.record)] for result in scanned.results]
    assert set(given) == set(group.values())
    theirs, ours = ([r for r in ran.results if r.record.speaker != "person"] for ran in (scanned, drained))
    assert len(theirs) == len(ours)


def test_a_row_stands_for_one_prompt_only(tmp_path: Path) -> None:
    """One session in two files: the row pairs with either, and the other is an utterance of its own."""
    session = thread(1)
    row = {"display": "ok go", "timestamp": 1000 * (BASE_S + 20), "project": "/src/shop", "sessionId": session}
    home = lay(
        tmp_path,
        {
            ".claude/history.jsonl": [row],
            claude_file(session, "-work-a"): [claude_row("user", "ok go", 1, session, uuid="u1")],
            claude_file(session, "-work-b"): [claude_row("user", "ok go", 20, session, uuid="u2")],
        },
    )
    assert len(run(home).results) == 2
    assert len(run(home, order="scan").results) == 2


def test_a_scan_holds_no_text_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Seen] = []
    init = Seen.__init__

    def _init(self: Seen) -> None:
        held.append(self)
        init(self)

    monkeypatch.setattr(Seen, "__init__", _init)
    for number in range(4):
        rows = [claude_tool(f"ok {number} {n} " + "x" * 10_000, n, thread(number), f"u{number}-{n}") for n in range(50)]
        lay(tmp_path, {claude_file(thread(number)): [*rows, claude_row("user", f"ok {number}", 99, thread(number), uuid=f"p{number}")]})
    assert len(run(tmp_path, order="scan").results) == 204
    seen, waiting, size = set(), [held[0].__dict__], 0
    while waiting:
        thing = waiting.pop()
        if id(thing) not in seen and not isinstance(thing, type):
            seen.add(id(thing))
            size += len(thing) if isinstance(thing, (str, bytes)) else sys.getsizeof(thing)
            waiting += gc.get_referents(thing)
    assert size < 200_000  # of two million characters
