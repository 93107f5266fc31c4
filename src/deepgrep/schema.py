"""The types of the JSON contract, design.md 8: what `docs/reference/schema.json` is generated from. Never imported by a search."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import NotRequired, TypedDict


class Options(TypedDict, total=False):
    """The controls of a search, as the library takes them. Each is left out where the default will do."""

    literal: bool
    any: bool
    effort: str
    scope: str
    order: str
    limit: int | None
    agent: str | Iterable[str]
    cwd: str
    project: str
    repo: str
    branch: str
    since: str
    until: str
    on: str
    speaker: str | Iterable[str]
    kind: str | Iterable[str]
    model: str
    dedupe: bool
    context: int
    echoes: bool
    conversation_limit: int


class ResumeJson(TypedDict):
    """The agent's own command that goes back into the conversation."""

    argv: list[str]
    cwd: str | None


class RecordJson(TypedDict):
    """A neighbouring record."""

    ref: str
    speaker: str
    kind: str
    role: str
    text: str
    timestamp: str | None


class ScoreJson(TypedDict):
    """The parts of a relevance score."""

    terms: int
    words: int
    near: int
    early: int
    speaker: int
    length: int


class ResultJson(TypedDict):
    """One result. `spans` are code points of `text`; unknown is null."""

    ref: str
    folded_refs: list[str]
    agent: str
    store: str
    speaker: str
    kind: str
    role: str
    text: str
    spans: list[list[int]]
    timestamp: str | None
    conversation_id: str | None
    parent_conversation_id: str | None
    also_in: list[str]
    title: str | None
    cwd: str | None
    project: str | None
    repo: str | None
    branch: str | None
    model: str | None
    tool: str | None
    origin: str | None
    path: str
    resume: ResumeJson | None
    score: int | None
    score_parts: NotRequired[ScoreJson]
    before: NotRequired[list[RecordJson]]
    after: NotRequired[list[RecordJson]]


class RequestJson(TypedDict):
    """The normalized request. Its keys are those that a next action's patch may set."""

    texts: list[str]
    literal: bool
    any: bool
    effort: str
    scope: str
    order: str
    limit: int | None
    agent: list[str]
    cwd: str | None
    project: str | None
    repo: str | None
    branch: str | None
    since: str | None
    until: str | None
    speaker: list[str]
    kind: list[str]
    model: str | None
    dedupe: bool
    context: int
    echoes: bool
    conversation_limit: int | None


class StatusJson(TypedDict):
    state: str
    reason: str | None
    conditions: list[str]


class SourceCountsJson(TypedDict):
    discovered: int
    eligible: int
    planned: int
    attempted: int
    completed: int
    bounded: int
    unsupported: int
    failed: int
    cancelled: int
    skipped: int


class RecordCountsJson(TypedDict):
    probed: int
    decoded: int
    matched: int
    folded: int
    skipped: dict[str, int]
    withheld: dict[str, int]
    replaced: int


class ConversationCountsJson(TypedDict):
    eligible: int
    selected: int
    completed: int
    ambiguous: int
    stale: int
    unreadable: int
    unresolved: int
    budget_exhausted: int
    unroutable: int
    undecided: int


class OpenedJson(TypedDict):
    prompt_sources: int
    conversation_sources: int
    proofs: int
    bytes: int


class AgentCoverageJson(TypedDict):
    sources: SourceCountsJson
    records: RecordCountsJson
    conversations: ConversationCountsJson
    opened: OpenedJson
    reasons: dict[str, int]


class CoverageJson(TypedDict):
    sources: SourceCountsJson
    records: RecordCountsJson
    conversations: ConversationCountsJson
    opened: OpenedJson
    agents: dict[str, AgentCoverageJson]


class DiagnosticJson(TypedDict):
    code: str
    severity: str
    message: str
    count: int


class ActionJson(TypedDict):
    id: str
    label: str
    reason: str
    patch: dict[str, object]
    requires_confirmation: bool


class ProfileJson(TypedDict):
    """Where the time went, in seconds; with `--profile`."""

    planning_s: float
    reading_s: dict[str, float]
    decoding_s: float
    matching_s: float
    ordering_s: float


class SummaryJson(TypedDict):
    """The one closing account of a run."""

    request: RequestJson
    requested_effort: str
    completed_effort: str | None
    status: StatusJson
    outcome: str
    coverage: CoverageJson
    diagnostics: list[DiagnosticJson]
    next_actions: list[ActionJson]
    match_count: int
    elapsed_s: float
    order: str
    limit: int | None
    profile: NotRequired[ProfileJson]
    miss: NotRequired[MissJson]


