"""Which rows of a database may hold what is looked for, seen as bytes: the prefilter for whole batches of rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from ..query.prefilter import Probe
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model import Row, Value

_LONG = 1 << 20  # bytes: a longer value is probed where it is, not put beside others


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
        # No run of a term holds a line feed, so none reaches from one value into the next.
        joined = b"\n".join([value for row in batch for value in row if type(value) is bytes and len(value) < _LONG])
        places = [(find, at) for find in self._finders if joined and (at := find(joined, 0)) >= 0]
        if places:
            sizes = (sum(len(value) + 1 for value in row if type(value) is bytes and len(value) < _LONG) for row in batch)
            ends = list(accumulate(sizes))  # of each row
            for find, at in places:
                while at >= 0:
                    number = bisect_right(ends, at)
                    hits.add(number)
                    at = find(joined, ends[number]) if ends[number] < len(joined) else -1
        if len(joined) < _LONG:  # else no value of a batch of this size is long
            hits.update(number for number, row in enumerate(batch) if any(type(v) is bytes and len(v) >= _LONG for v in row) and self(*row))
        for number in sorted(hits):
            yield batch[number]
