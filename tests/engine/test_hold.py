"""With a limit a search holds less, and gives the same: the first results of the search without one."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepgrep.engine import hold
from deepgrep.engine import search as engine
from deepgrep.model import Query
from talk import Talks, run, said

FILTERS: tuple[dict[str, object], ...] = (
    {}, {}, {}, {"project": "shop"}, {"project": "inn"}, {"since": "2026-01-02T00:00:10Z"}, {"until": "2026-01-02T01:00:00Z"},
    {"model": "opus"}, {"speaker": ["person"]}, {"kind": ["reply"]}, {"agent": ["codex"]}, {"scope": "prompts"}, {"scope": "conversations"},
    {"dedupe": False},
)  # fmt: skip


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Holds next to nothing, and counts how often that matters."""
    seen: Counter[str] = Counter()
    monkeypatch.setattr(hold, "_LEAST", 1)
    monkeypatch.setattr(hold, "_PER_RESULT", 2)
    prune, init, again = hold.Held._prune, hold.Held.__init__, engine._Run._again

    def _prune(self: hold.Held) -> None:
        before = len(self.matches)
        prune(self)
        seen["let go"] += before - len(self.matches)

    def _init(self: hold.Held, query: Query, *, all_of_them: bool = False) -> None:
        seen["held"] += 1
        init(self, query, all_of_them=all_of_them)

    def _again(self: engine._Run, only: frozenset[int] | None):  # type: ignore[no-untyped-def]
        seen["everything" if only is None else "second look"] += 1
        return again(self, only)

    monkeypatch.setattr(hold.Held, "_prune", _prune)
    monkeypatch.setattr(hold.Held, "__init__", _init)
    monkeypatch.setattr(engine._Run, "_again", _again)
    return seen


def agree(home: Path, limit: int, **options: object) -> None:
    """The limited search against the unlimited one, cut."""
    whole = run(home, **options)
    cut = run(home, limit=limit, **options)
    assert [said(result) for result in cut.results] == [said(result) for result in whole.results[:limit]]
    more = len(whole.results) > limit
    assert ("result_limit" in cut.summary.status.conditions) == more
    assert cut.records["matched"] == whole.records["matched"]
    assert cut.counts == whole.counts


@pytest.mark.parametrize("text_bytes", [hold._TEXT_BYTES, 30])
def test_a_limit_gives_the_first_results(text_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, little: Counter[str]) -> None:
    monkeypatch.setattr(hold, "_TEXT_BYTES", text_bytes)

    @given(st.integers(0, 10**9))
    @settings(max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def check(seed: int) -> None:
        shutil.rmtree(tmp_path / "home", ignore_errors=True)
        home = Talks(seed).lay(tmp_path / "home")
        dice = random.Random(seed)
        for order in ("newest", "relevance"):
            agree(home, dice.choice((1, 1, 2, 2, 3, 5, 8, 30)), order=order, **dice.choice(FILTERS))

    check()
    assert little["let go"] > 400
    assert little["second look"] > 20
