"""The program as a program: pipes, signals, terminals, locales."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DEEPGREP
from homes import SAMPLE, jsonl, write

THREAD = "bbbbbbbb-0000-7000-8000-00000000000%d"


def deepgrep(outside: dict[str, str], *words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*DEEPGREP, *words], env=outside, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def chatty(tmp_path: Path) -> Path:
    """A home whose answer is larger than any pipe's buffer."""
    rows = [{"session_id": THREAD % 1, "ts": 1767312000 + number, "text": f"ferry number {number} " + "x" * 200} for number in range(5000)]
    return write(tmp_path / "home", {".codex/history.jsonl": jsonl(*rows)})


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A home that answers at once from its history, and then has seconds of reading before it: every line must be decoded."""
    home = write(tmp_path / "home", {".codex/history.jsonl": jsonl({"session_id": THREAD % 1, "ts": 1767312000, "text": "the zebra"})})
    day = home / ".codex/sessions/2026/01/02"
    day.mkdir(parents=True)
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "@ebra"}]}
    line = json.dumps({"timestamp": "2026-01-02T00:00:00Z", "type": "response_item", "payload": said}).replace("@", "\\u007a\\u0065") + "\n"
    block = (line * (1 + (1 << 20) // len(line))).encode()
    with (day / f"rollout-2026-01-02T00-00-00-{THREAD % 1}.jsonl").open("wb") as file:
        for _ in range(64):
            file.write(block)
    return home


# --- pipes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [["--no-group"], [], ["--ndjson"], ["--json"], ["--no-group", "--order", "scan"]])
def test_a_reader_who_leaves_early_ends_the_program_quietly(form: list[str], chatty: Path, outside: dict[str, str]) -> None:
    words = [*DEEPGREP, "search", "--home", str(chatty), *form, "ferry"]
    with subprocess.Popen(words, env=outside, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(100)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) in (0, 141)


def test_a_reader_who_leaves_before_the_first_byte_is_no_error(outside: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [*DEEPGREP, "search", "--home", str(SAMPLE), "checkout"], env=outside, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert ran.stderr == ""
    assert ran.returncode in (0, 141)


def test_json_on_standard_output_is_one_document_and_nothing_else(tmp_path: Path, outside: dict[str, str]) -> None:
    home = write(tmp_path / "home", {".codex/history.jsonl": 'null\n{"text":"the ferry","ts":1}\n{"torn', ".codex/history.json": "[{"})
    ran = deepgrep(outside, "search", "--home", str(home), "--json", "ferry")
    doc = json.loads(ran.stdout)
    assert ran.stdout.count("\n") == 1
    assert doc["summary"]["status"]["state"] == "failed"
    assert [result["text"] for result in doc["results"]] == ["the ferry"]
    assert (ran.stderr, ran.returncode) == ("", 2)


# --- Ctrl-C ---------------------------------------------------------------------------------------------------------


def interrupted(outside: dict[str, str], home: Path, *form: str, scope: str = "prompts") -> tuple[bytes, bytes, int]:
    """Start a search, wait for its first line, press Ctrl-C."""
    words = [*DEEPGREP, "search", "--home", str(home), "--exhaustive", "--scope", scope, "--order", "scan", *form, "zebra"]
    with subprocess.Popen(words, env=outside, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        return first + process.stdout.read(), process.stderr.read(), process.wait(30)


def test_ctrl_c_gives_what_was_found_and_a_cancelled_summary(slow: Path, outside: dict[str, str]) -> None:
    out, err, status = interrupted(outside, slow, "--ndjson")
    first, last = map(json.loads, out.splitlines())
    assert first["text"] == "the zebra"
    assert last["status"] == {"state": "cancelled", "reason": "cancelled", "conditions": ["cancelled"]}
    assert last["completed_effort"] is None
    assert last["match_count"] == 1
    counts = last["coverage"]["sources"]
    assert (counts["completed"], counts["cancelled"] + counts["skipped"]) == (1, 1)
    assert (err, status) == (b"", 130)


def test_ctrl_c_in_text_output_says_that_the_answer_is_partial(slow: Path, outside: dict[str, str]) -> None:
    out, err, status = interrupted(outside, slow)
    assert "the zebra" in out.decode()
    assert "cancelled" in out.decode().splitlines()[-1]
    assert (err, status) == (b"", 130)


def test_a_second_ctrl_c_ends_at_once(outside: dict[str, str]) -> None:
    """A search that never asks whether it is cancelled: the first Ctrl-C is heard, the second ends the program."""
    code = (
        "import deepgrep.cli.search as cli, itertools, sys\n"
        "def endless(query, machine, *, cancelled, **options):\n"
        "    print('reading', flush=True)\n"
        "    told = False\n"
        "    for _ in itertools.count():\n"
        "        if cancelled() and not told:\n"
        "            told = True\n"
        "            print('heard', flush=True)\n"
        "    yield\n"
        "cli.search = endless\n"
        f"sys.exit(cli.run(['--home', {str(SAMPLE)!r}, 'checkout']))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], env=outside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "heard\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == ""


# --- terminals and locales ------------------------------------------------------------------------------------------


def on_terminal(outside: dict[str, str], code: str) -> tuple[str, str]:
    """Run code with standard error on a terminal; returns what came on standard output and on the terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], env=outside, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        assert process.stdout
        seen, out = b"", b""
        while select.select([ours], [], [], 30)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side has closed the terminal
                break
            if not piece:
                break
            seen += piece
        out = process.stdout.read()
        process.wait(30)
    os.close(ours)
    return out.decode(), seen.decode()


