"""A tree of terms to a predicate on text that also says where. The verdict; prefilters only narrow what reaches it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from ..text import Folded, fold, folded
from .parse import All, Any, Term, Tree

Spans = tuple[tuple[int, int], ...]
Matcher = Callable[[str], Spans | None]  # spans in code points of the text, or None where it does not match


def matcher(tree: Tree) -> Matcher:
    """The predicate of a tree: all spans of every term that occurs, sorted, or None where the tree does not hold."""
    if isinstance(tree, All) and not tree.parts:
        return lambda text: ()
    find = _compiled(tree)

    def match(text: str) -> Spans | None:
        form = folded(text)
        spans = find(form)
        if spans is None:
            return None
        return tuple(sorted({form.span(start, end) for start, end in spans}))

    return match


_Find = Callable[[Folded], "list[tuple[int, int]] | None"]


def _compiled(tree: Tree) -> _Find:
    if isinstance(tree, Term):
        return _term(tree.text)
    finds = [_compiled(part) for part in tree.parts]
    return _any(finds) if isinstance(tree, Any) else _all(finds)


def _all(finds: list[_Find]) -> _Find:
    def find(form: Folded) -> list[tuple[int, int]] | None:
        spans: list[tuple[int, int]] = []
        for part in finds:
            found = part(form)
            if found is None:
                return None
            spans += found
        return spans

    return find


def _any(finds: list[_Find]) -> _Find:
    def find(form: Folded) -> list[tuple[int, int]] | None:
        found = [spans for part in finds if (spans := part(form)) is not None]
        return [span for spans in found for span in spans] if found else None

    return find


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

    def find_text(form: Folded) -> list[tuple[int, int]] | None:
        spans = []
        at = form.text.find(needle)
        while at >= 0:
            spans.append((at, at + len(needle)))
            at = form.text.find(needle, at + len(needle))
        return spans or None

    def find_pattern(form: Folded) -> list[tuple[int, int]] | None:
        assert pattern is not None
        return [found.span() for found in pattern.finditer(form.text)] or None

    return find_pattern if pattern else find_text
