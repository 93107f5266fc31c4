"""The library: one call, one stream of events, the same engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deepgrep
from deepgrep import UsageError, events, search
from deepgrep.model import Finished, Result, SourceFinished, Started
from homes import SAMPLE, jsonl, write
from pages import run

THREAD = "bbbbbbbb-0000-7000-8000-000000000002"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three prompts, and one conversation with a reply."""
    words = ("paint", "scrub", "sell")
    rows = [{"session_id": THREAD, "ts": 1767312000 + number, "text": f"{word} the ferry"} for number, word in enumerate(words)]
    return write(tmp_path / "home", {
        ".codex/history.jsonl": jsonl(*rows),
        f".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-{THREAD}.jsonl": jsonl(
            {"timestamp": "2026-01-02T00:00:00Z", "type": "session_meta", "payload": {"id": THREAD, "cwd": "/src/dock"}},
            {"timestamp": "2026-01-02T00:00:09Z", "type": "response_item",
             "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "The ferry is green."}]}},
        ),
    })  # fmt: skip


def texts(answer: deepgrep.Answer) -> list[str]:
    return [result.record.text for result in answer.results]


def test_a_search_returns_results_in_order_and_one_summary(home: Path) -> None:
    answer = search("ferry", home=home, order="newest")
    assert texts(answer) == ["sell the ferry", "scrub the ferry", "paint the ferry"]
    assert answer.results[0].spans == ((9, 14),)
    assert answer.summary.match_count == 3
    assert answer.summary.status.state == "complete"
    assert answer.summary.requested_effort == "prompt"


def test_exhaustive_alone_returns_everybodys_words(home: Path) -> None:
    answer = search("ferry", home=home, effort="exhaustive", order="newest")
    assert texts(answer)[0] == "The ferry is green."
    assert answer.summary.query.scope == "all"
    assert not answer.summary.query.scope_given


def test_there_is_no_limit_but_the_one_that_is_asked_for(home: Path) -> None:
    assert len(search("ferry", home=home).results) == 3
    limited = search("ferry", home=home, limit=2)
    assert len(limited.results) == 2
    assert limited.summary.status.reason == "result_limit"


def test_several_texts_are_all_required_or_any_of_them(home: Path) -> None:
    assert texts(search(["ferry", "paint"], home=home)) == ["paint the ferry"]
    assert texts(search(["paint", "sell"], home=home, any=True, order="newest")) == ["sell the ferry", "paint the ferry"]
    assert texts(search('"the ferry" scrub', home=home)) == ["scrub the ferry"]
    assert texts(search('"the ferry"', home=home, literal=True)) == []


def test_a_single_word_will_do_where_a_list_is_taken(home: Path) -> None:
    assert search(agent="codex", home=home).results == search(agent=["codex"], home=home).results
    assert len(search(agent="codex", speaker="person", home=home).results) == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"effort": "deepest"}, "choose from prompt, targeted, exhaustive"),
        ({"effort": "prompt", "scope": "all"}, "prompt"),
        ({"limit": 0}, "at least 1"),
        ({"agent": "nobody"}, "unknown agent"),
        ({"colour": "red"}, "colour"),
        ({"since": "whenever"}, "no date"),
        ({"home": "/nowhere/at/all"}, "no such folder"),
    ],
)
def test_a_request_that_makes_no_sense_is_a_usage_error_at_once(options: dict[str, object], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        events("ferry", **{"home": tmp_path, **options})


def test_nothing_to_search_for_is_a_usage_error(home: Path) -> None:
    with pytest.raises(UsageError, match="nothing to search for"):
        search(home=home)
    with pytest.raises(UsageError, match="empty search text"):
        search("  ", home=home)


def test_events_come_in_order_and_end_with_one_finished(home: Path) -> None:
    got = list(events("ferry", home=home, effort="exhaustive"))
    kinds = [type(event) for event in got]
    assert kinds[0] is Started
    assert kinds[-1] is Finished
    assert kinds.count(Started) == kinds.count(Finished) == 1
    assert kinds.count(SourceFinished) == got[0].sources == 2
    assert kinds.count(Result) == got[-1].summary.match_count == 4
    assert sum(event.matches for event in got if isinstance(event, SourceFinished)) == 4


def test_closing_the_stream_opens_no_further_file(home: Path, ledger: object) -> None:
    stream = events("ferry", home=home, effort="exhaustive", order="scan")
    for event in stream:
        if isinstance(event, SourceFinished):
            break
    stream.close()
    assert ledger.opened_below(home) == {".codex/history.jsonl"}  # type: ignore[attr-defined]


def test_a_cancelled_search_returns_what_it_found_and_says_so(home: Path) -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2  # the history is read, the conversation is not

    got = list(events("ferry", home=home, effort="exhaustive", cancelled=cancelled))
    summary = got[-1].summary
    assert [event.record.text for event in got if isinstance(event, Result)]
    assert summary.status.state == "cancelled"
    assert summary.status.conditions == ("cancelled",)
    assert summary.completed_effort is None
    counts = summary.coverage["sources"]
    assert counts["planned"] == counts["attempted"] + counts["skipped"]
    assert counts["completed"] < counts["planned"]
    assert summary.outcome == "matches"


def test_a_search_that_is_cancelled_before_it_found_anything_is_undetermined(home: Path) -> None:
    summary = list(events("zebra", home=home, effort="exhaustive", cancelled=lambda: True))[-1].summary
    assert (summary.status.state, summary.outcome, summary.match_count) == ("cancelled", "undetermined", 0)


def test_the_library_and_the_command_line_find_the_same(tmp_path: Path) -> None:
    doc = json.loads(run(f"deepgrep search --home {SAMPLE} --json --exhaustive --scope all idempotency", tmp_path).out)
    answer = search("idempotency", home=SAMPLE, effort="exhaustive", scope="all")
    assert [(result["text"], result["spans"]) for result in doc["results"]] == [
        (result.record.text, [list(span) for span in result.spans]) for result in answer.results
    ]


def test_every_next_action_makes_a_valid_request_that_does_what_it_says(home: Path) -> None:
    from deepgrep.engine.resolve import patched
    from deepgrep.wire import request

    summary = search("green", home=home).summary
    assert summary.match_count == 0
    action = next(action for action in summary.next_actions if action.id == "search.exhaustive")
    made = patched(request(summary.query), action.patch)
    assert (made.effort, made.scope, made.texts) == ("exhaustive", "all", ("green",))
    assert texts(search("green", home=home, **action.patch)) == ["The ferry is green."]


def test_the_home_comes_from_the_environment_when_none_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert search("ferry").summary.match_count == 0
    monkeypatch.setenv("HOME", str(home))
    assert search("ferry").summary.match_count == 3
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    assert search("ferry").summary.match_count == 0
    assert search("ferry", home=home).summary.match_count == 3, "a named home does not follow this machine's variables"


def test_an_engine_that_breaks_still_ends_with_a_summary(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import deepgrep.engine.search as engine

    def broken(*_: object, **__: object) -> object:
        raise RuntimeError("invented")

    monkeypatch.setattr(engine, "ordered", broken)
    summary = list(events("ferry", home=home))[-1].summary
    assert (summary.status.state, summary.status.reason) == ("failed", "engine_failure")
    assert summary.completed_effort is None
    assert summary.outcome == "undetermined"
