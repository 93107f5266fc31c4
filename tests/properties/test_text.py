from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepgrep import text as text_module
from deepgrep.text import clean, fold, folded, instant, plain, rfc3339, safe, snippet, squash, visible
from nasty import PIECES, folded_space, needles, simple_fold, slow_fold, texts

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
any_text = st.one_of(texts, st.text(max_size=30))


# --- folding ----------------------------------------------------------------------------------------------------------


@given(any_text)
def test_fold_is_composition_then_the_simple_fold_of_each_character(text: str) -> None:
    assert fold(text) == slow_fold(text)
    assert folded(text).text == slow_fold(text)


@given(any_text)
def test_fold_of_a_folded_text_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("K", "\u212a", True), ("s", "\u017f", True), ("ß", "ẞ", True), ("ß", "ss", False), ("İ", "i", False), ("ı", "i", False),
        ("Å", "\u212b", True), (";", "\u037e", True), ("`", "\u1fef", True), ("σ", "ς", True), ("ﬁ", "fi", False), ("e\u0301", "É", True),
        ("Ω", "\u2126", True), ("\u1112\u1161\u11ab", "한", True), ("I\u0307", "İ", True), ("ǆ", "ǅ", True),
    ],
)  # fmt: skip
def test_characters_that_fold_alike_and_those_that_do_not(one: str, other: str, same: bool) -> None:
    assert (fold(one) == fold(other)) is same


@given(any_text, st.data())
def test_spans_lead_back_to_the_original(text: str, data: st.DataObject) -> None:
    form = folded(text)
    if not form.text:
        return
    start = data.draw(st.integers(0, len(form.text) - 1))
    end = data.draw(st.integers(start + 1, len(form.text)))
    low, high = form.span(start, end)
    assert 0 <= low < high <= len(text)
    assert form.text[start:end] in slow_fold(text[low:high])
    # The shortest piece of the original, by trying all, that folds to what was asked for and stands there. Where the span is longer,
    # no shorter one exists without cutting a composed character.
    before, after = slow_fold(text[:low]), slow_fold(text[high:])
    assert before + slow_fold(text[low:high]) + after == form.text
    if len(text) < 12:
        fits = [
            (a, b)
            for a in range(len(text))
            for b in range(a + 1, len(text) + 1)
            if slow_fold(text[a:b]) == form.text[start:end]
            and slow_fold(text[:a]) == form.text[:start]
            and slow_fold(text[b:]) == form.text[end:]
        ]
        if fits:
            assert (low, high) in fits


@given(any_text)
def test_spans_of_single_characters_cover_the_text_in_order(text: str) -> None:
    form = folded(text)
    spans = [form.span(at, at + 1) for at in range(len(form.text))]
    assert spans == sorted(spans)
    assert {at for low, high in spans for at in range(low, high)} == set(range(len(text)))


def test_every_starter_that_joins_what_precedes_it_is_known() -> None:
    joiners = text_module._joining_starters()
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x30000)):
        parts = unicodedata.normalize("NFD", chr(code))
        if unicodedata.normalize("NFC", parts) == chr(code) and len(parts) > 1:
            assert unicodedata.combining(parts[-1]) or parts[-1] in joiners, hex(code)


# --- times ------------------------------------------------------------------------------------------------------------

