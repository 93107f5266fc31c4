"""A tree's verdict when some of it is not known yet: three values, so that nothing is left out that may still hold. Pure."""

from __future__ import annotations

from collections.abc import Callable

from ..model import EVERYTHING, NOTHING, All, Any, Field, Not, Pattern, Record, Source, Term, Tree
from ..text import folded
from .fields import BY_NAME, of_record, of_source
from .match import finders

Told = Callable[[Field], "bool | None"]
Said = Callable[[Term | Pattern], "bool | None"]


def unknown(_: Field | Term | Pattern) -> None:
    """Nothing is known of a field or a term."""


def verdict(tree: Tree, told: Told, said: Said) -> bool | None:
    """True or False where that is certain from what is told and said, else None."""
    if isinstance(tree, (Term, Pattern)):
        return said(tree)
    if isinstance(tree, Field):
        return told(tree)
    if isinstance(tree, Not):
        inner = verdict(tree.part, told, said)
        return None if inner is None else not inner
    stops = isinstance(tree, Any)  # the value that decides: one True for any, one False for all
    certain = True
    for part in tree.parts:
        inner = verdict(part, told, said)
        if inner is stops:
            return stops
        certain = certain and inner is not None
    return (not stops) if certain else None


def for_source(tree: Tree, source: Source) -> Tree:
    """The tree with what a source decides put in; NOTHING where no record of it can pass, EVERYTHING where each must."""
    return simplified(tree, lambda field: of_source(field, source))


def for_store(tree: Tree, store_id: str) -> Tree:
    """The tree with what the store alone decides put in."""
    source = Source(store_id.partition(".")[0], store_id, "transcript", "", "", 0, 0)
    return simplified(tree, lambda field: of_source(field, source) if field.name in ("agent", "store") else None)


def simplified(tree: Tree, told: Told) -> Tree:
    """The tree without the fields that are told."""
    if isinstance(tree, Field):
        known = told(tree)
        return tree if known is None else EVERYTHING if known else NOTHING
    if isinstance(tree, Not):
        inner = simplified(tree.part, told)
        return NOTHING if inner == EVERYTHING else EVERYTHING if inner == NOTHING else Not(inner)
    if isinstance(tree, (Term, Pattern)):
        return tree
    neutral, decisive = (NOTHING, EVERYTHING) if isinstance(tree, Any) else (EVERYTHING, NOTHING)
    parts = [part for part in (simplified(part, told) for part in tree.parts) if part != neutral]
    if decisive in parts:
        return decisive
    if len(parts) == 1:
        return parts[0]
    return (Any if isinstance(tree, Any) else All)(tuple(parts))


def of_evidence(tree: Tree, record: Record) -> bool | None:
    """Can a conversation that this prompt belongs to hold an answer? Judged by what holds for all of a conversation."""
    return verdict(tree, lambda field: of_record(field, record) if BY_NAME[field.name].invariant else None, unknown)


def asked_fields(tree: Tree) -> tuple[Field, ...]:
    """Every field that is asked for, not excluded."""
    if isinstance(tree, Field):
        return (tree,)
    return tuple(field for part in tree.parts for field in asked_fields(part)) if isinstance(tree, (All, Any)) else ()


def fields(tree: Tree) -> tuple[Field, ...]:
    """Every field of the tree, left to right."""
    if isinstance(tree, Field):
        return (tree,)
    if isinstance(tree, Not):
        return fields(tree.part)
    return () if isinstance(tree, (Term, Pattern)) else tuple(field for part in tree.parts for field in fields(part))


def holds(tree: Tree, record: Record) -> bool:
    """Does the record satisfy the whole tree? What it does not say is not what was asked for."""
    form = folded(record.text)
    found = {leaf: find(record.text, form) is not None for leaf, find in finders(tree).items()}
    return verdict(tree, lambda field: bool(of_record(field, record)), lambda leaf: found[leaf]) is True
