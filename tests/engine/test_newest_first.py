"""`--limit k --order newest` reads the newest first, stops where it may, and says what it relied on."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from deepgrep.engine.read import Task, read
from deepgrep.engine.resolve import query as request
from deepgrep.model import Match, Source
from talk import (
    BASE_S,
    FUTURE_S,
    Json,
    Talks,
    claude_file,
    claude_row,
    codex_event,
    codex_file,
    codex_header,
    codex_line,
    codex_said,
    lay,
    place,
    run,
    said,
    thread,
    touch,
)  # fmt: skip

DAY_S = 86_400


def many(home: Path, count: int, each: int = 3) -> Path:
    """Sessions of one day each, each file as old as its last record."""
    for number in range(count):
        rows = [claude_row("user", f"ok {number} {n}", number * DAY_S + n, thread(number), uuid=f"u{number}-{n}") for n in range(each)]
        lay(home, {claude_file(thread(number)): rows}, BASE_S + number * DAY_S + each)
    return home


def places(ran) -> list[object]:  # type: ignore[no-untyped-def]
    return [place(result.record) for result in ran.results]


def status(ran) -> tuple[str, tuple[str, ...]]:  # type: ignore[no-untyped-def]
    return ran.summary.status.state, ran.summary.status.conditions


@pytest.mark.parametrize("limit", [1, 4, 10, 50])
def test_truthful_times_give_the_newest_and_open_few(limit: int, tmp_path: Path) -> None:
    home = many(tmp_path, 200)
    whole, cut = run(home, order="newest"), run(home, order="newest", limit=limit)
    assert places(cut) == places(whole)[:limit]
    assert cut.counts["attempted"] <= limit // 3 + 3
    assert cut.counts["skipped"] == 200 - cut.counts["attempted"]
    assert status(cut) == ("approximate", ("file_times", "result_limit"))


def test_a_limit_beyond_all_matches_reads_all_and_is_complete(tmp_path: Path) -> None:
    cut = run(many(tmp_path, 20), order="newest", limit=61)
    assert (len(cut.results), cut.counts["completed"], status(cut)) == (60, 20, ("complete", ()))


def test_when_nothing_was_left_out_the_state_is_only_bounded(tmp_path: Path) -> None:
    cut = run(many(tmp_path, 20), order="newest", limit=59)
    assert (len(cut.results), cut.counts["completed"], status(cut)) == (59, 20, ("bounded", ("result_limit",)))


LIES = {
    "all the same": lambda path: FUTURE_S,
    "1970": lambda path: 0,
    "before 1970": lambda path: -DAY_S,
    "the future": lambda path: FUTURE_S * 2,
    "backwards": lambda path: 2 * FUTURE_S - path.stat().st_mtime,
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("limit", [1, 5, 100])
def test_file_times_that_lie(lie: str, limit: int, tmp_path: Path) -> None:
    home = many(tmp_path, 30)
    whole = run(home, order="newest")
    touch(home, LIES[lie])
    cut = run(home, order="newest", limit=limit)
    assert len(cut.results) == min(limit, 90)
    assert cut.counts["failed"] == 0
    if lie not in ("1970", "before 1970"):  # later than the records: exact all the same
        assert places(cut) == places(whole)[:limit]
        assert status(cut) == (("bounded", ("result_limit",)) if limit < 90 else ("complete", ()))
    elif cut.counts["skipped"]:
        assert status(cut)[0] == "approximate"


def test_random_homes_give_the_first_of_the_unlimited_run(tmp_path: Path) -> None:
    for seed in range(60):
        home = Talks(seed).lay(tmp_path / f"{seed}")
        dice = random.Random(seed)
        options = dice.choice(({}, {}, {"project": "shop"}, {"since": "2026-01-02T00:00:20Z"}, {"dedupe": False}))
        touch(home, lambda path, dice=dice: FUTURE_S + dice.randint(0, 3))  # type: ignore[misc]
        whole, limit = run(home, order="newest", **options), dice.choice((1, 3, 7, 40))
        cut = run(home, order="newest", limit=limit, **options)
        assert [said(result) for result in cut.results] == [said(result) for result in whole.results[:limit]], seed


# --- from the end ---------------------------------------------------------------------------------------------------


def spoken(count: int) -> list[Json]:
    """A thread in which every turn stands twice, and every prompt is told apart."""
    rows = [codex_header(thread(1), 0)]
    for number in range(count):
        rows += [codex_said("user", f"ok {number}", number), codex_event("user", f"ok {number}", number)]
        rows += [codex_said("assistant", f"ok, done {number}", number + 0.5), codex_event("assistant", f"ok, done {number}", number + 0.5)]
        rows.append(codex_line("event_msg", {"type": "task_complete", "last_agent_message": f"ok, done {number}"}, number + 0.6))
    return rows


def test_a_long_file_is_decoded_from_its_end_and_only_there(tmp_path: Path) -> None:
    home = lay(tmp_path, {codex_file(thread(1)): spoken(3000)})
    whole, cut = run(home, order="newest"), run(home, order="newest", limit=20)
    assert places(cut) == places(whole)[:20]
    assert whole.records["decoded"] == 15_000
    assert cut.records["decoded"] < 300
    assert cut.records["probed"] == whole.records["probed"]
    assert cut.counts["bounded"] == 1
    assert status(cut) == ("approximate", ("file_times", "result_limit"))


@pytest.mark.parametrize("limit", [20, 100, 119, 120, 121, 300])
def test_spellings_of_one_turn_do_not_use_up_the_limit(limit: int, tmp_path: Path) -> None:
    """Each turn stands two or three times: as many results as asked for must be found below them."""
    home = lay(tmp_path, {codex_file(thread(1)): spoken(60)})
    whole, cut = run(home, order="newest"), run(home, order="newest", limit=limit)
    assert len(whole.results) == 120
    assert places(cut) == places(whole)[:limit]
    assert (status(cut)[0] == "complete") == (limit >= 120)


def test_spellings_in_one_file_do_not_hide_another(tmp_path: Path) -> None:
    home = lay(tmp_path, {codex_file(thread(1)): spoken(150)})
    lay(home, {claude_file(thread(2)): [claude_row("user", f"ok {n}", 1000 + n / 10, thread(2), uuid=f"v{n}") for n in range(30)]})
    whole, cut = run(home, order="newest"), run(home, order="newest", limit=150)
    assert places(cut) == places(whole)[:150]


def test_a_prompt_history_of_copies_does_not_use_up_the_limit(tmp_path: Path) -> None:
    rows = [{"display": f"ok {n}", "timestamp": 1000 * (BASE_S + n), "project": "/src/shop", "sessionId": thread(2)} for n in range(40)]
    body = [claude_row("user", f"ok {n}", n, thread(2), uuid=f"v{n}") for n in range(40)]
    body += [claude_row("assistant", f"ok then {n}", n + 0.5, thread(2), uuid=f"w{n}") for n in range(40)]
    body.sort(key=lambda row: str(row["timestamp"]))
    home = lay(tmp_path, {".claude/history.jsonl": rows, claude_file(thread(2)): body})
    whole = run(home, order="newest")
    for limit in (10, 39, 60):
        assert places(run(home, order="newest", limit=limit)) == places(whole)[:limit]


@pytest.mark.parametrize("options", [{"project": "inn"}, {"since": "2026-01-02T00:08:20Z"}, {"until": "2026-01-02T00:05:00Z"}], ids=str)
def test_filters_are_kept_while_reading_from_the_end(options: dict[str, object], tmp_path: Path) -> None:
    places_of = ["/src/shop" if n % 97 else "/src/inn" for n in range(1000)]
    rows = [claude_row("user", f"ok {n}", n, thread(1), uuid=f"u{n}", cwd=cwd) for n, cwd in enumerate(places_of)]
    home = lay(tmp_path, {claude_file(thread(1)): rows})
    whole, cut = run(home, order="newest", **options), run(home, order="newest", limit=5, **options)
    assert len(cut.results) == 5
    assert places(cut) == places(whole)[:5]


def test_undated_records_come_last_and_stop_nothing(tmp_path: Path) -> None:
    rows = [claude_row("user", f"ok {n}", None if n % 2 else n, thread(1), uuid=f"u{n}") for n in range(200)]
    home = lay(tmp_path, {claude_file(thread(1)): rows})
    whole = run(home, order="newest")
    for limit in (3, 100, 101, 150, 300):
        assert places(run(home, order="newest", limit=limit)) == places(whole)[:limit]


def test_ties_are_told_apart_in_one_way(tmp_path: Path) -> None:
    for number in range(5):
        rows = [claude_row("user", f"ok {n}", 7, thread(number), uuid=f"{number}{n}") for n in range(5)]
        lay(tmp_path, {claude_file(thread(number)): rows})
    whole = run(tmp_path, order="newest")
    for limit in range(1, 26):
        assert places(run(tmp_path, order="newest", limit=limit)) == places(whole)[:limit]


def test_a_file_replaced_while_it_is_read_from_the_end_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was opened is read, though another file has its name by now."""
    from deepgrep.engine.read import _Work

    home = lay(tmp_path, {codex_file(thread(1)): spoken(10)})
    whole, path, survey = run(home, order="newest", limit=500), tmp_path / codex_file(thread(1)), _Work._surveyed

    def replaced(self: _Work, *rest: object):  # type: ignore[no-untyped-def]
        out = survey(self, *rest)  # type: ignore[arg-type]
        path.with_suffix(".new").write_text("{}\n")
        os.replace(path.with_suffix(".new"), path)
        return out

    monkeypatch.setattr(_Work, "_surveyed", replaced)
    assert places(run(home, order="newest", limit=500)) == places(whole)