moments = st.datetimes(datetime(1600, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is given beside


def _microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@given(moments)
def test_rfc3339_and_instant_are_inverse(moment: datetime) -> None:
    written = rfc3339(_microseconds(moment))
    assert datetime.fromisoformat(written) == moment
    assert written.endswith("Z")
    assert instant(written) == _microseconds(moment)


@given(moments, st.integers(-14 * 60, 14 * 60), st.sampled_from(("T", "t", " ")), st.sampled_from(("auto", "milliseconds", "microseconds")))
def test_instant_reads_offsets_and_fractions(moment: datetime, minutes: int, between: str, digits: str) -> None:
    if digits == "milliseconds":
        moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    sign = "-" if minutes < 0 else "+"
    local = moment.replace(tzinfo=None)
    text = f"{local.isoformat(between if between != 't' else 'T', digits)}{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    assert instant(text.replace("T", between)) == _microseconds(moment) - minutes * 60_000_000


@given(st.datetimes(datetime(1973, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - the zone is given beside
def test_instant_tells_the_unit_of_a_number(moment: datetime) -> None:
    exact = _microseconds(moment)
    assert instant(exact) == exact
    assert instant(exact * 1000) == exact
    assert instant(exact // 1000) == exact // 1000 * 1000
    assert instant(exact // 1_000_000) == exact // 1_000_000 * 1_000_000
    fraction = instant(exact / 1_000_000)
    assert fraction is not None
    assert abs(fraction - exact) <= 1


@pytest.mark.parametrize(
    "value",
    ["", "yesterday", "2026-13-01", "2026-02-30", "2025-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", True, False, None,
     0, -1, float("nan"), float("inf"), 10**30, [], {}, "2026-01-01T00:00:00+", "12026-01-01"],
)  # fmt: skip
def test_what_is_no_time_is_none(value: object) -> None:
    assert instant(value) is None


@given(st.one_of(st.text(max_size=30), st.floats(), st.integers(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2)))
def test_instant_never_raises(value: object) -> None:
    found = instant(value)
    assert found is None or rfc3339(found)


# --- safety -----------------------------------------------------------------------------------------------------------

hostile = st.text(st.characters(codec=None), max_size=40) | st.lists(
    st.sampled_from((*PIECES, "\ud800", "\udc00", "\u202e", "\u2066", "\x9b", "\x7f"))
).map("".join)


@given(hostile)
def test_clean_is_valid_unicode_and_keeps_what_was_valid(text: str) -> None:
    made = clean(text)
    made.encode()
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") if _paired(text) else text
    if not any("\ud800" <= char <= "\udfff" for char in joined):
        assert made == joined
    assert clean(made) == made


def _paired(text: str) -> bool:
    """Does every high surrogate have its low one behind it?"""
    try:
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return False
    return True


def test_clean_joins_pairs_and_replaces_what_stands_alone() -> None:
    assert clean("a\ud83d\ude00b\ud83dc\ude00") == "a😀b\ufffdc\ufffd"


@given(hostile)
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    for char in (*shown, *safe(text)):
        kind = unicodedata.category(char)
        assert char in "\t\n" or kind not in ("Cc", "Cs", "Zl", "Zp"), repr(char)
        assert unicodedata.bidirectional(char) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"), repr(char)
        assert char not in "\u061c\u200e\u200f\ufeff"
    assert all(was == now for was, now in zip(text, shown) if was.isascii() and was.isprintable())


# --- snippets ---------------------------------------------------------------------------------------------------------


@given(any_text, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=4), st.integers(-5, 80))
def test_snippets_show_what_their_spans_cover(text: str, raw: list[tuple[int, int]], width: int) -> None:
    spans = tuple(sorted({(low, min(low + length, len(text))) for low, length in raw if low < len(text)}))
    made = snippet(text, spans, width)
    assert "\n" not in made.text
    assert not made.text or made.text == made.text.strip() or made.text.strip("…") != made.text
    covered = [folded_space(text[low:high]).strip() for low, high in spans]
    for low, high in made.spans:
        assert 0 <= low < high <= len(made.text)
        assert folded_space(made.text[low:high]).strip() in covered
    if spans and text[slice(*spans[0])].strip():
        assert made.spans, "the first match is always shown"


@given(texts, needles, texts, st.integers(10, 200))
def test_a_snippet_is_about_as_wide_as_asked(before: str, needle: str, after: str, width: int) -> None:
    text = before + needle + after
    made = snippet(text, ((len(before), len(before) + len(needle)),), width)
    assert len(made.text) <= max(width, len(needle)) + width + 2


# --- values -----------------------------------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def _leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [word for key, inner in value.items() for word in _leaves(inner)]
    if isinstance(value, list):
        return [word for inner in value for word in _leaves(inner)]
    return [
        {True: "true", False: "false", None: "null"}.get(value, value)
        if not isinstance(value, int | str) or isinstance(value, bool)
        else str(value)
    ]


@given(values)
def test_plain_holds_every_leaf_as_it_is_spelled(value: object) -> None:
    made = plain(value)
    at = 0
    for leaf in _leaves(value):
        found = made.find(leaf, at)
        assert found >= 0, (leaf, made)
        at = found + len(leaf)


@given(st.dictionaries(texts, texts, min_size=1, max_size=3))
def test_plain_names_its_fields(value: dict[str, str]) -> None:
    assert plain(value) == "\n".join(f"{key}: {inner}" for key, inner in value.items())


@given(texts, st.sampled_from((" ", "\n", "\t\u3000", "")))
def test_squash_forgets_white_space_and_spelling_and_nothing_else(text: str, space: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert squash(text) == "".join(char for char in composed if not char.isspace())
    assert squash(space + composed.replace(" ", space + " ") + space) == squash(text)


def test_simple_fold_is_one_character_for_every_character() -> None:
    for code in (*range(0xD800), *range(0xE000, 0x30000)):
        char = chr(code)
        if unicodedata.normalize("NFC", char) == char:
            assert fold(char) == simple_fold(char)
