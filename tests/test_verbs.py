"""The commands beside `search`: what they take, what they refuse, and what they print for other programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conftest import DEEPGREP
from deepgrep.cli.main import COMMANDS, HELP
from deepgrep.render.conversation import fence
from homes import SAMPLE, jsonl, snapshot, write
from ledger import Guard
from pages import run

THREAD = "bbbbbbbb-0000-7000-8000-000000000001"
ROLLOUT = f".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-{THREAD}.jsonl"


def rollout(cwd: str, *said: tuple[str, str]) -> str:
    rows = []
    for number, (role, text) in enumerate(said, 1):
        content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
        message = {"type": "message", "role": role, "content": content}
        rows.append({"timestamp": f"2026-01-02T00:00:{number:02d}Z", "type": "response_item", "payload": message})
    return jsonl({"timestamp": "2026-01-02T00:00:00Z", "type": "session_meta", "payload": {"id": THREAD, "cwd": cwd}}, *rows)


# --- help and names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_help_and_has_examples(name: str, tmp_path: Path) -> None:
    assert re.search(rf"^  {name} ", HELP, re.MULTILINE)
    shown = run(f"deepgrep {name} --help", tmp_path)
    assert shown.status == 0
    assert "examples:" in shown.out
    assert f"deepgrep {name}" in shown.out
    assert run(f"deepgrep help {name}", tmp_path).out == shown.out


@pytest.mark.parametrize(("word", "meant"), [("serach", "search"), ("shwo", "show"), ("store", "stores"), ("explan", "explain")])
def test_a_near_miss_names_the_command(word: str, meant: str, tmp_path: Path) -> None:
    ran = run(f"deepgrep {word} x", tmp_path)
    assert ran.status == 2
    assert f"did you mean {meant}?" in ran.err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "search"])
def test_a_wrong_flag_is_one_line(name: str, tmp_path: Path) -> None:
    ran = run(f"deepgrep {name} --hmoe x", tmp_path)
    assert (ran.out, ran.status) == ("", 2)
    assert ran.err.startswith("deepgrep: ")
    assert ran.err.count("\n") == 1


# --- resume ---------------------------------------------------------------------------------------------------------


def agent_program(folder: Path) -> Path:
    """A stand-in for the agent: says where it runs and with what."""
    program = folder / "codex"
    program.write_text('#!/bin/sh\npwd\nfor word in "$@"; do echo "[$word]"; done\nexit 7\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for the agent")
def test_run_becomes_the_agents_program_in_the_conversations_folder(tmp_path: Path, outside: dict[str, str]) -> None:
    work = tmp_path / "a folder; echo no"
    work.mkdir()
    home = write(tmp_path / "home", {ROLLOUT: rollout(str(work), ("user", "hello"))})
    agent_program(tmp_path)
    words = [*DEEPGREP, "resume", "--home", str(home), "--run", THREAD]
    before = snapshot(home)
    ran = subprocess.run(words, env={**outside, "PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == [str(work), "[resume]", f"[{THREAD}]"]
    assert ran.returncode == 7
    assert snapshot(home) == before


@pytest.mark.skipif(os.name != "posix", reason="a shell reads the line")
def test_the_printed_command_is_safe_for_a_shell(tmp_path: Path, programs: Guard) -> None:
    work = tmp_path / "it's $(touch own) `touch own`"
    work.mkdir()
    write(tmp_path / "home", {ROLLOUT: rollout(str(work), ("user", "hello"))})
    agent_program(tmp_path)
    line = run(f"deepgrep resume --home home {THREAD}", tmp_path).out
    ran = subprocess.run(["sh", "-c", line], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == [str(work), "[resume]", f"[{THREAD}]"]
    assert not list(tmp_path.rglob("own"))


def test_run_refuses_without_the_folder_or_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write(tmp_path / "home", {ROLLOUT: rollout(str(tmp_path / "gone"), ("user", "hello"))})
    ran = run(f"deepgrep resume --home home --run {THREAD}", tmp_path)
    assert (ran.out, ran.status) == ("", 2)
    assert "not here any more" in ran.err
    write(home, {ROLLOUT: rollout(str(tmp_path), ("user", "hello"))})
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    ran = run(f"deepgrep resume --home home --run {THREAD}", tmp_path)
    assert (ran.out, ran.status) == ("", 2)
    assert "not on PATH" in ran.err


# --- show -----------------------------------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script> \"'><img src=http://x.test/a onerror=x> \u202egnp \x1b[2J ````\n```js\n</pre></article>\n![](http://x.test/p.png)"


class Seen(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    said = (("user", EVIL), ("assistant", EVIL), ("assistant", "after it"))
    return write(tmp_path / "home", {ROLLOUT: rollout(f"/src/{EVIL[:40]}", *said)})


@pytest.mark.usefixtures("evil")
def test_html_holds_nothing_active_and_loads_nothing(tmp_path: Path) -> None:
    ran = run(f"deepgrep show --home home --format html {THREAD}", tmp_path)
    page = Seen()
    page.feed(ran.out)
    page.close()
    assert not page.open
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "a", "svg", "audio", "video"}
    assert not {name for _, attributes in page.tags for name in attributes if name in ("src", "href", "style") or name.startswith("on")}
    assert "url(" not in ran.out
    assert "@import" not in ran.out
    assert "prefers-color-scheme: dark" in ran.out
    assert page.text.count("<script>alert(1)</script>") >= 2
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_hold_no_control_characters(form: str, tmp_path: Path) -> None:
    out = run(f"deepgrep show --home home --format {form} {THREAD}", tmp_path).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "after it" in out


@pytest.mark.usefixtures("evil")
def test_a_text_cannot_close_its_fence_or_leave_its_quote(tmp_path: Path) -> None:
    lines = run(f"deepgrep show --home home --format markdown {THREAD}", tmp_path).out.split("\n")
    mark = next(line for line in lines if line.startswith("`")).removesuffix("text")
    assert mark == "`````"
    opened, closed = (number for number, line in enumerate(lines) if line.startswith(mark))
    assert lines[opened + 2] == "```js"
    assert closed > opened + 2
    outside_code = [line for line in lines if line.startswith(">")][:1]
    assert outside_code
    assert not [line for line in outside_code if "<script" in line or "<img" in line]


@pytest.mark.parametrize("text", ["", "`", "```", "a ```` b", "`````\n```"])
def test_a_fence_is_longer_than_any_run_of_backticks(text: str) -> None:
    assert len(fence(text)) >= 3
    assert fence(text) not in text


def test_json_of_a_huge_window_still_counts(tmp_path: Path) -> None:
    write(tmp_path / "home", {ROLLOUT: rollout("/src", *(("user", f"turn {number}") for number in range(50)))})
    doc = json.loads(run(f"deepgrep show --home home --json --from 20 --limit 3 {THREAD}", tmp_path).out)
    assert [entry["text"] for entry in doc["records"]] == ["turn 19", "turn 20", "turn 21"]
    assert (doc["before"], doc["after"], doc["next"], doc["conversation"]["total"]) == (19, 28, 23, 50)


# --- find -----------------------------------------------------------------------------------------------------------


def test_find_gives_names_byte_for_byte(tmp_path: Path, outside: dict[str, str]) -> None:
    home = write(tmp_path / "home", {".claude/projects/a b/x\ny.jsonl": "{}\n"})
    raw = subprocess.run([*DEEPGREP, "find", "-0", "--home", str(home)], env=outside, capture_output=True, check=True).stdout
    assert raw == os.fsencode(home / ".claude/projects/a b/x\ny.jsonl") + b"\0"


# --- completion -----------------------------------------------------------------------------------------------------


def completed(line: str, script: Path, breaks: str = " \t\n\"'><=;|&(:") -> list[str]:
    code = 'COMP_WORDBREAKS="$3"; source "$1"; COMP_LINE="$2"; COMP_POINT=${#2}; _deepgrep; printf "%s\\n" "${COMPREPLY[@]}"'
    ran = subprocess.run(["bash", "-c", code, "bash", str(script), line, breaks], capture_output=True, text=True, check=True, env={})
    return ran.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("deepgrep sh", ["show"]), ("deepgrep search --agent cod", ["codex"]), ("deepgrep search --exh", ["--exhaustive"]),
        ("deepgrep search worktr", ["worktree:"]), ("deepgrep search flaky agent:cod", ["codex"]),
        ("deepgrep find --store codex.arc", ["codex.archived"]),
        ("deepgrep show --format ht", ["html"]), ("deepgrep completion z", ["zsh"]), ("deepgrep search store:pi.mis", ["pi.misplaced"]),
    ],
)  # fmt: skip
def test_bash_completes_commands_flags_and_values(line: str, among: list[str], tmp_path: Path, programs: Guard) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run("deepgrep completion bash", tmp_path).out)
    assert completed(line, script) == among


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_static_and_knows_every_command(shell: str, tmp_path: Path) -> None:
    out = run(f"deepgrep completion {shell}", tmp_path).out
    assert not re.search(r"\bpython|\$\(deepgrep|`deepgrep", out.replace("`deepgrep fields`", "").replace("`deepgrep stores`", ""))
    for name in COMMANDS:
        assert name in out
    for flag in ("exhaustive", "conversation-limit", "print0"):
        assert flag in out
    assert "agent:codex" in out


# --- what a search loads --------------------------------------------------------------------------------------------


def test_a_search_loads_no_other_command(outside: dict[str, str]) -> None:
    code = f"import sys\nfrom deepgrep.cli.main import main\nmain(['search', '--home', {str(SAMPLE)!r}, 'checkout'])\nprint([*sys.modules])"
    out = subprocess.run([*DEEPGREP[:1], "-c", code], env=outside, capture_output=True, text=True, check=True).stdout
    loaded = set(eval(out.splitlines()[-1]))
    others = {f"deepgrep.cli.{name}" for name in COMMANDS if name != "search"}
    engines = {f"deepgrep.engine.{name}" for name in ("conversation", "target", "miss", "checkup", "cost", "inventory")}
    assert not loaded & (others | engines | {"deepgrep.query.regex"})
