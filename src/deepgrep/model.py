"""The nouns that every layer shares: immutable, picklable, cheap to import; no behaviour beyond what a noun is."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal, Protocol

    Role = Literal["prompts", "transcript"]
    Speaker = Literal["person", "agent", "tool", "runtime", "parent"]
    Effort = Literal["prompt", "targeted", "exhaustive"]
    Scope = Literal["prompts", "conversations", "all"]
    Order = Literal["newest", "relevance", "scan"]
    Outcome = Literal["completed", "bounded", "unsupported", "failed", "cancelled"]
    Value = bytes | int | float | None  # of a database; text comes as its bytes, as UTF-8
    Row = tuple[int, *tuple[Value, ...]]  # row id, then the values asked for
else:
    Protocol = object
    Role = Speaker = Effort = Scope = Order = Outcome = str

EFFORTS: tuple[Effort, ...] = ("prompt", "targeted", "exhaustive")
SCOPES: tuple[Scope, ...] = ("prompts", "conversations", "all")
ORDERS: tuple[Order, ...] = ("newest", "relevance", "scan")
SPEAKERS: tuple[Speaker, ...] = ("person", "agent", "tool", "runtime", "parent")
KINDS: tuple[str, ...] = (
    "prompt",  # typed or pasted by the person, also while the agent was busy
    "command",  # a slash or bang command, as typed
    "feedback",  # what the person typed when refusing a tool call
    "brief",  # what one agent wrote to start a subagent
    "reply",  # the agent's answer
    "reasoning",  # thinking that the agent's format keeps
    "plan",
    "tool_call",  # name and arguments
    "tool_result",
    "summary",  # written by a runtime at compaction
    "notice",  # interruptions, hook feedback, command output, task notifications
    "context",  # system prompts, request copies, attachments: returned only when asked for
)
TYPED = frozenset({"prompt", "command", "feedback"})  # the kinds that a prompt history can hold
ROLE_OF: Mapping[str, str] = {
    "person": "user",
    "agent": "assistant",
    "tool": "tool",
    "runtime": "system",
    "parent": "system",
}


class Traits(NamedTuple):
    """What the engine may assume about a store's bytes; every default is the safe one."""

    # Where a record's text stands, spelled as UTF-8 or as JSON escapes and cut at nothing but white space
    # and the characters of `inserted`: in its own line, somewhere in its file, or (None) perhaps elsewhere.
    text_in: Literal["line", "file"] | None = None
    inserted: str = ""  # characters that the reader may add where it joins pieces of a line
    always: tuple[bytes, ...] = ()  # lines with one of these hold text that is not in their own bytes
    append_only: bool = False  # records are only ever added at the end
    by_time: bool = False  # records stand in the order of their times


class Source(NamedTuple):
    """One file on this machine that belongs to a store. `key` is its name below the agent's root, and what refs are made of."""

    agent: str
    store: str
    role: Role
    path: str
    key: str
    size: int  # bytes, when it was listed
    mtime_ns: int
    stem: str = ""  # file name without any known ending: what many agents make from the conversation's id
    root: str = ""  # the agent's root folder
    twin: str = ""  # a compressed copy of the same file, to read where this one turns out to be cut off


class Record(NamedTuple):
    """One message. `position` and `block` say where in the source it stands; `channel` which of a format's parallel spellings it is."""

    source: Source
    position: int  # byte offset of its line, ordinal in a document, or row id
    block: int
    speaker: Speaker
    kind: str
    text: str
    time_us: int | None = None  # microseconds since 1970, UTC; None where the format does not say
    conversation_id: str | None = None
    parent_conversation_id: str | None = None
    native_id: str | None = None  # the record's own id, as the agent wrote it
    cwd: str | None = None
    repo: str | None = None
    branch: str | None = None
    model: str | None = None
    tool: str | None = None
    title: str | None = None
    origin: str | None = None
    channel: int = 0  # 0 = the spelling that represents the turn; others fold into it
    inherited_from: str | None = None  # the conversation that a fork's copied prefix comes from
    is_copy: bool = False  # the format marks the row as one that a copy of a conversation holds

    @property
    def agent(self) -> str:
        return self.source.agent

    @property
    def store(self) -> str:
        return self.source.store


class Skip(NamedTuple):
    """Something in a source that could not become a record. Counted under `reason`, never raised."""

    reason: str


