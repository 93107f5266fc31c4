"""Cursor, the editor: databases of its user folder. Known and counted, not read yet.

What it writes below `~/.config/Cursor/User` (macOS `~/Library/Application Support/Cursor/User`, Windows `%APPDATA%/Cursor/User`; under
WSL the Windows side's too). Every database has the tables `ItemTable` and `cursorDiskKV`, of keys and JSON values:

- `workspaceStorage/<hash>/state.vscdb`: `aiService.prompts` and `aiService.generations` in `ItemTable` are the prompt history of a
  workspace, without ids and times; `workbench.panel.aichat.view.aichat.chatdata` holds whole chats of releases before 0.40.
- `globalStorage/state.vscdb`: `composerData:<id>` and `bubbleId:<id>:<bubble>` in `cursorDiskKV` are the conversations since. Databases
  of 98 GB are reported.

What identifies a conversation: the composer's id, in the keys. No prompt history row names one.

What cannot be known before the databases are read: anything. They are counted as `sqlite_not_yet`. Transcripts that the editor's agents
write below `~/.cursor/projects` are read with the Cursor CLI's. Never opened: `storage.json`, settings, history of files.
"""

from __future__ import annotations

from ..model import Agent, Role, Store


def _database(name: str, role: Role, where: str, evidence: str) -> Store:
    return Store(f"cursor-ide.{name}", role, (where,), evidence, None, root="user", endings=(".vscdb",), unsupported="sqlite_not_yet")


AGENT = Agent(
    "cursor-ide",
    "Cursor",
    stores=(
        _database("prompts", "prompts", "workspaceStorage/*/state.vscdb", "observed 2024 published sample"),
        _database("workspace_chats", "transcript", "workspaceStorage/*/state.vscdb", "observed 2024 published sample"),
        _database("composers", "transcript", "globalStorage/state.vscdb", "reported by readers of 0.40 to 3"),
    ),
    limits=("no_conversation_id",),
)
