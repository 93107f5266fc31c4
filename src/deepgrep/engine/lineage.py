"""Which records are copies of which, where a format proves it: rows written again, turns that a fork took along. Pure.

A link leads from a copy to the record that stands for it. A fork's own later words are never linked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from ..model import Facts, Match, Record
from ..text import digest as digest_of
from ..text import squash

Identity = tuple[str, str, int, int]
# When the records that a conversation shares with none of the others begin, in microseconds; None where it has none.
Begins = Callable[[Mapping[str, Sequence[Record]]], Mapping[str, int | None]]

_SHORT = 2000  # code points
_ALWAYS = -(1 << 62)  # before every instant


def identity(record: Record) -> Identity:
    """What a record is told by: store, source, position, block."""
    return record.store, record.source.key, record.position, record.block


def digest(text: str) -> str | bytes:
    """What equal texts have in common: a short text itself, of a long one a digest, to hold no second copy."""
    squashed = squash(text)
    return squashed if len(squashed) <= _SHORT else digest_of(squashed.encode("utf-8", "replace"), 16)


def unread(matches: Iterable[Match], facts: Mapping[str, Facts], read: AbstractSet[tuple[str, str]]) -> bool:
    """Does a match lie in a fork whose parent was not read and whose source does not tell what it inherited? By source path."""
    for match in matches:
        said = facts.get(match.record.source.path)
        if said and said.forked_from and not said.prefix_known and (match.record.agent, said.forked_from) not in read:
            return True
    return False


def links(matches: Sequence[Match], forked: Mapping[tuple[str, str], str], begins: Begins) -> dict[Identity, Identity]:
    """From each copy to what it is a copy of; targets may be copies themselves."""
    records = [match.record for match in matches]
    out: dict[Identity, Identity] = {}
    for same in _written_again(records):
        original = _original(same, forked, begins)
        out.update({identity(record): identity(original) for record in same if record is not original})
    out.update(_inherited([record for record in records if identity(record) not in out], forked))
    return out


def _written_again(records: Iterable[Record]) -> list[list[Record]]:
    """Groups of records with one native id and text, or at one place of two files of one conversation."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        if record.source.role != "transcript":
            continue
        if record.native_id is not None:
            key: tuple[object, ...] = (record.agent, record.native_id, record.block, record.kind)
        else:
            key = (record.agent, None, record.conversation_id, record.position, record.block, record.time_us, record.channel)
        groups.setdefault(key, []).append(record)
    several = [group for group in groups.values() if len(group) > 1 and (group[0].native_id is not None or _sources(group) > 1)]
    return [same for group in several for same in by_text(group) if len(same) > 1]


def by_text(records: Iterable[Record]) -> list[list[Record]]:
    """Records of equal text together. Texts are looked at last: that costs more than all the rest."""
    groups: dict[str | bytes, list[Record]] = {}
    for record in records:
        groups.setdefault(digest(record.text), []).append(record)
    return list(groups.values())


def _sources(group: Iterable[Record]) -> int:
    return len({record.source for record in group})


def _original(same: list[Record], forked: Mapping[tuple[str, str], str], begins: Begins) -> Record:
    """The recorded parent's; else the one without a copy mark; else of the conversation whose own records begin first."""
    best = min(record.channel for record in same)
    left = [record for record in same if record.channel == best]
    named = {record.conversation_id for record in left}
    if len(named) > 1:
        left = [r for r in left if forked.get((r.agent, r.conversation_id or "")) not in named] or left
        left = [r for r in left if not r.is_copy] or left
        by_name: dict[str, list[Record]] = {}
        for record in left:
            by_name.setdefault(record.conversation_id or "", []).append(record)
        if len(by_name) > 1:
            began = begins({name: [r for r in same if (r.conversation_id or "") == name] for name in by_name})
            first = min(by_name, key=lambda name: (_ALWAYS if (at := began.get(name)) is None else at, name))
            left = by_name[first]
    return left[0]


def _inherited(records: list[Record], forked: Mapping[tuple[str, str], str]) -> dict[Identity, Identity]:
    """Copied prefixes: the n-th copy of a text in a fork is the n-th such record of its parent, or of the first fork read."""
    out: dict[Identity, Identity] = {}
    parents_of_copies = {(r.agent, r.inherited_from) for r in records if r.inherited_from is not None}
    if not parents_of_copies:
        return out
    there: dict[tuple[object, ...], list[Record]] = {}
    copied: dict[tuple[object, ...], list[Record]] = {}
    concerned = [r for r in records if r.inherited_from is not None or (r.agent, r.conversation_id) in parents_of_copies]
    for record in sorted(concerned, key=lambda r: (r.source.key, r.position, r.block)):
        what = (record.agent, record.speaker, record.channel, digest(record.text))
        if record.source.role == "transcript":
            there.setdefault((record.conversation_id, *what), []).append(record)
            if record.inherited_from is not None:
                copied.setdefault((record.conversation_id, record.inherited_from, *what), []).append(record)
    for key in sorted(copied, key=lambda key: (_fork_began(copied[key]), str(key[0]))):
        of_parent = key[1:]
        originals = there.get(of_parent, [])
        rest = copied[key][len(originals) :]
        out.update({identity(copy): identity(one) for copy, one in zip(copied[key], originals, strict=False)})
        # The parent was not read, or not to here: what is left stands for itself, and for later forks of the same parent.
        there.setdefault(of_parent, []).extend(rest)
    return {copy: one for copy, one in out.items() if copy != one}


def _fork_began(copies: Iterable[Record]) -> int:
    return min((record.time_us for record in copies if record.time_us is not None), default=_ALWAYS)
