"""The layers: who may know whom. Import contracts stand in pyproject.toml; what they cannot say stands here."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from deepgrep.registry import AGENT_IDS
from homes import ROOT

PACKAGE = ROOT / "src" / "deepgrep"
OPENS = {"open", "os.open", "io.open", "io.FileIO", "FileIO", "os.fdopen", "mmap.mmap", "sqlite3.connect", "apsw.Connection"}
OPENS_METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkdir", "unlink", "rename", "replace_file"}


def above_the_stores() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "stores" not in path.relative_to(PACKAGE).parts and path != PACKAGE / "registry.py":
            yield path


def constants(tree: ast.AST) -> Iterator[ast.Constant]:
    """String constants that are no docstring."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node


def names(text: str) -> bool:
    """Is the text an agent's id, one of its stores, or a path with its name in it?"""
    return any(re.search(rf"(?:^|[./\\\"' ]){re.escape(name)}(?:$|[./\\\"' ])", text, re.IGNORECASE) for name in AGENT_IDS)


def test_only_stores_and_the_registry_name_an_agent() -> None:
    found = [
        (path.relative_to(PACKAGE).as_posix(), node.lineno, node.value)
        for path in above_the_stores()
        for node in constants(ast.parse(path.read_text(encoding="utf-8")))
        if names(str(node.value))
    ]
    assert not found


def test_an_agents_name_would_be_seen() -> None:
    name = AGENT_IDS[0]
    for text in (name, f"{name}.history", f"~/.{name}/x", f"only {name} does", name.upper()):
        assert names(text)
    assert not names(f"{name}x")


def test_only_the_two_readers_open_files() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name in ("files.py", "databases.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in OPENS or called.rpartition(".")[2] in OPENS_METHODS:
                found.append((path.relative_to(PACKAGE).as_posix(), node.lineno, ast.unparse(node)))
    # Where the pipe's reader has gone, the output's descriptor is pointed at the null device.
    assert [one for one in found if "os.devnull" not in one[2]] == []


def test_the_import_contracts_hold(outside: dict[str, str]) -> None:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run([sys.executable, "-c", code, "--no-cache"], cwd=ROOT, env=outside, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"[1-9]\d* kept, 0 broken", ran.stdout), ran.stdout
