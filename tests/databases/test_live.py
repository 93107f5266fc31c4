"""Databases that are written without pause while they are read: one committed state at a time, the newest, or `busy`."""

from __future__ import annotations

import os
import struct
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from deepgrep.databases import Database, open_database
from deepgrep.files import Unreadable
from homes import snapshot
from ledger import Guard
from scribes import COUNTER, integral, make, writing

SECONDS = float(os.environ.get("DEEPGREP_LIVE_SECONDS", "4"))  # for each way of writing
READS = int(os.environ.get("DEEPGREP_LIVE_READS", "1500"))


class Seen(NamedTuple):
    total: int
    counter: int
    batches: int  # each is of one state; several need not be of the same


def numbers(told: Path) -> tuple[int, int]:
    """How far the writer has committed, and how far it may have."""
    return struct.unpack("=qq", told.read_bytes()[:16])


def state(database: Database) -> Seen:
    batches = list(database.rows("state", ("amount", "note")))
    rows = {row[0]: row[1] for batch in batches for row in batch}
    assert len(rows) == 151
    amounts = [amount for number, amount in rows.items() if number != COUNTER]
    return Seen(sum(amounts), rows[COUNTER], len(batches))  # type: ignore[arg-type]


def attempt(path: Path) -> tuple[Seen, int] | None:
    """A reading and how often it began anew; None where the writer left no time for one."""
    try:
        with open_database(str(path)) as database:
            return state(database), database.reopened
    except Unreadable as error:
        if error.code == "busy":
            return None
        raise


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate", "persist"])
def test_readers_of_a_database_that_is_written_without_pause(mode: str, tmp_path: Path, programs: Guard) -> None:
    path = tmp_path / "a db.db"
    good = busy = reopened = split = 0
    with writing(path, mode) as told:
        names = set(os.listdir(tmp_path))
        until = time.monotonic() + SECONDS
        last = 0
        while good + busy < READS and time.monotonic() < until:
            least = numbers(told)[0]
            found = attempt(path)
            if not found:
                busy += 1
                continue
            seen, again = found
            reopened += again
            split += seen.batches > 1
            good += 1
            assert seen.total == 0 or seen.batches > 1, "a transaction seen in part"
            assert seen.counter >= least, "a committed transaction not seen"
            assert seen.counter <= numbers(told)[1], "one that was not committed"
            assert seen.counter >= last
            last = seen.counter
        assert set(os.listdir(tmp_path)) <= names | {"a db.db-journal", "a db.db-wal", "a db.db-shm"}
    print(f"\n{mode}: {good} reads, {busy} busy, {split} split, {reopened} reopened, {last} commits")
    assert last > 0, "nothing was written"
    assert good, "never a whole reading"  # how many are busy depends on the machine
    assert split < good / 4
    assert integral(path)


def test_one_reader_that_stays_open_sees_each_state_whole(tmp_path: Path, programs: Guard) -> None:
    path = tmp_path / "a.db"
    with writing(path, "wal") as told, open_database(str(path)) as database:
        until = time.monotonic() + SECONDS
        counters, codes = [], set()
        while time.monotonic() < until and len(counters) < READS:
            try:
                seen = state(database)
            except Unreadable as error:
                codes.add(error.code)
                continue
            assert seen.total == 0 or seen.batches > 1
            assert seen.counter <= numbers(told)[1]
            counters.append(seen.counter)
    assert codes <= {"busy"}
    assert counters == sorted(counters)
    assert counters[-1] > counters[0]


GENERATION = "CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT)"


def generation(path: Path, name: str, rows: int = 6000) -> Path:
    return make(path, GENERATION, insert="INSERT INTO entry VALUES (?, ?)", rows=[(n, f"{name} " + "w" * 400) for n in range(1, rows + 1)])


def test_a_database_that_is_replaced_while_it_is_read(tmp_path: Path) -> None:
    path = generation(tmp_path / "a.db", "old")
    other = generation(tmp_path / "b.db", "new")
    with open_database(str(path)) as database:
        batches = database.rows("entry", ("body",))
        kinds, ids = [], []
        for number, batch in enumerate(batches):
            kinds.append({bytes(row[1])[:3] for row in batch})  # type: ignore[arg-type]
            ids += [row[0] for row in batch]
            if number == 1:
                other.replace(path)
        assert database.reopened == 1
    assert kinds == [{b"old"}] * 2 + [{b"new"}] * (len(kinds) - 2)
    assert len(kinds) > 3
    assert ids == list(range(1, 6001))


def test_a_database_that_is_removed_while_it_is_read(tmp_path: Path) -> None:
    path = generation(tmp_path / "a.db", "old")
    with open_database(str(path)) as database:
        batches = database.rows("entry", ("body",))
        assert next(batches)
        path.unlink()
        with pytest.raises(Unreadable, match=r"vanished|busy"):
            list(batches)


def test_a_database_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    path = generation(tmp_path / "a.db", "old")
    with open_database(str(path)) as database:
        batches = database.rows("entry", ("body",))
        seen = list(next(batches))
        os.truncate(path, 40 * 4096)
        with pytest.raises(Unreadable, match="damaged_database"):
            seen.extend(row for batch in batches for row in batch)
    assert seen == [(n, b"old " + b"w" * 400) for n in range(1, len(seen) + 1)]


def test_a_key_fetched_while_rows_are_walked_may_reopen_the_database(tmp_path: Path) -> None:
    import sqlite3

    path = generation(tmp_path / "a.db", "old")
    with open_database(str(path)) as database, closing(sqlite3.connect(path)) as store:
        ids = []
        for batch in database.rows("entry", ("body",)):
            ids += [row[0] for row in batch]
            store.execute("UPDATE entry SET body = 'changed' WHERE id = 6000")
            store.commit()
            assert database.by_key("entry", ("body",), "id = ?", (6000,)) == [(b"changed",)]
    assert ids == list(range(1, 6001))


def test_reading_is_no_hindrance_to_a_checkpoint(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("PRAGMA journal_mode=wal")
        store.execute(GENERATION)
        store.execute("INSERT INTO entry VALUES (1, 'one')")
        before = snapshot(tmp_path)
        with open_database(str(path)) as database:
            batches = database.rows("entry", ("body",))
            assert next(batches) == [(1, b"one")]
            assert snapshot(tmp_path) == before
            assert store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
