"""What a write-ahead log or a rollback journal says about a SQLite database: which of its pages stand elsewhere, and where.

Pure: bytes in, maps out. Opens nothing and never raises for what the bytes are; formats of sqlite.org/fileformat2.html and walformat.html.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping

from .typed import NamedTuple

ReadAt = Callable[[int, int], bytes]  # (size, offset) -> bytes, fewer where the file ends

LOG_HEAD = 32  # bytes before the first frame of a write-ahead log
FRAME_HEAD = 24  # bytes before the page in each frame
INDEX_HEAD = 120  # bytes of a log's index before those that its writers lock
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # the second: checksums over big-endian words
_LOG_VERSION = 3007000
_JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_JOURNAL_HEAD = 28
_TO_THE_END = 0xFFFFFFFF  # a journal written without syncing counts no records
_WORD = 0xFFFFFFFF
_SUPER_NAME_CAP = 4096
PENDING_BYTE = 0x40000000  # the page with it is never used for content

Sums = tuple[int, int]


class Overlay(NamedTuple):
    """Pages to be read from the log or journal instead of the database. `pages`: number -> offset of its content."""

    page_size: int
    pages: Mapping[int, int]
    size: int  # bytes of the database that this shows
    salts: bytes = b""  # that the head of each frame must carry; empty for a journal


class Index(NamedTuple):
    """The head of a log's `-shm` file: how far its writer has committed."""

    salts: bytes
    last_frame: int
    page_count: int
    sums: Sums  # of the last frame
    page_size: int


def page_size(raw: int) -> int | None:
    """A page size as a database's or an index's header stores it, or None: 65536 does not fit and is stored as 1."""
    size = 65536 if raw == 1 else raw
    return size if 512 <= size <= 65536 and not size & (size - 1) else None


def checksum(content: bytes, sums: Sums, order: str) -> Sums:
    """The running checksum of a log over whole words. 80 MB/s, so it is asked only where no index tells the end."""
    words = array("I", content)
    if order != sys.byteorder:
        words.byteswap()
    one, two = sums
    for word in words:
        one, two = two, (one + two + word) & _WORD
    return one, two


def index(raw: bytes) -> Index | None:
    """What an index says, or None where it is torn, from another kind of machine, or no index."""
    if len(raw) < 96 or raw[:48] != raw[48:96] or raw[12] != 1:
        return None
    words = array("I", raw[:48])
    if words[0] != _LOG_VERSION or checksum(raw[:40], (0, 0), sys.byteorder) != (words[10], words[11]):
        return None
    size = page_size(int.from_bytes(raw[14:16], sys.byteorder))
    return Index(raw[32:40], words[4], words[5], (words[6], words[7]), size) if size else None


def log_overlay(read: ReadAt, length: int, found: Index | None) -> Overlay | None:
    """The newest frame of each page of a log's committed transactions; None where it holds none.

    The index, where it fits the log, tells where they end. Beyond its end (a writer may have died before it could move it)
    and without one, salts and checksums tell.
    """
    head = read(LOG_HEAD, 0)
    size = int.from_bytes(head[8:12], "big")
    if len(head) < LOG_HEAD or head[:4] not in _LOG_MAGIC or size == 1 or page_size(size) is None:
        return None
    order = "big" if head[3] & 1 else "little"
    sums = checksum(head[:24], (0, 0), order)
    if sums != _sums(head[24:32]) or int.from_bytes(head[4:8], "big") != _LOG_VERSION:
        return None
    log = _Log(read, size, head[16:24], order, (length - LOG_HEAD) // (FRAME_HEAD + size))
    pages, count = {}, 0
    frame = 0
    if found and found.last_frame and found.salts == log.salts and found.page_size == size:
        indexed = log.indexed(found)
        if indexed is not None:
            pages, frame, sums, count = indexed, found.last_frame, found.sums, found.page_count
    last = log.last_commit(frame)
    pending: dict[int, int] = {}
    while frame < last:
        raw = read(FRAME_HEAD + size, log.offset(frame))
        if len(raw) < FRAME_HEAD + size:
            break
        sums = checksum(raw[FRAME_HEAD:], checksum(raw[:8], sums, order), order)
        if sums != _sums(raw[16:24]):
            break
        pending[int.from_bytes(raw[:4], "big")] = log.offset(frame) + FRAME_HEAD
        if committed := int.from_bytes(raw[4:8], "big"):
            pages.update(pending)
            pending.clear()
            count = committed
        frame += 1
    return Overlay(size, pages, count * size, log.salts) if pages else None


class _Log(NamedTuple):
    """Where the frames of a log are. Frames are numbered from 0."""

    read: ReadAt
    page_size: int
    salts: bytes
    order: str
    frames: int  # as many as the file has room for

    def offset(self, frame: int) -> int:
        return LOG_HEAD + frame * (FRAME_HEAD + self.page_size)

    def indexed(self, found: Index) -> dict[int, int] | None:
        """The pages of the frames that an index counts; None where it is not of this log."""
        if found.last_frame > self.frames:
            return None
        pages: dict[int, int] = {}
        head = b""
        for frame in range(found.last_frame):
            head = self.read(FRAME_HEAD, self.offset(frame))
            if head[8:16] != self.salts:
                return None
            pages[int.from_bytes(head[:4], "big")] = self.offset(frame) + FRAME_HEAD
        is_end = _sums(head[16:24]) == found.sums and int.from_bytes(head[4:8], "big") == found.page_count > 0
        return pages if is_end else None

    def last_commit(self, frame: int) -> int:
        """The number of frames up to the last one from `frame` on that ends a transaction, as far as salts tell."""
        last = frame
        while frame < self.frames:
            head = self.read(FRAME_HEAD, self.offset(frame))
            if head[8:16] != self.salts or head[:4] == b"\0\0\0\0":
                break
            frame += 1
            if head[4:8] != b"\0\0\0\0":
                last = frame
        return last


def _sums(raw: bytes) -> Sums:
    return int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:8], "big")


