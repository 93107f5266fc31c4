"""Which rows of a database may hold what is looked for, seen as bytes: the prefilter for whole batches of rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from ..bytesearch import Finder
from ..query.prefilter import Probe
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model import Row, Value


class Candidates:
    """Asks the probe of a query, or lets every row pass where there is none. See `model.Wanted`."""

    def __init__(self, probe: Probe | None) -> None:
        self._finders = probe.finders if probe else None

    def __call__(self, *values: Value) -> bool:
        """May one of these values hold it?"""
        if self._finders is None:
            return True
        return any(find(value, 0) >= 0 for value in values if isinstance(value, bytes) for find in self._finders)

    def among(self, batch: Sequence[Row]) -> Iterator[Row]:
        """The rows of a batch that may hold it, in order."""
        if self._finders is None:
            yield from batch
            return
        hits: set[int] = set()
        for column in range(1, len(batch[0]) if batch else 0):
            hits.update(self._among(list(map(itemgetter(column), batch)), self._finders))
        for number in sorted(hits):
            yield batch[number]

    def _among(self, values: list[Value], finders: tuple[Finder, ...]) -> Iterator[int]:
        """The numbers of the values that may hold it, some more than once."""
        try:
            joined = b"\n".join(values)  # type: ignore[arg-type]
        except TypeError:  # not all are bytes
            values = [value if type(value) is bytes else b"" for value in values]
            joined = b"\n".join(values)  # type: ignore[arg-type]
        ends: list[int] = []
        for find in finders:
            # No run of a term holds a line feed, so none reaches from one value into the next.
            at = find(joined, 0)
            if at >= 0 and not ends:
                ends = list(accumulate(len(value) + 1 for value in values))  # type: ignore[arg-type]
            while at >= 0:
                number = bisect_right(ends, at)
                yield number
                at = find(joined, ends[number]) if ends[number] < len(joined) else -1