def eager(*words: str) -> str:
    """A program that shows progress without waiting for half a second."""
    return (
        "import sys, deepgrep.cli.search as cli\n"
        "cli._PROGRESS_AFTER_S = cli._PROGRESS_EVERY_S = -1\n"
        f"sys.exit(cli.run({['--home', str(SAMPLE), '--exhaustive', *words]!r}))\n"
    )


def test_progress_stands_on_a_terminal_and_is_wiped_away(outside: dict[str, str]) -> None:
    out, seen = on_terminal(outside, eager("checkout"))
    assert re.search(r"\d+ of \d+ sources", seen)
    assert seen.endswith("\r\x1b[K")
    assert "sources" not in out.splitlines()[0]
    assert "checkout" in out


def test_progress_can_be_turned_off(outside: dict[str, str]) -> None:
    assert on_terminal(outside, eager("--no-progress", "checkout"))[1] == ""


def test_a_quick_search_shows_no_progress(outside: dict[str, str]) -> None:
    code = f"import sys, deepgrep.cli.main as cli; sys.exit(cli.main(['search', '--home', {str(SAMPLE)!r}, 'checkout']))"
    assert on_terminal(outside, code)[1] == ""


def test_no_progress_goes_into_a_pipe_or_a_file(outside: dict[str, str]) -> None:
    ran = subprocess.run([sys.executable, "-c", eager("checkout")], env=outside, capture_output=True, check=False)
    assert (ran.stderr, ran.returncode) == (b"", 0)


@pytest.mark.parametrize(
    "locale",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "cp1252"},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [[], ["--no-group"], ["--json"], ["--ndjson"]])
def test_no_locale_breaks_the_output(locale: dict[str, str], form: list[str], tmp_path: Path, outside: dict[str, str]) -> None:
    home = write(tmp_path / "home", {".codex/history.jsonl": jsonl({"session_id": THREAD % 1, "ts": 1, "text": "ferry 渡し船 🚢 é"})})
    words = [*DEEPGREP, "search", "--home", str(home), *form, "ferry"]
    ran = subprocess.run(words, env={**outside, **locale}, capture_output=True, check=False)
    assert (ran.stderr, ran.returncode) == (b"", 0)
    assert b"ferry" in ran.stdout
    if form and "json" in form[0]:
        assert json.loads(ran.stdout.splitlines()[0].decode("utf-8"))


