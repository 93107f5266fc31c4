"""OpenCode: a database of sessions, the files that came before it, and the history of its input box.

**What it writes.** `~/.local/share/opencode/opencode.db` since 1.2 (`opencode-<channel>.db` for builds of another channel; `OPENCODE_DB`
names another file; `XDG_DATA_HOME` moves the folder, on macOS and Windows too the place is this one): tables `session`, `message` and
`part`; a message's parts are its texts, thoughts and tool calls. `event` and `session_message` repeat them and are not read. Before,
the same values were files: `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`, and one file for each
part in `storage/part/<message>/`; before 0.6 below `project/<folder>/storage/session`. They stay when the database takes them over.
`~/.local/state/opencode/prompt-history.jsonl` holds the last fifty inputs. The first OpenCode, written in Go (until mid 2025), keeps
`.opencode/opencode.db` in the folder where it was started: looked for in the working directory's project, in those named by
`--project-root`, and in the home.

**What identifies a conversation.** The session's id. The input history has no id, no time and no folder.

**Who speaks.** A text under the user's role is the person's, unless it is marked `synthetic` (put there by the program) or `ignored`
(shown, but sent to no model), or the session has a parent: then an agent wrote it. `opencode run "a b"` stores its words with the quotes,
and with backslashes before inner ones: they are taken away again. A command typed behind `!` is stored as a tool call of the agent's; it
is given as the person's. What was typed when a tool call was refused, or in answer to a question, is the person's too.

**What cannot be known.** Which slash command a prompt came from: its template is stored, as if typed. A fork is a copy under new ids,
without a word of where from: that a message is older than its session, and was made in the same millisecond as another one, tells. What
was reverted stays until the next prompt, and is read. Where the Go program's sessions ran: no folder is recorded. Messages of
releases before 0.3, which held their parts themselves, are not read.

Never opened: `auth.json`, logs, snapshots, `tool-output`. Of the database, the tables of accounts and credentials are never asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..files import Unsupported
from ..model import (
    Agent,
    Database,
    Decoded,
    Document,
    Line,
    Lines,
    Near,
    Record,
    Resume,
    Rows,
    Sibling,
    Skip,
    Source,
    Store,
    Traits,
    Wanted,
)
from ..text import clean
from ._shapes import charm
from ._shapes.blocks import mapping, string
from ._shapes.envelopes import command_or_prompt
from ._shapes.keyed import Undecodable, parsed
from ._shapes.lookups import KEPT, Lookup, name, number
from ._shapes.turns import RAN_BY_HAND, UNKNOWN, Message, Session, Turn, message, notes, placed, records, session

_NOTES = 1000  # block of what a message says of itself, so that its row's place differs from that of a part's row
_SMALL_BYTES = 16 << 20  # of a message's file: some hold the changes to all files


# --- the input history --------------------------------------------------------------------------------------------


def _expanded(text: str, parts: object) -> str:
    """The input with its pastes in place of the marks that stand for them."""
    out, rest = "", text
    for part in parts if isinstance(parts, list) else []:
        value = mapping(part) or {}
        paste = value.get("text") if value.get("type") == "text" else None
        mark = (mapping((mapping(value.get("source")) or {}).get("text")) or {}).get("value")
        if isinstance(paste, str) and isinstance(mark, str) and mark and mark in rest:
            before, _, rest = rest.partition(mark)
            out += before + paste
    return out + rest


def _history(line: Line, state: object, near: Near) -> Decoded:
    text = line.value.get("input")
    if not isinstance(text, str):
        yield UNKNOWN
        return
    whole = _expanded(text, line.value.get("parts"))
    if whole.strip():
        kind = "command" if line.value.get("mode") == "shell" else command_or_prompt(text)
        yield Record(line.source, line.position, 0, "person", kind, clean(whole))


# --- the database -------------------------------------------------------------------------------------------------


class _Book:
    """The messages and sessions of the parts at hand."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Lookup(database, "message", "id", ("session_id", "time_created", "data"))
        columns = ("parent_id", "directory", "title", "permission", "time_created", "project_id")
        self._session_rows = Lookup(database, "session", "id", columns)
        self._projects = Lookup(database, "project", "id", ("worktree",))
        self._parts = Lookup(database, "part", "message_id", ("data",))
        self._messages: dict[str, Message] = {}
        self._sessions: dict[str, Session] = {}
        self._by_hand: dict[str, bool] = {}

    def load(self, names: set[str]) -> None:
        """Seek what is not known yet of these messages."""
        if len(self._messages) > KEPT:
            self._messages.clear()
            self._by_hand.clear()
        for row in self._rows.rows(names - self._messages.keys()):
            value = _object(row["data"])
            if value is not None:
                self.add(message(value, name(row["id"]), name(row["session_id"]), number(row["time_created"])))
        self.load_sessions({found.session for one in names if (found := self._messages.get(one))})

    def add(self, one: Message) -> None:
        self._messages[one.id] = one

    def load_sessions(self, names: set[str]) -> None:
        if len(self._sessions) > KEPT:
            self._sessions.clear()
        for row in list(self._session_rows.rows(names - self._sessions.keys())):
            text = {key: name(row[key]) for key in ("parent_id", "directory", "title")}
            text["directory"] = text["directory"] or self._worktree(name(row["project_id"]))
            rules = _list(row["permission"])
            one = session({**text, "permission": rules}, name(row["id"]), number(row["time_created"]))
            self._sessions[one.id] = one

    def _worktree(self, project: str) -> str:
        """Where older sessions ran. That of the project `global` is the root of the file system, and says nothing."""
        found = [name(row["worktree"]) for row in self._projects.rows([project])]
        return found[0] if found and found[0] != "/" else ""

    def turn(self, one: str) -> Turn | None:
        """A message and its session; None for a message that is not there, or no more."""
        found = self._messages.get(one)
        if found is None:
            return None
        return Turn(self._sessions.get(found.session) or Session(found.session), found, lambda: self._is_by_hand(found.parent or ""))

    def _is_by_hand(self, asked: str) -> bool:
        """Does the message that a tool call answers say that the person ran it?"""
        if asked not in self._by_hand:
            parts = (_object(row["data"]) or {} for row in self._parts.rows([asked]))
            self._by_hand[asked] = any(part.get("synthetic") is True and part.get("text") == RAN_BY_HAND for part in parts)
        return self._by_hand[asked]


