from __future__ import annotations

import random
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from deepgrep.engine.fold import Group, fold
from deepgrep.engine.order import newest, ordered
from deepgrep.engine.relevance import Scorer
from deepgrep.engine.resolve import query as request
from deepgrep.model import KINDS, SPEAKERS, Match, Record, Source
from deepgrep.query.match import matcher
from deepgrep.query.parse import Term
from nasty import needles, texts

TRANSCRIPT = Source("claude", "claude.sessions", "transcript", "/h/a.jsonl", "a.jsonl", 1, 1)
OTHER = Source("claude", "claude.sessions", "transcript", "/h/b.jsonl", "b.jsonl", 1, 1)
HISTORY = Source("claude", "claude.history", "prompts", "/h/history.jsonl", "history.jsonl", 1, 1)
ROLLOUT = Source("codex", "codex.sessions", "transcript", "/c/r.jsonl", "r.jsonl", 1, 1)
LEGACY = Source("codex", "codex.history_legacy", "prompts", "/c/history.json", "history.json", 1, 1)


@st.composite
def matches(draw: st.DrawFn) -> list[Match]:
    """Records that often say the same, at distinct places of some sources."""
    count = draw(st.integers(0, 12))
    out = []
    for position in range(count):
        source = draw(st.sampled_from((TRANSCRIPT, TRANSCRIPT, OTHER, HISTORY, ROLLOUT, LEGACY)))
        speaker = "person" if source.role == "prompts" else draw(st.sampled_from(("person", "person", "agent")))
        record = Record(
            source,
            position,
            draw(st.integers(0, 1)),
            speaker,
            draw(st.sampled_from(("prompt", "command"))) if speaker == "person" else "reply",
            draw(st.sampled_from(("continue", "continue", "con tinue", "stop"))),
            time_us=draw(st.none() | st.integers(0, 6)),
            conversation_id=None if source is LEGACY else draw(st.sampled_from(("c1", "c1", "c2", None))),
            native_id=draw(st.sampled_from((None, None, "n1", "n2"))) if source.role == "transcript" else None,
            channel=draw(st.sampled_from((0, 0, 1, 2))) if source.role == "transcript" else 0,
        )
        out.append(Match(record, ((0, 1),)))
    return out


def _place(record: Record) -> tuple[object, ...]:
    return record.source.key, record.position, record.block


def _shape(groups: list[Group]) -> set[tuple[object, frozenset[object]]]:
    return {(_place(group.match.record), frozenset(map(_place, group.folded))) for group in groups}


def _shuffled(items: list[Match], seed: int) -> list[Match]:
    out = list(items)
    random.Random(seed).shuffle(out)
    return out


@given(matches())
def test_every_match_is_in_exactly_one_group(found: list[Match]) -> None:
    groups = fold(found)
    places = Counter(_place(record) for group in groups for record in (group.match.record, *group.folded))
    assert places == Counter(_place(match.record) for match in found)


@given(matches())
def test_a_group_says_one_thing_in_one_conversation(found: list[Match]) -> None:
    for group in fold(found):
        first = group.match.record
        for other in group.folded:
            assert other.agent == first.agent
            assert other.speaker == first.speaker
            assert other.text.replace(" ", "") == first.text.replace(" ", "")
            rows = first.source.role == "prompts" or other.source.role == "prompts"
            assert other.conversation_id == first.conversation_id or (rows and None in (other.conversation_id, first.conversation_id))


@given(matches(), st.integers(0, 99))
def test_folding_does_not_depend_on_the_order_of_what_comes_in(found: list[Match], seed: int) -> None:
    assert _shape(fold(_shuffled(found, seed))) == _shape(fold(found))


@given(matches())
def test_groups_come_in_the_order_of_their_representatives(found: list[Match]) -> None:
    places = [_place(match.record) for match in found]
    order = [places.index(_place(group.match.record)) for group in fold(found)]
    assert order == sorted(order)


def _said(source: Source, position: int, time_us: int | None, conversation: str | None = "c1", channel: int = 0) -> Match:
    return Match(Record(source, position, 0, "person", "prompt", "continue", time_us, conversation, channel=channel), ((0, 8),))


