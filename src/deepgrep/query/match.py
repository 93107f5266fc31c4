"""A tree of terms to a predicate on text that also says where. The verdict; prefilters only narrow what reaches it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from ..model import All, Any, Field, Not, Pattern, Term, Tree
from ..text import Folded, fold, folded
from .parse import clues

Spans = tuple[tuple[int, int], ...]
Matcher = Callable[[str], Spans | None]  # spans in code points of the text, or None where it does not match
Leaf = Term | Pattern
_Find = Callable[[str, Folded], "Spans | list[tuple[int, int]] | None"]
_Found = dict[Leaf, "Spans | list[tuple[int, int]] | None"]


def matcher(tree: Tree) -> Matcher:
    """The predicate of a tree: all spans of every term that occurs, sorted, or None where the tree does not hold."""
    if isinstance(tree, All) and not tree.parts:
        return lambda text: ()
    if isinstance(tree, Pattern):
        from .regex import finder  # deferred: most searches look for words

        return finder(tree)
    if not _is_plain(tree):
        return _three_valued(tree)
    find = _compiled(tree)

    def match(text: str) -> Spans | None:
        spans = find(text, folded(text))
        return None if spans is None else tuple(sorted(set(spans)))

    return match


def _is_plain(tree: Tree) -> bool:
    """Nothing but terms, all or any of them: the usual query, which needs no third value."""
    return isinstance(tree, (Term, Pattern)) or (isinstance(tree, (All, Any)) and all(_is_plain(part) for part in tree.parts))


def finders(tree: Tree) -> dict[Leaf, _Find]:
    """What finds each term of the tree."""
    if isinstance(tree, (Term, Pattern)):
        return {tree: _leaf(tree)}
    if isinstance(tree, Not):
        return finders(tree.part)
    return {} if isinstance(tree, Field) else {leaf: find for part in tree.parts for leaf, find in finders(part).items()}


def _three_valued(tree: Tree) -> Matcher:
    """A predicate that lets a text pass unless the tree certainly does not hold, whatever its fields will say."""
    found = finders(tree)
    asked = dict.fromkeys(clues(tree))

    def match(text: str) -> Spans | None:
        form = folded(text)
        spans = {leaf: find(text, form) for leaf, find in found.items()}
        if _certainly_not(tree, spans):
            return None
        return tuple(sorted({span for leaf in asked for span in spans[leaf] or ()}))

    return match


def _certainly_not(tree: Tree, spans: _Found) -> bool:
    if isinstance(tree, (Term, Pattern)):
        return spans[tree] is None
    if isinstance(tree, Field):
        return False
    if isinstance(tree, Not):
        return _certainly(tree.part, spans)
    test = all if isinstance(tree, Any) else any
    return test(_certainly_not(part, spans) for part in tree.parts)


def _certainly(tree: Tree, spans: _Found) -> bool:
    if isinstance(tree, (Term, Pattern)):
        return spans[tree] is not None
    if isinstance(tree, Field):
        return False
    if isinstance(tree, Not):
        return _certainly_not(tree.part, spans)
    test = any if isinstance(tree, Any) else all
    return test(_certainly(part, spans) for part in tree.parts)


def _compiled(tree: Tree) -> _Find:
    if isinstance(tree, (Term, Pattern)):
        return _leaf(tree)
    assert isinstance(tree, (All, Any))
    finds = [_compiled(part) for part in tree.parts]
    return _any(finds) if isinstance(tree, Any) else _all(finds)


def _all(finds: list[_Find]) -> _Find:
    def find(text: str, form: Folded) -> list[tuple[int, int]] | None:
        spans: list[tuple[int, int]] = []
        for part in finds:
            found = part(text, form)
            if found is None:
                return None
            spans += found
        return spans

    return find


def _any(finds: list[_Find]) -> _Find:
    def find(text: str, form: Folded) -> list[tuple[int, int]] | None:
        found = [spans for part in finds if (spans := part(text, form)) is not None]
        return [span for spans in found for span in spans] if found else None

    return find


def _leaf(leaf: Leaf) -> _Find:
    if isinstance(leaf, Term):
        return _term(leaf.text)
    match = matcher(leaf)
    return lambda text, form: match(text)


@cache
def term_pattern(text: str) -> re.Pattern[str] | None:
    """The pattern of a term with white space in it, over folded text; None where a plain find will do."""
    needle = fold(text)
    if not any(char.isspace() for char in needle):
        return None
    pieces = re.split(r"(\s+)", needle)
    return re.compile("".join(r"\s+" if piece.isspace() else re.escape(piece) for piece in pieces if piece))


def _term(text: str) -> _Find:
    needle, pattern = fold(text), term_pattern(text)

    def find_text(_: str, form: Folded) -> list[tuple[int, int]] | None:
        spans = []
        at = form.text.find(needle)
        while at >= 0:
            spans.append(form.span(at, at + len(needle)))
            at = form.text.find(needle, at + len(needle))
        return spans or None

    def find_pattern(_: str, form: Folded) -> list[tuple[int, int]] | None:
        assert pattern is not None
        return [form.span(*found.span()) for found in pattern.finditer(form.text)] or None

    return find_pattern if pattern else find_text
