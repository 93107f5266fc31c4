"""What may stand in a database: every kind of value, table and damage, and nothing of a hostile one that runs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deepgrep.databases import VALUE_CAP, Database, open_database
from deepgrep.files import Unreadable, Unsupported
from ledger import Guard
from scribes import committed, crashed, make, untouched


def rows(path: Path, table: str, columns: tuple[str, ...], **more: int) -> list[tuple[object, ...]]:
    with untouched(path.parent), open_database(str(path)) as database:
        return [row for batch in database.rows(table, columns, **more) for row in batch]


@pytest.mark.parametrize("name", ["a b.db", "what?mode=rw.db", "#1.db", "100%25.db", "naïve 日本.db", "file:x.db", "'\";.db"])
def test_any_name(name: str, tmp_path: Path, programs: Guard) -> None:
    folder = tmp_path / f"of {name[:3]}"
    folder.mkdir()
    crashed(folder / name, rows=3)
    assert rows(folder / name, "entry", ("body",)) == committed(3)
    make(folder / f"plain {name}", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    assert rows(folder / f"plain {name}", "t", ("a",)) == [(1, 1)]


def test_read_only_folders_and_files(tmp_path: Path, programs: Guard) -> None:
    crashed(tmp_path / "a.db", rows=3)
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with open_database(str(tmp_path / "a.db")) as database:
            assert [row for batch in database.rows("entry", ("body",)) for row in batch] == committed(3)
        assert sorted(os.listdir(tmp_path)) == ["a.db", "a.db-shm", "a.db-wal"]
    finally:
        tmp_path.chmod(0o755)


VALUES = (None, 0, -(2**63), 2**63 - 1, 1.5, "", "naïve", "zero\0in it", b"", b"\xff\x00", "12", "1e3")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
@pytest.mark.parametrize("kind", ["", "TEXT", "INTEGER", "REAL", "BLOB", "NUMERIC", "VARCHAR(9)", "CHARINT", "JSON"])
def test_every_kind_of_value(kind: str, encoding: str, tmp_path: Path) -> None:
    path = make(
        tmp_path / "a.db", f"CREATE TABLE t (v {kind})", pragmas=(f"encoding='{encoding}'",),
        insert="INSERT INTO t VALUES (?)", rows=[(value,) for value in VALUES],
    )  # fmt: skip
    with closing(sqlite3.connect(path)) as store:
        stored = [row[0] for row in store.execute("SELECT v FROM t ORDER BY rowid")]
    expected = [value.encode() if isinstance(value, str) else value for value in stored]
    assert [row[1] for row in rows(path, "t", ("v",))] == expected
    assert [type(row[1]) for row in rows(path, "t", ("v",))] == [type(value) for value in expected]


def test_bytes_that_are_no_utf_8_come_as_they_are(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", "CREATE TABLE t (v TEXT, w)", "INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT), CAST(x'c3' AS TEXT))")
    assert rows(path, "t", ("v", "w")) == [(1, b"a\xffb", b"\xc3")]
    with open_database(str(path)) as database:
        assert database.by_key("t", ("v",), "rowid = ?", (1,)) == [(b"a\xffb",)]


def test_row_ids_of_every_size_and_hidden_ones(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", "CREATE TABLE t (rowid TEXT, oid TEXT)")
    ids = (-(2**63), -5, 0, 7, 2**63 - 1)
    with closing(sqlite3.connect(path)) as store, store:
        store.executemany("INSERT INTO t (_rowid_, rowid) VALUES (?, 'x')", [(number,) for number in ids])
    assert rows(path, "t", ("rowid",)) == [(number, b"x") for number in ids]
    assert rows(path, "t", ("rowid",), after=-5) == [(number, b"x") for number in ids[2:]]
    make(tmp_path / "b.db", "CREATE TABLE t (rowid, oid, _rowid_)", "INSERT INTO t VALUES (1, 2, 3)")
    with pytest.raises(Unsupported, match="unsupported_format"):
        rows(tmp_path / "b.db", "t", ("oid",))


def test_generated_columns_and_defaults(tmp_path: Path) -> None:
    path = make(
        tmp_path / "a.db",
        "CREATE TABLE t (a TEXT, b TEXT AS (a || '!') STORED, c TEXT AS (upper(a)), d TEXT DEFAULT (datetime('now')))",
        "INSERT INTO t (a, d) VALUES ('x', NULL)",
        "ALTER TABLE t ADD COLUMN e TEXT DEFAULT 'later'",
    )
    assert rows(path, "t", ("a", "b", "c", "d", "e")) == [(1, b"x", b"x!", b"X", None, b"later")]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TABLE u (k TEXT PRIMARY KEY, v) WITHOUT ROWID", "u"),
        ("CREATE VIEW u AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT k, k AS v FROM n", "u"),
        ("CREATE VIRTUAL TABLE u USING fts5(k, v)", "u"),
        ("CREATE TABLE other (k, v)", "u"),
        ("CREATE TABLE u (k)", "u"),
    ],
)
def test_what_is_no_table_of_rows_is_refused(statement: str, name: str, tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", statement)
    with pytest.raises(Unsupported, match="unsupported_format"):
        rows(path, name, ("k", "v"))


def test_nothing_of_a_database_runs(tmp_path: Path) -> None:
    path = make(
        tmp_path / "a.db",
        "CREATE TABLE plain (k TEXT UNIQUE, v)",
        "INSERT INTO plain VALUES ('k', 'v')",
        "CREATE VIEW seen AS SELECT k, v FROM plain",
    )
    with open_database(str(path)) as database:
        assert database.tables() == {"plain"}
        assert database.columns("seen") == ()
        for where in ("k IN (SELECT k FROM seen)", "k IN (WITH RECURSIVE n(i) AS (SELECT 'k' UNION SELECT i FROM n) SELECT i FROM n)"):
            with pytest.raises(Unsupported):
                database.by_key("plain", ("v",), where)
        with pytest.raises(Unreadable):
            database.by_key("plain", ("v",), "k = load_extension('x')")
        with pytest.raises(Unsupported):
            database.by_key("seen", ("v",), "k = 'k'")
        assert database.by_key("plain", ("v",), "k = ?", ("k",)) == [(b"v",)]


def test_names_that_are_sql_are_only_names(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", 'CREATE TABLE "a"";DROP TABLE x" ("b""" TEXT)', """INSERT INTO "a"";DROP TABLE x" VALUES ('v')""")
    assert rows(path, 'a";DROP TABLE x', ('b"',)) == [(1, b"v")]


