"""Worker processes change how long a search takes, and nothing else; what dies is counted, and nothing hangs."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

from conftest import DEEPGREP
from deepgrep.discovery import Machine
from deepgrep.engine import drive
from deepgrep.engine.drive import INLINE, Driver, chunks, worth
from deepgrep.engine.read import Task, read
from deepgrep.engine.resolve import query as request
from deepgrep.engine.search import search
from deepgrep.model import Reading, Source, SourceFinished
from ledger import Guard
from talk import Ran, Talks, claude_file, claude_row, lay, run, said, thread

FORK2, FORK3 = Driver(2, "fork"), Driver(3, "fork")
LIMIT_S = 60  # a run that takes longer hangs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Enough sources for every worker."""
    for seed in range(12):
        Talks(seed).lay(tmp_path / "home" / f"{seed}")
    merged = tmp_path / "merged"
    for seed in range(12):
        for path in (tmp_path / "home" / f"{seed}").rglob("*.jsonl"):
            target = merged / path.relative_to(tmp_path / "home" / f"{seed}")
            target = target if not target.exists() or "history" in target.name else target.with_name(f"{seed}{target.name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("ab") as file:
                file.write(path.read_bytes())
    return merged


@pytest.fixture
def singly(monkeypatch: pytest.MonkeyPatch, programs: Guard) -> None:
    """Small sources do not travel together, so that several workers have work."""
    monkeypatch.setattr(drive, "CHUNK_BYTES", 1)


@pytest.fixture(autouse=True)
def bounded() -> object:
    """No test of this page may hang, and none leaves a process."""

    def late(*_: object) -> None:
        raise TimeoutError("this hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    assert multiprocessing.active_children() == []


OPTIONS: tuple[dict[str, object], ...] = tuple(
    {"order": order, **({"limit": limit} if limit else {}), **more}
    for order in ("relevance", "newest", "scan")
    for limit in (None, 7)
    for more in ({}, {"dedupe": False}, {"context": 1})
)


def same(one: Ran, other: Ran) -> None:
    assert list(map(said, one.results)) == list(map(said, other.results))
    assert [(r.before, r.after, r.record) for r in one.results] == [(r.before, r.after, r.record) for r in other.results]
    assert one.summary._replace(elapsed_s=0, **_timeless(one)) == other.summary._replace(elapsed_s=0, **_timeless(one))


def _timeless(ran: Ran) -> dict[str, None]:
    return {"profile": None} if hasattr(ran.summary, "profile") else {}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("driver", [FORK2, FORK3], ids=str)
def test_workers_change_no_answer(driver: Driver, options: dict[str, object], home: Path, singly: None) -> None:
    same(run(home, driver=driver, **options), run(home, **options))


def test_processes_that_start_afresh_change_no_answer(home: Path, singly: None) -> None:
    for options in ({"order": "relevance"}, {"order": "newest", "limit": 5}):
        same(run(home, driver=Driver(2, "spawn"), **options), run(home, **options))


def test_the_program_s_json_is_the_same_to_the_byte(home: Path, outside: dict[str, str]) -> None:
    def answer(*words: str) -> str:
        command = [*DEEPGREP, "search", "--home", str(home), "--json", "--exhaustive", "--scope", "all", *words, "ok"]
        ran = subprocess.run(command, env=outside, capture_output=True, text=True, check=True, timeout=LIMIT_S)
        made = json.loads(ran.stdout)
        made["summary"].pop("elapsed_s")
        return json.dumps(made)

    for words in ([], ["--order", "newest", "--limit", "9"], ["--no-dedupe"], ["-C", "1"]):
        assert answer("--workers", "3", *words) == answer("--workers", "1", *words)


# --- workers that die -----------------------------------------------------------------------------------------------


def dying(monkeypatch: pytest.MonkeyPatch, dies: Callable[[Task], bool]) -> None:
    """Workers are killed when they come to some sources."""
    parent = os.getpid()

    def deadly(task: Task, *rest: object) -> Reading:
        if os.getpid() != parent and dies(task):
            os.kill(os.getpid(), signal.SIGKILL)
        return read(task)

    monkeypatch.setattr(drive, "read", deadly)


def test_a_killed_worker_costs_the_source_that_it_was_reading(home: Path, singly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(home)
    victim = whole.read[4]
    dying(monkeypatch, lambda task: task.source.key == victim)
    ran = run(home, driver=FORK2)
    assert sorted(ran.read) == sorted(whole.read)
    assert ran.counts == {**whole.counts, "completed": whole.counts["completed"] - 1, "failed": 1}
    assert ran.summary.status.state == "failed"
    reasons = [part["reasons"] for part in ran.summary.coverage["agents"].values()]  # type: ignore[attr-defined]
    assert sum(reason.get("worker_died", 0) for reason in reasons) == 1
    assert {r.record.source.key for r in ran.results} <= {*whole.read} - {victim}


def test_what_a_dead_worker_held_besides_is_read_by_others(home: Path, programs: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(home)  # all sources in one or two chunks
    monkeypatch.setattr(drive, "CHUNK_BYTES", 1 << 18)
    victims = {whole.read[4], whole.read[9]}
    dying(monkeypatch, lambda task: task.source.key in victims)
    ran = run(home, driver=FORK2)
    assert (ran.counts["failed"], ran.counts["completed"]) == (2, whole.counts["completed"] - 2)


def test_when_every_worker_dies_at_once_every_source_is_counted(home: Path, singly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    dying(monkeypatch, lambda task: True)
    ran = run(home, driver=FORK2)
    assert (ran.counts["failed"], ran.counts["attempted"]) == (ran.planned, ran.planned)
    assert (ran.results, ran.summary.outcome) == ((), "undetermined")


def test_a_system_that_refuses_processes_is_read_by_this_one(home: Path, singly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(ForkProcess, "start", refused)
    same(run(home, driver=FORK2), run(home))


def test_a_system_that_refuses_after_a_death_is_read_by_this_one(home: Path, singly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = ForkProcess.start, []

    def sometimes(self: ForkProcess) -> None:
        started.append(self)
        if len(started) > 2:
            raise OSError("no more processes")
        start(self)

    monkeypatch.setattr(ForkProcess, "start", sometimes)
    dying(monkeypatch, lambda task: True)
    ran = run(home, driver=FORK2)
    assert ran.counts["failed"] == 2
    assert ran.counts["completed"] == ran.planned - 2


# --- how many -------------------------------------------------------------------------------------------------------


def _tasks(*sizes: int) -> list[Task]:
    query = request(["ok"])
    return [Task(query, Source("claude", "claude.sessions", "transcript", f"/{n}", f"{n}", size, 0)) for n, size in enumerate(sizes)]


def test_one_core_reads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    many = _tasks(*[1 << 30] * 8)
    monkeypatch.setattr(drive, "_cores", lambda: 1)
    assert worth(Driver(None, "fork"), many) == 1
    monkeypatch.setattr(drive, "_cores", lambda: 4)
    assert worth(Driver(None, "fork"), many) == 4
    assert worth(Driver(None, "fork"), _tasks(1 << 20, 1 << 20)) == 1
    assert worth(Driver(7, "fork"), _tasks(1, 1)) == 2
    assert worth(Driver(None, "spawn"), _tasks(1 << 28, 1 << 27)) == 1
    assert worth(INLINE, many) == 1


def test_chunks_hold_every_task_once_biggest_first_and_never_too_many() -> None:
    dice = random.Random(1)
    sizes = [dice.choice((0, 0, 10, 5000, 1 << 20, 9 << 20)) for _ in range(3000)]
    made = chunks(_tasks(*sizes))
    assert sorted(index for chunk in made for index in chunk) == list(range(3000))
    assert [sizes[index] for chunk in made for index in chunk] == sorted(sizes, reverse=True)
    assert all(len(chunk) == 1 or sum(sizes[i] for i in chunk) <= drive.CHUNK_BYTES for chunk in made)
    # A message that does not fit into a pipe, to a worker whose answer does not either, would wait for ever.
    assert max(map(len, chunks(_tasks(*[0] * 50_000)))) <= 500


def test_without_a_driver_nothing_forks(home: Path) -> None:
    run(home)  # the guard refuses processes


# --- the end --------------------------------------------------------------------------------------------------------


def test_cancelling_ends_soon_and_the_counts_add_up(home: Path, singly: None, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()

    def slow(task: Task, *rest: object) -> Reading:
        if os.getpid() != parent:
            time.sleep(LIMIT_S)
        return read(task)

    monkeypatch.setattr(drive, "read", slow)
    asked_at: list[float] = []

    def cancelled() -> bool:
        asked_at.append(time.monotonic())
        return len(asked_at) > 3

    ran = run(home, driver=FORK2, cancelled=cancelled)
    assert time.monotonic() - asked_at[3] < 2  # generous: a loaded machine
    assert (ran.counts["cancelled"], ran.counts["attempted"], ran.counts["skipped"]) == (2, 2, ran.planned - 2)
    assert (ran.summary.status.state, ran.summary.completed_effort) == ("cancelled", None)
    assert max(later - earlier for earlier, later in itertools.pairwise(asked_at[:4])) < 1


def test_closing_the_stream_early_leaves_no_process(home: Path, singly: None) -> None:
    made = request(["ok"], effort="exhaustive", scope="all")
    events = search(made, Machine(str(home), {}), driver=FORK3)
    assert any(isinstance(event, SourceFinished) for event in (next(events), next(events)))
    assert multiprocessing.active_children()
    events.close()
    assert multiprocessing.active_children() == []


def test_a_program_told_to_ignore_polite_ends_still_ends(home: Path, outside: dict[str, str]) -> None:
    """`trap '' TERM` is inherited: workers that ignore SIGTERM too must not be waited for."""
    command = [*DEEPGREP, "search", "--home", str(home), "--json", "--exhaustive", "--workers", "3", "ok"]
    code = f"import signal, subprocess, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.exit(subprocess.call({command!r}))"
    ran = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, check=False, timeout=LIMIT_S)
    assert (ran.stderr, ran.returncode) == (b"", 0)


def test_ctrl_c_reaches_all_processes_and_gives_what_was_found(tmp_path: Path, outside: dict[str, str]) -> None:
    """The terminal sends it to the whole group."""
    lay(tmp_path, {claude_file(thread(1)): [claude_row("user", "ok", 1, thread(1), uuid="u")]})
    line = json.dumps(claude_row("assistant", "@k", 1, thread(2), uuid="u")).replace("@", "\\u006f") + "\n"
    block = line * (1 + (1 << 20) // len(line))
    for number in (2, 3):
        lay(tmp_path, {claude_file(thread(number)): block * 48})
    code = (
        "import sys, deepgrep.cli.search as cli, deepgrep.engine.search as engine\n"
        "real = engine._finished\n"
        "def told(reading):\n"
        "    print('one', file=sys.stderr, flush=True)\n"
        "    return real(reading)\n"
        "engine._finished = told\n"
        f"words = ['--home', {str(tmp_path)!r}, '--exhaustive', '--scope', 'all', '--json', '--workers', '3', '--agent', 'claude', 'ok']\n"
        "sys.exit(cli.run(words))\n"
    )
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env=outside, **streams, start_new_session=True) as process:  # type: ignore[call-overload]
        assert process.stdout
        assert process.stderr
        assert process.stderr.readline() == b"one\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.stdout.read(), process.stderr.read()
        assert process.wait(LIMIT_S) == 130
    assert set(err.splitlines()) <= {b"one"}
    made = json.loads(out)
    assert [result["text"] for result in made["results"]] == ["ok"]
    assert made["summary"]["status"]["state"] == "cancelled"
    assert made["summary"]["coverage"]["sources"]["cancelled"] == 2
