"""Folders and repositories as records name them: any system's separators, whole segments. Touches no disk."""

from __future__ import annotations

import re


def segments(path: str) -> tuple[str, ...]:
    """A path's segments, split at either separator; an absolute one begins with an empty segment or a drive."""
    parts = re.split(r"[/\\]+", path)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if parts and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts[0] = parts[0].lower()
    return tuple(parts)


def below(path: str, folder: str) -> bool:
    """Is `path` the folder or in it, by whole segments?"""
    inner, outer = segments(path), segments(folder)
    return inner[: len(outer)] == outer


def holds(path: str, part: str) -> bool:
    """Do the segments of `part` stand in `path` one after the other; from its start where `part` is absolute?"""
    inner, outer = segments(path), segments(part)
    if outer[:1] == ("",) or re.fullmatch(r"[a-z]:|~", outer[0]):
        return inner[: len(outer)] == outer
    return any(inner[at : at + len(outer)] == outer for at in range(len(inner) - len(outer) + 1))


def project(repo: str | None, cwd: str | None) -> str | None:
    """The last segment of a recorded repository root or working directory."""
    root = repo if repo and not _is_remote(repo) else cwd
    return segments(root)[-1] or None if root else None


def worktree(cwd: str | None) -> str | None:
    """The name of the worktree that a folder lies in: what follows a folder called worktrees."""
    parts = segments(cwd) if cwd else ()
    places = [at for at, part in enumerate(parts[:-1]) if part.lstrip(".") == "worktrees"]
    return parts[places[-1] + 1] if places else None


def is_repo(recorded: str, asked: str) -> bool:
    """Is a recorded repository the one that was asked for: by its address, its last parts, or its name?"""
    return asked in (recorded, _repo_path(recorded).rpartition("/")[2]) or _repo_path(recorded).endswith("/" + asked.strip("/"))


def _is_remote(repo: str) -> bool:
    return "://" in repo or re.match(r"[^/\\]+@[^/\\]+:", repo) is not None or repo.endswith(".git")


def _repo_path(repo: str) -> str:
    return "/" + re.sub(r"^\w+://", "", repo).replace(":", "/").replace("\\", "/").removesuffix("/").removesuffix(".git")
