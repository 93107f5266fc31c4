"""What every store promises, checked for each line of the registry on its miniature home.

Expectations come from each fixture's hand-written manifest.toml, never from the store's own declaration: a declaration cannot be
its own witness. Only `records.jsonl`, the golden, is written by the code, and only with --update-goldens.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from deepgrep import discovery, registry
from deepgrep.engine import resolve
from deepgrep.engine.plan import plan
from deepgrep.engine.read import Task, read
from deepgrep.library import events, search
from deepgrep.model import SPEAKERS, Agent, Finished, Lines, Query, Reading, Record, Source, SourceFinished, Started
from deepgrep.query.match import matcher
from deepgrep.query.parse import parse
from deepgrep.refs import ref
from deepgrep.text import rfc3339
from homes import FIXTURES, STORES, Manifest, copied, manifest, path_of, paths, snapshot
from ledger import recording

AGENTS = registry.AGENT_IDS


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> Agent:
    return registry.agent(request.param)


@pytest.fixture(params=FIXTURES)
def fixture(request: pytest.FixtureRequest) -> Manifest:
    return manifest(request.param)


@pytest.fixture
def own(fixture: Manifest) -> Manifest:
    """The fixture of an agent that has something to read: of some agents all stores are known and counted, but not read."""
    if not fixture.prompts | fixture.transcripts:
        pytest.skip("no store of this agent is read yet")
    return fixture


def everything(agent_id: str, *texts: str, effort: str = "exhaustive", scope: str | None = "all", literal: bool = True) -> Query:
    """Every record of an agent, injected context too."""
    return resolve.query(texts, agent=[agent_id], effort=effort, scope=scope, speaker=SPEAKERS, literal=literal)


def sources(home: Path, query: Query) -> dict[str, Source]:
    """The planned sources by their path below the home, as a manifest names them."""
    made = plan(query, discovery.Machine(str(home), {})).sources
    files = Counter(source.path for source in made)
    marks = {source: f"#{source.role}" if files[source.path] > 1 else "" for source in made}
    return {os.path.relpath(source.path, home) + mark: source for source, mark in marks.items()}


def readings(home: Path, agent_id: str) -> dict[str, Reading]:
    query = everything(agent_id)
    return {name: read(Task(query, source)) for name, source in sources(home, query).items()}


def spoken(reading: Reading) -> list[Record]:
    return [match.record for match in reading.matches]


def skips(reading: Reading) -> dict[str, int]:
    return {name[5:]: count for name, count in sorted(reading.counts.items()) if name.startswith("skip.") and count}


def said(record: Record) -> tuple[object, ...]:
    """A record without its place."""
    return record._replace(source=record.source.store, position=0)  # type: ignore[arg-type]


# --- declarations and roles -----------------------------------------------------------------------------------------


def test_a_store_states_who_it_is_and_how_we_know(agent: Agent) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*", agent.id)
    assert agent.name
    assert len({store.id for store in agent.stores}) == len(agent.stores) > 0
    for store in agent.stores:
        assert store.id.startswith(agent.id + ".")
        word, *rest = store.evidence.split()
        assert word in {"observed", "source", "reported"}, store.id
        assert rest, store.id
        assert store.where, store.id
        assert (store.reader is None) == bool(store.unsupported), store.id


def test_every_file_of_the_fixture_plays_the_role_its_manifest_gives_it(fixture: Manifest) -> None:
    own, by_role = fixture, fixture.files
    assert own.prompts | own.transcripts | own.unsupported, "a fixture shows at least one source"
    files = {path.relative_to(own.home).as_posix() for path in own.home.rglob("*") if not path.is_dir()}
    assert sum(map(len, by_role.values())) == len(frozenset().union(*by_role.values())), "a file has one role"
    assert files == paths(*by_role.values())
    query = everything(own.agent)
    found = sources(own.home, query)
    assert {name for name, source in found.items() if source.role == "prompts"} - own.unsupported == own.prompts
    assert {name for name, source in found.items() if source.role == "transcript"} - own.unsupported == own.transcripts
    outcomes = {name: read(Task(query, source)).outcome for name, source in found.items()}
    assert {name for name, outcome in outcomes.items() if outcome == "unsupported"} == own.unsupported
    assert {name for name, outcome in outcomes.items() if outcome == "completed"} == own.prompts | own.transcripts


def test_a_twin_is_counted_as_a_copy(own: Manifest) -> None:
    answer = search(agent=own.agent, effort="exhaustive", home=own.home)
    assert answer.summary.coverage["agents"][own.agent]["reasons"].get("copies", 0) == len(own.twins)


# --- what is opened and listed --------------------------------------------------------------------------------------


def test_an_absent_agent_costs_one_stat_for_each_declared_place(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    real = os.stat

    def counting(path: object, *args: object, **options: object) -> os.stat_result:
        if isinstance(path, str) and path.startswith(str(tmp_path)):
            seen[os.path.relpath(path, tmp_path)] += 1
        return real(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", counting)
    with recording() as ledger:
        assert discovery.installed(discovery.Machine(str(tmp_path), {}), [agent.id]) == ()
    monkeypatch.undo()
    places = [place for entry in registry.ENTRIES if entry.id == agent.id for root in entry.roots for place in root.places]
    assert seen == Counter(places)
    assert not ledger.opened
    assert not ledger.listed


def test_an_absent_agent_is_not_imported(own: Manifest, outside: dict[str, str]) -> None:
    code = (
        "import sys; from deepgrep.cli.main import main; "
        f"main(['search', '--home', {str(own.home)!r}, '--exhaustive', '--scope', 'all', '--ndjson', 'a']); "
        "print([name for name in sys.modules if name.startswith('deepgrep.stores.') and name.count('.') == 2])"
    )
    out = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, check=True).stdout
    loaded = {name for name in re.findall(r"deepgrep\.stores\.(\w+)", out.splitlines()[-1]) if not name.startswith("_")}
    # Some agents live below another's folder: those whose folder is here may be loaded, and no other.
    here = {
        e.id.replace("-", "_") for e in registry.ENTRIES if any((own.home / place).is_dir() for root in e.roots for place in root.places)
    }
    assert own.agent.replace("-", "_") in loaded
    assert loaded <= here


def test_listing_opens_nothing(own: Manifest) -> None:
    query = everything(own.agent)
    with recording() as ledger:
        assert sources(own.home, query)
    assert not ledger.opened_below(own.home)


def test_prompt_effort_opens_the_prompt_files_and_lists_no_conversation_folder(own: Manifest) -> None:
    with recording() as ledger:
        search(agent=own.agent, home=own.home)
    assert ledger.opened_below(own.home) == paths(own.prompts, own.extras)
    above = {parent.as_posix() for name in own.transcripts for parent in list(Path(name).parents)[:2]}
    # A store that is not supported yet may hold prompts, and is looked for to be counted.
    shared = {parent.as_posix() for name in own.prompts | own.unsupported for parent in Path(name).parents}
    assert not ledger.listed_below(own.home) & (above - shared)


def test_exhaustive_effort_opens_every_source_and_nothing_else(own: Manifest) -> None:
    with recording() as ledger:
        search(agent=own.agent, effort="exhaustive", home=own.home)
    assert ledger.opened_below(own.home) == paths(own.prompts, own.transcripts, own.extras, own.beside)


@pytest.mark.parametrize("effort", ["prompt", "exhaustive"])
def test_the_home_is_unchanged(own: Manifest, effort: str, private: Callable[[Path], Path], unchanged: Callable[[Path], None]) -> None:
    home = private(own.home)
    unchanged(home)
    options = {"agent": own.agent, "effort": effort, "home": home}
    wanted = own.prompts | (own.transcripts if effort == "exhaustive" else frozenset())
    assert search(**options).summary.coverage["sources"]["completed"] == len(wanted)
    search("e", context=2, **options)
    search(order="scan", limit=1, dedupe=False, **options)


# --- records --------------------------------------------------------------------------------------------------------


def test_every_record_of_the_manifest_comes_out_exactly(own: Manifest) -> None:
    found = {name: spoken(reading) for name, reading in readings(own.home, own.agent).items()}
    assert own.records
    missing = []
    for wanted in own.records:
        wanted = dict(wanted)
        file = str(wanted.pop("file"))
        if not any(all(getattr(record, key) == value for key, value in wanted.items()) for record in found[file]):
            missing.append((file, wanted, [r.text for r in found[file] if r.kind == wanted.get("kind")]))
    assert not missing


def test_every_source_of_the_fixture_has_a_record_in_the_manifest(own: Manifest) -> None:
    assert own.prompts | own.transcripts == {record["file"] for record in own.records}


def test_only_the_manifests_words_are_a_persons(own: Manifest) -> None:
    """What the manifest ascribes to a person is all that comes out as a person's."""
    written = {(record["file"], record["text"]) for record in own.records if record["speaker"] == "person"}
    found = {(name, r.text) for name, reading in readings(own.home, own.agent).items() for r in spoken(reading) if r.speaker == "person"}
    assert found - written == set()
    assert written - found == set()


