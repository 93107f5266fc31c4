"""Session updates of the Agent Client Protocol, one a line: what a line says, and messages put together from their chunks.

Knows no agent. A message is streamed as chunks, one a line, with lines of progress between them; it is one utterance, which
stands at the first of its lines. Chunks of another kind, a tool's line, and the end of a turn end it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ...model import Near
from ...text import instant
from .blocks import mapping, string

Json = dict[str, object]

CHUNKS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
MARKERS: tuple[bytes, ...] = (b"_message_chunk", b"_thought_chunk")  # lines that may hold a piece of a text
_ENDS = frozenset({*CHUNKS, "tool_call", "tool_call_update", "turn_completed", "rewind_marker", "compaction_checkpoint"})
_BETWEEN = 8  # lines of progress between two chunks of one message
_ONE_PROMPT_US = 2_000_000  # blocks of one prompt are written at once; a further prompt takes a person longer
_ALL = 1 << 40


def update(value: Json) -> Json | None:
    """The update that a line carries: in the protocol's envelope, in a bare notification, or alone."""
    params = mapping(value.get("params")) or value
    inner = mapping(params.get("update")) or params
    return inner if isinstance(inner.get("sessionUpdate"), str) else None


def kind(value: Json) -> str:
    """What an update is; empty for a line that is none."""
    return str((update(value) or {}).get("sessionUpdate", ""))


def session(value: Json) -> str | None:
    """The session that a line says it belongs to."""
    return string(mapping(value.get("params")) or value, "sessionId")


def remarks(value: Json) -> Json:
    """What stands under `_meta` of the notification and of its update."""
    params = mapping(value.get("params")) or value
    return {**(mapping(params.get("_meta")) or {}), **(mapping((update(value) or {}).get("_meta")) or {})}


def time_us(value: Json) -> int | None:
    """When the update was sent: by the agent's own stamp, which a copy keeps, else by the line's."""
    stamp = remarks(value).get("agentTimestampMs")
    return instant(stamp if isinstance(stamp, int) and not isinstance(stamp, bool) else value.get("timestamp"))


def chunk_text(value: Json) -> str:
    """The words of a chunk; none for images and links."""
    content = (update(value) or {}).get("content")
    if isinstance(content, str):
        return content
    block = mapping(content) or {}
    text = block.get("text")
    return text if isinstance(text, str) and block.get("type", "text") == "text" else ""


def whole(value: Json, near: Near, ahead: deque[Json]) -> str | None:
    """The text of the message that begins with this chunk; None for a chunk inside one.

    `ahead`: kept by the caller from one chunk to the next, so that a message is put together once.
    """
    if ahead and ahead[0] == value:
        ahead.popleft()
        return None
    ahead.clear()
    if _continues(value, near):
        return None
    pieces = [chunk_text(value)]
    gap, last = 0, value
    for later in near.after(_ALL):
        if kind(later) not in _ENDS:
            gap += 1
            if gap >= _BETWEEN:
                break
            continue
        if not _is_next(last, later):
            break
        pieces.append(chunk_text(later))
        ahead.append(later)
        gap, last = 0, later
    return "".join(pieces)


def _continues(value: Json, near: Near) -> bool:
    for earlier in near.before(_BETWEEN):
        if kind(earlier) in _ENDS:
            return _is_next(earlier, value)
    return False


def _is_next(one: Json, other: Json) -> bool:
    """Do two chunks, with nothing but progress between them, belong to one message?"""
    if kind(one) != kind(other) or kind(one) not in CHUNKS or _turn(one) != _turn(other):
        return False
    if kind(one) != "user_message_chunk":
        return True
    first, second = time_us(one), time_us(other)
    return first is None or second is None or abs(second - first) < _ONE_PROMPT_US


def _turn(value: Json) -> tuple[str, ...]:
    found: Mapping[str, object] = remarks(value)
    return tuple(str(found.get(key)) for key in ("promptId", "promptIndex", "turnStartMs", "subagentId", "messageId"))
