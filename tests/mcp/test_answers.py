"""What the tools answer: the engine's own results and summary, within the budget, valid, without secrets and echoes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from mcp.client import Client
from mcp_types import ElicitResult

import deepgrep
from clients import answer, prompts, refused, talk
from deepgrep import redact as rules
from deepgrep.cli.main import main
from deepgrep.engine.coverage import truncated
from deepgrep.engine.echo import is_echo
from deepgrep.library import machine
from deepgrep.mcp.answers import Setting
from deepgrep.mcp.budget import BYTES_PER_TOKEN, excerpt
from deepgrep.mcp.text import INSTRUCTIONS
from deepgrep.mcp.tools import SPECS, input_schema, output_schema
from deepgrep.model import Record, Source
from homes import SAMPLE, jsonl, write
from ledger import Ledger

GOLDEN = Path(__file__).with_name("schemas.json")


def at(home: Path, **changes: object) -> Setting:
    return Setting(machine(home))._replace(**changes)  # type: ignore[arg-type]


def refs(document: dict[str, object]) -> list[str]:
    results = document["results"]
    assert isinstance(results, list)
    return [one["ref"] for one in results]


# --- the published surface


def test_the_published_schemas_are_the_recorded_ones(updating: bool) -> None:
    made = {spec.name: {"description": spec.description, "input": input_schema(spec), "output": output_schema(spec)} for spec in SPECS}
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    if updating:
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text, "python -m pytest tests/mcp --update-goldens, and read the diff"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_five_tools_that_only_read_with_schemas_that_are_schemas(mode: str) -> None:
    async def asks(client: Client) -> None:
        found = (await client.list_tools()).tools
        assert [tool.name for tool in found] == ["search", "read", "recent", "sources", "explain"]
        for tool in found:
            assert tool.annotations is not None
            hints = tool.annotations
            assert (hints.read_only_hint, hints.idempotent_hint, hints.open_world_hint) == (True, True, False)
            assert "not" in (tool.description or "").lower()  # when not to use it
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema or {})
            assert not any("" in shape.get("enum", ()) for shape in tool.input_schema["properties"].values())

    talk(asks, mode=mode)


def test_instructions_teach_the_ladder_in_ten_lines() -> None:
    assert len(INSTRUCTIONS.strip().splitlines()) <= 10
    steps = [INSTRUCTIONS.index(word) for word in ("prompt effort", "targeted", "exhaustive")]
    assert steps == sorted(steps)
    assert "never instructions" in INSTRUCTIONS


def test_resources_and_prompts() -> None:
    async def asks(client: Client) -> None:
        listed = (await client.list_resources()).resources
        pages = {str(one.uri): (await client.read_resource(one.uri)).contents[0].text for one in listed}  # type: ignore[union-attr]
        assert set(pages) == {"deepgrep://query-language", "deepgrep://stores", "deepgrep://capabilities"}
        assert "`kind:`" in pages["deepgrep://query-language"]
        assert {one["id"] for one in json.loads(pages["deepgrep://stores"])["agents"]} == {"claude", "codex"}
        assert json.loads(pages["deepgrep://capabilities"])["reads_only"] is True
        given = await client.get_prompt("what_was_tried", {"error": "E-1234"})
        assert "E-1234" in given.messages[0].content.text  # type: ignore[union-attr]
        assert {one.name for one in (await client.list_prompts()).prompts} == {"find_decision", "what_was_tried"}

    talk(asks)


# --- the same answer everywhere


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["--exhaustive", "--scope", "all", "idempotency"], {"query": "idempotency", "effort": "exhaustive"}),
        (["--deep", "checkout"], {"query": "checkout", "effort": "targeted"}),
        (["checkout"], {"query": "checkout"}),
        (
            ["--exhaustive", "--scope", "all", "--order", "newest", "--limit", "3", "the"],
            {"query": "the", "scope": "all", "order": "newest", "limit": 3},
        ),
        (["--any", "--exhaustive", "--scope", "all", "migration charge"], {"query": "migration charge", "match": "any", "scope": "all"}),
        (
            ["--exhaustive", "--scope", "all", "--kind", "tool_call", "--agent", "codex"],
            {"kind": ["tool_call"], "agent": ["codex"], "scope": "all"},
        ),
    ],
)  # fmt: skip
def test_one_request_gives_the_same_refs_in_the_same_order_on_every_surface(
    words: list[str], arguments: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["search", "--home", str(SAMPLE), "--json", *words])
    printed = json.loads(capsys.readouterr().out)
    request = printed["summary"]["request"]
    options = {name: value for name, value in request.items() if name != "texts" and value is not None}
    if request["effort"] != "targeted":
        options.pop("conversation_limit", None)
    library = deepgrep.search(request["texts"], home=SAMPLE, **options)

    async def asks(client: Client) -> None:
        given = await answer(client, "search", **{"limit": 1000, "max_tokens": 200_000, "echoes": True, **arguments})
        assert refs(given) == refs(printed)
        assert given["summary"]["request"] == {**request, "limit": given["summary"]["limit"]}  # type: ignore[index]
        varies = {"elapsed_s": 0, "limit": 0, "request": 0}
        assert {**given["summary"], **varies} == {**printed["summary"], **varies}  # type: ignore[dict-item]

    talk(asks)
    from deepgrep.refs import ref

    assert [ref(one.record) for one in library.results] == refs(printed)
    assert refs(printed)


def test_prompt_effort_opens_no_conversation_and_nothing_is_written(
    ledger: Ledger, private: Callable[[Path], Path], unchanged: Callable[[Path], None]
) -> None:
    home = private(SAMPLE)
    unchanged(home)
    ledger.opened.clear()  # copying opens too

    async def asks(client: Client) -> None:
        found = await answer(client, "search", query="checkout")
        await answer(client, "recent")
        await answer(client, "sources")
        await answer(client, "explain", query="checkout", effort="exhaustive")
        assert ledger.opened_below(home) == {".claude/history.jsonl", ".codex/history.jsonl"}
        await answer(client, "read", ref=refs(found)[0])
        await answer(client, "search", query="checkout", effort="exhaustive")

    talk(asks, at(home))


# --- reading


def test_a_result_is_read_and_gone_on_from_to_the_end() -> None:
    async def asks(client: Client) -> None:
        found = await answer(client, "search", query="idempotency", effort="exhaustive")
        near = await answer(client, "read", ref=refs(found)[0], around=1)
        hit = near["hit"]
        assert isinstance(hit, dict)
        assert any(one["is_hit"] and one["ref"] == hit["ref"] for one in near["records"])  # type: ignore[union-attr]
        name = near["conversation"]["conversation_id"]  # type: ignore[index,call-overload]
        whole = await answer(client, "read", ref=name, limit=10_000, max_tokens=200_000)
        texts = {one["number"]: one["text"] for one in whole["records"]}  # type: ignore[union-attr]
        assert whole["cursor"] is None
        pieces: dict[int, str] = {}
        cursor = "1.0"
        while cursor:
            part = await answer(client, "read", ref=name, cursor=cursor, max_tokens=1_000)
            for one in part["records"]:  # type: ignore[union-attr]
                pieces[one["number"]] = pieces.get(one["number"], "") + one["text"]
                assert one["text_start"] + len(one["text"]) == len(pieces[one["number"]])
            assert part["cursor"] != cursor
            cursor = str(part["cursor"] or "")
        assert pieces == texts

    talk(asks)


def test_a_record_longer_than_the_budget_is_read_piece_by_piece(tmp_path: Path) -> None:
    text = "".join(f"{n} ünïcode « plank » \n" for n in range(3_000))
    row = {"display": text, "timestamp": 1, "project": "/x", "sessionId": "5eed0000-0000-4000-8000-000000000001"}
    home = write(tmp_path, {".claude/history.jsonl": jsonl(row)})

    async def asks(client: Client) -> None:
        ref = refs(await answer(client, "search", query="plank"))[0]
        part = await answer(client, "read", ref=ref, max_tokens=2_000)
        got, rounds = "", 0
        while True:
            (one,) = part["records"]  # type: ignore[misc]
            got, rounds = got + one["text"], rounds + 1
            if part["cursor"] is None:
                break
            part = await answer(client, "read", ref=ref, cursor=part["cursor"], max_tokens=2_000)
        assert got == text.strip() or got == text
        assert rounds > 5

    talk(asks, at(home))


def test_recent_lists_conversations_latest_first() -> None:
    async def asks(client: Client) -> None:
        found = (await answer(client, "recent"))["conversations"]
        assert isinstance(found, list)
        assert [one["ended"] for one in found] == sorted((one["ended"] for one in found), reverse=True)
        assert len({one["conversation_id"] for one in found}) == len(found)
        shop = await answer(client, "recent", project="shop", limit=1)
        assert [one["project"] for one in shop["conversations"]] == ["shop"]  # type: ignore[union-attr]
        assert shop["more"] == 1
        await answer(client, "read", ref=found[0]["ref"])
        await answer(client, "read", ref=found[0]["conversation_id"])

    talk(asks)


# --- budget


@pytest.mark.parametrize("tokens", [1_000, 1_500, 3_000, 8_000])
def test_whole_trailing_results_are_left_out_and_said(many: Path, tokens: int) -> None:
    async def asks(client: Client) -> None:
        all_of_them = await answer(client, "search", query="ferry", limit=200, max_tokens=200_000)
        some = await answer(client, "search", query="ferry", limit=200, max_tokens=tokens)
        kept = refs(some)
        assert kept == refs(all_of_them)[: len(kept)]
        left = some["budget"]["left_out"]  # type: ignore[index,call-overload]
        assert len(kept) + left == 200
        status = some["summary"]["status"]  # type: ignore[index,call-overload]
        assert status == {"state": "truncated", "reason": "response_truncated", "conditions": ["response_truncated"]}
        said = [one for one in some["summary"]["diagnostics"] if one["code"] == "response_truncated"]  # type: ignore[index,call-overload]
        assert [one["count"] for one in said] == [left]

    talk(asks, at(many))


def test_an_answer_is_valid_where_not_even_one_result_fits() -> None:
    async def asks(client: Client) -> None:
        given = await answer(client, "search", query="idempotency", effort="exhaustive", max_tokens=1_000)
        assert given["results"] == []
        assert given["summary"]["match_count"] > 0  # type: ignore[index,call-overload]
        assert given["summary"]["next_actions"] == []  # type: ignore[index,call-overload]

    talk(asks)


def test_truncation_yields_to_what_is_worse() -> None:
    summary = deepgrep.search("checkout", home=SAMPLE).summary
    failed = summary._replace(status=summary.status._replace(state="failed", reason="source_failure", conditions=("source_failure",)))
    assert truncated(failed, 3).status.state == "failed"
    assert truncated(failed, 3).status.conditions == ("source_failure", "response_truncated")
    assert truncated(summary, 0) is summary


def test_excerpts_stand_around_matches_with_their_spans() -> None:
    text = "start " + "x " * 2_000 + "needle one" + " y" * 2_000 + " needle two " + "z " * 2_000
    spans = [(at, at + 6) for at in (text.index("needle one"), text.index("needle two"))]
    shown = excerpt(text, spans, redacting=True)
    assert len(shown.text) < 400
    assert [shown.text[low:high] for low, high in shown.spans] == ["needle", "needle"]
    huge = "q" * 300_000 + " needle " + "q" * 300_000
    shown = excerpt(huge, [(300_001, 300_007)], redacting=True)
    assert [shown.text[low:high] for low, high in shown.spans] == ["needle"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")


# --- secrets and echoes

TOKEN = "ghp_" + "aB3dE6gH9" * 4


def test_secrets_are_masked_unless_the_person_said_otherwise(tmp_path: Path) -> None:
    home = write(tmp_path, {".claude/history.jsonl": prompts(1, "the ferry key is " + TOKEN + " for {}")})

    async def masked(client: Client) -> None:
        for tool, arguments in (("search", {"query": "ferry"}), ("recent", {}), ("read", {"ref": "00000000-0000-4000-8000-000000000001"})):
            given = await answer(client, tool, **arguments)
            assert TOKEN not in json.dumps(given)
            assert "[redacted: github-token]" in json.dumps(given)
            assert given["redactions"] == 1

    async def open_(client: Client) -> None:
        given = await answer(client, "search", query="ferry")
        assert TOKEN in json.dumps(given)
        assert given["redactions"] == 0

    talk(masked, at(home))
    talk(open_, at(home, redacting=False))


def test_the_command_line_masks_secrets_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = write(tmp_path, {".claude/history.jsonl": prompts(1, "the ferry key is " + TOKEN + " for {}")})
    for form in ([], ["--json"], ["--ndjson"], ["--explain"], ["--refs"]):
        main(["search", "--home", str(home), *form, "--redact", "ferry"])
        out = capsys.readouterr().out
        assert TOKEN not in out
        assert "[redacted: github-token]" in out
    main(["search", "--home", str(home), "ferry"])
    assert TOKEN in capsys.readouterr().out


def tool_record(text: str, tool: str | None = None, kind: str = "tool_result", speaker: str = "tool") -> Record:
    source = Source("claude", "claude.sessions", "transcript", "/x", "x", 0, 0)
    return Record(source, 0, 0, speaker, kind, text, tool=tool)  # type: ignore[arg-type]


def test_what_this_program_printed_is_an_echo_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for words in (["search"], ["search", "--json"], ["search", "--ndjson"], ["search", "--no-group", "--refs"]):
        main([*words, "--home", str(SAMPLE), "--exhaustive", "--scope", "all", "idempotency"])
        outputs.append(capsys.readouterr().out)
    main(["show", "--home", str(SAMPLE), "--json", json.loads(outputs[1])["results"][0]["ref"]])
    outputs.append(capsys.readouterr().out)
    main(["search", "--home", str(SAMPLE), "nothing-of-the-kind"])
    outputs.append(capsys.readouterr().out)
    for out in outputs:
        assert is_echo(tool_record(out)), out[:200]
        assert is_echo(tool_record(json.dumps([{"type": "text", "text": out}]))) or "\n" in out
        assert not is_echo(tool_record(out, speaker="person", kind="prompt"))
        assert not is_echo(tool_record(out, speaker="agent", kind="reply"))


@pytest.mark.parametrize("name", ["mcp__deepgrep__search", "deepgrep_read", "deepgrep.search", "deepgrep/search"])
def test_calls_of_this_server_are_echoes(name: str) -> None:
    assert is_echo(tool_record(name + "\nquery: ferry", tool=name, kind="tool_call"))


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("Bash\ncommand: deepgrep search --exhaustive ferry", True),
        ("Bash\ncommand: cd /src && deepgrep grep ferry | head", True),
        ("Bash\ncommand: rg -n deepgrep docs/", False),
        ("Bash\ncommand: pytest tests/test_search.py -k ferry", False),
    ],
)
def test_commands_that_run_this_program_are_echoes(text: str, echo: bool) -> None:
    assert is_echo(tool_record(text, tool="Bash", kind="tool_call")) is echo


@pytest.mark.parametrize(
    "text", ['"ref": "main"', "3 results; read the docs", "  2026-01-01 10:00  commit: x", '"requested_effort": effort', "ferry"]
)
def test_what_only_looks_alike_is_no_echo(text: str) -> None:
    assert not is_echo(tool_record(text))


def test_echoes_are_left_out_counted_and_given_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["search", "--home", str(SAMPLE), "--json", "checkout"])
    echo = capsys.readouterr().out
    result = {"type": "tool_result", "tool_use_id": "t", "content": echo}
    rows = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "find checkout"}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [result]}},
    ]
    base = {"sessionId": "5eed0000-0000-4000-8000-000000000001", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/src/x"}
    lines = jsonl(*({**base, **row} for row in rows))
    home = write(tmp_path, {".claude/projects/-src-x/5eed0000-0000-4000-8000-000000000001.jsonl": lines})

    async def asks(client: Client) -> None:
        without = await answer(client, "search", query="checkout", effort="exhaustive")
        assert [one["speaker"] for one in without["results"]] == ["person"]  # type: ignore[union-attr]
        assert without["summary"]["coverage"]["records"]["withheld"] == {"context": 0, "echo": 1}  # type: ignore[index,call-overload]
        assert "echo" in [one["code"] for one in without["summary"]["diagnostics"]]  # type: ignore[index,call-overload]
        both = await answer(client, "search", query="checkout", effort="exhaustive", echoes=True)
        assert len(both["results"]) == 2  # type: ignore[arg-type]

    talk(asks, at(home))
    main(["search", "--home", str(home), "--exhaustive", "--scope", "all", "--json", "--no-echoes", "checkout"])
    assert len(json.loads(capsys.readouterr().out)["results"]) == 1


# --- next actions


def test_an_offered_action_is_carried_out() -> None:
    async def asks(client: Client) -> None:
        first = await answer(client, "search", query="idempotency")
        offered = [one["id"] for one in first["summary"]["next_actions"]]  # type: ignore[index,call-overload]
        assert offered == ["search.targeted", "search.exhaustive"]
        assert first["summary"]["next_actions"][0]["patch"] == {"effort": "targeted", "scope": "all"}  # type: ignore[index,call-overload]
        then = await answer(client, "search", query="idempotency", action="search.exhaustive")
        assert then["summary"]["requested_effort"] == "exhaustive"  # type: ignore[index,call-overload]
        line = await refused(client, "search", query="idempotency", effort="exhaustive", action="search.targeted")
        assert line.startswith("action: ")

    talk(asks)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("reply", "effort"), [("accept", "targeted"), ("decline", "prompt"), (None, "prompt")])
def test_a_scope_that_was_given_is_widened_only_with_the_persons_word(mode: str, reply: str | None, effort: str) -> None:
    asked: list[str] = []

    async def person(context: object, params: object) -> ElicitResult:
        asked.append(params.message)  # type: ignore[attr-defined]
        return ElicitResult(action=reply, content={"confirm": True} if reply == "accept" else None)  # type: ignore[arg-type]

    async def asks(client: Client) -> None:
        given = await answer(client, "search", query="checkout", scope="prompts", action="search.targeted")
        assert given["summary"]["requested_effort"] == effort  # type: ignore[index,call-overload]
        if effort == "prompt":  # it is offered still
            assert "search.targeted" in [one["id"] for one in given["summary"]["next_actions"]]  # type: ignore[index,call-overload]

    talk(asks, mode=mode, **({"elicitation_callback": person} if reply else {}))
    assert len(asked) == (1 if reply else 0)


# --- errors


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("search", {"query": "x", "effort": "s3cretvalue"}, "effort"),
        ("search", {"query": "x", "limit": "s3cretvalue"}, "limit"),
        ("search", {"query": "x", "limit": 0}, "limit"),
        ("search", {"query": "x", "since": "s3cretvalue"}, "since"),
        ("search", {"query": "agent:s3cretvalue y"}, "query"),
        ("search", {"query": "(s3cretvalue OR"}, "query"),
        ("search", {"query": "s3cretvalue", "effort": "prompt", "scope": "all"}, "effort"),
        ("search", {"query": "s3cretvalue", "conversation_limit": 3}, "conversation_limit"),
        ("search", {"query": "x" * 3_000}, "query"),
        ("search", {"s3cretvalue": 1}, "arguments"),
        ("search", {}, "query"),
        ("search", {"query": "x", "agent": ["s3cretvalue"]}, "agent"),
        ("search", {"query": "x", "max_tokens": 1}, "max_tokens"),
        ("read", {"ref": "s3cretvalue"}, "ref"),
        ("read", {"ref": "claude.sessions:0123456789abcd:0.0:012345"}, "ref"),
        ("read", {}, "ref"),
        ("read", {"ref": "x", "cursor": "s3cretvalue"}, "cursor"),
        ("recent", {"project": ["s3cretvalue"]}, "project"),
    ],
)
def test_a_refusal_is_one_line_that_names_the_field_and_not_the_value(
    tool: str, arguments: dict[str, object], field: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def asks(client: Client) -> None:
        line = await refused(client, tool, **arguments)
        assert line.startswith(f"{field}: ")
        assert "s3cretvalue" not in line

    talk(asks)
    assert capfd.readouterr().err == ""


def test_null_stands_for_left_out() -> None:
    async def asks(client: Client) -> None:
        assert refs(await answer(client, "search", query="checkout", effort=None, limit=None, agent=None))

    talk(asks)


def test_the_estimate_is_the_stated_one(many: Path) -> None:
    async def asks(client: Client) -> None:
        given = await answer(client, "search", query="ferry", limit=200)
        size = len(json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode())
        assert 8_000 * 0.9 < size / BYTES_PER_TOKEN <= 8_000  # and no room is wasted

    talk(asks, at(many))


def test_no_rule_names_a_literal_that_its_pattern_lacks() -> None:
    assert all(rule.literals for rule in rules.RULES)
