"""One conversation: its records in order, each utterance once, and any window of them.

A survey keeps places and digests of all records and texts only while they are few; a window then reads again what it needs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from heapq import merge

from .. import refs, registry
from ..discovery import Machine, installed, listing, loaded
from ..errors import NotFound
from ..files import Unreadable
from ..model import KINDS, SPEAKERS, Match, Record, Resume, Source
from ..refs import Ref
from ..text import squash
from ..typed import NamedTuple
from .fold import fold
from .lineage import identity
from .read import Whole
from .target import Target, target, transcript

HELD_BYTES = 16 << 20  # of texts, about, that a survey keeps; beyond, windows read again
_UNDATED = -(1 << 63)


class Window(NamedTuple):
    """Which records. `around`: so many on each side of the one that was named; else from number `first`, at most `limit`.

    Injected context is left out unless its kind or its speaker is asked for.
    """

    around: int | None = None
    first: int = 1
    limit: int | None = None
    speakers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class Entry(NamedTuple):
    """One record of a conversation. `number` counts all of its utterances from 1, whatever a window leaves out."""

    number: int
    record: Record
    is_hit: bool = False


class Passage(NamedTuple):
    """A window of a conversation: records in order, and how many that would pass stand before and after it."""

    entries: Iterator[Entry]
    before: int
    after: int
    next: int | None  # the number to go on from


class Subagent(NamedTuple):
    """A conversation that this one started, as its file's name tells; nothing of it was opened."""

    name: str
    source: Source


class _Columns:
    """What the survey keeps of each record: thirty-odd bytes instead of its text."""

    def __init__(self) -> None:
        self.source, self.local = array("i"), array("q")
        self.position, self.block = array("q"), array("q")
        self.said, self.native, self.time = array("Q"), array("Q"), array("q")
        self.channel, self.speaker, self.kind, self.conversation = array("b"), array("b"), array("i"), array("i")

    def __len__(self) -> int:
        return len(self.position)


