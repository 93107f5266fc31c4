"""From a tool's arguments to its answer: the engine is asked, and what it says is put into the budget. Knows no protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import wire
from ..discovery import Machine
from ..engine.conversation import Conversation, Entry, Window, opened, way_back
from ..engine.cost import costs, probes
from ..engine.coverage import truncated
from ..engine.inventory import AgentStock, inventory
from ..engine.plan import plan
from ..engine.read import STOP
from ..engine.resolve import patched
from ..engine.search import search as run
from ..errors import EngineError, NotFound, UsageError
from ..model import Finished, Query, Result, Summary
from ..refs import ref
from ..typed import NamedTuple
from .budget import BYTES_PER_TOKEN, Json, budget, cut, excerpt, fitted, masked_json, size
from .calls import Call
from .params import query_of

_NEIGHBOUR = 200  # code points of a neighbouring record's text
_LEAST_TEXT = 300  # bytes of a record's text in a window around a hit


class Setting(NamedTuple):
    """What the person who started the server chose."""

    machine: Machine
    redacting: bool = True
    deadline_s: float = 45.0  # below the minute after which many clients give up


class Found(NamedTuple):
    """What the engine gave for one request."""

    results: tuple[Result, ...]
    summary: Summary


def asked(query: Query, setting: Setting, call: Call) -> Found:
    """Run the engine for one request."""
    results: list[Result] = []
    for event in run(query, setting.machine, cancelled=call):
        call.see(event)
        if isinstance(event, Result):
            results.append(event)
        elif isinstance(event, Finished):
            return Found(tuple(results), event.summary)
    raise EngineError("the search ended without a summary")


# --- search


def search(given: Mapping[str, Any], setting: Setting, call: Call) -> Json:
    """The answer of `search`."""
    return searched(asked(query_of(given), setting, call), setting, given["max_tokens"])


def searched(found: Found, setting: Setting, max_tokens: int) -> Json:
    """What a search found, within the budget."""

    def build(entries: Sequence[Json], left_out: int, marks: int) -> Json:
        return {
            "schema_version": wire.SCHEMA_VERSION,
            "results": list(entries),
            "summary": wire.summary(truncated(found.summary, left_out)),
            "redactions": marks,
            "budget": budget(max_tokens, left_out),
        }

    entries = (_excerpt(one, setting) for one in found.results)
    return fitted(entries, len(found.results), build, max_tokens)


def _excerpt(found: Result, setting: Setting) -> tuple[Json, int]:
    """A result with what stands around its matches, and how many secrets were masked in it."""
    whole: Json = {**wire.result(found, setting.machine.home)}
    text, spans = found.record.text, found.spans
    piece = excerpt(text, spans, redacting=setting.redacting)
    rest = {name: value for name, value in whole.items() if name not in ("text", "spans", "before", "after")}
    rest, marks = masked_json(rest, redacting=setting.redacting)
    out = {name: rest.get(name) for name in whole if name not in ("before", "after")}
    out |= {"text": piece.text, "spans": piece.spans, "text_length": len(text)}
    for side in ("before", "after"):
        if side in whole:
            around = [_neighbour(one, setting) for one in whole[side]]  # type: ignore[attr-defined]
            out[side] = [one for one, _ in around]
            marks += sum(number for _, number in around)
    return out, marks + piece.redactions


def _neighbour(record: Json, setting: Setting) -> tuple[Json, int]:
    masked, marks = masked_json(record, redacting=setting.redacting)
    text = str(masked["text"])
    return {**masked, "text": text if len(text) <= _NEIGHBOUR else text[: _NEIGHBOUR - 1] + "…"}, marks


# --- next actions


class Step(NamedTuple):
    """A next action that was asked for: the request it makes, and the question it needs an answer to, if any."""

    query: Query
    question: str | None


def step(given: Mapping[str, Any], setting: Setting, call: Call) -> Step:
    """The next action that a request's own summary offers under this id. Raises UsageError where it offers none."""
    query = query_of(given)
    summary = asked(query, setting, call).summary
    offered = {action.id: action for action in summary.next_actions}
    chosen = offered.get(given["action"])
    if chosen is None:
        names = ", ".join(offered)
        raise UsageError(f"action: these arguments offer {names or 'none'}" + (": choose one of them" if names else "; leave it out"))
    made = patched(dict(wire.request(query)), chosen.patch, "mcp")
    question = None
    if chosen.requires_confirmation:
        question = (
            f"{chosen.label}? {chosen.reason[:1].upper()}{chosen.reason[1:]}. "
            f"It returns scope {made.scope} instead of {query.scope}, at effort {made.effort}."
        )
    return Step(made, question)


# --- read


