"""Homes for the server's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the MCP SDK is not installed: pip install 'deepgrep[mcp]'")

from clients import prompts
from homes import write
from ledger import Guard


@pytest.fixture(autouse=True)
def _loop(guard: Guard) -> None:
    """An event loop wakes itself through a pair of sockets."""
    guard.sockets = True


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A home with two hundred prompts that hold one word."""
    return write(tmp_path / "many", {".claude/history.jsonl": prompts(200)})


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A home that takes seconds to read: forty megabytes of rows that all match."""
    row = (
        '{"type":"user","uuid":"u%d","sessionId":"5eed0000-0000-4000-8000-00000000%04d","timestamp":"2026-01-01T00:00:00.000Z",'
        '"cwd":"/src/x","message":{"role":"user","content":"ferry %d %s"}}\n'
    )
    files = {
        f".claude/projects/-src-x/5eed0000-0000-4000-8000-00000000{number:04d}.jsonl": "".join(
            row % (n, number, n, "planks " * 30) for n in range(2_500)
        )
        for number in range(40)
    }
    return write(tmp_path / "slow", files)
