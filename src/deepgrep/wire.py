"""Results and summaries as JSON: the only place that names wire keys. Their types are in `schema`."""

from __future__ import annotations

from .engine.order import project
from .model import EVERYTHING, ROLE_OF, Any, Field, Not, Pattern, Query, Record, Result, Resume, Summary, Term, Tree
from .refs import ref
from .text import clean, rfc3339
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .engine.conversation import Conversation, Entry, Subagent
    from .engine.cost import Cost, Probing
    from .engine.inventory import AgentStock, StoreStock
    from .engine.miss import Miss
    from .schema import ConversationJson, EntryJson, MissJson, ProfileJson, RecordJson, RequestJson, ResultJson, ResumeJson, SummaryJson

SCHEMA_VERSION = 1


def result(found: Result, home: str, *, explain: bool = False) -> ResultJson:
    """One result. With `explain`, the parts of its score."""
    record = found.record
    out: ResultJson = {
        "ref": ref(record),
        "folded_refs": [ref(other) for other in found.folded],
        "agent": record.agent,
        "store": record.store,
        "speaker": record.speaker,
        "kind": record.kind,
        "role": ROLE_OF[record.speaker],
        "text": record.text,
        "spans": [list(span) for span in found.spans],
        "timestamp": moment(record),
        "conversation_id": _text(record.conversation_id),
        "parent_conversation_id": _text(record.parent_conversation_id),
        "also_in": [clean(other) for other in found.also_in],
        "title": _text(record.title),
        "cwd": _text(record.cwd),
        "project": _text(project(record)),
        "repo": _text(record.repo),
        "branch": _text(record.branch),
        "model": _text(record.model),
        "tool": _text(record.tool),
        "origin": record.origin,
        "path": shown(record.source.path, home),
        "resume": _resume(found.resume),
        "score": found.score,
    }
    if explain and found.score_parts is not None:
        out["score_parts"] = found.score_parts._asdict()  # type: ignore[typeddict-item]
    if found.before or found.after:
        out["before"] = [_neighbour(other) for other in found.before]
        out["after"] = [_neighbour(other) for other in found.after]
    return out


def _neighbour(record: Record) -> RecordJson:
    return {
        "ref": ref(record),
        "speaker": record.speaker,
        "kind": record.kind,
        "role": ROLE_OF[record.speaker],
        "text": record.text,
        "timestamp": moment(record),
    }


def moment(record: Record) -> str | None:
    """When a record was said."""
    return None if record.time_us is None else rfc3339(record.time_us)


def _text(value: str | None) -> str | None:
    return None if value is None else clean(value)


def _resume(command: Resume | None) -> ResumeJson | None:
    return None if command is None else {"argv": [clean(word) for word in command.argv], "cwd": _text(command.cwd)}


def shown(path: str, home: str) -> str:
    """A path as people may see it: the home as `~`, valid Unicode."""
    home = home.rstrip("/\\")
    if home and path.startswith(home) and path[len(home) : len(home) + 1] in ("/", "\\", ""):
        path = "~" + path[len(home) :]
    return clean(path)


def request(query: Query) -> RequestJson:
    """The normalized request."""
    filters = query.filters
    return {
        "texts": [clean(text) for text in query.texts],
        "literal": query.literal,
        "any": query.any,
        "effort": query.effort,
        "scope": query.scope,
        "order": query.order,
        "limit": query.limit,
        "agent": list(filters.agents),
        "cwd": _text(filters.cwd),
        "project": _text(filters.project),
        "repo": _text(filters.repo),
        "branch": _text(filters.branch),
        "since": None if filters.since_us is None else rfc3339(filters.since_us),
        "until": None if filters.until_us is None else rfc3339(filters.until_us),
        "speaker": list(filters.speakers),
        "kind": list(filters.kinds),
        "model": _text(filters.model),
        "dedupe": query.dedupe,
        "context": query.context,
        "echoes": query.echoes,
        "conversation_limit": query.conversation_limit,
    }


def profile(closing: Summary) -> ProfileJson:
    """Where the time of a run went."""
    return {**closing.profile._asdict(), "reading_s": dict(closing.profile.reading_s)}  # type: ignore[typeddict-item]


def miss(found: Miss) -> MissJson:
    """Why a search found nothing."""
    return {
        "sources": found.sources,
        "terms": {clean(name): number for name, number in found.terms.items()},
        "text_matched": found.text_matched,
        "removed": [{"what": clean(one.what), "removed": one.removed, "alone": one.alone} for one in found.removed],
    }


