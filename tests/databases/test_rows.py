"""A store of rows in the engine: the prefilter gives what decoding everything gives, and failures are counted, not hidden."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepgrep import registry
from deepgrep.engine import read as reading
from deepgrep.engine.resolve import query as request
from deepgrep.engine.rows import Candidates
from deepgrep.files import Unreadable
from deepgrep.model import Database, Decoded, Reading, Record, Rows, Skip, Source, Store, Traits, Wanted
from deepgrep.query.parse import Term
from deepgrep.query.prefilter import probe
from nasty import containing, occurs, texts
from scribes import make

ID = "test.rows"
Decode = Callable[[Database, Wanted, Source], Decoded]


def decode(database: Database, wanted: Wanted, source: Source) -> Iterator[Record | Skip]:
    for batch in database.rows("part", ("id", "body")):
        for rowid, _, body in wanted.among(batch):
            try:
                text = json.loads(body)["text"]  # type: ignore[arg-type]
            except (ValueError, TypeError, KeyError):
                yield Skip("undecodable")
                continue
            yield Record(source, rowid, 0, "person", "prompt", text)


def prompts(database: Database, wanted: Wanted, source: Source) -> Iterator[Record | Skip]:
    for (body,) in database.by_key("part", ("body",), "id = ?", ("prompts",)):
        if wanted(body):
            yield Record(source, 0, 0, "person", "prompt", json.loads(body)["text"])  # type: ignore[arg-type]


def lines(path: Path, *bodies: object) -> Path:
    path.unlink(missing_ok=True)
    rows = [(f"p{number}", body) for number, body in enumerate(bodies)]
    return make(path, "CREATE TABLE part (id TEXT UNIQUE, body TEXT)", insert="INSERT INTO part VALUES (?, ?)", rows=rows)


def read(
    path: Path, monkeypatch: pytest.MonkeyPatch, needle: str = "e", reader: Decode = decode, *, probing: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
) -> Reading:  # fmt: skip
    store = Store(ID, "prompts", ("*",), "invented", Rows(reader), Traits(text_in="line"))
    monkeypatch.setattr(registry, "store", lambda name: store)
    reading._compiled.cache_clear()
    source = Source("test", ID, "prompts", str(path), path.name, 1, 0)
    query = request((needle,), literal=True)
    return reading.read(reading.Task(query, source, probing=probing), cancelled)


@given(st.lists(st.one_of(containing().map(lambda pair: pair[1]), texts), min_size=1, max_size=6), containing(), st.booleans())
def test_prefiltered_is_everything(some: list[str], pair: tuple[str, str], ascii_only: bool) -> None:
    needle, text = pair
    bodies = [json.dumps({"text": one}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for one in (*some, text)]
    batch = [(number, f"id{number}".encode(), body, number) for number, body in enumerate(bodies)]
    wanted = Candidates(probe(Term(needle)))
    among = list(wanted.among(batch))  # type: ignore[arg-type]
    assert among == [row for row in batch if wanted(*row[1:])]
    found = {row[0] for row in among}
    assert found >= {number for number, one in enumerate((*some, text)) if occurs(needle, one)}


def test_matches_counts_and_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [json.dumps({"text": word}) for word in ("apple", "plum", "Apple pie", "plum")]
    path = lines(tmp_path / "a.db", *bodies, "apple, broken", None, 7)
    found = read(path, monkeypatch, "apple")
    assert [(match.record.position, match.record.text) for match in found.matches] == [(1, "apple"), (3, "Apple pie")]
    assert (found.outcome, found.opened, found.counts["probed"], found.counts["decoded"]) == ("completed", True, 7, 2)
    assert found.counts["skip.undecodable"] == 1
    assert found.bytes_read > 0
    everything = read(path, monkeypatch, "apple", probing=False)
    assert everything.matches == found.matches
    assert everything.counts["decoded"] == 4


def test_a_key_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path / "a.db", *["{}"] * 500)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("INSERT INTO part VALUES ('prompts', ?)", (json.dumps({"text": "mine"}),))
    found = read(path, monkeypatch, "mine", prompts)
    assert [match.record.text for match in found.matches] == ["mine"]
    assert found.counts["probed"] == 1


def test_what_was_read_before_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path / "a.db", *[json.dumps({"text": f"apple {number} " + "x" * 500}) for number in range(3000)])
    raw = bytearray(path.read_bytes())
    at = raw.index(b"apple 1500 ") // 4096 * 4096
    raw[at : at + 100] = b"\xee" * 100
    path.write_bytes(raw)
    found = read(path, monkeypatch, "apple")
    assert (found.outcome, found.reason) == ("failed", "damaged_database")
    assert 1490 < len(found.matches) <= 1500


@pytest.mark.parametrize(
    ("raw", "outcome", "reason", "opened"),
    [
        (b"none" * 99, "failed", "not_a_database", True),
        (None, "failed", "vanished", False),
        (b"", "unsupported", "unsupported_format", True),
    ],
)
def test_what_is_no_such_database(
    raw: bytes | None, outcome: str, reason: str, opened: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    if raw is not None:
        path.write_bytes(raw)
    found = read(path, monkeypatch)
    assert (found.outcome, found.reason, found.matches) == (outcome, reason, ())
    assert found.opened == opened


def test_cancelling_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path / "a.db", *[json.dumps({"text": "apple " + "x" * 900}) for _ in range(3000)])
    asked: list[int] = []
    found = read(path, monkeypatch, "apple", cancelled=lambda: bool(asked.append(1) or len(asked) > 1))
    assert (found.outcome, found.reason) == ("cancelled", None)
    assert 0 < len(found.matches) < 3000


def test_long_values_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deepgrep.databases import VALUE_CAP

    path = lines(tmp_path / "a.db", json.dumps({"text": "apple"}))
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("INSERT INTO part VALUES ('long', zeroblob(?))", (VALUE_CAP + 1,))
    found = read(path, monkeypatch, "apple")
    assert (found.outcome, found.counts["skip.oversized"], len(found.matches)) == ("completed", 1, 1)


def test_a_store_may_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(database: Database, wanted: Wanted, source: Source) -> Iterator[Record | Skip]:
        yield Record(source, 1, 0, "person", "prompt", "apple")
        raise Unreadable("wrong_format")

    path = lines(tmp_path / "a.db", "{}")
    found = read(path, monkeypatch, "apple", refusing)
    assert (found.outcome, found.reason, len(found.matches)) == ("failed", "wrong_format", 1)
