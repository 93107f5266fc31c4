"""Clients that others wrote, as programs from npm: the Inspector's command line, and an agent run headless against a mock model.

They install packages, so they run only where DEEPGREP_E2E is set (to a folder that keeps the packages, or to 1 for a temporary one).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from homes import SAMPLE, copied, snapshot
from ledger import Guard

WANTED = os.environ.get("DEEPGREP_E2E", "")
PACKAGES = {"inspector": "@modelcontextprotocol/inspector", "agent": "@google/gemini-cli"}
pytestmark = [
    pytest.mark.skipif(not WANTED, reason="installs packages from npm: set DEEPGREP_E2E=1 to run it"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
]
SERVER = [sys.executable, "-m", "deepgrep", "mcp"]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages installed."""
    folder = Path(WANTED) if os.path.isabs(WANTED) else tmp_path_factory.mktemp("npm")
    missing = [name for name in PACKAGES.values() if not (folder / "node_modules" / name).is_dir()]
    if missing:
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", *missing]
        subprocess.run(command, check=True, capture_output=True, timeout=900, env={**os.environ, "HOME": str(folder)})
    return folder


@pytest.fixture
def installed(guard: Guard, packages: Path) -> Path:
    guard.programs = True
    return packages / "node_modules" / ".bin"


def clean(home: Path, **more: str) -> dict[str, str]:
    """An environment of its own for a client: nothing of the person who runs the tests."""
    import deepgrep

    base = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "PYTHONPATH": str(Path(deepgrep.__file__).parents[1])}
    return {**base, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", **more}


def test_the_inspector_lists_and_calls_the_tools(installed: Path, tmp_path: Path) -> None:
    def inspect(*words: str) -> dict[str, object]:
        server = [*SERVER, "--home", str(SAMPLE)]
        done = subprocess.run(
            [str(installed / "mcp-inspector"), "--cli", *server, *words],
            env=clean(tmp_path), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr + done.stdout
        found: dict[str, object] = json.loads(done.stdout)
        return found

    tools = inspect("--method", "tools/list")["tools"]
    assert [one["name"] for one in tools] == ["search", "read", "recent", "sources", "explain"]  # type: ignore[union-attr,attr-defined]
    found = inspect("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=checkout")
    document = found["structuredContent"]
    assert document["results"]  # type: ignore[index,call-overload]
    ref = document["results"][0]["ref"]  # type: ignore[index,call-overload]
    read = inspect("--method", "tools/call", "--tool-name", "read", "--tool-arg", f"ref={ref}")
    assert read["structuredContent"]["hit"]["ref"]  # type: ignore[index,call-overload]
    assert inspect("--method", "resources/list")["resources"]


def test_an_agent_searches_and_reads_its_past(installed: Path, tmp_path: Path) -> None:
    history = copied(SAMPLE, tmp_path / "history")
    before = snapshot(history)
    home, log = tmp_path / "home", tmp_path / "requests.jsonl"
    settings = {
        "mcpServers": {
            "deepgrep": {"command": SERVER[0], "args": [*SERVER[1:], "--home", str(history)], "trust": True, "env": clean(home)}
        },
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
    }
    (home / ".gemini").mkdir(parents=True)
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    work = tmp_path / "work"
    work.mkdir()
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("model.py")), str(log)], stdout=subprocess.PIPE, text=True
    ) as model:
        try:
            assert model.stdout
            port = int(model.stdout.readline())
            done = subprocess.run(
                [str(installed / "gemini"), "--prompt", "What did we decide about idempotency?", "--model", "gemini-2.5-flash", "--yolo"],
                env=clean(
                    home, GEMINI_API_KEY="invented", GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{port}", GEMINI_CLI_TRUST_WORKSPACE="true"
                ),
                cwd=work, capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        finally:
            model.terminate()
    assert "DONE READ" in done.stdout, (done.stdout[-2000:], done.stderr[-2000:])
    requests = [json.loads(line) for line in log.read_text().splitlines()]
    answers = [
        part["functionResponse"]
        for turn in requests[-1]["body"].get("contents", ())
        for part in turn["parts"]
        if "functionResponse" in part
    ]
    assert [one["name"].rsplit("_", 1)[-1] for one in answers[:2]] == ["search", "read"]
    assert snapshot(history) == before
