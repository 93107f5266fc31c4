"""A plain rollout that is cut off beside a whole compressed one: what the whole one holds is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepgrep import search

try:
    from compression import zstd
except ImportError:
    from backports import zstd

THREAD = "019b0000-0000-7000-8000-000000000001"


def lines(prompts: int) -> bytes:
    head = {"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": {"id": THREAD, "cwd": "/w"}}
    rows = [head]
    for number in range(prompts):
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"lantern {number}"}]}
        rows.append({"timestamp": f"2026-01-01T00:00:{number:02d}.000Z", "type": "response_item", "payload": message})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home/.codex/sessions/2026/01/01"
    made.mkdir(parents=True)
    return made


def found(folder: Path) -> list[str]:
    answer = search("lantern", effort="exhaustive", home=folder.parents[4])
    assert answer.summary.status.state == "complete"
    return sorted(result.record.text for result in answer.results)


def test_a_plain_file_that_is_cut_off_gives_way_to_its_whole_twin(folder: Path) -> None:
    whole = lines(6)
    (folder / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl").write_bytes(whole[: len(whole) // 2])
    (folder / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl.zst").write_bytes(zstd.compress(whole))
    assert found(folder) == [f"lantern {number}" for number in range(6)]


def test_a_plain_file_that_is_being_written_stands_for_its_older_twin(folder: Path) -> None:
    newer = lines(6)
    (folder / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl").write_bytes(newer + b'{"unfinished": "lan')
    (folder / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl.zst").write_bytes(zstd.compress(lines(3)))
    assert found(folder) == [f"lantern {number}" for number in range(6)]


@pytest.mark.parametrize("tail", [b"\0" * 16, b"junk that is no frame"])
def test_damage_behind_a_compressed_file_costs_none_of_its_records(folder: Path, tail: bytes) -> None:
    (folder / f"rollout-2026-01-01T00-00-00-{THREAD}.jsonl.zst").write_bytes(zstd.compress(lines(40)) + tail)
    answer = search("lantern", effort="exhaustive", home=folder.parents[4])
    assert len(answer.results) == 40
    assert answer.summary.status.state == "failed"