def _object(raw: object) -> dict[str, object] | None:
    """The JSON object of a cell, or None for anything else."""
    try:
        return mapping(parsed(raw))  # type: ignore[arg-type] # a cell
    except Undecodable:
        return None


def _list(raw: object) -> object:
    try:
        return parsed(raw)  # type: ignore[arg-type]
    except Undecodable:
        return None


def _parts(database: Database, wanted: Wanted, source: Source, book: _Book) -> Decoded:
    for batch in database.rows("part", ("message_id", "data")):
        rows = [(rowid, name(cells[0]), cells[1]) for rowid, *cells in wanted.among(batch)]
        book.load({of for _, of, _ in rows})
        for rowid, of, raw in rows:
            if raw is None:  # too long, and counted
                continue
            part, turn = _object(raw), book.turn(of)
            if part is None:
                yield Skip("undecodable")
            elif turn is None:
                yield UNKNOWN
            else:
                yield from records(part, turn, Record(source, rowid, 0, "runtime", "context", ""))


def _notes(database: Database, wanted: Wanted, source: Source, book: _Book) -> Decoded:
    """Errors and old system prompts, which stand in the messages themselves."""
    for batch in database.rows("message", ("id", "session_id", "data")):
        rows = [(rowid, name(cells[0]), name(cells[1]), cells[2]) for rowid, *cells in wanted.among(batch)]
        book.load_sessions({of for _, _, of, _ in rows})
        for rowid, own, of, raw in rows:
            value = _object(raw)
            if value is not None and (value.get("error") or value.get("system")):
                book.add(message(value, own, of, None))
                if turn := book.turn(own):
                    yield from placed(notes(value), turn, Record(source, rowid, _NOTES, "runtime", "context", ""))
            elif value is None and raw is not None:
                yield Skip("undecodable")


