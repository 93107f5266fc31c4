"""The types of the JSON contract, design.md 8: what `docs/reference/schema.json` is generated from. Never imported by a search."""

from __future__ import annotations

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
