"""Small homes of conversations that often say the same, as Claude Code and Codex write them; and the engine run on them.

Made from a seed alone. Every text holds the word `ok`.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from deepgrep.discovery import Machine
from deepgrep.engine.drive import INLINE, Driver
from deepgrep.engine.resolve import query as request
from deepgrep.engine.search import search
from deepgrep.model import Event, Finished, Record, Result, SourceFinished, Started, Summary

BASE_S = 1_767_312_000  # 2026-01-02T00:00:00Z
FUTURE_S = BASE_S + 40 * 86_400
Json = dict[str, object]

_LONG = "ok " + "word " * 700
_SHORT = ("ok go", "ok  go", "ok go", "ok stop", "ok", "ok wait, and then go on with the rest of it")
TEXTS = (*_SHORT, _LONG, _LONG.replace(" ", "\n "), _LONG + "end")


def stamp(second: float) -> str:
    """An instant as both agents write it."""
    return dt.datetime.fromtimestamp(BASE_S + second, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def thread(number: int) -> str:
    """A conversation id of version 7 whose time is that of its number."""
    made = int((BASE_S + number) * 1000)
    return f"{made >> 16:08x}-{made & 0xFFFF:04x}-7000-8000-{number:012x}"


# --- lines ----------------------------------------------------------------------------------------------------------


def claude_row(kind: str, text: str, second: float | None, session: str, *, uuid: str | None = None, **more: object) -> Json:
    row: Json = {"type": kind, "sessionId": session, "parentUuid": None, "cwd": "/src/shop", **more}
    row["message"] = {"role": kind, "content": text if kind == "user" else [{"type": "text", "text": text}]}
    if kind == "assistant":
        row["message"] |= {"id": f"m{uuid}", "model": "opus"}  # type: ignore[operator]
    if second is not None:
        row["timestamp"] = stamp(second)
    return row | ({"uuid": uuid} if uuid else {})


def claude_tool(text: str, second: float, session: str, uuid: str) -> Json:
    row = claude_row("user", "", second, session, uuid=uuid)
    row["message"] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}
    return row


def codex_line(kind: str, payload: Json, second: float | None) -> Json:
    return {**({} if second is None else {"timestamp": stamp(second)}), "type": kind, "payload": payload}


def codex_header(native: str, second: float, **more: object) -> Json:
    return codex_line("session_meta", {"id": native, "timestamp": stamp(second), "cwd": "/src/shop", **more}, second)


def codex_said(role: str, text: str, second: float | None, native: str | None = None) -> Json:
    block = {"type": "input_text" if role == "user" else "output_text", "text": text}
    item: Json = {"type": "message", "role": role, "content": [block]}
    return codex_line("response_item", item | ({"id": native} if native else {}), second)


def codex_event(role: str, text: str, second: float | None) -> Json:
    return codex_line("event_msg", {"type": f"{'user' if role == 'user' else 'agent'}_message", "message": text}, second)


def codex_output(text: str, second: float) -> Json:
    return codex_line("response_item", {"type": "function_call_output", "call_id": "c", "output": text}, second)


# --- files ----------------------------------------------------------------------------------------------------------


def lay(home: Path, files: dict[str, Sequence[Json] | str], mtime_s: float | None = FUTURE_S) -> Path:
    """Write a home; file times lie after every record unless told otherwise."""
    for name, rows in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        if mtime_s is not None:
            os.utime(path, (mtime_s, mtime_s))
    return home


def claude_file(session: str, folder: str = "-work-shop") -> str:
    return f".claude/projects/{folder}/{session}.jsonl"


def codex_file(native: str, *, archived: bool = False) -> str:
    folder = ".codex/archived_sessions" if archived else ".codex/sessions/2026/01/02"
    return f"{folder}/rollout-2026-01-02T00-00-00-{native}.jsonl"


def touch(home: Path, second_of: Callable[[Path], float]) -> None:
    """Set the times of a home's files."""
    for path in home.rglob("*.json*"):
        os.utime(path, (second_of(path), second_of(path)))


class _Said(NamedTuple):
    role: str
    text: str
    second: float | None
    native: str | None