def golden_lines(home: Path, agent_id: str) -> Iterator[str]:
    """The stable fields of every record, and what each source skipped."""
    for name, reading in sorted(readings(home, agent_id).items()):
        for record in spoken(reading):
            row = {
                "file": name, "position": record.position, "block": record.block, "channel": record.channel, "store": record.store,
                "speaker": record.speaker, "kind": record.kind, "text": record.text,
                "timestamp": None if record.time_us is None else rfc3339(record.time_us),
            }  # fmt: skip
            names = ("conversation_id", "parent_conversation_id", "native_id", "cwd", "repo", "branch", "model", "tool", "title", "origin")
            row |= {key: value for key in names if (value := getattr(record, key)) is not None}
            yield json.dumps(row, ensure_ascii=False) + "\n"
        yield json.dumps({"file": name, "outcome": reading.outcome, "skipped": skips(reading)}) + "\n"


def test_records_equal_the_golden(own: Manifest, updating: bool) -> None:
    golden = STORES / own.agent / "records.jsonl"
    got = "".join(golden_lines(own.home, own.agent))
    if updating:
        golden.write_text(got, encoding="utf-8", newline="\n")
    assert got.splitlines() == golden.read_text(encoding="utf-8").splitlines()


def test_refs_are_distinct_and_the_same_in_every_run_and_in_a_moved_home(own: Manifest, tmp_path: Path) -> None:
    def refs(home: Path) -> list[str]:
        return [ref(record) for reading in readings(home, own.agent).values() for record in spoken(reading)]

    first = refs(own.home)
    assert len(first) == len(set(first)) > 0
    assert refs(own.home) == first
    assert refs(copied(own.home, tmp_path / "elsewhere")) == first
    assert not any("/" in one or "\\" in one or "~" in one for one in first)


