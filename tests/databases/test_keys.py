"""Prompt histories that are one key of a database: sought by the key alone, whatever else the database holds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deepgrep import search
from deepgrep.databases import Database, open_database
from deepgrep.files import Unreadable
from homes import snapshot

ITEMS = "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
CURSOR = ".config/Cursor/User/workspaceStorage/0a"
CODE = ".config/Code/User/workspaceStorage/0a"
INLINE = ".config/Code/User/globalStorage"
PLACES = [
    ("cursor-ide", CURSOR, "aiService.prompts", [{"text": "wind the bobbin", "commandType": 4}]),
    ("vscode", CODE, "memento/interactive-session", {"history": {"copilot": [{"inputText": "wind the bobbin"}]}}),
    ("vscode", INLINE, "inline-chat-history", ["wind the bobbin"]),
]
HAYSTACK = 400


def state(home: Path, folder: str, key: str, value: object) -> Path:
    """A database with this key amid many rows."""
    path = home / folder / "state.vscdb"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("PRAGMA page_size=4096")
        store.execute(ITEMS)
        hay = [(f"other/{number:04}", "bobbin hay " * 300) for number in range(HAYSTACK)]
        store.executemany("INSERT INTO ItemTable VALUES (?, ?)", [*hay[:200], (key, json.dumps(value)), *hay[200:]])
    return path


@pytest.mark.parametrize(("agent", "folder", "key", "value"), PLACES)
def test_the_key_is_sought_in_the_index(
    agent: str, folder: str, key: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state(tmp_path, folder, key, value)
    plans: list[tuple[str, ...]] = []
    real = Database.by_key

    def watched(self: Database, *asked: object) -> object:
        plans.append(self.query_plan(*asked))  # type: ignore[arg-type]
        return real(self, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "by_key", watched)
    monkeypatch.setattr(Database, "rows", None)  # no walk
    answer = search("bobbin", agent=agent, home=tmp_path)
    assert [result.record.text for result in answer.results] == ["wind the bobbin"]
    assert plans
    assert all(len(plan) == 1 and plan[0].startswith("SEARCH ItemTable USING INDEX") for plan in plans)


@pytest.mark.parametrize(("agent", "folder", "key", "value"), PLACES)
def test_damaged_rows_do_not_matter_to_a_key(agent: str, folder: str, key: str, value: object, tmp_path: Path) -> None:
    path = state(tmp_path, folder, key, value)
    raw = bytearray(path.read_bytes())
    kept = {raw.index(json.dumps(value).encode()) // 4096, 0}
    damaged = 0
    for page in range(len(raw) // 4096):
        if page not in kept and b"bobbin hay" in raw[page * 4096 : (page + 1) * 4096]:
            raw[page * 4096 : (page + 1) * 4096] = b"\xee" * 4096
            damaged += 1
    assert damaged > HAYSTACK // 2
    path.write_bytes(raw)
    before = snapshot(tmp_path)
    answer = search("bobbin", agent=agent, home=tmp_path)
    assert [result.record.text for result in answer.results] == ["wind the bobbin"]
    assert answer.summary.status.state == "complete"
    assert snapshot(tmp_path) == before
    with open_database(str(path)) as database, pytest.raises(Unreadable):
        list(database.rows("ItemTable", ("key", "value")))


@pytest.mark.parametrize(("agent", "folder", "key", "value"), PLACES)
def test_a_torn_value_is_a_failure_whatever_is_asked(agent: str, folder: str, key: str, value: object, tmp_path: Path) -> None:
    path = state(tmp_path, folder, key, value)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE ItemTable SET value = ? WHERE key = ?", (json.dumps(value)[:-2], key))
    for word in ("bobbin", "nowhere"):
        assert search(word, agent=agent, home=tmp_path).summary.status.state == "failed"
