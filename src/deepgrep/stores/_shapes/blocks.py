"""Message content as the Anthropic API shapes it: a string, or a list of typed blocks; and JSON values narrowed with care.

Pure values. Knows no agent and no speaker.
"""

from __future__ import annotations

from ...text import clean, plain


def string(value: dict[str, object], key: str) -> str | None:
    """The text at this key; None where there is none, or something else."""
    found = value.get(key)
    return clean(found) if isinstance(found, str) and found else None


def mapping(value: object) -> dict[str, object] | None:
    """The value if it is a JSON object."""
    return value if isinstance(value, dict) else None


def readable(value: object) -> object:
    """The value without base64 bodies, which hold no words."""
    top = [value]
    pending: list[object] = [top]
    while pending:  # not recursive: arguments may nest as deep as a parser allows
        holder = pending.pop()
        if isinstance(holder, list):
            holder[:] = map(_bared, holder)
            pending += holder
        elif isinstance(holder, dict):
            holder.update({key: _bared(inner) for key, inner in holder.items()})
            pending += holder.values()
    return top[0]


def _bared(value: object) -> object:
    """A copy of a list, a copy of an object without the keys of base64 bodies; any other value itself."""
    if isinstance(value, list):
        return list(value)
    if not isinstance(value, dict):
        return value
    blobs = {"base64", "signature", "encrypted_content", *(("data",) if "media_type" in value else ())}
    return {key: inner for key, inner in value.items() if key not in blobs}


BLOBS = ("image", "document")  # blocks that hold no text of their own; a tuple: a damaged type may not be hashable


def blocks(content: object) -> list[object] | None:
    """A message's content as a list of blocks: a bare string, alone or among them, is one block of text."""
    if isinstance(content, str):
        content = [content]
    if not isinstance(content, list):
        return None
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def block_text(block: object) -> str:
    """The words of one block: its text, nothing for an image, all fields of a block of another type."""
    if isinstance(block, str):
        return block
    value = mapping(block) or {}
    text = value.get("text")
    if isinstance(text, str):
        return text
    return "" if value.get("type") in BLOBS else plain(readable(value))


def joined(content: object) -> str:
    """The words of all blocks, one after another."""
    return "\n".join(filter(None, map(block_text, blocks(content) or ())))
