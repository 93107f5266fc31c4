"""Where a variable moves an agent's root: to the folder that it names, or to one below it."""

from __future__ import annotations

from pathlib import Path

from deepgrep.discovery import Machine, installed


def place(home: Path, **variables: str) -> list[str]:
    return [one.path for found in installed(Machine(str(home), variables), ["gemini"]) for one in found.places]


def test_a_variable_that_stands_in_for_the_home_moves_the_root_below_it(tmp_path: Path) -> None:
    (tmp_path / "home/.gemini").mkdir(parents=True)
    (tmp_path / "other/.gemini").mkdir(parents=True)
    assert place(tmp_path / "home") == [str(tmp_path / "home/.gemini")]
    assert place(tmp_path / "home", GEMINI_CLI_HOME=str(tmp_path / "other")) == [str(tmp_path / "other/.gemini")]


def test_a_folder_without_the_root_below_it_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "other/tmp").mkdir(parents=True)
    assert place(tmp_path, GEMINI_CLI_HOME=str(tmp_path / "other")) == [str(tmp_path / "other")]


def test_a_variable_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    (found,) = installed(Machine(str(tmp_path), {"GEMINI_CLI_HOME": str(tmp_path / "gone")}), ["gemini"])
    assert found.missing
    assert not found.places