class Facts(NamedTuple):
    """What a whole source says of its conversation, known when its context lines have been seen.

    `forked_from`: the parent that its header records. `prefix_known`: whether the source itself tells which of its
    records it inherited; if not, that takes the parent.
    """

    title: str | None = None
    conversation_id: str | None = None
    forked_from: str | None = None
    prefix_known: bool = True


class Line(NamedTuple):
    """One JSON object of a line-based source: its value, the byte offset where it starts, and the source."""

    value: dict[str, object]
    position: int
    source: Source


class Near(Protocol):
    """The neighbours of the line being decoded, read on demand; unreadable ones are left out."""

    def before(self, count: int) -> Iterator[dict[str, object]]:
        """Up to `count` objects before this one, nearest first."""

    def after(self, count: int) -> Iterator[dict[str, object]]:
        """Up to `count` objects after this one, nearest first."""

    def sibling(self, relative: str, limit_bytes: int) -> str | None:
        """The text of a small file below the agent's root that this record names, or None where there is none."""


Decoded = Iterable[Record | Skip]
Sibling = Callable[[str, int], "str | None"]  # (path below the agent's root, most bytes) -> text of a small file, or None


class Lines(NamedTuple):
    """How to read a store of JSON lines. `start` makes the state, `observe` carries it over context lines.

    The engine calls `observe` for every object of the first `head` lines and of every line that holds one of
    the `context` markers, in file order, and `decode` for every candidate with the state so far.
    """

    decode: Callable[[Line, object, Near], Decoded]
    start: Callable[[Source], object] = lambda source: None
    observe: Callable[[Line, object], object] = lambda line, state: state
    context: tuple[bytes, ...] = ()
    head: int = 0
    facts: Callable[[object], Facts] = lambda state: Facts()
    is_line: Callable[[dict[str, object]], bool] = lambda value: True  # is this a whole line of the format?


class Log(NamedTuple):
    """How to read a store of JSON lines that must be replayed: later lines change or take back what earlier ones said.

    `decode` gets every object of the file in order, and gives the records of the state at the end; it never raises.
    """

    decode: Callable[[Iterator[Line], Source, Sibling], Decoded]
    is_line: Callable[[dict[str, object]], bool] = lambda value: True
    facts: Callable[[Source], Facts] = lambda source: Facts()


class Document(NamedTuple):
    """How to read a store whose files are one JSON value each; `position` of a record is an ordinal."""

    decode: Callable[[object, Source, Sibling], Decoded]


class Text(NamedTuple):
    """How to read a store whose files are plain text; `position` of a record is an ordinal or an offset in it."""

    decode: Callable[[str, Source, Sibling], Decoded]


class Database(Protocol):
    """A database open for reading, as `databases.open_database` gives it."""

    def tables(self) -> frozenset[str]:
        """The names of the ordinary tables: no views, no virtual tables."""

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of a table's columns; none where there is no such table."""

    def rows(self, table: str, columns: Sequence[str], *, after: int | None = None) -> Iterator[list[Row]]:
        """All rows of a table in the order of their row ids, in batches that are valid until the next."""

    def by_key(self, table: str, columns: Sequence[str], where: str, params: Sequence[str | int | bytes] = ()) -> list[tuple[Value, ...]]:
        """The few rows that a condition on a key gives. `where` is the store's own SQL, never content."""


class Wanted(Protocol):
    """Which rows may hold what is looked for, seen as bytes. A row that is not wanted need not be decoded."""

    def __call__(self, *values: Value) -> bool:
        """May these values hold it?"""

    def among(self, batch: Sequence[Row]) -> Iterator[Row]:
        """The rows of a batch that may, in order: ten times as fast as asking for each."""


class Rows(NamedTuple):
    """How to read a store whose files are SQLite databases; `position` of a record is a row id.

    `decode` walks the tables that it names and gives the records of the rows that are wanted (with `text_in="line"`: whose own bytes
    hold each record's text), in the order of its walk. It may raise Unreadable, and lets pass what the database raises.
    A prompt history that is one key is fetched with `by_key` alone.
    """

    decode: Callable[[Database, Wanted, Source], Decoded]
    facts: Callable[[Source], Facts] = lambda source: Facts()


Reader = Lines | Log | Document | Text | Rows


