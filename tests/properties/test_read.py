from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepgrep import bytesearch
from deepgrep.engine import read as reading
from deepgrep.engine.read import Task, read
from deepgrep.engine.resolve import query as request
from deepgrep.files import LINE_CAP
from deepgrep.model import Match, Query, Reading, Source
from deepgrep.query import prefilter
from nasty import needles, texts

Json = dict[str, object]
CAP = 6000  # bytes; the small line cap of some runs
WINDOWS = (1024, 1500, 4096, 65536)


class Piece(NamedTuple):
    """One physical line, and what decoding everything should count for it: records and skips, at least."""

    raw: bytes
    counts: Counter[str]


def _line(value: object, ascii_only: bool) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


# --- what the agents write --------------------------------------------------------------------------------------------

words = st.one_of(texts, needles, st.tuples(texts, st.integers(0, 1500)).map(lambda pair: pair[0] + " filler" * (pair[1] // 7) + pair[0]))
moments = st.integers(1_700_000_000, 1_760_000_000)


@st.composite
def claude_history(draw: st.DrawFn) -> Json:
    row: Json = {
        "display": draw(words),
        "pastedContents": {},
        "timestamp": draw(moments) * 1000,
        "project": "/work/a",
        "sessionId": draw(ids),
    }
    if draw(st.integers(0, 3)) == 0:
        row["display"] = f"{row['display']}[Pasted text #1 +3 lines]"
        row["pastedContents"] = {"1": {"id": 1, "type": "text", "content": draw(words)}}
    return row


ids = st.sampled_from(("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"))


def _claude(kind: str, **more: object) -> Json:
    return {
        "type": kind,
        "sessionId": "s-1",
        "uuid": "u",
        "parentUuid": None,
        "timestamp": "2026-02-03T04:05:06.789Z",
        "cwd": "/work/a",
        **more,
    }


@st.composite
def claude_transcript(draw: st.DrawFn) -> Json:
    said = draw(words)
    content: object = draw(st.sampled_from((said, [{"type": "text", "text": said}])))
    return draw(
        st.sampled_from(
            (
                _claude("user", message={"role": "user", "content": content}),
                _claude("user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": said}]}),
                _claude(
                    "user", message={"role": "user", "content": f'{said}\n\n<pasted_content id="1">\n{said}\n</pasted_content>\n\nend'}
                ),
                _claude(
                    "user", message={"role": "user", "content": f"<command-name>/do</command-name>\n<command-args>{said}</command-args>"}
                ),
                _claude("user", message={"role": "user", "content": f"<bash-input>{said}</bash-input>"}),
                _claude("assistant", message={"role": "assistant", "id": "m1", "model": "x", "content": content}),
                _claude("assistant", message={"role": "assistant", "id": "m1", "content": [{"type": "text", "text": said + said}]}),
                _claude(
                    "assistant",
                    message={
                        "role": "assistant",
                        "id": "m2",
                        "content": [{"type": "tool_use", "name": "Bash", "input": {"command": said}}],
                    },
                ),
                _claude("system", content=said),
                _claude("custom-title", customTitle=said or "x"),
                _claude("mode", mode="plan"),
                _claude("unheard-of", text=said),
            )
        )
    )


def _codex(kind: str, payload: Json) -> Json:
    return {"timestamp": "2026-02-03T04:05:06.789Z", "type": kind, "payload": payload}


