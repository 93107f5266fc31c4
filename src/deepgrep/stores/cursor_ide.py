"""Cursor, the editor: prompt histories and conversations in the databases of its user folder.

**What it writes.** Below `~/.config/Cursor/User` (macOS `~/Library/Application Support/Cursor/User`, Windows `%APPDATA%/Cursor/User`;
under WSL the Windows side's too) databases of keys and JSON values, tables `ItemTable` and `cursorDiskKV`. Databases of 98 GB are reported.

- `workspaceStorage/<hash>/state.vscdb`: `aiService.prompts` in `ItemTable` holds what was typed in a workspace, `aiService.generations`
  the last of it once more, with times. These two are fetched by their keys alone. `workbench.panel.aichat.view.aichat.chatdata` holds
  whole chats, in tabs (2023 and 2024), `composer.composerData` whole composers of the first builds that had them (end of 2024).
- `globalStorage/state.vscdb`: `composerData:<composer>` in `cursorDiskKV` is a conversation, with its messages inside up to 0.42; since
  then `bubbleId:<composer>:<bubble>` is a message each.
- `workspace.json` beside a workspace's database names the folder that was open.

**What identifies a conversation.** The composer's id, in the keys; of a chat of old, its tab's. No row of the prompt history names one.

**Who speaks.** A bubble of type 1 is the person's, as typed; in the composer of a subagent it is the brief. Messages that the program
sends in the person's place are marked (`isSimulatedMsg`). What was attached to a prompt is the runtime's. A bubble of type 2 is the
agent's: its thinking, its text, and one tool call with what came back.

**What cannot be known.** Bubbles have no time of their own before October 2025: those of a composer then share its first. A bubble that
its composer no longer lists was taken back when a prompt was edited: it is counted (`taken_back`), and no record. Cloud agents leave
nothing here. What the model was sent (`agentKv`), checkpoints and diffs hold these messages once more, or none. Transcripts that the
editor's agents write below `~/.cursor/projects` are read with the Cursor CLI's.

Never opened: `storage.json`, settings, the history of files; keys of accounts (`secret:`, `cursorAuth/`) are never asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..files import Unsupported
from ..model import Agent, Database, Decoded, Record, Rows, Skip, Source, Store, Traits, Wanted
from ..text import clean, instant, plain
from ..typed import TYPE_CHECKING, NamedTuple
from ._shapes.blocks import mapping, readable, string
from ._shapes.envelopes import Said
from ._shapes.keyed import ITEMS, Undecodable, fetched, is_closed, parsed, rows, whole
from ._shapes.workspaces import below, folder, named, opened

if TYPE_CHECKING:
    from ..model import Value

Json = dict[str, object]
_UNKNOWN = Skip("unknown_shape")
_UNDECODABLE = Skip("undecodable")

# --- the prompt history -------------------------------------------------------------------------------------------

_PROMPTS, _GENERATIONS = "aiService.prompts", "aiService.generations"
_TYPED = frozenset({"composer", "chat", "cmdk"})  # others describe what the program did
_SLASH = re.compile(r"\s*/[A-Za-z][\w:.-]*(?:\s|\Z)")


def _kind(text: str) -> str:
    return "command" if _SLASH.match(text) else "prompt"


def _history(database: Database, wanted: Wanted, source: Source) -> Decoded:
    found = fetched(database, (_PROMPTS, _GENERATIONS))
    raw = (found.get(_PROMPTS), found.get(_GENERATIONS))
    if not wanted(*raw):
        for one in raw:
            if isinstance(one, bytes) and one.strip() and not is_closed(one):  # whatever the query, a torn value is no answer
                whole(one)
        return
    prompts, generations = (_entries(whole(one)) for one in raw)
    yield from (_UNKNOWN for one in (*prompts, *generations) if one is None)
    cwd = opened(source, below(source))
    times = _paired([one and one.text for one in prompts], generations)
    for position, prompt in enumerate(prompts):
        if prompt and prompt.text.strip():
            paired = times.get(position)
            generation = None if paired is None else generations[paired]
            yield _typed(source, position, 0, generation._replace(text=prompt.text) if generation else prompt, cwd)
    used = set(times.values())
    for position, generation in enumerate(generations):
        if generation and position not in used and generation.kind in _TYPED and generation.text.strip():
            yield _typed(source, position, 1, generation, cwd)


class _Entry(NamedTuple):
    text: str
    kind: str = ""
    time_us: int | None = None
    id: str | None = None


def _typed(source: Source, position: int, block: int, entry: _Entry, cwd: str | None) -> Record:
    return Record(
        source, position, block, "person", _kind(entry.text), clean(entry.text), time_us=entry.time_us, native_id=entry.id, cwd=cwd
    )


def _entries(value: object) -> list[_Entry | None]:
    """The entries of a list, None for one of no known shape."""
    if value is None:
        return []
    return [_entry(one) for one in value] if isinstance(value, list) else [None]


def _entry(value: object) -> _Entry | None:
    if isinstance(value, str):
        return _Entry(value)
    row = mapping(value) or {}
    text = row.get("text", row.get("textDescription"))
    if not isinstance(text, str):
        return None
    return _Entry(text, string(row, "type") or "", instant(row.get("unixMs")), string(row, "generationUUID"))


def _paired(prompts: Sequence[str | None], generations: Sequence[_Entry | None]) -> dict[int, int]:
    """Which generation tells of which prompt: equal texts, newest first, in the one order that both lists have."""
    out: dict[int, int] = {}
    at = len(prompts)
    for number in range(len(generations) - 1, -1, -1):
        entry = generations[number]
        found = next((index for index in range(at - 1, -1, -1) if entry and prompts[index] == entry.text), None)
        if found is not None:
            out[found] = number
            at = found
    return out


# --- what a composer says of all its bubbles -----------------------------------------------------------------------


class _Composer(NamedTuple):
    id: str
    title: str | None = None
    time_us: int | None = None
    model: str | None = None
    cwd: str | None = None
    branch: str | None = None
    parent: str | None = None
    listed: frozenset[str] = frozenset()  # bubbles that are part of the conversation as it stands; none where that is not told


def _composer(value: Json, native: str) -> _Composer:
    tree = mapping(value.get("gitWorktree")) or {}
    listed = value.get("fullConversationHeadersOnly")
    headers = (mapping(one) or {} for one in listed) if isinstance(listed, list) else ()
    first = instant(value.get("createdAt"))
    active = mapping(value.get("activeBranch")) or {}
    return _Composer(
        native,
        title=string(value, "name") or string(value, "chatTitle"),
        time_us=first if first is not None else instant(value.get("lastSendTime") or value.get("lastUpdatedAt")),
        model=_model(mapping(value.get("modelConfig")) or {}),
        cwd=_folder(value) or named((mapping(value.get("workspaceIdentifier")) or {}).get("uri")),
        branch=string(tree, "branchName") or string(active, "branchName") or string(value, "createdOnBranch"),
        parent=string(mapping(value.get("subagentInfo")) or {}, "parentComposerId"),
        listed=frozenset(name for one in headers if (name := string(one, "bubbleId"))),
    )


def _model(value: Json) -> str | None:
    name = string(value, "modelName") or string(value, "modelType")
    return None if name == "default" else name


def _folder(value: Json) -> str | None:
    """The folder that a composer or a bubble was at work in."""
    uris = value.get("workspaceUris")
    first = uris[0] if isinstance(uris, list) and uris else None
    told = string(mapping(value.get("gitWorktree")) or {}, "worktreePath") or string(value, "workspaceProjectDir")
    return folder(told) if told else named(first)


class _Composers:
    """The composers of a database, each read once, by its key."""

    _MOST = 256

    def __init__(self, database: Database, source: Source) -> None:
        self._database = database
        self._known: dict[str, _Composer] = {}
        self._cwd = opened(source, below(source))

    def made(self, value: Json, native: str) -> _Composer:
        one = _composer(value, native)
        return one if one.cwd else one._replace(cwd=self._cwd)

    def of(self, native: str) -> _Composer:
        if native not in self._known:
            if len(self._known) >= self._MOST:
                self._known.clear()
            raw = fetched(self._database, (f"composerData:{native}",), _TABLE)
            try:
                value = mapping(parsed(next(iter(raw.values()), None))) or {}
            except Undecodable:
                value = {}
            self._known[native] = self.made(value, native)
        return self._known[native]


# --- who said what in a bubble ------------------------------------------------------------------------------------

_ATTACHED = ("selections", "terminalSelections", "quotes", "attachedCodeChunks")
_TEXTS = ("text", "rawText", "content", "message")
_USER, _AGENT = (1, "user", "human"), (2, "ai", "assistant", "bot")


def _text(value: Json) -> str:
    return next((found for key in _TEXTS if isinstance(found := value.get(key), str) and found.strip()), "")


def _asked(value: Json) -> Iterator[Said]:
    text = _text(value)
    if value.get("isSimulatedMsg") is True:
        yield Said("runtime", "notice", text)
    else:
        yield Said("person", _kind(text), text)
    for holder in (value, mapping(value.get("context")) or {}):
        for key in _ATTACHED:
            found = holder.get(key)
            pieces = [_piece(one) for one in found] if isinstance(found, list) else []
            yield Said("runtime", "context", "\n".join(filter(None, pieces)))


def _piece(value: object) -> str:
    """What was attached, as text."""
    inner = mapping(value) or {}
    text = next((inner[key] for key in ("rawText", "text", "lines", "markdown") if inner.get(key)), value)
    return text if isinstance(text, str) else plain(readable(text))


def _answered(value: Json) -> Iterator[Said]:
    thinking = value.get("thinking")
    thought = thinking if isinstance(thinking, str) else string(mapping(thinking) or {}, "text")
    if not thought:
        kept = value.get("allThinkingBlocks")
        thought = "\n".join(filter(None, map(_thought, kept))) if isinstance(kept, list) else ""
    yield Said("agent", "reasoning", thought or "")
    yield Said("agent", "reply", _text(value))
    yield from _tool(mapping(value.get("toolFormerData")) or {})
    error = mapping(value.get("errorDetails")) or {}
    yield Said("runtime", "notice", string(error, "message") or "")


def _thought(value: object) -> str:
    inner = mapping(value) or {}
    return string(inner, "thinking") or string(inner, "text") or ""


def _tool(value: Json) -> Iterator[Said]:
    name = string(value, "name")
    asked = _words(value.get("rawArgs")) or _words(value.get("params"))
    if name or asked:
        yield Said("tool", "tool_call", "\n".join(filter(None, (name, asked))), tool=name)
    came = next((words for key in ("result", "error") if (words := _words(value.get(key)))), "")
    yield Said("tool", "tool_result", came, tool=name)


def _words(value: object) -> str:
    """Arguments or results as text: most are JSON once more, spelled as a string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = parsed(value.encode("utf-8", "surrogatepass"))
        except Undecodable:
            return str(value)
    return value if isinstance(value, str) else plain(readable(value)) if value else ""


