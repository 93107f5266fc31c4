from __future__ import annotations

import pytest

from deepgrep import wire
from deepgrep.engine.resolve import controls, patched
from deepgrep.engine.resolve import query as request
from deepgrep.errors import UsageError

ERROR = None
# given effort, given scope -> (effort, scope, scope was given) on the command line and in the TUI, over MCP and in the library.
TABLE = [
    (None, None, ("prompt", "prompts", False), ("prompt", "prompts", False)),
    (None, "prompts", ("prompt", "prompts", True), ("prompt", "prompts", True)),
    (None, "conversations", ("exhaustive", "conversations", True), ("exhaustive", "conversations", True)),
    (None, "all", ("exhaustive", "all", True), ("exhaustive", "all", True)),
    ("prompt", None, ("prompt", "prompts", False), ("prompt", "prompts", False)),
    ("prompt", "prompts", ("prompt", "prompts", True), ("prompt", "prompts", True)),
    ("prompt", "conversations", ERROR, ERROR),
    ("prompt", "all", ERROR, ERROR),
    ("targeted", None, ("targeted", "all", False), ("targeted", "all", False)),
    ("targeted", "prompts", ERROR, ERROR),
    ("targeted", "conversations", ("targeted", "conversations", True), ("targeted", "conversations", True)),
    ("targeted", "all", ("targeted", "all", True), ("targeted", "all", True)),
    ("deep", None, ("targeted", "all", False), ("targeted", "all", False)),
    ("deep", "prompts", ERROR, ERROR),
    ("exhaustive", None, ("exhaustive", "prompts", False), ("exhaustive", "all", False)),
    ("exhaustive", "prompts", ("exhaustive", "prompts", True), ("exhaustive", "prompts", True)),
    ("exhaustive", "conversations", ("exhaustive", "conversations", True), ("exhaustive", "conversations", True)),
    ("exhaustive", "all", ("exhaustive", "all", True), ("exhaustive", "all", True)),
]


@pytest.mark.parametrize(("surface", "column"), [("cli", 2), ("tui", 2), ("mcp", 3), ("library", 3)])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
def test_effort_and_scope_are_resolved_by_the_table(row: tuple[object, ...], surface: str, column: int) -> None:
    effort, scope, expected = row[0], row[1], row[column]
    if expected is ERROR:
        with pytest.raises(UsageError, match="use "):
            controls(surface, effort, scope)  # type: ignore[arg-type]
        return
    assert controls(surface, effort, scope) == expected  # type: ignore[arg-type]
    made = request(["x"], surface=surface, effort=effort, scope=scope)  # type: ignore[arg-type]
    assert (made.effort, made.scope, made.scope_given) == expected


@pytest.mark.parametrize(("surface", "column"), [("cli", 2), ("tui", 2), ("mcp", 3), ("library", 3)])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_request_that_was_printed_can_be_given_again(row: tuple[object, ...], surface: str, column: int) -> None:
    if row[column] is ERROR:
        return
    made = request(
        ["a b", 'c"'],
        surface=surface,
        literal=True,
        effort=row[0],
        scope=row[1],
        order="newest",
        limit=3,
        agent=["codex"],
        cwd="/w/x",  # type: ignore[arg-type]
        project="x",
        repo="o/x",
        branch="main",
        since="2026-01-02",
        until="2026-01-03T04:05:06.000789+02:00",
        speaker=["person,agent"],
        kind=["prompt"],
        model="m",
        dedupe=False,
        context=2,
    )
    again = patched(dict(wire.request(made)), {}, surface)  # type: ignore[arg-type]
    assert again._replace(scope_given=made.scope_given) == made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"effort": "deepp"}, "deep|targeted"),
        ({"scope": "prompt"}, "prompts"),
        ({"order": "oldest"}, "newest"),
        ({"limit": 0}, "at least 1"),
        ({"limit": -1}, "at least 1"),
        ({"context": -1}, "at least 0"),
        ({"agent": ["cloude"]}, "claude"),
        ({"speaker": ["user"]}, "person"),
        ({"kind": ["prompts"]}, "prompt"),
        ({"cwd": " "}, "cwd"),
        ({"project": ""}, "project"),
        ({"on": "2026-01-02", "since": "2026-01-01"}, "--on"),
        ({"since": "2026-01-02", "until": "2026-01-01"}, "before"),
        ({"on": "someday"}, "2026-01-31"),
        ({"since": "2026-02-30"}, "calendar"),
    ],
)
def test_misuse_is_said_in_one_line(given: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        request(["x"], **given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("texts", [[""], [" "], ["\n\t"], ['""'], ['" "'], ['"open'], []])
def test_a_request_for_nothing_is_refused(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        request(texts)


def test_the_order_is_by_relevance_where_there_is_a_text() -> None:
    assert request(["x"]).order == "relevance"
    assert request(agent=["codex"]).order == "newest"
    assert request(["x"], order="scan").order == "scan"
