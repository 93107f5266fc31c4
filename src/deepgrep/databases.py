"""The only module that opens an agent's databases: SQLite read as it is on disk, also while it is written, and without a trace.

A connection never sees a file: SQLite reads through the methods of `_Pages`, which hold descriptors for reading only. There are no locks,
no `-shm`, no temporary files. What keeps a reader from mixing two states of a database is that nothing is given out before the signs
that its writers leave (`Signs`) have been compared with those from before the first byte was read. APSW loads with the first database.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice

from .files import LINE_CAP, Unreadable, Unsupported, code_of, opened
from .overlays import FRAME_HEAD, INDEX_HEAD, LOG_HEAD, Overlay, index, journal_overlay, log_overlay, page_size, super_journal
from .typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self, TypeVar

    import apsw

    from .model import Row, Value

    T = TypeVar("T")

VALUE_CAP = LINE_CAP  # bytes; what is longer is given as None and counted
BATCH_BYTES = 512 << 10  # of values in one verified batch: more does not stay in a processor's cache, and takes a third longer
_BATCH_ROWS = 20_000
_AT_ONCE = 16  # rows taken without a look at their size
_LEAST_BYTES = 64 << 10  # of a batch, when a busy writer leaves little time
_VALUE_BYTES = 256 << 10  # a longer value is read by itself, and held once
_AHEAD = 128 << 10  # bytes read at once where pages are asked for one after another
_IN_A_ROW = 4  # pages asked for one after another before that
_TRIES = 40  # in a row without anything read, before a database is too busy to be read
_LONGEST_PAUSE_S = 0.02
_STEPS = 50_000  # of SQLite's machine between two looks at whether to go on: about a millisecond
_COARSE_NS = 20_000_000  # two writes so close together may leave one time: file systems count in ticks
_LEAST_ROWID, _MOST_ROWID = -(1 << 63), (1 << 63) - 1
_TEXTS = ("CHAR", "CLOB", "TEXT")  # in a column's type: what is stored in it becomes text
_ROWIDS = ("rowid", "_rowid_", "oid")  # a column of the same name hides the first, but not the others


class _Journal(NamedTuple):
    device: int
    inode: int
    size: int
    mtime_ns: int
    head: bytes  # with a random number of its transaction


class Signs(NamedTuple):
    """What a writer changes whenever it changes what a reader without locks would see."""

    database: tuple[int, ...]  # device, inode, size, mtime
    head: bytes  # with the counter that every transaction of a rollback journal raises
    log: tuple[object, ...] | None  # device, inode, head with the salts of its generation
    shared: tuple[object, ...] | None  # of the log's index: device, inode, salts, and up to which frame a checkpoint may have copied
    journal: _Journal | None


class _Moved(Exception):
    """Something changed while a database was being opened."""


class _File:
    """One open file, read at offsets."""

    def __init__(self, path: str) -> None:
        self._raw, status = opened(path)
        self.identity = (status.st_dev, status.st_ino)
        self.size = status.st_size
        self.bytes_read = 0

    def read(self, size: int, offset: int) -> bytes:
        """Up to `size` bytes at `offset`. Raises OSError."""
        self._raw.seek(offset)
        found = self._raw.read(size) or b""
        self.bytes_read += len(found)
        return found

    def readinto(self, buffer: memoryview, offset: int) -> int:
        self._raw.seek(offset)
        got = self._raw.readinto(buffer) or 0
        self.bytes_read += got
        return got

    def close(self) -> None:
        self._raw.close()


def _beside(path: str) -> os.stat_result | None:
    """A file that SQLite keeps beside a database, or None where there is none. Links and devices are none of SQLite's."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(code_of(error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("not_a_file")
    return status


