from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepgrep import wire
from deepgrep.discovery import Machine
from deepgrep.engine.resolve import patched
from deepgrep.engine.resolve import query as request
from deepgrep.engine.search import search
from deepgrep.model import Finished, Query, Summary
from homes import write

ROW = '{"display": "hello", "timestamp": 1760000000000, "project": "/w", "sessionId": "11111111-1111-4111-8111-111111111111"}\n'
CASES = [
    {"effort": effort, "scope": scope}
    for effort in (None, "prompt", "targeted", "exhaustive")
    for scope in (None, "prompts", "conversations", "all")
    if not (effort == "prompt" and scope in ("conversations", "all")) and not (effort == "targeted" and scope == "prompts")
]


def _summary(query: Query, home: Path) -> Summary:
    (last,) = [event for event in search(query, Machine(str(home), {})) if isinstance(event, Finished)]
    return last.summary


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
@pytest.mark.parametrize("texts", [["hello"], ["absent words"]], ids=["found", "not found"])
@pytest.mark.parametrize("surface", ["cli", "mcp"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['effort']}-{case['scope']}")
def test_every_next_action_is_a_valid_request(tmp_path: Path, case: dict[str, str], surface: str, texts: list[str], damaged: bool) -> None:
    home = write(
        tmp_path / "home", {".claude/history.jsonl": ROW, ".codex/history.jsonl": '{"session_id": "s-1234567", "ts": 1, "text": "hello"}\n'}
    )
    if damaged:
        (home / ".codex" / "history.jsonl").unlink()
        os.mkfifo(home / ".codex" / "history.jsonl")
    query = request(texts, surface=surface, **case)  # type: ignore[arg-type]
    closing = _summary(query, home)
    reads_prompts = not (query.effort == "exhaustive" and query.scope == "conversations")
    assert (closing.status.state == "failed") is (damaged and reads_prompts)
    names = [action.id for action in closing.next_actions]
    assert len(names) == len(set(names))
    if query.effort == "prompt":
        assert "search.exhaustive" in names
    if query.effort == "targeted":
        assert "search.exhaustive" in names
    if damaged and reads_prompts:
        assert any("without" in name for name in names)
    for action in closing.next_actions:
        again = patched(dict(wire.request(query)), dict(action.patch), surface)  # type: ignore[arg-type]
        assert again.texts == query.texts
        assert again != query
        if action.id.startswith("search."):
            effort = action.id.removeprefix("search.")
            assert again.effort == (effort if effort in ("targeted", "exhaustive") else query.effort)
        widens = query.scope_given and (query.scope, again.scope) in (
            ("prompts", "all"),
            ("prompts", "conversations"),
            ("conversations", "all"),
        )
        assert action.requires_confirmation or not widens


@pytest.mark.parametrize("limit", [1, 2, 3, None])
@pytest.mark.parametrize("order", ["newest", "relevance", "scan"])
@pytest.mark.parametrize("dedupe", [True, False])
def test_a_limit_takes_the_first_of_all(tmp_path: Path, limit: int | None, order: str, dedupe: bool) -> None:
    rows = "".join(
        f'{{"display": "hello {number % 3}", "timestamp": {1760000000000 + number * 7 % 5}, '
        f'"project": "/w", "sessionId": "1111111{number % 2}"}}\n'
        for number in range(7)
    )
    home = write(tmp_path / "home", {".claude/history.jsonl": rows})

    def results(most: int | None) -> list[object]:
        found = search(request(["hello"], order=order, limit=most, dedupe=dedupe), Machine(str(home), {}))
        return [event[:2] for event in found if type(event).__name__ == "Result"]

    assert results(limit) == results(None)[:limit]
    assert len(results(None)) == 7
