"""From outside: what the operating system sees a whole run of the program open."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import DEEPGREP
from homes import FIXTURES, manifest, paths

_OPENED = re.compile(r'\b(?:open|openat|openat2|creat)\((?:[^,"]*, )?"((?:[^"\\]|\\.)*)", (?:\{flags=)?([A-Z_|]+)[^=]*= (-?\d+)')
_CHANGED = re.compile(r"\b(?:rename|unlink|mkdir|rmdir|link|symlink|chmod|fchmod|chown|truncate|utime|utimes|utimens|mknod)(?:at2?)?\(")


def strace(target: Path) -> list[str]:
    program = shutil.which("strace")
    if program is None:
        pytest.skip("strace is not installed: nothing can watch from outside")
    words = [program, "-f", "-qq", "-s", "4096", "-e", "trace=%file,socket,connect", "-o", str(target)]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    return words


@pytest.mark.parametrize("agent", FIXTURES)
@pytest.mark.parametrize("effort", ["prompt", "exhaustive"])
def test_a_run_opens_only_what_its_effort_allows(agent: str, effort: str, tmp_path: Path, outside: dict[str, str]) -> None:
    own, trace = manifest(agent), tmp_path / "trace"
    scope = ["--scope", "all"] if effort == "exhaustive" else []
    words = [*strace(trace), *DEEPGREP, "search", "--home", str(own.home), "--effort", effort, *scope, "e"]
    ran = subprocess.run(words, env=outside, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr  # found, or nothing to find
    text = trace.read_text(encoding="utf-8", errors="replace")
    opened, folders = {}, set()
    for path, flags, status in _OPENED.findall(text):
        if path.startswith(f"{own.home}/") and int(status) >= 0:
            name = path[len(f"{own.home}/") :]
            (folders.add(name) if "O_DIRECTORY" in flags else opened.setdefault(name, set()).add(flags))
    allowed = paths(own.prompts, own.extras, own.transcripts | own.beside if effort == "exhaustive" else ())
    assert set(opened) == allowed
    written = {name for name, flags in opened.items() if re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", "|".join(flags))}
    assert not written
    if effort == "prompt":
        shared = {parent.as_posix() for name in own.prompts for parent in Path(name).parents}
        above = {parent.as_posix() for name in own.transcripts | own.unsupported for parent in list(Path(name).parents)[:2]}
        assert not folders & (above - shared)
    lines = [line for line in text.splitlines() if str(own.home) in line]
    assert lines
    assert not [line for line in lines if _CHANGED.search(line)]
    assert "socket(" not in text
    assert "connect(" not in text
