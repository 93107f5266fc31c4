"""From what a person names to the sources that hold it: a ref, a conversation's id, a unique start of one, or a file.

Lists names; opens only what it must to prove an id, and says how much that was. Guesses nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import closing

from .. import refs, registry
from ..discovery import Installed, Machine, installed, listing, loaded
from ..errors import NotFound, UsageError
from ..files import Unreadable, inside
from ..model import Agent, Record, Rows, Source
from ..refs import Ref
from ..typed import NamedTuple
from .read import Whole
from .route import prove

READ_BYTES = 256 << 20  # that may be read to find an id which no name carries
_LEAST = 4  # characters of an id that may stand for all of it
_SHOWN = 5  # ids or files that an error lists


class Looked(NamedTuple):
    """What was read to find an id that no name proves."""

    sources: int = 0
    bytes: int = 0


class Target(NamedTuple):
    """What was named: the sources that hold it, in order; which conversation of theirs; which record."""

    sources: tuple[Source, ...]
    conversation_id: str | None = None  # None: a ref's record tells, or all that a file holds
    ref: Ref | None = None
    looked: Looked = Looked()
    why: str = ""  # a remark for the reader: what was named is not quite what is here


class _Here(NamedTuple):
    """An agent on this machine with all of its sources."""

    agent: Agent
    found: Installed
    sources: tuple[Source, ...]


def target(text: str, machine: Machine) -> Target:
    """What a text names. Raises NotFound: with what was looked at, or with how to be exact."""
    named = refs.parsed(text)
    if named:
        return _of_ref(named, machine)
    agent_id, colon, rest = text.strip().partition(":")
    if colon and agent_id in registry.AGENT_IDS:  # as `deepgrep grep` names a conversation
        return _of_path(rest, machine) if _is_path(rest) else _of_id(rest, machine, (agent_id,))
    if not text.strip():
        raise UsageError("name a ref, a conversation's id, or a file")
    if _is_path(text):
        return _of_path(text, machine)
    return _of_id(text.strip(), machine)


# --- refs -----------------------------------------------------------------------------------------------------------


def _of_ref(named: Ref, machine: Machine) -> Target:
    agent_id = named.store.partition(".")[0]
    store = registry.store(named.store)  # raises UsageError for one that is not known
    found = installed(machine, (agent_id,))
    if not found or not found[0].places:
        raise NotFound(f"gone: no history of {agent_id} is here, where this ref leads")
    listed = listing(found[0], [store])
    sources = tuple(source for source in listed.sources if refs.of_key(source.key) == named.source)
    if not sources:
        raise NotFound(f"gone: the file of {named.store} that this ref leads to is not here any more; it was deleted, moved or archived")
    return Target(sources[:1], ref=named)


# --- files ----------------------------------------------------------------------------------------------------------


def _is_path(text: str) -> bool:
    return text.startswith("~") or "/" in text or os.sep in text or os.path.isfile(text)


def _of_path(text: str, machine: Machine) -> Target:
    path = os.path.join(machine.home, text[2:]) if text.startswith(("~/", "~\\")) else os.path.abspath(os.path.expanduser(text))
    try:
        real = os.path.realpath(path)
        is_file = os.path.isfile(real)
    except ValueError:  # a NUL in it
        is_file = False
    if not is_file:
        raise NotFound(f"no such file: {text}")
    sources = [
        source
        for found in installed(machine)
        if any(inside(real, place.path) for place in found.places)
        for source in listing(found, loaded(found).stores).sources
        if os.path.realpath(source.path) == real
    ]
    if not sources:
        raise NotFound(f"{text} is no file of an agent's history, or a second copy of one: `deepgrep find` lists them")
    return Target(tuple(sources))


# --- ids ------------------------------------------------------------------------------------------------------------


def _of_id(text: str, machine: Machine, agents: tuple[str, ...] = ()) -> Target:
    """An id that an agent's own locator proves; else one that names carry; else one that contents tell."""
    here = installed(machine, agents)
    proved = [(found.id, *prove(text, loaded(found), found)) for found in here if found.places]
    resolved = [(agent_id, sources) for agent_id, outcome, sources in proved if outcome == "resolved"]
    if len(resolved) == 1:
        return Target(resolved[0][1], text)
    unsure = [source for _, outcome, sources in proved if outcome in ("resolved", "ambiguous") for source in sources]
    if unsure:
        raise NotFound(_several_files(text, unsure, machine))
    listed = [_listed(found) for found in here if found.places]
    looked = _Looking(text)
    everything = [source for one in listed for source in one.sources]
    # Names first; then what names prove nothing of; last, whole files, which may hold a second conversation inside.
    for sources, whole in ((_by_name(text, listed), False), (_unproved(listed), False), (everything, True)):
        looked.at(sorted(sources, key=_worth), whole=whole)
        if looked.found:
            return looked.target(machine)
    raise NotFound(looked.miss())


def _listed(found: Installed) -> _Here:
    declared = loaded(found)
    stores = [store for store in declared.stores if store.reader]
    return _Here(declared, found, listing(found, stores).sources)


