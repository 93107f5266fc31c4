"""What a Codex tool put out: shown whole, whatever it looks like, and told once where an event tells it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepgrep import search
from deepgrep.stores._shapes.injected import cuts
from homes import jsonl, write

ROLLOUT = ".codex/sessions/2026/11/05/rollout-2026-11-05T10-00-00-0c0d0000-0000-7000-8000-0000000000a1.jsonl"
WHOLE = [
    '{"message":"Not Found","documentation_url":"https://docs.example/needle"}',
    '[{"text":"hi","user":"needle"}]',
    '[{"type":"text","text":"hi","user":"needle"}]',
    '[{"type":"text","text":"hi"},{"needle":1}]',
    '{"name":"pkg","content":"short","dependencies":{"needle":"1"}}',
    '{"output":"ok\\n","metadata":{"exit_code":0},"stderr":"needle"}',
    '{"output":"ok\\n","metadata":{"exit_code":0,"note":"needle"}}',
    '{"output":["needle"],"metadata":{"exit_code":0}}',
    '{"output":"needle"}',
    '{"Ok":"fine","needle":2}',
    '["needle", "other"]',
    '"needle"',
    '  {"message": "needle"}\n',
    '{"message": "needle',
]
OUTPUTS: list[tuple[object, str]] = [
    *[(text, text) for text in WHOLE],
    ('{"output":"tide\\nup\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}', "tide\nup\n"),
    ('{"metadata":{},"output":"tide"}', "tide"),
    ('[{"type":"text","text":"high\\nwater"},{"type":"text","text":"low"}]', "high\nwater\nlow"),
    ('[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}]', "a"),
    ('{"output":"","metadata":{"exit_code":3}}', '{"output":"","metadata":{"exit_code":3}}'),
    ([{"type": "input_text", "text": "a"}, "b", {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}], "a\nb"),
    ([{"type": "input_text", "text": "a", "annotations": None}], "a"),
    ([{"text": "hi", "user": "needle"}], "text: hi\nuser: needle"),
    ([{"type": "resource", "resource": {"uri": "x", "text": "needle"}}], "type: resource\nresource:\nuri: x\ntext: needle"),
    ({"output": "tide", "metadata": {"exit_code": 0}}, "tide"),
    ({"content": "tide", "success": True}, "tide"),
    ({"content": [{"type": "text", "text": "tide"}], "isError": False, "structuredContent": None}, "tide"),
    ({"content": "short", "name": "needle"}, "content: short\nname: needle"),
    ({"output": "ok", "stderr": "needle"}, "output: ok\nstderr: needle"),
    ({"exit": 3, "ratio": 1.50}, "exit: 3\nratio: 1.5"),
    (17, "17"),
]


def item(**payload: object) -> dict[str, object]:
    return {"timestamp": "2026-11-05T10:00:01.000Z", "type": "response_item", "payload": payload}


def event(**payload: object) -> dict[str, object]:
    return {"timestamp": "2026-11-05T10:00:02.000Z", "type": "event_msg", "payload": payload}


def results(home: Path, *texts: str) -> list[str]:
    found = search(*texts, agent="codex", effort="exhaustive", scope="all", kind="tool_result", literal=True, dedupe=False, home=home)
    return [result.record.text for result in found.results]


@pytest.mark.parametrize(("output", "text"), OUTPUTS)
def test_nothing_of_an_output_is_lost(output: object, text: str, tmp_path: Path) -> None:
    write(tmp_path, {ROLLOUT: jsonl(item(type="function_call_output", call_id="c1", output=output))})
    assert results(tmp_path) == [text]
    for word in text.split():
        assert results(tmp_path, word) == [text], word


@pytest.mark.parametrize("output", [*WHOLE, "tide 3\n"])
def test_a_command_event_that_repeats_its_output_is_told_once(output: str, tmp_path: Path) -> None:
    ran = {"type": "CommandExecution", "id": "c1", "command": ["cat", "x"], "aggregated_output": output}
    wrapped = json.dumps({"output": output, "metadata": {"exit_code": 0}})
    for stored in (output, wrapped, f"Exit code: 0\nOutput:\n{output}"):
        rows = (
            item(type="function_call", name="shell", arguments='{"command":["cat","x"]}', call_id="c1"),
            event(type="item_completed", item=ran),
            item(type="function_call_output", call_id="c1", output=stored),
        )
        write(tmp_path, {ROLLOUT: jsonl(*rows)})
        assert results(tmp_path) == [output if stored == wrapped else stored]


@pytest.mark.parametrize(
    ("result", "stored"),
    [
        ({"Ok": {"content": [{"type": "text", "text": 'a\n"b"'}]}}, '[{"type":"text","text":"a\\n\\"b\\""}]'),
        ({"Ok": {"content": [{"type": "text", "text": "a\nb", "mark": "c"}]}}, '[{"type":"text","text":"a\\nb","mark":"c"}]'),
        ({"Ok": {"content": [{"type": "text", "text": '{"n": 3}'}], "structuredContent": {"n": 3}}}, '{"n":3}'),
        ({"Err": "no such\ntool"}, "no such\ntool"),
    ],
)
def test_an_mcp_event_that_repeats_its_output_is_told_once(result: object, stored: str, tmp_path: Path) -> None:
    rows = (
        item(type="function_call", name="t", arguments="{}", call_id="c1"),
        event(type="mcp_tool_call_end", call_id="c1", invocation={"server": "s", "tool": "t", "arguments": {}}, result=result),
        item(type="function_call_output", call_id="c1", output=stored),
    )
    write(tmp_path, {ROLLOUT: jsonl(*rows)})
    assert len(results(tmp_path)) == 1


def test_an_output_of_images_alone_says_nothing(tmp_path: Path) -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    rows = [item(type="function_call_output", call_id="c1", output=output) for output in ([image], json.dumps([image]))]
    write(tmp_path, {ROLLOUT: jsonl(*rows)})
    assert results(tmp_path) == []


def test_what_a_tool_tells_beside_its_text_is_kept(tmp_path: Path) -> None:
    told = {"Ok": {"content": [{"type": "text", "text": "found it"}], "structuredContent": {"place": "needle"}}}
    write(tmp_path, {ROLLOUT: jsonl(event(type="mcp_tool_call_end", call_id="c1", invocation={"tool": "t"}, result=told))})
    assert results(tmp_path, "needle") == ["found it\nplace: needle"]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff<environment_context><cwd>/x</cwd></environment_context>",
        " \ufeff\n# AGENTS.md instructions for /x\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>",
        "<environment_context>a</environment_context>\ufeff\n<user_instructions>b</user_instructions>",
    ],
)
def test_a_byte_order_mark_hides_no_fragment(text: str) -> None:
    assert {(cut.said.speaker, cut.basis) for cut in cuts(text, 0)} == {("runtime", "marked")}


def test_a_byte_order_mark_before_a_fragment_leaves_what_follows_to_the_person() -> None:
    found = [(cut.said.speaker, cut.said.text) for cut in cuts("\ufeff<environment_context>a</environment_context>\n\ufeffhello", 0)]
    assert found == [("runtime", "<environment_context>a</environment_context>"), ("person", "hello")]
