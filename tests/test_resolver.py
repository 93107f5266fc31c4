"""The table that makes effort and scope, row by row, for every surface. The rows are those of docs/design, copied by hand."""

from __future__ import annotations

import pytest

from deepgrep.engine.resolve import controls, patched, query
from deepgrep.errors import UsageError

ERROR = None
# effort given, scope given, (command line, terminal interface), (MCP, library); "-" = left out
TABLE: list[tuple[str, str, tuple[str, str] | None, tuple[str, str] | None]] = [
    ("-", "-", ("prompt", "prompts"), ("prompt", "prompts")),
    ("-", "prompts", ("prompt", "prompts"), ("prompt", "prompts")),
    ("-", "conversations", ("exhaustive", "conversations"), ("exhaustive", "conversations")),
    ("-", "all", ("exhaustive", "all"), ("exhaustive", "all")),
    ("prompt", "-", ("prompt", "prompts"), ("prompt", "prompts")),
    ("prompt", "prompts", ("prompt", "prompts"), ("prompt", "prompts")),
    ("prompt", "conversations", ERROR, ERROR),
    ("prompt", "all", ERROR, ERROR),
    ("targeted", "-", ("targeted", "all"), ("targeted", "all")),
    ("targeted", "prompts", ERROR, ERROR),
    ("targeted", "conversations", ("targeted", "conversations"), ("targeted", "conversations")),
    ("targeted", "all", ("targeted", "all"), ("targeted", "all")),
    ("exhaustive", "-", ("exhaustive", "prompts"), ("exhaustive", "all")),
    ("exhaustive", "prompts", ("exhaustive", "prompts"), ("exhaustive", "prompts")),
    ("exhaustive", "conversations", ("exhaustive", "conversations"), ("exhaustive", "conversations")),
    ("exhaustive", "all", ("exhaustive", "all"), ("exhaustive", "all")),
]
ROWS = [
    (surface, effort, scope, people if surface in ("cli", "tui") else programs)
    for effort, scope, people, programs in TABLE
    for surface in ("cli", "tui", "mcp", "library")
]


def given(word: str) -> str | None:
    return None if word == "-" else word


@pytest.mark.parametrize(("surface", "effort", "scope", "wanted"), ROWS)
def test_the_table_decides_effort_and_scope(surface: str, effort: str, scope: str, wanted: tuple[str, str] | None) -> None:
    if wanted is ERROR:
        with pytest.raises(UsageError, match="use --"):
            controls(surface, given(effort), given(scope))  # type: ignore[arg-type]
    else:
        assert controls(surface, given(effort), given(scope)) == (*wanted, scope != "-")  # type: ignore[arg-type]


def test_the_table_has_every_pair_once() -> None:
    assert {(row[0], row[1]) for row in TABLE} == {
        (effort, scope) for effort in ("-", "prompt", "targeted", "exhaustive") for scope in ("-", "prompts", "conversations", "all")
    }


def test_deep_is_another_word_for_targeted() -> None:
    assert controls("cli", "deep", None) == ("targeted", "all", False)


def test_a_patch_changes_the_request_and_nothing_else() -> None:
    from deepgrep.wire import request

    made = query(["ferry"], surface="cli", agent=["codex"], limit=3, since="2026-01-01", dedupe=False)
    after = patched(request(made), {"effort": "exhaustive", "scope": "all"})
    assert after == made._replace(effort="exhaustive", scope="all", scope_given=True)