def _several_files(text: str, sources: Sequence[Source], machine: Machine) -> str:
    paths = [_at_home(source.path, machine) for source in sources]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{len(paths)} files are conversation {text}: name one by its path: {', '.join(paths[:_SHOWN])}{more}"


def _at_home(path: str, machine: Machine) -> str:
    home = machine.home.rstrip(os.sep) + os.sep
    return "~/" + path.removeprefix(home) if path.startswith(home) else path


def _by_name(text: str, agents: Iterable[_Here]) -> list[Source]:
    """The transcripts whose names carry the text as an id or its start; the folders they lie in only where no file does."""
    bodies = [(here, source) for here in agents for source in here.sources if source.role == "transcript"]
    carried = [source for here, source in bodies if _carries(text, source, here.agent)]
    start = re.compile(rf"(?:^|[^A-Za-z0-9]){re.escape(text)}")
    return carried or [source for _, source in bodies if start.search(source.key)]


def _carries(text: str, source: Source, declared: Agent) -> bool:
    locator = declared.locate
    if locator and source.store in locator.stores:
        place = source.key[: source.key.rfind("/") + 1] + source.stem
        names = place.split("/")
        key = locator.names(names[-1 - locator.level]) if locator.level < len(names) else None
        return key is not None and (key.startswith(text) or (len(key) >= _LEAST and text.startswith(key)))
    return re.search(rf"(?:^|[^A-Za-z0-9]){re.escape(text)}", source.stem) is not None


def _unproved(agents: Iterable[_Here]) -> list[Source]:
    """Sources of stores whose names prove nothing, prompt histories among them."""
    return [source for here in agents for source in here.sources if not here.agent.locate or source.store not in here.agent.locate.stores]


def _worth(source: Source) -> tuple[bool, int, str, str]:
    """Transcripts before prompt histories, newest first."""
    return source.role == "prompts", -source.mtime_ns, source.store, source.key


class _Looking:
    """Reads sources for the conversations they hold, until the budget is used up."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[tuple[str, str], list[Source]] = {}  # by agent and id
        self.bytes = self.unread = 0
        self.failed: set[Source] = set()
        self._seen: set[Source] = set()

    def at(self, sources: Iterable[Source], *, whole: bool) -> None:
        """Look at some sources: at a transcript until a record names its conversation, or with `whole` at all of it."""
        self.unread = 0
        for source in sources:
            if source in self._seen and not whole:
                continue
            if self.bytes > READ_BYTES or (whole and self.bytes + source.size > READ_BYTES):
                self.unread += 1
                continue
            self._seen.add(source)
            self._read(source, whole=whole)

    def _read(self, source: Source, *, whole: bool) -> None:
        reading = Whole(source)
        several = whole or source.role == "prompts" or isinstance(registry.store(source.store).reader, Rows)
        try:
            with closing(iter(reading)) as records:
                for record in records:
                    native = record.conversation_id
                    if native is None:
                        continue
                    if native == self.text or (len(self.text) >= _LEAST and native.startswith(self.text)):
                        held = self.found.setdefault((source.agent, native), [])
                        held += [source] if source not in held else []
                    if not several:
                        break
        except Unreadable:
            self.failed.add(source)
        self.bytes += reading.bytes_read

    def target(self, machine: Machine) -> Target:
        """The one conversation that was found. Raises NotFound for several."""
        exact = {key: sources for key, sources in self.found.items() if key[1] == self.text}
        found = exact or self.found
        if len(found) > 1:
            names = sorted(f"{native} ({agent})" for agent, native in found)
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            how = "name one by its path, or by a ref of it" if exact else "write more of the id"
            raise NotFound(f"{len(names)} conversations begin with {self.text}: {how}: {', '.join(names[:_SHOWN])}{more}")
        (((_, native), sources),) = found.items()
        bodies = [source for source in sources if source.role == "transcript"]
        if len(bodies) > 1 and len({source.store for source in bodies}) < len(bodies):
            raise NotFound(_several_files(native, bodies, machine))
        why = "" if bodies else "its transcript is not here any more: these are its prompts in the prompt history"
        return Target(tuple(bodies or sources), native, looked=Looked(len(self._seen), self.bytes), why=why)

    def miss(self) -> str:
        """What was looked at in vain."""
        read = f"{len(self._seen):,} files were read for it"
        left = f", {self.unread:,} files were too much to read to the end" if self.unread else ""
        left += f", {len(self.failed):,} cannot be read" if self.failed else ""
        short = f"; a start of an id needs {_LEAST} characters" if len(self.text) < _LEAST else ""
        return f"no conversation {self.text} is here: no name proves it, and {read}{left}{short}; `deepgrep search --refs` shows refs"


def transcript(record: Record, machine: Machine) -> tuple[str, tuple[Source, ...]]:
    """What became of the transcript that a row of a prompt history names, and its sources where its agent's locator proves them."""
    found = installed(machine, (record.agent,))
    declared = loaded(found[0]) if found else None
    if record.conversation_id is None or declared is None or not declared.locate or declared.locate.key(record.conversation_id) is None:
        return "unroutable", ()
    outcome, sources = prove(record.conversation_id, declared, found[0])
    return outcome, sources if outcome == "resolved" else ()