def _bubble(value: Json, composer: _Composer, base: Record) -> Decoded:
    """The records of one bubble. `base.block` is where its blocks begin."""
    kind = value.get("type", value.get("role"))
    tell = _asked if kind in _USER else _answered if kind in _AGENT else None
    if tell is None:
        yield _UNKNOWN
        return
    native = string(value, "bubbleId") or string(value, "id")
    if native and composer.listed and native not in composer.listed:
        yield Skip("taken_back")
        return
    own = next((found for key in ("createdAt", "timestamp") if (found := instant(value.get(key))) is not None), None)
    base = base._replace(
        native_id=native,
        time_us=composer.time_us if own is None else own,
        conversation_id=composer.id, parent_conversation_id=composer.parent, title=composer.title,
        cwd=_folder(value) or composer.cwd, branch=composer.branch,
    )  # fmt: skip
    model = _model(mapping(value.get("modelInfo")) or value) or composer.model
    for number, said in enumerate(tell(value)):
        if said.text.strip():
            if said.speaker == "person" and composer.parent:
                said = said._replace(speaker="parent", kind="brief")
            yield base._replace(
                block=base.block + number, speaker=said.speaker, kind=said.kind, text=clean(said.text), tool=said.tool,
                model=model if said.speaker in ("agent", "tool") else None,
            )  # fmt: skip