class _Snapshot:
    """The files of a database, the signs from before anything was read, and the overlay that makes them one state."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._held: dict[str, _File] = {}
        self.used: set[int] = set()  # pages of the log read since the last comparison
        self.bytes_read = 0
        self.asked = 0  # bytes that SQLite has asked for
        self.overlay: Overlay | None = None
        self.over: _File | None = None
        try:
            self.database = self._open("")
            for ending in ("-wal", "-shm", "-journal"):
                self._open_beside(ending)
            self.signs = self._signs()
        except BaseException as error:
            self.close()
            if isinstance(error, FileNotFoundError):
                raise _Moved from error
            if isinstance(error, OSError):
                raise Unreadable(code_of(error)) from error
            raise

    def _open(self, ending: str) -> _File:
        self._held[ending] = file = _File(self.path + ending)
        return file

    def _open_beside(self, ending: str) -> None:
        if not _beside(self.path + ending):
            return
        try:
            self._open(ending)
        except Unreadable as error:
            if error.code == "vanished":
                raise _Moved from error
            if ending != "-shm":  # it only saves work, and says more of what a checkpoint does
                raise

    def close(self) -> None:
        self.bytes_read = sum(file.bytes_read for file in self._held.values())
        for file in self._held.values():
            file.close()

    def _signs(self) -> Signs:
        status = os.stat(self.path)
        if (status.st_dev, status.st_ino) != self.database.identity:
            raise _Moved
        database = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        return Signs(database, self.database.read(100, 0), self._log_signs(), self._index_signs(), self._journal_signs())

    def _log_signs(self) -> tuple[object, ...] | None:
        identity = self._identity("-wal")
        return identity and (*identity, self._held["-wal"].read(LOG_HEAD, 0))

    def _index_signs(self) -> tuple[object, ...] | None:
        identity = self._identity("-shm")
        # Not in one piece: the bytes between are locked by the writers, and where locks bind, reading them fails.
        return identity and (*identity, self._held["-shm"].read(8, 32), self._held["-shm"].read(4, 128))

    def _journal_signs(self) -> _Journal | None:
        identity = self._identity("-journal")
        if not identity:
            return None
        status = os.lstat(self.path + "-journal")
        return _Journal(*identity, status.st_size, status.st_mtime_ns, self._held["-journal"].read(28, 0))

    def _identity(self, ending: str) -> tuple[int, int] | None:
        """Device and inode of a file beside the database, which must be the one that was opened."""
        status = _beside(self.path + ending)
        file = self._held.get(ending)
        found = (status.st_dev, status.st_ino) if status else None
        if file is None and ending == "-shm" and status and not os.access(self.path + ending, os.R_OK):
            return None
        if found != (file.identity if file else None):
            raise _Moved
        return found

    def lay_over(self) -> None:
        """Find what the log or the journal says. What it raises counts only if nothing has changed meanwhile."""
        try:
            self.overlay = self._overlay()
        except OSError as error:
            raise Unreadable(code_of(error)) from error

    def _overlay(self) -> Overlay | None:
        log = self._log_overlay()
        journal = self._journal_overlay()
        if log and journal:  # SQLite writes either: what they come to together is for it to say
            raise Unreadable("busy")
        overlay = log or journal
        self.over = self._held["-wal" if log else "-journal"] if overlay else None
        if overlay:
            at = overlay.pages.get(1)
            head = self.database.read(100, 0) if at is None or self.over is None else self.over.read(100, at)
            if head[:16] != b"SQLite format 3\0":
                raise Unreadable("not_a_database")
            if page_size(int.from_bytes(head[16:18], "big")) != overlay.page_size:
                raise Unreadable("damaged_database")
        return overlay

    def _log_overlay(self) -> Overlay | None:
        log, shm = self._held.get("-wal"), self._held.get("-shm")
        if not log:
            return None
        found = None
        for _ in range(10 if shm else 0):  # a writer may be at it
            assert shm is not None
            if found := index(shm.read(INDEX_HEAD, 0)):
                break
        return log_overlay(log.read, os.lstat(self.path + "-wal").st_size, found)

    def _journal_overlay(self) -> Overlay | None:
        journal = self._held.get("-journal")
        if not journal:
            return None
        assert self.signs.journal is not None
        length = self.signs.journal.size  # what has been added since shows in the signs
        found = journal_overlay(journal.read, length, page_size(int.from_bytes(self.signs.head[16:18], "big")))
        if found and self.database.size and (name := super_journal(journal.read, length)) is not None:
            folder, base = os.path.split(os.fsdecode(name))
            own = os.path.dirname(self.path)
            if not base or os.path.realpath(folder) != own:  # it names a folder that is not here to ask
                raise Unreadable("busy")
            if not os.path.lexists(os.path.join(own, base)):  # its transaction is through: so is this one
                return None
        return found if self.database.size else None

    def changed(self) -> bool:
        """Has anything happened since the signs were taken that what was read may show in part?"""
        try:
            if self._signs() != self.signs:
                return True
            salts = self.overlay.salts if self.overlay else b""
            assert self.over is not None or not salts
            stale = salts and any(self.over.read(8, page - FRAME_HEAD + 8) != salts for page in self.used)  # type: ignore[union-attr]
        except (OSError, Unreadable, _Moved):
            return True
        self.used.clear()
        return bool(stale)


def _settle(path: str) -> None:
    """Where only its time tells that a database was written, wait until a next write would have another one."""
    try:
        recent = abs(time.time_ns() - os.stat(path).st_mtime_ns) < _COARSE_NS
        if recent and not os.path.exists(path + "-shm"):
            time.sleep(_COARSE_NS / 1e9)
    except (OSError, ValueError):
        return  # opening it will say why


class _Pages:
    """A snapshot as the one file that SQLite sees: read-only, never changing, without a log."""

    def __init__(self, snapshot: _Snapshot, error: Callable[[], Exception]) -> None:
        self._snapshot, self._error = snapshot, error
        overlay = snapshot.overlay
        self._page_size = overlay.page_size if overlay else 0
        self._over = {(page - 1) * self._page_size: at for page, at in overlay.pages.items()} if overlay else {}
        self._size = overlay.size if overlay else snapshot.signs.database[2]
        self._is_log = bool(overlay and overlay.salts)
        self._block = memoryview(bytearray(_AHEAD))
        self._start = self._end = 0  # what the block holds of the database
        self._last, self._near = -1, 0  # offset asked for last, and how many in a row were just after the one before

    def xRead(self, amount: int, offset: int) -> bytes | memoryview:
        """Bytes of a page, from where its newest committed content stands. Only of the first page are parts asked for."""
        self._snapshot.asked += amount
        if offset + amount > self._size:
            amount = max(0, self._size - offset)
        try:
            if offset < 100:
                at = self._over.get(0)
                raw = self._over_read(amount, at, offset) if at else self._snapshot.database.read(amount, offset)
                return _as_rollback(raw, offset)
            if offset in self._over:
                return self._over_read(amount, self._over[offset], 0)
            start = self._start
            if start <= offset and offset + amount <= self._end:
                return self._block[offset - start : offset - start + amount]
            return self._database_read(amount, offset)
        except OSError as error:
            raise self._error() from error

    def _over_read(self, amount: int, at: int, inside: int) -> bytes:
        file = self._snapshot.over
        assert file is not None
        if self._is_log:
            self._snapshot.used.add(at)
        return file.read(amount, at + inside)

    def _database_read(self, amount: int, offset: int) -> bytes | memoryview:
        """From the file: with much of what follows, if what was asked for last was just before."""
        self._near = self._near + 1 if 0 <= offset - self._last <= _AHEAD else 0
        self._last = offset
        if self._near < _IN_A_ROW or amount > _AHEAD:
            return self._snapshot.database.read(amount, offset)
        self._start = self._end = 0
        self._end = offset + self._snapshot.database.readinto(self._block, offset)
        self._start = offset
        return self._block[: min(amount, self._end - offset)]

    def xFileSize(self) -> int:
        return self._size

    def xLock(self, level: int) -> None:
        """No lock: a reader of an immutable file needs none."""

    def xUnlock(self, level: int) -> None:
        """Nothing was locked."""

    def xCheckReservedLock(self) -> bool:
        return False

    def xClose(self) -> None:
        """The snapshot closes its own files."""

    def xSectorSize(self) -> int:
        return 4096

    def xDeviceCharacteristics(self) -> int:
        return 0x2000  # SQLITE_IOCAP_IMMUTABLE: no locks, no look for a journal

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xWrite(self, content: bytes, offset: int) -> None:
        raise self._error()

    def xTruncate(self, size: int) -> None:
        raise self._error()

    def xSync(self, flags: int) -> None:
        raise self._error()


def _as_rollback(found: bytes | memoryview, offset: int) -> bytes:
    """The database's head saying that it needs no log: the overlay is its log."""
    changed = bytearray(found)
    for at in (18, 19):
        if 0 <= at - offset < len(changed) and changed[at - offset] == 2:
            changed[at - offset] = 1
    return bytes(changed)