def read(given: Mapping[str, Any], setting: Setting, call: Call) -> Json:
    """The answer of `read`."""
    home = setting.machine.home
    STOP.set(call)  # for this thread's context alone
    try:
        found, named = opened(given["ref"], setting.machine)
    except NotFound as error:
        raise UsageError(_not_found(error, given["ref"])) from None
    number, offset = _start(given)
    around = given["around"] if found.hit is not None and not number else None
    wanted = Window(around=around, first=number or 1, limit=given["limit"], speakers=tuple(given["speaker"]), kinds=tuple(given["kind"]))
    passage = found.window(wanted)
    entries = [_piece(entry, setting) for entry in passage.entries]
    if offset and entries and entries[0].number == number:
        entries[0] = entries[0].since(offset)
    notes = [named.why] if named.why else []
    about: Json = {**wire.conversation(found, found.subagents(setting.machine), _way_back(found), home)}
    about, about_marks = masked_json(about, redacting=setting.redacting)

    def build(taken: Sequence[Json], left_out: int, marks: int) -> Json:
        return {
            "schema_version": wire.SCHEMA_VERSION,
            "conversation": about,
            "hit": _hit(found),
            "records": list(taken),
            "before": passage.before,
            "after": passage.after + left_out,
            "cursor": _cursor(taken, entries, passage.next),
            "notes": notes,
            "redactions": marks + about_marks,
            "budget": budget(given["max_tokens"], left_out),
        }

    room = given["max_tokens"] * BYTES_PER_TOKEN - size(build([], 0, 0)) - 64  # for a cursor and counts that grow
    if room < 0:
        about = {**about, "subagents": []}
        room = given["max_tokens"] * BYTES_PER_TOKEN - size(build([], 0, 0)) - 64
    return fitted(_in_room(entries, room, evenly=around is not None), len(entries), build, given["max_tokens"])


class Piece(NamedTuple):
    """A record with its whole text masked, of which a piece may be shown."""

    number: int
    about: Json  # without its text
    text: str
    marks: int
    start: int = 0

    def since(self, offset: int) -> Piece:
        """The rest of it from a code point on."""
        return self._replace(start=min(offset, len(self.text)))

    def shown(self, room_bytes: int) -> tuple[Json, int]:
        """It with so much of its text as fits into so many bytes, and the secrets masked in it."""
        text = cut(self.text[self.start :], max(0, room_bytes - size(self.about) - 60))
        return {**self.about, "text": text, "text_start": self.start, "text_length": len(self.text)}, self.marks


def _piece(entry: Entry, setting: Setting) -> Piece:
    whole, marks = masked_json({**wire.entry(entry)}, redacting=setting.redacting)
    text = str(whole["text"])
    return Piece(entry.number, {**whole, "text": ""}, text, marks)


def _in_room(entries: Sequence[Piece], room: int, *, evenly: bool) -> Iterator[tuple[Json, int]]:
    """The entries; around a hit each with its share of the room; else whole, or a piece of the first where it does not fit."""
    whole = [entry.shown(1 << 62) for entry in entries]
    used = [size(one) + 1 for one, _ in whole]
    if evenly and sum(used) > room and len(entries) > 1:
        share = max(_LEAST_TEXT, _share(used, room))
        yield from (one if cost <= share else entry.shown(share) for entry, one, cost in zip(entries, whole, used, strict=True))
    elif entries and used[0] > room:
        yield entries[0].shown(room)
    else:
        yield from whole


def _share(used: Sequence[int], room: int) -> int:
    """The most that each may take, so that together they fit: the small ones leave their rest to the others."""
    left, count = room, len(used)
    for cost in sorted(used):
        if cost * count > left:
            break
        left, count = left - cost, count - 1
    return left // max(1, count) - 1


def _cursor(taken: Sequence[Json], entries: Sequence[Piece], following: int | None) -> str | None:
    """Where to go on: inside the only record that was cut, or at the next one."""
    if len(taken) == 1:
        last = taken[0]
        end = int(str(last["text_start"])) + len(str(last["text"]))
        if end < int(str(last["text_length"])):
            return f"{last['number']}.{end}"
    if len(taken) < len(entries):
        return f"{entries[len(taken)].number}.0"
    return None if following is None else f"{following}.0"


def _start(given: Mapping[str, Any]) -> tuple[int, int]:
    """The number and the code point to start at; 0 where nothing says so."""
    number, _, offset = given["cursor"].partition(".")
    return (int(number), int(offset)) if number else (given["first"], 0)


def _not_found(error: NotFound, name: str) -> str:
    line = str(error)
    if name.strip() not in line:
        return f"ref: {line}"
    return "ref: it names nothing here, or not one thing; take a ref or a whole conversation_id from search or recent"


def _way_back(found: Conversation) -> Any:
    try:
        return way_back(found)
    except NotFound:
        return None


def _hit(found: Conversation) -> Json | None:
    if found.hit is None or found.hit_number is None:
        return None
    return {"ref": ref(found.hit), "number": found.hit_number, "moved": found.moved}


# --- recent


