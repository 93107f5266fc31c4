"""The public names: few, documented, loaded on first use."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import deepgrep
from homes import ROOT

# The contract with importers, by hand: taking one away breaks somebody.
PROMISED = {"Answer", "DeepgrepError", "Query", "Record", "Result", "Summary", "UsageError", "events", "search", "__version__"}


def test_there_are_at_most_25_public_names() -> None:
    assert len(deepgrep.__all__) <= 25
    assert len(set(deepgrep.__all__)) == len(deepgrep.__all__)
    assert set(deepgrep.__all__) >= PROMISED


@pytest.mark.parametrize("name", deepgrep.__all__)
def test_each_public_name_loads_and_says_what_it_is(name: str) -> None:
    value = getattr(deepgrep, name)
    if name == "__version__":
        assert value.count(".") == 2
    elif not isinstance(value, type) and not inspect.isfunction(value):
        assert "model" in dir(deepgrep) or value  # a union of event types: documented by its parts
    else:
        doc = value.__doc__ or ""
        assert len(doc.split()) >= 3, f"{name} has no docstring"
        assert not doc.startswith(f"{name}("), f"{name} has only the docstring that a tuple gets by itself"


def test_what_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deepgrep.nothing


def test_names_load_on_first_use(outside: dict[str, str]) -> None:
    code = (
        "import sys, deepgrep\n"
        "assert not [name for name in sys.modules if name.startswith(('deepgrep.model', 'deepgrep.engine', 'deepgrep.library'))]\n"
        "from deepgrep import UsageError\n"
        "assert 'deepgrep.errors' in sys.modules and 'deepgrep.library' not in sys.modules\n"
        "deepgrep.search\n"
        "assert 'deepgrep.library' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], env=outside, check=True)


def test_the_version_stands_in_one_more_place_and_is_the_same() -> None:
    import tomllib

    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == deepgrep.__version__


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src" / "deepgrep" / "py.typed").exists()
