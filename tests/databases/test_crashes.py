"""Databases as killed writers leave them: what was committed is read, what was not is not, and nothing is touched."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from deepgrep.databases import open_database
from deepgrep.files import Unreadable
from ledger import Guard
from scribes import committed, crashed, make, untouched


@pytest.fixture
def folder(tmp_path: Path, programs: Guard) -> Path:
    made = tmp_path / "agent"
    made.mkdir()
    return made


def entries(path: Path) -> list[tuple[object, ...]]:
    with untouched(path.parent), open_database(str(path)) as database:
        return [row for batch in database.rows("entry", ("body",)) for row in batch]


@pytest.mark.parametrize("index", ["kept", "gone", "zero", "other"])
def test_a_crashed_writers_committed_rows_are_read(folder: Path, index: str) -> None:
    path = folder / "a.db"
    crashed(path)
    shm = path.with_name("a.db-shm")
    if index == "gone":
        shm.unlink()
    elif index == "zero":
        shm.write_bytes(bytes(len(shm.read_bytes())))
    elif index == "other":  # another log's: whole, but its salts and counts are not ours
        crashed(folder / "b.db", rows=3)
        shm.write_bytes((folder / "b.db-shm").read_bytes())
    assert entries(path) == committed(20)


def test_commits_beyond_a_stale_index_are_read(folder: Path) -> None:
    path = folder / "a.db"
    lengths = crashed(path, rows=6, spill=False)
    shm = path.with_name("a.db-shm")
    stale = bytearray(shm.read_bytes())
    log = path.with_name("a.db-wal").read_bytes()
    frames = (lengths[3] - 32) // 4120
    head = log[lengths[3] - 4120 : lengths[3] - 4120 + 24]
    struct.pack_into("=I", stale, 16, frames)
    stale[20:24] = struct.pack("=I", struct.unpack(">I", head[4:8])[0])
    stale[24:32] = struct.pack("=II", *struct.unpack(">II", head[16:24]))
    stale[40:48] = struct.pack("=II", *sums(bytes(stale[:40]), "=", (0, 0)))
    stale[48:96] = stale[:48]
    shm.write_bytes(stale)
    assert entries(path) == committed(6)


@pytest.mark.parametrize("main", ["one page", "empty"])
def test_databases_that_exist_only_in_the_log_are_read(folder: Path, main: str) -> None:
    path = folder / "a.db"
    crashed(path, spill=False)
    assert path.stat().st_size == 4096
    if main == "empty":
        path.write_bytes(b"")
        path.with_name("a.db-shm").unlink()
        with open_database(str(path)) as database:
            assert [row for batch in database.rows("entry", ("body",)) for row in batch] == committed(20)
    else:
        assert entries(path) == committed(20)


@pytest.mark.parametrize("index", [True, False])
def test_a_log_ends_where_it_was_cut(folder: Path, index: bool) -> None:
    path = folder / "a.db"
    lengths = crashed(path, rows=8)
    log = path.with_name("a.db-wal")
    whole = log.read_bytes()
    if not index:
        path.with_name("a.db-shm").unlink()
    for length in (*lengths[2:], lengths[5] - 1, lengths[5] + 4000, lengths[4] + 23):
        log.write_bytes(whole[:length])
        assert entries(path) == committed(sum(1 for one in lengths if one <= length)), length


@pytest.mark.parametrize("where", ["salt", "checksum", "content"])
def test_a_log_ends_at_a_frame_that_does_not_fit(folder: Path, where: str) -> None:
    path = folder / "a.db"
    lengths = crashed(path, rows=8)
    if where == "content":
        path.with_name("a.db-shm").unlink()  # with it, its writer vouches for the frames
    log = path.with_name("a.db-wal")
    raw = bytearray(log.read_bytes())
    raw[lengths[4] - 4120 + {"salt": 10, "checksum": 20, "content": 3000}[where]] ^= 0x55
    log.write_bytes(raw)
    if where == "checksum":
        path.with_name("a.db-shm").unlink()
    assert entries(path) == committed(4)


HEAD = b"\x37\x7f\x06\x82"


@pytest.mark.parametrize("raw", [b"", b"7", HEAD + bytes(28), bytes(5000), HEAD + b"\0\x2d\xe2\x18" + b"\xff" * 5000])
def test_a_log_that_is_none_is_no_part_of_the_database(folder: Path, raw: bytes) -> None:
    path = make(folder / "a.db", "CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT)", "INSERT INTO entry VALUES (1, 'one')")
    path.with_name("a.db-wal").write_bytes(raw)
    assert entries(path) == [(1, b"one")]


def test_frames_of_an_older_generation_are_not_read(folder: Path) -> None:
    path = folder / "a.db"
    crashed(path, rows=5, spill=False)
    log = path.with_name("a.db-wal")
    old = log.read_bytes()
    path.with_name("a.db-shm").unlink()
    fresh = bytearray(old[:32])
    fresh[16:24] = b"newsalts"
    fresh[24:32] = struct.pack(">II", *sums(bytes(fresh[:24]), "<", (0, 0)))
    log.write_bytes(bytes(fresh) + old[32:])
    with untouched(folder), open_database(str(path)) as database:
        assert not database.is_overlaid


def sums(raw: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    """The checksum of the log's format, as its description gives it."""
    one, two = start
    for a, b in struct.iter_unpack(f"{order}II", raw):
        one = (one + a + two) % 2**32
        two = (two + b + one) % 2**32
    return one, two