def test_a_task_and_its_reading_survive_pickling(own: Manifest) -> None:
    query = everything(own.agent)
    for source in sources(own.home, query).values():
        task = Task(query, source)
        reading = read(pickle.loads(pickle.dumps(task)))
        assert pickle.loads(pickle.dumps(reading)) == reading
        again = read(task)
        assert (again.outcome, again.matches, again.counts) == (reading.outcome, reading.matches, reading.counts)


# --- the probe ------------------------------------------------------------------------------------------------------


def test_every_record_is_found_by_each_of_its_words_and_pairs_of_words(own: Manifest) -> None:
    """What a store promises about its bytes: a probe for any text of a record leads to that record, and to its equal."""
    checked = 0
    for name, source in sources(own.home, everything(own.agent)).items():
        if registry.store(source.store).traits.text_in is None or name in own.unsupported:
            continue
        whole = spoken(read(Task(everything(own.agent), source)))
        words = [record.text.split() for record in whole]
        queries = {word for inner in words for word in inner}
        queries |= {f"{one} {two}" for inner in words for one, two in pairwise(inner)}
        for text in sorted(queries):
            match = matcher(parse([text], literal=True).tree)
            wanted = [(record, spans) for record in whole if (spans := match(record.text)) is not None]
            got = [(m.record, m.spans) for m in read(Task(everything(own.agent, text), source)).matches]
            assert got == wanted, (name, text)
            checked += len(wanted)
    assert checked


