"""Copies of conversations as their agents write them: one result each, under the original, the others named in `also_in`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from deepgrep import Answer, search
from deepgrep.model import Result
from homes import jsonl, write

Rows = list[dict[str, object]]
A, B, C, D = ("aaaaaaaa-0000-4000-8000-00000000000" + letter for letter in "abcd")
# Ids of version 7 hold the time they were made: 2026-01-01T00:00:00Z and hours after it.
HOUR = 3_600_000
BASE_MS = 1_767_225_600_000


def v7(at_ms: int, tail: int) -> str:
    name = f"{at_ms:012x}"
    return f"{name[:8]}-{name[8:]}-7000-8000-{tail:012d}"


P, F, G, H = (v7(BASE_MS + hours * HOUR, tail) for tail, hours in enumerate((0, 2, 4, 6), 1))


def stamp(hour: float) -> str:
    seconds = round(hour * 3600)
    return f"2026-01-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.000Z"


def found(home: Path, text: str = "gull", **options: object) -> Answer:
    return search(text, home=home, **{"effort": "exhaustive", "order": "newest", **options})


def shown(answer: Answer) -> list[tuple[str, str | None, tuple[str, ...], int]]:
    return [(r.record.text, r.record.conversation_id, r.also_in, len(r.folded)) for r in answer.results]


# --- Claude Code --------------------------------------------------------------------------------------------------------


def said(session: str, uuid: str, hour: float, text: str, **more: object) -> dict[str, object]:
    return {"type": "user", "uuid": uuid, "timestamp": stamp(hour), "sessionId": session, "cwd": "/src/pier",
            "message": {"role": "user", "content": text}, **more}  # fmt: skip


def claude(tmp_path: Path, sessions: dict[str, Rows]) -> Path:
    return write(tmp_path / "home", {f".claude/projects/-src-pier/{name}.jsonl": jsonl(*rows) for name, rows in sessions.items()})


ONE, TWO = ("u1", 1, "count the gulls"), ("u2", 2, "feed the gulls")


def test_a_fork_whose_parent_did_not_go_on_is_the_copy(tmp_path: Path) -> None:
    """The parent is a subset of its fork: it has no record of its own, so it was there first, whatever its id."""
    home = claude(tmp_path, {B: [said(B, *ONE), said(B, *TWO)], A: [said(A, *ONE), said(A, *TWO), said(A, "u3", 3, "name the gulls")]})
    assert shown(found(home)) == [
        ("name the gulls", A, (), 0), ("feed the gulls", B, (A,), 1), ("count the gulls", B, (A,), 1),
    ]  # fmt: skip


def test_a_parent_that_went_on_first_is_the_original(tmp_path: Path) -> None:
    home = claude(
        tmp_path, {A: [said(A, *ONE), said(A, "u4", 4, "sell the gulls")], B: [said(B, *ONE), said(B, "u3", 3, "name the gulls")]}
    )
    assert shown(found(home)) == [("sell the gulls", A, (), 0), ("name the gulls", B, (), 0), ("count the gulls", B, (A,), 1)]


def test_the_row_without_a_copy_mark_is_the_original(tmp_path: Path) -> None:
    """A move to the background marks every row of the copy, also where its own rows begin first."""
    copy = [said(A, *ONE, sessionKind="bg"), said(A, "u3", 3, "name the gulls", sessionKind="bg")]
    home = claude(tmp_path, {A: copy, B: [said(B, *ONE), said(B, "u4", 4, "sell the gulls")]})
    assert shown(found(home))[-1] == ("count the gulls", B, (A,), 1)


def test_a_copy_whose_original_was_deleted_stands_for_itself(tmp_path: Path) -> None:
    home = claude(tmp_path, {A: [said(A, *ONE, sessionKind="bg"), said(A, "u3", 3, "name the gulls", sessionKind="bg")]})
    answer = found(home)
    assert shown(answer) == [("name the gulls", A, (), 0), ("count the gulls", A, (), 0)]
    assert answer.summary.status.state == "complete"


def test_equal_copies_are_the_smaller_ids(tmp_path: Path) -> None:
    home = claude(tmp_path, {name: [said(name, *ONE), said(name, *TWO)] for name in (C, A, B)})
    assert shown(found(home)) == [("feed the gulls", A, (B, C), 2), ("count the gulls", A, (B, C), 2)]


def test_three_conversations_that_went_on_share_one_original(tmp_path: Path) -> None:
    own = {A: 5, B: 3, C: 4}
    home = claude(tmp_path, {name: [said(name, *ONE), said(name, f"own{hour}", hour, f"gull {hour}")] for name, hour in own.items()})
    assert shown(found(home))[-1] == ("count the gulls", B, (A, C), 2)


def test_without_dedupe_every_copy_is_shown(tmp_path: Path) -> None:
    home = claude(tmp_path, {A: [said(A, *ONE)], B: [said(B, *ONE, sessionKind="bg")]})
    assert sorted(shown(found(home, dedupe=False))) == [("count the gulls", A, (), 0), ("count the gulls", B, (), 0)]


def test_a_resumed_conversation_keeps_its_id_and_equal_prompts_stay_apart(tmp_path: Path) -> None:
    rows = [said(A, "u1", 1, "count the gulls"), said(A, "u2", 9, "count the gulls")]
    assert len(found(claude(tmp_path, {A: rows})).results) == 2


def test_both_branches_of_a_rewind_are_kept(tmp_path: Path) -> None:
    rows = [
        said(A, "u1", 1, "count the gulls"),
        said(A, "u2", 2, "feed the gulls", parentUuid="u1"),
        said(A, "u3", 3, "free the gulls", parentUuid="u1"),
    ]
    assert len(found(claude(tmp_path, {A: rows})).results) == 3


def test_a_compaction_repeats_nothing_and_its_summary_is_the_runtimes(tmp_path: Path) -> None:
    rows = [
        said(A, "u1", 1, "count the gulls"),
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "s1",
            "timestamp": stamp(2),
            "sessionId": A,
            "content": "Conversation compacted",
        },
        said(A, "u2", 2, "They were to count the gulls.", isCompactSummary=True),
        said(A, "u3", 3, "feed the gulls"),
    ]
    answer = found(claude(tmp_path, {A: rows}), scope="all")
    assert [(r.record.speaker, r.record.text) for r in answer.results] == [
        ("person", "feed the gulls"), ("runtime", "They were to count the gulls."), ("person", "count the gulls"),
    ]  # fmt: skip


def test_the_answer_to_a_fork_is_found_under_the_original_at_targeted_effort_too(tmp_path: Path) -> None:
    row = {"display": "name the gulls", "pastedContents": {}, "timestamp": BASE_MS + 3 * HOUR, "project": "/src/pier", "sessionId": A}
    home = claude(tmp_path, {B: [said(B, *ONE)], A: [said(A, *ONE), said(A, "u3", 3, "name the gulls")]})
    write(home, {".claude/history.jsonl": jsonl(row)})
    answer = found(home, effort="targeted")
    assert shown(answer) == [("name the gulls", A, (), 1), ("count the gulls", A, (), 0)]  # limited to what was read


# --- Codex: copied prefixes ---------------------------------------------------------------------------------------------


def meta(thread: str, hour: float, at: float | None = None, **more: object) -> dict[str, object]:
    return {"timestamp": stamp(hour if at is None else at), "type": "session_meta",
            "payload": {"id": thread, "timestamp": stamp(hour), "cwd": "/src/dock", **more}}  # fmt: skip


def turn(turn_hour: float, hour: float) -> dict[str, object]:
    return {
        "timestamp": stamp(hour),
        "type": "turn_context",
        "payload": {"turn_id": v7(BASE_MS + round(turn_hour * HOUR), 7), "cwd": "/src/dock"},
    }


def message(hour: float, text: str, role: str = "user", **more: object) -> dict[str, object]:
    kind = "input_text" if role == "user" else "output_text"
    return {"timestamp": stamp(hour), "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}}  # fmt: skip


def rollout(thread: str, folder: str = "sessions/2026/01/01") -> str:
    return f".codex/{folder}/rollout-2026-01-01T00-00-00-{thread}.jsonl"


def codex(tmp_path: Path, threads: dict[str, Rows]) -> Path:
    return write(tmp_path / "home", {rollout(name): jsonl(*rows) for name, rows in threads.items()})


PARENT: Rows = [meta(P, 0), turn(0.5, 0.5), message(0.5, "count the gulls"), turn(1, 1), message(1, "feed the gulls")]


def fork(thread: str, hour: float, own: Rows, *, parent: str = P, turns: bool = True, copied: Rows | None = None) -> Rows:
    """A fork made at that hour: its own header, the parent's, and the parent's lines stamped with the time of the fork."""
    prefix = PARENT if copied is None else copied
    lines = [{**line, "timestamp": stamp(hour)} for line in prefix if turns or line["type"] != "turn_context"]
    return [meta(thread, hour, forked_from_id=parent), *lines, *own]


@pytest.mark.parametrize("turns", [True, False])
def test_a_copied_prefix_folds_into_the_parent(tmp_path: Path, turns: bool) -> None:
    own = [turn(2.5, 2.5), message(2.5, "name the gulls")]
    answer = found(codex(tmp_path, {P: PARENT, F: fork(F, 2, own, turns=turns)}))
    assert shown(answer) == [("name the gulls", F, (), 0), ("feed the gulls", P, (F,), 1), ("count the gulls", P, (F,), 1)]
    assert [result.record.time_us for result in answer.results][1:] == [(BASE_MS + HOUR) * 1000, (BASE_MS + HOUR // 2) * 1000]
    assert answer.summary.status.state == "complete"


def test_a_fork_without_its_parent_stands_for_the_prefix(tmp_path: Path) -> None:
    answer = found(codex(tmp_path, {F: fork(F, 2, [turn(2.5, 2.5), message(2.5, "name the gulls")])}))
    assert sorted(shown(answer)) == [("count the gulls", F, (), 0), ("feed the gulls", F, (), 0), ("name the gulls", F, (), 0)]
    assert "lineage_unread" not in answer.summary.status.conditions  # its own lines tell what it inherited


def test_two_forks_of_a_parent_that_is_gone_are_one_prefix_under_the_first(tmp_path: Path) -> None:
    forks = {
        G: fork(G, 4, [turn(4.5, 4.5), message(4.5, "sell the gulls")]),
        F: fork(F, 2, [turn(2.5, 2.5), message(2.5, "name the gulls")]),
    }
    assert sorted(shown(found(codex(tmp_path, forks)))) == [
        ("count the gulls", F, (G,), 1), ("feed the gulls", F, (G,), 1), ("name the gulls", F, (), 0), ("sell the gulls", G, (), 0),
    ]  # fmt: skip


def test_two_forks_of_one_parent(tmp_path: Path) -> None:
    threads = {P: PARENT, F: fork(F, 2, []), G: fork(G, 4, [])}
    assert shown(found(codex(tmp_path, threads))) == [("feed the gulls", P, (F, G), 2), ("count the gulls", P, (F, G), 2)]


@pytest.mark.parametrize("order", range(6))
def test_a_fork_of_a_fork_leads_to_the_first_parent(tmp_path: Path, order: int) -> None:
    first = fork(F, 2, [turn(2.5, 2.5), message(2.5, "name the gulls")])
    second = fork(G, 4, [turn(4.5, 4.5), message(4.5, "sell the gulls")], parent=F, copied=first)
    threads = [(P, PARENT), (F, first), (G, second)]
    random.Random(order).shuffle(threads)
    assert shown(found(codex(tmp_path, dict(threads)))) == [
        ("sell the gulls", G, (), 0), ("name the gulls", F, (G,), 1), ("feed the gulls", P, (F, G), 2), ("count the gulls", P, (F, G), 2),
    ]  # fmt: skip


def test_a_forks_own_equal_text_stays_its_own(tmp_path: Path) -> None:
    own = [turn(2.5, 2.5), message(2.5, "count the gulls"), turn(3, 3), message(3, "feed the gulls")]
    assert shown(found(codex(tmp_path, {P: PARENT, F: fork(F, 2, own)}))) == [
        ("feed the gulls", F, (), 0), ("count the gulls", F, (), 0), ("feed the gulls", P, (F,), 1), ("count the gulls", P, (F,), 1),
    ]  # fmt: skip


def test_a_parents_own_later_text_stays_the_parents(tmp_path: Path) -> None:
    later = [turn(5, 5), message(5, "count the gulls")]
    answer = shown(found(codex(tmp_path, {P: PARENT + later, F: fork(F, 2, [])})))
    assert answer == [("count the gulls", P, (), 0), ("feed the gulls", P, (F,), 1), ("count the gulls", P, (F,), 1)]


@pytest.mark.parametrize(("before", "after"), [(5, 0), (5, 1), (3, 2), (1, 5), (5, 5)])
def test_a_repeated_prompt_is_copied_as_often_as_it_was_typed(tmp_path: Path, before: int, after: int) -> None:
    repeated: Rows = [meta(P, 0)]
    for number in range(before):
        repeated += [turn(0.5 + number / 10, 0.5 + number / 10), message(0.5 + number / 10, "gull")]
    own: Rows = []
    for number in range(after):
        own += [turn(2.5 + number / 10, 2.5 + number / 10), message(2.5 + number / 10, "gull")]
    answer = shown(found(codex(tmp_path, {P: repeated, F: fork(F, 2, own, copied=repeated)})))
    assert answer == [("gull", F, (), 0)] * after + [("gull", P, (F,), 1)] * before


def test_the_prefix_of_a_parent_that_was_cut_short_folds_as_far_as_it_goes(tmp_path: Path) -> None:
    answer = shown(found(codex(tmp_path, {P: PARENT[:3], F: fork(F, 2, [])})))
    assert sorted(answer) == [("count the gulls", P, (F,), 1), ("feed the gulls", F, (), 0)]


def test_the_fork_is_the_copy_also_where_its_name_comes_first(tmp_path: Path) -> None:
    early = v7(BASE_MS - HOUR, 9)  # a clock that was set back: the id alone does not decide
    answer = found(codex(tmp_path, {P: PARENT, early: fork(early, 2, [], turns=False)}))
    assert shown(answer) == [("feed the gulls", P, (early,), 1), ("count the gulls", P, (early,), 1)]


def test_without_dedupe_a_prefix_is_shown_twice(tmp_path: Path) -> None:
    assert len(found(codex(tmp_path, {P: PARENT, F: fork(F, 2, [])}), dedupe=False).results) == 4


def test_copied_items_that_kept_their_ids_fold_too(tmp_path: Path) -> None:
    parent = [*PARENT, message(1.5, "a gull answers", "assistant", id="msg_1")]
    answer = found(codex(tmp_path, {P: parent, F: fork(F, 2, [], copied=parent)}), "answers")
    assert shown(answer) == [("a gull answers", P, (F,), 1)]


# --- Codex: forks by reference, unmarked forks, archives ----------------------------------------------------------------


def test_a_fork_by_reference_holds_only_its_own_turns(tmp_path: Path) -> None:
    base = {"thread_id": P, "end_ordinal_exclusive": 45, "end_byte_offset": 900}
    compacted = {"timestamp": stamp(2.6), "type": "compacted", "payload": {
        "message": "",
        "replacement_history": [message(0, "count the gulls")["payload"], message(0, "feed the gulls")["payload"]]}}  # fmt: skip
    rows = [meta(F, 2, forked_from_id=P, history_base=base), turn(2.5, 2.5), message(2.5, "name the gulls"), compacted]
    answer = found(codex(tmp_path, {P: PARENT, F: rows}))
    assert shown(answer) == [("name the gulls", F, (), 0), ("feed the gulls", P, (), 0), ("count the gulls", P, (), 0)]
    alone = found(codex(tmp_path / "alone", {F: rows}))
    assert shown(alone) == [("name the gulls", F, (), 0)]
    assert alone.summary.status.state == "complete"


def unmarked(own: Rows) -> Rows:
    """A fork that names its parent and marks nothing as copied."""
    return [meta(F, 2, forked_from_id=P), *({**line, "timestamp": stamp(2)} for line in PARENT[1:]), *own]


def test_an_unmarked_fork_whose_parent_was_not_read_says_so(tmp_path: Path) -> None:
    answer = found(codex(tmp_path, {F: unmarked([turn(2.5, 2.5), message(2.5, "name the gulls")])}))
    assert answer.summary.status.state == "approximate"
    assert answer.summary.status.reason == "lineage_unread"
    assert len(answer.results) == 3


def test_an_unmarked_fork_is_no_matter_where_nothing_of_it_matches_or_its_parent_was_read(tmp_path: Path) -> None:
    home = codex(tmp_path, {F: unmarked([])})
    assert found(home, "zebra").summary.status.state == "complete"
    assert found(home, dedupe=False).summary.status.state == "complete"
    write(home, {rollout(P): jsonl(*PARENT)})
    assert found(home).summary.status.state == "complete"


def test_at_targeted_effort_an_unread_parent_is_said(tmp_path: Path) -> None:
    home = codex(tmp_path, {P: PARENT, F: unmarked([turn(2.5, 2.5), message(2.5, "name the gulls")])})
    write(home, {".codex/history.jsonl": jsonl({"session_id": F, "ts": BASE_MS // 1000 + 9000, "text": "name the gulls"})})
    assert "lineage_unread" in found(home, effort="targeted").summary.status.conditions
    assert "lineage_unread" not in found(home).summary.status.conditions


def test_a_live_and_an_archived_copy_are_one_conversation(tmp_path: Path) -> None:
    home = codex(tmp_path, {P: PARENT})
    write(home, {rollout(P, "archived_sessions"): jsonl(*PARENT)})
    answer = found(home)
    assert shown(answer) == [("feed the gulls", P, (), 1), ("count the gulls", P, (), 1)]
    assert {result.record.store for result in answer.results} == {"codex.sessions"}


def test_checkpoints_of_one_conversation_in_two_files_fold(tmp_path: Path) -> None:
    """A later checkpoint repeats the earlier one and goes on; the same second words at another place are other words."""
    home = codex(tmp_path, {P: PARENT})
    longer = [*PARENT, turn(1.2, 1.2), message(1.2, "count the gulls")]
    write(home, {rollout(P).replace("T00-00-00", "T09-00-00"): jsonl(*longer)})
    assert shown(found(home)) == [("count the gulls", P, (), 0), ("feed the gulls", P, (), 1), ("count the gulls", P, (), 1)]


# --- every order and limit ----------------------------------------------------------------------------------------------


def _home(tmp_path: Path) -> Path:
    home = codex(tmp_path, {P: PARENT, F: fork(F, 2, [turn(2.5, 2.5), message(2.5, "count the gulls")]), G: fork(G, 4, [])})
    return write(home, {
        f".claude/projects/-src-pier/{A}.jsonl": jsonl(said(A, *ONE), said(A, *TWO), said(A, "u3", 3, "name the gulls")),
        f".claude/projects/-src-pier/{B}.jsonl": jsonl(said(B, *ONE), said(B, *TWO)),
        f".claude/projects/-src-pier/{C}.jsonl": jsonl(said(C, *ONE, sessionKind="bg")),
        ".codex/history.jsonl": jsonl({"session_id": P, "ts": BASE_MS // 1000 + 1800, "text": "count the gulls"}),
    })  # fmt: skip


def _key(result: Result) -> tuple[object, ...]:
    return result.record.text, result.record.conversation_id, result.also_in, len(result.folded)


@pytest.mark.parametrize("order", ["newest", "relevance"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_a_limit_folds_as_much_as_no_limit(tmp_path: Path, order: str, limit: int) -> None:
    home = _home(tmp_path)
    every = found(home, order=order)
    some = found(home, order=order, limit=limit)
    assert [_key(result) for result in some.results] == [_key(result) for result in every.results][:limit]
    places = [(r.store, r.source.key, r.position, r.block) for found_one in every.results for r in (found_one.record, *found_one.folded)]
    assert len(places) == len(set(places)) == len(found(home, dedupe=False).results)


def test_scan_gives_each_utterance_once(tmp_path: Path) -> None:
    home = _home(tmp_path)
    assert len(found(home, order="scan").results) == len(found(home).results)