_numbers = count()
_waiting: dict[str, _Pages] = {}  # by the name under which SQLite is about to ask for them
_systems: list[object] = []  # the one virtual file system, registered when the first database is met


def _apsw() -> None:
    """Load APSW and register the virtual file system."""
    try:
        import apsw
    except ImportError as error:
        raise Unsupported("apsw_not_installed") from error
    if _systems:
        return

    class System(apsw.VFS):
        """Knows no file but the pages that wait for it."""

        def __init__(self) -> None:
            super().__init__("deepgrep", "")

        def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
            pages = _waiting.pop(name.filename() if isinstance(name, apsw.URIFilename) else name or "", None)
            if pages is None:
                raise apsw.CantOpenError
            flags[1] = apsw.SQLITE_OPEN_READONLY
            return pages  # type: ignore[return-value] # APSW asks for the methods only

        def xAccess(self, pathname: str, flags: int) -> bool:
            return False

        def xDelete(self, filename: str, syncdir: bool) -> None:
            raise apsw.ReadOnlyError

        def xFullPathname(self, name: str) -> str:
            return name

    _systems.append(System())


def _connect(snapshot: _Snapshot, cancelled: Callable[[], bool]) -> apsw.Connection:
    """A connection to a snapshot in which nothing that the database brings along can run or write."""
    import apsw

    name = f"deepgrep-{next(_numbers)}"
    _waiting[name] = _Pages(snapshot, apsw.IOError)
    try:
        made = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY, vfs="deepgrep", statementcachesize=0)
    finally:
        _waiting.pop(name, None)
    made.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    for off in (
        apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
        apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
        apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
        apsw.SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE,
        apsw.SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE,
        apsw.SQLITE_DBCONFIG_DQS_DML,
        apsw.SQLITE_DBCONFIG_DQS_DDL,
    ):
        made.config(off, 0)
    made.drop_modules(None)  # virtual tables: their code would run on whatever their shadow tables hold
    made.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
    made.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    made.pragma("query_only", True)
    made.pragma("temp_store", 2)  # in memory
    made.pragma("cell_size_check", True)
    made.set_progress_handler(cancelled, _STEPS)

    def allowed(action: int, one: str | None, two: str | None, schema: str | None, through: str | None) -> int:
        if action == apsw.SQLITE_PRAGMA:
            return apsw.SQLITE_OK if one == "table_xinfo" else apsw.SQLITE_DENY
        # Functions: those of defaults and generated columns, built in and, without a trusted schema, free of effects.
        good = action in (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION) and through is None  # through: the view that asks
        return apsw.SQLITE_OK if good else apsw.SQLITE_DENY

    made.authorizer = allowed
    return made


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Database:
    """One database, opened for reading when it is first asked. Use as a context manager. Raises Unreadable and nothing else.

    What `tables`, `columns`, `rows` and `by_key` give is of one committed state, each batch of rows by itself: a writer that does not
    pause costs time, then Unreadable("busy"). Of what was cancelled the rest is not given: Unreadable("cancelled").
    """

    def __init__(self, path: str, cancelled: Callable[[], bool] = lambda: False) -> None:
        try:
            self.path = os.path.realpath(path)
        except (OSError, ValueError) as error:
            raise Unreadable(code_of(error)) from error
        self.rows_read = 0  # given out
        self.oversized = 0  # values given as None because they are longer than `VALUE_CAP`
        self.was_opened = False
        self.reopened = 0  # times that a writer made what had been read worthless
        self._cancelled = cancelled
        self._snapshot: _Snapshot | None = None
        self._connection: apsw.Connection | None = None
        self._bytes_before = 0  # read by snapshots that were given up
        _apsw()

    def check(self) -> None:
        """Open it, if it is a database."""
        self._verified(lambda connection: connection.execute("SELECT 1 FROM sqlite_schema").fetchone())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close its files; `bytes_read` and the counts stay."""
        self._drop()

    @property
    def bytes_read(self) -> int:
        """Bytes read of the database's files."""
        held = self._snapshot
        if held is None:
            return self._bytes_before
        return self._bytes_before + sum(file.bytes_read for file in held._held.values())  # noqa: SLF001 - a snapshot is part of this

    @property
    def is_overlaid(self) -> bool:
        """Does a log or a journal stand over the database's own pages?"""
        return self._snapshot is not None and self._snapshot.overlay is not None

    def tables(self) -> frozenset[str]:
        """The names of the ordinary tables: no views, no virtual tables."""
        sql = "SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        return frozenset(_text(row[0]) for row in self._verified(lambda connection: connection.execute(sql).fetchall()))

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of a table's columns, hidden and generated ones too; none where there is no such table."""
        if table.lower() not in {name.lower() for name in self.tables()}:
            return ()
        return self._verified(lambda connection: _columns(connection, table))

    def rows(self, table: str, columns: Sequence[str], *, after: int | None = None) -> Iterator[list[Row]]:
        """All rows of an ordinary table in the order of their row ids, as (row id, values): batches that are valid until the next.

        What stands before a damaged page is given before Unreadable is raised. Raises Unsupported("unsupported_format") for what is
        no table with row ids and these columns.
        """
        last = _LEAST_ROWID - 1 if after is None else after
        scan, room, tries = _Scan(self, table, columns), BATCH_BYTES, 0
        while last < _MOST_ROWID:
            scan.fill(last, room)
            if self._changed():
                tries += 1
                if tries >= _TRIES:
                    raise Unreadable("busy")
                room = max(room // 2, _LEAST_BYTES)
                self._reopen(tries)
                continue
            room, tries = min(2 * room, BATCH_BYTES), 0
            if scan.batch:
                last = scan.batch[-1][0]
                self.rows_read += len(scan.batch)
                self.oversized += scan.oversized
                yield scan.batch
                scan.batch = []
            if scan.failed:
                raise scan.failed
            if scan.at_end:
                return
            if self._cancelled():
                raise Unreadable("cancelled")

    def by_key(self, table: str, columns: Sequence[str], where: str, params: Sequence[str | int | bytes] = ()) -> list[tuple[Value, ...]]:
        """The few rows that a condition on a key gives, up to `VALUE_CAP` bytes of them. `where` is the store's own SQL, never content."""

        def ask(connection: apsw.Connection) -> tuple[list[tuple[Value, ...]], int]:
            select = _Select(connection, table, columns)
            return select.limited(f"SELECT {select.sql} FROM {_quoted(table)} WHERE {where}", params)

        found, oversized = self._verified(ask)
        self.rows_read += len(found)
        self.oversized += oversized
        return found

    def query_plan(self, table: str, columns: Sequence[str], where: str, params: Sequence[str | int | bytes] = ()) -> tuple[str, ...]:
        """How SQLite would answer `by_key`: one line for each table or index that it walks or seeks in."""

        def ask(connection: apsw.Connection) -> tuple[str, ...]:
            select = _Select(connection, table, columns)
            sql = f"EXPLAIN QUERY PLAN SELECT {select.sql} FROM {_quoted(table)} WHERE {where}"
            return tuple(str(row[3]) for row in connection.execute(sql, tuple(params)))

        return self._verified(ask)

    def _verified(self, ask: Callable[[apsw.Connection], T]) -> T:
        """An answer in which no change took part."""
        import apsw

        for tries in range(1, _TRIES + 1):
            failed: Unreadable | None = None
            try:
                found = ask(self._connected())
            except (apsw.Error, Unreadable, _Moved, MemoryError) as error:
                failed = _refusal(error)
            if self._snapshot is None or self._changed():
                if failed and self._snapshot is None and failed.code != "busy":  # it could not even be opened
                    raise failed
                self._reopen(tries)
            elif failed:
                raise failed
            else:
                return found
        raise Unreadable("busy")

    def _connected(self) -> apsw.Connection:
        if self._connection is None:
            self._drop()
            if not self.reopened:
                _settle(self.path)
            self._snapshot = _Snapshot(self.path)
            self.was_opened = True
            self._snapshot.lay_over()
            self._connection = _connect(self._snapshot, self._cancelled)
        return self._connection

    def _changed(self) -> bool:
        return self._snapshot is None or self._snapshot.changed()

    def _reopen(self, tries: int) -> None:
        self.reopened += 1
        self._drop()
        if self._cancelled():
            raise Unreadable("cancelled")
        if tries > 1:
            time.sleep(min(0.0005 * tries, _LONGEST_PAUSE_S))

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None
        if self._snapshot is not None:
            self._snapshot.close()
            self._bytes_before += self._snapshot.bytes_read
            self._snapshot = None


def open_database(path: str, cancelled: Callable[[], bool] = lambda: False) -> Database:
    """A database open for reading. Raises Unreadable, and Unsupported where what reads it is not installed."""
    database = Database(path, cancelled)
    try:
        database.check()
    except BaseException:
        database.close()
        raise
    return database


class _Scan:
    """A walk over a table that can be taken up again after any row id."""

    def __init__(self, database: Database, table: str, columns: Sequence[str]) -> None:
        self._database, self._table, self._columns = database, table, columns
        self._connection: apsw.Connection | None = None
        self._rows: Iterator[tuple[object, ...]] | None = None
        self._select: _Select | None = None
        self.batch: list[Row] = []
        self.oversized = 0
        self.at_end = False
        self.failed: Unreadable | None = None

    def fill(self, last: int, room: int) -> None:
        """Read one batch of the rows after `last`; what goes wrong is kept until the batch has been verified."""
        import apsw

        self.batch, self.oversized, self.at_end, self.failed = [], 0, False, None
        try:
            connection = self._database._connected()  # noqa: SLF001 - a scan is part of a database
            if self._rows is None or connection is not self._connection:
                self._connection = connection
                self._select = _Select(connection, self._table, self._columns, with_rowid=True)
                self._rows = self._select.after(last)
            self.at_end = self._fill(last, room)
        except apsw.TooBigError:
            self._rows = None
            if not self.batch:
                self._fill_one(last)
                return
        except (apsw.Error, Unreadable, _Moved, MemoryError) as error:
            self._rows = None
            self.failed = _refusal(error)
        if self._select and self._select.is_wide:
            self.batch = [self._select.plain(row) for row in self.batch]

    def _fill(self, last: int, room: int) -> bool:
        assert self._rows is not None
        snapshot, batch = self._database._snapshot, self.batch  # noqa: SLF001
        assert snapshot is not None
        enough = snapshot.asked + room  # of pages asked for: a measure of the values that costs nothing to take
        while snapshot.asked < enough and len(batch) < _BATCH_ROWS:
            before = len(batch)
            batch.extend(islice(self._rows, _AT_ONCE))  # type: ignore[arg-type] # what fails midway leaves what came before it
            if len(batch) < before + _AT_ONCE:
                return True
            if batch[-1][0] <= last:
                raise Unreadable("damaged_database")  # pages that lead in a circle
            last = batch[-1][0]
        return False

    def _fill_one(self, last: int) -> None:
        """The next row, which holds a long value."""
        import apsw

        assert self._select is not None
        try:
            row, self.oversized = self._select.long_row(last)
        except (apsw.Error, Unreadable, MemoryError) as error:
            self.failed = _refusal(error)
        else:
            self.batch.append(row)


class _Select:
    """The SQL that reads columns of one ordinary table, with text as the bytes it is stored in."""

    def __init__(self, connection: apsw.Connection, table: str, columns: Sequence[str], *, with_rowid: bool = False) -> None:
        self._connection, self._table, self._columns = connection, table, columns
        found = {name.lower() for name in _columns(connection, table)} if _is_ordinary(connection, table) else set()
        self._rowid = next((name for name in _ROWIDS if name not in found), None)
        if not found.issuperset(name.lower() for name in columns) or (with_rowid and self._rowid is None):
            raise Unsupported("unsupported_format")
        self.is_wide = _is_wide(connection)
        texts = {name.lower() for name, affinity in _affinities(connection, table) if affinity == "text"}
        parts = [_bytes_of(_quoted(name), is_text=name.lower() in texts) for name in columns]
        if self.is_wide:  # a value's kind is needed to know what to decode
            parts += [f"typeof({_quoted(name)})" for name in columns]
        self.sql = ", ".join(([self._rowid or ""] if with_rowid else []) + parts)
        self._fixed = 1 if with_rowid else 0

    def after(self, rowid: int) -> Iterator[tuple[object, ...]]:
        sql = f"SELECT {self.sql} FROM {_quoted(self._table)}"
        if rowid < _LEAST_ROWID:
            return self._connection.execute(f"{sql} ORDER BY {self._rowid}")
        return self._connection.execute(f"{sql} WHERE {self._rowid} > ? ORDER BY {self._rowid}", (rowid,))

    def plain(self, row: tuple[object, ...]) -> Row:
        """A row as it is given out."""
        if not self.is_wide:
            return row  # type: ignore[return-value]
        fixed, size = self._fixed, len(self._columns)
        values, kinds = row[fixed : fixed + size], row[fixed + size :]
        wide = "utf-16-le" if _is_wide(self._connection) == 2 else "utf-16-be"
        texts = (
            value.decode(wide, "replace").encode() if kind == "text" and isinstance(value, bytes) else value
            for value, kind in zip(values, kinds)
        )
        return (*row[:fixed], *texts)  # type: ignore[return-value]

    def limited(self, sql: str, params: Sequence[str | int | bytes]) -> tuple[list[tuple[Value, ...]], int]:
        """The rows of a statement, and 1 where there are more bytes than may be held."""
        import apsw

        out: list[tuple[Value, ...]] = []
        room = VALUE_CAP
        self._connection.limit(apsw.SQLITE_LIMIT_LENGTH, VALUE_CAP)
        try:
            for raw in self._connection.execute(sql, tuple(params)):
                row: tuple[Value, ...] = self.plain(raw)
                room -= sum(len(value) for value in row if isinstance(value, bytes))
                if room < 0:
                    return out, 1
                out.append(row)
        except apsw.TooBigError:
            return out, 1
        finally:
            self._connection.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
        return out, 0

    def long_row(self, last: int) -> tuple[Row, int]:
        """The row after `last`, its long values read one by one, with the number of those that are too long."""
        names = [_quoted(name) for name in self._columns]
        sizes = ", ".join(f"coalesce(octet_length({name}), 0)" for name in names)
        at = f"{self._rowid} > ?" if last >= _LEAST_ROWID else "? IS NOT NULL"
        sql = f"SELECT {self._rowid}, {sizes} FROM {_quoted(self._table)} WHERE {at} ORDER BY {self._rowid} LIMIT 1"
        found = self._connection.execute(sql, (max(last, _LEAST_ROWID),)).fetchone()
        assert found is not None  # a long value was met in it
        rowid: int = found[0]
        values: list[Value] = []
        oversized = 0
        for column, size in zip(self._columns, found[1:]):
            if size > VALUE_CAP:
                oversized += 1
                values.append(None)
            else:
                values.append(self._long_value(column, rowid, size))
        return (rowid, *values), oversized

    def _long_value(self, column: str, rowid: int, size: int) -> Value:
        import apsw

        if size > _VALUE_BYTES and not self.is_wide:
            try:
                with self._connection.blob_open("main", self._table, column, rowid, False) as blob:
                    return blob.read(size)
            except apsw.SQLError:  # a generated column, or one beside it: no piece of the file is its value
                pass
        one = _Select(self._connection, self._table, (column,))
        found, _ = one.limited(f"SELECT {one.sql} FROM {_quoted(self._table)} WHERE {self._rowid} = ?", (rowid,))
        return found[0][0] if found else None


def _is_ordinary(connection: apsw.Connection, table: str) -> bool:
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ? COLLATE NOCASE"
    return connection.execute(sql, (table,)).fetchone() is not None


def _columns(connection: apsw.Connection, table: str) -> tuple[str, ...]:
    return tuple(name for name, _ in _affinities(connection, table))


def _affinities(connection: apsw.Connection, table: str) -> list[tuple[str, str]]:
    """Each column's name, and "text" where it can hold no number: by the rules of sqlite.org/datatype3.html 3.1."""
    found = connection.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
    kinds = ((str(row[1]), str(row[2]).upper()) for row in found)
    return [(name, "text" if "INT" not in kind and any(part in kind for part in _TEXTS) else "") for name, kind in kinds]


def _bytes_of(name: str, *, is_text: bool) -> str:
    """The SQL for a column's values with text as bytes. Asking each value for its type costs a quarter of a scan."""
    return f"CAST({name} AS BLOB)" if is_text else f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"


def _is_wide(connection: apsw.Connection) -> int:
    """0 where text is stored as UTF-8, 2 and 3 where as UTF-16."""
    raw = connection.read("main", 0, 56, 4)[1]
    encoding = int.from_bytes(raw, "big")
    return encoding if encoding in (2, 3) else 0


def _text(raw: object) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)


def _refusal(error: BaseException) -> Unreadable:
    """What an error means to who wanted to read."""
    import apsw

    if isinstance(error, Unreadable):
        return error
    codes: tuple[tuple[type[BaseException], str], ...] = (
        (_Moved, "busy"),
        (apsw.InterruptError, "cancelled"),
        (apsw.NotADBError, "not_a_database"),
        (apsw.CorruptError, "damaged_database"),
        (apsw.IOError, "io_error"),
        (apsw.CantOpenError, "io_error"),
        (apsw.NoMemError, "out_of_memory"),
        (MemoryError, "out_of_memory"),
        (apsw.TooBigError, "oversized"),
    )
    for kind, code in codes:
        if isinstance(error, kind):
            return Unreadable(code)
    return Unsupported("unsupported_format")  # SQLite understood the file, but not what was asked of it
