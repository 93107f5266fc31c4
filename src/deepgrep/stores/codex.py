"""Codex: one prompt history, and one rollout file per thread.

**What it writes.** Below `~/.codex` (or `CODEX_HOME`): `history.jsonl`, a row per prompt typed in the terminal interface
(`session_id`, `ts` in seconds, `text`); `sessions/<year>/<month>/<day>/rollout-<local time>-<thread>.jsonl`, the whole
thread; `archived_sessions/`, the same files put away. A rollout left alone for a week may become `.jsonl.zst`; while
both exist the plain one counts. Older builds wrote rollouts straight into `sessions/`, before September 2025 without an
envelope, and the first command line (TypeScript) one JSON object per file and a `history.json` without ids.

**What identifies a conversation.** The thread id: `session_id` of a history row, `payload.id` of the *first*
`session_meta` of a rollout (a fork copies its parent's behind its own), and the last part of the file's name, before any
`_<rollout>` of a reverted thread. A subagent's thread has an id of its own and names the thread that started it.

**Who speaks.** Codex puts instructions, environment, skills, shell output and notices under the user's role. They are
the runtime's; a text that follows one in the same block is the person's, as is what follows `## My request for Codex:`
in an editor's message. Where a turn has events that repeat what was typed, a user message that none of them repeats is
the runtime's. The same turn stands up to three times: as response item (channel 0), as event (1), and as the last
message of its task (2).

**What cannot be known.** Prompts of `codex exec` and of editors are in no history. A history row has no folder, no
model and no branch. Rolled-back turns stay in the file. Records without an envelope have no time. Encrypted reasoning
is unreadable. The messages that `replacement_history` repeats after a compaction are not read again.

Never opened: `auth.json`, configuration, the SQLite indexes (copies made from the rollouts), `session_index.jsonl`,
memories, instructions, logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..model import Agent, Document, Facts, Line, Lines, Locator, Near, Record, Resume, Sibling, Skip, Source, Store, Traits
from ..text import clean, instant
from ..typed import NamedTuple
from ._shapes.injected import Said, command_or_prompt
from ._shapes.rollout import UNKNOWN, Json, is_bare_header, said

_THREAD = re.compile(r"rollout-\d{4}-\d\d-\d\d(?:T\d\d-\d\d-\d\d)?-([^_]+)(?:_.*)?")
_ID = re.compile(r"[0-9A-Za-z-]{8,64}")
_VERSION_7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_COPYING_US = 2_000_000  # copying a history takes less; a person needs longer for the next prompt


class Thread(NamedTuple):
    """What the lines so far say of the thread and of the turn that runs."""

    id: str | None = None
    headed: bool = False  # its own header has been seen: later ones are copies of the parent's
    parent: str | None = None
    subagent: bool = False
    headless: bool = False
    forked_from: str | None = None
    forked_us: int | None = None  # when the fork was made
    copying: bool = False  # inside the turns that a fork copied from its parent
    copied: bool = False  # the parent's header was copied too: the format of copied prefixes
    by_reference: bool = False  # the parent's turns are named, not copied
    cwd: str | None = None
    repo: str | None = None
    branch: str | None = None
    model: str | None = None


def thread_in_name(stem: str) -> str | None:
    """The thread id in a rollout's name: `rollout-<time>-<thread>[_<rollout>]`; the first command line wrote the day alone."""
    found = _THREAD.fullmatch(stem.removesuffix(".zst").removesuffix(".jsonl").removesuffix(".json"))
    return found[1] if found else None


def _string(value: object) -> str | None:
    return clean(value) if isinstance(value, str) and value else None


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


# --- rollouts -----------------------------------------------------------------------------------------------------


def _start(source: Source) -> Thread:
    return Thread(id=thread_in_name(source.stem))


def _observe(line: Line, state: object) -> Thread:
    """The thread after this line: its first header, or the latest turn's folder and model."""
    thread = state if isinstance(state, Thread) else _start(line.source)
    inner = line.value.get("payload")
    if not isinstance(inner, dict):
        return _headed(line.value, thread) if is_bare_header(line.value) else thread
    if line.value.get("type") == "session_meta":
        copied = thread.headed and thread.forked_from is not None and inner.get("id") != thread.id
        return thread._replace(copying=True, copied=True) if copied else _headed(inner, thread)
    if line.value.get("type") == "turn_context":
        thread = thread._replace(copying=thread.copying and _is_older(inner.get("turn_id"), line, thread))
        return thread._replace(model=_string(inner.get("model")) or thread.model, cwd=_string(inner.get("cwd")) or thread.cwd)
    return thread


