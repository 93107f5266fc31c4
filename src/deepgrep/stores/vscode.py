"""Copilot Chat in VS Code: one file a chat session, in the storage of the workspace it was held in.

**What it writes.** Below the user folder of VS Code, of its Insiders, of VSCodium or of a build of one's own (`Code - OSS`):
`workspaceStorage/<hash>/chatSessions/<id>.json`, one JSON object, up to 1.108; since then `<id>.jsonl`, a log of changes to that object
that is written anew after some hundred of them. A session without a workspace lies in `globalStorage/emptyWindowChatSessions` (before,
in `workspaceStorage/no-workspace`), one that moves to another window for some minutes in `globalStorage/transferredChatSessions`.
`workspace.json` beside `chatSessions` names the folder that was open. What was typed into the input box is kept, without session and
time, in the workspace's `state.vscdb` under the key `memento/interactive-session` (some forty newest), what was typed into an editor's
inline chat in `globalStorage/state.vscdb` under `inline-chat-history`. Each is fetched by its key alone: the databases hold secrets too.
Builds of 2023 kept whole sessions under `interactive.sessions`.
The user folder is `~/.config/<product>/User` on Linux, `Library/Application Support` on macOS,
`AppData/Roaming` on Windows, `~/.vscode-server/data/User` where the editor's other half runs.

**What identifies a conversation.** `sessionId`, which is also the file's name. When a workspace is opened from an empty window, its
sessions are copied under the same id; `requestId` tells that a turn is the same. The log is newer than the object of the same name.

**Who speaks.** The text of a request's message is what the person typed, with its `/command`, `#file` and `@agent`. Requests that a
button makes (`confirmation`) or the program (`isSystemInitiated`), attachments, and the message as the extension renders it for the
model are the runtime's. Questions asked in a form are the agent's, and what was typed into it is the person's.

**What cannot be known.** Turns that were taken back, or typed anew, are gone from the session and are not read, though the log may
still hold them. Prompts that wait to be sent are read, a draft in the input box is not. Parts of a response carry no time of their own.
The branch is not recorded. `VSCODE_PORTABLE` and `VSCODE_APPDATA` name folders above the user's; one is looked for below them.

Never opened: settings, `globalStorage/storage.json`, editing snapshots (`chatEditingSessions`), other extensions' files. Copilot's
command line is another agent.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Agent, Database, Decoded, Document, Line, Log, Record, Rows, Sibling, Skip, Source, Store, Traits, Wanted
from ..text import clean
from ._shapes.blocks import mapping, string
from ._shapes.envelopes import command_or_prompt
from ._shapes.keyed import history
from ._shapes.mutations import Replay, is_change
from ._shapes.requests import UNKNOWN, Request, Said, request
from ._shapes.workspaces import below, named, opened


def _own_folder(session: dict[str, object]) -> str | None:
    """The folder that newer sessions record themselves."""
    return named(session.get("workingDirectory"))


# --- records ------------------------------------------------------------------------------------------------------


def _requests(session: dict[str, object]) -> Iterator[object]:
    """The turns, then those that wait to be sent."""
    turns = session.get("requests")
    yield from turns if isinstance(turns, list) else ()
    waiting = session.get("pendingRequests")
    for one in waiting if isinstance(waiting, list) else ():
        yield (mapping(one) or {}).get("request")


def _record(base: Record, asked: Request, said: Said) -> Record:
    speaking = said.response and said.speaker in ("agent", "tool")
    return base._replace(
        speaker=said.speaker,
        kind=said.kind,
        text=clean(said.text),
        tool=said.tool,
        time_us=asked.answered_us if said.response else asked.asked_us,
        native_id=asked.response_id if said.response else asked.id,
        model=asked.model if speaking else None,
    )


def _session(value: object, source: Source, sibling: Sibling) -> Decoded:
    session = mapping(value)
    if session is None or not isinstance(session.get("requests"), list):
        yield UNKNOWN
        return
    base = Record(
        source, 0, 0, "runtime", "context", "",
        conversation_id=string(session, "sessionId") or source.stem,
        cwd=_own_folder(session) or opened(source, sibling),
        title=string(session, "customTitle") or string(session, "computedTitle"),
    )  # fmt: skip
    for position, one in enumerate(_requests(session)):
        asked = request(one)
        if asked is None:
            yield from () if one is None else (UNKNOWN,)
            continue
        for block, said in enumerate(asked.said):
            yield said if isinstance(said, Skip) else _record(base._replace(position=position, block=block), asked, said)


def _log(lines: Iterator[Line], source: Source, sibling: Sibling) -> Decoded:
    """The session at the end of the log. `position` is the ordinal of the request: the log is rewritten, its offsets do not last."""
    replay = Replay()
    replay.run(line.value for line in lines)
    yield from (UNKNOWN for _ in range(replay.refused))
    if replay.applied:
        yield from _session(replay.value, source, sibling)


# --- what was typed, as the input boxes keep it, and sessions of old: values in databases of keys --------------------


def _typed(entries: object, source: Source, start: int) -> Decoded:
    """The entries of one input box: texts, or objects with a text."""
    cwd = opened(source, below(source))
    for position, entry in enumerate(entries if isinstance(entries, list) else (), start):
        value = mapping(entry) or {}
        text = entry if isinstance(entry, str) else value.get("inputText", value.get("text"))
        if not isinstance(text, str):
            yield UNKNOWN
        elif text.strip():
            yield Record(source, position, 0, "person", command_or_prompt(text), clean(text), cwd=cwd)


def _input_history(database: Database, wanted: Wanted, source: Source) -> Decoded:
    for value in history(database, wanted, "memento/interactive-session"):
        boxes = mapping((mapping(value) or {}).get("history"))
        if boxes is None:
            yield from () if value in (None, {}) else (UNKNOWN,)
            continue
        start = 0
        for entries in boxes.values():
            yield from _typed(entries, source, start) if isinstance(entries, list) else (UNKNOWN,)
            start += len(entries) if isinstance(entries, list) else 0


def _inline_history(database: Database, wanted: Wanted, source: Source) -> Decoded:
    for value in history(database, wanted, "inline-chat-history"):
        yield from _typed(value, source, 0) if isinstance(value, list) else () if value is None else (UNKNOWN,)


def _sessions(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """Sessions as builds before 2024 kept them, all in one value; later ones list only their ids there."""
    for value in history(database, wanted, "interactive.sessions"):
        block = 0
        for session in value if isinstance(value, list) else ():
            if isinstance(session, str):
                continue
            for found in _session(session, source, below(source)):
                yield found if isinstance(found, Skip) else found._replace(position=0, block=block, channel=1)
                block += 1


# --- the declaration ----------------------------------------------------------------------------------------------

# Pieces of one reply, of an edit, of an output that would touch are set apart by white space. Added: the colon after a key.
_TRAITS = Traits(text_in="file", inserted=":")
_KEYED = Traits(text_in="line", inserted=":")
_FOLDERS = ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions", "globalStorage/transferredChatSessions")


def _files(ending: str) -> tuple[str, ...]:
    return tuple(f"{name}/*{ending}" for name in _FOLDERS)


AGENT = Agent(
    "vscode",
    "VS Code Copilot Chat",
    stores=(
        Store(
            "vscode.input_history", "prompts", ("workspaceStorage/*/state.vscdb",), "reported by an experiment on 1.111",
            Rows(_input_history), _KEYED, endings=(".vscdb",), speakers=("person",),
        ),
        Store(
            "vscode.inline_history", "prompts", ("globalStorage/state.vscdb",), "reported by a reader of it",
            Rows(_inline_history), _KEYED, endings=(".vscdb",), speakers=("person",),
        ),
        Store(
            "vscode.sessions_old", "transcript", ("workspaceStorage/*/state.vscdb",), "reported by a reader of builds of 2023",
            Rows(_sessions), _KEYED, endings=(".vscdb",),
        ),
        Store(
            "vscode.chats", "transcript", _files(".jsonl"), "source chat/common/model, 2026",
            Log(_log, is_line=is_change), _TRAITS,
        ),
        Store(
            "vscode.chats_flat", "transcript", _files(".json"), "source chat/common/model, 2023 to 2026",
            Document(_session), _TRAITS, endings=(".json",), yields_to="vscode.chats",
        ),
    ),
    limits=("no_conversation_id",),
)  # fmt: skip