class Conversation:
    """A conversation under survey. Made by `opened`; see `window`, `describes`, `subagents`."""

    def __init__(self, sources: Sequence[Source], conversation_id: str | None, ref: Ref | None = None, twin: Record | None = None) -> None:
        self.sources = tuple(sources)
        self.conversation_id = conversation_id
        self.hit: Record | None = None  # the record that was named
        self.moved = False  # it was found at another place than its ref says
        self.is_gone = False  # its transcript is not here any more: only prompts of it are
        self.title: str | None = None
        self.bytes_read = 0
        self._rows = _Columns()
        self._held: list[Record] | None = []
        self._held_bytes = 0
        self._kinds: dict[str, int] = {kind: number for number, kind in enumerate(KINDS)}
        self._ids: dict[str | None, int] = {}
        self._first: dict[int, Record] = {}  # of each conversation in the sources: the record that describes it best
        self._at: int | None = None  # the row of the hit
        self._nearest: tuple[int, int] | None = None  # how far the hit was looked for
        self._survey(ref, twin)
        self._order = self._shown_order(ref)

    # --- survey

    def _survey(self, ref: Ref | None, twin: Record | None) -> None:
        wanted = _said(twin) if twin else None
        for number, source in enumerate(self.sources):
            whole = Whole(source)
            for local, record in enumerate(whole):
                row = self._add(number, local, record)
                if ref and refs.check(record) == ref.check:
                    self._try(row, record, _distance(record, ref))
                elif twin and self._rows.said[row] == wanted:
                    self._try(row, record, (abs((record.time_us or 0) - (twin.time_us or 0)), record.channel))
            self.title = self.title or whole.facts.title
            self.bytes_read += whole.bytes_read
        if self.hit and ref:
            self.moved = (self.hit.position, self.hit.block) != (ref.position, ref.block)
        if self.hit and ref and self.conversation_id is None:
            self.conversation_id = self.hit.conversation_id

    def _try(self, row: int, record: Record, distance: tuple[int, int]) -> None:
        if self._nearest is None or distance < self._nearest:
            self._nearest, self._at, self.hit = distance, row, record

    def _add(self, number: int, local: int, record: Record) -> int:
        rows, said = self._rows, _said(record)
        rows.source.append(number)
        rows.local.append(local)
        rows.position.append(record.position)
        rows.block.append(record.block)
        rows.said.append(said)
        rows.native.append(0 if record.native_id is None else _hash(f"{record.native_id}\0{record.block}\0{record.kind}\0{said}"))
        rows.time.append(_UNDATED if record.time_us is None else record.time_us)
        rows.channel.append(record.channel)
        rows.speaker.append(SPEAKERS.index(record.speaker))
        rows.kind.append(self._kinds.setdefault(record.kind, len(self._kinds)))
        name = self._ids.setdefault(record.conversation_id, len(self._ids))
        rows.conversation.append(name)
        known = self._first.get(name)
        if known is None or _tells(record) > _tells(known):
            self._first[name] = record._replace(text="")
        if self._held is not None:
            self._held.append(record)
            self._held_bytes += len(record.text) + 400
            if self._held_bytes > HELD_BYTES:
                self._held = None
        return len(rows) - 1

    # --- what belongs to it, in order

    def _shown_order(self, ref: Ref | None) -> array[int]:
        """The rows that are this conversation's, each utterance once, in order."""
        named = [native for native in self._ids if native is not None]
        if self.conversation_id is None and self.hit is None and len(named) == 1:
            self.conversation_id = named[0]
        belongs = self._belonging(all_of_it=self.conversation_id is None and not (ref and self.hit))
        stands_for = self._second_spellings(belongs)
        if self._at is not None:
            self._at = stands_for.get(self._at, self._at)
        return array("q", (row for row in self._in_order(belongs) if row not in stands_for))

    def _belonging(self, *, all_of_it: bool) -> list[int]:
        if all_of_it:
            return list(range(len(self._rows)))
        mine, nameless = self._ids.get(self.conversation_id), self._ids.get(None)
        bodies = [source.role == "transcript" for source in self.sources]
        rows = self._rows
        return [
            row
            for row in range(len(rows))
            if rows.conversation[row] == mine or (rows.conversation[row] == nameless and bodies[rows.source[row]]) or row == self._at
        ]

    def _second_spellings(self, belongs: Sequence[int]) -> dict[int, int]:
        """From each row that says again what another says, the row that stands for it: the folding that a search does."""
        rows = self._rows
        out: dict[int, int] = {}
        first: dict[int, int] = {}
        for row in belongs:  # written again under one native id
            if rows.native[row]:
                best = first.setdefault(rows.native[row], row)
                if best != row:
                    out[row] = best
        several = len({rows.source[row] for row in belongs}) > 1
        doubled = {rows.said[row] for row in belongs if rows.channel[row] or several}
        unsure = (row for row in belongs if row not in out and rows.said[row] in doubled)
        stubs = {identity(stub): (row, stub) for row in unsure for stub in [self._stub(row)]}
        for group in fold([Match(stub, ()) for _, stub in stubs.values()]):
            kept = stubs[identity(group.match.record)][0]
            out.update({stubs[identity(other)][0]: kept for other in group.folded})
        return out

    def _stub(self, row: int) -> Record:
        rows = self._rows
        speaker = SPEAKERS[rows.speaker[row]]
        kind = next(name for name, number in self._kinds.items() if number == rows.kind[row])
        time_us = None if rows.time[row] == _UNDATED else rows.time[row]
        source = self.sources[rows.source[row]]
        return Record(
            source, rows.position[row], rows.block[row], speaker, kind, f"{rows.said[row]:x}", time_us, "same", channel=rows.channel[row]
        )

    def _in_order(self, belongs: Sequence[int]) -> Iterable[int]:
        """File order; with several files by time, each file's own order kept."""
        rows = self._rows
        if len(self.sources) == 1:
            return belongs

        def timed(number: int) -> Iterator[tuple[int, int, int]]:
            latest = _UNDATED
            for row in belongs:
                if rows.source[row] == number:
                    latest = max(latest, rows.time[row])
                    yield latest, number, row

        return (row for _, _, row in merge(*(timed(number) for number in range(len(self.sources)))))

    # --- what it says of itself

    @property
    def total(self) -> int:
        """How many utterances it has, injected context included."""
        return len(self._order)

    @property
    def hit_number(self) -> int | None:
        """The number of the record that was named."""
        return self._order.index(self._at) + 1 if self._at is not None else None

    @property
    def describes(self) -> Record | None:
        """A record, without its text, that says most of the conversation: its folder, branch, model, parent. None for several."""
        best = self._first.get(self._ids.get(self.conversation_id, -1))
        if best is None and len(self._first) == 1:
            (best,) = self._first.values()
        return best._replace(title=best.title or self.title) if best else None

    @property
    def times(self) -> tuple[int | None, int | None]:
        """Its first and last instant, in microseconds."""
        dated = [self._rows.time[row] for row in self._order if self._rows.time[row] != _UNDATED]
        return (min(dated), max(dated)) if dated else (None, None)

    def window(self, wanted: Window) -> Passage:
        """The records of a window. Reads their sources again where the survey could not keep them."""
        passing = [number for number, row in enumerate(self._order, 1) if self._passes(row, wanted)]
        low, high = self._bounds(passing, wanted)
        inside = passing[low:high]
        return Passage(self._entries(inside), low, len(passing) - high, passing[high] if high < len(passing) else None)

    def _passes(self, row: int, wanted: Window) -> bool:
        if row == self._at:
            return True
        speaker = SPEAKERS[self._rows.speaker[row]]
        is_context = self._rows.kind[row] == self._kinds["context"]
        if is_context and "context" not in wanted.kinds and "runtime" not in wanted.speakers:
            return False
        kinds = {self._kinds[kind] for kind in wanted.kinds if kind in self._kinds}
        return (not wanted.speakers or speaker in wanted.speakers) and (not wanted.kinds or self._rows.kind[row] in kinds)

    def _bounds(self, passing: Sequence[int], wanted: Window) -> tuple[int, int]:
        number = self.hit_number
        if wanted.around is not None and number is not None:
            at = passing.index(number)
            return max(0, at - wanted.around), min(len(passing), at + wanted.around + 1)
        low = next((index for index, one in enumerate(passing) if one >= wanted.first), len(passing))
        return low, len(passing) if wanted.limit is None else min(len(passing), low + wanted.limit)

    def _entries(self, numbers: Sequence[int]) -> Iterator[Entry]:
        records = _Again(self.sources) if self._held is None else None
        for number in numbers:
            row = self._order[number - 1]
            if self._held is not None:
                record = self._held[row]
            else:
                assert records is not None
                record = records.at(self._rows.source[row], self._rows.local[row])
                if (record.position, record.block) != (self._rows.position[row], self._rows.block[row]):
                    raise Unreadable("changed_while_read")
            yield Entry(number, record._replace(title=record.title or self.title), row == self._at)

    def subagents(self, machine: Machine) -> tuple[Subagent, ...]:
        """Conversations that lie below this one's id: names alone, nothing is opened."""
        native = self.conversation_id
        found = installed(machine, (self.sources[0].agent,))
        if native is None or not found:
            return ()
        stores = [store for store in loaded(found[0]).stores if store.reader and store.role == "transcript" and "agent" in store.speakers]
        listed = listing(found[0], stores).sources
        own = {source.path for source in self.sources}
        return tuple(Subagent(source.stem, source) for source in listed if native in source.key.split("/")[:-1] and source.path not in own)


