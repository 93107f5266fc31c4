"""An answer for people: results grouped by conversation, one closing line that says what was read and what to try next."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..engine.order import project
from ..model import Query, Record, Result, Summary
from ..options import arguments
from ..refs import ref
from ..text import Snippet, safe, snippet, visible
from ..typed import TYPE_CHECKING, NamedTuple
from ..wire import request, shown
from .style import Style

if TYPE_CHECKING:
    from ..engine.miss import Miss

WHO = {"person": "you", "agent": "agent", "tool": "tool", "runtime": "runtime", "parent": "brief"}
_AGES = ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "min"))


class Page(NamedTuple):
    """How to lay an answer out. `now_s`: seconds since 1970, for ages."""

    style: Style
    width: int
    home: str
    now_s: float
    explain: bool = False
    show_refs: bool = False
    flags: tuple[str, ...] = ()  # what a command for the next step repeats beside the request: the home
    again: Callable[[Mapping[str, object]], str] | None = None  # the command with a patch applied, where it is no `deepgrep search`
    redact: bool = False  # mask secrets


def age(then_s: float, now_s: float) -> str:
    """How long ago, in one unit: `3 d ago`."""
    passed = now_s - then_s
    if passed < 0:
        return "in the future"
    for seconds, unit in _AGES:
        if passed >= seconds:
            return f"{int(passed // seconds)} {unit} ago"
    return "just now"


def local(time_us: int | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """An instant on the reader's clock, or `undated`."""
    if time_us is None:
        return "undated"
    try:
        return time.strftime(form, time.localtime(time_us // 1_000_000))
    except (OverflowError, ValueError, OSError):
        return "undated"


def grouped(results: Iterable[Result], page: Page) -> Iterator[str]:
    """Lines for results by conversation: a conversation stands where its first result does."""
    conversations: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        conversations.setdefault(_conversation(result.record), []).append(result)
    for number, inside in enumerate(conversations.values()):
        if number:
            yield ""
        yield from _heading(inside, page)
        for result in inside:
            yield from _entry(result, page)


def flat(result: Result, page: Page) -> Iterator[str]:
    """One line for one result, in the order in which results come."""
    record, style = result.record, page.style
    where = safe(project(record) or record.conversation_id or "-").replace("\n", " ")
    yield (
        f"{style.agent}{record.agent}{style.reset} {style.place}{where}{style.reset} "
        f"{style.faint}{local(record.time_us)}{style.reset} {_said(result, page, 40 + len(where))}"
    )
    yield from _neighbours(result, page)


def _conversation(record: Record) -> tuple[object, ...]:
    if record.conversation_id is not None:
        return record.agent, record.conversation_id
    return record.agent, None, record.source.key, record.position, record.block


def _heading(inside: Sequence[Result], page: Page) -> Iterator[str]:
    """Who, where, when; the title; how to go back."""
    style = page.style
    first = next((r for r in inside if r.record.cwd), inside[0])
    record = first.record
    times = [r.record.time_us for r in inside if r.record.time_us is not None]
    latest = max(times, default=None)
    when = local(latest) + (f" ({age(latest / 1e6, page.now_s)})" if latest is not None else "")
    where = safe(project(record) or "-").replace("\n", " ")
    parts = [f"{style.agent}{record.agent}{style.reset}", f"{style.place}{where}{style.reset}", when]
    if record.branch:
        parts.append(f"on {safe(record.branch)}")
    title = next((r.record.title for r in inside if r.record.title), None)
    if title:
        parts.append(_one_line(_masked(title, page), 60))
    yield "  ".join(parts)
    command = next((r.resume for r in inside if r.resume), None)
    if command:
        go = f"cd {_quoted_folder(shown(command.cwd, page.home))} && " if command.cwd else ""
        yield f"{style.faint}  resume: {safe(go + shlex.join(command.argv))}{style.reset}"
    elif record.parent_conversation_id:
        yield f"{style.faint}  subagent of {safe(record.parent_conversation_id)}{style.reset}"


def _quoted_folder(folder: str) -> str:
    """A folder as a shell takes it; the tilde must stay outside quotes."""
    return "~/" + shlex.quote(folder[2:]) if folder.startswith("~/") else shlex.quote(folder)


def _entry(result: Result, page: Page) -> Iterator[str]:
    style = page.style
    yield f"  {style.faint}{local(result.record.time_us)}{style.reset}  {_said(result, page, 30)}"
    yield from _neighbours(result, page)


def _said(result: Result, page: Page, used: int) -> str:
    """Who said it, and the piece of the text around the first match."""
    record, style = result.record, page.style
    who = WHO[record.speaker] + (f" {safe(record.tool)}" if record.tool else "") + _flavour(record)
    text, spans = _hidden(result, page)
    piece = snippet(visible(text), spans, max(40, page.width - used - len(who)))
    colour = style.person if record.speaker == "person" else ""
    line = f"{colour}{who}{style.reset if colour else ''}: {_marked(piece, style)}"
    if result.folded:
        line += f" {style.faint}(+{len(result.folded)} cop{'y' if len(result.folded) == 1 else 'ies'}){style.reset}"
    if page.show_refs:
        line += f" {style.faint}[{ref(record)}]{style.reset}"
    if page.explain and result.spans:
        line += f" {style.faint}[found: {_found(text, spans)}]{style.reset}"
    if page.explain and result.score_parts:
        parts = ", ".join(f"{name} {value}" for name, value in result.score_parts._asdict().items())
        line += f" {style.faint}[score {result.score}: {parts}]{style.reset}"
    return line


def _hidden(result: Result, page: Page) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text and its matches, without the secrets where they are to be masked."""
    if not page.redact:
        return result.record.text, result.spans
    from ..redact import redact  # deferred: its table takes 25 ms to compile

    found = redact(result.record.text)
    return found.text, found.spans(result.spans)


def _masked(text: str, page: Page) -> str:
    if not page.redact:
        return text
    from ..redact import redact

    return redact(text).text


def _found(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    """The texts that matched, as they stand in the record, and how often."""
    counts: dict[str, int] = {}
    for start, end in spans:
        piece = _one_line(text[start:end], 40)
        counts[piece] = counts.get(piece, 0) + 1
    return ", ".join(f"{piece} x{number}" if number > 1 else piece for piece, number in counts.items())


def _flavour(record: Record) -> str:
    return f" ({record.kind})" if record.kind in ("reasoning", "summary", "notice", "context", "plan", "feedback") else ""


def _marked(piece: Snippet, style: Style) -> str:
    out, at = [], 0
    for low, high in piece.spans:
        if low < at:
            continue
        out += [piece.text[at:low], style.hit, piece.text[low:high], style.reset if style.hit else ""]
        at = high
    return "".join([*out, piece.text[at:]])


def _one_line(text: str, limit: int) -> str:
    line = " ".join(safe(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _neighbours(result: Result, page: Page) -> Iterator[str]:
    for mark, records in (("-", result.before), ("+", result.after)):
        for record in records:
            line = _one_line(_masked(record.text, page), max(40, page.width - 16))
            yield f"    {page.style.faint}{mark} {WHO[record.speaker]}: {line}{page.style.reset}"


def closing(summary: Summary, page: Page) -> Iterator[str]:
    """What was found, what was read, what was not and why, and the command for the next step."""
    style = page.style
    line = f"{_count(summary.match_count, 'result')}{_state(summary)}; {_read(summary)}."
    if summary.requested_effort == "targeted":
        line += f" {_selection(summary)}."
    missing = [*_missing(summary)]
    if missing:
        line += f" Not read: {'; '.join(missing)}."
    step = _step(summary, page)
    if step:
        line += f" Next: {step}"
    yield f"{style.faint}{line}{style.reset}"
    for found in summary.diagnostics:
        if found.severity in ("error", "warning"):
            yield f"{style.warning}deepgrep: {found.message}{style.reset}"


def missed(found: Miss, page: Page) -> Iterator[str]:
    """Why nothing was found: where each part of the text stands, and what the filters left out."""
    style = page.style
    if not found.sources:
        yield f"{style.faint}  no file was opened: none can hold what effort, scope and filters ask for together{style.reset}"
        return
    if len(found.terms) > 1 or not found.text_matched:
        for name, number in found.terms.items():
            yield f"{style.faint}  {safe(name)}: in {_count(number, 'record')}{style.reset}"
    if found.terms:
        held = "all of the text stands" if len(found.terms) > 1 else "the text stands"
        yield f"{style.faint}  {held} in {_count(found.text_matched, 'record')}{style.reset}"
    for one in found.removed:
        yield f"{style.faint}  {safe(one.what)} left out {one.removed:,} of them, {one.alone:,} by itself alone{style.reset}"


def profile(summary: Summary, output_s: float) -> Iterator[str]:
    """Where the time went, a line a stage."""
    times, records = summary.profile, _section(summary.coverage, "records")
    reading_s = sum(times.reading_s.values())
    yield f"{summary.elapsed_s:8.3f} s  in all, {size(_section(summary.coverage, 'opened')['bytes'])} read"
    yield f"{times.planning_s:8.3f} s  discovery and planning"
    yield f"{reading_s:8.3f} s  reading, all workers together; {records['probed']:,} lines probed"
    for store, seconds in sorted(times.reading_s.items(), key=lambda item: -item[1]):
        yield f"{seconds:8.3f} s    {store}"
    yield f"{times.decoding_s:8.3f} s    of it decoding; {records['decoded']:,} records"
    yield f"{times.matching_s:8.3f} s    of it matching; {records['matched']:,} matches"
    yield f"{times.ordering_s:8.3f} s  folding and ordering"
    yield f"{output_s:8.3f} s  output"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _state(summary: Summary) -> str:
    """Anything but a complete answer, said at once."""
    state = summary.status.state
    if "result_limit" in summary.status.conditions:
        first = "the first" if summary.limit == 1 else f"the first {summary.limit}"
        return f" ({first} by {summary.order}; there are more)"
    if state == "complete" or summary.status.reason == "candidate_selection":  # the selection has a sentence of its own
        return ""
    return f" ({state}{': ' + summary.status.reason if summary.status.reason else ''})"


# What became of conversations that prompts lead to but that were not read: one and several.
_ENDS = (
    ("unresolved", "has no transcript any more", "have no transcript any more"),
    ("stale", "has a file that is another's", "have files that are another's"),
    ("ambiguous", "has more than one transcript", "have more than one transcript"),
    ("unreadable", "cannot be read", "cannot be read"),
    ("budget_exhausted", "was not looked for among too many files", "were not looked for among too many files"),
)


def _selection(summary: Summary) -> str:
    """How many conversations the prompts lead to, how many were selected and read, and why the others were not."""
    if "evidence_failure" in summary.status.conditions:
        return "No conversation was opened, because a prompt history could not be read"
    if "no_positive_clue" in summary.status.conditions:
        return "No conversation was selected: targeted effort needs a text, or an agent, project, folder, repository or branch"
    counts = _section(summary.coverage, "conversations")
    ends = [f"{counts[name]:,} {one if counts[name] == 1 else several}" for name, one, several in _ENDS if counts[name]]
    said = f"Prompts lead to {_count(counts['eligible'], 'conversation')}; {counts['selected']:,} selected, {counts['completed']:,} read"
    if counts["unroutable"]:
        ends.append(f"{_count(counts['unroutable'], 'prompt')} name{'s' if counts['unroutable'] == 1 else ''} no conversation")
    if counts["undecided"]:
        ends.append(f"{_count(counts['undecided'], 'prompt')} may or may not pass the filters")
    return ", ".join([said, *ends])


def _read(summary: Summary) -> str:
    opened = _section(summary.coverage, "opened")
    prompts, bodies = opened["prompt_sources"], opened["conversation_sources"]
    read_bytes = opened["bytes"]
    parts = []
    if prompts or not bodies:
        parts.append(f"{prompts:,} prompt histor{'y' if prompts == 1 else 'ies'}")
    if bodies:
        parts.append(_count(bodies, "conversation file"))
    elif summary.requested_effort == "prompt":
        parts.append("no conversation")
    return f"read {' and '.join(parts)} ({size(read_bytes)}) in {summary.elapsed_s:.2f} s"


def size(number: int) -> str:
    """A number of bytes as people read it."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number} B"


_WHY: Mapping[str, str] = {
    "headless_not_in_history": "headless runs, which are in no prompt history",
    "no_prompt_history": "no prompt history there",
    "not_found": "no history of it here",
    "root_missing": "its folder is not there",
    "zstd_not_installed": "zstd files, whose decoder is not installed",
    "sqlite_not_yet": "databases, which are not supported yet",
    "permission": "files without permission",
    "vanished": "files that vanished",
    "folder_unreadable": "folders that cannot be listed",
    "changed_while_read": "files that shrank while they were read",
    "link_refused": "links that lead out of its folder",
}
_WHY_NOT_READ: Mapping[str, str] = {  # in the words of `stores` and `doctor`
    **_WHY,
    "malformed": "lines that are no record: cut off, glued to damage, or not JSON",
    "torn_tail": "unfinished last lines, as when their agent is writing",
    "undecodable": "nesting too deep, numbers too long, or not the format at all",
    "unknown_shape": "records of a shape that is not known",
    "superseded": "earlier snapshots of a later record",
    "paste_missing": "pasted texts that are no longer on disk",
    "wrong_format": "not of the format at all",
    "unsupported_format": "a format that is not known",
    "encrypted": "encrypted by its agent",
    "no_conversation_id": "which conversation they belong to",
    "reader_crashed": "content that breaks the reader, a bug worth a report",
}


def why(code: str) -> str:
    """A reason's code in words."""
    return _WHY_NOT_READ.get(code, code.replace("_", " "))


def _missing(summary: Summary) -> Iterator[str]:
    """Each reason with the agents it holds for."""
    agents = _section(summary.coverage, "agents")
    holders: dict[str, list[str]] = {}
    for name, covered in agents.items():
        for reason in _section(covered, "reasons"):
            if reason != "copies":
                holders.setdefault(reason, []).append(name)
    skipped = _section(summary.coverage, "sources")["skipped"]
    if skipped:
        yield _count(skipped, "planned source")
    for reason, names in sorted(holders.items()):
        yield f"{_WHY.get(reason, reason.replace('_', ' '))} ({', '.join(names)})"


def _section(covered: object, name: str) -> dict:  # type: ignore[type-arg]
    assert isinstance(covered, Mapping)
    section = covered[name]
    assert isinstance(section, dict)
    return section


def _step(summary: Summary, page: Page) -> str:
    """The first next action as a command line; none where there is no history to read in any way."""
    if not summary.next_actions or any(found.code == "no_agent_found" for found in summary.diagnostics):
        return ""
    if page.again:
        return safe(page.again(summary.next_actions[0].patch)).replace("\n", " ")
    return command(summary.query, summary.next_actions[0].patch, page.flags)


def command(query: Query, patch: Mapping[str, object], flags: Sequence[str] = ()) -> str:
    """A request with a patch applied, as what to type."""
    words = arguments({**request(query), **patch})
    return safe(shlex.join(["deepgrep", "search", *flags, *words])).replace("\n", " ")