@st.composite
def codex_rollout(draw: st.DrawFn) -> Json:
    said = draw(words)
    return draw(
        st.sampled_from(
            (
                _codex("session_meta", {"id": "33333333-3333-4333-8333-333333333333", "cwd": "/work/b", "instructions": said}),
                _codex("turn_context", {"cwd": "/work/c", "model": "m"}),
                _codex("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}),
                _codex(
                    "response_item",
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": f"<environment_context>{said}</environment_context>{said}"}],
                    },
                ),
                _codex("response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}),
                _codex("event_msg", {"type": "user_message", "message": said}),
                _codex("event_msg", {"type": "agent_message", "message": said}),
                _codex(
                    "response_item", {"type": "function_call", "name": "shell", "arguments": json.dumps({"command": said}), "call_id": "c"}
                ),
                _codex("response_item", {"type": "function_call_output", "output": json.dumps({"output": said}), "call_id": "c"}),
                _codex("event_msg", {"type": "task_complete", "last_agent_message": said}),
                _codex("world_state", {"text": said}),
                _codex("response_item", {"type": "unheard_of", "text": said}),
            )
        )
    )


codex_history = st.builds(lambda text, ts, native: {"session_id": native, "ts": ts, "text": text}, words, moments, ids)

STORES = {
    "claude.history": ("prompts", claude_history()),
    "claude.sessions": ("transcript", claude_transcript()),
    "codex.history": ("prompts", codex_history),
    "codex.sessions": ("transcript", codex_rollout()),
}


# --- what becomes of files --------------------------------------------------------------------------------------------


@st.composite
def physical(draw: st.DrawFn, row: st.SearchStrategy[Json]) -> Piece:
    whole = _line(draw(row), draw(st.booleans()))
    kind = draw(
        st.sampled_from(("row",) * 8 + ("blank", "nul", "scalar", "cut", "glued", "torn and whole", "invalid", "crlf", "padded", "long"))
    )
    if kind == "row":
        return Piece(whole, Counter())
    if kind == "blank":
        return Piece(draw(st.sampled_from((b"", b" ", b"\t", b"\r"))), Counter())
    if kind == "nul":
        return Piece(b"\0" * draw(st.sampled_from((3, 1100))) + draw(st.sampled_from((b"", whole))), Counter())
    if kind == "scalar":
        return Piece(draw(st.sampled_from((b"null", b"[]", b"42", b'"text"', b"true"))), Counter({"skip.malformed": 1}))
    if kind == "cut":
        return Piece(whole[: draw(st.integers(1, len(whole) - 1))], Counter({"skip.malformed": 1}))
    if kind == "glued":
        return Piece(whole + _line(draw(row), True), Counter())
    if kind == "torn and whole":
        return Piece(whole[: draw(st.integers(1, len(whole) - 1))] + _line(draw(row), True), Counter({"skip.malformed": 1}))
    if kind == "invalid":
        at = draw(st.integers(1, len(whole) - 1))
        return Piece(whole[:at] + draw(st.sampled_from((b"\xff", b"\xc4", b"\xe2\x80", b"\xf0\x9f"))) + whole[at:], Counter())
    if kind == "crlf":
        return Piece(whole + b"\r", Counter())
    if kind == "padded":
        return Piece(b"  " + whole + b" \0", Counter())
    return Piece(whole[:-1] + b" " * draw(st.sampled_from((1100, 5000, 9000))) + b"}", Counter())


@st.composite
def sources(draw: st.DrawFn) -> tuple[str, list[Piece], bytes]:
    """A store, and the lines and the bytes of one of its files."""
    store = draw(st.sampled_from(sorted(STORES)))
    lines = draw(st.lists(physical(STORES[store][1]), max_size=10))
    raw = b"\n".join(line.raw for line in lines)
    raw = draw(st.sampled_from((b"", b"", b"\xef\xbb\xbf"))) + raw + draw(st.sampled_from((b"\n", b"\n", b"", b"\n\n")))
    return store, lines, raw


@st.composite
def asked(draw: st.DrawFn, lines: list[Piece]) -> Query:
    """A query, often for a piece of what stands in one of the lines."""
    terms = [draw(needles)]
    if lines and draw(st.booleans()):
        raw = draw(st.sampled_from(lines)).raw.decode("utf-8", "replace")
        at = draw(st.integers(0, max(len(raw) - 1, 0)))
        piece = raw[at : at + draw(st.integers(1, 6))]
        terms = [piece] if piece.strip() else terms
    if draw(st.integers(0, 3)) == 0:
        terms.append(draw(needles))
    kinds = draw(st.sampled_from(((), ("context", "prompt", "reply", "tool_call", "tool_result", "notice", "command"))))
    return request(terms, literal=True, any=draw(st.booleans()), effort="exhaustive", scope="all", kind=kinds)


def _source(folder: Path, store: str, raw: bytes) -> Source:
    name = "rollout-2026-02-03T04-05-06-33333333-3333-4333-8333-333333333333" if store == "codex.sessions" else "file"
    path = folder / f"{name}.jsonl"
    path.write_bytes(raw)
    return Source(store.partition(".")[0], store, STORES[store][0], str(path), f"{name}.jsonl", len(raw), 0, name, str(folder))  # type: ignore[arg-type]


def _task(query: Query, source: Source, window: int, cap: int = LINE_CAP, *, probing: bool = True) -> Task:
    return Task(query, source, window=window, line_cap=cap, probing=probing)


def _found(result: Reading) -> tuple[object, ...]:
    assert result.reason in (None, "wrong_format"), result
    return result.outcome, result.reason, [(match.record, match.spans) for match in result.matches]


@given(sources(), st.data())
@settings(max_examples=2 * settings.default.max_examples)
def test_probing_gives_what_decoding_everything_gives(tmp_path: Path, case: tuple[str, list[Piece], bytes], data: st.DataObject) -> None:
    store, lines, raw = case
    source, query = _source(tmp_path, store, raw), data.draw(asked(lines))
    window, cap = data.draw(st.sampled_from(WINDOWS)), data.draw(st.sampled_from((CAP, LINE_CAP)))
    assert _found(read(_task(query, source, window, cap))) == _found(read(_task(query, source, window, cap, probing=False)))


@given(sources(), st.data())
def test_the_fallback_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: tuple[str, list[Piece], bytes], data: st.DataObject
) -> None:
    store, lines, raw = case
    source, query = _source(tmp_path, store, raw), data.draw(asked(lines))
    reading._compiled.cache_clear()
    first = _found(read(_task(query, source, 1024)))
    with monkeypatch.context() as patch:
        patch.setattr(bytesearch, "stringzilla", None)
        patch.setattr(prefilter, "_ESCAPE", bytesearch.finder(b"\\u"))
        reading._compiled.cache_clear()
        assert _found(read(_task(query, source, 1024))) == first
    reading._compiled.cache_clear()


