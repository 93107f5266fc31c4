"""What users of such tools complained about, as small homes: `case.json` says what to run and what is right."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from deepgrep.cli.search import requested
from deepgrep.engine.search import search
from deepgrep.library import machine
from deepgrep.model import Finished, Result
from deepgrep.wire import result, summary
from homes import TESTS, snapshot

CASES = sorted((TESTS / "cases").glob("*/case.json"))
RUNS = [
    pytest.param(path, run, id=f"{path.parent.name}-{number}")
    for path in CASES
    for number, run in enumerate(json.loads(path.read_text(encoding="utf-8"))["runs"])
]
NAMES = {"agent": "agent", "role": "role", "session_id": "conversation_id", "parent_session_id": "parent_conversation_id", "cwd": "cwd"}
REPORTS = {
    "malformed_lines": lambda doc: doc["coverage"]["records"]["skipped"]["malformed"],  # a torn tail is counted apart
    "files_failed": lambda doc: doc["coverage"]["sources"]["failed"],
    "more_matches": lambda doc: "result_limit" in doc["status"]["conditions"],
}


def words(run: dict) -> list[str]:  # type: ignore[type-arg]
    """The command line of a run. A query is literal text unless the case says otherwise."""
    out = ["--effort", run["effort"], "--scope", run["scope"], "--literal"]
    for name in ("order", "limit"):
        out += [f"--{name}", str(run[name])] if name in run else []
    for name, value in run.get("filters", {}).items():
        out += [f"--{name}", value]
    return [*out, "--", run["query"]]


def fits(wanted: dict, got: dict) -> bool:  # type: ignore[type-arg]
    """Is this result the record that the case describes?"""
    for key, value in wanted.items():
        if key == "text_has":
            good = value in got["text"]
        elif key == "span_text":
            good = value in [got["text"][start:end] for start, end in got["spans"]]
        elif key == "timestamp":
            good = got["timestamp"] is not None and datetime.fromisoformat(got["timestamp"]) == datetime.fromisoformat(value)
        else:
            good = got[NAMES[key]] == value
        if not good:
            return False
    return True


@pytest.mark.parametrize(("path", "run"), RUNS)
def test_the_complaint_does_not_apply(path: Path, run: dict) -> None:  # type: ignore[type-arg]
    home = path.parent / "home"
    before = snapshot(home)
    query, _ = requested(words(run))
    events = list(search(query, machine(home)))
    found = [result(event, str(home)) for event in events if isinstance(event, Result)]
    (closing,) = (summary(event.summary) for event in events if isinstance(event, Finished))
    expect = dict(run["expect"])
    assert expect, "a run expects something"
    if "count" in expect:
        assert len(found) == expect.pop("count"), [one["text"] for one in found]
    for wanted in expect.pop("records", []):
        assert any(fits(wanted, got) for got in found), (wanted, found)
    for wanted in expect.pop("absent", []):
        assert not any(fits(wanted, got) for got in found), (wanted, found)
    if "first" in expect:
        assert fits(expect.pop("first"), found[0]), found[0]
    for name, value in expect.pop("report", {}).items():
        assert REPORTS[name](closing) == value, (name, closing)
    assert not expect, f"not understood: {expect}"
    assert snapshot(home) == before