def test_arguments_of_any_locale_are_found(tmp_path: Path, outside: dict[str, str]) -> None:
    home = write(tmp_path / "home", {".codex/history.jsonl": jsonl({"session_id": THREAD % 1, "ts": 1, "text": "ferry 渡し船"})})
    ran = deepgrep({**outside, "LANG": "C", "LC_ALL": "C"}, "search", "--home", str(home), "--json", "渡し", encoding="utf-8")
    assert json.loads(ran.stdout)["results"][0]["spans"] == [[6, 8]]


def test_arguments_that_are_no_text_are_no_crash(outside: dict[str, str]) -> None:
    words = [os.fsencode(word) for word in (*DEEPGREP, "search", "--home", str(SAMPLE), "--json")]
    ran = subprocess.run([*words, b"\xff\xfe"], env=outside, capture_output=True, check=False)
    assert b"Traceback" not in ran.stderr
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["summary"]["match_count"] == 0


# --- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--version"], ["search", "--help"]])
def test_help_and_version_succeed_on_standard_output(words: list[str], outside: dict[str, str]) -> None:
    ran = deepgrep(outside, *words)
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert "deepgrep" in ran.stdout


def test_help_names_every_flag_of_the_contract(outside: dict[str, str]) -> None:
    out = deepgrep(outside, "search", "--help").stdout
    flags = (
        "--json --ndjson --literal --any --effort --deep --exhaustive --scope --order --limit --agent --cwd --project --on --no-dedupe "
        "--color --home --repo --branch --since --until --speaker --kind --model --context --explain --no-group --no-progress"
    )
    for flag in re.findall(r"\S+", flags):
        assert re.search(rf"(?<![\w-]){flag}(?![\w-])", out), flag


def test_no_command_at_all_is_wrong_usage(outside: dict[str, str]) -> None:
    assert deepgrep(outside).returncode == 2


def test_a_search_without_a_home_of_any_agent_finds_nothing_and_says_so(outside: dict[str, str]) -> None:
    ran = deepgrep(outside, "search", "ferry")
    assert ran.returncode == 1
    assert "no agent's history was found" in ran.stdout + ran.stderr
    assert "Next:" not in ran.stdout


# --- streams that are closed, or full -------------------------------------------------------------------------------

COMMAND_LINES = [
    "search checkout", "search --json checkout", "search --ndjson checkout", "search --order scan checkout", "search --explain zebra",
    "grep checkout", "grep --json checkout", "find", "find --json", "stores", "doctor", "explain checkout", "fields", "completion bash",
    "--version", "--help", "help", "search --help", "grep --help", "mcp --help", "mcp --print-config codex",
]  # fmt: skip


def in_shell(outside: dict[str, str], line: str) -> subprocess.CompletedProcess[str]:
    """Run `deepgrep` in a line of the shell, in the sample as home."""
    program = " ".join(shlex.quote(word) for word in DEEPGREP)
    variables = {**outside, "HOME": str(SAMPLE)}
    return subprocess.run(["/bin/sh", "-c", f"{program} {line}"], env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_closed_standard_output_is_one_line_and_status_2(line: str, outside: dict[str, str]) -> None:
    ran = in_shell(outside, f"{line} >&-")
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1] == "deepgrep: the answer could not be written: Bad file descriptor"
    assert "Traceback" not in ran.stderr
    silent = in_shell(outside, f"{line} >&- 2>&-")
    assert (silent.returncode, silent.stderr) == (2, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_full_standard_output_is_one_line_and_status_2(line: str, outside: dict[str, str]) -> None:
    ran = in_shell(outside, f"{line} >/dev/full")
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1] == "deepgrep: the answer could not be written: No space left on device"
    assert "Traceback" not in ran.stderr
    assert "Exception" not in ran.stderr
    assert in_shell(outside, f"{line} >/dev/full 2>/dev/full").returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
