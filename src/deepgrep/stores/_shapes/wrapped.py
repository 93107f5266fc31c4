"""Prompts that stand in `<user_query>` among other marked blocks, as Cursor and Grok Build write them: one text cut at its marks.

Pure text. Knows no line and no field of one. A text without the marks is the person's, also one that talks of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .envelopes import Said, command_or_prompt

_OPEN, _CLOSE = "<user_query>", "</user_query>"
_EITHER = re.compile("</?user_query>")
_BLOCK = re.compile(r"[\s\ufeff]*<([A-Za-z][\w-]*)(?:\s[^<>\n]*)?>")
_ATTACHED = re.compile(r"\[(?:Image|File: [^\]\n]{0,400})\]")  # stand for what was pasted or dropped
_NOTICE = "<system_notification>"  # a finished task; the query after it is the program's too
_MOST = 64  # blocks of one text: real ones hold about ten, and each costs a copy of what follows


def utterances(text: str, tags: frozenset[str]) -> Iterator[Said]:
    """What a text under the user's role holds: the blocks put around a query, and the query; or a plain prompt.

    `tags`: blocks that are cut from the start and the end of a text that has no query.
    """
    parts = _query(text)
    if parts is None:
        yield from _plain(text, tags)
        return
    for _ in range(_MOST):
        lead, query, rest = parts
        yield from _around(lead)
        yield from _asked(query, _NOTICE in lead)
        parts = _query(rest) if rest.lstrip().startswith(_OPEN) else None
        if parts is None:
            yield from _around(rest)
            return
    yield from _around(rest)  # more queries than anyone sends


def _around(text: str) -> Iterator[Said]:
    if text.strip():
        yield Said("runtime", "notice" if _NOTICE in text else "context", text.strip())


def _asked(text: str, noticed: bool) -> Iterator[Said]:
    text = text.strip()
    if text:
        yield Said("runtime", "notice", text) if noticed else Said("person", command_or_prompt(text), text)


def _query(text: str) -> tuple[str, str, str] | None:
    """What stands before the query, the query, and what stands behind it; None for a text that is none or only mentions one."""
    at = text.find(_OPEN)
    if at < 0:
        return None
    end = _end(text, at + len(_OPEN))
    if end is None:
        return None
    lead, tail = text[:at], text[end + len(_CLOSE) :]
    if not _is_marked(lead) and not (lead.endswith("\n") and _is_marked(tail)):
        return None
    return lead, text[at + len(_OPEN) : end], tail


def _end(text: str, start: int) -> int | None:
    """Where the query that begins at `start` ends. A query may itself talk of the marks, in pairs or not."""
    depth = 1
    for mark in _EITHER.finditer(text, start):
        depth += -1 if mark[0] == _CLOSE else 1
        if depth == 0:
            if _is_marked(text[mark.end() :]):
                return mark.start()
            break
    last = text.rfind(_CLOSE, start)
    return last if last >= 0 else None


def _is_marked(text: str) -> bool:
    """Is this nothing but marked blocks, as far as its two ends tell?"""
    left = _ATTACHED.sub("", text).strip("\ufeff \t\r\n")
    return not left or (left.startswith("<") and left.endswith(">"))


def _plain(text: str, tags: frozenset[str]) -> Iterator[Said]:
    """A text without a query: known blocks are cut from both its ends, what is left was typed."""
    start = _lead(text, tags)
    stop = _tail(text, start, tags)
    yield from _around(text[:start])
    yield from _asked(text[start:stop], _NOTICE in text[:start])
    yield from _around(text[stop:])


def _lead(text: str, tags: frozenset[str]) -> int:
    """Where the known blocks at the start of a text end."""
    at = 0
    for _ in range(_MOST):
        found = _BLOCK.match(text, at)
        end = text.find(f"</{found[1]}>", found.end()) if found and found[1] in tags else -1
        if found is None or end < 0:
            break
        at = end + len(found[1]) + 3
    return at


_LAST = re.compile(r"</([A-Za-z][\w-]*)>\s*\Z")


def _tail(text: str, start: int, tags: frozenset[str]) -> int:
    """Where the known blocks at the end of a text begin."""
    stop = len(text)
    for _ in range(_MOST):
        found = _LAST.search(text, max(start, stop - 200), stop)
        at = max(text.rfind(f"<{found[1]}>", start, stop), text.rfind(f"<{found[1]} ", start, stop)) if found and found[1] in tags else -1
        if at < 0:
            break
        stop = at
    return stop
