"""`deepgrep grep` as a program: it prints while it reads, stops when asked, and loads no more than it needs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DEEPGREP
from deepgrep import events
from deepgrep.model import Result
from homes import SAMPLE, jsonl, write

THREAD = "bbbbbbbb-0000-7000-8000-000000000001"


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A home that answers at once from its history, and then has seconds of reading before it."""
    home = write(tmp_path / "home", {".codex/history.jsonl": jsonl({"session_id": THREAD, "ts": 1767312000, "text": "the zebra"})})
    day = home / ".codex/sessions/2026/01/02"
    day.mkdir(parents=True)
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a zebra\n" * 40}]}
    line = json.dumps({"timestamp": "2026-01-02T00:00:00Z", "type": "response_item", "payload": said}) + "\n"
    with (day / f"rollout-2026-01-02T00-00-00-{THREAD}.jsonl").open("w") as file:
        for _ in range(8):
            file.write(line * 5000)
    return home


def test_the_first_hit_is_printed_before_the_last_source_is_read_and_ctrl_c_ends_it(slow: Path, outside: dict[str, str]) -> None:
    words = [*DEEPGREP, "grep", "--home", str(slow), "--exhaustive", "--scope", "all", "zebra$"]
    with subprocess.Popen(words, env=outside, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == f"codex:{THREAD}:the zebra\n".encode()
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert b"cancelled" in process.stderr.read()
        assert process.wait(60) == 130


@pytest.mark.parametrize("words", [["zebra"], ["-c", "."], ["--json", "e"]])
def test_a_reader_who_leaves_early_ends_it_quietly(words: list[str], outside: dict[str, str]) -> None:
    command = [*DEEPGREP, "grep", "--home", str(SAMPLE), "--exhaustive", "--scope", "all", *words]
    with subprocess.Popen(command, env=outside, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_patterns_come_from_standard_input_and_may_begin_with_a_dash(outside: dict[str, str]) -> None:
    words = [*DEEPGREP, "grep", "--home", str(SAMPLE), "-I", "-o"]
    ran = subprocess.run([*words, "-f", "-"], env=outside, input="check\\w+\nflaky", capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) == {"checkout", "checkout_attempts", "flaky"}
    assert subprocess.run([*words, "-e", "-mail"], env=outside, capture_output=True, text=True, check=True).stdout.split() == ["-mail"]


def test_no_pattern_keeps_it_busy(tmp_path: Path, outside: dict[str, str]) -> None:
    home = write(tmp_path / "home", {".codex/history.jsonl": jsonl({"session_id": THREAD, "ts": 1, "text": "a" * 50_000 + "!"})})
    words = [*DEEPGREP, "grep", "--home", str(home), "-c", "(a+)+(a|aa)+$"]
    ran = subprocess.run(words, env=outside, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 1


def test_a_search_for_words_loads_no_engine_for_patterns(outside: dict[str, str]) -> None:
    run = f"main(['search', '--home', {str(SAMPLE)!r}, 'checkout'])"
    code = f"import sys\nfrom deepgrep.cli.main import main\n{run}\nprint('re2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, check=True).stdout.endswith("False\n")


def test_without_dedupe_a_stream_gives_every_copy_in_the_order_of_reading(tmp_path: Path) -> None:
    rows = [{"session_id": f"s{number}", "ts": 1767312000 + number, "text": text} for number, text in enumerate(("a", "aa", "a"))]
    copy = {"type": "user", "uuid": "u1", "timestamp": "2026-01-02T00:00:00Z", "message": {"role": "user", "content": "a copied row"}}
    home = write(tmp_path / "home", {
        ".codex/history.jsonl": jsonl(*rows),
        **{f".claude/projects/-src/aaaaaaaa-0000-4000-8000-00000000000{n}.jsonl":
           jsonl({**copy, "sessionId": f"aaaaaaaa-0000-4000-8000-00000000000{n}"}) for n in (1, 2)},
    })  # fmt: skip
    stream = events("a", home=home, effort="exhaustive", scope="all", order="scan", dedupe=False)
    assert [event.record.text for event in stream if isinstance(event, Result)] == ["a", "aa", "a", "a copied row", "a copied row"]