@pytest.mark.parametrize(
    ("raw", "code"),
    [(b"no database at all" * 100, "not_a_database"), (b"SQLite format 3\0" + b"\x55" * 5000, "not_a_database"), (b"x", "not_a_database")],
)
def test_what_is_no_database(raw: bytes, code: str, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(raw)
    with untouched(tmp_path), pytest.raises(Unreadable) as caught:
        open_database(str(tmp_path / "a.db"))
    assert caught.value.code == code
    assert not isinstance(caught.value, Unsupported)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "gone")
    made = make(tmp_path / "a.db", "CREATE TABLE t (a)")
    (tmp_path / "a.db-wal").symlink_to(tmp_path / "elsewhere")
    for name, code in (("gone.db", "vanished"), ("pipe.db", "not_a_file"), ("link.db", "vanished"), (made.name, "not_a_file")):
        with pytest.raises(Unreadable) as caught:
            open_database(str(tmp_path / name))
        assert caught.value.code == code, name


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"")
    with untouched(tmp_path), open_database(str(tmp_path / "a.db")) as database:
        assert database.tables() == frozenset()


def keyed(path: Path) -> Path:
    """A table with one key of interest, then many rows, then the damage of each page that only they use."""
    make(
        path, "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
        insert="INSERT INTO ItemTable VALUES (?, ?)", rows=[("prompts", "mine"), *((f"k{n:05}", "x" * 900) for n in range(1, 3000))],
    )  # fmt: skip
    return path