@pytest.mark.parametrize("line", ["search --bogus", "serach x", "stores --bogus", "show nothing", "mcp --bogus", "search --json --bogus"])
@pytest.mark.parametrize("where", [">&- 2>&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full 2>/dev/full"])
def test_wrong_usage_is_status_2_wherever_it_cannot_be_said(line: str, where: str, outside: dict[str, str]) -> None:
    ran = in_shell(outside, f"{line} {where}")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 2)


def test_a_closed_standard_error_or_input_changes_no_answer(outside: dict[str, str]) -> None:
    for line in ("search --json checkout", "grep checkout", "stores", "--version"):
        ran, usual = in_shell(outside, f"{line} <&- 2>&-"), in_shell(outside, line)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert re.sub(r'_s":[^,}]*', "", ran.stdout) == re.sub(r'_s":[^,}]*', "", usual.stdout)


def test_a_server_that_cannot_answer_is_no_crash(outside: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    (tmp_path / "asked").write_text(jsonl({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}))
    ran = in_shell(outside, f"mcp <{shlex.quote(str(tmp_path / 'asked'))} >&-")
    assert (ran.returncode, ran.stderr) == (2, "deepgrep: the answer could not be written: Bad file descriptor\n")


def test_what_needs_no_output_needs_no_standard_output(outside: dict[str, str]) -> None:
    assert in_shell(outside, "grep -q checkout >&-").returncode == 0


# --- Ctrl-C before there is anything to interrupt -------------------------------------------------------------------

PRESSED = """\
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from deepgrep.cli.main import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("deepgrep.cli.search", ["search", "checkout"]),
        ("deepgrep.engine.search", ["search", "checkout"]),
        ("deepgrep.stores.claude", ["search", "checkout"]),
        ("deepgrep.query.dates", ["search", "--since", "7d", "checkout"]),
        ("deepgrep.engine.inventory", ["stores"]),
        ("deepgrep.stores.claude", ["stores"]),
        ("deepgrep.cli.grep", ["grep", "checkout"]),
        ("deepgrep.query.regex", ["grep", "checkout"]),
        ("deepgrep.render.json", ["fields", "--json"]),
        ("deepgrep.mcp.main", ["mcp", "--print-config", "codex"]),
        ("tomllib", ["mcp", "--print-config", "codex"]),
    ],
)
def test_ctrl_c_while_a_command_starts_ends_it_quietly(module: str, words: list[str], outside: dict[str, str]) -> None:
    code = PRESSED.format(module=module, words=words)
    ran = subprocess.run([sys.executable, "-c", code], env={**outside, "HOME": str(SAMPLE)}, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.returncode == 130


# --- an agent's module that cannot be imported ----------------------------------------------------------------------

BROKEN = """\
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "deepgrep.stores.codex":
            raise {error}

sys.meta_path.insert(0, Finder())
from deepgrep.cli.main import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize("error", ["ImportError('no such\\nname')", "SyntaxError('broken')", "KeyError('x')"])
@pytest.mark.parametrize(
    "line",
    ["search checkout", "search --json checkout", "grep checkout", "find", "stores", "doctor", "explain checkout", "show 5eed",
    "completion zsh",
     "search store:codex.history x"],
)  # fmt: skip
def test_an_agents_module_that_cannot_be_imported_is_one_line(line: str, error: str, outside: dict[str, str]) -> None:
    code = BROKEN.format(error=error, words=line.split())
    ran = subprocess.run([sys.executable, "-c", code], env={**outside, "HOME": str(SAMPLE)}, capture_output=True, text=True, check=False)
    assert ran.stderr.startswith("deepgrep: the module of codex cannot be loaded, which is a bug worth a report: ")
    assert (ran.stdout, ran.stderr.count("\n"), ran.returncode) == ("", 1, 2)
