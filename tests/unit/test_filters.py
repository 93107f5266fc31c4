from __future__ import annotations

import pytest

from deepgrep.engine.order import below, passes, project
from deepgrep.model import Filters, Record, Source

RECORD = Record(
    Source("codex", "codex.sessions", "transcript", "/c/r.jsonl", "r.jsonl", 1, 1),
    0,
    0,
    "agent",
    "reply",
    "text",
    time_us=1_000,
    cwd="/work/app/src",
    repo="git@example.org:team/tool.git",
    branch="main",
    model="Model-5",
)


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/work/app", "/work/app", True),
        ("/work/app/src", "/work/app", True),
        ("/work/apple", "/work/app", False),
        ("/work", "/work/app", False),
        ("/work/app/", "/work/app", True),
        ("/work/app", "/work/app/", True),
        ("/work", "/", True),
        (r"C:\work\app", "c:/work", True),
        (r"C:\work\app", "D:/work", False),
        (r"\\host\share\x", r"\\host\share", True),
        ("work/app", "/work", False),
        ("/work/App", "/work/app", False),
        ("", "/work", False),
        ("/work//app", "/work/app", True),
    ],
)
def test_below_goes_by_whole_segments(path: str, folder: str, inside: bool) -> None:
    assert below(path, folder) is inside


@pytest.mark.parametrize(
    ("cwd", "repo", "name"),
    [
        ("/work/app/src", None, "src"),
        ("/work/app/src", "/work/app", "app"),
        ("/work/app", "https://x.org/a/b.git", "app"),
        ("/", None, None),
        (None, None, None),
        (None, "/work/app/", "app"),
        (r"C:\work\app", None, "app"),
        ("/work/app", "git@x.org:a/b", "app"),
    ],
)
def test_the_project_is_the_last_segment_of_its_root(cwd: str | None, repo: str | None, name: str | None) -> None:
    assert project(RECORD._replace(cwd=cwd, repo=repo)) == name


@pytest.mark.parametrize(
    ("filters", "admitted"),
    [
        ({}, True),
        ({"agents": ("codex",)}, True),
        ({"agents": ("claude",)}, False),
        ({"cwd": "/work"}, True),
        ({"cwd": "/work/app/s"}, False),
        ({"project": "src"}, True),
        ({"project": "sr"}, False),
        ({"project": "app"}, False),
        ({"branch": "main"}, True),
        ({"branch": "mai"}, False),
        ({"repo": "tool"}, True),
        ({"repo": "team/tool"}, True),
        ({"repo": "am/tool"}, False),
        ({"repo": "git@example.org:team/tool.git"}, True),
        ({"speakers": ("agent",)}, True),
        ({"speakers": ("person",)}, False),
        ({"kinds": ("reply",)}, True),
        ({"kinds": ("plan",)}, False),
        ({"model": "model"}, True),
        ({"model": "other"}, False),
        ({"since_us": 1_000}, True),
        ({"since_us": 1_001}, False),
        ({"until_us": 1_000}, False),
        ({"until_us": 1_001}, True),
        ({"since_us": 1_000, "until_us": 1_001}, True),
    ],
)
def test_filters_admit_what_was_asked_for(filters: dict[str, object], admitted: bool) -> None:
    assert passes(RECORD, Filters(**filters)) is admitted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "filters", [{"cwd": "/"}, {"project": "x"}, {"repo": "x"}, {"branch": "x"}, {"model": "x"}, {"since_us": 0}, {"until_us": 9}]
)
def test_what_a_record_does_not_say_is_not_what_was_asked_for(filters: dict[str, object]) -> None:
    unknown = RECORD._replace(cwd=None, repo=None, branch=None, model=None, time_us=None)
    assert not passes(unknown, Filters(**filters))  # type: ignore[arg-type]
