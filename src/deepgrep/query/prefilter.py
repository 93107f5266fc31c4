r"""What a query needs to find in raw bytes: a necessary condition, never the verdict.

Sound for a store whose records' text stands in its own bytes (`Traits.text_in`): there, every maximal run of a term
without quote, backslash, slash, white space, control or inserted character stands in the bytes as UTF-8, or one of
its characters is spelled `\\uXXXX`, or composing (NFC) makes it from characters that a quick check tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

from ..bytesearch import Finder, View, denormalized, doubtful, finder, uncased
from ..model import All, Any, Pattern, Term, Tree
from ..text import fold
from ..typed import NamedTuple

# Characters that JSON or a reader may spell otherwise: a run is cut at them. U+FFFD stands for bytes that were none; U+03A2 is no
# character, and stringzilla 5.3.2 does not find it.
_CUT = re.compile('[\\s"\\\\/\x00-\x1f\x7f-\x9f\u03a2\ufffd\ud800-\udfff]+')
# ASCII characters that composing makes from others: Greek question mark, Greek varia.
_FROM_COMPOSING = frozenset(";`")
# Characters outside ASCII that fold to an ASCII letter: Kelvin sign, long s.
_FOLDS_TO_ASCII = {"k": "\u212a", "s": "\u017f"}
_ESCAPE = finder(b"\\u")


_PATIENCE = 16  # unwanted escapes in a row before a search changes its way


class Probe(NamedTuple):
    """Raw conditions of which at least one must hold in a line."""

    finders: tuple[Finder, ...]


def runs(tree: Tree, inserted: str) -> tuple[str, ...] | None:
    """Alternatives of which one must occur for the tree to hold; None where nothing can be required."""
    if isinstance(tree, Term):
        cut = _CUT if not inserted else re.compile(f"(?:{_CUT.pattern}|[{re.escape(inserted)}])+")
        pieces = [piece for piece in cut.split(fold(tree.text)) if piece]
        return (max(pieces, key=lambda piece: len(piece.encode())),) if pieces else None
    if isinstance(tree, Pattern):
        from .regex import required  # deferred: most searches look for words

        texts = required(tree)
        return None if texts is None else runs(Any(tuple(Term(text) for text in texts)), inserted)
    if not isinstance(tree, (All, Any)):  # what must not be there, or what a field says, needs nothing in the bytes
        return None
    found = [runs(part, inserted) for part in tree.parts]
    if isinstance(tree, Any):
        return None if any(part is None for part in found) else tuple(run for part in found for run in part or ())
    known = [part for part in found if part]
    # Of what is all required, ask for what has the fewest alternatives, then for the longest: the rarest guess.
    return min(known, key=lambda part: (len(part), -min(len(run.encode()) for run in part))) if known else None


def probe(tree: Tree, inserted: str = "", always: tuple[bytes, ...] = ()) -> Probe | None:
    """The probe of a tree for a store with these traits; None where every line may match."""
    alternatives = runs(tree, inserted)
    if alternatives is None:
        return None
    finders: list[Finder] = [uncased(run) for run in dict.fromkeys(alternatives)]
    finders += [unsure for run in alternatives if (unsure := doubtful(run))][:1]
    finders.append(_escaped((*alternatives, *(marker.decode() for marker in always))))
    if any(not run.isascii() or _FROM_COMPOSING & set(run) for run in alternatives):
        finders.append(denormalized)
    finders += [finder(marker) for marker in always]
    return Probe(tuple(finders))


def markers(found: tuple[bytes, ...]) -> Probe:
    """The probe for lines that hold one of some byte strings."""
    return Probe(tuple(finder(marker) for marker in found))


def _escaped(alternatives: tuple[str, ...]) -> Finder:
    r"""Finds a `\\u` spelling of a character that could take part in one of the runs."""
    chars = set("".join(alternatives))
    # A letter of an accented one may be spelled so while its accent stands bare behind it.
    chars |= {char for char in normalize("NFD", "".join(alternatives)) if char.isascii()}
    # A backslash can itself be spelled so, where JSON stands inside a string of JSON.
    wanted = {"005c", "0075"} | {f"00{ord(v):02x}" for char in chars if char.isascii() for v in (char, char.upper())}
    wanted |= {f"{ord(_FOLDS_TO_ASCII[char]):04x}" for char in chars if char in _FOLDS_TO_ASCII}
    spellings = sorted(wanted)
    # Terminal colours fill some logs with other escapes: then what a wanted one begins with is looked for instead.
    beginnings = [finder(b"\\u" + start.encode()) for start in sorted({spelling[:3] for spelling in wanted})]
    if any(not char.isascii() for char in chars) or _FROM_COMPOSING & chars:
        spellings += ["00[89a-f]", "0[1-9a-f]", "[1-9a-f]"]  # any escape outside ASCII
        beginnings = []
    pattern = re.compile(rb"(?i)\\u(?:" + "|".join(spellings).encode() + rb")")

    def wanted_from(found: Finder, view: View, at: int, patience: int) -> tuple[int, int]:
        """The next wanted escape, or -1; and where the search stopped for want of patience, or -1."""
        at = found(view, at)
        while at >= 0 and not pattern.match(view, at):
            patience -= 1
            if not patience:
                return -1, at + 2
            at = found(view, at + 2)
        return at, -1

    def find(view: View, start: int) -> int:
        at, stopped = wanted_from(_ESCAPE, view, start, _PATIENCE if beginnings else 0)
        if stopped < 0:
            return at
        return min((at for begin in beginnings if (at := wanted_from(begin, view, stopped, 0)[0]) >= 0), default=-1)

    return find


def lines(found: Probe, buffer: bytearray, end: int) -> Iterator[tuple[int, int]]:
    """Spans (start, end without line feed) of the lines of `buffer[:end]` in which the probe hits, in order, each once."""
    starts: dict[int, int] = {}
    with memoryview(buffer) as whole, whole[:end] as view:
        for find in found.finders:
            at = find(view, 0)
            while at >= 0:
                start = buffer.rfind(b"\n", 0, at) + 1
                stop = buffer.find(b"\n", at, end)
                stop = end if stop < 0 else stop
                starts[start] = stop
                at = find(view, stop) if stop < end else -1
    yield from sorted(starts.items())