# --- context, read from the end ---------------------------------------------------------------------------------------


def forked(dice: random.Random) -> list[Json]:
    """A fork that holds its parent's turns, and changes folder and model as it goes."""
    own, parent = thread(9000), thread(3)
    rows = [codex_header(own, 9000, forked_from_id=parent)]
    if dice.random() < 0.7:
        rows.append(codex_header(parent, 9000))
    for turn in range(dice.randint(1, 6)):
        copied = turn < 3
        second = 9000.0 if copied else 9000 + turn * 10
        native = thread(3 + turn) if copied else thread(9000 + turn)
        turn_context = {"cwd": f"/src/{dice.choice('abc')}", "model": f"m{dice.randint(1, 3)}", "turn_id": native}
        rows.append(codex_line("turn_context", turn_context, second))
        for _ in range(dice.randint(0, 4)):
            role = dice.choice(("user", "assistant"))
            rows += [codex_said(role, "ok go", second), codex_event(role, "ok go", second)]
    return rows


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("window", [1024, 1 << 20])
def test_read_from_the_end_a_fork_s_records_are_the_same(seed: int, window: int, tmp_path: Path) -> None:
    lay(tmp_path, {codex_file(thread(9000)): forked(random.Random(seed))})
    path = tmp_path / codex_file(thread(9000))
    source = Source("codex", "codex.sessions", "transcript", str(path), path.name, path.stat().st_size, 0, path.stem, str(tmp_path))
    task = Task(request(["ok"], effort="exhaustive", scope="all"), source, window=window)
    forward, back = read(task), read(task._replace(from_end=True))

    def order(match: Match) -> tuple[int, int]:
        return match.record.position, match.record.block

    assert sorted(back.matches, key=order) == sorted(forward.matches, key=order)
    assert Counter(back.counts) == Counter(forward.counts)
    assert back.facts == forward.facts or not forward.matches  # of a file without a candidate no context is read