def _database(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """Either kind of database. One that was made and not filled yet says nothing; any other is not known."""
    tables = database.tables()
    if {"session", "message", "part"} <= tables:
        book = _Book(database)
        yield from _parts(database, wanted, source, book)
        yield from _notes(database, wanted, source, book)
    elif {"sessions", "messages"} <= tables:
        yield from charm.messages(database, wanted, source)
    elif tables - {"migration", "__drizzle_migrations", "goose_db_version", "sqlite_sequence"}:
        raise Unsupported("unsupported_format")


# --- the older files ----------------------------------------------------------------------------------------------


def _whole(text: str | None) -> dict[str, object] | None:
    return _object(text.encode("utf-8", "surrogatepass")) if text else None


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


def _turn(part: dict[str, object], folder: str, sibling: Sibling, *, old: bool) -> Turn | None:
    """The message and the session of a part, from their own files."""
    own, of = string(part, "messageID") or "", string(part, "sessionID") or ""
    if not (_ID.fullmatch(own) and _ID.fullmatch(of)):
        return None
    value = _whole(sibling(f"{folder}/message/{of}/{own}.json", _SMALL_BYTES))
    if value is None:
        return None
    held = _whole(sibling(f"{folder}/{'info' if old else 'session/*'}/{of}.json", _SMALL_BYTES)) or {}
    began = (mapping(held.get("time")) or {}).get("created")
    found = message(value, own, of, None)

    def by_hand() -> bool:
        asked = found.parent or ""
        where = f"{folder}/part/{of}/{asked}/*.json" if old else f"{folder}/part/{asked}/*.json"
        first = _whole(sibling(where, _SMALL_BYTES)) if _ID.fullmatch(asked) else None
        return bool(first and first.get("synthetic") is True and first.get("text") == RAN_BY_HAND)

    return Turn(session(held, of, began), found, by_hand)


def _part_file(value: object, source: Source, sibling: Sibling) -> Iterator[Record | Skip]:
    part = mapping(value)
    place = source.key.rpartition(":")[2]
    folder, _, rest = place.partition("/part/")
    turn = _turn(part, folder, sibling, old=rest.count("/") == 2) if part else None
    if part is None or turn is None:
        yield UNKNOWN
    else:
        yield from records(part, turn, Record(source, 0, 0, "runtime", "context", ""))


# --- the declaration ----------------------------------------------------------------------------------------------

_SESSION_ID = re.compile(r"ses_[0-9A-Za-z]{1,100}")


def _resume(record: Record) -> Resume | None:
    """A session is found by its id, from the folder that it ran in; none of the Go program's, and none of a subagent's."""
    native = record.conversation_id or ""
    if record.parent_conversation_id or not _SESSION_ID.fullmatch(native):
        return None
    return Resume(("opencode", "--session", native), record.cwd)


# Added: the colon after a key of a tool's arguments.
_TRAITS = Traits(text_in="line", inserted=":")
_ROWS = Rows(_database)

AGENT = Agent(
    "opencode",
    "OpenCode",
    stores=(
        Store(
            "opencode.prompt_history", "prompts", ("prompt-history.jsonl",), "observed 1.18.33 2026-11-30",
            Lines(_history, is_line=lambda value: "input" in value),
            # A paste stands in place of its mark, beside words that it does not touch in the line.
            Traits(text_in="line", always=(b'"source"',)), root="state", speakers=("person",),
        ),
        Store(
            "opencode.db", "transcript", ("opencode.db", "opencode-*.db"), "observed 1.18.33 2026-11-30", _ROWS, _TRAITS, root="data",
            endings=(".db",),
        ),
        Store("opencode.named_db", "transcript", ("*",), "source storage/db.ts", _ROWS, _TRAITS, root="file", endings=("",)),
        Store(
            "opencode.parts", "transcript",
            ("storage/part/*/*.json", "project/*/storage/session/part/*/*/*.json"), "observed 1.1.65 2026-11-30",
            Document(_part_file), Traits(text_in="file", inserted=":"), root="data", endings=(".json",),
        ),
        Store(
            "opencode.project_db", "transcript", ("opencode.db",), "observed 2025-06 published sample", _ROWS, _TRAITS, root="project",
            endings=(".db",),
        ),
    ),
    resume=_resume,
    limits=("headless_not_in_history", "no_conversation_id"),
)  # fmt: skip
