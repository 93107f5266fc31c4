"""Refs, ids and paths open what they name: from every surface and every earlier run, in every fixture home."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from deepgrep import library
from deepgrep.engine import conversation
from deepgrep.engine.conversation import Conversation, Window, opened
from deepgrep.engine.plan import plan
from deepgrep.engine.read import Whole
from deepgrep.errors import NotFound
from deepgrep.files import Unreadable
from deepgrep.library import request
from deepgrep.model import KINDS, Record
from deepgrep.refs import ref
from deepgrep.text import squash
from homes import FIXTURES, SAMPLE, STORES, copied, jsonl, snapshot, write
from ledger import Ledger
from pages import run

HOMES = [SAMPLE, *(STORES / agent / "home" for agent in FIXTURES)]
THREAD = "bbbbbbbb-0000-7000-8000-000000000001"
ROLLOUT = f".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-{THREAD}.jsonl"


def every(home: Path) -> list[Record]:
    """Every record of a home, injected context included."""
    found: dict[str, Record] = {}
    for kinds in (("context",), KINDS):
        answer = library.search("", home=home, effort="exhaustive", scope="all", dedupe=False, order="scan", kind=kinds)
        found.update({ref(result.record): result.record for result in answer.results})
    return list(found.values())


def hit_of(found: Conversation) -> Record:
    (entry,) = [entry for entry in found.window(Window(around=0)).entries if entry.is_hit]
    return entry.record


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.parent.name)
def test_every_ref_opens_to_the_same_text(home: Path) -> None:
    where, before, records = library.machine(home), snapshot(home), every(home)
    for record in records:
        found, _ = opened(ref(record), where)
        assert not found.moved
        assert squash(hit_of(found).text) == squash(record.text), ref(record)
        assert hit_of(found).speaker == record.speaker
    assert snapshot(home) == before


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.parent.name)
def test_every_id_opens_or_says_what_it_is(home: Path) -> None:
    where = library.machine(home)
    for agent, native in sorted({(r.agent, r.conversation_id) for r in every(home) if r.conversation_id}):
        try:
            found, _ = opened(native, where)
        except NotFound as error:
            assert "name one by" in str(error), (agent, native)  # noqa: PT017 - several conversations, or several files, say so
        else:
            assert found.conversation_id == native
            assert found.total


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.parent.name)
def test_every_file_opens_by_its_path_and_opens_no_more_than_reading_it(home: Path, ledger: Ledger, tmp_path: Path) -> None:
    planned = plan(request("", effort="exhaustive", since="1970-01-01"), library.machine(home)).sources
    for source in [one for one in planned if one.role == "transcript"]:
        ledger.opened.clear()
        with contextlib.suppress(Unreadable):
            list(Whole(source))
        needed = ledger.opened_below(home)
        ledger.opened.clear()
        ran = run(f"deepgrep show --home '{home}' --format json --limit 3 '{source.path}'", tmp_path)
        assert "Traceback" not in ran.err
        assert ran.status in (0, 2)
        assert (ran.status == 2) == bool(ran.err), ran
        assert ledger.opened_below(home) <= needed


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.parent.name)
@pytest.mark.parametrize("command", ["find -l", "stores", "stores --all --json", "explain --deep e", "explain --exhaustive --scope all e"])
def test_what_only_lists_opens_nothing(home: Path, command: str, ledger: Ledger, tmp_path: Path) -> None:
    before = snapshot(home)
    name, _, rest = command.partition(" ")
    ledger.opened.clear()
    ran = run(f"deepgrep {name} --home '{home}' {rest}", tmp_path)
    assert ran.status == 0, ran.err
    assert not ledger.opened_below(home)
    assert snapshot(home) == before


def turns(*texts: str) -> str:
    return jsonl(
        {"timestamp": "2026-01-02T00:00:00Z", "type": "session_meta", "payload": {"id": THREAD, "cwd": "/src/dock"}},
        *(
            {"timestamp": f"2026-01-02T00:00:{number:02d}Z", "type": "event_msg", "payload": {"type": "user_message", "message": text}}
            for number, text in enumerate(texts, 1)
        ),
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write(tmp_path / "home", {ROLLOUT: turns("paint the ferry", "continue", "sell the ferry", "continue")})


def refs(home: Path, text: str) -> list[str]:
    answer = library.search(text, home=home, effort="exhaustive", scope="conversations", order="newest")
    return [ref(result.record) for result in answer.results]


def test_a_ref_finds_its_record_again_where_the_history_was_rewritten(home: Path) -> None:
    (sold,) = refs(home, "sell")
    write(home, {ROLLOUT: turns("a new beginning", "paint the ferry", "continue", "sell the ferry", "continue")})
    found, _ = opened(sold, library.machine(home))
    assert found.moved
    assert hit_of(found).text == "sell the ferry"


def test_a_ref_of_a_record_that_is_gone_says_so(home: Path, tmp_path: Path) -> None:
    (sold,) = refs(home, "sell")
    write(home, {ROLLOUT: turns("paint the ferry", "continue")})
    ran = run(f"deepgrep show --home home {sold}", tmp_path)
    assert (ran.out, ran.status) == ("", 2)
    assert ran.err.startswith("deepgrep: gone: ")
    (home / ROLLOUT).unlink()
    ran = run(f"deepgrep show --home home {sold}", tmp_path)
    assert ran.err.startswith("deepgrep: gone: ")
    assert ran.err.count("\n") == 1


def test_equal_texts_are_told_apart_by_their_place(home: Path) -> None:
    where = library.machine(home)
    numbers = [opened(one, where)[0].hit_number for one in refs(home, "continue")]
    assert sorted(filter(None, numbers)) == [2, 4]


def test_a_conversation_too_big_to_hold_is_read_again_in_the_same_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = library.machine(home)
    whole = list(opened(THREAD, where)[0].window(Window()).entries)
    monkeypatch.setattr(conversation, "HELD_BYTES", 0)
    found, _ = opened(THREAD, where)
    assert list(found.window(Window()).entries) == whole
    middle = found.window(Window(first=2, limit=2))
    assert [entry.record.text for entry in middle.entries] == ["continue", "sell the ferry"]
    assert (middle.before, middle.after, middle.next) == (1, 1, 4)


def test_two_files_that_claim_one_id_are_told_with_their_paths(home: Path, tmp_path: Path) -> None:
    rows = jsonl({"type": "user", "sessionId": "aaaaaaaa-0000-4000-8000-000000000001", "uuid": "u", "timestamp": "2026-01-31T00:00:00Z",
                  "message": {"role": "user", "content": "hello"}})  # fmt: skip
    write(home, {f".claude/projects/{folder}/aaaaaaaa-0000-4000-8000-000000000001.jsonl": rows for folder in ("-a", "-b")})
    ran = run("deepgrep show --home home aaaaaaaa-0000-4000-8000-000000000001", tmp_path)
    assert ran.status == 2
    assert "2 files" in ran.err
    assert ran.err.count("~/.claude/projects/") == 2
    assert run("deepgrep show --home home ~/.claude/projects/-b/aaaaaaaa-0000-4000-8000-000000000001.jsonl", tmp_path).status == 0


@pytest.mark.parametrize("name", ["..", "*", "../../etc/passwd", "/etc/passwd", "\x00", "~", "a\nb", "codex.sessions:", "-"])
def test_no_name_is_a_pattern_or_leads_out(name: str, home: Path, ledger: Ledger, tmp_path: Path) -> None:
    from deepgrep.cli.show import run as show

    before = set(ledger.opened)
    status = show(["--home", str(home), "--", name])
    assert status == 2
    assert not {path for path in set(ledger.opened) - before if "passwd" in path.name}


def test_a_file_of_a_store_through_a_link_out_of_the_home_is_refused(home: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere", {"rollout-x.jsonl": turns("secret")})
    link = home / ".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-bbbbbbbb-0000-7000-8000-00000000000a.jsonl"
    os.symlink(outside / "rollout-x.jsonl", link)
    ran = run(f"deepgrep show --home home {link}", tmp_path)
    assert ran.status == 2
    assert "secret" not in ran.out


def test_refs_are_the_same_in_a_moved_home(home: Path, tmp_path: Path) -> None:
    (sold,) = refs(home, "sell")
    moved = copied(home, tmp_path / "moved")
    assert hit_of(opened(sold, library.machine(moved))[0]).text == "sell the ferry"
