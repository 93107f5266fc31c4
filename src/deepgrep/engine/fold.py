"""Dedupe: spellings of one utterance become one group. Pure: matches in, groups out.

Within one conversation, a turn that a format writes several times (channels) and its row in a prompt history pair
one to one, nearest in time, so five separate "continue" stay five. Copies that `lineage` proves follow their original.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..model import Match, Record
from ..typed import NamedTuple
from .lineage import Identity, digest, identity

_PAIRS = 40_000  # beyond this many possible pairs, equal texts pair in order of time instead of by nearest


class Group(NamedTuple):
    """One utterance: the match that represents it, the records that say the same, and the other conversations that hold it."""

    match: Match
    folded: tuple[Record, ...] = ()
    also_in: tuple[str, ...] = ()


class _Slot:
    """A group being built: at most one member of each rank."""

    __slots__ = ("match", "members", "ranks")

    def __init__(self, match: Match, rank: tuple[int, int]) -> None:
        self.match = match
        self.members: list[Record] = []
        self.ranks = {rank}


def fold(matches: Sequence[Match], links: Mapping[Identity, Identity] | None = None) -> list[Group]:
    """Groups in the order of their representatives among `matches`; every match is in exactly one group.

    `links` lead from copies to what they are copies of.
    """
    links = links or {}
    slots = _slots([match for match in matches if identity(match.record) not in links])
    _adopt_rows_without_id(slots)
    place = {identity(match.record): index for index, match in enumerate(matches)}
    held = [slot for bucket in slots.values() for slot in bucket]
    _append_copies(matches, links, held)
    groups = [Group(slot.match, tuple(slot.members), _also_in(slot)) for slot in held]
    return sorted(groups, key=lambda group: place[identity(group.match.record)])


def _append_copies(matches: Sequence[Match], links: Mapping[Identity, Identity], slots: Sequence[_Slot]) -> None:
    """Put each copy behind what it leads to in the end."""
    home = {identity(record): slot for slot in slots for record in (slot.match.record, *slot.members)} if links else {}
    for match in matches:
        at = identity(match.record)
        if at in links:
            while at in links:
                at = links[at]
            home[at].members.append(match.record)


def _also_in(slot: _Slot) -> tuple[str, ...]:
    own = slot.match.record.conversation_id
    return tuple(sorted({r.conversation_id for r in slot.members if r.conversation_id not in (None, own)}))


def _slots(matches: Sequence[Match]) -> dict[tuple[object, ...], list[_Slot]]:
    """Slots by who said what in which conversation. Texts are compared only where there is more than one spelling."""
    rooms: dict[tuple[object, ...], list[Match]] = {}
    for match in matches:
        rooms.setdefault(_room(match.record), []).append(match)
    adopting = {room[0] for room in rooms if room[1] == ""}  # agents with rows that may fold into any equal prompt
    slots: dict[tuple[object, ...], list[_Slot]] = {}
    for room, inside in rooms.items():
        if len({_rank(match.record) for match in inside}) == 1 and not (room[0] in adopting and room[2] == "person"):
            slots[*room, None] = [_Slot(match, _rank(match.record)) for match in inside]
            continue
        buckets: dict[tuple[object, ...], list[Match]] = {}
        for match in inside:
            buckets.setdefault((*room, digest(match.record.text)), []).append(match)
        slots.update({key: _pair(bucket) for key, bucket in buckets.items()})
    return slots


def _room(record: Record) -> tuple[object, ...]:
    """Who spoke in which conversation. What a person typed is one thing whichever kind a format gives it."""
    kind = "" if record.speaker == "person" else record.kind
    conversation = record.conversation_id or ("" if record.source.role == "prompts" else record.source.key)
    return record.agent, conversation, record.speaker, kind


def _rank(record: Record) -> tuple[int, int]:
    return (0 if record.source.role == "transcript" else 1), record.channel


def _pair(bucket: list[Match]) -> list[_Slot]:
    """Pair the spellings of one text, rank by rank: a rank's records each take the nearest slot that lacks the rank."""
    ranks: dict[tuple[int, int], list[Match]] = {}
    if len(bucket) > 1:  # ties are decided by the records, not by which was read first
        bucket = sorted(bucket, key=lambda match: _moment(match.record))
    for match in bucket:
        ranks.setdefault(_rank(match.record), []).append(match)
    slots: list[_Slot] = []
    for rank in sorted(ranks):
        _place(ranks[rank], rank, slots)
    return slots


def _place(members: list[Match], rank: tuple[int, int], slots: list[_Slot]) -> None:
    free = [slot for slot in slots if rank not in slot.ranks]
    taken = _nearest([m.record for m in members], [slot.match.record for slot in free])
    for index, match in enumerate(members):
        if index in taken:
            slot = free[taken[index]]
            slot.members.append(match.record)
            slot.ranks.add(rank)
        else:
            slots.append(_Slot(match, rank))


