"""Query text to a tree of terms. Knows no bytes and no records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..errors import UsageError
from ..model import EVERYTHING, NOTHING, All, Any, Field, Not, Pattern, Term, Tree
from ..typed import NamedTuple

__all__ = [  # the nouns of a tree are used under this name too
    "EMPTY", "EVERYTHING", "NOTHING", "All", "Any", "Field", "Not", "Term", "Tree", "Parsed",
    "clues", "has_fields", "joined", "parse", "terms",
]  # fmt: skip

Choices = Mapping[str, Sequence[str]]  # by field name
EMPTY = "empty search text: give a word, or leave the text out and give a filter such as --agent or --since"

# What may be more than words and phrases: a colon, a parenthesis, a mark before a word, an operator.
_LANGUAGE = re.compile(r"[:()]|(?:^|\s)[-+]|(?:^|\s)(?:OR|AND|NOT)(?:\s|$)")


class Parsed(NamedTuple):
    """A tree, and what looked like a mistake but was taken as text: one line each."""

    tree: Tree
    warnings: tuple[str, ...] = ()


def parse(texts: Sequence[str], *, literal: bool = False, any_term: bool = False, choices: Choices | None = None) -> Parsed:
    """The tree of some query texts, read as one query. With `literal` each text is one phrase, quotes and all.

    `choices`: for fields that take only some values, which. Raises UsageError for an empty text, and its kind
    `language.QueryError`, with a column, for text that makes no sense.
    """
    if not texts:
        return Parsed(EVERYTHING)
    if literal:
        if any(not text.strip() for text in texts):
            raise UsageError(EMPTY)
        return Parsed(joined([Term(text) for text in texts], any_term))
    text = " ".join(texts)
    if '"' in text or _LANGUAGE.search(text):
        from .language import parse as parse_language  # deferred: plain words need none of it

        return parse_language(text, any_term=any_term, choices=choices)
    if not text.strip():
        raise UsageError(EMPTY)
    return Parsed(joined([Term(word) for word in text.split()], any_term))


def joined(parts: Sequence[Tree], any_term: bool) -> Tree:
    """Parts side by side: all of them, or with `any_term` one of the terms and all of the rest."""
    distinct = list(dict.fromkeys(parts))
    if any_term:
        asked = [part for part in distinct if isinstance(part, Term)]
        rest = [part for part in distinct if not isinstance(part, Term)]
        distinct = [*([Any(tuple(asked))] if len(asked) > 1 else asked), *rest]
    return distinct[0] if len(distinct) == 1 else All(tuple(distinct))


def has_fields(tree: Tree) -> bool:
    """Does any part of the tree look at anything but text?"""
    if isinstance(tree, (All, Any)):
        return any(has_fields(part) for part in tree.parts)
    return isinstance(tree, Field) or (isinstance(tree, Not) and has_fields(tree.part))


def terms(tree: Tree) -> tuple[str, ...]:
    """The text of every term that is asked for, left to right; not of those that are excluded."""
    if isinstance(tree, Term):
        return (tree.text,)
    return tuple(text for part in tree.parts for text in terms(part)) if isinstance(tree, (All, Any)) else ()


def clues(tree: Tree) -> tuple[Term | Pattern, ...]:
    """Every term and pattern that is asked for, left to right; not those that are excluded."""
    if isinstance(tree, (Term, Pattern)):
        return () if isinstance(tree, Pattern) and tree.inverted else (tree,)
    return tuple(clue for part in tree.parts for clue in clues(part)) if isinstance(tree, (All, Any)) else ()