def summary(closing: Summary) -> SummaryJson:
    """The summary of a run."""
    state = closing.status
    return {
        "request": request(closing.query),
        "requested_effort": closing.requested_effort,
        "completed_effort": closing.completed_effort,
        "status": {"state": state.state, "reason": state.reason, "conditions": list(state.conditions)},
        "outcome": closing.outcome,
        "coverage": closing.coverage,  # type: ignore[typeddict-item]
        "diagnostics": [{"code": d.code, "severity": d.severity, "message": d.message, "count": d.total} for d in closing.diagnostics],
        "next_actions": [
            {
                "id": action.id,
                "label": action.label,
                "reason": action.reason,
                "patch": dict(action.patch),
                "requires_confirmation": action.requires_confirmation,
            }
            for action in closing.next_actions
        ],
        "match_count": closing.match_count,
        "elapsed_s": round(closing.elapsed_s, 6),
        "order": closing.order,
        "limit": closing.limit,
    }


def exit_status(closing: Summary) -> int:
    """0 with at least one result and not failed; 1 none; 2 failed or undetermined; 130 cancelled."""
    if closing.status.state == "cancelled":
        return 130
    if closing.status.state == "failed" or closing.outcome == "undetermined":
        return 2
    return 0 if closing.match_count else 1


def conversation(found: Conversation, subagents: Sequence[Subagent], command: Resume | None, home: str) -> ConversationJson:
    """What the history says of a conversation as a whole."""
    record, (began, ended) = found.describes, found.times
    return {
        "agent": found.sources[0].agent,
        "stores": list(dict.fromkeys(source.store for source in found.sources)),
        "paths": [shown(source.path, home) for source in found.sources],
        "conversation_id": _text(found.conversation_id),
        "parent_conversation_id": _text(record.parent_conversation_id) if record else None,
        "title": _text(record.title) if record else None,
        "cwd": _text(record.cwd) if record else None,
        "project": _text(project(record)) if record else None,
        "repo": _text(record.repo) if record else None,
        "branch": _text(record.branch) if record else None,
        "began": None if began is None else rfc3339(began),
        "ended": None if ended is None else rfc3339(ended),
        "total": found.total,
        "resume": _resume(command),
        "subagents": [{"name": clean(one.name), "path": shown(one.source.path, home)} for one in subagents],
    }


def entry(found: Entry) -> EntryJson:
    """One record of a conversation."""
    record = found.record
    return {
        "number": found.number,
        "is_hit": found.is_hit,
        **_neighbour(record),
        "tool": _text(record.tool),
        "model": _text(record.model),
    }


def agent_stock(one: AgentStock, home: str) -> dict[str, object]:
    """What is here of one agent, as `stores --json` prints it."""
    return {
        "id": one.agent.id,
        "name": one.agent.name,
        "found": one.found,
        "places": [shown(path, home) for path in one.places],
        "looked_in": [shown(path, home) for path in one.looked_in],
        "limits": list(one.agent.limits),
        "refused": one.refused,
        "copies": one.copies,
        "stores": [_store_json(store) for store in one.stores],
    }


def _store_json(one: StoreStock) -> dict[str, object]:
    store = one.store
    return {
        "id": store.id,
        "role": store.role,
        "patterns": list(store.where),
        "root": store.root,
        "evidence": store.evidence,
        "speakers": list(store.speakers),
        "unsupported": store.unsupported if store.reader is None else None,
        "sources": len(one.sources),
        "bytes": one.bytes,
        "unreadable": one.unreadable,
        "newest": None if one.newest_ns is None else rfc3339(one.newest_ns // 1000),
    }


def tree_lines(tree: Tree, depth: int = 0) -> Iterator[str]:
    """A query's tree, a part a line, by depth."""
    indent = "  " * depth
    if isinstance(tree, Term):
        yield f"{indent}text {tree.text!r}"
    elif isinstance(tree, Field):
        yield f"{indent}{tree.name}: {tree.shown or tree.value or '*'}"
    elif isinstance(tree, Pattern):
        yield f"{indent}pattern {' or '.join(map(repr, tree.texts))}"
    elif isinstance(tree, Not):
        yield f"{indent}not"
        yield from tree_lines(tree.part, depth + 1)
    elif tree == EVERYTHING:
        yield f"{indent}everything"
    else:
        yield indent + ("any of" if isinstance(tree, Any) else "all of")
        for part in tree.parts:
            yield from tree_lines(part, depth + 1)


def explanation(made: Query, found: Sequence[Cost], looked: Sequence[Probing]) -> dict[str, object]:
    """What a query means and would read, as `explain --json` prints it."""
    from .query.language import show  # deferred: a search does not explain itself

    return {
        "schema_version": SCHEMA_VERSION,
        "query": show(made.tree),
        "tree": list(tree_lines(made.tree)),
        "warnings": list(made.warnings),
        "request": request(made),
        "costs": [cost._asdict() for cost in found],
        "probes": [{**one._asdict(), "looks_for": list(one.looks_for)} for one in looked],
    }
