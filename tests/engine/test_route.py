"""Targeted routing: which conversations are attempted, what proves them, and that nothing else is opened or told."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import NamedTuple

import pytest

import deepgrep.engine.route as routing
import deepgrep.engine.search as engine
from deepgrep import Answer, UsageError, events, search
from deepgrep.files import OpenFile
from deepgrep.model import Finished, Result
from deepgrep.wire import summary
from homes import jsonl, write
from ledger import recording
from pages import run

BEGIN_S = 1_760_000_000
OUTCOMES = ("completed", "ambiguous", "stale", "unreadable", "unresolved", "budget_exhausted")
Files = dict[str, str | bytes]


def claude_id(number: int) -> str:
    return f"aaaaaaaa-0000-4000-8000-{number:012d}"


def codex_id(number: int) -> str:
    return f"bbbbbbbb-0000-7000-8000-{number:012d}"


def stamp(number: int, seconds: int = 0) -> str:
    minutes = number * 2
    return f"2026-01-{1 + minutes // 1440:02d}T{minutes // 60 % 24:02d}:{minutes % 60:02d}:{seconds:02d}.000Z"


def claude_row(native: str, number: int, text: str = "mend the ferry", project: str | None = "/src/pier") -> dict[str, object]:
    row = {"display": text, "pastedContents": {}, "timestamp": (1_767_225_600 + number * 120) * 1000, "sessionId": native}
    return row if project is None else {**row, "project": project}


def claude_lines(native: str, number: int, reply: str = "the ferry is mended", cwd: str = "/src/pier") -> list[dict[str, object]]:
    base = {"sessionId": native, "cwd": cwd}
    return [
        {**base, "type": "user", "uuid": f"u{number}", "timestamp": stamp(number),
         "message": {"role": "user", "content": "mend the ferry"}},
        {**base, "type": "assistant", "uuid": f"a{number}", "timestamp": stamp(number, 9),
         "message": {"role": "assistant", "content": [{"type": "text", "text": reply}]}},
    ]  # fmt: skip


def claude_file(native: str, folder: str = "-src-pier") -> str:
    return f".claude/projects/{folder}/{native}.jsonl"


def codex_row(native: object, number: int, text: str = "mend the ferry") -> dict[str, object]:
    return {"session_id": native, "ts": 1_767_225_600 + number * 120, "text": text}


def codex_lines(native: str, number: int, reply: str = "the ferry is mended", **header: object) -> list[dict[str, object]]:
    said = [("user", "input_text", "mend the ferry", 0), ("assistant", "output_text", reply, 9)]
    return [
        {"timestamp": stamp(number), "type": "session_meta",
         "payload": {"id": native, "timestamp": stamp(number), "cwd": "/src/dock", **header}},
        *(
            {"timestamp": stamp(number, at), "type": "response_item",
             "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}}
            for role, kind, text, at in said
        ),
    ]  # fmt: skip


def codex_file(native: str, ending: str = ".jsonl", folder: str = "sessions/2026/01/02", suffix: str = "") -> str:
    return f".codex/{folder}/rollout-2026-01-02T00-00-00-{native}{suffix}{ending}"


def squeezed(text: str) -> bytes:
    from backports import zstd

    return zstd.compress(text.encode())


class Ran(NamedTuple):
    """One search: the answer, its conversation counts and the files below the home that it opened."""

    answer: Answer
    counts: dict[str, int]
    opened: set[str]

    @property
    def outcomes(self) -> dict[str, int]:
        return {name: self.counts[name] for name in OUTCOMES if self.counts[name]}

    @property
    def replies(self) -> list[str]:
        return [result.record.text for result in self.answer.results if result.record.speaker == "agent"]


def targeted(home: Path, text: str = "ferry", **options: object) -> Ran:
    with recording() as ledger:
        answer = search(text, home=home, **{"effort": "targeted", **options})
    counts = answer.summary.coverage["conversations"]
    assert isinstance(counts, dict)
    return Ran(answer, counts, ledger.opened_below(home))


def bodies(opened: set[str]) -> set[str]:
    return {name for name in opened if not name.endswith("history.jsonl")}


# --- the bound ----------------------------------------------------------------------------------------------------------


def many(count: int, *, without: tuple[int, ...] = (), torn: tuple[int, ...] = ()) -> Files:
    """Conversations 0 to count-1, the last the newest, of both agents by turns, each with a reply. `torn` lose their header."""
    files: Files = {}
    claude, codex = [], []
    for number in range(count):
        native = claude_id(number) if number % 2 else codex_id(number)
        (claude if number % 2 else codex).append((claude_row if number % 2 else codex_row)(native, number))
        name = claude_file(native) if number % 2 else codex_file(native)
        lines = (claude_lines if number % 2 else codex_lines)(native, number, f"reply {number}: the ferry is mended")
        if number not in without:
            files[name] = "no header\n" if number in torn else jsonl(*lines)
    return {**files, ".claude/history.jsonl": jsonl(*claude), ".codex/history.jsonl": jsonl(*codex)}


def name_of(number: int) -> str:
    return claude_file(claude_id(number)) if number % 2 else codex_file(codex_id(number))


@pytest.mark.parametrize("limit", [None, 1, 2, 7, 25, 26, 199, 200, 500])
def test_as_many_conversations_are_attempted_as_the_bound_says(tmp_path: Path, limit: int | None) -> None:
    home = write(tmp_path / "home", many(200))
    ran = targeted(home, conversation_limit=limit)
    attempts = min(limit or 25, 200)
    assert (ran.counts["eligible"], ran.counts["selected"], ran.counts["completed"]) == (200, attempts, attempts)
    assert bodies(ran.opened) == {name_of(number) for number in range(200 - attempts, 200)}
    opened = ran.answer.summary.coverage["opened"]
    assert opened["proofs"] == opened["conversation_sources"] == attempts
    assert ran.answer.summary.query.conversation_limit == (limit or 25)


@pytest.mark.parametrize("order", ["newest", "relevance", "scan"])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_the_result_limit_changes_nothing_of_the_selection(tmp_path: Path, order: str, limit: int) -> None:
    home = write(tmp_path / "home", many(60))
    free, bound = targeted(home, order=order), targeted(home, order=order, limit=limit)
    chosen = ("eligible", "selected", "ambiguous", "stale", "unreadable", "unresolved", "budget_exhausted", "unroutable", "undecided")
    assert [bound.counts[name] for name in chosen] == [free.counts[name] for name in chosen]
    assert bound.answer.summary.coverage["opened"]["proofs"] == free.answer.summary.coverage["opened"]["proofs"] == 25
    assert bound.opened == free.opened
    assert bound.answer.results == free.answer.results[:limit] or order == "scan"


def test_a_limit_lets_no_evidence_go(tmp_path: Path) -> None:
    """A history with far more matching rows than a limit can return, the newest of which are the least relevant."""
    rows = [codex_row(codex_id(number), number, "ferry") for number in range(1200)]
    rows += [codex_row(codex_id(number), number, "x" * 3000 + "ferry" + "x" * 3000) for number in range(1200, 1230)]
    files: Files = {codex_file(codex_id(number)): jsonl(*codex_lines(codex_id(number), number)) for number in (1100, 1229)}
    home = write(tmp_path / "home", {**files, ".codex/history.jsonl": jsonl(*rows)})
    free, bound = targeted(home), targeted(home, limit=1)
    assert bound.counts == free.counts
    assert free.counts["eligible"] == 1230
    assert bodies(bound.opened) == bodies(free.opened) == {codex_file(codex_id(1229))}
    assert bound.answer.results == free.answer.results[:1]


@pytest.mark.parametrize("change", ["removed", "broken", "added"])
def test_what_becomes_of_the_26th_candidate_changes_nothing(tmp_path: Path, change: str) -> None:
    before = targeted(write(tmp_path / "before", many(60)))
    files = many(60, without=(34,) if change == "removed" else (), torn=(34,) if change == "broken" else ())
    if change == "added":
        files |= {codex_file(codex_id(34), folder="archived_sessions"): jsonl(*codex_lines(codex_id(34), 34))}
        files |= {claude_file(claude_id(33), "-other"): jsonl(*claude_lines(claude_id(33), 33))}
    after = targeted(write(tmp_path / "after", files))
    assert after.opened == before.opened
    assert after.counts == before.counts
    assert [r.record.text for r in after.answer.results] == [r.record.text for r in before.answer.results]


def test_a_broken_third_candidate_costs_one_conversation_and_one_count(tmp_path: Path) -> None:
    whole = targeted(write(tmp_path / "whole", many(60)))
    for name, files in {"unresolved": many(60, without=(57,)), "unreadable": many(60, torn=(57,))}.items():
        hurt = targeted(write(tmp_path / name, files))
        assert hurt.counts == {**whole.counts, "completed": 24, name: 1}
        assert [reply for reply in whole.replies if reply not in hurt.replies] == ["reply 57: the ferry is mended"]
        assert [reply for reply in hurt.replies if reply not in whole.replies] == []
        assert bodies(hurt.opened) == bodies(whole.opened) - ({name_of(57)} if name == "unresolved" else set())


def test_the_newest_row_places_a_conversation_and_rows_of_one_share_its_attempt(tmp_path: Path) -> None:
    rows = [claude_row(claude_id(1), 1), claude_row(claude_id(2), 50), *(claude_row(claude_id(1), number) for number in (2, 3, 90))]
    files: Files = {claude_file(claude_id(n)): jsonl(*claude_lines(claude_id(n), n, f"reply {n}: ferry")) for n in (1, 2)}
    home = write(tmp_path / "home", {**files, ".claude/history.jsonl": jsonl(*rows)})
    ran = targeted(home, conversation_limit=1)
    assert (ran.counts["eligible"], ran.counts["selected"]) == (2, 1)
    assert bodies(ran.opened) == {claude_file(claude_id(1))}


def test_equal_times_are_decided_by_agent_and_id_and_undated_evidence_comes_last(tmp_path: Path) -> None:
    rows = [{**claude_row(claude_id(n), 5), **({"timestamp": None} if n == 0 else {})} for n in (2, 0, 1)]
    files: Files = {claude_file(claude_id(n)): jsonl(*claude_lines(claude_id(n), n)) for n in (0, 1, 2)}
    files |= {codex_file(codex_id(9)): jsonl(*codex_lines(codex_id(9), 9)), ".codex/history.jsonl": jsonl(codex_row(codex_id(9), 5))}
    home = write(tmp_path / "home", {**files, ".claude/history.jsonl": jsonl(*rows)})
    ladder = [bodies(targeted(home, conversation_limit=n).opened) for n in (1, 2, 3, 4)]
    names = [claude_file(claude_id(1)), claude_file(claude_id(2)), codex_file(codex_id(9)), claude_file(claude_id(0))]
    assert ladder == [set(names[:n]) for n in (1, 2, 3, 4)]


# --- resolving: Codex ---------------------------------------------------------------------------------------------------

T = codex_id(7)
ROW = {".codex/history.jsonl": jsonl(codex_row(T, 7))}


def codex_text(reply: str = "the ferry is mended", **header: object) -> str:
    return jsonl(*codex_lines(T, 7, reply, **header))


def lone(tmp_path: Path, files: Files) -> Ran:
    return targeted(write(tmp_path / "home", {**ROW, **files}))


@pytest.mark.parametrize(
    "name",
    [
        codex_file(T), codex_file(T, folder="sessions"), codex_file(T, folder="archived_sessions"),
        f".codex/sessions/rollout-2026-01-02-{T}.jsonl", codex_file(T, suffix="_11111111-0000-7000-8000-000000000001"),
    ],
)  # fmt: skip
def test_a_rollout_is_found_wherever_codex_puts_it(tmp_path: Path, name: str) -> None:
    ran = lone(tmp_path, {name: codex_text()})
    assert (ran.outcomes, ran.replies, bodies(ran.opened)) == ({"completed": 1}, ["the ferry is mended"], {name})


@pytest.mark.parametrize("folder", ["sessions/2026/01/02", "sessions", "archived_sessions"])
def test_a_compressed_rollout_is_proved_and_read(tmp_path: Path, folder: str) -> None:
    ran = lone(tmp_path, {codex_file(T, ".jsonl.zst", folder): squeezed(codex_text())})
    assert (ran.outcomes, ran.replies) == ({"completed": 1}, ["the ferry is mended"])


def test_a_plain_rollout_stands_for_its_compressed_twin(tmp_path: Path) -> None:
    ran = lone(tmp_path, {codex_file(T): codex_text("plain ferry"), codex_file(T, ".jsonl.zst"): squeezed(codex_text("squeezed ferry"))})
    assert (ran.outcomes, ran.replies, bodies(ran.opened)) == ({"completed": 1}, ["plain ferry"], {codex_file(T)})


@pytest.mark.parametrize("live", [".jsonl", ".jsonl.zst"])
@pytest.mark.parametrize("archived", [".jsonl", ".jsonl.zst"])
def test_the_live_rollout_stands_for_its_archived_copy(tmp_path: Path, live: str, archived: str) -> None:
    def content(text: str, ending: str) -> str | bytes:
        return squeezed(text) if ending == ".jsonl.zst" else text

    names = codex_file(T, live), codex_file(T, archived, "archived_sessions")
    ran = lone(tmp_path, {names[0]: content(codex_text("live ferry"), live), names[1]: content(codex_text("archived ferry"), archived)})
    assert (ran.outcomes, ran.replies) == ({"completed": 1}, ["live ferry"])
    assert ran.answer.summary.coverage["opened"]["proofs"] == 2
    assert ran.answer.summary.coverage["opened"]["conversation_sources"] == 1


def test_parts_of_a_reverted_thread_are_all_of_the_conversation(tmp_path: Path) -> None:
    names = [codex_file(T, suffix=suffix) for suffix in ("", "_11111111-0000", "_22222222-0000")]
    ran = lone(tmp_path, {name: codex_text(f"part {n}: ferry") for n, name in enumerate(names)})
    assert ran.outcomes == {"completed": 1}
    assert bodies(ran.opened) == set(names)
    assert sorted(ran.replies) == ["part 0: ferry", "part 1: ferry", "part 2: ferry"]
    assert ran.answer.summary.coverage["opened"]["conversation_sources"] == 3


def test_two_rollouts_of_one_thread_are_ambiguous(tmp_path: Path) -> None:
    other = codex_file(T).replace("T00-00-00", "T09-00-00")
    ran = lone(tmp_path, {codex_file(T): codex_text(), other: codex_text()})
    assert (ran.outcomes, ran.replies) == ({"ambiguous": 1}, [])
    assert ran.answer.summary.coverage["opened"]["conversation_sources"] == 0


def test_a_second_file_that_is_another_threads_does_not_make_it_ambiguous(tmp_path: Path) -> None:
    other = codex_file(T).replace("T00-00-00", "T09-00-00")
    ran = lone(tmp_path, {codex_file(T): codex_text(), other: jsonl(*codex_lines(codex_id(8), 8))})
    assert (ran.outcomes, ran.replies) == ({"completed": 1}, ["the ferry is mended"])


def test_a_header_that_names_another_thread_is_stale(tmp_path: Path) -> None:
    copied = jsonl(*codex_lines(codex_id(8), 8), *codex_lines(T, 7))  # the first header counts, a copied one below it does not
    ran = lone(tmp_path, {codex_file(T): copied})
    assert (ran.outcomes, ran.replies) == ({"stale": 1}, [])
    assert ran.answer.summary.coverage["opened"]["proofs"] == 1


def test_what_lies_inside_a_line_that_is_cut_off_proves_nothing(tmp_path: Path) -> None:
    cut = '{"timestamp":"2026-01-02T00:00:00Z","type":"session_meta","payload":{"id":"cccccccc","note":'
    inner = json.dumps({"id": T, "timestamp": "2026-01-02T00:00:00Z"})
    ran = lone(tmp_path, {codex_file(T): cut + inner + ',"text":"' + "x" * 50 + "\n" + jsonl(*codex_lines(codex_id(8), 8)[1:])})
    assert ran.replies == []
    assert "completed" not in ran.outcomes


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ("", "unreadable"), ("\n\n", "unreadable"), ("no json\n", "unreadable"), ("[]\n", "unreadable"), ("null\n", "unreadable"),
        (b"\xff\xfe\x00", "unreadable"), ('{"type":"session_meta","payload":null}\n', "stale"), ("{}\n", "stale"),
        ('{"type":"session_meta","payload":{"id":7}}\n', "stale"), ("[" * 100_000 + "\n", "unreadable"),
        ('{"timestamp":"2026-01-02T00:00:00Z","id":"' + T + '"}\n', "completed"),
    ],
)  # fmt: skip
def test_a_header_that_is_none(tmp_path: Path, content: str | bytes, outcome: str) -> None:
    assert lone(tmp_path, {codex_file(T): content}).outcomes == {outcome: 1}


def test_a_compressed_rollout_that_is_damaged_is_unreadable(tmp_path: Path) -> None:
    assert lone(tmp_path, {codex_file(T, ".jsonl.zst"): b"no zstd frame"}).outcomes == {"unreadable": 1}


@pytest.mark.parametrize(("size", "outcome"), [(900_000, "completed"), (1_100_000, "unreadable")])
def test_a_header_proves_within_the_first_mebibyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, outcome: str) -> None:
    read: list[int] = []
    original = OpenFile.start

    def start(self: OpenFile, most: int) -> bytes:
        got = original(self, most)
        read.append(len(got))
        assert self.bytes_read == len(got)
        return got

    monkeypatch.setattr(OpenFile, "start", start)
    ran = lone(tmp_path, {codex_file(T): codex_text(base_instructions={"text": "x" * size})})
    assert ran.outcomes == {outcome: 1}
    assert len(read) == 1
    assert read[0] <= 1 << 20


def test_proofs_read_a_mebibyte_at_most_and_only_where_a_name_carries_a_selected_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, int] = {}
    original = OpenFile.start

    def start(self: OpenFile, most: int) -> bytes:
        got = original(self, most)
        read[os.path.relpath(self.path, tmp_path / "home")] = len(got)
        return got

    monkeypatch.setattr(OpenFile, "start", start)
    files = many(60)
    big = claude_file(claude_id(59))
    files[big] = str(files[big]) + jsonl(*({"type": "user", "sessionId": claude_id(59), "text": "x" * 1000} for _ in range(3000)))
    ran = targeted(write(tmp_path / "home", files))
    assert set(read) == {name_of(number) for number in range(35, 60)}
    assert max(read.values()) == 1 << 20
    assert ran.answer.summary.coverage["opened"]["proofs"] == 25


# --- resolving: Claude Code ---------------------------------------------------------------------------------------------

S = claude_id(7)


def session(tmp_path: Path, files: Files, *, project: str | None = "/src/pier") -> Ran:
    return targeted(write(tmp_path / "home", {".claude/history.jsonl": jsonl(claude_row(S, 7, project=project)), **files}))


def claude_text(reply: str = "the ferry is mended", native: str = S) -> str:
    return jsonl(*claude_lines(native, 7, reply))


def test_the_recorded_project_decides_between_two_folders(tmp_path: Path) -> None:
    files: Files = {claude_file(S): claude_text("right ferry"), claude_file(S, "-src-quay"): claude_text("wrong ferry")}
    ran = session(tmp_path, files)
    assert (ran.outcomes, ran.replies) == ({"completed": 1}, ["right ferry"])


@pytest.mark.parametrize("project", [None, "/somewhere/else"])
def test_two_folders_and_no_project_that_decides_are_ambiguous(tmp_path: Path, project: str | None) -> None:
    files: Files = {claude_file(S): claude_text("one ferry"), claude_file(S, "-src-quay"): claude_text("another ferry")}
    ran = session(tmp_path, files, project=project)
    assert (ran.outcomes, ran.replies) == ({"ambiguous": 1}, [])


def test_a_project_whose_file_is_another_sessions_leaves_the_one_that_is_proved(tmp_path: Path) -> None:
    files: Files = {claude_file(S): claude_text("wrong ferry", claude_id(8)), claude_file(S, "-src-quay"): claude_text("right ferry")}
    ran = session(tmp_path, files)
    assert (ran.outcomes, ran.replies) == ({"completed": 1}, ["right ferry"])


def test_a_header_that_names_another_session_is_stale(tmp_path: Path) -> None:
    ran = session(tmp_path, {claude_file(S): claude_text(native=claude_id(8))})
    assert (ran.outcomes, ran.replies) == ({"stale": 1}, [])


def test_an_object_inside_a_damaged_line_of_another_session_proves_nothing(tmp_path: Path) -> None:
    torn = '{"type":"user","sessionId":"' + claude_id(8) + '","message":{"content":[{"sessionId":"' + S + '"},\n'
    ran = session(tmp_path, {claude_file(S): torn + claude_text(native=claude_id(8))})
    assert (ran.outcomes, ran.replies) == ({"stale": 1}, [])


def test_rows_without_an_id_may_come_before_the_header(tmp_path: Path) -> None:
    before = jsonl(*({"type": "summary", "summary": f"the ferry {n}", "leafUuid": f"x{n}"} for n in range(40)), {"type": "mode"})
    assert session(tmp_path, {claude_file(S): before + claude_text()}).outcomes == {"completed": 1}


def test_a_subagents_file_and_a_folder_of_that_name_are_no_transcript(tmp_path: Path) -> None:
    files: Files = {
        f".claude/projects/-src-pier/{S}/subagents/agent-1.jsonl": claude_text("a ferry of the subagent"),
        f".claude/projects/-src-pier/{S}/tool-results/out.txt": "ferry\n",
        f".claude/projects/-src-pier/{S}.jsonl/notes.txt": "ferry\n",
        f".claude/projects/{S}.jsonl": claude_text("too high for a ferry"),
        f".claude/projects/a/b/{S}.jsonl": claude_text("too deep for a ferry"),
    }
    ran = session(tmp_path, files)
    assert (ran.outcomes, bodies(ran.opened)) == ({"unresolved": 1}, set())


# --- ids ----------------------------------------------------------------------------------------------------------------

NO_IDS = ["../../x", "../../../etc/passwd", "*", "?" * 8, "**/*", "projects", "subagents", "", "a" * 500, ".", "..", "/", "~", "-",
          "--help",
          "aaaaaaaa-0000-4000-8000-00000000000\u0661", "aaaa\x00aaaa",
          "[a-z]" * 3, "C:\\Windows", "%2e%2e%2f%2e%2e", "aaaaaaaa\n"]  # fmt: skip


@pytest.mark.parametrize("native", NO_IDS, ids=ascii)
def test_what_is_no_id_leads_nowhere(tmp_path: Path, native: str) -> None:
    files: Files = {
        ".claude/history.jsonl": jsonl(claude_row(native, 1)), ".codex/history.jsonl": jsonl(codex_row(native, 1)),
        "x.jsonl": claude_text(), ".claude/projects/projects/x/subagents.jsonl": claude_text(),
        claude_file(S): claude_text(), codex_file(T): codex_text(), ".claude/projects/-src-pier/.jsonl": claude_text(),
        ".claude/projects/-src-pier/-.jsonl": claude_text(), ".codex/sessions/rollout-2026-01-01-.jsonl": codex_text(),
    }  # fmt: skip
    ran = targeted(write(tmp_path / "home", files))
    assert bodies(ran.opened) == set()
    assert len(ran.answer.results) == 2
    assert ran.counts["unroutable"] + ran.counts["unresolved"] == 2
    assert ran.answer.summary.status.state == "approximate"


@pytest.mark.parametrize("native", [7, None, True, [S], {"id": S}, 1.5])
def test_an_id_of_another_type_leads_nowhere(tmp_path: Path, native: object) -> None:
    rows = {".claude/history.jsonl": jsonl({**claude_row(S, 1), "sessionId": native}), ".codex/history.jsonl": jsonl(codex_row(native, 1))}
    ran = targeted(write(tmp_path / "home", {**rows, claude_file(S): claude_text(), codex_file(T): codex_text()}))
    assert (ran.counts["unroutable"], ran.counts["eligible"], bodies(ran.opened)) == (2, 0, set())


def test_ids_that_differ_in_case_are_two(tmp_path: Path) -> None:
    files: Files = {
        ".claude/history.jsonl": jsonl(claude_row(S.upper(), 1)), ".codex/history.jsonl": jsonl(codex_row(T.upper(), 1)),
        claude_file(S): claude_text(), codex_file(T): codex_text(),
    }  # fmt: skip
    ran = targeted(write(tmp_path / "home", files))
    assert (ran.outcomes, bodies(ran.opened)) == ({"unresolved": 2}, set())


def test_a_name_that_differs_from_its_header_in_case_is_stale(tmp_path: Path) -> None:
    assert session(tmp_path, {claude_file(S): claude_text(native=S.upper())}).outcomes == {"stale": 1}


def test_an_id_that_two_agents_claim_is_two_conversations(tmp_path: Path) -> None:
    files: Files = {
        ".claude/history.jsonl": jsonl(claude_row(S, 1)), ".codex/history.jsonl": jsonl(codex_row(S, 2)),
        claude_file(S): claude_text("claude's ferry"), codex_file(S): jsonl(*codex_lines(S, 2, "codex's ferry")),
    }  # fmt: skip
    ran = targeted(write(tmp_path / "home", files))
    assert (ran.outcomes, sorted(ran.replies)) == ({"completed": 2}, ["claude's ferry", "codex's ferry"])
    (home := tmp_path / "home").joinpath(claude_file(S)).unlink()
    ran = targeted(home)
    assert (ran.outcomes, ran.replies) == ({"completed": 1, "unresolved": 1}, ["codex's ferry"])


# --- bad moments --------------------------------------------------------------------------------------------------------


def test_a_transcript_that_vanishes_after_its_proof_is_a_source_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, original = write(tmp_path / "home", many(4)), engine.route

    def route(*given: object) -> object:
        chosen = original(*given)  # type: ignore[arg-type]
        (home / name_of(3)).unlink()
        return chosen

    monkeypatch.setattr(engine, "route", route)
    ran = targeted(home)
    status = ran.answer.summary.status
    assert (status.state, status.reason) == ("failed", "source_failure")
    assert (ran.counts["selected"], ran.counts["completed"]) == (4, 3)
    assert len(ran.replies) == 3
    assert ran.answer.summary.completed_effort is None


def test_a_history_that_shrinks_while_it_is_read_is_no_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, original = write(tmp_path / "home", many(4)), OpenFile.readinto

    def readinto(self: OpenFile, view: memoryview) -> int:
        got = original(self, view)
        if self.path.endswith(".codex/history.jsonl"):
            Path(self.path).write_text(jsonl(codex_row(codex_id(2), 2)))
        return got

    monkeypatch.setattr(OpenFile, "readinto", readinto)
    ran = targeted(home)
    assert ran.answer.summary.status.reason == "evidence_failure"
    assert (bodies(ran.opened), ran.counts["selected"]) == (set(), 0)


def test_a_history_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, original = write(tmp_path / "home", many(4)), OpenFile.readinto

    def readinto(self: OpenFile, view: memoryview) -> int:
        if self.path.endswith(".codex/history.jsonl"):
            Path(self.path + ".new").write_text("")
            os.replace(self.path + ".new", self.path)
        return original(self, view)

    monkeypatch.setattr(OpenFile, "readinto", readinto)
    assert targeted(home).outcomes == {"completed": 4}


@pytest.mark.parametrize("damage", ["pipe", "folder", "prose", "zeros"])
def test_a_history_that_is_none_closes_every_conversation(tmp_path: Path, damage: str) -> None:
    home = write(tmp_path / "home", many(4))
    path = home / ".codex/history.jsonl"
    path.unlink()
    if damage == "pipe":
        os.mkfifo(path)
    elif damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"this is prose\nand more of it\n" if damage == "prose" else b"\x00" * 5000)
    ran = targeted(home)
    if damage in ("folder", "zeros"):  # no file of that name; nothing written yet
        assert ran.answer.summary.status.state == "approximate"
        return
    summary = ran.answer.summary
    assert (summary.status.state, summary.status.reason, summary.completed_effort) == ("failed", "evidence_failure", None)
    assert (bodies(ran.opened), ran.counts["selected"], summary.coverage["opened"]["proofs"]) == (set(), 0, 0)
    assert [result.record.agent for result in ran.answer.results] == ["claude", "claude"]
    assert summary.next_actions[0].patch == {"agent": ["claude"]}


def test_links_that_lead_around_in_circles_end(tmp_path: Path) -> None:
    home = write(tmp_path / "home", many(4))
    (home / ".claude/projects/loop").symlink_to(home / ".claude/projects")
    (home / ".claude/projects/self").symlink_to(home / ".claude/projects/self")
    (home / ".codex/sessions/up").symlink_to(home / ".codex")
    (home / ".codex/sessions/2026/again").symlink_to(home / ".codex/sessions/2026")
    assert targeted(home).outcomes == {"completed": 4}


def test_a_root_that_is_a_link_to_itself_is_no_agent(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {name: content for name, content in many(4).items() if ".claude" in name})
    (home / ".codex").symlink_to(home / ".codex")
    assert targeted(home).outcomes == {"completed": 2}


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {".claude/history.jsonl": jsonl(claude_row(S, 7)), "elsewhere.jsonl": claude_text()})
    (home / ".claude/projects/-src-pier").mkdir(parents=True)
    (home / claude_file(S)).symlink_to(home / "elsewhere.jsonl")
    ran = targeted(home)
    assert ran.opened == {".claude/history.jsonl"}
    assert ran.counts["completed"] == 0


def test_a_name_whose_file_is_gone_is_stale(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {".claude/history.jsonl": jsonl(claude_row(S, 7)), ".claude/projects/-src-pier/x.jsonl": ""})
    (home / claude_file(S)).symlink_to(home / ".claude/projects/-src-pier/gone.jsonl")
    assert targeted(home).outcomes == {"stale": 1}


def test_a_folder_that_cannot_be_listed_is_not_said_to_hold_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, original = write(tmp_path / "home", {**ROW, codex_file(T): codex_text()}), os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("2026/01"):
            raise PermissionError(13, "refused", path)
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert targeted(home).outcomes == {"unreadable": 1}


def test_a_search_that_is_cancelled_before_routing_says_so(tmp_path: Path) -> None:
    home = write(tmp_path / "home", many(4))
    for patience in range(12):
        asked: list[int] = []

        def cancelled(asked: list[int] = asked, patience: int = patience) -> bool:
            asked.append(1)
            return len(asked) > patience

        summary = list(events("ferry", home=home, effort="targeted", cancelled=cancelled))[-1].summary
        counts = summary.coverage["conversations"]
        assert summary.status.state == "cancelled" or counts["completed"] == 4, patience
        assert (summary.completed_effort is None) == (summary.status.state == "cancelled")


# --- the budget ---------------------------------------------------------------------------------------------------------


def test_looking_ends_when_the_budget_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = many(40)
    files |= {f".claude/projects/folder-{n}/other.jsonl": "" for n in range(300)}
    home = write(tmp_path / "home", files)
    monkeypatch.setattr(routing, "ENTRY_BUDGET", 100)
    with recording() as ledger:
        ran = targeted(home)
    assert ran.counts["selected"] == 25
    assert ran.counts["budget_exhausted"] > 0
    assert sum(ran.outcomes.values()) == 25
    assert len(ledger.listed_below(home)) < 110
    assert any(found.code == "budget_exhausted" for found in ran.answer.summary.diagnostics)
    assert ran.answer.summary.status.state == "approximate"


def test_one_folder_beyond_the_budget_is_not_listed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write(tmp_path / "home", many(400))
    monkeypatch.setattr(routing, "ENTRY_BUDGET", 50)
    seen: list[int] = []
    original = os.scandir

    class Counted:
        def __init__(self, path: str) -> None:
            self.entries = original(path)

        def __enter__(self) -> Counted:  # noqa: PYI034
            return self

        def __exit__(self, *_: object) -> None:
            self.entries.close()

        def __iter__(self) -> Counted:
            return self

        def __next__(self) -> os.DirEntry[str]:
            entry = next(self.entries)
            seen.append(1)
            return entry

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", Counted)
        ran = targeted(home)
    assert len(seen) <= 50 + 20  # listing the prompt histories is not locating
    assert ran.outcomes == {"budget_exhausted": 25}


# --- predicates ---------------------------------------------------------------------------------------------------------


def test_a_known_project_excludes_before_the_bound_and_an_unknown_one_is_undecided(tmp_path: Path) -> None:
    files = many(60)
    rows = [claude_row(claude_id(n), n + 500, project="/src/quay") for n in range(100, 160)]
    files[".claude/history.jsonl"] = str(files[".claude/history.jsonl"]) + jsonl(*rows)
    ran = targeted(write(tmp_path / "home", files), project="pier", conversation_limit=100)
    assert ran.counts["eligible"] == 60  # none of the quay's
    assert ran.counts["undecided"] == 30  # Codex's history has no folder
    assert {result.record.cwd for result in ran.answer.results} == {"/src/pier"}


@pytest.mark.parametrize("filters", [{"agent": "codex"}, {"project": "pier"}, {"cwd": "/src"}, {"branch": "main"}, {"repo": "r"}])
def test_without_a_text_the_metadata_of_a_conversation_are_the_clue(tmp_path: Path, filters: dict[str, str]) -> None:
    ran = targeted(write(tmp_path / "home", many(60)), "", **filters)
    assert ran.counts["selected"] == 25
    assert "no_positive_clue" not in ran.answer.summary.status.conditions


@pytest.mark.parametrize(
    "filters", [{"since": "2020-01-01"}, {"speaker": "agent"}, {"kind": "reply"}, {"model": "m"}, {"on": "2026-01-01"}]
)
def test_what_can_differ_within_a_conversation_is_no_clue(tmp_path: Path, filters: dict[str, str]) -> None:
    ran = targeted(write(tmp_path / "home", many(10)), "", **filters)
    assert ran.counts["selected"] == 0
    assert ran.answer.summary.status.conditions == ("candidate_selection", "no_positive_clue")
    assert bodies(ran.opened) == set()


def test_a_time_or_a_speaker_bounds_results_and_not_evidence(tmp_path: Path) -> None:
    home = write(tmp_path / "home", many(10))
    ran = targeted(home, speaker="agent", since="2026-01-01", until="2030-01-01")
    assert (len(ran.replies), len(ran.answer.results), ran.counts["completed"]) == (10, 10, 10)
    assert targeted(home, since="2030-01-01").counts["completed"] == 10


def test_any_text_of_the_query_is_evidence_and_all_decide_the_result(tmp_path: Path) -> None:
    ran = targeted(write(tmp_path / "home", many(4)), "ferry mended reply")
    assert len(ran.answer.results) == 4
    assert ran.replies == [result.record.text for result in ran.answer.results]


@pytest.mark.parametrize("texts", [["zebra"], ["zebra", "tide"]])
def test_no_evidence_is_no_candidate(tmp_path: Path, texts: list[str]) -> None:
    ran = targeted(write(tmp_path / "home", many(4)), texts)  # type: ignore[arg-type]
    assert ran.answer.summary.outcome == "no_candidate_conversation"
    assert ran.answer.summary.completed_effort == "targeted"
    assert bodies(ran.opened) == set()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_bound_below_one_is_a_usage_error(tmp_path: Path, limit: int) -> None:
    with pytest.raises(UsageError, match="conversation-limit must be at least 1"):
        search("ferry", home=tmp_path, effort="targeted", conversation_limit=limit)


# --- nothing is told ----------------------------------------------------------------------------------------------------


def test_no_id_and_no_path_of_what_was_not_read_is_told(tmp_path: Path) -> None:
    files = many(40)
    for number, content in ((39, "no header\n"), (38, jsonl(*codex_lines(codex_id(99), 1))), (37, None), (36, None)):
        if content is None:
            del files[name_of(number)]
        else:
            files[name_of(number)] = content
    double = claude_id(35)
    files |= {claude_file(double, f"-f{n}"): jsonl(*claude_lines(double, 35)) for n in (1, 2)}
    del files[claude_file(double)]
    write(tmp_path / "home", files)
    secret = [claude_id(number) if number % 2 else codex_id(number) for number in (39, 38, 37, 36, 35, *range(15))]
    flags = "--home home --effort targeted --scope conversations"
    told = [run(f"deepgrep search {form} {flags} ferry", tmp_path) for form in ("--json", "--ndjson", "", "--no-group --refs --explain")]
    texts = [out for ran in told for out in (ran.out, ran.err)]
    made = [*events("ferry", home=tmp_path / "home", effort="targeted", scope="conversations")]
    texts += [repr(event) for event in made]
    assert len(told[0].out) > 1000
    for native in secret:
        for text in texts:
            assert native not in text
            assert native[-12:] not in text.replace('"ref": "', '"')
    counts = json.loads(told[0].out)["summary"]["coverage"]["conversations"]
    assert {name: counts[name] for name in OUTCOMES} == {
        "completed": 20, "ambiguous": 1, "stale": 1, "unreadable": 1, "unresolved": 2, "budget_exhausted": 0,
    }  # fmt: skip
    closing = next(event for event in made if isinstance(event, Finished)).summary
    assert str(tmp_path) not in repr([closing.diagnostics, closing.next_actions, closing.coverage])
    assert not any(isinstance(event, Result) and event.record.conversation_id in secret for event in made)


# --- a part of all ------------------------------------------------------------------------------------------------------


def invented(dice: random.Random) -> Files:
    """A home of both agents: prompts without transcripts, transcripts without prompts, copies, twins, strangers."""
    words = ("ferry", "tide", "gull", "rope", "ferry rope")
    files: Files = {}
    claude, codex = [], []
    for number in range(dice.randint(4, 14)):
        said, reply = dice.choice(words), f"{dice.choice(words)} {dice.choice(words)}"
        native = claude_id(number) if dice.random() < 0.5 else codex_id(number)
        of_claude = native.startswith("a")
        if dice.random() < 0.8:
            (claude if of_claude else codex).append((claude_row if of_claude else codex_row)(native, number, said))
        if dice.random() < 0.85:
            lines = (claude_lines if of_claude else codex_lines)(native, number, reply)
            text = jsonl(*lines).replace("mend the ferry", said)
            files[claude_file(native) if of_claude else codex_file(native)] = text
            if of_claude and dice.random() < 0.4:  # a fork: the same rows under another name
                fork = claude_id(number + 500)
                extra = claude_lines(fork, number + 100, f"{dice.choice(words)} again")
                files[claude_file(fork)] = text.replace(native, fork) + jsonl(*extra)
                claude.append(claude_row(fork, number + 100, "mend the ferry"))
            elif not of_claude and dice.random() < 0.4:
                files[codex_file(native, folder="archived_sessions")] = text
    dice.shuffle(claude)
    return {**files, ".claude/history.jsonl": jsonl(*claude), ".codex/history.jsonl": jsonl(*codex)}


def told(answer: Answer) -> list[set[tuple[str, str, int, int]]]:
    """Each result as the places of all its records."""
    return [{(r.store, r.source.key, r.position, r.block) for r in (found.record, *found.folded)} for found in answer.results]


@pytest.mark.parametrize("seed", range(40))
def test_targeted_results_are_a_part_of_exhaustive_results_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = random.Random(seed)
    home = write(tmp_path / "home", invented(dice))
    text, scope = dice.choice(("ferry", "tide", "rope", "ferry rope")), dice.choice(("all", "conversations"))
    options = {"scope": scope, "any": dice.random() < 0.5, "order": dice.choice(("newest", "relevance"))}
    some = search(text, home=home, effort="targeted", conversation_limit=dice.randint(1, 6), **options)
    every = search(text, home=home, effort="exhaustive", **options)
    places = [[index for index, whole in enumerate(told(every)) if whole & part] for part in told(some)]
    assert all(len(found) == 1 for found in places), "each is in exactly one exhaustive result"
    order = [found[0] for found in places]
    assert order == sorted(order)
    limited = search(text, home=home, effort="targeted", conversation_limit=some.summary.query.conversation_limit, limit=2, **options)
    assert limited.results == some.results[:2]

    original = os.scandir

    class Shuffled(list):  # type: ignore[type-arg]
        def __enter__(self) -> Shuffled:  # noqa: PYI034
            return self

        def __exit__(self, *_: object) -> None:
            return None

    def scandir(path: str) -> Shuffled:
        with original(path) as entries:
            found = Shuffled(entries)
        dice.shuffle(found)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        again = search(text, home=home, effort="targeted", conversation_limit=some.summary.query.conversation_limit, **options)
    assert again.results == some.results
    assert {**summary(again.summary), "elapsed_s": 0} == {**summary(some.summary), "elapsed_s": 0}
