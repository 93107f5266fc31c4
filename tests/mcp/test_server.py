"""The server at work: over stdio with the SDK's client, off the event loop, cancelled, at its deadline, for long, and under nonsense."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client

from clients import answer, program, prompts, talk
from deepgrep.library import machine
from deepgrep.mcp import calls
from deepgrep.mcp.answers import Setting
from deepgrep.mcp.main import clients
from deepgrep.mcp.tools import SPECS
from deepgrep.model import KINDS, ORDERS, SPEAKERS
from homes import SAMPLE, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the figures are measured with /proc")


def at(home: Path, **changes: object) -> Setting:
    return Setting(machine(home))._replace(**changes)  # type: ignore[arg-type]


def test_over_stdio_with_the_first_answer_within_two_seconds(outside: dict[str, str], tmp_path: Path) -> None:
    errors = tmp_path / "stderr"

    async def main() -> float:
        began = time.monotonic()
        async with program(SAMPLE, outside, errors=errors) as client:
            found = await answer(client, "search", query="checkout")
            took_s = time.monotonic() - began
            await answer(client, "read", ref=found["results"][0]["ref"])  # type: ignore[index,call-overload]
            for spec in SPECS:
                refused = await client.call_tool(spec.name, {"nonsense": "s3cretvalue"})
                assert refused.is_error
            return took_s

    took_s = anyio.run(main)
    assert errors.read_text() == ""
    assert took_s < 2 * _slack()


def _slack() -> float:
    """How much slower than an idle machine this one may be: tests run beside others."""
    return float(os.environ.get("DEEPGREP_SLACK", "3"))


def test_cancelling_reaches_the_engine_within_200_ms(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[calls.Call] = []
    ended: list[float] = []
    original = calls.Call.__call__

    def asked(self: calls.Call) -> bool:
        if original(self):
            ended.append(time.monotonic())
            return True
        told.append(self)
        return False

    monkeypatch.setattr(calls.Call, "__call__", asked)

    async def asks(client: Client) -> None:
        stopped = 0.0
        with anyio.move_on_after(0.5):
            await client.call_tool("search", {"query": "ferry", "effort": "exhaustive"})
            pytest.fail("it must be slow enough to be cancelled")
        stopped = time.monotonic()
        await anyio.sleep(1.0)
        assert told
        assert ended[0] - stopped < 0.2 * _slack()
        assert len(ended) < 5  # it was told, and has ended

    talk(asks, at(slow))


def test_a_deadline_gives_what_was_found_and_says_so(slow: Path) -> None:
    async def asks(client: Client) -> None:
        began = time.monotonic()
        found = await answer(client, "search", query="ferry", effort="exhaustive", deadline_s=0.3)
        assert time.monotonic() - began < 2.3 * _slack()
        assert found["summary"]["status"]["state"] == "cancelled"  # type: ignore[index,call-overload]
        assert found["summary"]["completed_effort"] is None  # type: ignore[index,call-overload]

    talk(asks, at(slow))


def test_two_calls_at_once_do_not_wait_for_each_other(slow: Path) -> None:
    async def asks(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "search", {"query": "ferry", "effort": "exhaustive", "deadline_s": 5.0})
            await anyio.sleep(0.2)
            began = time.monotonic()
            await answer(client, "sources")
            assert time.monotonic() - began < 1.0 * _slack()
            group.cancel_scope.cancel()

    talk(asks, at(slow))


def test_progress_is_told(slow: Path) -> None:
    seen: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total))

    async def asks(client: Client) -> None:
        await client.call_tool("search", {"query": "ferry", "effort": "exhaustive", "deadline_s": 1.5}, progress_callback=progress)

    talk(asks, at(slow))
    assert seen
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert all(total == 40 for _, total in seen)


def test_many_calls_leak_no_memory_file_or_process(outside: dict[str, str], tmp_path: Path) -> None:
    count = 1_000 if os.environ.get("DEEPGREP_LONG") else 200
    errors = tmp_path / "stderr"
    home = write(tmp_path / "home", {".claude/history.jsonl": prompts(300)})

    async def main() -> None:
        async with program(home, outside, errors=errors) as client:
            server_id = await _server_id()

            async def some(number: int) -> None:
                for index in range(number):
                    await answer(client, "search", query=f"ferry {index % 7}", effort=("prompt", "exhaustive")[index % 2])

            await some(60)
            files, threads, memory = _files(server_id), _threads(server_id), _memory(server_id)
            await some(count)
            assert _files(server_id) <= files
            assert _threads(server_id) <= threads + 2
            assert _children(server_id) == 0
            assert _memory(server_id) < memory + 24_000  # kB: an allocator's slack, not a megabyte for every hundred calls

    anyio.run(main)
    assert errors.read_text() == ""


async def _server_id() -> int:
    """The one program that this process has started."""
    for _ in range(50):
        found = [int(one) for task in Path("/proc/self/task").iterdir() for one in (task / "children").read_text().split()]
        if found:
            return found[-1]
        await anyio.sleep(0.1)
    raise AssertionError("no server")


def _files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def _threads(process: int) -> int:
    return len(list(Path(f"/proc/{process}/task").iterdir()))


def _children(process: int) -> int:
    return sum(len((task / "children").read_text().split()) for task in Path(f"/proc/{process}/task").iterdir())


def _memory(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


# --- nonsense

_words = st.text(max_size=30)
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=5,
)
_tools = [spec.name for spec in SPECS]
_names = sorted({name for spec in SPECS for name in spec.model.model_fields})
_likely = st.sampled_from([
    *SPEAKERS, *KINDS, *ORDERS, "all", "any", "exhaustive", "targeted", "checkout", "the", "2026-01-01", "7d", 0, 1, 1_000, 5_000,
])  # fmt: skip
_arguments = st.dictionaries(st.sampled_from(_names) | _words, _likely | st.lists(_likely, max_size=2) | _anything, max_size=6)
_query = st.text(alphabet='ab :()"-+*?[]<>=ORANDT\\\u0301\ud83d', max_size=40) | _words


def test_nonsense_never_crashes_and_answers_fit() -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.sampled_from(_tools), _arguments, _query, st.integers(1_000, 9_000)), min_size=8, max_size=8))
    def run(asked: list[tuple[str, dict[str, object], str, int]]) -> None:
        async def asks(client: Client) -> None:
            for tool, arguments, query, tokens in asked:
                named = {**arguments, "max_tokens": tokens, "deadline_s": 5.0}
                named |= {"query": query} if tool in ("search", "explain") else {}
                clean = json.loads(json.dumps(named).encode("utf-8", "replace"))
                try:
                    with anyio.fail_after(20):
                        given = await client.call_tool(tool, clean)
                except UnicodeEncodeError:  # the client itself cannot send it
                    continue
                if given.is_error:
                    text = given.content[0].text  # type: ignore[union-attr]
                    assert "\n" not in text
                    assert "bug" not in text
                else:
                    await answer(client, tool, **clean)

        talk(asks)

    run()


# --- the command


def run(outside: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "deepgrep", "mcp", *words], env=outside, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("client", sorted(clients()))
def test_the_printed_configuration_can_be_pasted(client: str, outside: dict[str, str]) -> None:
    done = run(outside, "--print-config", client)
    assert done.returncode == 0
    body = tomllib.loads(done.stdout) if "[mcp_servers" in done.stdout else json.loads(done.stdout)
    (section,) = [value for value in body.values() if isinstance(value, dict)]
    entry = section["deepgrep"]
    command = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert command[-1] == "mcp"
    assert os.path.isabs(command[0])
    assert "~/" in done.stderr or ".json" in done.stderr


def test_misuse_is_one_line_that_repeats_nothing(outside: dict[str, str]) -> None:
    for words in (["--print-config", "s3cretvalue"], ["--s3cretvalue"], ["--deadline", "s3cretvalue"], ["--deadline", "-1"]):
        done = run(outside, *words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "s3cretvalue" not in done.stderr


def test_without_the_sdk_one_line_says_how_to_install_it(outside: dict[str, str]) -> None:
    code = (
        "import sys, importlib.util as u; found = u.find_spec; "
        "u.find_spec = lambda name, package=None: None if name.split('.')[0] == 'mcp' else found(name, package); "
        "from deepgrep.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "deepgrep[mcp]" in done.stderr
