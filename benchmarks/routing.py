"""Measure what targeted effort finds of what exhaustive effort finds, as the number of conversations it may open grows.

    python benchmarks/routing.py                # the made corpora: figures and curve into the repository
    python benchmarks/routing.py --home DIR     # your own home; prints

For each query: the share of the conversations with results, and the share of the results, that targeted effort has under
the same normalized request, for bounds of 1, 5, 10, 25, 50 and 100 conversations. No clock and no chance: every run gives
the same figures. Only counts are printed, never a word of a home.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus import DAY_S, NOW_S, Dice, Piece, Speech, Talk, Words, escaped, fill, talk_id

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "benchmarks" / "results" / "routing.json"
CURVE = ROOT / "docs" / "images" / "routing.svg"
BOUNDS = (1, 5, 10, 25, 50, 100)
HEADLESS = (0, 20, 40, 60)  # percent
NAMED = {"every first prompt names the topic": 100, "half of the first prompts do": 50, "one in ten does": 10}
TOPICS = (1, 2, 3, 4, 6, 9, 14, 20, 32, 48, 70)  # conversations about each: most topics are rare, some come again and again
_NAMES = "amberfjord basaltcove cedarlock dunegarnet elmharrow fernquay glassmoor heathspire irongrove juniperweir kelpstone".split()  # noqa: SIM905


class Share(NamedTuple):
    """Summed over queries: what targeted effort found, of what there is."""

    conversations: int
    of_conversations: int
    results: int
    of_results: int

    @property
    def of_each(self) -> tuple[float, float]:
        return self.conversations / max(1, self.of_conversations), self.results / max(1, self.of_results)


# --- made corpora -------------------------------------------------------------------------------------------------


def talks(named_percent: int, headless_percent: int, topics: Sequence[int] = TOPICS) -> list[Talk]:
    """Conversations about topics. The replies name the topic; the prompts do as often as told, and headless ones are in no history."""
    dice = Dice(f"routing {named_percent} {headless_percent}")
    made = []
    for name, count in zip(_NAMES, topics):
        order = dice.shuffled(range(count))
        for number in range(count):
            # Shares are exact, and fall independently: every topic has its part of headless conversations and of silent prompts.
            headless = _is_among(number, headless_percent)
            named = _is_among(order[number], named_percent)
            made.append(_talk(("claude", "codex")[number % 2], name, named, headless, dice))
    return made


def _is_among(number: int, percent: int) -> bool:
    return (number + 1) * percent // 100 > number * percent // 100


def _talk(agent: str, topic: str, named: bool, headless: bool, dice: Dice) -> Talk:
    start_s = NOW_S - 2 * DAY_S - dice.random() * 180 * DAY_S
    role = "headless" if headless else "plain"
    about = f"about {topic}" if named else "about that thing of yesterday"
    said = [
        ("prompt", f"please look {about} and say what is wrong"),
        ("reply", f"The {topic} is read in two places."),
        ("call", f"grep -rn {topic} src"),
        ("output", f"src/main.py:12: {topic} = load()\nsrc/main.py:40: close({topic})"),
        ("prompt", "go on" if dice.random() < 0.7 else f"and now the tests {about}"),
        ("reply", f"Done: {topic} is loaded once."),
    ]
    pieces = [Piece(kind, escaped(text), start_s + 20 * at, begins=kind == "prompt") for at, (kind, text) in enumerate(said)]
    return Talk(agent, talk_id(agent, role, start_s, dice), 2000, start_s, "/home/dev/src/one", dice, role, pieces=pieces)


# --- measuring ----------------------------------------------------------------------------------------------------


def measure(home: Path, queries: Iterable[str], bounds: Sequence[int] = BOUNDS) -> dict[int, Share]:
    """For each bound, what targeted effort found over all queries."""
    from deepgrep import search

    sums = {bound: [0, 0, 0, 0] for bound in bounds}
    for query in queries:
        everything = search(query, home=home, effort="exhaustive", scope="all").results
        there = {_conversation(result.record) for result in everything}
        for bound in bounds:
            found = search(query, home=home, effort="targeted", scope="all", conversation_limit=bound).results
            # A prompt that only the history still has is a result at both efforts, but no conversation that was opened.
            met = {_conversation(result.record) for result in found if result.record.source.role == "transcript"}
            counted = (len(met & there), len(there), len(_identities(found) & _identities(everything)), len(everything))
            sums[bound] = [one + other for one, other in zip(sums[bound], counted)]
    return {bound: Share(*some) for bound, some in sums.items()}


def _conversation(record: object) -> tuple[object, object]:
    return record.agent, record.conversation_id  # type: ignore[attr-defined]


def _identities(results: Iterable[object]) -> set[tuple[object, ...]]:
    """Results by what they say and where: at targeted effort a history row may stand for a prompt whose transcript was not opened."""
    records = (result.record for result in results)  # type: ignore[attr-defined]
    return {(one.agent, one.conversation_id, one.speaker, one.kind, one.text) for one in records}


def queries_of(home: Path, count: int = 40) -> list[str]:
    """Words of a home's people and agents: spread from those in two conversations to the most common. The same every time."""
    from deepgrep import search

    held: dict[str, set[object]] = defaultdict(set)
    for result in search(home=home, effort="exhaustive", scope="all", speaker=("person", "agent")).results:
        for word in set(re.findall(r"[^\W\d_]{5,24}", result.record.text.lower())):
            held[word].add(_conversation(result.record))
    several = sorted((len(where), word) for word, where in held.items() if len(where) > 1)
    step = max(1, len(several) // count)
    return [word for _, word in several[step - 1 :: step]][:count]


def figures() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Of each kind of corpus and headless share: by bound, the shares of conversations and of results."""
    out: dict[str, dict[str, dict[str, list[float]]]] = {}
    speech = Speech(Words(Dice("routing"), 0), 20_000, 8_000)
    for title, percent in NAMED.items():
        out[title] = {}
        for headless in HEADLESS:
            with tempfile.TemporaryDirectory() as folder:
                fill(Path(folder), talks(percent, headless), speech)
                measured = measure(Path(folder), _NAMES)
            out[title][str(headless)] = {str(bound): [round(one, 3) for one in share.of_each] for bound, share in measured.items()}
            print(f"{title}, {headless} % headless", file=sys.stderr)
    return out


# --- the curve ----------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 230, 170, 56, 48, 24
_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; } .axis { stroke: #57606a; } .grid { stroke: #d0d7de; stroke-width: .6; }
  .line { fill: none; stroke-width: 2.2; } .l0 { stroke: #0550ae; } .l1 { stroke: #1a7f37; stroke-dasharray: 7 3; }
  .l2 { stroke: #9a6700; stroke-dasharray: 3 3; } .l3 { stroke: #cf222e; stroke-dasharray: 9 3 2 3; }
  .mark { stroke: #8c959f; stroke-dasharray: 2 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .axis { stroke: #8b949e; } .grid { stroke: #30363d; }
    .l0 { stroke: #79c0ff; } .l1 { stroke: #56d364; } .l2 { stroke: #e3b341; } .l3 { stroke: #ff7b72; }
  }
"""


def curve(shown: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> str:
    """An SVG: a column for each kind of corpus, a row for conversations and one for results, a line for each headless share."""
    width = _LEFT + len(shown) * (_WIDTH + _GAP)
    height = _TOP + 2 * (_HEIGHT + 44) + 40
    label = "Share that targeted effort finds, by how many conversations it may open"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{label}</title><style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="16">{label}</text>',
    ]
    for row, name in enumerate(("of conversations", "of results")):
        y = _TOP + row * (_HEIGHT + 44)
        parts.append(f'<text transform="translate(14 {y + _HEIGHT / 2}) rotate(-90)" text-anchor="middle">share {name}</text>')
        for column, (title, by_headless) in enumerate(shown.items()):
            x = _LEFT + column * (_WIDTH + _GAP)
            parts += _panel(x, y, title if row == 0 else "", by_headless, row)
    y = height - 12
    parts.append(f'<text x="{_LEFT}" y="{y - 22}">conversations that may be opened (the default is 25)</text>')
    for number, headless in enumerate(HEADLESS):
        x = _LEFT + number * 150
        parts.append(f'<path class="line l{number}" d="M{x} {y - 4}h28"/><text x="{x + 34}" y="{y}">{headless} % headless</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(x: int, y: int, title: str, by_headless: Mapping[str, Mapping[str, Sequence[float]]], row: int) -> list[str]:
    step = _WIDTH / (len(BOUNDS) - 1)
    out = [f'<text x="{x}" y="{y - 10}">{title}</text>'] if title else []
    for share in (0, 0.25, 0.5, 0.75, 1):
        level = y + _HEIGHT * (1 - share)
        out.append(f'<path class="grid" d="M{x} {level:.1f}h{_WIDTH}"/>')
        out.append(f'<text x="{x - 6}" y="{level + 4:.1f}" text-anchor="end">{share:.0%}</text>' if x == _LEFT else "")
    out.append(f'<path class="axis" fill="none" d="M{x} {y}v{_HEIGHT}h{_WIDTH}"/>')
    out.append(f'<path class="mark" d="M{x + step * BOUNDS.index(25):.1f} {y}v{_HEIGHT}"/>')
    out += [f'<text x="{x + step * at:.1f}" y="{y + _HEIGHT + 16}" text-anchor="middle">{bound}</text>' for at, bound in enumerate(BOUNDS)]
    for number, headless in enumerate(HEADLESS):
        shares = by_headless[str(headless)]
        points = " L".join(f"{x + step * at:.1f} {y + _HEIGHT * (1 - shares[str(bound)][row]):.1f}" for at, bound in enumerate(BOUNDS))
        out.append(f'<path class="line l{number}" d="M{points}"/>')
    return [part for part in out if part]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure what targeted effort finds.")
    parser.add_argument("--home", type=Path, action="append", default=[], help="measure this home instead; repeatable")
    options = parser.parse_args(words)
    for home in options.home:
        queries = queries_of(home)
        for bound, share in measure(home, queries).items():
            some, results = share.of_each
            print(f"{len(queries)} words, bound {bound:3}: {some:.1%} of conversations, {results:.1%} of results")
    if not options.home:
        shown = figures()
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
        CURVE.parent.mkdir(exist_ok=True)
        CURVE.write_text(curve(shown), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