@given(sources(), st.data())
def test_the_window_changes_neither_matches_nor_counts(tmp_path: Path, case: tuple[str, list[Piece], bytes], data: st.DataObject) -> None:
    store, lines, raw = case
    source, query = _source(tmp_path, store, raw), data.draw(asked(lines))
    cap, probing = data.draw(st.sampled_from((CAP, LINE_CAP))), data.draw(st.booleans())
    results = [read(_task(query, source, window, cap, probing=probing)) for window in WINDOWS]
    for other in results[1:]:
        assert _found(other) == _found(results[0])
        assert {name: n for name, n in other.counts.items() if n} == {name: n for name, n in results[0].counts.items() if n}


@given(sources())
def test_every_line_is_accounted_for(tmp_path: Path, case: tuple[str, list[Piece], bytes]) -> None:
    store, lines, raw = case
    query = request(["zzz"], effort="exhaustive", scope="all")
    result = read(_task(query, _source(tmp_path, store, raw), 4096, CAP, probing=False))
    counts = Counter(result.counts)
    assert result.reason == (None if counts["shaped"] or not counts["skip.malformed"] else "wrong_format")
    total = raw.count(b"\n") + (0 if raw.endswith(b"\n") or not raw else 1)
    assert counts["probed"] + counts["skip.oversized"] == total
    # Line by line: what each gives alone is what the file gives, but for what needs neighbours and for the torn tail.
    short = [line for line in raw.split(b"\n") if len(line) < CAP]
    assert counts["skip.oversized"] == len(raw.split(b"\n")) - len(short)
    damaged = sum(line.counts["skip.malformed"] for line in lines if len(line.raw) + 3 < CAP)
    assert counts["skip.malformed"] + counts["skip.torn_tail"] >= damaged
    if store.endswith("history"):
        alone = Counter[str]()
        for line in short:
            folder = tmp_path / "alone"
            folder.mkdir(exist_ok=True)
            alone.update(read(_task(query, _source(folder, store, line + b"\n"), 65536, CAP, probing=False)).counts)
        for name in ("decoded", "skip.undecodable", "skip.unknown_shape", "skip.paste_missing", "replaced"):
            assert counts[name] == alone[name], name
        assert counts["skip.malformed"] + counts["skip.torn_tail"] == alone["skip.malformed"]