def journal_overlay(read: ReadAt, length: int, database_page_size: int | None) -> Overlay | None:
    """The original pages that a hot journal holds; None where it is cold: finished, or nothing of it was synced yet."""
    head = read(_JOURNAL_HEAD, 0)
    if len(head) < _JOURNAL_HEAD or head[:8] != _JOURNAL_MAGIC:
        return None
    sector, stored = int.from_bytes(head[20:24], "big"), int.from_bytes(head[24:28], "big")
    size = page_size(stored) if stored else database_page_size
    if not 32 <= sector <= 65536 or sector & (sector - 1) or stored == 1 or size is None or length < sector:
        return None
    page_count = int.from_bytes(head[16:20], "big")
    pages: dict[int, int] = {}
    at = 0
    while at + sector <= length:
        head = read(_JOURNAL_HEAD, at)
        if head[:8] != _JOURNAL_MAGIC:
            break
        records, nonce, at = int.from_bytes(head[8:12], "big"), int.from_bytes(head[12:16], "big"), at + sector
        if records == _TO_THE_END:
            records = (length - at) // (size + 8)
        whole, at = _originals(read, _Segment(at, records, nonce, size, page_count), pages)
        if not whole:
            break
        at += -at % sector
    return Overlay(size, pages, page_count * size)


class _Segment(NamedTuple):
    start: int
    records: int
    nonce: int
    page_size: int
    page_count: int


def _originals(read: ReadAt, segment: _Segment, pages: dict[int, int]) -> tuple[bool, int]:
    """Note where a segment keeps each page first; whether it was whole, and where it ends."""
    at, size = segment.start, segment.page_size
    for _ in range(segment.records):
        raw = read(size + 8, at)
        number = int.from_bytes(raw[:4], "big")
        if len(raw) < size + 8 or number in (0, PENDING_BYTE // size + 1):
            return False, at
        if number <= segment.page_count and number not in pages:
            content = raw[4 : 4 + size]
            if (segment.nonce + sum(content[size - 200 : 0 : -200])) & _WORD != int.from_bytes(raw[-4:], "big"):
                return False, at
            pages[number] = at + 4
        at += size + 8
    return True, at


def super_journal(read: ReadAt, length: int) -> bytes | None:
    """The name of the journal that decides over several databases' journals, where this one ends with it."""
    tail = read(16, length - 16) if length >= 16 else b""
    size = int.from_bytes(tail[:4], "big")
    if tail[8:] != _JOURNAL_MAGIC or not 0 < size <= min(_SUPER_NAME_CAP, length - 16):
        return None
    name = read(size, length - 16 - size)
    signed = sum(byte - 256 if byte > 127 else byte for byte in name)  # summed as C's char, signed where SQLite mostly runs
    return name if int.from_bytes(tail[4:8], "big") in (signed & _WORD, sum(name) & _WORD) else None