@pytest.mark.parametrize("index", [True, False])
def test_checksums_over_big_endian_words_are_followed(folder: Path, index: bool) -> None:
    path = folder / "a.db"
    crashed(path, rows=4, spill=False)
    log = path.with_name("a.db-wal")
    raw = bytearray(log.read_bytes())
    raw[3] = 0x83
    total = sums(bytes(raw[:24]), ">", (0, 0))
    raw[24:32] = struct.pack(">II", *total)
    for at in range(32, len(raw), 4120):
        total = sums(bytes(raw[at + 24 : at + 4120]), ">", sums(bytes(raw[at : at + 8]), ">", total))
        raw[at + 16 : at + 24] = struct.pack(">II", *total)
    log.write_bytes(raw)
    if not index:
        path.with_name("a.db-shm").unlink()
    assert entries(path) == committed(4)


@pytest.mark.parametrize("page_size", [512, 1024, 4096, 8192, 32768, 65536])
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_every_page_size(folder: Path, page_size: int, mode: str) -> None:
    path = folder / "a.db"
    crashed(path, mode, page_size=page_size)
    assert path.with_name("a.db-wal" if mode == "wal" else "a.db-journal").exists()
    assert entries(path) == committed(20)
    path.with_name("a.db-shm").unlink(missing_ok=True)
    assert entries(path) == committed(20)


@pytest.mark.parametrize("mode", ["delete", "truncate", "persist"])
def test_a_hot_journal_gives_the_original_pages(folder: Path, mode: str) -> None:
    path = folder / "a.db"
    crashed(path, mode, rows=400)
    assert b"never committed" in path.read_bytes()
    with untouched(folder), open_database(str(path)) as database:
        assert database.is_overlaid
    assert entries(path) == committed(400)


def test_a_cold_journal_is_left_alone(folder: Path) -> None:
    path = make(folder / "a.db", "CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT)", pragmas=("journal_mode=persist",))
    journal = path.with_name("a.db-journal")
    assert journal.read_bytes()[:8] == bytes(8)
    assert entries(path) == []


def super_record(name: bytes) -> bytes:
    """How a journal ends that is one of several."""
    total = sum(byte - 256 if byte > 127 else byte for byte in name) % 2**32
    magic = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    return struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), total) + magic


def test_a_super_journal_decides(folder: Path) -> None:
    path = folder / "a.db"
    crashed(path, "delete", rows=400)
    with path.with_name("a.db-journal").open("ab") as journal:
        journal.write(super_record(bytes(folder / "a.db-mj0123ABCD9")))
    (folder / "a.db-mj0123ABCD9").write_bytes(bytes(folder / "a.db-journal") + b"\0")
    assert entries(path) == committed(400)
    (folder / "a.db-mj0123ABCD9").unlink()  # that is how several databases commit together
    with open_database(str(path)) as database:
        assert not database.is_overlaid


def test_a_super_journal_elsewhere_cannot_be_asked(folder: Path) -> None:
    path = folder / "a.db"
    crashed(path, "delete", rows=400)
    with path.with_name("a.db-journal").open("ab") as journal:
        journal.write(super_record(b"/nowhere/b.db-mj0123ABCD9"))
    with untouched(folder), pytest.raises(Unreadable, match="busy"):
        open_database(str(path))


def test_a_journal_counts_up_to_the_first_damaged_record(folder: Path) -> None:
    path = folder / "a.db"
    crashed(path, "delete", rows=400)
    journal = path.with_name("a.db-journal")
    raw = journal.read_bytes()
    for at in (512 + 4 + 4096 - 200, 512 + 4096 + 8 + 4 + 96):  # checksummed bytes of the first and the second record
        torn = bytearray(raw)
        torn[at] ^= 1
        journal.write_bytes(torn)
        copy = folder.with_name(f"sqlite-{at}")  # what SQLite itself makes of it
        copy.mkdir()
        for name in ("a.db", "a.db-journal"):
            (copy / name).write_bytes((folder / name).read_bytes())
        with untouched(folder):
            assert ours(path) == theirs(copy / "a.db")


def ours(path: Path) -> object:
    try:
        with open_database(str(path)) as database:
            return [row for batch in database.rows("entry", ("body",)) for row in batch]
    except Unreadable as error:
        return error.code


def theirs(path: Path) -> object:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as store:
        try:
            return store.execute("SELECT id, CAST(body AS BLOB) FROM entry ORDER BY id").fetchall()
        except sqlite3.DatabaseError:
            return "damaged_database"
