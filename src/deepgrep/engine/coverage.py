"""Counts to coverage to summary: what was read, what was not and why, and what to try next. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..errors import EngineError
from ..model import Action, Diagnostic, Effort, Field, Query, Reading, Source, Status, Summary
from ..query.parse import has_fields
from ..typed import NamedTuple
from .plan import AgentPlan, Plan

PRECEDENCE = ("failed", "cancelled", "truncated", "approximate", "bounded", "complete")
ASKS_FOR = {
    "source_failure": "failed",
    "evidence_failure": "failed",
    "engine_failure": "failed",
    "cancelled": "cancelled",
    "response_truncated": "truncated",
    "candidate_selection": "approximate",
    "file_times": "approximate",
    "lineage_unread": "approximate",
    "result_limit": "bounded",
    "answer_now": "bounded",
    "unsupported_store": None,
    "no_positive_clue": None,
}
SOURCE_COUNTS = (
    "discovered", "eligible", "planned", "attempted", "completed", "bounded", "unsupported", "failed", "cancelled", "skipped",
)  # fmt: skip
SKIPS = ("malformed", "torn_tail", "oversized", "undecodable", "unknown_shape")
WITHHELD = ("context", "echo")
CONVERSATION_COUNTS = (
    "eligible", "selected", "completed", "ambiguous", "stale", "unreadable", "unresolved", "budget_exhausted", "unroutable", "undecided",
)  # fmt: skip
_ROUTING = CONVERSATION_COUNTS[3:]
OPENED = ("prompt_sources", "conversation_sources", "proofs", "bytes")

Coverage = dict[str, object]

# What a reader should know of each code that can appear in diagnostics. `{}` is the number; `[is|are]` goes by it, `[s]` is for several.
_SAYS: Mapping[str, tuple[str, str]] = {
    "source_failure": ("error", "{} source[s] could not be read"),
    "engine_failure": ("error", "the search broke off; this is a fault of the program: please report it"),
    "malformed": ("warning", "{} line[s] [is|are] no record: cut off, glued to damage, or not JSON"),
    "torn_tail": ("info", "{} file[s] [ends|end] in an unfinished line, as when [its|their] agent is writing"),
    "oversized": ("warning", "{} line[s] [is|are] longer than the cap and [was|were] passed over"),
    "undecodable": ("warning", "{} record[s] [nests|nest] too deep or [holds|hold] numbers too long to decode"),
    "unknown_shape": ("warning", "{} record[s] [has|have] a shape that is not known"),
    "superseded": ("info", "{} record[s] [is an earlier snapshot|are earlier snapshots] of a later one"),
    "paste_missing": ("info", "{} pasted text[s] [is|are] no longer on disk; only the placeholder[s] [was|were] searched"),
    "replaced": ("info", "{} line[s] [holds|hold] bytes that are not UTF-8; they were replaced"),
    "context": ("info", "{} match[|es] in injected context [was|were] left out; ask with --kind context"),
    "field_near_miss": ("warning", "{} part[s] of the text [looks|look] like query language, and may not mean what was meant"),
    "response_truncated": ("warning", "{} result[s] [was|were] left out of this answer to keep it within its budget"),
    "echo": ("info", "{} match[|es] in this program's own output [was|were] left out"),
    "unresolved": ("info", "{} selected conversation[s] [has|have] no transcript any more"),
    "stale": ("warning", "{} selected conversation[s] [leads|lead] to a file that is another's"),
    "ambiguous": ("warning", "{} selected conversation[s] [has|have] more than one transcript"),
    "unreadable": ("warning", "{} selected conversation[s] [has|have] a transcript that cannot be read"),
    "budget_exhausted": ("warning", "{} selected conversation[s] [was|were] not found within the budget for looking"),
    "unroutable": ("info", "{} prompt[s] that [matches|match] [names|name] no conversation"),
    "undecided": ("info", "{} prompt[s] that [matches|match] [comes|come] from a history that does not tell whether the filters hold"),
    "copies": ("info", "{} file[s] [is a second copy|are second copies] and [was|were] read once"),
    "refused": ("warning", "{} link[s] [leads|lead] out of [its|their] agent's folder and [was|were] not followed"),
    "unsupported_store": ("warning", "{} source[s] [is|are] of a kind that is not supported yet"),
    "root_missing": ("warning", "{} agent[s] [has|have] a variable that names a folder which is not there"),
    "no_agent_found": ("warning", "no agent's history was found here"),
}


class Account(NamedTuple):
    """All that the coverage of one agent is made of. `routing`: what targeted selection counted."""

    plan: AgentPlan
    planned: tuple[Source, ...]
    readings: tuple[Reading, ...]
    routing: Mapping[str, int] = {}


def accounts(plan: Plan, readings: Sequence[Reading], routing: Mapping[str, Mapping[str, int]]) -> tuple[Account, ...]:
    """The plan and the readings, agent by agent; folders that could not be listed count as readings that failed."""
    out = []
    for one in plan.agents:
        broken = tuple(Reading(source, "failed", code, False, 0, {}, ()) for source, code in one.listing.broken)
        mine = tuple(r for r in readings if r.source.agent == one.id)
        out.append(Account(one, tuple(s for s in plan.sources if s.agent == one.id), (*mine, *broken), routing.get(one.id, {})))
    return tuple(out)


def coverage(query: Query, found: Sequence[Account], folded: Mapping[str, int]) -> Coverage:
    """The whole coverage, and the same for each agent. Raises EngineError for counts that cannot be."""
    parts = {account.plan.id: _part(query, account, folded.get(account.plan.id, 0)) for account in found}
    total = _sum(parts.values())
    agents = {name: {**part, "reasons": _reasons(query, account)} for (name, part), account in zip(parts.items(), found, strict=True)}
    return {**total, "agents": agents}


def _part(query: Query, account: Account, folded: int) -> dict[str, dict[str, object]]:
    listed, readings = account.plan.listing, account.readings
    planned = len(account.planned) + len(listed.broken)
    ends = Counter(reading.outcome for reading in readings)
    sources = dict.fromkeys(SOURCE_COUNTS, 0)
    sources.update(
        discovered=planned + listed.copies + listed.refused + listed.pruned, eligible=planned, planned=planned,
        attempted=len(readings), skipped=planned - len(readings), **{str(name): number for name, number in ends.items()},
    )  # fmt: skip
    _check(sources)
    counts: Counter[str] = Counter()
    for reading in readings:
        counts.update(reading.counts)
    skipped = {name: counts["skip." + name] for name in SKIPS}
    skipped |= {name[5:]: n for name, n in sorted(counts.items()) if name.startswith("skip.")}
    records: dict[str, object] = {name: counts[name] for name in ("probed", "decoded", "matched")}
    withheld = {name: counts["withheld." + name] for name in WITHHELD}
    records |= {"folded": folded, "skipped": skipped, "withheld": withheld, "replaced": counts["replaced"]}
    return {
        "sources": dict(sources),
        "records": records,
        "conversations": _conversations(query, account),
        "opened": _opened(readings, account.routing.get("proofs", 0)),
    }


def _check(sources: Mapping[str, int]) -> None:
    ends = sum(sources[name] for name in ("completed", "bounded", "unsupported", "failed", "cancelled"))
    chain = [sources[name] for name in ("discovered", "eligible", "planned", "attempted")]
    if chain != sorted(chain, reverse=True) or ends != sources["attempted"] or min(sources.values()) < 0:
        raise EngineError(f"source counts that cannot be: {dict(sources)}")


def _conversations(query: Query, account: Account) -> dict[str, object]:
    out = dict.fromkeys(CONVERSATION_COUNTS, 0)
    if query.effort == "exhaustive":
        bodies = sum(source.role == "transcript" for source in account.planned)
        done = sum(r.source.role == "transcript" and r.outcome == "completed" for r in account.readings)
        out.update(eligible=bodies, selected=bodies, completed=done)
    elif query.effort == "targeted":
        out.update({name: account.routing.get(name, 0) for name in CONVERSATION_COUNTS})
    if not out["eligible"] >= out["selected"] >= out["completed"]:
        raise EngineError(f"conversation counts that cannot be: {out}")
    return dict(out)


def _opened(readings: Iterable[Reading], proofs: int) -> dict[str, object]:
    opened = [reading for reading in readings if reading.opened]
    return {
        "prompt_sources": sum(r.source.role == "prompts" for r in opened),
        "conversation_sources": sum(r.source.role == "transcript" for r in opened),
        "proofs": proofs,
        "bytes": sum(r.bytes_read for r in opened),
    }


def _reasons(query: Query, account: Account) -> dict[str, int]:
    """Why an agent contributed less than a reader may think: a code, and how often (0: it holds for all of it)."""
    out: Counter[str] = Counter()
    one = account.plan
    if one.found.missing:
        return {"root_missing": 0}
    if one.declared is None:
        return {"not_found": 0}
    if query.effort != "exhaustive":
        out.update(dict.fromkeys(one.declared.limits, 0))
        if not any(source.role == "prompts" for source in account.planned):
            out["no_prompt_history"] = 0
    for reading in account.readings:
        if reading.outcome in ("failed", "unsupported"):
            out[reading.reason or reading.outcome] += 1
    if one.listing.copies:
        out["copies"] = one.listing.copies
    if one.listing.refused:
        out["link_refused"] = one.listing.refused
    return dict(sorted(out.items()))


def _sum(parts: Iterable[Mapping[str, Mapping[str, object]]]) -> dict[str, object]:
    """The sum of several coverages, key by key."""
    total = _zeros()
    for part in parts:
        for section, counts in part.items():
            _add(total[section], counts)
    return dict(total)


def _zeros() -> dict[str, dict[str, object]]:
    records: dict[str, object] = {"probed": 0, "decoded": 0, "matched": 0, "folded": 0}
    records |= {"skipped": dict.fromkeys(SKIPS, 0), "withheld": dict.fromkeys(WITHHELD, 0), "replaced": 0}
    return {
        "sources": dict.fromkeys(SOURCE_COUNTS, 0), "records": records,
        "conversations": dict.fromkeys(CONVERSATION_COUNTS, 0), "opened": dict.fromkeys(OPENED, 0),
    }  # fmt: skip


def _add(total: dict[str, object], counts: Mapping[str, object]) -> None:
    for name, value in counts.items():
        if isinstance(value, Mapping):
            inner = total.setdefault(name, {})
            assert isinstance(inner, dict)
            _add(inner, value)
        else:
            total[name] = int(total.get(name, 0)) + int(value)  # type: ignore[call-overload]


def status(conditions: Iterable[str]) -> Status:
    """The state by precedence, the condition that decided it, and all conditions in the order of the table."""
    given = set(conditions)
    held = [name for name in ASKS_FOR if name in given]
    state, reason = "complete", None
    for name in held:
        asked = ASKS_FOR[name]
        if asked and PRECEDENCE.index(asked) < PRECEDENCE.index(state):
            state, reason = asked, name
    return Status(state, reason, tuple(held))


def truncated(summary: Summary, left_out: int) -> Summary:
    """The summary of an answer that an output budget cut by so many results. None left out, or said already: as it is."""
    if left_out < 1 or "response_truncated" in summary.status.conditions:
        return summary
    said = Diagnostic("response_truncated", "warning", _said(_SAYS["response_truncated"][1], left_out), left_out)
    return summary._replace(
        status=status((*summary.status.conditions, "response_truncated")), diagnostics=_worst_first((*summary.diagnostics, said))
    )


def _worst_first(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(found, key=lambda d: (("error", "warning", "info").index(d.severity), d.code)))


def outcome(effort: Effort, results: int, state: Status, covered: Coverage) -> str:
    """What the run came to, in one word of design.md 6."""
    if results:
        return "matches"
    if state.state in ("failed", "cancelled"):
        return "undetermined"
    if effort == "targeted":
        selection = covered["conversations"]
        assert isinstance(selection, dict)
        if not selection["selected"]:
            return "no_candidate_conversation"
        return "no_selected_conversation_match" if selection["completed"] else "undetermined"
    return "no_prompt_match" if effort == "prompt" else "no_exhaustive_match"


def completed_effort(effort: Effort, state: Status, result: str) -> Effort | None:
    """The requested effort if its reading was completed."""
    return None if state.state in ("failed", "cancelled") or result == "undetermined" else effort


def diagnostics(query: Query, covered: Coverage, plan: Plan, conditions: Iterable[str]) -> tuple[Diagnostic, ...]:
    """One line for each thing that a reader of the answer should know, worst first."""
    sources, records = covered["sources"], covered["records"]
    assert isinstance(sources, dict)
    assert isinstance(records, dict)
    counts = {"source_failure": sources["failed"], "unsupported_store": sources["unsupported"], "replaced": records["replaced"]}
    counts |= records["skipped"] | records["withheld"]
    selection = covered["conversations"]
    assert isinstance(selection, dict)
    counts |= {name: selection[name] for name in _ROUTING}
    counts["copies"] = sum(one.listing.copies for one in plan.agents)
    counts["refused"] = sum(one.listing.refused for one in plan.agents)
    counts["root_missing"] = sum(one.found.missing for one in plan.agents)
    counts["engine_failure"] = int("engine_failure" in conditions)
    counts["field_near_miss"] = len(query.warnings)
    counts["no_agent_found"] = int(not any(one.found.places for one in plan.agents))
    out = []
    for code, count in counts.items():
        if count:
            severity, message = _SAYS.get(code, ("info", f"{{}} record[s] [was|were] skipped: {code}"))
            out.append(Diagnostic(code, severity, _said(message, count), count))  # type: ignore[arg-type]
    return _worst_first(out)


_BY_NUMBER = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")


def _said(message: str, number: int) -> str:
    """A message of the table for a number."""

    def chosen(found: re.Match[str]) -> str:
        one, several = ("", found[1]) if found[2] is None else (found[1], found[2])
        return one if number == 1 else several

    return _BY_NUMBER.sub(chosen, message).format(f"{number:,}")


def _fields(query: Query) -> Sequence[Field]:
    if not has_fields(query.tree):
        return ()
    from ..query.evaluate import fields  # deferred: a query of words needs no field table

    return fields(query.tree)


def next_actions(query: Query, found: Sequence[Account], state: Status) -> tuple[Action, ...]:
    """What to try next: a deeper effort, or the same without what failed. Each patch gives a valid request."""
    out = []
    failing = {r.source.agent for account in found for r in account.readings if r.outcome == "failed"}
    others = [account.plan.id for account in found if account.plan.id not in failing and account.plan.found.places]
    from_text = any(field.name == "agent" for field in _fields(query))
    if state.state == "failed" and failing and others and not from_text:
        out.append(Action(
            "search.without_failing", f"Search again without {', '.join(sorted(failing))}",
            "some of its history could not be read", {"agent": others}, False,
        ))  # fmt: skip
    if query.effort == "prompt":
        out.append(Action(
            "search.targeted", "Open the conversations that these prompts lead to",
            "replies and tool output are in the conversations, not in prompt histories", {"effort": "targeted", "scope": "all"},
            query.scope_given,  # a scope that was asked for would widen
        ))  # fmt: skip
    if query.effort != "exhaustive":
        scope = query.scope if query.scope_given else "all"
        out.append(Action(
            "search.exhaustive", "Read every conversation", "prompts cannot lead to headless runs, nor to words that only an answer holds",
            {"effort": "exhaustive", "scope": scope, "conversation_limit": None}, False,
        ))  # fmt: skip
    return tuple(out)
