from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepgrep import bytesearch
from deepgrep.engine import read as reading
from deepgrep.query import prefilter
from deepgrep.query.match import matcher
from deepgrep.query.parse import Term, Tree, parse
from deepgrep.text import clean
from nasty import containing, needles, texts

INVALID = [bytes([byte]) for byte in (0x80, 0xA0, 0xBF, 0xC0, 0xC3, 0xC4, 0xC5, 0xCE, 0xE1, 0xE2, 0xED, 0xF0, 0xF4, 0xFE, 0xFF)]
INVALID += [b"\xf0\x9f", b"\xe2\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xc0\x80", b"\xe1\xba"]


@pytest.fixture(params=["stringzilla", "stdlib"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each of the two implementations in turn."""
    if request.param == "stdlib":
        _without_stringzilla(monkeypatch)
    elif bytesearch.stringzilla is None:
        pytest.skip("no stringzilla here")
    reading._compiled.cache_clear()
    yield request.param
    reading._compiled.cache_clear()


def _without_stringzilla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytesearch, "stringzilla", None)
    monkeypatch.setattr(prefilter, "_ESCAPE", bytesearch.finder(b"\\u"))
    assert bytesearch.engine() == "stdlib"


def test_the_fallback_does_not_call_stringzilla(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class Spy:
        def __getattr__(self, name: str) -> object:
            calls.append(name)
            raise AssertionError(name)

    monkeypatch.setattr(bytesearch, "stringzilla", Spy())
    with pytest.raises(AssertionError):
        _hits(parse(["ﬁé"]).tree, b'{"text": "x"}')
    assert calls
    calls.clear()
    _without_stringzilla(monkeypatch)
    assert _hits(parse(["ké"]).tree, '{"text": "\u212aE\u0301"}'.encode()) == [0]
    assert not calls


def _hits(tree: Tree, window: bytes, inserted: str = "", always: tuple[bytes, ...] = ()) -> list[int]:
    """The numbers of the lines of a window that the probe hits."""
    found = prefilter.probe(tree, inserted, always)
    if found is None:
        return list(range(window.count(b"\n") + 1))
    starts = [start for start, _ in prefilter.lines(found, bytearray(window + b"rubbish beyond the end"), len(window))]
    return [window.count(b"\n", 0, start) for start in starts]


@st.composite
def spelled(draw: st.DrawFn, text: str, escapes: int = 4) -> str:
    """The text as a JSON string, each character in one of the ways JSON allows."""
    plain = draw(st.integers(0, 2))
    if plain == 0:
        return json.dumps(text, ensure_ascii=draw(st.booleans()))
    chosen = draw(st.sets(st.integers(0, max(len(text) - 1, 0)), max_size=escapes))
    out = []
    for index, char in enumerate(text):
        if index in chosen:
            upper = draw(st.booleans())
            units = char.encode("utf-16-be", "surrogatepass").hex()
            units = units.upper() if upper else units
            out.append("".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4)))
        elif char == "/" and plain == 2:
            out.append("\\/")
        elif char in "\t\x00\x1b\x1f" and plain == 2:
            out.append(char)  # raw, as careless writers leave them
        else:
            out.append(json.dumps(char, ensure_ascii=False)[1:-1])
    return '"' + "".join(out) + '"'


@st.composite
def documents(draw: st.DrawFn, text: str) -> bytes:
    """One line that holds the text, sometimes with bytes that are no UTF-8."""
    line = f'{{"text": {draw(spelled(text))}}}'.encode()
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        at = draw(st.integers(9, len(line) - 1))
        line = line[:at] + draw(st.sampled_from(INVALID)) + line[at:]
    return line


def _decoded(line: bytes) -> str | None:
    try:
        value = json.loads(line.decode("utf-8", "replace"), strict=False)
    except ValueError:
        return None
    return clean(value["text"]) if isinstance(value, dict) and isinstance(value.get("text"), str) else None


@given(containing(), st.data())
def test_a_line_whose_text_matches_is_a_candidate(engine: str, case: tuple[str, str], data: st.DataObject) -> None:
    needle, text = case
    lines = [data.draw(documents(other)) for other in (data.draw(texts), text, data.draw(texts))]
    tree = Term(needle)
    found = _hits(tree, b"\n".join(lines))
    for number, line in enumerate(lines):
        decoded = _decoded(line)
        if decoded is not None and matcher(tree)(decoded) is not None:
            assert number in found, (needle, line)


@given(st.lists(needles, min_size=1, max_size=3), st.booleans(), texts, st.data())
def test_and_also_of_several_terms(engine: str, terms: list[str], any_term: bool, text: str, data: st.DataObject) -> None:
    tree = parse(terms, literal=True, any_term=any_term).tree
    line = data.draw(documents(text + "".join(data.draw(st.permutations(terms)))))
    decoded = _decoded(line)
    if decoded is not None and matcher(tree)(decoded) is not None:
        assert _hits(tree, line) == [0]


@given(needles, texts, texts, st.sampled_from((":", "!", "#", ": ", "\n", "\n\n#")), st.data())
def test_characters_that_a_reader_inserts_are_not_looked_for(
    engine: str, needle: str, before: str, after: str, inserted: str, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(needle)))
    one, other = before + needle[:cut], needle[cut:] + after
    wanted = needle[:cut] + inserted + needle[cut:]
    text = clean(one + inserted + other)
    line = f'{{"one": {data.draw(spelled(one))}, "other": {data.draw(spelled(other))}}}'.encode()
    for term in (wanted, needle[:cut] + inserted, inserted + needle[cut:]):
        if term.strip() and matcher(Term(term))(text) is not None:
            assert _hits(Term(term), line, ":!#") == [0], (term, line)


@given(needles, texts, st.data())
def test_lines_with_a_marker_are_always_candidates(engine: str, needle: str, text: str, data: st.DataObject) -> None:
    marker = "<pasted_content"
    line = data.draw(documents(text + marker + text)) if data.draw(st.booleans()) else data.draw(documents(marker))
    if marker in (_decoded(line) or ""):
        assert _hits(Term(needle), line, always=(marker.encode(),)) == [0], line


@given(needles, texts, st.data())
def test_json_inside_json_is_seen_through_once(engine: str, needle: str, text: str, data: st.DataObject) -> None:
    inner = f'{{"text": {data.draw(spelled(text + needle))}}}'
    line = f'{{"arguments": {data.draw(spelled(inner))}}}'.encode()
    decoded = _decoded(inner.encode())
    if decoded is not None and matcher(Term(needle))(decoded) is not None:
        assert _hits(Term(needle), line) == [0], line


@given(containing())
@example(("\u1ea3\u017a", "\u1ea3\u017a"))  # stringzilla 5.3.2 misses these with its haswell and icelake kernels
@example(("\xff\u1e93", "\u0178\u1e93"))
@example(("\u0180\u1e65", "\u0243\u1e64"))
@example(("\u03a2", "\u03a2"))
@example(("x\u03a2\u03b9", "x\u03a2\u03b9"))
def test_a_spelling_that_folds_alike_is_found(engine: str, case: tuple[str, str]) -> None:
    needle, text = case
    line = json.dumps({"text": text}, ensure_ascii=False).encode()
    if matcher(Term(needle))(clean(text)) is not None:
        assert _hits(Term(needle), line) == [0]


@pytest.mark.parametrize("lead", [b"\xc3", b"\xc4", b"\xc5", b"\xe1", b"\xe1\xba", b"\xf0\x9f"])
@pytest.mark.parametrize("distance", [0, 1, 63, 130])
@pytest.mark.parametrize("needle", ["~\u1e5b", "9\u1e31~", "\u0125\u1e2f\u010d", "được", "abc", "straße", "σοφός", "ёлка"])
def test_bytes_that_are_no_utf8_hide_nothing(engine: str, needle: str, distance: int, lead: bytes) -> None:
    for spelling in (needle, needle.upper() if len(needle.upper()) == len(needle) else needle):
        line = b'{"text": "' + b"z" * distance + lead + spelling.encode() + b'zzz"}'
        decoded = _decoded(line)
        assert decoded is not None
        assert matcher(Term(needle))(decoded) is not None
        assert _hits(Term(needle), line) == [0]


def test_every_character_is_found_by_every_spelling_that_folds_like_it(engine: str) -> None:
    step = 1 if engine == "stringzilla" else 7
    for code in (*range(0x21, 0xD800, step), *range(0xE000, 0x1F000, step)):
        char = chr(code)
        for spelling in {char, char.upper(), char.lower(), char.title()}:
            if matcher(Term(char))(spelling) is not None:
                assert _hits(Term(char), spelling.encode()) == [0], hex(code)


@given(st.lists(texts, max_size=6), needles, st.data())
def test_both_implementations_leave_the_same_matches(
    monkeypatch: pytest.MonkeyPatch, all_texts: list[str], needle: str, data: st.DataObject
) -> None:
    lines = [data.draw(documents(text + (needle if data.draw(st.booleans()) else ""))) for text in all_texts]
    window = b"\n".join(lines)

    def verdicts() -> list[int]:
        decoded = {number: _decoded(lines[number]) for number in _hits(Term(needle), window) if lines}
        return [number for number, text in decoded.items() if text is not None and matcher(Term(needle))(text) is not None]

    first = verdicts()
    with monkeypatch.context() as patch:
        _without_stringzilla(patch)
        assert verdicts() == first


@given(st.binary(max_size=200), st.sampled_from((b"\n", b"}\n{", b"\\u", b"ab")))
def test_counting_and_finding_bytes(engine: str, raw: bytes, needle: bytes) -> None:
    assert bytesearch.count(raw, needle) == raw.count(needle)
    find: Callable[[bytes, int], int] = bytesearch.finder(needle)
    for start in range(len(raw) + 1):
        assert find(raw, start) == raw.find(needle, start)
