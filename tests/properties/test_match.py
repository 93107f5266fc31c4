from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deepgrep.query.match import matcher
from deepgrep.query.parse import All, Any, Term, parse
from nasty import containing, folded_space, needles, occurs, slow_fold, texts


@given(containing())
def test_a_term_matches_where_its_folded_text_occurs(case: tuple[str, str]) -> None:
    needle, text = case
    spans = matcher(Term(needle))(text)
    assert (spans is not None) is occurs(needle, text)
    for low, high in spans or ():
        assert 0 <= low < high <= len(text)
        assert folded_space(needle) in folded_space(text[low:high])


@given(containing())
def test_spans_are_exact_in_composed_text(case: tuple[str, str]) -> None:
    needle, raw = case
    text = slow_fold(raw)
    if slow_fold(text) != text:
        return
    for low, high in matcher(Term(needle))(text) or ():
        assert folded_space(text[low:high]) == folded_space(needle)


@given(st.lists(needles, min_size=1, max_size=3), texts, st.booleans())
def test_terms_are_all_required_or_any_of_them(terms: list[str], text: str, any_term: bool) -> None:
    tree = parse(terms, literal=True, any_term=any_term).tree
    expected = (any if any_term else all)(occurs(term, text) for term in terms)
    spans = matcher(tree)(text)
    assert (spans is not None) is expected
    if spans is not None:
        each = [matcher(Term(term))(text) for term in terms]
        assert spans == tuple(sorted({span for found in each for span in found or ()}))


@given(needles, needles, needles, texts)
def test_trees_nest(one: str, two: str, three: str, text: str) -> None:
    tree = All((Term(one), Any((Term(two), Term(three)))))
    expected = occurs(one, text) and (occurs(two, text) or occurs(three, text))
    assert (matcher(tree)(text) is not None) is expected


@given(texts)
def test_no_term_matches_everything_nowhere(text: str) -> None:
    assert matcher(All(()))(text) == ()


@given(st.lists(needles, min_size=1, max_size=3), texts)
def test_matching_does_not_depend_on_how_the_needle_is_composed_or_cased(terms: list[str], text: str) -> None:
    for term in terms:
        assert matcher(Term(term))(text) == matcher(Term(slow_fold(term)))(text)


@given(st.lists(st.text(st.sampled_from('ab"\\ \t\n-'), min_size=1, max_size=6), min_size=1, max_size=3))
def test_words_and_quoted_phrases_come_apart(words: list[str]) -> None:
    quoted = " ".join('"' + word.replace('"', '\\"') + '"' for word in words if not word.endswith("\\") and '\\"' not in word)
    wanted = [word for word in words if not word.endswith("\\") and '\\"' not in word]
    if not wanted or any(not word.strip() for word in wanted):
        return
    tree = parse([quoted]).tree
    distinct = tuple(Term(word) for word in dict.fromkeys(wanted))
    assert tree == (distinct[0] if len(distinct) == 1 else All(distinct))