@pytest.mark.parametrize("window", [64, 1021, 4096])
def test_records_do_not_depend_on_the_window(own: Manifest, window: int) -> None:
    query = everything(own.agent)
    for source in sources(own.home, query).values():
        whole, cut = read(Task(query, source)), read(Task(query, source, window=window))
        assert (cut.matches, cut.outcome, skips(cut)) == (whole.matches, whole.outcome, skips(whole))
        words = sorted({word for record in spoken(whole) for word in record.text.split()}, key=lambda word: (-len(word), word))[:5]
        for word in words:
            one = everything(own.agent, word)
            assert read(Task(one, source, window=window)).matches == read(Task(one, source, probing=False)).matches, word


# --- damage ---------------------------------------------------------------------------------------------------------

DAMAGE: dict[str, bytes] = {
    "torn": b'{"unfinished": "li\n',
    "not UTF-8": b"\xff\xfe\x80\n",
    "not UTF-8 in braces": b'{"\xff": "\xfe"}\n',
    "a list": b"[]\n",
    "a string": b'"type"\n',
    "null": b"null\n",
    "a number": b"12\n",
    "unknown": b'{"nobody": {"knows": [this, shape]}}\n',
    "unknown object": b'{"nobody": {"knows": ["this", "shape"]}}\n',
    "wrong types": b'{"type": 7, "payload": [], "message": 3, "display": {}, "text": 1, "timestamp": {}}\n',
    "deep": b'{"type":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "long number": b'{"type": ' + b"9" * 10_000 + b"}\n",
    "lone surrogate": b'{"nobody": "\\ud800"}\n',
    "glued fragment": b'{"unfinished": "li',
}
HARMLESS: dict[str, bytes] = {"blank lines": b"\n\n \n", "carriage return": b"\r\n", "NUL": b"\x00" * 600 + b"\n"}


def line_files(own: Manifest) -> Iterator[tuple[Source, bytes]]:
    """Every source of plain JSON lines with its bytes."""
    for name, source in sources(own.home, everything(own.agent)).items():
        if isinstance(registry.store(source.store).reader, Lines) and not name.endswith(".zst"):
            yield source, (own.home / name).read_bytes()


def a_line_file(own: Manifest) -> tuple[Source, bytes]:
    """The longest source of plain JSON lines."""
    found = sorted(line_files(own), key=lambda pair: len(pair[1]))
    if not found:
        pytest.skip(f"{own.agent} writes no JSON lines")
    return found[-1]


def damaged(source: Source, raw: bytes, folder: Path, word: str = "") -> Reading:
    """What reading the source would give if its file held other bytes."""
    path = folder / Path(source.path).name
    path.write_bytes(raw)
    query = everything(source.agent, *([word] if word else []))
    return read(Task(query, source._replace(path=str(path))))


def assert_same_records(before: Reading, after: Reading, what: object) -> None:
    assert after.outcome == "completed", what
    assert Counter(said(r) for r in spoken(after)) == Counter(said(r) for r in spoken(before)), what


def total(reading: Reading) -> int:
    return sum(skips(reading).values())


@pytest.mark.parametrize("kind", [*DAMAGE, *HARMLESS])
def test_damage_at_the_end_costs_skips_and_never_a_record(own: Manifest, kind: str, tmp_path: Path) -> None:
    damage = {**DAMAGE, **HARMLESS}[kind]
    for source, raw in line_files(own):
        whole = raw if raw.endswith(b"\n") else raw + b"\n"
        before, after = damaged(source, whole, tmp_path), damaged(source, whole + damage, tmp_path)
        assert_same_records(before, after, source.key)
        assert total(after) - total(before) == (kind in DAMAGE), (source.key, skips(before), skips(after))


@pytest.mark.parametrize("kind", [*DAMAGE, *HARMLESS])
def test_damage_between_any_two_lines_costs_skips_and_never_a_neighbour(own: Manifest, kind: str, tmp_path: Path) -> None:
    damage = {**DAMAGE, **HARMLESS}[kind]
    for source, raw in line_files(own):
        lines = raw.splitlines(keepends=True)
        glued = not damage.endswith(b"\n")
        if len(lines) < 2 or (glued and os.path.relpath(source.path, own.home) in own.unmarked):
            continue
        before = damaged(source, raw, tmp_path)
        after = damaged(source, damage.join(lines), tmp_path)
        assert_same_records(before, after, source.key)
        if glued:  # a line that was damaged before stays one damaged line
            assert total(after) >= len(lines) - 1, (source.key, skips(before), skips(after))
        else:
            assert total(after) - total(before) == (len(lines) - 1 if kind in DAMAGE else 0), (source.key, skips(before), skips(after))


def test_damage_is_counted_the_same_by_a_probing_search_that_finds_a_neighbour(own: Manifest, tmp_path: Path) -> None:
    for source, raw in line_files(own):
        lines = raw.splitlines(keepends=True)
        record = next(iter(spoken(damaged(source, raw, tmp_path))))
        word = max(record.text.split(), key=len)
        before = damaged(source, raw, tmp_path, word)
        after = damaged(source, b"null\n[]\n".join(lines), tmp_path, word)
        assert_same_records(before, after, source.key)
        assert before.matches
        assert skips(after).get("malformed", 0) - skips(before).get("malformed", 0) == 2 * (len(lines) - 1)


def test_carriage_returns_and_a_byte_order_mark_cost_nothing(own: Manifest, tmp_path: Path) -> None:
    for source, raw in line_files(own):
        before = damaged(source, raw, tmp_path)
        for what, other in (
            ("CRLF", raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
            ("BOM", b"\xef\xbb\xbf" + raw.removeprefix(b"\xef\xbb\xbf")),
            ("no final newline", raw.removesuffix(b"\n")),
        ):
            after = damaged(source, other, tmp_path)
            assert_same_records(before, after, (what, source.key))
            assert total(after) == total(before), (what, source.key)


def test_long_lines_cost_no_neighbour(own: Manifest, tmp_path: Path) -> None:
    long = 5 << 20
    for source, raw in line_files(own):
        lines = raw.splitlines(keepends=True)
        before = damaged(source, raw, tmp_path)
        for damage in (b"x" * long + b"\n", b'{"nobody":"' + b"x" * long + b'"}\n'):
            after = damaged(source, b"".join([lines[0], damage, *lines[1:]]), tmp_path)
            assert_same_records(before, after, source.key)
            assert total(after) == total(before) + 1, source.key


def test_a_line_beyond_the_cap_is_passed_over_in_bounded_memory(own: Manifest, tmp_path: Path) -> None:
    cap, size = 1 << 20, 20 << 20
    source, raw = a_line_file(own)
    lines = raw.splitlines(keepends=True)
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(lines[0])
        for _ in range(size >> 20):
            file.write(b"y" * (1 << 20))
        file.write(b"\n")
        file.writelines(lines[1:])
    task = Task(everything(own.agent), source._replace(path=str(path)), window=1 << 16, line_cap=cap)
    before = damaged(source, raw, tmp_path)
    tracemalloc.start()
    after = read(task)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_same_records(before, after, source.key)
    assert skips(after) == Counter(skips(before)) + Counter(oversized=1)
    assert peak < 4 * cap


def test_a_search_can_be_cancelled_inside_a_line_beyond_the_cap(own: Manifest, tmp_path: Path) -> None:
    source, raw = a_line_file(own)
    path = tmp_path / "long.jsonl"
    path.write_bytes(raw.splitlines(keepends=True)[0] + b"y" * (1 << 20))
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 3

    reading = read(Task(everything(own.agent), source._replace(path=str(path)), window=1 << 12, line_cap=1 << 14), cancelled)
    assert reading.outcome == "cancelled"
    assert reading.bytes_read < 1 << 19


def test_a_line_of_a_hundred_megabytes_stays_within_memory(own: Manifest, private: Callable[[Path], Path], outside: dict[str, str]) -> None:
    home = private(own.home)
    name = next((name for name in sorted(own.transcripts) if name.endswith(".jsonl")), None)
    if name is None:
        pytest.skip(f"{own.agent} writes no conversation as JSON lines")
    before = search(agent=own.agent, effort="exhaustive", home=home)
    with (home / name).open("r+b") as file:
        last = file.read()[-1:]
        file.write(b"" if last == b"\n" else b"\n")
        for _ in range(100):
            file.write(b"y" * (1 << 20))
        file.write(b"\n")
    code = (
        "import json, os, resource, sys; from deepgrep import search; "
        f"s = search(agent={own.agent!r}, effort='exhaustive', home={str(home)!r}).summary; "
        # What rusage says outlives the start of a program: a large process that starts a small one hands its peak down.
        "status = open('/proc/self/status').read() if os.path.exists('/proc/self/status') else ''; "
        "peak = int(status.partition('VmHWM:')[2].split()[0]) * 1024 if status else "
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == 'darwin' else 1024); "
        "print(json.dumps([s.match_count, s.status.state, s.coverage['records']['skipped']['oversized'], peak]))"
    )
    out = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, check=True).stdout
    count, state, oversized, peak = json.loads(out)
    assert (count, state, oversized) == (before.summary.match_count, before.summary.status.state, 1)
    assert peak < (80 + 2 * 64) << 20  # design.md 9: one window, which grows to the line cap