class DocumentJson(TypedDict):
    """What `--json` prints."""

    schema_version: int
    results: list[ResultJson]
    summary: SummaryJson


class EntryJson(TypedDict):
    """One record of a conversation. `number` counts all of its utterances from 1."""

    number: int
    is_hit: bool
    ref: str
    speaker: str
    kind: str
    role: str
    text: str
    timestamp: str | None
    tool: str | None
    model: str | None


class SubagentJson(TypedDict):
    """A conversation that this one started, by the name of its file; `deepgrep show` takes either."""

    name: str
    path: str


class ConversationJson(TypedDict):
    """What the history says of a conversation as a whole. `total`: its utterances, injected context included."""

    agent: str
    stores: list[str]
    paths: list[str]
    conversation_id: str | None
    parent_conversation_id: str | None
    title: str | None
    cwd: str | None
    project: str | None
    repo: str | None
    branch: str | None
    began: str | None
    ended: str | None
    total: int
    resume: ResumeJson | None
    subagents: list[SubagentJson]


class HitJson(TypedDict):
    """The record that was named. `moved`: it stands at another place than its ref says; `ref` is the present one."""

    ref: str
    number: int
    moved: bool


class PassageJson(TypedDict):
    """What `show --format json` prints: a window of one conversation. `next`: the number to go on from, or null at the end."""

    schema_version: int
    conversation: ConversationJson
    hit: HitJson | None
    records: list[EntryJson]
    before: int
    after: int
    next: int | None
    notes: list[str]


class SourceJson(TypedDict):
    """One file of an agent's history, as its name and size tell."""

    path: str
    agent: str
    store: str
    role: str
    size: int
    changed: str
    unsupported: str | None


class SourcesJson(TypedDict):
    """What `find --json` prints."""

    schema_version: int
    sources: list[SourceJson]


class StoreJson(TypedDict):
    """One on-disk shape of an agent's history. `unreadable`: files without permission, or whose decoder is not installed."""

    id: str
    role: str
    patterns: list[str]
    root: str
    evidence: str
    speakers: list[str]
    unsupported: str | None
    sources: int
    bytes: int
    unreadable: dict[str, int]
    newest: str | None


class AgentJson(TypedDict):
    """One agent: whether it is here, where, and its stores. `places` are folders that exist, `looked_in` those that would count."""

    id: str
    name: str
    found: bool
    places: list[str]
    looked_in: list[str]
    limits: list[str]
    refused: int
    copies: int
    stores: list[StoreJson]


class StoresJson(TypedDict):
    """What `stores --json` prints."""

    schema_version: int
    agents: list[AgentJson]


class StoreHealthJson(TypedDict):
    """What parsing all of a store came to. `unknown_shapes`: the keys of some records whose shape is not known; never a value."""

    store: str
    sources: int
    completed: int
    bytes: int
    records: int
    skipped: dict[str, int]
    failures: dict[str, int]
    unsupported: dict[str, int]
    unknown_shapes: list[list[str]]


class HealthJson(TypedDict):
    """What `doctor --json` prints. `paths`: which implementation of each part is in use."""

    schema_version: int
    paths: dict[str, str]
    stores: list[StoreHealthJson]
    damaged: bool


class CostJson(TypedDict):
    """What an effort may open. For `targeted` an upper bound; `bytes` are those on disk."""

    effort: str
    scope: str
    sources: int
    bytes: int
    at_most: bool
    asked: bool


class ProbeJson(TypedDict):
    """What is looked for in the bytes of a store before anything is decoded; empty where all of it is decoded."""

    store: str
    sources: int
    looks_for: list[str]


class ExplanationJson(TypedDict):
    """What `explain --json` prints."""

    schema_version: int
    query: str
    tree: list[str]
    warnings: list[str]
    request: RequestJson
    costs: list[CostJson]
    probes: list[ProbeJson]


class FieldJson(TypedDict):
    """One field of the query language."""

    name: str
    aliases: list[str]
    help: str
    compares: str
    flag: str | None
    decided_by_source: bool
    invariant: bool
    values: list[str]


class FieldsJson(TypedDict):
    """What `fields --json` prints."""

    schema_version: int
    fields: list[FieldJson]


class RemovalJson(TypedDict):
    """How many records whose text matched a filter or field left out, and how many of them it alone left out."""

    what: str
    removed: int
    alone: int


class MissJson(TypedDict):
    """Why a search found nothing, with `--explain`: records in which each part of the text stands, and what the filters left out."""

    sources: int
    terms: dict[str, int]
    text_matched: int
    removed: list[RemovalJson]


