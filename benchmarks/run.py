"""Measure deepgrep beside ripgrep on the same files, and write the table of docs/benchmarks.md.

    python benchmarks/run.py                     # a corpus of 200 MB, made once below benchmarks/corpus
    python benchmarks/run.py --size 1G --check   # exit 1 where a bar is missed
    python benchmarks/run.py --corpus DIR        # an existing home; prints the table

All commands of a round run one after the other (A B C, A B C, ...), and ratios are medians of the ratios within a round, so
that a busy machine weighs on both sides. Peak memory is what the kernel says of the process and its workers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from corpus import ABSENT, COMMON, bytes_of

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"
LIMIT_S = 60  # of any command; what is cut off there has missed every bar
MEMORY_MB = 80  # of one process, beside three times the longest line decoded


class Bar(NamedTuple):
    """What a row may take at most: `times` the median of the row `base`, plus milliseconds for each 10 MB of history."""

    base: str
    times: float
    ms_each_10_mb: float = 0
    source: str = "issue 4"


class Row(NamedTuple):
    """One measured command. `words` follow `deepgrep`, unless `program` names another."""

    name: str
    words: tuple[str, ...]
    program: str = "deepgrep"
    bar: Bar | None = None
    memory_mb: int | None = None
    heavy: bool = True
    per_process: bool = True  # the memory bar grows with the longest line
    once: bool = False  # too long for every round


WHOLE = ("search", "--exhaustive", "--scope", "all")
NEWEST = ("--limit", "20", "--order", "newest")
ROWS = (
    Row("bare `python -c pass`", ("-c", "pass"), "python", heavy=False),
    Row("`--version`", ("--version",), bar=Bar("bare `python -c pass`", 3), heavy=False),
    Row("`--help`", ("--help",), bar=Bar("bare `python -c pass`", 3), heavy=False),
    Row("`search --help`", ("search", "--help"), heavy=False),
    Row("prompt, rare word", ("search", "{rare}"), bar=Bar("bare `python -c pass`", 4, 5), memory_mb=MEMORY_MB, heavy=False),
    Row("prompt, common word", ("search", "{common}"), bar=Bar("bare `python -c pass`", 4, 5), memory_mb=MEMORY_MB, heavy=False),
    Row(
        "targeted, 40 conversations match, 25 are read", ("search", "--deep", "--conversation-limit", "25", "{forty}"),
        bar=Bar("bare `python -c pass`", 7), memory_mb=MEMORY_MB, heavy=False,
    ),
    Row("`rg -j1 -c -i -F`, no match", ("-j1", "{absent}"), "rg"),
    Row("`rg -j2 -c -i -F`, no match", ("-j2", "{absent}"), "rg"),
    Row("`rg -j1 -c -i -F`, common word", ("-j1", "{common}"), "rg"),
    Row(
        "exhaustive, no match", (*WHOLE, "--workers", "1", "{absent}"),
        bar=Bar("`rg -j1 -c -i -F`, no match", 1.3), memory_mb=MEMORY_MB,
    ),
    Row(
        "exhaustive, rare word", (*WHOLE, "--workers", "1", "{rare}"),
        bar=Bar("`rg -j1 -c -i -F`, no match", 1.3), memory_mb=MEMORY_MB,
    ),
    Row("exhaustive, no match, two workers", (*WHOLE, "--workers", "2", "{absent}"), bar=Bar("`rg -j2 -c -i -F`, no match", 1.3)),
    Row("exhaustive, rare word, two workers", (*WHOLE, "--workers", "2", "{rare}"), bar=Bar("`rg -j2 -c -i -F`, no match", 1.3)),
    Row(
        "exhaustive, common word, the newest 20", (*WHOLE, "--workers", "1", *NEWEST, "{common}"),
        bar=Bar("`rg -j1 -c -i -F`, common word", 1.5), memory_mb=MEMORY_MB,
    ),
    Row(
        "exhaustive, common word, all, as NDJSON", (*WHOLE, "--workers", "1", "--order", "scan", "--ndjson", "{common}"),
        bar=Bar("`rg -j1 -c -i -F`, common word", 10), memory_mb=150, per_process=False, once=True,
    ),
)  # fmt: skip
ZST_ROWS = (
    Row("zstd: `rg -z -j1 -c -i -F`, no match", ("-z", "-j1", "{absent}"), "rg"),
    Row("zstd: exhaustive, no match", (*WHOLE, "--workers", "1", "{absent}"), memory_mb=MEMORY_MB),
)
# Other tools, where they are installed: name, and the words that search everything for a rare word.
PEERS = (
    Row("`agentgrep`, rare word", ("grep", "-F", "{rare}"), "agentgrep"),
    Row("`cass`, rare word (without building its index)", ("search", "{rare}", "--json"), "cass"),
)


class Sample(NamedTuple):
    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int


class Measured(NamedTuple):
    """A row's samples by round, and the medians of its ratios to the first row and to its bar's."""

    row: Row
    samples: list[Sample]
    to_bare: float
    to_base: float | None
    cpu_to_base: float | None

    @property
    def wall_s(self) -> float:
        return median(sample.wall_s for sample in self.samples)


# --- running ------------------------------------------------------------------------------------------------------


def environment(home: Path) -> dict[str, str]:
    """Nobody's variables, and the bytecode of this very source."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")}
    return {**kept, "HOME": str(home), "NO_COLOR": "1"}