@given(
    st.lists(st.none() | st.integers(0, 50), max_size=7),
    st.lists(st.none() | st.integers(0, 50), max_size=7),
    st.lists(st.none() | st.integers(0, 50), max_size=7),
)
@example([0] * 5, [0] * 5, [])
@example([None] * 5, [1, 2, 3], [1, 2, 3])
def test_rows_and_prompts_pair_one_to_one(rows: list[int | None], prompts: list[int | None], events: list[int | None]) -> None:
    found = [_said(HISTORY, index, time) for index, time in enumerate(rows)]
    found += [_said(TRANSCRIPT, index, time) for index, time in enumerate(prompts)]
    found += [_said(TRANSCRIPT, 100 + index, time, channel=1) for index, time in enumerate(events)]
    groups = fold(found)
    assert len(groups) == max(len(rows), len(prompts), len(events))
    for group in groups:
        ranks = [(record.source.role, record.channel) for record in (group.match.record, *group.folded)]
        assert len(ranks) == len(set(ranks))


def test_many_rows_pair_one_to_one_too() -> None:
    found = [_said(HISTORY, index, index * 10) for index in range(300)] + [_said(TRANSCRIPT, index, index * 10 + 1) for index in range(200)]
    groups = fold(found)
    assert len(groups) == 300
    assert sum(len(group.folded) for group in groups) == 200


@given(st.permutations((10, 20, 30)))
def test_a_row_pairs_with_the_nearest_prompt(times: list[int]) -> None:
    found = [_said(TRANSCRIPT, index, time) for index, time in enumerate(times)] + [_said(HISTORY, 9, 21)]
    (paired,) = [group for group in fold(found) if group.folded]
    assert paired.match.record.time_us == 20


def test_the_transcript_represents_its_history_row() -> None:
    (group,) = fold([_said(HISTORY, 0, 5), _said(TRANSCRIPT, 0, 6)])
    assert group.match.record.source is TRANSCRIPT
    assert [record.source for record in group.folded] == [HISTORY]


def test_a_row_without_an_id_folds_into_a_prompt_that_has_no_row() -> None:
    rollout = Match(Record(ROLLOUT, 0, 0, "person", "prompt", "continue", 6, "t1"), ((0, 8),))
    row = Match(Record(LEGACY, 0, 0, "person", "prompt", "continue", 5, None), ((0, 8),))
    assert [len(group.folded) for group in fold([row, rollout])] == [1]
    assert len(fold([row, rollout, row._replace(record=row.record._replace(position=1))])) == 2


# --- order ------------------------------------------------------------------------------------------------------------

NEWEST, RELEVANCE, SCAN = (request(["continue"], order=order) for order in ("newest", "relevance", "scan"))


@given(matches(), st.integers(0, 99), st.sampled_from((NEWEST, RELEVANCE)))
def test_orders_are_total(found: list[Match], seed: int, query: object) -> None:
    groups = [Group(match) for match in found]
    shuffled = [Group(match) for match in _shuffled(found, seed)]
    assert ordered(shuffled, query) == ordered(groups, query)  # type: ignore[arg-type]


@given(matches())
def test_newest_first_and_undated_last(found: list[Match]) -> None:
    times = [group.match.record.time_us for group, _ in ordered(map(Group, found), NEWEST)]
    dated = [time for time in times if time is not None]
    assert times == sorted(dated, reverse=True) + [None] * (len(times) - len(dated))
    assert len({newest(match.record) for match in found}) == len(found)


@given(matches())
def test_scan_keeps_what_comes_first(found: list[Match]) -> None:
    assert [group.match for group, _ in ordered(map(Group, found), SCAN)] == found


@given(matches())
def test_equal_scores_stay_in_order_of_time(found: list[Match]) -> None:
    ranked = ordered(map(Group, found), RELEVANCE)
    keys = [(-score.total if score else 0, newest(group.match.record)) for group, score in ranked]
    assert keys == sorted(keys)


@given(st.lists(needles, max_size=4, unique=True), texts, st.sampled_from(SPEAKERS), st.sampled_from(KINDS))
def test_relevance_is_pure_and_bounded(terms: list[str], text: str, speaker: str, kind: str) -> None:
    spans = {span for term in terms for span in matcher(Term(term))(text) or ()}
    match = Match(Record(TRANSCRIPT, 0, 0, speaker, kind, text), tuple(sorted(spans)))  # type: ignore[arg-type]
    score = Scorer(tuple(terms)).score(match)
    assert score == Scorer(tuple(terms)).score(match)
    assert 0 <= score.total <= 115
    for value, most in zip(score, (40, 20, 10, 5, 30, 10), strict=True):
        assert 0 <= value <= most
    moved = match._replace(record=match.record._replace(position=7, time_us=3, conversation_id="x", cwd="/y"))
    assert Scorer(tuple(terms)).score(moved) == score