@given(sources())
def test_misshapen_lines_count_the_same_unseen_as_decoded(tmp_path: Path, case: tuple[str, list[Piece], bytes]) -> None:
    """What is visibly no record is counted without being decoded; decoding may only find more."""
    store, _, raw = case
    source, query = (
        _source(tmp_path, store, raw),
        request(["no such words in any line at all"], literal=True, effort="exhaustive", scope="all"),
    )
    unseen, decoded = (Counter(read(_task(query, source, 4096, CAP, probing=probing)).counts) for probing in (True, False))
    assert unseen["probed"] == decoded["probed"]
    assert unseen["skip.oversized"] == decoded["skip.oversized"]
    assert unseen["skip.malformed"] + unseen["skip.torn_tail"] <= decoded["skip.malformed"] + decoded["skip.torn_tail"]


@given(sources(), st.data())
def test_reading_from_the_end_gives_the_same(tmp_path: Path, case: tuple[str, list[Piece], bytes], data: st.DataObject) -> None:
    store, lines, raw = case
    source, query = _source(tmp_path, store, raw), data.draw(asked(lines))
    window, cap, probing = data.draw(st.sampled_from(WINDOWS)), data.draw(st.sampled_from((CAP, LINE_CAP))), data.draw(st.booleans())
    forward = _task(query, source, window, cap, probing=probing)
    one, other = read(forward), read(forward._replace(from_end=True))
    assert _found(other)[:2] == _found(one)[:2]
    assert sorted(other.matches, key=_place) == sorted(one.matches, key=_place)
    assert {name: n for name, n in other.counts.items() if n} == {name: n for name, n in one.counts.items() if n}


def _place(match: Match) -> tuple[int, int]:
    return match.record.position, match.record.block


def test_a_header_after_blank_lines_and_small_windows_is_still_the_head(tmp_path: Path) -> None:
    bare = {"id": "44444444-4444-4444-8444-444444444444", "timestamp": "2025-06-01T00:00:00Z"}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "needle"}]}
    raw = b"\n" * 3000 + _line(bare, True) + b"\n" + _line(said, True) + b"\n"
    query = request(["needle"], effort="exhaustive", scope="all")
    ids_seen = {
        match.record.conversation_id
        for window in (64, 1024, 65536)
        for match in read(_task(query, _source(tmp_path, "codex.sessions", raw), window)).matches
    }
    assert ids_seen == {"44444444-4444-4444-8444-444444444444"}


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\0\0\xef\xbb\xbf", b"\xef\xbb\xbf\0"])
def test_a_byte_order_mark_is_no_damage(tmp_path: Path, mark: bytes) -> None:
    raw = mark + _line({"session_id": "s", "ts": 1, "text": "one"}, True) + b"\n"
    for term, probing in (("one", True), ("other", True), ("other", False)):
        counts = read(Task(request([term]), _source(tmp_path, "codex.history", raw), probing=probing)).counts
        assert not any(n for name, n in counts.items() if name.startswith("skip.")), (term, probing)


@pytest.mark.parametrize("span", range(40))
def test_a_needle_at_every_place_around_a_window_s_edge(tmp_path: Path, span: int) -> None:
    rows = [
        _line({"session_id": "s", "ts": 1, "text": "x" * (1000 + span) + "Nädel"}, False),
        _line({"session_id": "s", "ts": 2, "text": "nÄDEL" + "y" * 900}, False),
    ]
    result = read(_task(request(["nädel"]), _source(tmp_path, "codex.history", b"\n".join(rows)), 1024))
    assert [match.spans for match in result.matches] == [((1000 + span, 1005 + span),), ((0, 5),)]
