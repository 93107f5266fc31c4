"""Where an editor of VS Code's family has what open: the URIs of folders, and the `workspace.json` beside a workspace's storage."""

from __future__ import annotations

import json
import re

from ...files import sibling as read_below
from ...model import Sibling, Source
from .blocks import mapping, string

_LIMIT_BYTES = 64 << 10
_REMOTE = re.compile(r"vscode-(?:remote|vfs)://([^/]*)(/.*)?", re.DOTALL)
_DRIVE = re.compile(r"/+([A-Za-z]):(?=[/\\]|\Z)")
_STORAGE = re.compile(r"(?:^|:)((?:workspaceStorage)/[^/]+)/")


def _unquoted(text: str) -> str:
    """The text with its percent escapes undone."""
    if "%" not in text:
        return text
    from urllib.parse import unquote  # deferred: with what it loads it takes 3 of the 50 ms of a prompt search

    return unquote(text)


def folder(uri: str) -> str | None:
    """The folder that a URI names, in the spelling of the machine it lies on; None for what is no folder of files.

    `file:///c%3A/x` is `c:/x`; a folder of WSL, of a container or behind SSH is the path there.
    """
    remote = _REMOTE.fullmatch(uri)
    if remote:
        return _unquoted(remote[2] or "") or None
    if not uri.startswith("file://"):
        return uri if uri.startswith("/") or re.match(r"[A-Za-z]:[/\\]", uri) else None
    host, slash, path = uri.removeprefix("file://").partition("/")
    path = _unquoted(slash + path)
    if host and host != "localhost":
        return f"//{_unquoted(host)}{path}"
    drive = _DRIVE.match(path)
    return (f"{drive[1]}:{path[drive.end() :]}" if drive else path) or None


def named(uri: object) -> str | None:
    """The folder that a URI names, whether it is spelled as text or taken apart."""
    whole = mapping(uri)
    text = uri if isinstance(uri, str) else whole and (string(whole, "external") or string(whole, "fsPath") or string(whole, "path"))
    return folder(text) if text else None


def below(source: Source) -> Sibling:
    """A way to read small files below the root of a source that is a database."""
    return lambda relative, limit_bytes: read_below(source.root, relative, limit_bytes)


def opened(source: Source, sibling: Sibling) -> str | None:
    """The folder of the workspace that a source belongs to: of a workspace of several, the folder of its file."""
    storage = _STORAGE.search(source.key)
    told = sibling(f"{storage[1]}/workspace.json", _LIMIT_BYTES) if storage else None
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
