"""The benchmark corpus is the same every time and holds what its truth says; routing is measured as one would by hand."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import deepgrep
from homes import ROOT

Truth = dict[str, Any]


def script(name: str) -> ModuleType:
    """A module of benchmarks/, which is no package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return importlib.import_module(name)


def digest(home: Path) -> dict[str, str]:
    files = sorted(path for path in home.rglob("*") if path.is_file())
    return {path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    script("corpus").make(out, 1_000_000, 7, ("claude", "codex"))
    return out


@pytest.fixture(scope="module")
def truth(home: Path) -> Truth:
    made: Truth = json.loads((home / "truth.json").read_text(encoding="utf-8"))
    return made


def test_the_same_arguments_make_the_same_bytes(home: Path, tmp_path: Path) -> None:
    script("corpus").make(tmp_path, 1_000_000, 7, ("claude", "codex"))
    assert digest(tmp_path) == digest(home)


def test_another_seed_makes_other_bytes_with_as_many_needles(truth: Truth, tmp_path: Path) -> None:
    other = script("corpus").make(tmp_path, 1_000_000, 8, ("claude", "codex"))
    assert {one["file"] for one in other["needles"]} != {one["file"] for one in truth["needles"]}
    assert Counter(one["name"] for one in other["needles"]) == Counter(one["name"] for one in truth["needles"])


def test_every_planned_needle_is_planted(truth: Truth) -> None:
    planned = {needle.name: needle.count for needle in script("corpus").NEEDLES}
    assert Counter(one["name"] for one in truth["needles"]) == planned


def test_exhaustive_effort_finds_each_needle_as_often_as_told_and_from_whom(home: Path, truth: Truth) -> None:
    for text in sorted({one["text"] for one in truth["needles"]}):
        found = deepgrep.search(text, home=home, effort="exhaustive", scope="all", literal=True)
        told = Counter((one["agent"], one["speaker"], one["kind"]) for one in truth["needles"] if one["text"] == text)
        assert Counter((r.record.agent, r.record.speaker, r.record.kind) for r in found.results) == told, text
        assert found.summary.status.state == "complete"


def test_prompt_effort_finds_the_needles_that_a_history_holds(home: Path, truth: Truth) -> None:
    for text in sorted({one["text"] for one in truth["needles"]}):
        found = deepgrep.search(text, home=home, literal=True)
        told = {(one["agent"], one["conversation"]) for one in truth["needles"] if one["text"] == text and one["in_history"]}
        assert {(r.record.agent, r.record.conversation_id) for r in found.results} == told, text


def test_the_absent_word_is_absent_and_the_common_one_is_not(home: Path, truth: Truth) -> None:
    assert not deepgrep.search(truth["absent"], home=home, effort="exhaustive", scope="all").results
    assert len(deepgrep.search(truth["common"], home=home, effort="exhaustive", scope="all", limit=20).results) == 20


LAGOON = [("that again", "plain"), ("the lagoon", "plain"), ("a lagoon", "plain"), ("lagoon", "headless")]


def lagoon(home: Path) -> Path:
    """Four conversations whose replies say `lagoon`. The prompts of the newer two say it too; the last one is headless."""
    corpus = script("corpus")
    dice, made = corpus.Dice("lagoon"), []
    for number, (prompt, role) in enumerate(LAGOON):
        start_s = corpus.NOW_S - 1000 + 100 * number
        pieces = [corpus.Piece("prompt", prompt.encode(), start_s, begins=True), corpus.Piece("reply", b"lagoon: done", start_s + 5)]
        talk_id = corpus.talk_id("claude", role, start_s, dice)
        made.append(corpus.Talk("claude", talk_id, 2000, start_s, "/home/dev/src/one", dice, role, pieces=pieces))
    corpus.fill(home, made, corpus.Speech(corpus.Words(corpus.Dice("lagoon"), 0), 20_000, 8_000))
    return home


def test_routing_is_measured_as_by_hand(tmp_path: Path) -> None:
    """Exhaustive effort finds 4 replies and 3 prompts in 4 conversations. A bound of 1 opens the newest of the two that prompts
    name: its reply, its prompt, and from the history the other's prompt. A bound of 5 opens both."""
    measured = script("routing").measure(lagoon(tmp_path), ["lagoon"], (1, 5))
    assert measured == {1: (1, 4, 3, 7), 5: (2, 4, 4, 7)}


def test_shares_of_made_talks_are_exact() -> None:
    made = script("routing").talks(50, 40, (20,))
    assert sum(talk.role == "headless" for talk in made) == 8
    assert sum(b"amberfjord" in talk.pieces[0].text for talk in made) == 10


def test_the_curve_is_one_well_formed_picture() -> None:
    routing = script("routing")
    shares = {str(bound): (0.5, 0.25) for bound in routing.BOUNDS}
    drawn = ET.fromstring(routing.curve({"one": {str(share): shares for share in routing.HEADLESS}}))
    assert len([part for part in drawn.iter() if part.get("class", "").startswith("line")]) == 3 * len(routing.HEADLESS)
