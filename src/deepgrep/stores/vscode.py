"""Copilot Chat in VS Code: one file a chat session, in the storage of the workspace it was held in.

**What it writes.** Below the user folder of VS Code, of its Insiders, of VSCodium or of a build of one's own (`Code - OSS`):
`workspaceStorage/<hash>/chatSessions/<id>.json`, one JSON object, up to 1.108; since then `<id>.jsonl`, a log of changes to that object
that is written anew after some hundred of them. A session without a workspace lies in `globalStorage/emptyWindowChatSessions` (before,
in `workspaceStorage/no-workspace`), one that moves to another window for some minutes in `globalStorage/transferredChatSessions`.
`workspace.json` beside `chatSessions` names the folder that was open. What was typed into the input box is kept, without session and
time, in `state.vscdb`: a database. The user folder is `~/.config/<product>/User` on Linux, `Library/Application Support` on macOS,
`AppData/Roaming` on Windows, `~/.vscode-server/data/User` where the editor's other half runs.

**What identifies a conversation.** `sessionId`, which is also the file's name. When a workspace is opened from an empty window, its
sessions are copied under the same id; `requestId` tells that a turn is the same. The log is newer than the object of the same name.

**Who speaks.** The text of a request's message is what the person typed, with its `/command`, `#file` and `@agent`. Requests that a
button makes (`confirmation`) or the program (`isSystemInitiated`), attachments, and the message as the extension renders it for the
model are the runtime's. Questions asked in a form are the agent's, and what was typed into it is the person's.

**What cannot be known.** Turns that were taken back, or typed anew, are gone from the session and are not read, though the log may
still hold them. Prompts that wait to be sent are read, a draft in the input box is not. Parts of a response carry no time of their own.
The branch is not recorded. `VSCODE_PORTABLE` and `VSCODE_APPDATA` name folders above the user's; they are not followed.

Never opened: settings, `globalStorage/storage.json`, editing snapshots (`chatEditingSessions`), other extensions' files. Copilot's
command line is another agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

from ..model import Agent, Decoded, Document, Line, Log, Record, Sibling, Skip, Source, Store, Traits
from ..text import clean
from ._shapes.blocks import mapping, string
from ._shapes.mutations import Replay, is_change
from ._shapes.requests import UNKNOWN, Request, Said, request

_WORKSPACE_LIMIT_BYTES = 64 << 10
_REMOTE = re.compile(r"vscode-(?:remote|vfs)://([^/]*)(/.*)?", re.DOTALL)
_DRIVE = re.compile(r"/+([A-Za-z]):(?=[/\\]|\Z)")


# --- where a session was held -------------------------------------------------------------------------------------


def folder(uri: str) -> str | None:
    """The folder that a URI names, in the spelling of the machine it lies on; None for what is no folder of files.

    `file:///c%3A/x` is `c:/x`; a folder of WSL, of a container or behind SSH is the path there.
    """
    remote = _REMOTE.fullmatch(uri)
    if remote:
        return unquote(remote[2] or "") or None
    if not uri.startswith("file://"):
        return uri if uri.startswith("/") or re.match(r"[A-Za-z]:[/\\]", uri) else None
    host, slash, path = uri.removeprefix("file://").partition("/")
    path = unquote(slash + path)
    if host and host != "localhost":
        return f"//{unquote(host)}{path}"
    drive = _DRIVE.match(path)
    return (f"{drive[1]}:{path[drive.end() :]}" if drive else path) or None


def _cwd(source: Source, sibling: Sibling) -> str | None:
    """The folder of the workspace that the session belongs to: of a workspace of several, the folder of its file."""
    storage, name, rest = source.key.rpartition("/chatSessions/")
    told = sibling(f"{storage.rpartition(':')[2]}/workspace.json", _WORKSPACE_LIMIT_BYTES) if name and "/" not in rest else None
    try:
        value = mapping(json.loads(told)) if told else None
    except (ValueError, RecursionError):
        return None
    if value is None:
        return None
    whole = string(value, "folder")
    file = string(value, "workspace") or string(value, "configuration")
    if whole or not file:
        return folder(whole) if whole else None
    above = folder(file)
    return re.split(r"[/\\][^/\\]*\Z", above)[0] or None if above else None


def _own_folder(session: dict[str, object]) -> str | None:
    """The folder that newer sessions record themselves."""
    told = session.get("workingDirectory")
    uri = told if isinstance(told, str) else string(mapping(told) or {}, "external") or string(mapping(told) or {}, "path")
    return folder(uri) if uri else None


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
        cwd=_own_folder(session) or _cwd(source, sibling),
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


# --- the declaration ----------------------------------------------------------------------------------------------

# Pieces of one reply, of an edit, of an output that would touch are set apart by white space. Added: the colon after a key.
_TRAITS = Traits(text_in="file", inserted=":")
_FOLDERS = ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions", "globalStorage/transferredChatSessions")


def _files(ending: str) -> tuple[str, ...]:
    return tuple(f"{name}/*{ending}" for name in _FOLDERS)


AGENT = Agent(
    "vscode",
    "VS Code Copilot Chat",
    stores=(
        Store(
            "vscode.input_history", "prompts", ("workspaceStorage/*/state.vscdb",), "reported by an experiment on 1.111", None,
            endings=(".vscdb",), speakers=("person",), unsupported="sqlite_not_yet",
        ),
        Store(
            "vscode.inline_history", "prompts", ("globalStorage/state.vscdb",), "reported by a reader of it", None,
            endings=(".vscdb",), speakers=("person",), unsupported="sqlite_not_yet",
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