# --- links, refusals, files that change -----------------------------------------------------------------------------


def reasons(answer: object, agent_id: str) -> dict[str, int]:
    return answer.summary.coverage["agents"][agent_id]["reasons"]  # type: ignore[attr-defined, no-any-return]


def told(home: Path, agent_id: str) -> Counter[tuple[str, tuple[object, ...]]]:
    """Everything that comes out of a home, by file."""
    return Counter((name, said(r)) for name, reading in readings(home, agent_id).items() for r in spoken(reading))


def test_a_link_out_of_the_home_is_refused_and_counted(own: Manifest, private: Callable[[Path], Path], tmp_path: Path) -> None:
    for number, name in enumerate(each_source(own)):
        home = private(own.home)
        away = tmp_path / f"away{number}"
        away.mkdir()
        (home / name).rename(away / "file")
        (home / name).symlink_to(away / "file")
        with recording() as ledger:
            answer = search(agent=own.agent, effort="exhaustive", home=home)
        assert not ledger.opened_below(away), name
        assert reasons(answer, own.agent)["link_refused"] == 1, name
        assert not any(result.record.source.path == str(home / name) for result in answer.results)
        counts = answer.summary.coverage["sources"]
        assert counts["discovered"] > counts["eligible"]


def test_a_linked_folder_out_of_the_home_is_refused_and_counted(own: Manifest, private: Callable[[Path], Path], tmp_path: Path) -> None:
    shared = {parent.as_posix() for name in own.prompts for parent in Path(name).parents}
    roots = {place for entry in registry.ENTRIES if entry.id == own.agent for root in entry.roots for place in root.places}
    folders = {Path(name).parent.as_posix() for name in own.transcripts} - shared - roots
    assert folders
    for number, folder in enumerate(sorted(folders)):
        home = private(own.home)
        away = tmp_path / f"away{number}"
        (home / folder).rename(away)
        (home / folder).symlink_to(away, target_is_directory=True)
        with recording() as ledger:
            answer = search(agent=own.agent, effort="exhaustive", home=home)
        assert not ledger.opened_below(away), folder
        assert not ledger.listed_below(away), folder
        assert reasons(answer, own.agent)["link_refused"] >= 1, folder