def test_rows_before_a_damaged_page_are_kept(tmp_path: Path) -> None:
    path = keyed(tmp_path / "a.db")
    raw = bytearray(path.read_bytes())
    at = raw.index(b"k01500x")
    raw[at // 4096 * 4096 : at // 4096 * 4096 + 100] = b"\xee" * 100
    path.write_bytes(raw)
    with untouched(tmp_path), open_database(str(path)) as database:
        seen = []
        with pytest.raises(Unreadable) as caught:
            seen.extend(row for batch in database.rows("ItemTable", ("key",)) for row in batch)
    assert caught.value.code == "damaged_database"
    assert 1490 < len(seen) <= 1501
    assert seen[:2] == [(1, b"prompts"), (2, b"k00001")]
    assert [row[0] for row in seen] == list(range(1, len(seen) + 1))


def test_a_key_is_read_alone(tmp_path: Path) -> None:
    path = keyed(tmp_path / "a.db")
    raw = bytearray(path.read_bytes())
    first = raw.index(b"promptsmine") // 4096
    for page in range(3, len(raw) // 4096):
        if raw[page * 4096] == 13 and page != first:  # a leaf of the table that holds other rows
            raw[page * 4096 : (page + 1) * 4096] = b"\xee" * 4096
    path.write_bytes(raw)
    with untouched(tmp_path), open_database(str(path)) as database:
        question = ("ItemTable", ("value",), "key = ?", ("prompts",))
        assert database.by_key(*question) == [(b"mine",)]
        assert database.query_plan(*question) == ("SEARCH ItemTable USING INDEX sqlite_autoindex_ItemTable_1 (key=?)",)
        assert database.rows_read == 1
        assert database.bytes_read < 60_000
        with pytest.raises(Unreadable):
            list(database.rows("ItemTable", ("key",)))


def test_pages_that_lead_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    path = keyed(tmp_path / "a.db")
    raw = bytearray(path.read_bytes())
    inner = [page * 4096 for page in range(1, len(raw) // 4096) if raw[page * 4096] == 5]  # pages of the table that lead to others
    root = max(inner, key=lambda page: raw[page + 3 : page + 5])
    cells = int.from_bytes(raw[root + 3 : root + 5], "big")
    places = [int.from_bytes(raw[root + 12 + 2 * n : root + 14 + 2 * n], "big") for n in range(cells)]
    for place in places[1:]:
        raw[root + place : root + place + 4] = raw[root + places[0] : root + places[0] + 4]
    path.write_bytes(raw)
    with open_database(str(path)) as database, pytest.raises(Unreadable, match="damaged_database"):
        list(database.rows("ItemTable", ("key",)))


def test_what_is_cancelled_ends(tmp_path: Path) -> None:
    path = keyed(tmp_path / "a.db")
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    with open_database(str(path), cancelled) as database, pytest.raises(Unreadable, match="cancelled"):
        list(database.rows("ItemTable", ("value",)))


def test_without_apsw_a_database_is_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = keyed(tmp_path / "a.db")
    monkeypatch.setitem(sys.modules, "apsw", None)
    with pytest.raises(Unsupported, match="apsw_not_installed"):
        open_database(str(path))


def test_values_beyond_the_cap_are_counted(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", "CREATE TABLE t (a TEXT, b)")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("INSERT INTO t VALUES ('small', zeroblob(?))", (VALUE_CAP + 1,))
        store.execute("INSERT INTO t VALUES (CAST(zeroblob(3000000) AS TEXT), 'next')")
        store.execute("INSERT INTO t VALUES ('last', 3)")
    with open_database(str(path)) as database:
        found = [row for batch in database.rows("t", ("a", "b")) for row in list(batch)]
        assert found == [(1, b"small", None), (2, bytes(3_000_000), b"next"), (3, b"last", 3)]
        assert database.oversized == 1
        assert database.by_key("t", ("b",), "rowid = ?", (1,)) == []
        assert database.oversized == 2


MEMORY = """
import re, sys
from deepgrep.databases import open_database
with open_database(sys.argv[1]) as database:
    total = 0
    for batch in database.rows("t", ("body", "note")):
        total += sum(len(row[1]) for row in batch if row[1] is not None)
        del batch
with open("/proc/self/status") as status:  # the time before it was this program does not count, as it does in ru_maxrss
    peak = int(re.search(r"VmHWM:\\s*(\\d+)", status.read())[1]) // 1024
print(total, database.oversized, peak)
"""


def read_apart(path: Path, outside: dict[str, str]) -> tuple[int, int, int]:
    """Bytes, oversized values, and megabytes that a program of its own needed to read them."""
    ran = subprocess.run([sys.executable, "-c", MEMORY, str(path)], env=outside, capture_output=True, text=True, check=True)
    total, oversized, peak = map(int, ran.stdout.split())
    return total, oversized, peak


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says how much memory one program needed")
@pytest.mark.parametrize("overlaid", [False, True])
def test_a_big_database_is_read_within_80_megabytes(overlaid: bool, tmp_path: Path, outside: dict[str, str]) -> None:
    megabytes = int(os.environ.get("DEEPGREP_BIG_MB", "120"))
    pragmas = ("synchronous=off", "journal_mode=off", "page_size=8192")
    path = make(tmp_path / "a.db", "CREATE TABLE t (body TEXT, note TEXT)", pragmas=pragmas)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        store.execute(f"{many} INSERT INTO t SELECT printf('%.4000c', 'x'), i FROM n", (megabytes * 250,))
        expected = megabytes * 250 * 4000
        if overlaid:
            store.execute("PRAGMA journal_mode=wal")
            store.execute("INSERT INTO t VALUES (zeroblob(200000000), 'too long')")
            store.execute("INSERT INTO t VALUES (zeroblob(20000000), 'long')")
            expected += 20_000_000
            assert path.with_name("a.db-wal").stat().st_size > 200_000_000 or path.stat().st_size > 200_000_000
        total, oversized, peak = read_apart(path, outside)
    assert (total, oversized) == (expected, int(overlaid))
    assert peak < 80


def test_many_connections_leave_no_descriptor_open(tmp_path: Path) -> None:
    path = keyed(tmp_path / "a.db")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for _ in range(50):
        with open_database(str(path)) as database:
            next(database.rows("ItemTable", ("key",)))
    with pytest.raises(Unreadable):
        open_database(str(tmp_path / "a.db-nothing"))
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
    assert Database(str(path)).bytes_read == 0