class BudgetJson(TypedDict):
    """How an answer was kept within its budget: tokens are estimated as `bytes_per_token` bytes of its JSON. `left_out`: whole entries
    at its end; `summary_cut`: so little was allowed that the coverage of each agent was left out too, and then what else did not fit.
    """

    max_tokens: int
    bytes_per_token: int
    left_out: int
    summary_cut: bool


class ExcerptJson(ResultJson):
    """A result whose `text` is what stands around its first matches, and `spans` theirs in it. `text_length`: code points of all of it."""

    text_length: int


class SearchAnswerJson(TypedDict):
    """What the tool `search` answers. `redactions`: marks that stand for secrets."""

    schema_version: int
    results: list[ExcerptJson]
    summary: SummaryJson
    redactions: int
    budget: BudgetJson


class PieceJson(EntryJson):
    """A record, or a piece of its text: from the code point `text_start`, of `text_length`."""

    text_start: int
    text_length: int


class ReadAnswerJson(TypedDict):
    """What the tool `read` answers. `cursor` goes on from where it ends; null at the end."""

    schema_version: int
    conversation: ConversationJson
    hit: HitJson | None
    records: list[PieceJson]
    before: int
    after: int
    cursor: str | None
    notes: list[str]
    redactions: int
    budget: BudgetJson


class RecentJson(TypedDict):
    """A conversation by what was typed in it. `ref`: its latest prompt; `prompts`: how many were found, `began` and `ended` when."""

    ref: str
    agent: str
    conversation_id: str | None
    title: str | None
    project: str | None
    cwd: str | None
    branch: str | None
    began: str | None
    ended: str | None
    prompts: int
    first_prompt: str
    last_prompt: str
    resume: ResumeJson | None


class RecentAnswerJson(TypedDict):
    """What the tool `recent` answers, latest conversation first."""

    schema_version: int
    conversations: list[RecentJson]
    more: int
    summary: SummaryJson
    redactions: int
    budget: BudgetJson


class ReachJson(TypedDict):
    """One store that is here. `reads`: can it be read; if not, `why_not`."""

    id: str
    role: str
    sources: int
    bytes: int
    newest: str | None
    reads: bool
    why_not: list[str]


class ReachableJson(TypedDict):
    """One agent: at which efforts a search reads any of its history, and why others give less."""

    id: str
    name: str
    found: bool
    places: list[str]
    efforts: list[str]
    why_not: list[str]
    stores: list[ReachJson]


class SourcesAnswerJson(TypedDict):
    """What the tool `sources` answers. `absent`: agents that are known and not here."""

    schema_version: int
    agents: list[ReachableJson]
    absent: list[str]
    budget: BudgetJson


class ExplainAnswerJson(ExplanationJson):
    """What the tool `explain` answers."""

    budget: BudgetJson


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
JsonSchema = dict[str, typing.Any]


def json_schema(kind: type, shapes: JsonSchema, version: int, *, named: bool = False) -> JsonSchema:
    """The JSON Schema of a type of this module. The types that it names are put into `shapes`, itself too where it is to be named."""
    return _type(kind, shapes, version) if named else _shape(kind, shapes, version)


def _shape(kind: type, shapes: JsonSchema, version: int) -> JsonSchema:
    hints = typing.get_type_hints(kind, include_extras=True)
    required = [name for name, hint in hints.items() if typing.get_origin(hint) is not typing.NotRequired]
    properties = {name: _type(hint, shapes, version) for name, hint in hints.items()}
    out: JsonSchema = {"type": "object", "properties": properties, "required": required}
    if "schema_version" in hints:
        out["properties"]["schema_version"] = {"const": version}
    if kind.__doc__:
        out = {"description": kind.__doc__.strip(), **out}
    return out


def _type(hint: object, shapes: JsonSchema, version: int) -> JsonSchema:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is object:
        return {}
    if origin is typing.NotRequired:
        return _type(inner[0], shapes, version)
    if origin is list:
        return {"type": "array", "items": _type(inner[0], shapes, version)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(inner[1], shapes, version)}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if inner:  # a union; every one here is with None
        parts = [_type(part, shapes, version) for part in inner]
        if all(set(part) == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    assert isinstance(hint, type), hint
    name = hint.__name__.removesuffix("Json")
    if name not in shapes:
        shapes[name] = {}
        shapes[name] = _shape(hint, shapes, version)
    return {"$ref": f"#/$defs/{name}"}