# --- conversations ------------------------------------------------------------------------------------------------

_TABLE = "cursorDiskKV"
_CHATS = ("workbench.panel.aichat.view.aichat.chatdata", "workbench.panel.chat.view.chat.chatdata", "composer.composerData")
_IN_WORKSPACE = re.compile(r"(?:^|:)workspaceStorage/")
_IN_BUBBLE, _IN_VALUE = 16, 1 << 28  # blocks of one bubble among those of a value, and of one value among those of a database


def _conversations(database: Database, wanted: Wanted, source: Source) -> Decoded:
    """All conversations: those of single values first, then the table's rows. Of two copies the workspace's is the lesser."""
    tables = database.tables()
    if not tables & {ITEMS, _TABLE}:
        raise Unsupported("unsupported_format")
    composers = _Composers(database, source)
    base = Record(source, 0, 0, "runtime", "context", "", channel=1 if _IN_WORKSPACE.search(source.key) else 0)
    for number, name in enumerate(_CHATS if ITEMS in tables else ()):
        for raw in fetched(database, (name,)).values():
            if wanted(raw):  # no row of a table has the position 0
                yield from _chats(raw, composers, base._replace(block=number * _IN_VALUE))
    if _TABLE in tables:
        for rowid, key, raw in rows(database, wanted, _TABLE):
            yield from _row(key, raw, composers, base._replace(position=rowid))