def test_links_that_lead_round_in_circles_end(own: Manifest, private: Callable[[Path], Path]) -> None:
    home = private(own.home)
    wanted = told(own.home, own.agent)
    folders = {parent for name in own.transcripts for parent in Path(name).parents if parent != Path(".")}
    for folder in sorted(folders):
        for name, target in (("loop", "."), ("up", ".."), ("self.jsonl", "self.jsonl")):
            (home / folder / name).symlink_to(target)
    assert told(home, own.agent) == wanted


def test_a_second_name_of_a_file_is_read_once(own: Manifest, private: Callable[[Path], Path]) -> None:
    home = private(own.home)
    before = search(agent=own.agent, effort="exhaustive", dedupe=False, home=home)
    for name in paths(own.transcripts):
        path = home / name
        (path.parent / ("agent-zz" + path.name if path.name.startswith("agent-") else path.stem + "0" + path.suffix)).symlink_to(path.name)
    after = search(agent=own.agent, effort="exhaustive", dedupe=False, home=home)
    assert Counter(r.record.text for r in after.results) == Counter(r.record.text for r in before.results)


def failed_without(answer: object, own: Manifest, name: str, code: str) -> None:
    """One source failed, everything else came out, and nothing claims more."""
    summary = answer.summary  # type: ignore[attr-defined]
    assert summary.status.state == "failed"
    assert summary.status.reason == "source_failure"
    assert summary.completed_effort is None
    counts = summary.coverage["sources"]
    there = own.prompts | own.transcripts
    failed = sum(path_of(one) == name for one in there)
    assert (counts["failed"], counts["completed"]) == (failed, len(there) - failed)
    assert reasons(answer, own.agent)[code] == failed
    wanted = {(path_of(file), one[5]) for (file, one) in told(own.home, own.agent) if path_of(file) != name and one[4] != "context"}
    home = Path(answer.results[0].record.source.path)  # type: ignore[attr-defined]
    got = {(result.record.source.path, result.record.text) for result in answer.results}  # type: ignore[attr-defined]
    for file, text in wanted:
        assert any(path.endswith(file) and text == other for path, other in got), (file, text, home)