class Talks:
    """Random conversations of both agents: forks, copies, channels, histories with and without ids."""

    def __init__(self, seed: int, *, most: int = 9) -> None:
        self.dice = random.Random(seed)
        self.most = most
        self.files: dict[str, list[Json]] = {}
        self.rows: list[Json] = []
        self.codex_rows: list[Json] = []
        self.rowless: list[Json] = []
        self.made: list[tuple[str, list[Json]]] = []  # Codex threads that others may fork
        self.numbers = iter(range(1, 1000))
        for _ in range(self.dice.randint(1, 4)):
            self.claude() if self.dice.random() < 0.5 else self.codex()
        for name, rows in ((".claude/history.jsonl", self.rows), (".codex/history.jsonl", self.codex_rows)):
            if rows:
                self.files[name] = rows

    def lay(self, home: Path) -> Path:
        lay(home, self.files)  # type: ignore[arg-type]
        return lay(home, {".codex/history.json": json.dumps(self.rowless)}) if self.rowless else home

    def talk(self) -> list[_Said]:
        dice, second, out = self.dice, float(self.dice.randint(0, 30)), []
        for _ in range(dice.randint(1, self.most)):
            second += dice.choice((0, 1, 1, 3, 3600))
            native = f"n{next(self.numbers)}" if dice.random() < 0.6 else None
            out.append(_Said(dice.choice(("user", "assistant")), dice.choice(TEXTS), None if dice.random() < 0.06 else second, native))
        return out

    def claude(self) -> None:
        dice, session = self.dice, thread(next(self.numbers))
        talk = self.talk()
        rows = self._claude_rows(talk, session)
        self.files[claude_file(session)] = rows
        for said in talk:
            if said.role == "user" and dice.random() < 0.8:
                at_ms = 1000 * (BASE_S + (said.second or 0) + dice.choice((0, 0, 1)))
                self.rows.append({"display": said.text, "timestamp": at_ms, "project": "/src/shop", "sessionId": session})
        if dice.random() < 0.4:  # a fork: the same rows under another id, and some of its own
            other = thread(next(self.numbers))
            marks = {"sessionKind": "bg"} if dice.random() < 0.5 else {}
            copied = [{**row, "sessionId": other, **marks} for row in rows[: dice.randint(1, len(rows))]]
            self.files[claude_file(other)] = copied + self._claude_rows(self.talk(), other)
        if dice.random() < 0.3:  # the same session goes on under another folder
            self.files[claude_file(session, "-work-moved")] = self._claude_rows(self.talk(), session)

    def _claude_rows(self, talk: list[_Said], session: str) -> list[Json]:
        rows: list[Json] = []
        for said in talk:
            cwd = self.dice.choice(("/src/shop", "/src/inn"))
            rows.append(claude_row(said.role, said.text, said.second, session, uuid=said.native, cwd=cwd))
            if said.role == "user" and self.dice.random() < 0.2:
                queued: Json = {"type": "queue-operation", "operation": "enqueue", "content": said.text, "sessionId": session}
                rows.append(queued if said.second is None else {**queued, "timestamp": stamp(said.second)})
        return rows

    def codex(self) -> None:
        dice, number = self.dice, next(self.numbers)
        native, began = thread(number), float(dice.randint(0, 30))
        header, copied = codex_header(native, began), []
        if self.made and dice.random() < 0.6:
            parent, before = dice.choice(self.made)
            began += 7200
            native = thread(7200 + number)
            header = codex_header(native, began, forked_from_id=parent)
            before = before[: dice.randint(1, len(before))]
            copied = [codex_header(parent, began)] + [{**row, "timestamp": stamp(began)} for row in before]
        talk = [said._replace(second=None if said.second is None else said.second + began + 3) for said in self.talk()]
        turn = codex_line("turn_context", {"cwd": dice.choice(("/src/shop", "/src/inn")), "model": "gpt", "turn_id": native}, began + 3)
        own = self._codex_rows(talk)
        rows = [header, *copied, turn, *own]
        self.made.append((native, own))
        kept = dice.random()
        if kept < 0.85:  # else the thread's file is gone
            self.files[codex_file(native)] = rows
        if kept < 0.15 or kept > 0.95:
            self.files[codex_file(native, archived=True)] = rows
        for said in talk:
            if said.role == "user" and dice.random() < 0.8:
                row = {"text": said.text, "ts": int(BASE_S + (said.second or 0)) + dice.choice((0, 0, 1))}
                if dice.random() < 0.3:
                    self.rowless.append({"command": said.text, "timestamp": row["ts"] * 1000})  # type: ignore[operator]
                else:
                    self.codex_rows.append({"session_id": native, **row})

    def _codex_rows(self, talk: list[_Said]) -> list[Json]:
        rows: list[Json] = []
        for said in talk:
            rows.append(codex_said(said.role, said.text, said.second, said.native))
            if said.role == "user" or self.dice.random() < 0.7:
                rows.append(codex_event(said.role, said.text, said.second))
            if said.role == "assistant" and self.dice.random() < 0.2:
                rows.append(codex_line("event_msg", {"type": "task_complete", "last_agent_message": said.text}, said.second))
        return rows


# --- runs -----------------------------------------------------------------------------------------------------------


class Ran(NamedTuple):
    """What a search gave."""

    events: tuple[Event, ...]
    results: tuple[Result, ...]
    summary: Summary

    @property
    def counts(self) -> dict[str, int]:
        return self.summary.coverage["sources"]  # type: ignore[return-value]

    @property
    def records(self) -> dict[str, int]:
        return self.summary.coverage["records"]  # type: ignore[return-value]

    @property
    def read(self) -> list[str]:
        """The keys of the sources that were read, in that order."""
        return [event.source.key for event in self.events if isinstance(event, SourceFinished)]

    def outcomes(self) -> list[str]:
        return [event.outcome for event in self.events if isinstance(event, SourceFinished)]

    @property
    def planned(self) -> int:
        return next(event.sources for event in self.events if isinstance(event, Started))


def run(home: Path, *texts: str, driver: Driver = INLINE, cancelled: Callable[[], bool] | None = None, **options: object) -> Ran:
    """One search of all records at exhaustive effort, unless told otherwise."""
    asked: dict[str, object] = {"effort": "exhaustive", "scope": "all", **options}
    made = request(texts or ("ok",), **asked)  # type: ignore[arg-type]
    stream = search(made, Machine(str(home), {}), driver=driver, **({"cancelled": cancelled} if cancelled else {}))
    events = tuple(stream)
    last = events[-1]
    assert isinstance(last, Finished)
    return Ran(events, tuple(event for event in events if isinstance(event, Result)), last.summary)


def place(record: Record) -> tuple[str, str, int, int]:
    """What a record is told by."""
    return record.store, record.source.key, record.position, record.block


def said(result: Result) -> tuple[object, ...]:
    """A result as it can be compared: which record, what folded into it, where else it stands."""
    return place(result.record), result.spans, result.score, tuple(sorted(map(place, result.folded))), result.also_in
