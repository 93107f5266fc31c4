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


class DocumentJson(TypedDict):
    """What `--json` prints."""

    schema_version: int
    results: list[ResultJson]
    summary: SummaryJson
