"""The only module that opens an agent's files: read-only, bounded by the size at opening, never mapped.

Hands out windows of whole lines, whole small files, and peeks at neighbours. Decides nothing about what they mean.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from itertools import islice
from types import TracebackType

from .typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol, Self

    class _Stream(Protocol):
        def readinto1(self, buffer: memoryview, /) -> int: ...
        def seek(self, offset: int, /) -> int: ...
        def close(self) -> None: ...


WINDOW = 1 << 20  # bytes; the fastest of 64 KiB to 4 MiB measured with the probe
LINE_CAP = 64 << 20  # bytes; what lies beyond is passed over and counted
DOCUMENT_CAP = 256 << 20  # bytes of one whole-file JSON or text source
EXPANSION_CAP = 2000  # times the compressed size, beyond a first GiB: more is a bomb, not a transcript
_STEP = 1 << 16  # bytes decompressed at a time
_PEEK = 1 << 16  # bytes read around a line when its neighbours are asked for
_SIBLINGS = 10_000  # names looked at in one folder for a small file whose folder is not known

# O_NONBLOCK: a pipe under a transcript's name must not wait for a writer. O_BINARY: Windows.
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Unreadable(Exception):
    """A file that cannot be read; `code` goes into the coverage."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Unsupported(Unreadable):
    """A file whose format needs something that is not installed."""


class _Bounded(io.RawIOBase):
    """A file that ends where it ended when it was opened."""

    def __init__(self, raw: io.FileIO, size: int) -> None:
        self._raw, self._size, self._at = raw, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        left = self._size - self._at
        if left <= 0:
            return 0
        got = self._raw.readinto(buffer if left >= len(buffer) else memoryview(buffer)[:left])
        self._at += got
        return got

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = self._raw.seek(max(0, min(base + offset, self._size)))
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self._raw.close()
        super().close()


class OpenFile:
    """One source, open for reading. Use as a context manager. Raises Unreadable, never OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.bytes_read = 0  # of content: decompressed where the file is compressed
        self._raw, status = opened(path)
        self.size, self.identity = status.st_size, (status.st_dev, status.st_ino)
        self.compressed = path.endswith(".zst")
        self._at = 0
        self._stream: _Stream | None = None
        if self.compressed:
            try:
                self._stream = _decompressed(_Bounded(self._raw, self.size))
            except Unsupported:
                self._raw.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._stream:
            self._stream.close()
        self._raw.close()

    def readinto(self, view: memoryview) -> int:
        """Fill the view as far as one read goes; 0 at the end."""
        if self._stream:
            return self._decompress(self._stream, view)
        left = self.size - self._at
        if left <= 0:
            return 0
        try:
            got = self._raw.readinto(view if left >= len(view) else view[:left]) or 0
        except OSError as error:
            raise Unreadable(code_of(error)) from error
        self._at += got
        self.bytes_read += got
        return got

    def _decompress(self, stream: _Stream, view: memoryview) -> int:
        try:
            # One step of the decoder at a time: what came out before damage must not go down with it.
            got = stream.readinto1(view[:_STEP])
        except OSError as error:
            raise Unreadable(code_of(error)) from error
        except Exception as error:
            if isinstance(error, EOFError) or type(error).__name__ == "ZstdError":
                raise Unreadable("damaged_compression") from error
            raise
        self.bytes_read += got
        if self.bytes_read > (1 << 30) + EXPANSION_CAP * self.size:
            raise Unreadable("expands_too_far")
        return got

    def seek(self, offset: int) -> None:
        """Go to an offset of the content. Going back in a compressed file decompresses from its start."""
        try:
            if self._stream:
                self._stream.seek(offset)
            else:
                self._at = self._raw.seek(min(offset, self.size))
        except (OSError, EOFError) as error:
            raise Unreadable(code_of(error) if isinstance(error, OSError) else "damaged_compression") from error

    def rewind(self) -> None:
        """Go back to the start, as if nothing had been read."""
        self.seek(0)
        self.bytes_read = 0

    def shrank(self) -> bool:
        """Is there less on disk than when the file was opened?"""
        return os.fstat(self._raw.fileno()).st_size < self.size

    def beside(self, offset: int, size: int) -> bytes | None:
        """Up to `size` bytes at `offset`, leaving the place of reading alone; None where that cannot be done."""
        if self._stream or not hasattr(os, "pread"):
            return None
        parts: list[bytes] = []
        try:
            while size > 0 and (part := os.pread(self._raw.fileno(), max(0, min(size, self.size - offset)), offset)):
                parts.append(part)
                offset, size = offset + len(part), size - len(part)
        except (OSError, ValueError):
            return b""
        return b"".join(parts)

    def start(self, size: int) -> bytes:
        """The first `size` bytes of the content, or all of it."""
        buffer = bytearray(size)
        have = 0
        while have < size and (got := self.readinto(memoryview(buffer)[have:])):
            have += got
        return bytes(memoryview(buffer)[:have])

    def whole(self, cap: int = DOCUMENT_CAP) -> bytes:
        """All of a small file. Raises Unreadable("oversized") beyond `cap` bytes."""
        parts: list[bytes] = []
        total = 0
        buffer = bytearray(WINDOW)
        while got := self.readinto(memoryview(buffer)):
            total += got
            if total > cap:
                raise Unreadable("oversized")
            parts.append(bytes(memoryview(buffer)[:got]))
        return b"".join(parts)


def _decompressed(stream: _Bounded) -> _Stream:
    """The content of a zstd file. The decoder is imported when the first such file is met."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from backports import zstd  # type: ignore[no-redef,import-not-found,unused-ignore]
        except ImportError as error:
            raise Unsupported("zstd_not_installed") from error
    return zstd.ZstdFile(stream)  # type: ignore[no-any-return,unused-ignore]


