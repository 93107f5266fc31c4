"""From a home and its variables to sources: walks only the folders that the asked stores need; opens no file."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache
from itertools import islice

from .files import inside
from .model import Agent, Source, Store
from .registry import ENTRIES, Entry, Root, agent
from .typed import NamedTuple


class Machine(NamedTuple):
    """Where to look: a home, and the environment (empty when a home was named: its owner's variables are not ours).

    `folders`: those of the project at hand, where agents may have left files of their own; see `around`.
    """

    home: str
    variables: Mapping[str, str]
    folders: tuple[str, ...] = ()


class Place(NamedTuple):
    """One folder of an agent that exists. `prefix` tells places apart in keys and is empty for the usual one.

    `only`: the one name in it that counts, where a variable names a file.
    """

    root: str
    path: str
    prefix: str
    only: str = ""


class Installed(NamedTuple):
    """An agent with at least one folder here, or whose variable points nowhere (`missing`)."""

    id: str
    places: tuple[Place, ...]
    missing: bool = False


class Listing(NamedTuple):
    """What was found. `broken`: folders or links that could not be listed, as sources that fail, with a code."""

    sources: tuple[Source, ...]
    broken: tuple[tuple[Source, str], ...] = ()
    copies: int = 0  # lesser twins and second names of one file
    refused: int = 0  # links that lead out of the agent's root
    pruned: int = 0  # sources that the query's fields rule out by name or time


def installed(machine: Machine, agent_ids: Sequence[str] = ()) -> tuple[Installed, ...]:
    """The agents that have a folder here; one stat for each place an absent agent could be, and no import."""
    found = []
    for entry in ENTRIES:
        if agent_ids and entry.id not in agent_ids:
            continue
        places, missing = _places(entry, machine)
        if places or missing:
            found.append(Installed(entry.id, places, missing and not places))
    return tuple(found)


def _places(entry: Entry, machine: Machine) -> tuple[tuple[Place, ...], bool]:
    places: list[Place] = []
    missing = False
    seen: set[tuple[int, int, str]] = set()
    for root in entry.roots:
        only = os.path.basename(machine.variables.get(root.variable or "", "")) if root.file else ""
        for path, prefix in candidates(root, machine):
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                missing = missing or bool(root.variable and not root.shared and machine.variables.get(root.variable))
                continue
            if stat.S_ISDIR(status.st_mode) and (status.st_dev, status.st_ino, only) not in seen:
                seen.add((status.st_dev, status.st_ino, only))
                if any(place.root == root.id and place.prefix == prefix for place in places):
                    prefix = f"{root.variable}/{root.below}:{prefix}"
                places.append(Place(root.id, path, prefix, only))
    return tuple(places), missing


def candidates(root: Root, machine: Machine) -> Iterator[tuple[str, str]]:
    """Folders that may be this root: what the variable says and nothing else, or the usual places below the home."""
    given = machine.variables.get(root.variable, "") if root.variable else ""
    if root.file:
        if os.path.isabs(given) and os.path.basename(given):
            yield os.path.dirname(os.path.abspath(given)), f"{root.variable}:"
        return
    if given:
        whole = os.path.expanduser(given)
        paths = [whole] if not root.many or os.path.isdir(whole) else [os.path.expanduser(p.strip()) for p in given.split(",") if p.strip()]
        yield from ((os.path.abspath(_below(path, root)), "" if index == 0 else f"{index}:") for index, path in enumerate(paths))
        return
    for index, place in enumerate(root.places):
        yield os.path.join(machine.home, *place.split("/")), "" if index == 0 else f"{place}:"
    if root.project:
        for folder in machine.folders:
            yield from ((os.path.join(folder, *place.split("/")), f"{_told(folder, machine.home)}/{place}:") for place in root.places)
    if machine.variables.get("WSL_DISTRO_NAME"):
        for place in root.places:
            if place.startswith("AppData/"):
                yield from ((os.path.join(user, *place.split("/")), f"{user}/{place}:") for user in _windows_users())


def around(folder: str, home: str) -> tuple[str, ...]:
    """The folders of the project that a folder lies in: itself, and those above it up to a repository's root or the home.

    A folder that lies in neither is alone: what is above it may be anyone's.
    """
    folder, home = os.path.realpath(folder), os.path.realpath(home)
    out: list[str] = []
    while folder != home:
        out.append(folder)
        above = os.path.dirname(folder)
        if os.path.lexists(os.path.join(folder, ".git")):
            return tuple(out)
        if above == folder:
            return tuple(out[:1])
        folder = above
    return tuple(out)


def _told(folder: str, home: str) -> str:
    """A folder as keys name it: by its place in the home, if it lies there."""
    real, above = os.path.realpath(folder), os.path.realpath(home)
    return os.path.relpath(real, above).replace(os.sep, "/") if inside(folder, home) else real.replace(os.sep, "/")


def _windows_users() -> list[str]:
    """The homes of Windows' own side, as the Linux beside it sees them."""
    try:
        return sorted(os.path.join(_WINDOWS_USERS, name) for name in os.listdir(_WINDOWS_USERS))
    except OSError:
        return []


def _below(path: str, root: Root) -> str:
    """The root in a folder that a variable names: some variables name the root, others stand in for the home."""
    inner = os.path.join(path, *root.below.split("/")) if root.below else path
    return inner if root.shared or os.path.isdir(inner) else path


def listing(found: Installed, stores: Iterable[Store]) -> Listing:
    """Every source of these stores, sorted by store and key. The same for any order in which folders list their names."""
    wanted = tuple(stores)
    sources: list[_Found] = []
    broken: list[tuple[Source, str]] = []
    copies = refused = 0
    for place in found.places:
        walk = _Walk(found.id, place, [store for store in wanted if store.root == place.root])
        walk.run()
        kept, twins = _without_twins(walk.files, walk.stores)
        sources += kept
        broken += walk.broken
        copies += twins
        refused += walk.refused
    unique, second_names = _without_second_names(sources)
    return Listing(tuple(one.source for one in unique), tuple(sorted(broken)), copies + second_names, refused)


class Located(NamedTuple):
    """Files whose names were wanted. `left` is what remains of the budget; below 0 the walk gave up.

    `gone`: places that were wanted and lead to no file that may be read. `broken`: a folder could not be listed.
    """

    sources: tuple[Source, ...]
    left: int
    gone: tuple[str, ...] = ()
    broken: bool = False


def locate(found: Installed, stores: Iterable[Store], wanted: Callable[[str], bool], budget: int) -> Located:
    """The sources whose place below the root, without ending, is wanted, in one walk of at most `budget` names. Stats only those."""
    sources: list[_Found] = []
    gone: list[str] = []
    broken = False
    for place in found.places:
        walk = _Walk(found.id, place, [store for store in stores if store.root == place.root], wanted, budget)
        walk.run()
        budget = walk.budget
        sources += _without_twins(walk.files, walk.stores)[0]
        gone += walk.gone
        broken = broken or bool(walk.broken)
    return Located(tuple(one.source for one in _without_second_names(sources)[0]), budget, tuple(gone), broken)


def loaded(found: Installed) -> Agent:
    """The declaration of an installed agent."""
    return agent(found.id)


Identity = tuple[int, int]
_WINDOWS_USERS = "/mnt/c/Users"
_DEPTH = 64  # folders below a root; deeper is a loop or an attack
_NO_BUDGET = 1 << 62
_Want = tuple[Store, tuple[str, ...]]


class _Found(NamedTuple):
    """A file with its identity on disk, and which spelling of its name it has (0 = the best)."""

    source: Source
    identity: Identity
    spelling: int


class _Walk:
    """One walk of a place that serves all stores at once: a folder is listed once, and only if a pattern leads through it."""

    def __init__(
        self, agent_id: str, place: Place, stores: Iterable[Store], wanted: Callable[[str], bool] | None = None, budget: int = _NO_BUDGET
    ) -> None:
        self.agent_id, self.place, self.wanted = agent_id, place, wanted
        self.stores = {store.id: store for store in stores}
        self.start: list[_Want] = [(s, (place.only,) if place.only else tuple(p.split("/"))) for s in self.stores.values() for p in s.where]
        self.files: list[_Found] = []
        self.broken: list[tuple[Source, str]] = []
        self.gone: list[str] = []  # wanted places whose name leads to no file
        self.refused = 0
        self.budget = budget  # names that may still be listed; below 0 the walk has given up
        self._taken: set[tuple[str, str]] = set()
        self._told: set[str] = set()  # names that were refused or out of reach: several patterns may meet one
        self._visited: set[tuple[Identity, str, tuple[str, ...]]] = set()  # folders, and what was wanted below them
        self._linked = False  # was the name last looked at a link?

    def run(self) -> None:
        try:
            top = os.stat(self.place.path)
        except OSError:
            return
        self._visited |= _aims((top.st_dev, top.st_ino), self.start)
        pending = [(self.place.path, "", self.start)] if self.start else []
        while pending and self.budget >= 0:
            folder, relative, wants = pending.pop()
            pending += self._folder(folder, relative, wants)

    def _folder(self, folder: str, relative: str, wants: list[_Want]) -> list[tuple[str, str, list[_Want]]]:
        wants = list(dict.fromkeys(_unfolded(wants)))
        deeper: dict[str, list[_Want]] = {}
        for name, may_hold in self._names(folder, relative, wants):
            for store, segments in wants:
                first = segments[0]
                if len(segments) == 1 and first != "**":
                    if _fits(name, first):
                        self._file(folder, relative, name, store)
                elif may_hold and _fits(name, first):
                    deeper.setdefault(name, []).append((store, segments if first == "**" else segments[1:]))
        out = []
        for name, inner in deeper.items():
            path = os.path.join(folder, name)
            if self._enters(path, relative + name, inner):
                out.append((path, f"{relative}{name}/", inner))
        return out

    def _names(self, folder: str, relative: str, wants: list[_Want]) -> list[tuple[str, bool]]:
        """The names to look at, sorted, and whether each may be a folder: those the patterns spell out, or all there are."""
        if not any("*" in segments[0] or "?" in segments[0] for _, segments in wants):
            return [(name, True) for name in sorted({segments[0] for _, segments in wants})]
        try:
            with os.scandir(folder) as entries:
                within = islice(entries, self.budget + 1)
                if any(len(segments) > 1 or segments[0] == "**" for _, segments in wants):
                    names = sorted((entry.name, entry.is_symlink() or not entry.is_file(follow_symlinks=False)) for entry in within)
                else:  # nothing is looked for further down
                    names = [(name, False) for name in sorted([entry.name for entry in within])]
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self._fail(folder, relative, wants[0][0], "folder_unreadable")
            return []
        self.budget -= len(names)
        return names if self.budget >= 0 else []  # which names come first is up to the file system

    def _enters(self, path: str, relative: str, wants: list[_Want]) -> bool:
        found = self._status(path, relative, wants[0][0])
        if found is None or not stat.S_ISDIR(found.st_mode):
            return False
        if self._linked and inside(os.path.dirname(path), path):
            return False  # it leads back to where it lies
        aims = _aims((found.st_dev, found.st_ino), wants)
        if (self._linked and aims <= self._visited) or relative.count("/") > _DEPTH:
            return False
        self._visited |= aims
        return True

    def _status(self, path: str, relative: str, store: Store) -> os.stat_result | None:
        """What a name stands for, links followed; None where it is gone, refused, or (counted) out of reach."""
        try:
            found = os.lstat(path)
            self._linked = stat.S_ISLNK(found.st_mode)
            if not self._linked:
                return found
            if not inside(path, self.place.path):
                self.refused += relative not in self._told
                self._told.add(relative)
                return None
            return os.stat(path)
        except OSError as error:
            if isinstance(error, PermissionError):
                self._fail(path, relative, store, "permission")
            return None

    def _file(self, folder: str, above: str, name: str, store: Store) -> None:
        ending = _ending(name, store.endings)
        if ending is None:
            return
        stem = name.removesuffix(ending)
        base, relative = above + stem, above + name
        if self.wanted and not self.wanted(base):  # asked first: of 100,000 names a handful is wanted
            return
        if (store.id, relative) in self._taken or any(_fits(name, pattern) for pattern in store.unless):
            return
        path = os.path.join(folder, name)
        self._taken.add((store.id, relative))
        found = self._status(path, relative, store)
        if found is None or stat.S_ISDIR(found.st_mode):
            self.gone += [base] if found is None else []
            return
        key = self.place.prefix + base + store.endings[0]
        source = Source(self.agent_id, store.id, store.role, path, key, found.st_size, found.st_mtime_ns, stem, self.place.path)
        spelling = store.endings.index(ending)
        if stat.S_ISREG(found.st_mode) and not found.st_size:  # made and not written yet: any twin says more
            spelling += len(store.endings)
        self.files.append(_Found(source, (found.st_dev, found.st_ino), spelling))

    def _fail(self, path: str, relative: str, store: Store, code: str) -> None:
        if relative in self._told:
            return
        self._told.add(relative)
        source = Source(self.agent_id, store.id, store.role, path, self.place.prefix + relative, 0, 0, "", self.place.path)
        self.broken.append((source, code))


def _ending(name: str, endings: Iterable[str]) -> str | None:
    for ending in endings:
        if name.endswith(ending):
            return ending
    return None


def _aims(identity: Identity, wants: list[_Want]) -> set[tuple[Identity, str, tuple[str, ...]]]:
    """A folder with all that is wanted below it: a link that leads to no more than that adds nothing."""
    return {(identity, store.id, segments) for store, segments in wants}


def _unfolded(wants: list[_Want]) -> Iterator[_Want]:
    """`**` stands for any number of folders, so also for none."""
    for store, segments in wants:
        yield store, segments
        if segments[0] == "**":
            yield from _unfolded([(store, segments[1:])])


@cache
def _pattern(segment: str) -> re.Pattern[str]:
    return re.compile(translate(segment))


def _fits(name: str, segment: str) -> bool:
    if segment == "**":
        return True
    if "*" in segment or "?" in segment:
        return _pattern(segment).match(name) is not None
    return name == segment


def _without_twins(files: list[_Found], stores: Mapping[str, Store]) -> tuple[list[_Found], int]:
    """One source for each name: where two spellings of it exist, in one store or in two, the better one."""
    best: dict[tuple[str, str], _Found] = {}
    for one in files:
        place = _named(one, stores)
        held = best.get(place)
        if held is None or one.spelling < held.spelling:
            best[place] = one if held is None else _beside(one, held)
        else:
            best[place] = _beside(held, one)
    kept = [one for (store, name), one in best.items() if (stores[store].yields_to, name) not in best]
    return kept, len(files) - len(kept)


def _beside(better: _Found, lesser: _Found) -> _Found:
    """The better spelling, which knows of the lesser one where that is its compressed copy. A shortened log is no copy."""
    if not lesser.source.path.startswith(f"{better.source.path}."):
        return better
    return better._replace(source=better.source._replace(twin=lesser.source.path))


def _named(found: _Found, stores: Mapping[str, Store]) -> tuple[str, str]:
    """The store and the name without its ending."""
    source = found.source
    return source.store, source.key.removesuffix(stores[source.store].endings[0])


def _without_second_names(files: list[_Found]) -> tuple[list[_Found], int]:
    """One source for each file on disk, the name that sorts first, so that a link or a hard link adds nothing."""
    ordered = sorted(files, key=lambda one: (one.source.store, one.source.key))
    seen: set[tuple[str, Identity]] = set()
    kept = []
    for one in ordered:
        place = (one.source.store, one.identity)
        if one.identity[1] and place in seen:  # a file system without inode numbers says 0 for all
            continue
        seen.add(place)
        kept.append(one)
    return kept, len(ordered) - len(kept)