def recent(given: Mapping[str, Any], setting: Setting, call: Call) -> Json:
    """The answer of `recent`."""
    wanted = {**given, "speaker": ["person"], "scope": "prompts", "order": "newest", "limit": 0, "dedupe": True, "echoes": False}
    found = asked(query_of(wanted), setting, call)
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in found.results:
        record = one.record
        groups.setdefault((record.agent, record.conversation_id or ref(record)), []).append(one)
    chosen = list(groups.values())[: given["limit"]]

    def build(entries: Sequence[Json], left_out: int, marks: int) -> Json:
        return {
            "schema_version": wire.SCHEMA_VERSION,
            "conversations": list(entries),
            "more": len(groups) - len(entries),
            "summary": wire.summary(truncated(found.summary, left_out)),
            "redactions": marks,
            "budget": budget(given["max_tokens"], left_out),
        }

    return fitted((_conversation(inside, setting) for inside in chosen), len(chosen), build, given["max_tokens"])


def _conversation(inside: Sequence[Result], setting: Setting) -> tuple[Json, int]:
    """A conversation by its prompts, latest first."""
    latest, first = inside[0], inside[-1]
    best = wire.result(next((one for one in inside if one.record.cwd), latest), setting.machine.home)
    ends = [excerpt(one.record.text, (), redacting=setting.redacting) for one in (first, latest)]
    told: Json = {
        "ref": ref(latest.record), "agent": best["agent"], "conversation_id": best["conversation_id"],
        "title": next((one.record.title for one in inside if one.record.title), None), "project": best["project"], "cwd": best["cwd"],
        "branch": best["branch"], "began": wire.moment(first.record), "ended": wire.moment(latest.record), "prompts": len(inside),
        "first_prompt": "", "last_prompt": "", "resume": best["resume"],
    }  # fmt: skip
    out, marks = masked_json(told, redacting=setting.redacting)
    out |= {"first_prompt": ends[0].text, "last_prompt": ends[1].text}
    return out, marks + ends[0].redactions + (ends[1].redactions if latest is not first else 0)


# --- sources and explain


def sources(given: Mapping[str, Any], setting: Setting, call: Call) -> Json:
    """The answer of `sources`."""
    stock = inventory(setting.machine, tuple(given["agent"]))
    here = [one for one in stock if one.found or one.missing]
    absent = [one.agent.id for one in stock if one not in here]

    def build(entries: Sequence[Json], left_out: int, marks: int) -> Json:
        return {
            "schema_version": wire.SCHEMA_VERSION, "agents": list(entries), "absent": absent,
            "budget": budget(given["max_tokens"], left_out),
        }  # fmt: skip

    return fitted(((_reach(one, setting.machine.home), 0) for one in here), len(here), build, given["max_tokens"])


def _reach(one: AgentStock, home: str) -> Json:
    stores: list[Json] = []
    why_not: list[str] = list(one.agent.limits)
    reads: set[str] = set()
    for store in one.stores:
        if not store.sources and not store.unreadable:
            continue
        told = wire.agent_stock(one._replace(stores=(store,)), home)["stores"]
        assert isinstance(told, list)
        reasons = sorted(store.unreadable) + ([told[0]["unsupported"]] if told[0]["unsupported"] else [])
        readable = store.store.reader is not None and len(store.sources) > 0
        reads |= {store.store.role} if readable else set()
        why_not += reasons
        kept = ("id", "role", "sources", "bytes", "newest")
        stores.append({**{name: told[0][name] for name in kept}, "reads": readable, "why_not": reasons})
    efforts = []
    if "prompts" in reads:
        efforts.append("prompt")
        if one.agent.locate is not None:
            efforts.append("targeted")
        else:
            why_not.append("no_conversation_id")
    else:
        why_not.append("root_missing" if one.missing else "no_prompt_history")
    if reads:
        efforts.append("exhaustive")
    return {
        "id": one.agent.id, "name": one.agent.name, "found": one.found, "places": [wire.shown(path, home) for path in one.places],
        "efforts": efforts, "why_not": sorted(set(why_not)), "stores": stores,
    }  # fmt: skip


def explain(given: Mapping[str, Any], setting: Setting, call: Call) -> Json:
    """The answer of `explain`."""
    query = query_of(given)
    found, looked = list(costs(query, setting.machine)), list(probes(query, plan(query, setting.machine).sources))
    whole = wire.explanation(query, found, looked)
    told = whole.pop("probes")
    assert isinstance(told, list)

    def build(entries: Sequence[Json], left_out: int, marks: int) -> Json:
        return {**whole, "probes": list(entries), "budget": budget(given["max_tokens"], left_out)}

    if size(build([], 0, 0)) > given["max_tokens"] * BYTES_PER_TOKEN:  # a long query says much of itself
        whole |= {"tree": [], "query": "", "warnings": []}
    return fitted(((one, 0) for one in told), len(told), build, given["max_tokens"])


Answer = Callable[[Mapping[str, Any], Setting, Call], Json]