def _chats(raw: Value, composers: _Composers, base: Record) -> Decoded:
    """The chats or composers of one value."""
    try:
        value = parsed(raw)
    except Undecodable:
        yield _UNDECODABLE
        return
    holder = mapping(value) or {}
    lists = [value] if isinstance(value, list) else [holder.get(key) for key in ("tabs", "allComposers")]
    chats = [one for found in lists if isinstance(found, list) for one in found]
    if not chats and value is not None and not isinstance(value, (dict, list)):
        yield _UNKNOWN
    for one in chats:
        chat = mapping(one)
        native = chat and (string(chat, "composerId") or string(chat, "tabId") or string(chat, "id"))
        if not chat or not native:
            yield _UNKNOWN
            continue
        bubbles = _inside(chat)
        yield from _inline(bubbles, composers.made(chat, native), base)
        base = base._replace(block=base.block + len(bubbles) * _IN_BUBBLE)


def _row(key: Value, raw: Value, composers: _Composers, base: Record) -> Decoded:
    kind, _, rest = key.partition(b":") if isinstance(key, bytes) else (b"", b"", b"")
    if kind not in (b"bubbleId", b"composerData") or not rest or not isinstance(raw, bytes):
        return  # what the model was sent, checkpoints, diffs: none of it was said here
    try:
        value = mapping(parsed(raw))
    except Undecodable:
        yield _UNDECODABLE
        return
    if value is None:
        yield from () if raw.strip() in (b"", b"null") else (_UNKNOWN,)
        return
    native = rest.partition(b":")[0].decode("utf-8", "replace")
    if kind == b"bubbleId":
        yield from _bubble(value, composers.of(native), base)
    else:
        composer = composers.made(value, native)
        yield from _inline(_inside(value), composer, base)
        yield from _summary(value, composer, base)


def _inside(value: Json) -> list[object]:
    """The bubbles that a composer or a tab holds itself: in a list, or in a map of bubbles or of lists."""
    for key in ("conversation", "bubbles", "messages"):
        found = value.get(key)
        if isinstance(found, list) and found:
            return found
    out: list[object] = []
    for one in (mapping(value.get("conversationMap")) or {}).values():
        inner = (mapping(one) or {}).get("bubbles")
        out += inner if isinstance(inner, list) else [one]
    return out


def _inline(bubbles: Sequence[object], composer: _Composer, base: Record) -> Decoded:
    for number, one in enumerate(bubbles):
        bubble = mapping(one)
        if bubble is None:
            yield _UNKNOWN
        else:
            yield from _bubble(bubble, composer, base._replace(block=base.block + number * _IN_BUBBLE))


def _summary(value: Json, composer: _Composer, base: Record) -> Iterator[Record]:
    """What the program made of the older part of a long conversation."""
    found = (mapping(value.get("latestConversationSummary")) or {}).get("summary")
    text = found if isinstance(found, str) else string(mapping(found) or {}, "summary")
    if text:
        yield base._replace(
            block=_IN_VALUE - 1, kind="summary", text=clean(text), time_us=composer.time_us, conversation_id=composer.id,
            parent_conversation_id=composer.parent, title=composer.title, cwd=composer.cwd, branch=composer.branch,
        )  # fmt: skip


# --- the declaration ----------------------------------------------------------------------------------------------

_TRAITS = Traits(text_in="line", inserted=":")
_WORKSPACES, _GLOBAL = ("workspaceStorage/*/state.vscdb",), ("globalStorage/state.vscdb",)

AGENT = Agent(
    "cursor-ide",
    "Cursor",
    stores=(
        Store(
            "cursor-ide.prompts", "prompts", _WORKSPACES, "observed 2024 published sample",
            Rows(_history), _TRAITS, root="user", endings=(".vscdb",), speakers=("person",),
        ),
        Store(
            "cursor-ide.workspace_chats", "transcript", _WORKSPACES, "observed 2024 published sample",
            Rows(_conversations), _TRAITS, root="user", endings=(".vscdb",),
        ),
        Store(
            "cursor-ide.composers", "transcript", _GLOBAL, "reported by readers of 0.40 to 3",
            Rows(_conversations), _TRAITS, root="user", endings=(".vscdb",),
        ),
    ),
    limits=("no_conversation_id",),
)  # fmt: skip
