"""Writers of databases, each a program of its own that says what it has committed; and what a folder of theirs must look like afterwards.

They use Python's own sqlite3, and nothing of the code under test.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from homes import snapshot

ACCOUNTS, COUNTER = 150, 1000  # row ids

# Moves amounts between accounts, which always sum to nothing, counts its commits, and checkpoints without pause. Before a commit it says
# how far it may get, after it how far it got: two numbers at the start of a file.
LIVE = """
import os, random, sqlite3, struct, sys
path, told, mode = sys.argv[1:]
said = os.open(told, os.O_RDWR | os.O_CREAT)
store = sqlite3.connect(path, isolation_level=None)
store.execute(f"PRAGMA journal_mode={mode}")
store.execute("PRAGMA synchronous=" + ("OFF" if mode == "wal" else "FULL"))
store.execute("PRAGMA wal_autocheckpoint=0")
store.execute("CREATE TABLE state (id INTEGER PRIMARY KEY, amount INTEGER, note TEXT)")
store.execute("BEGIN")
store.executemany("INSERT INTO state VALUES (?, 0, ?)", [(number, "x" * 300) for number in range(1, 151)])
store.execute("INSERT INTO state VALUES (1000, 0, '')")
store.execute("COMMIT")
rng, done = random.Random(7), 0
os.pwrite(said, struct.pack("=qq", 0, 0), 0)
print("ready", flush=True)
while True:
    store.execute("BEGIN IMMEDIATE")
    for _ in range(rng.randint(1, 12)):
        one, two = rng.sample(range(1, 151), 2)
        amount = rng.randint(1, 9)
        store.execute("UPDATE state SET amount = amount - ? WHERE id = ?", (amount, one))
        store.execute("UPDATE state SET amount = amount + ?, note = ? WHERE id = ?", (amount, str(done) * rng.randint(1, 90), two))
    store.execute("UPDATE state SET amount = amount + 1 WHERE id = 1000")
    if rng.random() < 0.05:
        store.execute("ROLLBACK")
        continue
    os.pwrite(said, struct.pack("=qq", done, done + 1), 0)
    store.execute("COMMIT")
    done += 1
    os.pwrite(said, struct.pack("=qq", done, done), 0)
    if mode == "wal" and rng.random() < 0.3:
        store.execute(f"PRAGMA wal_checkpoint({rng.choice(('PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'))})").fetchall()
"""

# Commits rows 1 to n, one transaction each, saying how long the log then is; leaves a transaction open that spills into the log or the
# database; dies.
CRASHING = """
import os, signal, sqlite3, sys
path, mode, size, rows, spill = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
store = sqlite3.connect(path, isolation_level=None)
store.execute(f"PRAGMA page_size={size}")
store.execute(f"PRAGMA journal_mode={mode}")
store.execute("PRAGMA wal_autocheckpoint=0")
store.execute("PRAGMA cache_size=10")
store.execute("PRAGMA synchronous=OFF")
store.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT)")
lengths = []
for number in range(1, rows + 1):
    store.execute("INSERT INTO entry VALUES (?, ?)", (number, f"committed {number} " + "y" * 200))
    lengths.append(os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0)
if spill == "spill":
    store.execute("PRAGMA synchronous=FULL")  # else a journal counts no records
    store.execute("BEGIN IMMEDIATE")
    store.execute("UPDATE entry SET body = 'never committed'")
    store.executemany("INSERT INTO entry VALUES (?, ?)", [(number, "never committed " + "z" * 500) for number in range(10**6, 10**6 + 300)])
print(*lengths, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def crashed(path: Path, mode: str = "wal", *, page_size: int = 4096, rows: int = 20, spill: bool = True) -> list[int]:
    """Leave a database as a killed writer does; how long its log was after each commit."""
    words = [str(path), mode, str(page_size), str(rows), "spill" if spill else "-"]
    ran = subprocess.run([sys.executable, "-c", CRASHING, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == -9, ran.stderr
    return [int(word) for word in ran.stdout.split()]


def committed(rows: int) -> list[tuple[int, bytes]]:
    """What `crashed` has committed."""
    return [(number, f"committed {number} ".encode() + b"y" * 200) for number in range(1, rows + 1)]


@contextmanager
def writing(path: Path, mode: str) -> Iterator[Path]:
    """A live writer while the block runs; gives the file of its two numbers."""
    told = path.with_name(path.name + ".told")
    writer = subprocess.Popen([sys.executable, "-c", LIVE, str(path), str(told), mode], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        yield told
        assert writer.poll() is None, "the writer did not live as long as its readers"
    finally:
        writer.kill()
        writer.wait()
        assert writer.stdout is not None
        writer.stdout.close()


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Names, bytes, modes and times are the same afterwards, and SQLite finds every database that it found whole still whole."""
    before = snapshot(folder)
    whole = _whole(folder)
    yield
    assert snapshot(folder) == before
    assert _whole(folder) == whole


def _whole(folder: Path) -> dict[str, bool]:
    """Which databases SQLite itself finds whole: asked of a copy, since it would recover them."""
    copy = folder.with_name(folder.name + f"-copy-{time.monotonic_ns()}")
    shutil.copytree(folder, copy)
    copy.chmod(0o755)
    try:
        return {path.name: integral(path) for path in sorted(copy.glob("*.db"))}
    finally:
        shutil.rmtree(copy)


def integral(path: Path) -> bool:
    """Does SQLite itself, opening it for writing, find this database whole?"""
    path.chmod(0o644)
    try:
        with closing(sqlite3.connect(path)) as store:
            return bool(store.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    except sqlite3.DatabaseError:
        return False


def make(path: Path, *statements: str, rows: object = (), insert: str = "", pragmas: tuple[str, ...] = ()) -> Path:
    """A closed database."""
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        for statement in ("PRAGMA synchronous=OFF", *(f"PRAGMA {pragma}" for pragma in pragmas), *statements):
            store.execute(statement)
        if insert:
            store.execute("BEGIN")
            store.executemany(insert, rows)  # type: ignore[arg-type]
            store.execute("COMMIT")
    return path
