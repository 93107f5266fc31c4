"""Query text to a tree of terms. Knows no bytes and no records."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..typed import NamedTuple


class Term(NamedTuple):
    """A text that must occur; a run of white space in it matches any run."""

    text: str


class All(NamedTuple):
    """Every part must hold; with no parts, everything passes."""

    parts: tuple[Tree, ...]


class Any(NamedTuple):
    """At least one part must hold."""

    parts: tuple[Tree, ...]


Tree = Term | All | Any
EVERYTHING = All(())


def parse(texts: Sequence[str], *, literal: bool = False, any_term: bool = False) -> Tree:
    """The tree of some query texts: words and quoted phrases, all required, or any of them.

    With `literal` each text is one phrase, quotes and all. Raises UsageError for an empty text or an open quote.
    """
    terms = [Term(text) for text in texts] if literal else [term for text in texts for term in _terms(text)]
    if any(not term.text.strip() for term in terms) or (texts and not terms):
        raise UsageError("empty search text: give a word, or leave the text out and give a filter such as --agent or --since")
    distinct = tuple(dict.fromkeys(terms))
    if len(distinct) == 1:
        return distinct[0]
    return Any(distinct) if any_term and distinct else All(distinct)


def terms(tree: Tree) -> tuple[str, ...]:
    """Every term's text, left to right."""
    if isinstance(tree, Term):
        return (tree.text,)
    return tuple(text for part in tree.parts for text in terms(part))


def _terms(text: str) -> list[Term]:
    r"""Words at white space; a quote that opens a word opens a phrase, in which `\\"` is a quote."""
    out: list[Term] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == '"':
            phrase, at = _phrase(text, at)
            out.append(Term(phrase))
        else:
            end = at
            while end < len(text) and not text[end].isspace():
                end += 1
            out.append(Term(text[at:end]))
            at = end
    return out


def _phrase(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    index = at + 1
    while index < len(text):
        char = text[index]
        if char == '"':
            return "".join(out), index + 1
        if char == "\\" and text[index + 1 : index + 2] == '"':
            index += 1
            char = '"'
        out.append(char)
        index += 1
    raise UsageError(f'the quote at column {at + 1} is not closed: add a closing ", or use --literal to search for quotes')
