"""A log of changes to one JSON value, as VS Code writes chat sessions since 1.109: replayed from its first line to its last.

Each line is `{"kind": ...}`: 0 the whole value, 1 set `v` at the path `k`, 2 cut the list at `k` to length `i` and append `v`, 3 delete
what is at `k`. Knows nothing of what the value means.
"""

from __future__ import annotations

from collections.abc import Iterable

_INITIAL, _SET, _PUSH, _DELETE = 0, 1, 2, 3
_Value = dict[str, object]


def is_change(value: _Value) -> bool:
    """Is this a line of such a log?"""
    kind = value.get("kind")
    if kind == _INITIAL and not isinstance(kind, bool):
        return isinstance(value.get("v"), dict)
    return kind in (_SET, _PUSH, _DELETE) and isinstance(value.get("k"), list)


class Replay:
    """The value after the changes applied so far. `refused` counts lines that are no change, or that lead nowhere.

    It starts as an empty object: where the first line is damaged, what came later is still told.
    """

    def __init__(self) -> None:
        self.value: object = {}
        self.applied = self.refused = 0

    def run(self, changes: Iterable[_Value]) -> None:
        """Apply the changes in order; one that does not fit costs itself alone."""
        for change in changes:
            fits = is_change(change) and self._apply(change)
            self.applied += fits
            self.refused += not fits

    def _apply(self, change: _Value) -> bool:
        kind, path = change["kind"], change.get("k")
        if kind == _INITIAL:
            self.value = change["v"]
            return True
        if not isinstance(path, list) or not path:
            return False
        holder = self._holder(path[:-1])
        if kind == _PUSH:
            return _push(holder, path[-1], change)
        if kind == _DELETE:
            return _delete(holder, path[-1])
        return _set(holder, path[-1], change.get("v"))

    def _holder(self, path: list[object]) -> object:
        value = self.value
        for step in path:
            value = _at(value, step)
        return value


def _index(holder: list[object], step: object) -> int | None:
    """The place in the list, or None: a place far beyond its end would fill memory."""
    return step if isinstance(step, int) and not isinstance(step, bool) and 0 <= step <= len(holder) else None


def _at(holder: object, step: object) -> object:
    if isinstance(holder, dict):
        return holder.get(step) if isinstance(step, str) else None
    if isinstance(holder, list):
        index = _index(holder, step)
        return holder[index] if index is not None and index < len(holder) else None
    return None


def _set(holder: object, step: object, value: object) -> bool:
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
        return True
    index = _index(holder, step) if isinstance(holder, list) else None
    if not isinstance(holder, list) or index is None:
        return False
    holder[index : index + 1] = [value]
    return True


def _delete(holder: object, step: object) -> bool:
    """A key goes; an item of a list leaves a hole, so that those behind it keep their places."""
    if isinstance(holder, dict) and isinstance(step, str):
        holder.pop(step, None)
        return True
    return isinstance(holder, list) and _at(holder, step) is not None and _set(holder, step, None)


def _push(holder: object, step: object, change: _Value) -> bool:
    items, length, fresh = _at(holder, step), change.get("i"), change.get("v")
    kept = items if isinstance(items, list) else []
    if isinstance(length, int) and not isinstance(length, bool):
        del kept[max(length, 0) :]
    kept += fresh if isinstance(fresh, list) else []
    return _set(holder, step, kept)