def _is_older(turn: object, line: Line, thread: Thread) -> bool:
    """Did this turn begin before the fork was made? Ids of version 7 hold their time; copied lines are stamped with the fork's."""
    own, fork = _made_us(turn), _made_us(thread.id)
    if own is not None and fork is not None and own != fork:
        return own < fork
    return _stamped_by_fork(line, thread)


def _stamped_by_fork(line: Line, thread: Thread) -> bool:
    """Was this line written when the fork was made, as copied ones are?"""
    stamp = instant(line.value.get("timestamp"))
    return stamp is None or thread.forked_us is None or stamp - thread.forked_us < _COPYING_US


def _made_us(native: object) -> int | None:
    """When an id of version 7 was made, in microseconds; None for any other."""
    if not isinstance(native, str) or not _VERSION_7.fullmatch(native):
        return None
    return int(native[:8] + native[9:13], 16) * 1000


def _facts(state: object) -> Facts:
    thread = state if isinstance(state, Thread) else Thread()
    known = thread.copied or thread.by_reference
    return Facts(conversation_id=thread.id, forked_from=thread.forked_from, prefix_known=known or thread.forked_from is None)


def _headed(header: Json, thread: Thread) -> Thread:
    if thread.headed:
        return thread
    git, source = _object(header.get("git")), header.get("source")
    spawned = source.get("subagent") if isinstance(source, dict) else None
    parent = _string(_object(_object(spawned).get("thread_spawn")).get("parent_thread_id")) or _string(header.get("parent_thread_id"))
    subagent = bool(spawned) or header.get("thread_source") == "subagent"
    return Thread(
        id=_string(header.get("id")) or thread.id,
        headed=True,
        parent=parent if subagent else None,
        subagent=subagent,
        headless=header.get("originator") == "codex_exec" or source == "exec",
        forked_from=_string(header.get("forked_from_id")),
        forked_us=instant(header.get("timestamp")),
        by_reference="history_base" in header,
        cwd=_string(header.get("cwd")),
        repo=_string(git.get("repository_url")),
        branch=_string(git.get("branch")),
        model=thread.model,
    )


def _decode(line: Line, state: object, near: Near) -> Iterator[Record | Skip]:
    thread = _observe(line, state)  # a context line speaks with the state that it makes, whether or not it was observed
    block = 0
    for piece in said(line.value, near):
        if isinstance(piece, Skip):
            yield piece
        else:
            yield _record(line, thread, piece, block)
            block += 1


def _record(line: Line, thread: Thread, piece: Said, block: int) -> Record:
    inner = line.value.get("payload", line.value)
    briefed = thread.subagent and piece.speaker == "person"  # nobody types into a subagent's thread
    return Record(
        source=line.source,
        position=line.position,
        block=block,
        speaker="parent" if briefed else piece.speaker,
        kind="brief" if briefed else piece.kind,
        text=clean(piece.text),
        time_us=instant(line.value.get("timestamp")),
        conversation_id=thread.id,
        parent_conversation_id=thread.parent,
        native_id=_string(_object(inner).get("id")) if piece.channel == 0 else None,
        cwd=thread.cwd,
        repo=thread.repo,
        branch=thread.branch,
        model=thread.model,
        tool=_string(piece.tool),
        origin="headless" if thread.headless and not briefed and piece.speaker == "person" else None,
        channel=piece.channel,
        inherited_from=thread.forked_from if thread.copying and _stamped_by_fork(line, thread) else None,
    )


# --- prompt histories ---------------------------------------------------------------------------------------------


def _history(line: Line, state: object, near: Near) -> Iterator[Record | Skip]:
    row = line.value
    native = _string(row.get("session_id")) or _string(row.get("conversation_id"))
    yield from _prompt(line, row.get("text"), row.get("ts"), native)


def _history_legacy(value: object, source: Source, sibling: Sibling) -> Iterator[Record | Skip]:
    for index, row in enumerate(value if isinstance(value, list) else [None]):
        line = Line(_object(row), index, source)
        yield from _prompt(line, line.value.get("command"), line.value.get("timestamp"), None)


def _prompt(line: Line, text: object, time: object, native: str | None) -> Iterator[Record | Skip]:
    if not isinstance(text, str):
        yield UNKNOWN
    elif text.strip():
        kind = command_or_prompt(text)
        yield Record(line.source, line.position, 0, "person", kind, clean(text), time_us=instant(time), conversation_id=native)


# --- the first command line's files -------------------------------------------------------------------------------


class _Items:
    """The neighbours of one item of a document."""

    def __init__(self, items: list[Json], at: int) -> None:
        self._items, self._at = items, at

    def before(self, count: int) -> Iterator[Json]:
        return iter(self._items[max(0, self._at - count) : max(0, self._at)][::-1])

    def after(self, count: int) -> Iterator[Json]:
        return iter(self._items[self._at + 1 : self._at + 1 + count])

    def sibling(self, relative: str, limit_bytes: int) -> str | None:
        return None