def _nearest(members: Sequence[Record], slots: Sequence[Record]) -> dict[int, int]:
    """One to one, nearest first. Members and slots by index."""
    if len(members) * len(slots) > _PAIRS:
        by_time = sorted(range(len(slots)), key=lambda i: _moment(slots[i]))
        return dict(zip(sorted(range(len(members)), key=lambda i: _moment(members[i])), by_time, strict=False))
    pairs = sorted((_distance(member, slot), m, s) for m, member in enumerate(members) for s, slot in enumerate(slots))
    taken: dict[int, int] = {}
    used: set[int] = set()
    for _, m, s in pairs:
        if m not in taken and s not in used:
            taken[m] = s
            used.add(s)
    return taken


def _moment(record: Record) -> tuple[bool, int, str, str, int, int]:
    return record.time_us is None, record.time_us or 0, record.store, record.source.key, record.position, record.block


def _distance(one: Record, other: Record) -> tuple[int, int]:
    if one.time_us is not None and other.time_us is not None:
        return 0, abs(one.time_us - other.time_us)
    return 1, abs(one.position - other.position) if one.source == other.source else 0


def _adopt_rows_without_id(slots: dict[tuple[object, ...], list[_Slot]]) -> None:
    """A history row that names no conversation folds into an equal prompt of the same agent that has no row yet."""
    for key in [key for key in slots if key[1] == ""]:
        same = [slot for other, bucket in slots.items() if other != key and (other[0], *other[2:]) == (key[0], *key[2:]) for slot in bucket]
        homes = sorted((slot for slot in same if all(rank[0] == 0 for rank in slot.ranks)), key=lambda slot: _moment(slot.match.record))
        rows = slots[key]
        taken = _nearest([slot.match.record for slot in rows], [slot.match.record for slot in homes])
        for index, home in taken.items():
            homes[home].members += [rows[index].match.record, *rows[index].members]
            homes[home].ranks |= rows[index].ranks
        slots[key] = [slot for index, slot in enumerate(rows) if index not in taken]


class Seen:
    """What a streamed search has given: a later spelling or copy of it is not given again. Holds no text but what persons typed."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str | bytes], list[Match]] = {}  # what persons typed, by agent and text: it may pair across sources
        self._given: set[Identity] = set()
        self._rows: set[int | None] = set()
        self._own: Counter[int] = Counter()  # how often each conversation said what
        self._taken: Counter[int] = Counter()  # how often at most a fork of it repeats that

    def fresh(self, matches: Sequence[Match], groups: Callable[[Sequence[Match]], list[Group]]) -> Iterator[Group]:
        """The groups of one more source that say something new."""
        typed = [match for match in matches if match.record.speaker == "person"]
        keys = dict.fromkeys((match.record.agent, digest(match.record.text)) for match in typed)
        for match in typed:
            self._said.setdefault((match.record.agent, digest(match.record.text)), []).append(match)
        touched = [match for match in matches if match.record.speaker != "person"]
        touched += [match for key in keys for match in self._said[key]]
        taken: Counter[int] = Counter()
        for group in groups(touched):
            record = group.match.record
            old = self._is_given(group) if record.speaker == "person" else self._is_known(group, taken)
            if not old:  # else a spelling of it was given before, though this reading's may represent it now
                if record.speaker == "person":  # what folded into it may pair otherwise with what is read later
                    self._given.add(identity(record))
                yield group
        self._taken |= taken

    def _is_given(self, group: Group) -> bool:
        return any(identity(record) in self._given for record in (group.match.record, *group.folded))

    def _is_known(self, group: Group, taken: Counter[int]) -> bool:
        """Was this given by another source: by its own id or place, or as the n-th such text of the conversation it was copied from?"""
        record = group.match.record
        rows = {_row(one) for one in (record, *group.folded)} - {None}
        known = not self._rows.isdisjoint(rows)
        self._rows |= rows
        if known or record.native_id is not None:
            return known
        own = _what(record.conversation_id, record)
        self._own[own] += 1
        if record.inherited_from is None:
            return self._own[own] <= self._taken[own]
        parents = _what(record.inherited_from, record)
        taken[parents] += 1
        return taken[parents] <= max(self._own[parents], self._taken[parents])


def _what(conversation_id: str | None, record: Record) -> int:
    return hash((record.agent, conversation_id, record.speaker, record.channel, record.text))


def _row(record: Record) -> int | None:
    """A number that a transcript's record and its copies share: by its own id, or by its place in its conversation."""
    if record.native_id is not None:
        return hash((record.agent, record.native_id, record.block, record.kind, record.text))
    if record.source.role != "transcript":
        return None
    return hash((record.agent, record.conversation_id, record.position, record.block, record.time_us, record.channel, record.text))
