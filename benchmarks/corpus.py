"""Make a home as coding agents leave it, of any size, with needles whose places are known.

    python benchmarks/corpus.py OUT --size 1G --seed 7 --agents claude,codex

OUT is a home for `deepgrep --home OUT`; OUT/truth.json, which no agent reads, says what was planted where. The same
arguments give the same bytes. Standard library only. A further agent is one writer and one line of AGENTS.

What it imitates: file sizes with a heavy tail, most bytes in tool output, lines over a megabyte, images, `\\u` escapes,
text without spaces, decomposed text, pastes, queued prompts, slash commands, summaries, subagents, forks that copy their
parent's first turn, prompts that outlived their transcript, and conversations without a person, which no history knows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import unicodedata
from base64 import b64encode
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")
NOW_S = 1_795_000_000  # 2026-11-18: every run of every year makes the same corpus
DAY_S = 86_400
COMMON = "error"
ABSENT = "xylophonequartz"


# --- what is planted ----------------------------------------------------------------------------------------------


class Needle(NamedTuple):
    """A text to ask for, the kind of record that holds it, and in how many conversations it is planted."""

    name: str
    text: str
    kind: str
    count: int
    written: str | None = None  # where the file has it in another form
    escaped: bool = False  # every character beyond ASCII as \u
    where: str = "plain"  # which conversations carry it: plain, headless, gone, subagent, forked, biggest
    at: str = "middle"  # of the piece: middle, end, giant (the end of a line over a megabyte), paste, file, last (line of the file)
    agents: tuple[str, ...] = ()  # all, unless named


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


NEEDLES = (
    Needle("prompt", "quillmarten", "prompt", 12),
    Needle("prompt-capitals", "brasshollow", "prompt", 4, written="BrassHOLLOW"),
    Needle("prompt-gone", "ghostorchard", "prompt", 4, where="gone"),
    Needle("prompt-headless", "lonelypier", "prompt", 4, where="headless"),
    Needle("prompt-paste", "pastelantern", "prompt", 4, at="paste"),
    Needle("phrase", "the kettle sings at dawn", "prompt", 4),
    Needle("phrase-lines", "brindle marrowgate", "reply", 4, written="brindle\n   marrowgate"),
    Needle("phrase-other-order", "at dawn sings the kettle", "prompt", 4),
    Needle("reply", "marblefinch", "reply", 12),
    Needle("reasoning", "umberthistle", "reasoning", 8),
    Needle("arguments", "gantryfern", "call", 8),
    Needle("output", "thrumcastle", "output", 16),
    Needle("output-giant", "deepwellcedar", "output", 4, at="giant"),
    Needle("output-file", "persistedheath", "output", 2, at="file", agents=("claude",)),
    Needle("summary", "parsleydrum", "summary", 4),
    Needle("subagent", "sidecarwillow", "reply", 4, where="subagent"),
    Needle("fork", "twicetoldbriar", "prompt", 4, where="forked"),
    Needle("fork-reply", "twicetoldhazel", "reply", 4, where="forked"),
    Needle("last", "tailwindmoss", "reply", 2, where="biggest", at="last"),
    Needle("escaped", "überglöckchen", "reply", 4, escaped=True),
    Needle("escaped-prompt", "äolsdämmerung", "prompt", 4, escaped=True),
    Needle("quoted", 'say "ahoy" to C:\\tmp\\café', "reply", 4),
    Needle("composed", "crèmehütte", "reply", 4),
    Needle("decomposed", "fjällstugé", "output", 4, written=decomposed("fjällstugé")),
    Needle("decomposed-prompt", "señalización", "prompt", 4, written=decomposed("señalización")),
    Needle("unspaced", "灯台検索", "prompt", 4, written="この灯台検索を直す"),
    Needle("unspaced-escaped", "岬測候所", "reply", 4, written="旧岬測候所から", escaped=True),
    Needle("forty", "beaconmoss", "prompt", 40),
    Needle("forty-reply", "beaconreply", "reply", 40),
)
# A piece of a conversation: the speaker and kind of its record.
SPOKEN = {
    "prompt": ("person", "prompt"),
    "reply": ("agent", "reply"),
    "reasoning": ("agent", "reasoning"),
    "call": ("tool", "tool_call"),
    "output": ("tool", "tool_result"),
    "summary": ("runtime", "summary"),
}


# --- words --------------------------------------------------------------------------------------------------------

_WORDS = """a about after again all also an and any api are argument array as assert async at await back be because before body
branch break buffer build but by bytes cache call can case change channel check class clean client close code column command
commit config connect context copy count create cursor data date default delete deploy diff directory do done each else empty
end endpoint event every example exit expect export fail fetch field file filter first fix flag for format from function get
group handle has have header how if import in index init input install int into is issue it item iterator join json key last
layer left length let level lib limit line link list load local lock log long look loop main make map match merge message method
model module move name new next no node not null number object of off offset on one only open option or order out output package
page param parse pass patch path pipeline pool port prefix print process query queue range read record ref release remove rename
replace request reset resource response result retry return right root route row run schema script search select send server set
should size skip slice sort source split start state status step stop store stream string struct sum sync system table tag task
test text that the then there this thread time timeout to token total trace tree true try tuple type union until up update url
use user value variable version view wait walk warn was we what when where which while why window with without work worker write
yield you zone""".split()  # noqa: SIM905 - read as text
_SYLLABLES = "ba cor del fen gul har ik jol kam lir mon nar ost pel rud sil tam ul ven wex yor zan".split()  # noqa: SIM905
_ENDINGS = "py rs go ts js md json toml sql c h sh yml".split()  # noqa: SIM905
_BEYOND = ["naïve", "söhne", "→", "✓", "résumé", "привет", "検証する", "設定を読む", "🙂", "“so”"]
_RARE = ["größe", decomposed("élève"), decomposed("über")]  # folds to more characters, or to fewer
_ASIDES = ["continue", "yes", "run the tests", "go on", "commit this", "try again", "looks good", "/compact", "/clear", "what is next?"]


def escaped(text: str, *, ascii_only: bool = False) -> bytes:
    """Text as it stands between the quotes of JSON."""
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode()


def unescaped(text: bytes) -> str:
    return str(json.loads(b'"' + text + b'"'))


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def _as_ascii(line: bytes) -> bytes:
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], line.decode()).encode()


class Dice:
    """Chance that is the same in every version of Python: only `random()` and `getrandbits` promise that."""

    def __init__(self, seed: str) -> None:
        source = Random(seed)
        self.random, self.bits = source.random, source.getrandbits

    def below(self, end: int) -> int:
        return int(self.random() * end)

    def between(self, low: float, high: float) -> int:
        return int(low + self.random() * (high - low))

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self.random() * len(items))]

    def hex(self, bits: int) -> str:
        return f"{self.bits(bits):0{bits // 4}x}"

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [item for _, item in sorted(((self.random(), at), item) for at, item in enumerate(items))]

    def uuid(self, made_s: float | None = None) -> str:
        """Version 4, or version 7 where it is told when it was made."""
        digits = self.hex(128) if made_s is None else f"{int(made_s * 1000):012x}" + self.hex(80)
        return f"{digits[:8]}-{digits[8:12]}-{4 if made_s is None else 7}{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


class Tape:
    """Lines of text, escaped once, from which texts of any length are cut."""

    def __init__(self, lines: Sequence[str]) -> None:
        parts = [escaped(line + "\n") for line in lines]
        self.bytes = b"".join(parts)
        self.starts = [0, *accumulate(map(len, parts))]

    def cut(self, dice: Dice, size: int) -> bytes:
        """About this many bytes of whole lines; at least one line."""
        if size >= len(self.bytes) // 2:
            return b"".join(self.cut(dice, len(self.bytes) // 4) for _ in range(1 + 4 * size // len(self.bytes)))
        first = dice.below(len(self.starts) - 1)
        start = self.starts[first]
        stop = self.starts[min(max(bisect(self.starts, start + size), first + 2), len(self.starts)) - 1]
        if stop - start < size * 3 // 4 and first > len(self.starts) // 2:  # the end of the tape
            return self.bytes[: self.starts[max(1, bisect(self.starts, size) - 1)]]
        return self.bytes[start:stop]


class Words:
    """Everything that is said: prose, tool output, images, all from one seed."""

    def __init__(self, dice: Dice, size: int) -> None:
        self.dice = dice
        made = ["".join(dice.pick(_SYLLABLES) for _ in range(2 + dice.below(2))) for _ in range(6000)]
        self.vocabulary = list(dict.fromkeys([*_WORDS, *made, *(f"{dice.pick(_WORDS)}_{word}" for word in made[:3000])]))
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.vocabulary))))
        self.paths = [f"{dice.pick(_WORDS)}/{dice.pick(made)}/{dice.pick(made)}.{dice.pick(_ENDINGS)}" for _ in range(2000)]
        self.prose = Tape(list(_filled(self._sentence, min(2_000_000, max(150_000, size // 20)))))
        sections = _filled(self._section, min(12_000_000, max(500_000, size // 10)))
        self.output = Tape([line for section in sections for line in section.split("\n")])
        self.image = b64encode(dice.bits(8 * 1_500_000).to_bytes(1_500_000, "little"))

    def words(self, count: int) -> list[str]:
        top = self._weights[-1]
        return [self.vocabulary[bisect(self._weights, self.dice.random() * top)] for _ in range(count)]

    def sentence(self, dice: Dice) -> str:
        """A prompt, unescaped: short, and now and then one of the things that everybody types."""
        if dice.random() < 0.3:
            return dice.pick(_ASIDES)
        start = dice.below(len(self.prose.starts) - 6)
        stop = start + 1 + dice.below(4)
        return unescaped(self.prose.bytes[self.prose.starts[start] : self.prose.starts[stop]]).strip()

    def _sentence(self) -> str:
        words = self.words(7 + self.dice.below(16))
        chance = self.dice.random()
        if chance < 0.08:
            words[len(words) // 2] = self.dice.pick(_BEYOND if chance > 0.001 else _RARE)
        elif chance < 0.25:
            words[-1] = f"`{self.dice.pick(self.paths)}`"
        elif chance < 0.27:
            words[len(words) // 2] = COMMON
        return " ".join(words).capitalize() + self.dice.pick((".", ".", ":", "?", ".\n"))

    def _section(self) -> str:
        """Lines of one kind. The common word stands in one section of six, so that many outputs are without it."""
        dice, kind, count = self.dice, self.dice.below(6), 10 + self.dice.below(90)
        start, path = dice.below(900), dice.pick(self.paths)
        out = []
        for number in range(start, start + count):
            words = " ".join([*self.words(7), *([dice.pick(_RARE)] if dice.random() < 0.0003 else [])])
            out.append(
                (
                    f"{number:6}\t    {words}",
                    f"{dice.pick(self.paths)}:{number}: {words}",
                    f"{dice.pick('+- ')}\tif {words}:  # {dice.pick(_BEYOND) if dice.random() < 0.1 else path}",
                    f'    {{"id": {dice.bits(40)}, "path": "{path}", "note": "{words}"}},',
                    f'    self.{words.replace(" ", ".", 1)}("{path}", {number})',
                    f"{stamp(NOW_S - dice.below(90 * DAY_S))} {dice.pick(('INFO', 'DEBUG', 'WARN', 'ERROR'))} [{dice.hex(32)}] {words}",
                )[kind]
            )
        return "\n".join(out)


def _filled(make: Callable[[], str], size: int) -> Iterator[str]:
    """Texts until there are this many characters."""
    while size > 0:
        text = make()
        size -= len(text)
        yield text


def stamp(at_s: float) -> str:
    made = time.gmtime(at_s)
    return f"{made[0]:04}-{made[1]:02}-{made[2]:02}T{made[3]:02}:{made[4]:02}:{made[5]:02}.{int(at_s * 1000) % 1000:03}Z"


# --- conversations, whatever the agent ----------------------------------------------------------------------------


class Piece(NamedTuple):
    """One thing that is said. `text` is escaped; `history`, where it differs, is what the prompt history shows of it."""

    kind: str
    text: bytes
    at_s: float
    needles: tuple[Needle, ...] = ()
    pasted: bytes | None = None  # the part of a prompt that was pasted: the end of its text
    to_file: bool = False
    queued: bool = False
    begins: bool = False  # the first piece of a turn


@dataclass(slots=True)
class Talk:
    """A conversation to be written. `pieces`, where given, are all of it; else they are made up to the size."""

    agent: str
    id: str
    size: int
    start_s: float
    cwd: str
    dice: Dice
    role: str = "plain"  # plain, headless, gone, subagent, fork
    parent: Talk | None = None
    is_forked: bool = False
    all_ascii: bool = False
    todo: dict[str, list[Needle]] = field(default_factory=dict)
    pieces: list[Piece] | None = None
    kept: list[tuple[bytes, ...]] = field(default_factory=list)  # the first turn, for a fork

    @property
    def is_seen(self) -> bool:
        """Does the prompt history know of it?"""
        return self.role in ("plain", "gone", "fork")


class Sheet:
    """A file being written, and what is planted in it."""

    def __init__(self, path: str, *, all_ascii: bool = False) -> None:
        self.path, self.all_ascii = path, all_ascii
        self.lines: list[bytes] = []
        self.size = 0

    def add(self, line: bytes) -> None:
        line = _as_ascii(line) if self.all_ascii else line
        self.lines.append(line)
        self.size += len(line) + 1


class Home:
    """The folder being filled: files, prompt histories, and the account of both."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.history: dict[str, list[tuple[float, int, bytes]]] = {}
        self.found: list[dict[str, object]] = []
        self.kinds: Counter[str] = Counter()
        self.bytes = self.files = self.longest = self.over_a_megabyte = 0

    def write(self, sheet: Sheet, at_s: float) -> None:
        self.longest = max(self.longest, max(map(len, sheet.lines), default=0))
        self.over_a_megabyte += sum(len(line) > 1_000_000 for line in sheet.lines)
        self.file(sheet.path, b"\n".join([*sheet.lines, b""]), at_s)

    def file(self, path: str, content: bytes, at_s: float) -> None:
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        os.utime(target, (at_s, at_s))
        self.bytes += len(content)
        self.files += 1

    def typed(self, path: str, at_s: float, row: bytes) -> None:
        """A row of a prompt history. Rows are sorted by time in the end."""
        rows = self.history.setdefault(path, [])
        rows.append((at_s, len(rows), row))

    def note(self, talk: Talk, piece: Piece, path: str) -> None:
        """Count a piece that was written, and remember what is planted in it."""
        self.kinds[piece.kind] += len(piece.text)
        for needle in piece.needles:
            speaker, kind = SPOKEN[piece.kind]
            self.found.append(
                {
                    "name": needle.name, "text": needle.text, "speaker": speaker, "kind": kind, "count": 1, "agent": talk.agent,
                    "file": path, "conversation": talk.id, "in_history": piece.kind == "prompt" and talk.is_seen,
                }
            )  # fmt: skip

    def finish(self) -> None:
        for path, rows in self.history.items():
            self.file(path, b"".join(row + b"\n" for _, _, row in sorted(rows)), NOW_S)