def each_source(own: Manifest) -> list[str]:
    return sorted(paths(own.prompts, own.transcripts))


def test_a_file_without_permission_is_one_failed_source(
    own: Manifest, private: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = private(own.home)
    real = os.open
    for name in each_source(own):

        def refusing(path: object, *args: object, name: str = name, **options: object) -> int:
            if path == str(home / name):
                raise PermissionError(13, "Permission denied", path)
            return real(path, *args, **options)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refusing)
            answer = search(agent=own.agent, effort="exhaustive", dedupe=False, home=home)
        failed_without(answer, own, name, "permission")


def test_a_pipe_under_a_sources_name_neither_blocks_nor_hides(own: Manifest, private: Callable[[Path], Path]) -> None:
    for name in each_source(own):
        home = private(own.home)
        (home / name).unlink()
        os.mkfifo(home / name)
        failed_without(search(agent=own.agent, effort="exhaustive", dedupe=False, home=home), own, name, "not_a_file")


def test_a_folder_under_a_sources_name_is_no_source_and_no_crash(own: Manifest, private: Callable[[Path], Path]) -> None:
    for name in each_source(own):
        home = private(own.home)
        (home / name).unlink()
        (home / name).mkdir()
        answer = search(agent=own.agent, effort="exhaustive", home=home)
        assert answer.summary.coverage["sources"]["failed"] == 0
        assert not any(result.record.source.path == str(home / name) for result in answer.results)


def test_a_file_that_vanishes_after_listing_is_one_failed_source(own: Manifest, private: Callable[[Path], Path]) -> None:
    for name in each_source(own):
        home = private(own.home)
        results, summary = [], None
        for event in events(agent=own.agent, effort="exhaustive", dedupe=False, home=home):
            if isinstance(event, Started):
                (home / name).unlink()
            elif isinstance(event, Finished):
                summary = event.summary
            elif not isinstance(event, SourceFinished):
                results.append(event)
        answer = type("Answer", (), {"results": results, "summary": summary})
        failed_without(answer, own, name, "vanished")