class Store(NamedTuple):
    """One on-disk shape of one agent's history.

    `where`: patterns below the root, of whole segments: literal, `*` and `?` within one segment, `**` for any
    number of folders. `evidence`: `observed <version> <date>`, `source <what>` or `reported <what>`.
    `reader` None: known, found and counted, but not read; `unsupported` then says why in one code.
    """

    id: str
    role: Role
    where: tuple[str, ...]
    evidence: str
    reader: Reader | None
    traits: Traits = Traits()
    root: str = "home"  # which of the agent's roots the patterns start from
    unless: tuple[str, ...] = ()  # file-name patterns that this store leaves to others
    endings: tuple[str, ...] = (".jsonl",)  # spellings of one name, best first: a lesser twin is a copy, not a source
    speakers: tuple[Speaker, ...] = SPEAKERS  # who can speak in it
    unsupported: str | None = None
    yields_to: str | None = None  # a store whose file of the same name, but for its ending, stands for this one's: a lesser twin


class Resume(NamedTuple):
    """The agent's own command that goes back into a conversation, and the folder to run it in."""

    argv: tuple[str, ...]
    cwd: str | None


class Locator(NamedTuple):
    """How a native id leads to one transcript: by the file's name and, as proof, by what the file's own header says.

    `key`: the part of an id that names carry, or None for what can be no id (never a path, never a pattern).
    `names`: the key that a name carries: the file's stem, or the folder `level` above it. `header`: the id that one object
    claims, or None if it claims none; the first claim counts. `beside`: a file of one JSON value in the transcript's folder
    that is asked where the transcript itself claims nothing. `choose`: of several files that prove one id, those that are it,
    else () for ambiguous; its second argument is the evidence. Only formats that prove it may say so.
    """

    stores: tuple[str, ...]
    key: Callable[[str], str | None]
    names: Callable[[str], str | None]
    header: Callable[[dict[str, object]], str | None] | None  # None: the name is the whole id, and the proof
    choose: Callable[[Sequence[Source], Sequence[Record]], tuple[Source, ...]] = lambda sources, evidence: ()
    head: int = 64  # objects looked at for a claim
    level: int = 0  # which name carries the key: 0 the file's stem, 1 the folder it lies in, 2 the one above that
    beside: str = ""


class Agent(NamedTuple):
    """One program whose history we read; what a store module exports as AGENT. `locate` None: its ids prove nothing."""

    id: str
    name: str
    stores: tuple[Store, ...]
    resume: Callable[[Record], Resume | None] | None = None
    locate: Locator | None = None
    limits: tuple[str, ...] = ()  # codes: what its prompt history leaves out, said in every summary


class Filters(NamedTuple):
    """Which records may be returned, whatever their text. Values are normalized; empty means any."""

    agents: tuple[str, ...] = ()
    cwd: str | None = None
    project: str | None = None
    repo: str | None = None
    branch: str | None = None
    since_us: int | None = None  # inclusive
    until_us: int | None = None  # exclusive
    speakers: tuple[Speaker, ...] = ()
    kinds: tuple[str, ...] = ()
    model: str | None = None


class Term(NamedTuple):
    """A text that must occur; a run of white space in it matches any run."""

    text: str


class Pattern(NamedTuple):
    """Regular expressions, or with `fixed` literal texts, of which one must match within a line of the text.

    `edges`: it must be whole words or the whole line. `inverted`: some line must match none; its spans are such lines.
    """

    texts: tuple[str, ...]
    fixed: bool = False
    case: Literal["exact", "ignore", "smart"] = "exact"  # smart: it counts where a text has a capital
    edges: Literal["", "word", "line"] = ""
    inverted: bool = False


class Field(NamedTuple):
    """What a record, or the source or conversation it stands in, must say of itself. `name` is a key of `query.fields`.

    `low` and `high` bound an instant in microseconds (low included, high left out); `value` is text, with `*` and `?`
    as wildcards; all three None: the record must say anything at all.
    """

    name: str
    value: str | None = None
    low: int | None = None
    high: int | None = None
    shown: str = ""  # the value as it was written


class Not(NamedTuple):
    """The part must not hold."""

    part: Tree
    joint: str = "not"  # tuples compare by what they hold: this tells the three apart


class All(NamedTuple):
    """Every part must hold; with no parts, everything passes."""

    parts: tuple[Tree, ...]
    joint: str = "and"


class Any(NamedTuple):
    """At least one part must hold; with no parts, nothing passes."""

    parts: tuple[Tree, ...]
    joint: str = "or"


