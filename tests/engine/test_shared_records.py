"""Conversations that share many records: whose each was first is told by reading each of their files once more, not once a record."""

from __future__ import annotations

import json
from pathlib import Path

from deepgrep import search
from homes import write
from ledger import recording

FILES, SHARED = 3, 40


def _row(uuid: str, conversation: int, second: int, text: str) -> str:
    row = {
        "type": "user",
        "uuid": uuid,
        "sessionId": f"5eed0000-0000-4000-8000-{conversation:012d}",
        "timestamp": f"2026-01-01T0{conversation}:00:{second:02d}.000Z",
        "cwd": "/src/x",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(row) + "\n"


def test_each_file_is_read_once_more_however_many_records_are_shared(tmp_path: Path) -> None:
    home = write(
        tmp_path / "home",
        {
            f".claude/projects/-src-x/5eed0000-0000-4000-8000-{number:012d}.jsonl": "".join(
                [_row(f"u{n}", number, n, f"ferry {n}") for n in range(SHARED)] + [_row(f"own{number}", number, 59, "home port")]
            )
            for number in range(FILES, 0, -1)
        },
    )
    with recording() as ledger:
        answer = search("ferry", effort="exhaustive", home=home, limit=None)
    assert sorted(result.record.text for result in answer.results) == sorted(f"ferry {n}" for n in range(SHARED))
    # its own record is the oldest
    assert {result.record.conversation_id for result in answer.results} == {f"5eed0000-0000-4000-8000-{1:012d}"}
    transcripts = [path for path in ledger.opened if path.suffix == ".jsonl"]
    assert len(transcripts) <= 3 * FILES