def opened(path: str) -> tuple[io.FileIO, os.stat_result]:
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        raise Unreadable(code_of(error)) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device under a transcript's name would block or never end
        os.close(descriptor)
        raise Unreadable("not_a_file")
    return io.FileIO(descriptor, "rb", closefd=True), status


def code_of(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "vanished"
    if isinstance(error, PermissionError):
        return "permission"
    return "io_error"


class Window(NamedTuple):
    """Whole lines of a file: `buffer[:end]` holds the bytes from offset `start` on. Valid until the next one is asked for."""

    buffer: bytearray
    end: int
    start: int
    oversized: int  # lines passed over just before this window


_SPARE_CAP = 8 << 20  # bytes of a grown window that are kept for the next file
_spare: list[bytearray] = []  # allocating a window costs more than reading a small file into it


def _buffer(size: int) -> bytearray:
    try:
        spare = _spare.pop()
    except IndexError:  # none left, or another thread was quicker
        return bytearray(size)
    return spare if size <= len(spare) else bytearray(size)


def windows(file: OpenFile, *, size: int = WINDOW, cap: int = LINE_CAP) -> Iterator[Window]:
    """The file from its start in windows cut at the last newline; the last may lack one.

    A line longer than the window makes the buffer grow, up to `cap` bytes; a longer one is passed over.
    """
    size = min(size, cap)  # so that what is too long does not depend on the window
    buffer = _buffer(size)
    limit = size  # how far the buffer is filled: its cache-friendly front, more only for a line that needs it
    have = start = oversized = 0  # `have` bytes at the front of the buffer stand at offset `start`
    passing = False  # inside a line that is too long
    broken: Unreadable | None = None
    try:
        while True:
            try:
                got = file.readinto(memoryview(buffer)[have:limit])
            except Unreadable as error:  # what was read before the damage is whole, and is given out first
                broken, got = error, 0
            if not got:
                break
            filled = have + got
            if passing:
                cut = buffer.find(b"\n", 0, filled) + 1
                passing = not cut
                if passing:  # nothing to see, but the caller may want to stop
                    start, have = start + filled, 0
                    yield Window(buffer, 0, start, 0)
                    continue
                start += cut
                have = filled - cut
                buffer[:have] = buffer[filled - have : filled]
                filled, fresh = have, 0
            else:
                fresh = have
            end = buffer.rfind(b"\n", fresh, filled) + 1
            if not end:
                have = filled
                if have >= cap:
                    passing, oversized, start, have, limit = True, oversized + 1, start + have, 0, size
                elif have == limit:
                    limit = min(2 * limit, cap)
                    if limit > len(buffer):
                        buffer.extend(bytes(limit - len(buffer)))
                continue
            yield Window(buffer, end, start, oversized)
            have, start, oversized = filled - end, start + end, 0
            buffer[:have] = buffer[end:filled]
            limit = size if have < size else min(2 * have, cap, len(buffer))
        if have or oversized:
            yield Window(buffer, have, start, oversized)
        if broken:
            raise broken
    finally:
        if WINDOW <= len(buffer) <= _SPARE_CAP and len(_spare) < 2:
            _spare.append(buffer)


class Peek:
    """Raw lines around a place in a file, read on demand and without moving the place that is being read.

    Where the system or the file has no such reading, through an opening of its own, of the same file only.
    """

    def __init__(self, file: OpenFile, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._beside = file
        self._path, self._identity, self._limit = file.path, file.identity, file.size
        self._file: OpenFile | None = None
        self._broken = False
        self._block, self._block_start = b"", 0

    def close(self) -> None:
        if self._file:
            self._file.__exit__(None, None, None)
            self._file = None

    def piece(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`."""
        return self._read(offset, size)

    def after(self, offset: int, cap: int = 0) -> Iterator[bytes]:
        """Lines from `offset` (the start of a line) on; stops at a line beyond `cap`, or the reader's own."""
        cap = cap or self._cap
        while True:
            size = _PEEK
            while True:
                block = self._read(offset, size)
                end = block.find(b"\n")
                if end >= 0 or len(block) < size or size >= cap:
                    break
                size = min(4 * size, cap)
            line = block if end < 0 else block[:end]
            if not block or len(line) >= cap:
                return
            yield line
            if end < 0:
                return
            offset += end + 1

    def before(self, offset: int, cap: int = 0) -> Iterator[bytes]:
        """Lines before `offset` (the start of a line), nearest first; stops at a line beyond `cap`, or the reader's own."""
        cap = cap or self._cap
        while offset > 0:
            size = _PEEK
            while True:
                low = max(0, offset - size)
                block = self._read(low, offset - low)
                cut = block.rfind(b"\n", 0, max(len(block) - 1, 0)) + 1
                if cut or low == 0 or size > cap:
                    break
                size = min(4 * size, cap + 1)
            line = block[cut:].rstrip(b"\n")
            if not block or len(line) >= cap:
                return
            yield line
            offset = low + cut

    def _read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`, from the block at hand where it covers them."""
        low = offset - self._block_start
        if low >= 0 and low + size <= len(self._block):
            return self._block[low : low + size]
        start = max(0, offset - _PEEK)
        block = self._fetch(start, offset + size + _PEEK - start)
        self._block, self._block_start = block, start
        return block[offset - start : offset - start + size]

    def _fetch(self, start: int, size: int) -> bytes:
        raw = self._beside.beside(start, size)
        if raw is not None:
            return raw
        if self._file is None and not self._broken:
            try:
                self._file = OpenFile(self._path)
                self._broken = self._file.identity != self._identity  # replaced since: its neighbours are not ours
            except Unreadable:
                self._broken = True
        if self._broken or self._file is None:
            return b""
        if not self._file.compressed:
            size = min(size, self._limit - start)
        if size <= 0:
            return b""
        buffer = bytearray(size)
        have = 0
        try:
            self._file.seek(start)
            while have < size and (got := self._file.readinto(memoryview(buffer)[have:])):
                have += got
        except Unreadable:
            return b""
        return bytes(buffer[:have])


def sibling(root: str, relative: str, limit_bytes: int) -> str | None:
    """The text of a small file below `root`, or None: absent, too large, or anywhere else than below it.

    A segment `*` stands for any one folder, and in `*.json` for any name: the first in order that leads to a file.
    """
    parts = relative.split("/")
    if not root or any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        return None
    for path in _named(root, parts):
        if inside(path, root):
            try:
                with OpenFile(path) as file:
                    return file.whole(limit_bytes).decode("utf-8", "replace")
            except Unreadable:
                continue
    return None


def _named(folder: str, parts: list[str]) -> Iterator[str]:
    """The paths that these segments may mean, in order, at most `_SIBLINGS` for each that is not spelled out."""
    first, rest = parts[0], parts[1:]
    names = [first]
    if first.startswith("*"):
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in islice(entries, _SIBLINGS) if entry.name.endswith(first[1:]))
        except (OSError, ValueError):
            names = []
    for name in names:
        path = os.path.join(folder, name)
        if not rest:
            yield path
        else:
            yield from _named(path, rest)


def inside(path: str, root: str) -> bool:
    """Does `path`, with every link followed, lie in `root`?"""
    try:
        real, real_root = os.path.realpath(path), os.path.realpath(root)
    except (OSError, ValueError):
        return False
    return real == real_root or real.startswith(real_root.rstrip(os.sep) + os.sep)