Tree = Term | Pattern | Field | Not | All | Any
EVERYTHING = All(())
NOTHING = Any(())


class Query(NamedTuple):
    """The one request type: what to find and under which controls. Made by `engine.resolve.query`."""

    texts: tuple[str, ...]  # as given
    literal: bool
    any: bool
    effort: Effort
    scope: Scope
    scope_given: bool  # False: inferred from the effort
    order: Order
    limit: int | None
    filters: Filters
    dedupe: bool = True
    context: int = 0  # neighbouring records shown on each side
    conversation_limit: int | None = None  # conversations that targeted effort may open; None at other efforts
    tree: Tree = EVERYTHING  # what the texts mean
    warnings: tuple[str, ...] = ()  # what in the texts looks like a mistake; shown where they were typed, and nowhere else
    echoes: bool = True  # may this program's own output, found in transcripts, be returned?


class Match(NamedTuple):
    """A record that satisfies the query, with its spans in code points of the record's text."""

    record: Record
    spans: tuple[tuple[int, int], ...]


class Score(NamedTuple):
    """The parts of a relevance score; `total` is what results are ordered by."""

    terms: int  # 0-40: how many of the query's terms occur
    words: int  # 0-20: whether they stand as whole words
    near: int  # 0-10: how close together they stand
    early: int  # 0-5: whether the first stands near the beginning
    speaker: int  # 0-30: who said it
    length: int  # 0-10: short records say it more clearly than long ones

    @property
    def total(self) -> int:
        return sum(self)


class Result(NamedTuple):
    """One answer: the representative record, what folded into it, and its neighbours where asked for."""

    record: Record
    spans: tuple[tuple[int, int], ...]
    score_parts: Score | None = None
    folded: tuple[Record, ...] = ()
    also_in: tuple[str, ...] = ()
    before: tuple[Record, ...] = ()
    after: tuple[Record, ...] = ()
    resume: Resume | None = None

    @property
    def score(self) -> int | None:
        """The relevance, 0 to 115, or None under an order that needs none."""
        return None if self.score_parts is None else self.score_parts.total


class LetGo(NamedTuple):
    """What is remembered of matches beyond those that a limit can return: what they could fold with, and the best place among them."""

    keys: array[int]
    boundary: tuple[object, ...]


class Reading(NamedTuple):
    """What reading one source came to. `counts`: probed, decoded, matched, and `skip.<reason>`."""

    source: Source
    outcome: Outcome
    reason: str | None
    opened: bool
    bytes_read: int
    counts: Mapping[str, int]
    matches: tuple[Match, ...]
    facts: Facts = Facts()
    let_go: LetGo | None = None
    times_s: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in all, decoding, matching


class Status(NamedTuple):
    """How far an answer can be trusted: the state, the condition that decided it, and all that applied."""

    state: str
    reason: str | None
    conditions: tuple[str, ...]


class Diagnostic(NamedTuple):
    """A stable code with a count: no text of a record, no term, no absolute path, no native id."""

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
    total: int


class Action(NamedTuple):
    """What to try next. `patch` applied to the request gives a valid request."""

    id: str
    label: str
    reason: str
    patch: Mapping[str, object]
    requires_confirmation: bool


class Profile(NamedTuple):
    """Where the time went, in seconds. With several workers, what they spent side by side is added up."""

    planning_s: float
    reading_s: Mapping[str, float]  # by store
    decoding_s: float  # of the reading
    matching_s: float  # of the reading
    ordering_s: float


class Summary(NamedTuple):
    """The one closing event of a run."""

    query: Query
    requested_effort: Effort
    completed_effort: Effort | None
    status: Status
    outcome: str
    coverage: Mapping[str, object]  # the shape of design.md 8
    diagnostics: tuple[Diagnostic, ...]
    next_actions: tuple[Action, ...]
    match_count: int
    elapsed_s: float
    order: Order
    limit: int | None
    profile: Profile


class Started(NamedTuple):
    """The plan is made: how many sources and bytes will be read."""

    query: Query
    sources: int
    bytes: int


class SourceFinished(NamedTuple):
    """One more source has been dealt with."""

    source: Source
    outcome: Outcome
    bytes_read: int
    matches: int


class Finished(NamedTuple):
    """The last event of every run."""

    summary: Summary


Event = Started | SourceFinished | Result | Finished