# --- what is said -------------------------------------------------------------------------------------------------

_OUTPUT_SIZES = ((0.46, 200, 3_000), (0.34, 3_000, 20_000), (0.165, 20_000, 75_000), (0.035, 75_000, 260_000))
_TALK_SIZES = (
    (0.42, 5_000, 40_000), (0.30, 40_000, 250_000), (0.16, 250_000, 1_000_000), (0.09, 1_000_000, 4_000_000),
    (0.028, 4_000_000, 15_000_000), (0.002, 15_000_000, 60_000_000),
)  # fmt: skip


def quantile(table: Sequence[tuple[float, float, float]], at: float) -> float:
    """The size below which this share lies."""
    for share, low, high in table:
        if at < share:
            return low + (high - low) * at / share
        at -= share
    return table[-1][2]


class Speech:
    """Makes the pieces of conversations."""

    def __init__(self, words: Words, giant: int, image: int) -> None:
        self.words, self.giant, self.image = words, giant, image

    def pieces(self, talk: Talk, sheet: Sheet) -> Iterator[Piece]:
        """A conversation's pieces in order, until its file is as large as it should be and all needles are in."""
        if talk.pieces is not None:
            yield from talk.pieces
            return
        at_s, dice, first = talk.start_s, talk.dice, True
        last = [needle for needle in talk.todo.get("reply", []) if needle.at == "last"]
        for needle in last:
            talk.todo["reply"].remove(needle)
        while first or (talk.role != "gone" and sheet.size < talk.size) or any(talk.todo.values()):
            for piece in self._turn(talk, first, sheet):
                at_s += 2 + dice.random() * 20
                yield piece._replace(at_s=at_s)
            first = False
            at_s += dice.random() * 400
        if last:
            yield self._said(talk, "reply", self.words.prose.cut(dice, 300), last, at_s=at_s)

    def _turn(self, talk: Talk, first: bool, sheet: Sheet) -> Iterator[Piece]:
        dice, todo = talk.dice, talk.todo
        cap = max(300, talk.size // 4)
        if first or talk.role != "subagent":
            yield self._prompt(talk, first)
        if talk.role == "gone":
            return
        for _ in range(1 + dice.below(12)):
            if dice.random() < 0.3 or todo.get("reasoning"):
                yield self._said(talk, "reasoning", self.words.prose.cut(dice, min(cap, dice.between(200, 1600))))
            if dice.random() < 0.3:
                yield self._said(talk, "reply", self.words.prose.cut(dice, min(cap, dice.between(80, 700))))
            yield self._said(talk, "call", b"grep -rn " + escaped(dice.pick(self.words.paths)) + b" " + self.words.prose.cut(dice, 60))
            yield self._output(talk, cap)
            if dice.random() < 0.008 and talk.size > 2 * self.image:
                yield Piece("image", self.words.image[: dice.between(self.image // 8, self.image) // 4 * 4], 0)
            if sheet.size > talk.size and not any(todo.values()):
                break
        if (dice.random() < 0.03 and talk.size > 300_000) or todo.get("summary"):
            yield self._said(talk, "summary", self.words.prose.cut(dice, min(cap, dice.between(1000, 6000))))
        yield self._said(talk, "reply", self.words.prose.cut(dice, min(cap, dice.between(200, 2600))))

    def _said(self, talk: Talk, kind: str, text: bytes, needles: Sequence[Needle] | None = None, at_s: float = 0) -> Piece:
        """A piece with the next needle of its kind in its middle."""
        waiting = talk.todo.get(kind, [])
        some = list(needles or waiting[:1])
        if not needles:
            del waiting[:1]
        for needle in some:
            cut = text.find(b" ", len(text) // 2) + 1
            text = text[:cut] + _written(needle) + b" " + text[cut:]
        return Piece(kind, text, at_s, tuple(some))

    def _prompt(self, talk: Talk, first: bool) -> Piece:
        waiting = talk.todo.get("prompt", [])
        needle = waiting.pop(0) if waiting else None
        text = self.words.sentence(talk.dice)
        while (first or needle) and text in _ASIDES:
            text = self.words.sentence(talk.dice)
        plain = escaped(text)
        if needle and needle.at == "paste":
            pasted = self.words.output.cut(talk.dice, 900) + _written(needle) + rb"\n" + self.words.output.cut(talk.dice, 300)
            return Piece("prompt", plain + b" " + pasted, 0, (needle,), pasted=pasted, begins=True)
        if needle:
            plain = plain + b" " + _written(needle) + b"."
        queued = not first and not needle and text not in _ASIDES and talk.dice.random() < 0.03
        return Piece("prompt", plain, 0, (needle,) if needle else (), queued=queued, begins=True)

    def _output(self, talk: Talk, cap: int) -> Piece:
        dice, waiting = talk.dice, talk.todo.get("output", [])
        needle = waiting.pop(0) if waiting else None
        size = min(cap, int(quantile(_OUTPUT_SIZES, dice.random())))
        giant = dice.random() < 0.0012 and talk.size > 3 * self.giant
        if giant or (needle and needle.at == "giant"):
            size = dice.between(self.giant, 2 * self.giant)
        head = f"{dice.pick(self.words.paths)} {dice.hex(64)}\\n".encode()  # no two outputs are equal
        to_file = bool(needle and needle.at == "file") or (needle is None and size > 90_000 and dice.random() < 0.3)
        text = head + self.words.output.cut(dice, max(size, 6000) if to_file else size)
        if needle and needle.at in ("giant", "file"):
            text += _written(needle)
        elif needle:
            return self._said(talk, "output", text, [needle])
        return Piece("output", text, 0, (needle,) if needle else (), to_file=to_file)


def _written(needle: Needle) -> bytes:
    return escaped(needle.written or needle.text, ascii_only=needle.escaped)


# --- Claude Code --------------------------------------------------------------------------------------------------


class Claude:
    """`~/.claude`: one transcript a session, subagents below their session's folder, long outputs in files of their own."""

    def __init__(self, talk: Talk, home: Home, speech: Speech) -> None:
        self.talk, self.home, self.speech = talk, home, speech
        self.session = talk.parent.id if talk.role == "subagent" and talk.parent else talk.id
        self.below = f".claude/projects/{re.sub('[^A-Za-z0-9-]', '-', talk.cwd)}/{self.session}"
        ending = f"/subagents/{talk.id}.jsonl" if talk.role == "subagent" else ".jsonl"
        self.sheet = Sheet(".claude/history.jsonl" if talk.role == "gone" else self.below + ending, all_ascii=talk.all_ascii)
        way = "sdk-cli" if talk.role == "headless" else "cli"
        self.tail = (
            f'"userType":"external","entrypoint":"{way}","cwd":"{talk.cwd}","sessionId":"{self.session}",'
            '"version":"2.1.332","gitBranch":"main"}'
        )
        self.parent, self.called = "null", ""

    def fork(self, kept: Sequence[tuple[bytes, ...]], parent: str) -> None:
        """The lines of the parent under the new session, with no way back."""
        for line in kept:
            self.sheet.add(line[0].replace(f'"sessionId":"{parent}"'.encode(), f'"sessionId":"{self.session}"'.encode()))

    def kept(self) -> list[tuple[bytes, ...]]:
        return [(line,) for line in self.sheet.lines]

    def row(self, kind: str, inner: bytes, at_s: float, marks: str = "") -> None:
        name = self.talk.dice.uuid()
        side = "true" if self.talk.role == "subagent" else "false"
        head = f'{{"parentUuid":{self.parent},"isSidechain":{side},"type":"{kind}",'.encode()
        self.sheet.add(head + inner + f',{marks}"uuid":"{name}","timestamp":"{stamp(at_s)}",{self.tail}'.encode())
        self.parent = f'"{name}"'

    def answer(self, block: bytes, at_s: float) -> None:
        name = self.talk.dice.hex(96)
        head = f'"message":{{"id":"msg_{name}","type":"message","role":"assistant","model":"claude-opus-5-5","content":['.encode()
        usage = b'],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":48210,"output_tokens":211}}'
        self.row("assistant", head + block + usage, at_s)

    def prompt(self, piece: Piece) -> None:
        if self.talk.is_seen:
            self._history(piece)
        if self.talk.role == "gone":
            return
        if piece.queued:
            head = f'{{"type":"queue-operation","operation":"enqueue","timestamp":"{stamp(piece.at_s)}","sessionId":"{self.session}",'
            self.sheet.add(head.encode() + b'"content":"' + piece.text + b'"}')
            inner = b'"attachment":{"type":"queued_command","prompt":"' + piece.text + b'","commandMode":"prompt"}'
            self.row("attachment", inner, piece.at_s)
            return
        shown = b"<command-name>" + piece.text + b"</command-name>" if piece.text.startswith(b"/") else piece.text
        marks = '"promptSource":"sdk",' if self.talk.role == "headless" else ""
        self.row("user", b'"message":{"role":"user","content":"' + shown + b'"}', piece.at_s, marks)
        self.sheet.add(f'{{"type":"file-history-snapshot","messageId":{self.parent},"snapshot":{{"trackedFileBackups":{{}}}}}}'.encode())

    def _history(self, piece: Piece) -> None:
        shown, pasted = piece.text, b""
        if piece.pasted is not None:
            shown = shown[: -len(piece.pasted)] + b"[Pasted text #1 +12 lines]"
            pasted = b'"content":"' + piece.pasted + b'"'
            if self.talk.dice.random() < 0.5:
                name = self.talk.dice.hex(64)
                self.home.file(f".claude/paste-cache/{name}.txt", unescaped(piece.pasted).encode(), piece.at_s)
                pasted = f'"contentHash":"{name}"'.encode()
            pasted = b'"1":{"id":1,"type":"text",' + pasted + b"}"
        ends = f'}},"timestamp":{int(piece.at_s * 1000)},"project":"{self.talk.cwd}","sessionId":"{self.talk.id}"}}'.encode()
        self.home.typed(".claude/history.jsonl", piece.at_s, b'{"display":"' + shown + b'","pastedContents":{' + pasted + ends)

    def reply(self, piece: Piece) -> None:
        self.answer(b'{"type":"text","text":"' + piece.text + b'"}', piece.at_s)

    def reasoning(self, piece: Piece) -> None:
        signed = b'","signature":"' + self.speech.words.image[:400] + b'"}'
        self.answer(b'{"type":"thinking","thinking":"' + piece.text + signed, piece.at_s)

    def call(self, piece: Piece) -> None:
        self.called = f"toolu_{self.talk.dice.hex(96)}"
        head = f'{{"type":"tool_use","id":"{self.called}","name":"Bash","input":{{"command":"'.encode()
        self.answer(head + piece.text + b'"}}', piece.at_s)

    def summary(self, piece: Piece) -> None:
        self.row("system", b'"subtype":"compact_boundary","content":"Conversation compacted"', piece.at_s)
        self.row("user", b'"message":{"role":"user","content":"' + piece.text + b'"}', piece.at_s, '"isCompactSummary":true,')

    def image(self, piece: Piece) -> None:
        source = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"' + piece.text + b'"}}'
        self._result(b"[" + source + b"]", piece.at_s)

    def output(self, piece: Piece) -> str | None:
        if piece.to_file and self.talk.role != "subagent":
            path = f"{self.below}/tool-results/{self.called}.txt"
            self.home.file(path, unescaped(piece.text).encode(), piece.at_s)
            self.sheet.size += len(piece.text)
            self._result(rb'"<persisted-output>\nOutput too large. Full output saved to a file.\n</persisted-output>"', piece.at_s)
            return path
        beside = b',"toolUseResult":{"stdout":"' + piece.text + b'","stderr":""}' if len(piece.text) < 3000 else b""
        self._result(b'"' + piece.text + b'"', piece.at_s, beside)
        return None

    def _result(self, content: bytes, at_s: float, beside: bytes = b"") -> None:
        head = f'"message":{{"role":"user","content":[{{"tool_use_id":"{self.called}","type":"tool_result","is_error":false,"content":'
        self.row("user", head.encode() + content + b"}]}" + beside, at_s)


# --- Codex --------------------------------------------------------------------------------------------------------

_QUOTED = re.compile(rb'[\\"]')


class Codex:
    """`~/.codex`: one rollout a thread below the day it began; what is said stands as response item and as event."""

    def __init__(self, talk: Talk, home: Home, speech: Speech) -> None:
        self.talk, self.home, self.speech = talk, home, speech
        made = time.gmtime(talk.start_s)
        day, clock = f"{made[0]:04}-{made[1]:02}-{made[2]:02}", f"{made[3]:02}-{made[4]:02}-{made[5]:02}"
        path = f".codex/sessions/{day.replace('-', '/')}/rollout-{day}T{clock}-{talk.id}.jsonl"
        self.sheet = Sheet(".codex/history.jsonl" if talk.role == "gone" else path, all_ascii=talk.all_ascii)
        self.is_late = talk.dice.random() < 0.5  # builds after 0.147 write other events
        self.payloads: list[tuple[bytes, ...]] = []
        self.called = ""
        if talk.role != "gone":
            self.line("session_meta", self._header(), talk.start_s)

    def fork(self, kept: Sequence[tuple[bytes, ...]], parent: str) -> None:
        """The parent's header and turns, stamped with the fork's time."""
        for kind, inner in kept:
            self.line(kind.decode(), inner, self.talk.start_s + 0.5)

    def kept(self) -> list[tuple[bytes, ...]]:
        return self.payloads

    def line(self, kind: str, inner: bytes, at_s: float) -> None:
        self.sheet.add(f'{{"timestamp":"{stamp(at_s)}","type":"{kind}","payload":'.encode() + inner + b"}")
        if self.talk.is_forked and not self.talk.kept:
            self.payloads.append((kind.encode(), inner))

    def item(self, head: str, at_s: float, text: bytes = b"", tail: str = "") -> None:
        self.line("response_item", f'{{"type":{head}'.encode() + text + tail.encode() + b"}", at_s)

    def event(self, head: str, at_s: float, text: bytes = b"", tail: str = "") -> None:
        self.line("event_msg", f'{{"type":{head}'.encode() + text + tail.encode() + b"}", at_s)

    def _header(self) -> bytes:
        talk = self.talk
        headless, parent = talk.role == "headless", talk.parent.id if talk.parent else ""
        source = '"exec"' if headless else '"cli"'
        if talk.role == "subagent":
            source = f'{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{parent}","depth":1}}}}}}'
        fork = f'"forked_from_id":"{parent}",' if talk.role == "fork" else ""
        head = f'{{"id":"{talk.id}","timestamp":"{stamp(talk.start_s)}","cwd":"{talk.cwd}","source":{source},{fork}'
        head += f'"originator":"{"codex_exec" if headless else "codex_cli_rs"}","cli_version":"0.147.0","git":{{"branch":"main"}},'
        instructions = self.speech.words.prose.cut(talk.dice, min(9000, talk.size // 6))
        return head.encode() + b'"base_instructions":{"text":"' + instructions + b'"}}'

    def prompt(self, piece: Piece) -> None:
        at_s, text = piece.at_s, piece.text
        if self.talk.is_seen:
            head = f'{{"session_id":"{self.talk.id}","ts":{int(at_s)},"text":"'.encode()
            self.home.typed(".codex/history.jsonl", at_s, head + text + b'"}')
        if self.talk.role == "gone" or text.startswith(b"/"):  # slash commands leave no line
            return
        turn = self.talk.dice.uuid(at_s)
        self.event(f'"task_started","turn_id":"{turn}"', at_s)
        self.line("turn_context", f'{{"turn_id":"{turn}","cwd":"{self.talk.cwd}","model":"gpt-invented-6"}}'.encode(), at_s)
        self.item('"message","role":"user","content":[{"type":"input_text","text":"', at_s, text, '"}]')
        if self.is_late:
            head = f'"item_completed","turn_id":"{turn}","item":{{"type":"UserMessage","content":[{{"type":"text","text":"'
            self.event(head, at_s, text, '"}]}')
        else:
            self.event('"user_message","message":"', at_s, text, '","images":[]')

    def reply(self, piece: Piece) -> None:
        self.event('"agent_message","message":"', piece.at_s, piece.text, '"')
        self.item('"message","role":"assistant","content":[{"type":"output_text","text":"', piece.at_s, piece.text, '"}]')

    def reasoning(self, piece: Piece) -> None:
        self.event('"agent_reasoning","text":"', piece.at_s, piece.text, '"')
        secret = self.speech.words.image[: min(1600, self.talk.size // 20)].decode()
        head = '"reasoning","summary":[{"type":"summary_text","text":"'
        self.item(head, piece.at_s, piece.text, f'"}}],"encrypted_content":"{secret}"')

    def call(self, piece: Piece) -> None:
        self.called = f"call_{self.talk.dice.hex(96)}"
        twice = _QUOTED.sub(rb"\\\g<0>", piece.text)
        self.item(f'"function_call","name":"shell","call_id":"{self.called}","arguments":"{{\\"command\\":\\"', piece.at_s, twice, '\\"}"')

    def summary(self, piece: Piece) -> None:
        self.line("compacted", b'{"message":"' + piece.text + b'","replacement_history":[]}', piece.at_s)

    def image(self, piece: Piece) -> None:
        head = f'"function_call_output","call_id":"{self.called}","output":[{{"type":"input_image","image_url":"data:image/png;base64,'
        self.item(head, piece.at_s, piece.text, '"}]')

    def output(self, piece: Piece) -> None:
        self.item(f'"function_call_output","call_id":"{self.called}","output":"', piece.at_s, piece.text, '"')
        if not self.is_late and len(piece.text) < 3000:
            head = f'"exec_command_end","call_id":"{self.called}","command":["bash","-lc","x"],"exit_code":0,"aggregated_output":"'
            self.event(head, piece.at_s, piece.text, '"')
        if self.talk.dice.random() < 0.3:
            self.event('"token_count","info":{"total_token_usage":{"input_tokens":48210,"output_tokens":911}}', piece.at_s)


# --- the plan -----------------------------------------------------------------------------------------------------


class Writer(Protocol):
    """Writes one conversation as an agent does. Besides these, one method for each kind of piece: it takes the piece and
    returns the path of the file that holds it, where that is not the transcript."""

    sheet: Sheet

    def fork(self, kept: Sequence[tuple[bytes, ...]], parent: str) -> None: ...

    def kept(self) -> list[tuple[bytes, ...]]: ...


class Agent(NamedTuple):
    """How an agent's conversations are written, its share of the bytes, and whether its ids tell when they were made."""

    writer: Callable[[Talk, Home, Speech], Writer]
    share: float
    timed_ids: bool = False


AGENTS = {"claude": Agent(Claude, 0.6), "codex": Agent(Codex, 0.4, timed_ids=True)}
_ROLES = {3: "headless", 9: "headless", 15: "headless", 5: "subagent", 17: "subagent", 11: "fork"}  # of each 20 conversations


def talk_id(agent: str, role: str, start_s: float, dice: Dice) -> str:
    if role == "subagent" and not AGENTS[agent].timed_ids:
        return f"agent-{dice.hex(64)}"
    return dice.uuid(start_s if AGENTS[agent].timed_ids else None)


def plan(size: int, seed: int, agents: Sequence[str]) -> list[Talk]:
    """Conversations with their sizes, roles, times and needles; parents come before what needs them."""
    dice = Dice(f"plan {seed} {size} {','.join(agents)}")
    count = max(100, size // 700_000)
    sizes = [quantile(_TALK_SIZES, (number + 0.5) / count) for number in range(count)]
    scale = size / sum(sizes)
    given = dict.fromkeys(agents, 0.0)
    folders = [f"/home/dev/{dice.pick(('src', 'work'))}/{dice.pick(_SYLLABLES)}-{dice.pick(_SYLLABLES)}{number}" for number in range(24)]
    talks: list[Talk] = []
    for number, one in enumerate(reversed(sizes)):  # the biggest first, each to the agent that has too little
        agent = min(agents, key=lambda name: given[name] / AGENTS[name].share)
        given[agent] += one
        role = _ROLES.get(number % 20, "plain") if number >= 2 * len(agents) else "plain"
        talks.append(_talk(agent, role, max(2500, int(one * scale)), dice, dice.pick(folders)))
    talks += [_talk(agent, "gone", 0, dice, dice.pick(folders)) for agent in agents for _ in range(max(6, count // 20))]
    for talk in talks:
        plain = [one for one in talks if one.agent == talk.agent and one.role == "plain"]
        if talk.role in ("subagent", "fork"):
            talk.parent = dice.pick(plain[2:])
            talk.cwd, talk.start_s = talk.parent.cwd, talk.parent.start_s + DAY_S
            talk.id = talk_id(talk.agent, talk.role, talk.start_s, dice)
            talk.parent.is_forked = talk.parent.is_forked or talk.role == "fork"
    for needle in NEEDLES:
        _plant(needle, talks, [name for name in agents if not needle.agents or name in needle.agents], dice)
    return sorted(talks, key=lambda talk: talk.role == "fork")


def _talk(agent: str, role: str, size: int, dice: Dice, cwd: str) -> Talk:
    start_s = NOW_S - 2 * DAY_S - dice.random() * 180 * DAY_S
    own = Dice(f"talk {dice.hex(64)}")
    return Talk(agent, talk_id(agent, role, start_s, own), size, start_s, cwd, own, role, all_ascii=dice.random() < 0.05)


def _plant(needle: Needle, talks: Sequence[Talk], agents: Sequence[str], dice: Dice) -> None:
    """Put a needle on the list of some conversations, the agents in turn."""
    for number, name in enumerate(agents):
        fitting = [talk for talk in talks if talk.agent == name and _carries(talk, needle)]
        share = needle.count // len(agents) + (number < needle.count % len(agents))
        chosen = fitting if needle.where == "biggest" else dice.shuffled(fitting)
        for talk in chosen[: 1 if needle.where == "biggest" else share]:
            waiting = talk.todo.setdefault(needle.kind, [])
            waiting.insert(0 if needle.where == "forked" else len(waiting), needle)  # in the first turn, which the fork copies


def _carries(talk: Talk, needle: Needle) -> bool:
    if needle.where == "forked":
        return talk.is_forked
    return talk.role == ("plain" if needle.where == "biggest" else needle.where)


def make(out: Path, size: int, seed: int, agents: Sequence[str]) -> dict[str, object]:
    """Write a corpus and return its truth."""
    words = Words(Dice(f"words {seed}"), size)
    speech = Speech(words, giant=max(20_000, min(1_100_000, size // 40)), image=max(8_000, min(1_200_000, size // 40)))
    talks = plan(size, seed, agents)
    home = fill(out, talks, speech)
    truth: dict[str, object] = {
        "version": 1, "size": size, "seed": seed, "agents": list(agents), "bytes": home.bytes, "files": home.files,
        "conversations": {name: sum(talk.agent == name and talk.role != "gone" for talk in talks) for name in agents},
        "history_bytes": sum(len(row) + 1 for rows in home.history.values() for _, _, row in rows),
        "history_rows": sum(map(len, home.history.values())),
        "longest_line": home.longest, "lines_over_1MB": home.over_a_megabyte, "text_bytes": dict(sorted(home.kinds.items())),
        "output_share": round(home.kinds["output"] / home.bytes, 3), "common": COMMON, "absent": ABSENT, "needles": home.found,
    }  # fmt: skip
    (out / "truth.json").write_text(json.dumps(truth, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return truth


def fill(out: Path, talks: Sequence[Talk], speech: Speech) -> Home:
    """Write conversations and prompt histories."""
    home = Home(out)
    for talk in talks:
        _write(talk, home, speech)
    home.finish()
    return home


def _write(talk: Talk, home: Home, speech: Speech) -> None:
    writer, at_s = AGENTS[talk.agent].writer(talk, home, speech), talk.start_s
    if talk.role == "fork" and talk.parent:
        writer.fork(talk.parent.kept, talk.parent.id)
    turns = 0
    for piece in speech.pieces(talk, writer.sheet):
        turns += piece.begins
        if turns == 2 and talk.is_forked and not talk.kept:
            talk.kept = writer.kept()
        path = getattr(writer, piece.kind)(piece) or writer.sheet.path
        home.note(talk, piece, path)
        at_s = piece.at_s
    if talk.is_forked and not talk.kept:
        talk.kept = writer.kept()
    if talk.role != "gone":
        home.write(writer.sheet, at_s)


def bytes_of(text: str) -> int:
    """`500K`, `200M`, `1G`: thousands, as ripgrep and disks count."""
    unit = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000}.get(text[-1:].upper(), 0)
    return int(float(text[:-1]) * unit) if unit else int(text)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a home as coding agents leave it.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=bytes_of, default="200M")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--agents", default=",".join(AGENTS))
    options = parser.parse_args(words)
    agents = options.agents.split(",")
    if unknown := set(agents) - set(AGENTS):
        parser.error(f"no writer for {', '.join(sorted(unknown))}; there is one for {', '.join(AGENTS)}")
    if options.out.exists() and any(options.out.iterdir()):
        parser.error(f"{options.out} is not empty")
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    truth = make(options.out, options.size, options.seed, agents)
    took = time.perf_counter() - began
    made = int(str(truth["bytes"])) / 1e6
    print(
        f"{made:.0f} MB in {truth['files']} files, {truth['history_rows']} typed prompts, {truth['lines_over_1MB']} lines over 1 MB, "
        f"{truth['output_share']} of the bytes tool output: {took:.1f} s, {made / took:.0f} MB/s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
