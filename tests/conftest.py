"""Fixtures that every test has: no real home, no network, no other program, no zone but UTC."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homes import ROOT, copied, snapshot
from ledger import Guard, Ledger, guarding, recording

REAL_HOME = os.path.expanduser("~")
VARIABLES = (
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GROK_HOME", "CURSOR_CONFIG_DIR", "VSCODE_PORTABLE", "VSCODE_APPDATA",
    "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "WSL_DISTRO_NAME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA",
    "NO_COLOR", "COLUMNS", "FORCE_COLOR", "PYTHONIOENCODING", "PYTHONUTF8",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite recorded outputs; read the diff")


@pytest.fixture
def updating(request: pytest.FixtureRequest) -> bool:
    """Are recorded outputs to be rewritten?"""
    return bool(request.config.getoption("--update-goldens"))


@pytest.fixture(autouse=True)
def guard(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    """Nobody's home, no agent's variables, UTC; sockets, programs and the real home's agent folders are refused."""
    from deepgrep.registry import ENTRIES

    empty = tmp_path_factory.mktemp("nobody")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(empty))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("TERM", "xterm")
    time.tzset()
    places = (os.path.join(REAL_HOME, place) for entry in ENTRIES for root in entry.roots for place in root.places)
    private = tuple(place for place in places if not str(ROOT).startswith(place))
    with guarding(Guard(private)) as held:
        yield held
    assert not held.violations
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def programs(guard: Guard) -> Guard:
    """Asking for this allows a test to start programs."""
    guard.programs = True
    return guard


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Everything that is opened or listed during the test."""
    with recording() as held:
        yield held


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the local time zone for the rest of the test."""

    def set_zone(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    return set_zone


@pytest.fixture
def private(tmp_path: Path) -> Callable[[Path], Path]:
    """Makes a writable copy of a fixture home, times and links kept."""
    made = []

    def copy(home: Path) -> Path:
        made.append(1)
        return copied(home, tmp_path / f"home{len(made)}")

    return copy


@pytest.fixture
def unchanged() -> Iterator[Callable[[Path], None]]:
    """Watches homes: at the end of the test, names, bytes, modes and times are what they were."""
    seen: dict[Path, object] = {}

    def watch(home: Path) -> None:
        seen[home] = snapshot(home)

    yield watch
    assert seen, "nothing was watched"
    for home, before in seen.items():
        assert snapshot(home) == before


@pytest.fixture
def outside(programs: Guard) -> dict[str, str]:
    """The environment for a deepgrep that runs as a program of its own."""
    import deepgrep

    return {**os.environ, "PYTHONPATH": str(Path(deepgrep.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}


DEEPGREP = (sys.executable, "-m", "deepgrep")
