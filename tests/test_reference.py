"""The reference of the commands is written from their flags, and says what they say."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from deepgrep.cli.main import COMMANDS
from deepgrep.options import SEARCH
from homes import ROOT

REFERENCE = ROOT / "docs" / "reference"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_script", ROOT / "scripts" / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_the_one_of_the_flags() -> None:
    assert (REFERENCE / "cli.md").read_text(encoding="utf-8") == _script().markdown(), "run scripts/reference.py and read the diff"


def test_the_manual_is_the_one_of_the_flags() -> None:
    assert (REFERENCE / "deepgrep.1").read_text(encoding="utf-8") == _script().manual(), "run scripts/reference.py and read the diff"


def test_every_flag_of_a_search_is_in_it() -> None:
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert not [flag for option in SEARCH for flag in option.flags if flag not in page]
    assert not [name for name in COMMANDS if f"## deepgrep {name}\n" not in page]
