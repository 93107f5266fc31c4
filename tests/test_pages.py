"""Pages that the code writes are as it would write them, every code of an answer is explained, and the library's examples run."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import inspect
import io
import re
from pathlib import Path
from types import ModuleType

import pytest

from deepgrep import databases, files, registry
from deepgrep.engine import coverage
from deepgrep.errors import DeepgrepError
from homes import ROOT
from pages import blocks, rewritten

SOURCE = ROOT / "src" / "deepgrep"
SUMMARY = (ROOT / "docs" / "summary.md").read_text(encoding="utf-8")
_GIVEN = re.compile(r'\b(?:Skip|Unreadable|Unsupported)\(\s*"(\w+)"|unsupported="(\w+)"|\b_UNREADABLE = "(\w+)"')
_CODE = re.compile(r'"([a-z]+(?:_[a-z]+)*)"')


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages_script", ROOT / "scripts" / "pages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("agent_id", registry.AGENT_IDS)
def test_an_agents_page_is_what_its_store_says(agent_id: str) -> None:
    page = ROOT / "docs" / "stores" / f"{agent_id}.md"
    assert page.read_text(encoding="utf-8") == _script().store_page(agent_id), "run scripts/pages.py and read the diff"


def test_there_is_no_page_of_an_agent_that_is_not_known() -> None:
    assert sorted(path.stem for path in (ROOT / "docs" / "stores").glob("*.md")) == sorted(registry.AGENT_IDS)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "searching.md"], ids=lambda page: page.name)
def test_marked_tables_are_those_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<!-- written by scripts/pages.py:" in text
    assert text == _script().filled(text), "run scripts/pages.py and read the diff"


def _reasons() -> set[str]:
    """Every code that stands in the source where something is skipped, fails or is not supported."""
    found = {code for path in SOURCE.rglob("*.py") for codes in _GIVEN.findall(path.read_text(encoding="utf-8")) for code in codes if code}
    for function in (files.code_of, databases._refusal, coverage._reasons):
        found |= {code for code in _CODE.findall(inspect.getsource(function)) if code not in _NO_REASONS}
    found |= {limit for agent_id in registry.AGENT_IDS for limit in registry.agent(agent_id).limits}
    return found | {"worker_died", "reader_crashed"}


_NO_REASONS = {"failed", "unsupported", "cancelled", "exhaustive", "targeted", "prompt", "prompts", "conversations"}  # explained elsewhere


def test_every_code_of_a_summary_is_explained() -> None:
    codes = {*_CODE.findall(inspect.getsource(coverage.outcome))} - _NO_REASONS
    codes |= {*coverage.PRECEDENCE, *coverage.ASKS_FOR, *coverage._SAYS, *coverage.SKIPS, *coverage.WITHHELD, *coverage.CONVERSATION_COUNTS}
    codes |= {*coverage.SOURCE_COUNTS, *coverage.OPENED}
    codes |= set(re.findall(r'"(search\.\w+)"', inspect.getsource(coverage.next_actions)))
    assert sorted(code for code in codes | _reasons() if f"`{code}`" not in SUMMARY) == []


def test_every_condition_is_told_with_its_state() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (`\w+`|none[^|]*) \|$", SUMMARY, re.MULTILINE))
    assert {code: state.strip("`").partition(":")[0] for code, state in rows.items() if code in coverage.ASKS_FOR} == {
        code: state or "none" for code, state in coverage.ASKS_FOR.items()
    }


def test_a_severity_is_told_as_it_is_given() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (error|warning|info) \|", SUMMARY, re.MULTILINE)
    told = {code: severity for codes, severity in rows for code in re.findall(r"`(\w+)`", codes)}
    assert {code: told.get(code) for code in coverage._SAYS} == {code: severity for code, (severity, _) in coverage._SAYS.items()}


def test_the_page_of_relevance_gives_the_scores_parts() -> None:
    from deepgrep.model import Score

    page = (ROOT / "docs" / "searching.md").read_text(encoding="utf-8").partition("## Relevance")[2].partition("\n## ")[0]
    assert [name for name in Score._fields if f"| `{name}` |" not in page] == []


def test_examples_of_the_library_run(monkeypatch: pytest.MonkeyPatch, updating: bool) -> None:
    """Runs the page's `>>> ` lines in one namespace; with --update-goldens their outputs are filled in."""
    page = ROOT / "docs" / "python.md"
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    changes, wrong = [], []
    for block in blocks(text):
        if block.word != "python":
            continue
        lines: list[str] = []
        for example in doctest.DocTestParser().get_examples("\n".join(block.lines) + "\n"):
            wanted = example.want.splitlines()
            printed = _printed(example.source, names)
            source = example.source.removesuffix("\n").split("\n")
            lines += [*(f"{'...' if number else '>>>'} {line}" for number, line in enumerate(source)), *printed]
            if wanted != printed:
                wrong.append(f"{example.source}prints {printed}, not {wanted}")
        changes.append((block.at, len(block.lines), lines))
    if updating and wrong:
        page.write_text(rewritten(text, changes), encoding="utf-8", newline="\n")
    assert not wrong, "\n".join(wrong)


def _printed(source: str, names: dict[str, object]) -> list[str]:
    """What Python's prompt would print for this, errors in short."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, "<docs/python.md>", "single"), names)
        except DeepgrepError as error:  # what the page shows being raised
            print("Traceback (most recent call last):", "    ...", sep="\n")
            print(f"{type(error).__module__}.{type(error).__qualname__}: {error}")
    return out.getvalue().splitlines()