def _sessions_legacy(value: object, source: Source, sibling: Sibling) -> Iterator[Record | Skip]:
    """One object per file: `session` is the header, `items` are bare response items. Ordinal 0 is the header's."""
    header, items = _object(_object(value).get("session")), _object(value).get("items")
    if not header and not isinstance(items, list):
        yield UNKNOWN
        return
    thread = _headed(header, _start(source))
    rows = [_object(item) for item in items] if isinstance(items, list) else []
    for index, row in enumerate([header, *rows]):
        yield from _decode(Line(row, index, source), thread, _Items(rows, index - 1)) if row or index else ()


# --- the agent ----------------------------------------------------------------------------------------------------


def _resume(record: Record) -> Resume | None:
    native = record.conversation_id
    asleep = record.store == "codex.archived"  # `codex resume` does not find a thread before it is unarchived
    if not native or record.parent_conversation_id or record.speaker == "parent" or asleep or not _ID.fullmatch(native):
        return None
    return Resume(("codex", "resume", native), record.cwd)


def _is_row(value: Json) -> bool:
    return "text" in value and ("ts" in value or "session_id" in value)


def _is_rollout_line(value: Json) -> bool:
    """Only the envelope counts as the start of a line: the objects inside one look like lines of the bare form."""
    return "payload" in value and "type" in value


_ROLLOUT = Lines(
    decode=_decode,
    start=_start,
    observe=_observe,
    context=(b'"session_meta"', b'"turn_context"'),
    head=1,
    facts=_facts,
    is_line=_is_rollout_line,
)
# `by_time` stays unset: a fork's header is younger than the turns it copies, and converters put the header's time last.
_ROLLOUT_TRAITS = Traits(text_in="line", inserted=":!", append_only=True)
_ENDINGS = (".jsonl", ".jsonl.zst")


def _claimed(value: dict[str, object]) -> str | None:
    """The thread that a header names."""
    inner = value.get("payload")
    if value.get("type") == "session_meta" and isinstance(inner, dict):
        return _string(inner.get("id"))
    return _string(value.get("id")) if is_bare_header(value) else None


def _choose(sources: Sequence[Source], evidence: Sequence[Record]) -> tuple[Source, ...]:
    """Of several rollouts of one thread: the live copy stands for its archived one; parts after a revert are all of it."""
    live = {source.stem: source for source in sorted(sources, key=lambda source: source.store == "codex.sessions")}
    whole = [stem for stem in live if "_" not in stem]
    return tuple(live[stem] for stem in sorted(live)) if len(whole) <= 1 else ()


AGENT = Agent(
    id="codex",
    name="Codex",
    stores=(
        Store(
            id="codex.history",
            role="prompts",
            where=("history.jsonl",),
            evidence="observed 0.171.0 2026-11-30",
            reader=Lines(decode=_history, is_line=_is_row),
            # Not append-only: with `history.max_bytes` Codex rewrites the file in place, keeping the newest rows.
            traits=Traits(text_in="line"),
            speakers=("person",),
        ),
        Store(
            id="codex.history_legacy",
            role="prompts",
            where=("history.json",),
            evidence="reported first command line (TypeScript), 2025",
            reader=Document(_history_legacy),
            traits=Traits(text_in="file"),
            endings=(".json",),
            speakers=("person",),
        ),
        Store(
            id="codex.sessions",
            role="transcript",
            where=tuple(f"sessions/{days}rollout-*{ending}" for days in ("*/*/*/", "") for ending in _ENDINGS),
            evidence="observed 0.171.0 2026-11-30",
            reader=_ROLLOUT,
            traits=_ROLLOUT_TRAITS,
            endings=_ENDINGS,
        ),
        Store(
            id="codex.archived",
            role="transcript",
            where=tuple(f"archived_sessions/rollout-*{ending}" for ending in _ENDINGS),
            evidence="observed 0.171.0 2026-11-30",
            reader=_ROLLOUT,
            traits=_ROLLOUT_TRAITS,
            endings=_ENDINGS,
        ),
        Store(
            id="codex.sessions_legacy",
            role="transcript",
            where=("sessions/rollout-*.json",),
            evidence="reported first command line (TypeScript), 2025",
            reader=Document(_sessions_legacy),
            traits=Traits(text_in="file", inserted=":!"),
            endings=(".json",),
        ),
    ),
    resume=_resume,
    locate=Locator(
        stores=("codex.sessions", "codex.archived"),
        key=lambda native: native if _ID.fullmatch(native) else None,
        names=thread_in_name,
        header=_claimed,
        choose=_choose,
        head=1,
    ),
    limits=("headless_not_in_history",),
)
