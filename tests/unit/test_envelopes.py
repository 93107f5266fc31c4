"""Texts under Claude Code's user role, cut at their envelopes; and what its tool results hold."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pytest

from deepgrep import search
from deepgrep.stores._shapes.envelopes import utterances
from homes import jsonl, write

NOTE = "<system-reminder>\nbe brief\n</system-reminder>"
NESTED = "<system-reminder>a <system-reminder>x</system-reminder> b</system-reminder>"
OUT = "<local-command-stdout>3 gulls</local-command-stdout>"
Parts = list[tuple[str, str, str]]


def context(text: str) -> tuple[str, str, str]:
    return "runtime", "context", text


def notice(text: str) -> tuple[str, str, str]:
    return "runtime", "notice", text


def prompt(text: str) -> tuple[str, str, str]:
    return "person", "prompt", text


CASES: list[tuple[str, Parts]] = [
    # reminders behind the words
    (f"count them\n\n{NOTE}", [prompt("count them"), context(NOTE)]),
    (f"count them {NOTE}\n", [prompt("count them"), context(f"{NOTE}\n")]),
    (f"count them\n{NOTE}\n\n{NESTED}", [prompt("count them"), context(f"{NOTE}\n\n{NESTED}")]),
    (f"{NOTE}\ncount them\n{NOTE}", [context(NOTE), prompt("count them"), context(NOTE)]),
    (f"what does <system-reminder> do?\n{NOTE}", [prompt("what does <system-reminder> do?"), context(NOTE)]),
    (f"<command-name>/plan</command-name>\n{NOTE}", [("person", "command", "/plan"), context(NOTE)]),
    (f"{NOTE}\n{NOTE}", [context(f"{NOTE}\n{NOTE}")]),
    # a prompt that talks of them
    *[
        (text, [prompt(text)])
        for text in (
            "Why do my logs contain <system-reminder> tags?",
            "Is <system-reminder>x</system-reminder> meant for me?",
            "is it`<system-reminder>x</system-reminder>",
            "what is <system-reminder>",
            "what is </system-reminder>",
            f"{NOTE[1:]} and more",
            f"one\n{NOTE}\ntwo",
        )
    ],
    # nested ones
    (NESTED, [context(NESTED)]),
    (f"{NESTED} hello", [context(NESTED), prompt("hello")]),
    (f"hello\n{NESTED}", [prompt("hello"), context(NESTED)]),
    (
        f"<system-reminder>of <system-reminder> tags</system-reminder> hello\n{NOTE}",
        [context("<system-reminder>of <system-reminder> tags</system-reminder>"), prompt("hello"), context(NOTE)],
    ),
    # a command's output before the words
    (OUT, [notice(OUT)]),
    (f"{OUT}\nnow the terns", [notice(OUT), prompt("now the terns")]),
    *[
        (f"<{tag}>3 gulls</{tag}> now the terns", [notice(f"<{tag}>3 gulls</{tag}>"), prompt("now the terns")])
        for tag in ("local-command-stderr", "bash-stdout", "bash-stderr", "local-command-caveat")
    ],
    (
        "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>\n/plan it",
        [notice("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), ("person", "command", "/plan it")],
    ),
    (f"{NOTE}\n{OUT}\nnow the terns\n{NOTE}", [context(NOTE), notice(OUT), prompt("now the terns"), context(NOTE)]),
    (f"{OUT}\n{NOTE}\nnow", [notice(OUT), context(NOTE), prompt("now")]),
    (
        "<local-command-caveat>c</local-command-caveat>\n<command-name>/plan</command-name>",
        [notice("<local-command-caveat>c</local-command-caveat>"), ("person", "command", "/plan")],
    ),
    (
        "what prints <local-command-stdout>x</local-command-stdout>?",
        [prompt("what prints <local-command-stdout>x</local-command-stdout>?")],
    ),
    ("<local-command-stdout>never closed", [prompt("<local-command-stdout>never closed")]),
]


@pytest.mark.parametrize(("text", "parts"), CASES)
def test_a_text_is_cut_at_its_envelopes(text: str, parts: Parts) -> None:
    found = list(utterances(text))
    assert [(said.speaker, said.kind, said.text) for said in found] == parts
    assert all(said.text in text for said in found if said.kind != "command")


@pytest.mark.parametrize(
    "piece",
    [
        "<system-reminder>",
        "</system-reminder>",
        "<system-reminder><system-reminder></system-reminder>",
        f"x {NOTE} ",
        f"{NOTE}{OUT}",
        " " * 20,
    ],
)
def test_any_number_of_marks_is_cut_in_time(piece: str) -> None:
    text = piece * (2_000_000 // len(piece))
    start = perf_counter()
    for tried in (text, f"{text}\n{NOTE}", f"{NOTE}{text} end"):
        list(utterances(tried))
    assert perf_counter() - start < 10


# --- tool results ---------------------------------------------------------------------------------------------------

SESSION = ".claude/projects/-x/7e0a0000-0000-4000-8000-0000000000a1.jsonl"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def texts(home: Path, content: object, beside: object = None, **filters: object) -> list[str]:
    row = {
        "type": "user", "sessionId": "7e0a0000-0000-4000-8000-0000000000a1", "uuid": "u1", "timestamp": "2026-11-05T10:00:00.000Z",
        "message": {"role": "user", "content": content}, "toolUseResult": beside,
    }  # fmt: skip
    write(home, {SESSION: jsonl(row)})
    found = search(agent="claude", effort="exhaustive", scope="all", home=home, **filters)
    return [result.record.text for result in found.results]


@pytest.mark.parametrize(
    ("content", "beside", "text"),
    [
        ([IMAGE], {"stdout": "a gull", "stderr": ""}, "a gull"),
        ([IMAGE, {"type": "text", "text": " \n"}], "a gull", "a gull"),
        ("", {"stdout": "a gull"}, "a gull"),
        ("cut…", {"stdout": "whole and longer"}, "cut…"),
        ([IMAGE, {"type": "text", "text": "shown"}], {"stdout": "whole and longer"}, "shown"),
        (["one", {"type": "text", "text": "two"}], None, "one\ntwo"),
    ],
)
def test_a_tool_result_is_what_the_model_saw_else_what_stands_beside_it(content: object, beside: object, text: str, tmp_path: Path) -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    assert texts(tmp_path, [block], beside, kind="tool_result") == [text]


def test_a_bare_string_among_blocks_is_a_block_of_text(tmp_path: Path) -> None:
    assert texts(tmp_path, ["count the gulls"], speaker="person") == ["count the gulls"]
