"""One line per agent: where its folders are and which module knows them. Loads a store module on demand."""

from __future__ import annotations

from importlib import import_module

from .errors import EngineError, UsageError
from .model import Agent, Store
from .typed import NamedTuple


class Root(NamedTuple):
    """A folder of an agent: the variable that moves it, and the places below the home where it is otherwise."""

    id: str
    places: tuple[str, ...]
    variable: str | None = None
    many: bool = False  # the variable may hold several folders, separated by commas
    below: str = ""  # where the root lies below the folder that the variable names; without it there, that folder is the root
    shared: bool = False  # the variable names a folder of many programs: only `below` can be the root, and it may be absent
    project: bool = False  # it may lie below the home and below each folder of the project at hand
    file: bool = False  # the variable names one file by its absolute path: its folder is the root, and holds nothing else of this root


class Entry(NamedTuple):
    id: str
    roots: tuple[Root, ...]


_DESKTOP = tuple(
    f"{base}/Claude/local-agent-mode-sessions"
    for base in (
        "Library/Application Support",
        ".config",
        "AppData/Roaming",
        "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming",
    )
)

_VSCODE = (
    *(
        f"{base}/{product}/User"
        for base in (".config", "Library/Application Support", "AppData/Roaming")
        for product in ("Code", "Code - Insiders", "VSCodium", "VSCodium - Insiders", "Code - OSS")
    ),
    *(f".{name}/data/User" for name in ("vscode-server", "vscode-server-insiders", "vscodium-server")),
)

# Folders that variables put elsewhere, beside the usual places: XDG on Linux, APPDATA on Windows, a portable VS Code.
_VSCODE_MOVED = tuple(
    Root("home", (), variable, below=f"{product}/User", shared=True)
    for variable in ("VSCODE_APPDATA", "XDG_CONFIG_HOME", "APPDATA")
    for product in ("Code", "Code - Insiders", "VSCodium", "VSCodium - Insiders", "Code - OSS")
)
_CURSOR_MOVED = tuple(Root("user", (), variable, below="Cursor/User", shared=True) for variable in ("XDG_CONFIG_HOME", "APPDATA"))
_CURSOR = tuple(f"{base}/Cursor/User" for base in (".config", "Library/Application Support", "AppData/Roaming"))

ENTRIES: tuple[Entry, ...] = (
    Entry("claude", (Root("home", (".claude", ".config/claude"), "CLAUDE_CONFIG_DIR", many=True), Root("desktop", _DESKTOP))),
    Entry("codex", (Root("home", (".codex",), "CODEX_HOME"),)),
    Entry("pi", (Root("home", (".pi/agent",), "PI_CODING_AGENT_DIR"), Root("flat", (), "PI_CODING_AGENT_SESSION_DIR"))),
    Entry("omp", (Root("home", (".omp",)), Root("xdg", (".local/share/omp",)), Root("xdg", (), "XDG_DATA_HOME", below="omp", shared=True))),
    Entry("vscode", (Root("home", _VSCODE), Root("home", (), "VSCODE_PORTABLE", below="user-data/User", shared=True), *_VSCODE_MOVED)),
    Entry("gemini", (Root("home", (".gemini",), "GEMINI_CLI_HOME", below=".gemini"),)),
    Entry("antigravity-cli", (Root("home", (".gemini/antigravity-cli", ".gemini/antigravity-acp")),)),
    Entry("antigravity-ide", (Root("home", (".gemini/antigravity", ".gemini/antigravity-ide")),)),
    Entry("cursor-cli", (
        Root("home", (".cursor", ".config/cursor")), Root("home", (), "CURSOR_CONFIG_DIR"),
        Root("home", (), "XDG_CONFIG_HOME", below="cursor", shared=True),
    )),
    Entry("cursor-ide", (Root("user", _CURSOR), *_CURSOR_MOVED)),
    Entry("grok", (Root("home", (".grok",), "GROK_HOME"),)),
    Entry("visualstudio", (
        Root("home", ("AppData/Local/Temp/VSGitHubCopilotLogs", "Library/Caches/VSGitHubCopilotLogs", ".cache/VSGitHubCopilotLogs")),
        *(Root("home", (), variable, below="VSGitHubCopilotLogs", shared=True) for variable in ("TEMP", "TMP")),
    )),
    Entry("opencode", (
        Root("state", (".local/state/opencode",)), Root("state", (), "XDG_STATE_HOME", below="opencode", shared=True),
        Root("data", (".local/share/opencode",)), Root("data", (), "XDG_DATA_HOME", below="opencode", shared=True),
        Root("file", (), "OPENCODE_DB", file=True), Root("project", (".opencode",), project=True),
    )),
)  # fmt: skip

AGENT_IDS: tuple[str, ...] = tuple(entry.id for entry in ENTRIES)
_loaded: dict[str, Agent] = {}
_stores: dict[str, Store] = {}


def agent(agent_id: str) -> Agent:
    """The agent's declaration, its module loaded on first use. Raises UsageError for an unknown id, EngineError for a broken module."""
    if agent_id not in _loaded:
        if agent_id not in AGENT_IDS:
            raise UsageError(f"unknown agent {agent_id!r}; known: {', '.join(AGENT_IDS)}")
        try:
            _loaded[agent_id] = import_module(f".stores.{agent_id.replace('-', '_')}", __package__).AGENT
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise EngineError(f"the module of {agent_id} cannot be loaded, which is a bug worth a report: {said}") from error
    return _loaded[agent_id]


def store(store_id: str) -> Store:
    """The store with this id, `<agent>.<name>`."""
    if store_id not in _stores:
        _stores.update({one.id: one for one in agent(store_id.partition(".")[0]).stores})
    if store_id not in _stores:
        raise UsageError(f"unknown store {store_id!r}")
    return _stores[store_id]