class _Once:
    """Asked before each window; at the second time it changes the file. Never cancels."""

    def __init__(self, change: Callable[[], object]) -> None:
        self.change, self.asked = change, 0

    def __call__(self) -> bool:
        self.asked += 1
        if self.asked == 2:
            self.change()
        return False


def long_source(own: Manifest, tmp_path: Path) -> tuple[Task, Path, bytes]:
    """A source of many windows: the fixture's longest, with small windows."""
    source, raw = a_line_file(own)
    path = tmp_path / "live.jsonl"
    path.write_bytes(raw)
    return Task(everything(own.agent), source._replace(path=str(path)), window=512), path, raw


def test_a_file_that_shrinks_while_read_fails_and_keeps_what_was_read(own: Manifest, tmp_path: Path) -> None:
    task, path, raw = long_source(own, tmp_path)
    whole = Counter((r.speaker, r.kind, r.text) for r in spoken(read(task)))
    cut = len(raw) // 2
    after = read(task, _Once(lambda: os.truncate(path, cut)))
    assert (after.outcome, after.reason) == ("failed", "changed_while_read")
    kept = Counter((r.speaker, r.kind, r.text) for r in spoken(after))
    assert kept <= whole
    assert 0 < kept.total() < whole.total()


def test_a_file_that_is_replaced_while_read_is_read_as_it_was(own: Manifest, tmp_path: Path) -> None:
    task, path, _ = long_source(own, tmp_path)
    whole = read(task)

    def replace() -> None:
        (tmp_path / "new").write_bytes(b"{}\n")
        (tmp_path / "new").replace(path)

    after = read(task, _Once(replace))
    assert after.outcome == "completed"
    # Neighbours are read through a second opening, which is refused: some records may decide without them. None is lost.
    assert len(after.matches) >= len(whole.matches)
    assert {r.text for r in spoken(whole)} <= {r.text for r in spoken(after)}


def test_what_is_appended_while_reading_is_left_for_the_next_search(own: Manifest, tmp_path: Path) -> None:
    task, path, raw = long_source(own, tmp_path)
    whole = read(task)
    after = read(task, _Once(lambda: path.write_bytes(raw + raw)))
    assert (after.matches, after.outcome, after.counts) == (whole.matches, "completed", whole.counts)


def refusing(real: Callable[..., object], folder: Path) -> Callable[..., object]:
    """A way to list folders that may not list this one."""

    def call(path: object = ".") -> object:
        if path == str(folder):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    return call


def test_an_unlistable_folder_is_counted_as_a_failure(own: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    with recording() as ledger:
        search(agent=own.agent, effort="exhaustive", home=own.home)
    listed = [folder for folder in sorted(ledger.listed_below(own.home)) if any(name.startswith(folder + "/") for name in own.transcripts)]
    assert listed
    for folder in listed:
        with monkeypatch.context() as patch:
            for name in ("listdir", "scandir"):
                patch.setattr(os, name, refusing(getattr(os, name), own.home / folder))
            answer = search(agent=own.agent, effort="exhaustive", home=own.home)
        assert answer.summary.status.state == "failed", folder
        assert answer.summary.coverage["sources"]["failed"] == 1, folder
        assert reasons(answer, own.agent)["folder_unreadable"] == 1, folder


def test_every_agent_of_the_registry_has_a_fixture_and_a_manifest() -> None:
    assert set(FIXTURES) == set(AGENTS)
    assert {path.name for path in STORES.iterdir() if path.is_dir()} == set(AGENTS)


def test_reading_leaves_a_snapshot_equal_to_itself(own: Manifest) -> None:
    """The witness of the unchanged-home tests sees a change of one byte, one mode and one time."""
    before = snapshot(own.home)
    assert before == snapshot(own.home)
    assert len(before) > len(own.prompts)
