"""What a command may load: a search must not wait for what it does not use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from homes import SAMPLE

HEAVY = (
    "apsw", "asyncio", "click", "concurrent", "dataclasses", "datetime", "decimal", "difflib", "email", "google", "html", "http",
    "hypothesis", "importlib.metadata", "inspect", "lark", "logging", "mcp", "multiprocessing", "orjson", "pathlib", "pydantic", "pytest",
    "rich", "select", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "textual", "threading", "unittest", "urllib", "xml", "zipfile",
)  # fmt: skip


def loaded(outside: dict[str, str], *words: str) -> set[str]:
    """The modules that a run of deepgrep loads beyond those of a bare interpreter."""
    code = "import json, os, sys\n{run}\nos.write(2, json.dumps(sorted(sys.modules)).encode())"
    runs = ("", f"from deepgrep.cli.main import main\ntry:\n    main({list(words)!r})\nexcept SystemExit:\n    pass")
    bare, full = (
        set(json.loads(subprocess.run([sys.executable, "-c", code.format(run=run)], env=outside, capture_output=True, check=True).stderr))
        for run in runs
    )
    return full - bare


def heavy(modules: set[str]) -> set[str]:
    return {name for name in modules if any(name == one or name.startswith(one + ".") for one in HEAVY)}


@pytest.mark.parametrize("words", [["checkout"], ["--json", "checkout"], ["--exhaustive", "--scope", "all", "checkout"]])
def test_a_search_loads_nothing_heavy(words: list[str], outside: dict[str, str]) -> None:
    modules = loaded(outside, "search", "--home", str(SAMPLE), *words)
    assert "deepgrep.engine.search" in modules
    assert not heavy(modules)


def test_a_prompt_search_loads_no_decoder_of_compressed_files(outside: dict[str, str]) -> None:
    modules = loaded(outside, "search", "--home", str(SAMPLE), "checkout")
    assert not {name for name in modules if "zstd" in name.split(".")}


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_load_no_engine(word: str, outside: dict[str, str]) -> None:
    modules = loaded(outside, word)
    own = {name for name in modules if name.startswith("deepgrep")}
    assert "deepgrep.cli.main" in own
    assert not {name for name in own if name.startswith(("deepgrep.engine", "deepgrep.stores", "deepgrep.registry", "deepgrep.query"))}
    assert not heavy(modules)
    assert "argparse" not in modules


def test_importing_the_package_loads_only_itself(outside: dict[str, str]) -> None:
    code = "import sys; before = set(sys.modules); import deepgrep; print(sorted(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, check=True).stdout
    assert {name.partition(".")[0] for name in eval(out)} <= {
        "__future__",
        "collections",
        "deepgrep",
        "itertools",
        "keyword",
        "operator",
        "reprlib",
        "_collections",
        "_operator",
    }
