"""Files that agents leave in projects, and files that variables name: where they are looked for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from deepgrep import search
from deepgrep.discovery import Machine, around, installed, listing, loaded
from deepgrep.errors import UsageError
from deepgrep.library import machine
from homes import STORES, write

HOME = STORES / "opencode" / "home"
GO, NEW = HOME / ".opencode" / "opencode.db", HOME / ".local/share/opencode/opencode-dev.db"


def placed(folder: Path, database: Path = GO) -> Path:
    (folder / ".opencode").mkdir(parents=True)
    shutil.copy(database, folder / ".opencode" / "opencode.db")
    return folder


def keys(where: Machine) -> list[str]:
    (found,) = installed(where, ["opencode"]) or (None,)
    return [source.key for source in listing(found, loaded(found).stores).sources] if found else []


def test_a_project_reaches_up_to_the_repository_and_no_further(tmp_path: Path) -> None:
    home = tmp_path / "home"
    inner = home / "src" / "boat" / "deck"
    inner.mkdir(parents=True)
    assert around(str(inner), str(home)) == (str(inner), str(inner.parent), str(home / "src"))
    (inner.parent / ".git").mkdir()
    assert around(str(inner), str(home)) == (str(inner), str(inner.parent))
    assert around(str(home), str(home)) == ()


def test_outside_of_home_and_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    away = tmp_path / "away" / "deep"
    away.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    assert around(str(away), str(tmp_path / "home")) == (str(away),)


def test_a_project_below_the_working_directory_is_found_and_named_by_its_place_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    boat = placed(home / "src" / "boat")
    (boat / "deck").mkdir()
    assert keys(machine(home)) == []
    monkeypatch.chdir(boat / "deck")
    assert keys(machine(home)) == ["src/boat/.opencode:opencode.db"]
    found = search("north nets", home=home, effort="exhaustive", literal=False)
    assert [result.record.text for result in found.results] == ['Mend the "north" nets']


def test_another_home_knows_nothing_of_the_working_directory_outside_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(placed(tmp_path / "boat"))
    assert keys(machine(tmp_path / "home")) == []
    assert machine().folders[:1] == (str(tmp_path / "boat"),)


def test_a_project_that_is_named_counts_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    boat = placed(tmp_path / "boat")
    assert keys(machine(tmp_path / "home", [boat])) == [f"{boat}/.opencode:opencode.db"]
    assert search("nets", home=tmp_path / "home", project_roots=[boat], effort="exhaustive").results
    with pytest.raises(UsageError, match="--project-root"):
        machine(tmp_path / "home", [tmp_path / "nowhere"])


def test_a_project_and_the_home_are_told_apart(tmp_path: Path) -> None:
    home = placed(tmp_path / "home")
    boat = placed(home / "boat", NEW)
    assert keys(machine(home, [boat, home])) == ["boat/.opencode:opencode.db", "opencode.db"]


def test_a_variable_may_name_one_file(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    shutil.copy(NEW, tmp_path / "mine.sqlite")
    shutil.copy(NEW, tmp_path / "other.sqlite")
    home = str(tmp_path / "home")
    assert keys(Machine(home, {"OPENCODE_DB": str(tmp_path / "mine.sqlite")})) == ["OPENCODE_DB:mine.sqlite"]
    for other in (":memory:", "mine.sqlite", ""):
        assert keys(Machine(home, {"OPENCODE_DB": other})) == []


def test_a_named_file_in_a_usual_folder_is_found_beside_the_usual_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    data = home / ".local/share/opencode"
    data.mkdir(parents=True)
    for name in ("opencode.db", "mine.db"):
        shutil.copy(NEW, data / name)
    assert keys(Machine(str(home), {"OPENCODE_DB": str(data / "mine.db")})) == ["opencode.db", "OPENCODE_DB:mine.db"]


def test_folders_of_many_programs_hold_the_agents_own(tmp_path: Path) -> None:
    write(tmp_path / "state", {"opencode/prompt-history.jsonl": '{"input":"mend","parts":[]}\n'})
    write(tmp_path / "data", {"opencode/opencode.db": NEW.read_bytes()})
    variables = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_DATA_HOME": str(tmp_path / "data")}
    assert len(keys(Machine(os.fspath(tmp_path), variables))) == 2