class _Again:
    """Reads sources a second time, forwards, as far as records are asked for."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._streams = [enumerate(Whole(source)) for source in sources]

    def at(self, source: int, local: int) -> Record:
        for number, record in self._streams[source]:
            if number == local:
                return record
        raise Unreadable("changed_while_read")


def opened(text: str, machine: Machine) -> tuple[Conversation, Target]:
    """The conversation that a ref, an id, the start of one, or a file's path names, surveyed, and how it was found.

    Raises NotFound where nothing, or not one thing, is named, or where a record is gone; Unreadable for a file that cannot be read.
    """
    named = target(text, machine)
    if not named.ref:
        found = Conversation(named.sources, named.conversation_id)
        return _without_transcript(found, found.describes, machine), named
    found = Conversation(named.sources, None, named.ref)
    if found.hit is None:
        raise NotFound(f"gone: the file of {named.ref.store} is here, but the record that this ref names is not in it any more")
    bodies = transcript(found.hit, machine)[1] if found.hit.source.role == "prompts" else ()
    if bodies:
        whole = Conversation(bodies, found.hit.conversation_id, twin=found.hit)
        if whole.hit is not None:
            whole.moved = found.moved
            return whole, named
        return found, named._replace(why="its conversation's transcript does not hold this prompt: these are its neighbours in the history")
    return _without_transcript(found, found.hit, machine), named


def _without_transcript(found: Conversation, record: Record | None, machine: Machine) -> Conversation:
    """Note whether there are only prompts of it, and its agent's locator finds no transcript."""
    if record and all(source.role == "prompts" for source in found.sources):
        found.is_gone = transcript(record, machine)[0] in ("unresolved", "stale")
    return found


def way_back(found: Conversation) -> Resume:
    """The agent's own command that goes back into the conversation. Raises NotFound with the reason where there is none."""
    record = found.describes
    if record is None:
        raise NotFound("this is no single conversation: name one by its id, or by a ref of it")
    declared = registry.agent(record.agent)
    if declared.resume is None:
        raise NotFound(f"{declared.name} has no command that goes back into a conversation")
    if record.conversation_id is None:
        raise NotFound("the history does not say which conversation this belongs to, so there is none to go back into")
    if found.is_gone:
        raise NotFound(f"{declared.name} has nothing to go back into: the conversation's transcript is not here any more")
    if record.parent_conversation_id:
        raise NotFound(f"this is a subagent's conversation; the one that started it is {record.parent_conversation_id}")
    command = declared.resume(record)
    if command is None:
        raise NotFound(f"{declared.name} has no command that goes back into this conversation: it is kept in {record.store}")
    return command


def _said(record: Record) -> int:
    """Who said what, as a number; what a person typed is one thing whichever kind a format gives it."""
    kind = "" if record.speaker == "person" else record.kind
    return _hash(f"{record.speaker}\0{kind}\0{squash(record.text)}")


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") or 1


def _distance(record: Record, ref: Ref) -> tuple[int, int]:
    """How far a record with the right check lies from where its ref says: the same block first, then the nearest."""
    return int(record.block != ref.block), abs(record.position - ref.position)


def _tells(record: Record) -> tuple[bool, bool, bool]:
    return record.cwd is not None, record.speaker != "parent" or record.parent_conversation_id is not None, record.branch is not None
