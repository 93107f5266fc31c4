"""OpenCode, where the fixture cannot tell: forks, commands run by hand in the older files, schemas that are not known."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deepgrep import search
from deepgrep.stores._shapes.turns import RAN_BY_HAND, unquoted
from homes import STORES, write

DATA = ".local/share/opencode"
FIXTURE = STORES / "opencode" / "home" / DATA


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ('"count the gulls"', "count the gulls"),
        ('"say \\"two words\\" now"', 'say "two words" now'),
        ('"back\\slash and C:\\new"', "back\\slash and C:\\new"),
        ('"two words"\nand what was piped in, "quoted"', 'two words\nand what was piped in, "quoted"'),
        ('"two words"\n', "two words"),
        ('"word"', '"word"'),  # `run` quotes only what holds a space
        ('"gulls" is all I say', '"gulls" is all I say'),
        ('"one two" "three four"', '"one two" "three four"'),
        ('"never closed in time', '"never closed in time'),
        ("plain", "plain"),
        ('"', '"'),
    ],
)
def test_the_quotes_that_run_adds_are_undone_and_no_others(stored: str, typed: str) -> None:
    assert unquoted(stored)[0] == typed


def home_of(tmp_path: Path, *names: str) -> Path:
    (tmp_path / DATA).mkdir(parents=True)
    for name in names:
        shutil.copy(FIXTURE / name, tmp_path / DATA / name)
    return tmp_path


def test_what_a_fork_copied_is_one_result_of_the_original(tmp_path: Path) -> None:
    home = home_of(tmp_path, "opencode.db", "opencode.db-wal")
    for text in ("high water", "ask the almanac"):
        found = search(text, home=home, effort="exhaustive", scope="all", literal=True)
        assert [(r.record.conversation_id, r.also_in) for r in found.results] == [("ses_harbour01", ("ses_fork00001",))]
    assert [r.record.conversation_id for r in search("low water", home=home, effort="exhaustive").results] == ["ses_fork00001"]


def old_files(folder: Path) -> Path:
    """The older files of one command that was typed behind a `!`, and of one that the agent ran."""
    files: dict[str, str | bytes] = {}
    for number, said in enumerate((RAN_BY_HAND, "coil them")):
        asked, answer = f"msg_{number}1", f"msg_{number}2"
        of = {"sessionID": "ses_ropes"}
        tool = {"tool": "bash", "callID": f"c{number}", "state": {"input": {"command": f"coil {number}"}, "output": "done"}}
        asking, answering = {**of, "messageID": asked}, {**of, "messageID": answer}
        values = {
            f"message/ses_ropes/{asked}": {"id": asked, **of, "role": "user", "time": {"created": 1780000000000 + number}},
            f"message/ses_ropes/{answer}": {"id": answer, **of, "role": "assistant", "parentID": asked, "time": {"created": 1780000001000}},
            f"part/{asked}/prt_{number}1": {**asking, "type": "text", "text": said, "synthetic": said == RAN_BY_HAND},
            f"part/{answer}/prt_{number}2": {**answering, "type": "tool", **tool},
        }
        files |= {f"{DATA}/storage/{name}.json": json.dumps(value) for name, value in values.items()}
    return write(folder, files)


def test_a_command_run_by_hand_is_the_persons_in_the_older_files_too(tmp_path: Path) -> None:
    found = search("coil", home=old_files(tmp_path), effort="exhaustive", scope="all")
    said = {(r.record.speaker, r.record.kind, r.record.text) for r in found.results}
    assert said == {("person", "command", "coil 0"), ("person", "prompt", "coil them"), ("tool", "tool_call", "bash\ncommand: coil 1")}


def test_files_that_a_database_took_over_are_one_result_with_its_rows(tmp_path: Path) -> None:
    home = old_files(tmp_path)
    with closing(sqlite3.connect(home / DATA / "opencode.db")) as store, store:
        store.execute("CREATE TABLE session (id text PRIMARY KEY, time_created integer)")
        store.execute("CREATE TABLE message (id text PRIMARY KEY, session_id text, data text)")
        store.execute("CREATE TABLE part (id text PRIMARY KEY, message_id text, data text)")
        store.execute("INSERT INTO session VALUES ('ses_ropes', 1779999999000)")
        message = json.dumps({"role": "user", "time": {"created": 1780000000001}})
        store.execute("INSERT INTO message VALUES ('msg_11', 'ses_ropes', ?)", (message,))
        store.execute("INSERT INTO part VALUES ('prt_11', 'msg_11', ?)", (json.dumps({"type": "text", "text": "coil them"}),))
    (found,) = search("coil them", home=home, effort="exhaustive").results
    assert (found.record.store, [other.store for other in found.folded]) == ("opencode.db", ["opencode.parts"])


@pytest.mark.parametrize("table", ["CREATE TABLE part (id text)", "CREATE TABLE talk (id text, body text)"])
def test_a_schema_that_is_not_known_is_reported(tmp_path: Path, table: str) -> None:
    home = home_of(tmp_path)
    with closing(sqlite3.connect(home / DATA / "opencode.db")) as store, store:
        store.execute(table)
    answer = search("coil", home=home, effort="exhaustive")
    assert answer.summary.coverage["agents"]["opencode"]["reasons"]["unsupported_format"] == 1
    assert answer.summary.coverage["sources"]["unsupported"] == 1


def test_a_database_that_was_made_and_not_filled_says_nothing(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    with closing(sqlite3.connect(home / DATA / "opencode.db")) as store, store:
        store.execute("CREATE TABLE migration (id text)")
    assert search("coil", home=home, effort="exhaustive").summary.status.state == "complete"