def roots(home: Path) -> list[str]:
    """The folders of this home that agents fill."""
    from deepgrep.registry import ENTRIES

    places = [home / place for entry in ENTRIES for root in entry.roots for place in root.places]
    return [str(place) for place in dict.fromkeys(places) if place.exists()]


def command(row: Row, home: Path, texts: Mapping[str, str]) -> list[str]:
    words = [word.format(**texts) if word[0] == "{" else word for word in row.words]
    if row.program == "python":
        return [sys.executable, *words]
    if row.program == "deepgrep":
        script = Path(sys.executable).with_name("deepgrep")
        found = [str(script)] if script.exists() else [sys.executable, "-m", "deepgrep"]
        return [*found, words[0], "--home", str(home), *words[1:]] if words[0] == "search" else [*found, *words]
    if row.program == "rg":
        return ["rg", *words[:-1], "-c", "-i", "-F", "--hidden", "--no-ignore", "--no-config", "-e", words[-1], *roots(home)]
    return [row.program, *words]


def sample(argv: Sequence[str], home: Path) -> Sample:
    """Run once, with output to a file as a pipe's reader would take time of its own."""
    env = environment(home)
    with tempfile.TemporaryFile() as out:
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)]
        began = time.perf_counter()
        pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions)
        watch = threading.Timer(LIMIT_S, os.kill, (pid, signal.SIGTERM))
        watch.start()
        _, status, used = os.wait4(pid, 0)
        watch.cancel()
        wall_s = time.perf_counter() - began
        out.seek(0)
        if b"Traceback" in out.read(4000):
            raise SystemExit(f"broken: {' '.join(argv)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Sample(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6, os.waitstatus_to_exitcode(status))


def compile_sources() -> None:
    """Stale bytecode would be compiled again in every run."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "src" / "deepgrep")], check=False, env=env)


def measure(rows: Sequence[Row], home: Path, texts: Mapping[str, str], rounds: int) -> list[Measured]:
    """Each round runs every row once."""
    argvs = {row.name: command(row, home, texts) for row in rows}
    samples: dict[str, list[Sample]] = {row.name: [] for row in rows}
    for number in range(rounds + 1):  # the first one warms the caches
        compile_sources()
        for row in rows:
            if row.once and number != 1:
                continue
            one = sample(argvs[row.name], home)
            if one.wall_s < LIMIT_S and one.status != ("{absent}" in row.words):  # 1 is: nothing found
                raise SystemExit(f"{row.name}: exit status {one.status}: {' '.join(argvs[row.name])}")
            if number:
                samples[row.name].append(one)
        print(f"\r{rows[-1].name}: round {number} of {rounds}", end="", file=sys.stderr)
    print(file=sys.stderr)
    first = samples[rows[0].name]
    out = []
    for row in rows:
        base = samples.get(row.bar.base) if row.bar else None
        some = samples[row.name]
        to_base = (ratio(some, base), median(one.cpu_s / other.cpu_s for one, other in zip(some, base))) if base else (None, None)
        out.append(Measured(row, some, ratio(some, first), *to_base))
    return out


def ratio(some: Sequence[Sample], base: Sequence[Sample]) -> float:
    return median(one.wall_s / other.wall_s for one, other in zip(some, base))


# --- what must be found -------------------------------------------------------------------------------------------


class Planted(NamedTuple):
    name: str
    text: str
    kinds: Counter[str]  # empty kind: any
    files: frozenset[str]

    @property
    def count(self) -> int:
        return self.kinds.total()


def planted(truth: Mapping[str, object]) -> list[Planted]:
    """The needles of a truth file: a list of places, or, as another generator writes it, lists of places by name."""
    needles = truth["needles"]
    places = needles if isinstance(needles, list) else [
        {"name": name, "text": one["text"], "kind": "", "file": hit["file"]} for name, one in needles.items() for hit in one["hits"]
    ]  # fmt: skip
    by_text: dict[str, list[dict[str, str]]] = {}
    for place in places:
        by_text.setdefault(place["text"], []).append(place)
    return [
        Planted(some[0]["name"], text, Counter(one["kind"] for one in some), frozenset(one["file"] for one in some))
        for text, some in by_text.items()
    ]


def recall(home: Path, needles: Sequence[Planted]) -> tuple[int, int, dict[str, str], int]:
    """How many planted needles deepgrep finds, of how many; what is lacking, by name; and of how many rg finds the files."""
    row = Row("recall", (*WHOLE, "--workers", "1", "--json", "-F", "{text}"))
    lister = Row("files", ("-j2", "-l", "{text}"), "rg")
    found, seen = 0, 0
    lacking: dict[str, str] = {}
    for needle in needles:
        texts, late = {"text": needle.text}, ""
        try:
            run = subprocess.run(command(row, home, texts), capture_output=True, check=False, env=environment(home), timeout=LIMIT_S)
            results = json.loads(run.stdout)["results"]
        except subprocess.TimeoutExpired:
            results, late = [], f" (no answer within {LIMIT_S} s)"
        kinds = Counter(result["kind"] for result in results)
        got = min(len(results), needle.count) if "" in needle.kinds else (needle.kinds & kinds).total()
        found += got
        if got < needle.count:
            lacking[needle.name] = f"{needle.count - got} of {needle.name}{late}"
        argv = [word for word in command(lister, home, texts) if word != "-c"]
        files = subprocess.run(argv, capture_output=True, check=False, env=environment(home)).stdout.decode().splitlines()
        told = {os.path.relpath(file, home) for file in files}
        seen += round(needle.count * len(needle.files & told) / len(needle.files))
    return found, sum(needle.count for needle in needles), lacking, seen


# --- corpora ------------------------------------------------------------------------------------------------------


def own_corpus(size: str, seed: int) -> Path:
    """The corpus of this size, made by this generator; made again when the generator changes."""
    from zlib import crc32

    mark = f"{crc32((HERE / 'corpus.py').read_bytes()):08x}"
    out = HERE / "corpus" / f"{size}-{seed}-{mark}"
    if not (out / "truth.json").exists():
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([sys.executable, str(HERE / "corpus.py"), str(out), "--size", size, "--seed", str(seed)], check=True)
    return out


def compressed(home: Path, limit_bytes: int = 200_000_000) -> Path | None:
    """A home with the rollouts of another, compressed as the agent does with old ones; None without an encoder."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        return None
    out = HERE / "corpus" / f"zst-{home.name}"
    if out.exists():
        return out
    left = limit_bytes
    for path in sorted((home / ".codex" / "sessions").rglob("rollout-*.jsonl")):
        if path.stat().st_size > left:
            continue
        left -= path.stat().st_size
        target = out / path.relative_to(home).with_name(path.name + ".zst")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(zstd.compress(path.read_bytes(), 3))
    return out if out.exists() else None


def compressed_apart(home: Path) -> Path | None:
    """`compressed` in a process of its own: a measured one starts with the peak of whoever starts it."""
    if (pid := os.fork()) == 0:
        compressed(home)
        os._exit(0)
    os.waitpid(pid, 0)
    out = HERE / "corpus" / f"zst-{home.name}"
    return out if out.exists() else None


def facts(home: Path) -> dict[str, int]:
    """What the bars need to know of a home: bytes, files, history bytes, the longest line."""
    files = [path for root in roots(home) for path in Path(root).rglob("*") if path.is_file()]
    history = sum(path.stat().st_size for path in files if path.name.startswith("history.json"))
    longest = 0
    for path in files:
        if path.suffix == ".jsonl":
            with path.open("rb") as lines:
                longest = max(longest, max(map(len, lines), default=0))
    return {"bytes": sum(path.stat().st_size for path in files), "files": len(files), "history": history, "longest": longest}


# --- the page -----------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    row: Row
    what: str
    measured: float
    bar: float

    @property
    def is_missed(self) -> bool:
        return self.measured > self.bar


def verdicts(measured: Sequence[Measured], about: Mapping[str, int]) -> Iterator[Verdict]:
    """Every bar beside what was measured: in seconds and in megabytes."""
    by_name = {one.row.name: one for one in measured}
    for one in measured:
        bar = one.row.bar
        if bar and one.to_base is not None:
            added = bar.ms_each_10_mb / 1000 * about["history"] / 10e6 / by_name[bar.base].wall_s
            yield Verdict(one.row, f"x {bar.base}", one.to_base, bar.times + added)
        if one.row.memory_mb:
            longest = 3 * about["longest"] / 1e6 if one.row.per_process else 0
            yield Verdict(one.row, "MB", max(sample.peak_mb for sample in one.samples), one.row.memory_mb + longest)


def page(measured: Sequence[Measured], checked: Sequence[Verdict], about: Mapping[str, int], found: str, asked: str) -> str:
    by_name = {one.row.name: one.samples for one in measured}
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench`; rerun it on your machine with other sizes through `BENCH_FLAGS`. Warm cache. Commands take turns; times are",
        "medians, ratios are medians of the ratios within a round. `x bar` is the ratio to the command that the bar names, `CPU x bar`",
        "the same in processor time, which a busy machine distorts less. Peaks start at what the measuring process itself holds.",
        f"A command is stopped after {LIMIT_S} s.",
        "",
        f"- machine: {machine()}; load {os.getloadavg()[0]:.1f} at the end",
        f"- versions: {versions()}",
        f"- corpus: {about['bytes'] / 1e6:.0f} MB in {about['files']} files; prompt histories {about['history'] / 1e6:.2f} MB",
        f"- longest line: {about['longest'] / 1e6:.1f} MB",
        f"- date: {time.strftime('%Y-%m-%d', time.gmtime())}",
        f"- command: `{asked}`",
        f"- {found}",
        "",
        "| run | wall ms | CPU ms | x bare | x `rg -j1` | x `rg -j2` | peak MB | x bar | CPU x bar | bar | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    by_row = {(verdict.row.name, verdict.what == "MB"): verdict for verdict in checked}
    for one in measured:
        time_bar, memory_bar = by_row.get((one.row.name, False)), by_row.get((one.row.name, True))
        missed = [verdict for verdict in (time_bar, memory_bar) if verdict and verdict.is_missed]
        zstd = "zstd: " * one.row.name.startswith("zstd: ")
        to_rg = [by_name.get(f"{zstd}`rg {'-z ' * bool(zstd)}-j{jobs} -c -i -F`, no match") for jobs in (1, 2)]
        bars = [f"{time_bar.bar:.2f}"] if time_bar else []
        bars += [f"{memory_bar.bar:.0f} MB"] if memory_bar else []
        cells = [
            one.row.name,
            f"{'over ' * (one.wall_s >= LIMIT_S)}{one.wall_s * 1000:.0f}",
            f"{median(sample.cpu_s for sample in one.samples) * 1000:.0f}",
            f"{one.to_bare:.2f}" if not one.row.heavy else "",
            *(f"{ratio(one.samples, samples):.2f}" if samples and one.row.heavy else "" for samples in to_rg),
            f"{max(sample.peak_mb for sample in one.samples):.0f}",
            f"{time_bar.measured:.2f}" if time_bar else "",
            f"{one.cpu_to_base:.2f}" if one.cpu_to_base is not None else "",
            ", ".join(bars),
            "missed" if missed else "met" if bars else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    sources = ", ".join(sorted({one.row.bar.source for one in measured if one.row.bar}))
    lines += ["", f"Bars: {sources}. Memory: {MEMORY_MB} MB a process and three times the longest line; all as NDJSON: 150 MB."]
    return "\n".join([*lines, ""])


def machine() -> str:
    model, memory = platform.processor() or platform.machine(), ""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        model = found[1] if found else model
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB"
    except (OSError, ValueError):
        pass
    return f"{os.cpu_count()} cores, {model}{memory}, {platform.system()} {platform.release().split('-')[0]}"


def versions() -> str:
    out = [f"Python {platform.python_version()}"]
    for argv in ([str(Path(sys.executable).with_name("deepgrep")), "--version"], ["rg", "--version"]):
        run = subprocess.run(argv, capture_output=True, text=True, check=False)
        out += run.stdout.splitlines()[:1]
    return ", ".join(out)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure deepgrep beside ripgrep on the same files.")
    parser.add_argument("--size", default="200M", help="of the corpus to make or reuse (default: 200M)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--corpus", type=Path, help="an existing home with a truth.json; the table is printed")
    parser.add_argument("--rounds", type=int, default=5, help="of the heavy commands; light ones run three times as often")
    parser.add_argument("--out", type=Path, help="where the table goes (default: docs/benchmarks.md)")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    options = parser.parse_args(words)
    if not shutil.which("rg"):
        parser.error("ripgrep is not on PATH: without it there is nothing to compare with")
    bytes_of(options.size)
    compile_sources()
    home = options.corpus.resolve() if options.corpus else own_corpus(options.size, options.seed)
    truth = json.loads((home / "truth.json").read_text(encoding="utf-8"))
    needles = planted(truth)
    texts = texts_of(truth, needles)
    about = facts(home)
    measured = measure([row for row in ROWS if not row.heavy], home, texts, 3 * options.rounds)
    peers = [row for row in PEERS if shutil.which(row.program)]
    measured += measure([row for row in ROWS if row.heavy] + peers, home, texts, options.rounds)
    for one in measured:  # recall takes a while: what is known by now is not lost with it
        print(f"{one.row.name}: {one.wall_s * 1000:.0f} ms, x bar {one.to_base}, in processor time {one.cpu_to_base}", file=sys.stderr)
    if (zst := compressed_apart(home)) is not None:
        measured += measure([row for row in ZST_ROWS if row.program != "rg" or shutil.which("zstd")], zst, texts, options.rounds)
    got, of, lacking, seen = recall(home, needles)
    lacks = f"; lacking: {', '.join(lacking.values())}" if lacking else ""
    told = f"recall: deepgrep finds {got} of {of} planted needles ({got / of:.1%}){lacks}; `rg` {seen} of them ({seen / of:.1%})"
    checked = list(verdicts(measured, about))
    asked = " ".join(["python benchmarks/run.py", *(sys.argv[1:] if options.corpus is None else ["--corpus DIR"])])
    text = page(measured, checked, about, told, asked)
    out = options.out or (None if options.corpus else PAGE)
    print(text)
    if out:
        out.write_text(text, encoding="utf-8")
    missed = [verdict for verdict in checked if verdict.is_missed]
    for verdict in missed:
        print(f"missed: {verdict.row.name}: {verdict.measured:.2f} {verdict.what}, bar {verdict.bar:.2f}", file=sys.stderr)
    return int(options.check and bool(missed or lacking))


def texts_of(truth: Mapping[str, object], needles: Sequence[Planted]) -> dict[str, str]:
    """A rare word (in prompts and conversations), one of 40 conversations, a common and an absent one."""
    by_name = {needle.name: needle.text for needle in needles}
    forty = by_name.get("forty") or by_name.get("cap_prompt") or ""
    rare = by_name.get("prompt") or by_name.get("prompt_rare") or ""
    common = truth["common"] if isinstance(truth["common"], str) else COMMON
    return {"rare": rare, "forty": forty, "common": common, "absent": ABSENT}


if __name__ == "__main__":
    sys.exit(main())
