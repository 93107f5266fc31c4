"""Every example of the documentation runs as printed: from the checkout's root, in nobody's home, on a fixed day.

`[..]` stands for anything within a line, `...` alone for any lines. --update-goldens fills the outputs in; read the diff.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from homes import ROOT, SAMPLE, snapshot
from pages import blocks, matches, rewritten, run, steps

NOW_S = 1_796_040_000  # 2026-11-30T12:00:00Z
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_print_what_the_page_says(path: Path, updating: bool) -> None:
    text = path.read_text(encoding="utf-8")
    before, changes, wrong = snapshot(SAMPLE), [], []
    for block in blocks(text):
        if block.word != "console" or not block.lines[0].startswith("$ deepgrep"):
            continue
        for command, wanted, at in steps(block):
            got = run(command, ROOT, NOW_S).lines
            if not matches(wanted, got):
                changes.append((at + 1, len(wanted), got))
                wrong.append(f"line {at}: {command}\n  prints\n    " + "\n    ".join(got))
    assert snapshot(SAMPLE) == before
    if updating and changes:
        path.write_text(rewritten(text, changes), encoding="utf-8", newline="\n")
    assert not wrong, "\n".join(wrong)


def test_the_readme_has_examples() -> None:
    commands = [line for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")) for line in block.lines]
    assert sum(line.startswith("$ deepgrep search") for line in commands) >= 3


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    targets = [target for target in _LINK.findall(path.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []
