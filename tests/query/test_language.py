"""The query language: what is text, what is not, what is wrong and where; and that no search loses what it asks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepgrep import events
from deepgrep.engine.resolve import CHOICES
from deepgrep.engine.resolve import query as request
from deepgrep.errors import UsageError
from deepgrep.model import All, Any, Field, Not, Result, Term, Tree
from deepgrep.query.fields import BY_NAME, FIELDS
from deepgrep.query.language import QueryError, show
from deepgrep.query.parse import parse
from homes import SAMPLE, jsonl, write
from nasty import occurs

quick = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow),
)

# --- what must stay text --------------------------------------------------------------------------------------------

LOOK_ALIKES = (
    "https://x", "http://localhost:8080/a?b=c:d", "git@host:x/y.git", "ssh://host/x", "file:///etc/x", "agent://x", "path://server/x",
    r"C:\tmp", "C:/tmp", r"\\server\share", "E-12:34", "12:30", "12:30:59", "2026-01-31T09:00", "std::vector", "agent::x", "a:b",
    "key:value",
    "foo:", "agent:", "Note:", "TODO:x", "::1", ":)", ":(", ":x:", "->", "=>", "--", "-", "+", "--force", "-1", "-5%", "+49",
    "-.5", "->x", "c++", "g++",
    "f(x)", "f()", "()", "x)", ")", "(", "f(", "{a:1}", '{a:"b"}', "@user", "#123", "$HOME", "${HOME}", "50%", "a|b", "a||b",
    "a&&b", "foo/bar", "~/x", "./x",
    "../x", "[x]", "[0]", "*", "*.py", "?", "a?b", "<x>", "a=b", "a,b", "it's", 'a"b', '5"', "and", "or", "not", "And", "Or",
    "Not", "ANDROID", "ORDER", "NOTE",
    "NOT:", "OR,", "and/or", "😀", "-😀", "!x", "!important", "^x", "x^2", "`x`", "x;y", "\\", "\\n", "a\\", "0x1F", "1e-9",
    "café", "漢字", "agent", "since", "date",
    "at java.lang.X.y(X.java:12)"[3:], "main.rs:10:5", "foo.py::test_x", "node:fs", "npm:react@18", "sha256:abc", "mailto:x@y",
)  # fmt: skip


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_language_stays_text(text: str) -> None:
    parsed = parse([text], choices=CHOICES)
    assert parsed == (Term(text), ())
    # Also beside another word, whichever comes first.
    assert parse([f"word {text}"]).tree == All((Term("word"), Term(text)))


@pytest.mark.parametrize("text", [text for text in LOOK_ALIKES if not set(text) & set("()")])
def test_it_stays_text_inside_a_group(text: str) -> None:
    assert parse([f"(word OR {text} OR other)"]).tree == Any((Term("word"), Term(text), Term("other")))


def test_a_line_of_a_stack_trace_is_its_words() -> None:
    tree = parse(['File "/x/y.py", line 3, in <module>']).tree
    assert tree == All(tuple(map(Term, ("File", "/x/y.py", ",", "line", "3,", "in", "<module>"))))
    assert parse(["at Foo.bar (Foo.java:12) [app.jar:1.2]"]).tree == All(
        tuple(map(Term, ("at", "Foo.bar", "Foo.java:12", "[app.jar:1.2]")))
    )


# --- what is language -----------------------------------------------------------------------------------------------

CODEX = Field("agent", "codex", shown="codex")
TREES = (
    ("a b", All((Term("a"), Term("b")))),
    ("a AND b", All((Term("a"), Term("b")))),
    ("a a", Term("a")),
    ("a OR b", Any((Term("a"), Term("b")))),
    ("a b OR c", Any((All((Term("a"), Term("b"))), Term("c")))),
    ("a (b OR c)", All((Term("a"), Any((Term("b"), Term("c")))))),
    ("NOT a", Not(Term("a"))),
    ("word -other", All((Term("word"), Not(Term("other"))))),
    ("word +other", All((Term("word"), Term("other")))),
    ('word -"two words"', All((Term("word"), Not(Term("two words"))))),
    ("-(this OR that)", Not(Any((Term("this"), Term("that"))))),
    ("NOT NOT a", Not(Not(Term("a")))),
    ("agent:codex", CODEX),
    ("AGENT:codex", CODEX),
    ('agent:"codex"', CODEX),
    ("-agent:codex", Not(CODEX)),
    ("(agent:codex)", CODEX),
    ("agent:*", Field("agent", shown="*")),
    ('title:"a b"', Field("title", "a b", shown="a b")),
    ('text:"a b"', Term("a b")),
    (r'"said \"no\""', Term('said "no"')),
    (r'"C:\tmp\\"', Term("C:\\tmp\\")),
    (r'"C:\tmp"', Term("C:\\tmp")),
)


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_text_means(text: str, tree: Tree) -> None:
    assert parse([text]).tree == tree


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ('say "x', 5, "not closed"), ("(a", 1, "not closed"), ("a (b", 3, "not closed"), ("( )", 3, "fill the group"), ('""', 1,
        "empty phrase"),
        ("a OR", 3, "nothing follows OR"), ("OR a", 1, "nothing stands before OR"), ("a AND", 3, "nothing follows"), ("NOT", 1,
        "nothing follows NOT"),
        ("a OR OR b", 6, "nothing stands before OR"), ("x agent:codx", 3, "did you mean codex?"), ("agent:codex,claude", 1,
        "written with OR"),
        ("date:2026-02-30", 1, "no day of the calendar"), ("on:someday", 1, "no day"), ("date:[2026-01-01", 6, "a range is written"),
        ('cwd:""', 5 - 4, "needs a value"), ("agnet:codex OR x", 1, "write agent:"), ("-agnet:codex", 2, "write agent:"),
        ('title:"x', 7, "not closed"),
        ("speaker:nobody", 1, "choose from person"), ("kind:replies", 1, "did you mean reply?"), ("role:uzer", 1, "did you mean user?"),
    ],
)  # fmt: skip
def test_an_error_says_what_where_and_what_would_be_right(text: str, column: int, says: str) -> None:
    with pytest.raises(QueryError, match=says) as caught:
        parse([text], choices=CHOICES)
    assert caught.value.column == column
    _, line, caret = str(caught.value).split("\n")
    assert line == "  " + text
    assert caret == "  " + " " * (column - 1) + "^"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("agnet:codex", "the field is called agent:"), ("projct:shop", "project:"), ("brnach:x", "branch:"), ("rm -rf", 'write "-rf"'),
        ("agent: codex", "agent:codex"),
    ],
)  # fmt: skip
def test_a_near_miss_is_text_with_a_warning(text: str, says: str) -> None:
    parsed = parse([text])
    assert says in parsed.warnings[0]


def test_a_pasted_page_gives_few_warnings_and_short_errors() -> None:
    assert len(parse(["agnet:a brnach:b projct:c " * 5000]).warnings) == 3
    with pytest.raises(QueryError) as caught:
        parse(["word " * 20_000 + '"open'])
    assert len(str(caught.value)) < 500
    assert caught.value.column == 100_001


@pytest.mark.parametrize("text", ["(" * 99 + "a" + ")" * 99, "NOT " * 99 + "a", "-" * 99 + "a", "(a " * 5000, "x" * 100_000])
def test_deep_and_long_queries_end(text: str) -> None:
    try:
        parse([text])
    except QueryError as error:
        assert 1 <= error.column <= len(text)  # noqa: PT017 - either is right


def test_ten_thousand_terms_are_a_query() -> None:
    words = [f"w{number}" for number in range(10_000)]
    assert parse([" ".join(words)]).tree == All(tuple(map(Term, words)))
    assert parse([" OR ".join(words)]).tree == Any(tuple(map(Term, words)))


def test_every_field_is_spelled_right_by_its_own_name() -> None:
    assert {spec.name for spec in FIELDS} == {
        "agent", "store", "path", "mtime", "speaker", "role", "kind", "tool", "model", "text", "title", "timestamp", "since",
        "until", "on", "cwd",
        "repo", "worktree", "branch", "project", "conversation", "parent", "origin", "ref", "scope", "depth",
    } - {"ref"} | ({"ref"} & set(BY_NAME))  # fmt: skip
    assert {"date", "effort"} <= set(BY_NAME)


# --- any text -------------------------------------------------------------------------------------------------------

PIECES = (
    " ", "  ", "a", "b", "word", '"', '\\"', "\\", "(", ")", "-", "+", "OR", "AND", "NOT", " OR ", " AND ", " NOT ", ":", "::",
    "//", "*", "?", "[", "]", "{", "}",
    "agent:", "agent:codex", "date:", "date:>", "2026-01-01", " TO ", "since:", "7d", "text:", "title:", "cwd:", "~", "/",
    "C:\\x", "agnet:x", "scope:all",
    "depth:deep", "\n", "\t", "\u3000", "😀", "é", "\x00", ",",
)  # fmt: skip
anything = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=30))


@quick
@given(anything, st.booleans())
def test_any_text_parses_or_says_where_it_does_not(text: str, any_term: bool) -> None:
    try:
        parse([text], any_term=any_term, choices=CHOICES)
    except QueryError as error:
        assert 1 <= error.column <= len(text)  # noqa: PT017 - either is right
        assert "\n" in str(error)  # noqa: PT017
    except UsageError:
        assert not text.strip()


terms = st.one_of(
    st.sampled_from(LOOK_ALIKES), st.sampled_from(("a", "b", "two words", "OR", "NOT", "-x", "agent:codex", '"', 'x "y"', "a\\",
    "a b\\", '\\"', "(a", "a)", "agnet:x")),
    st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip())),
).map(Term)  # fmt: skip
values = st.one_of(
    st.sampled_from(("shop", "a b", 'x"y', "a\\", "a b\\", "(x)", "//server/x", ":x", "*x*", "?", "C:\\x", "~/x", "[x", "OR")),
    st.text(min_size=1, max_size=6),
)
fields = st.one_of(
    st.tuples(
        st.sampled_from(("project", "title", "cwd", "path", "branch", "tool", "model")),
        values.filter(lambda v: bool(v.strip()) and v != "*"),
    ).map(lambda both: Field(both[0], both[1], shown=both[1])),
    st.sampled_from(("agent", "title", "since")).map(lambda name: Field(name, shown="*")),
    st.sampled_from(("timestamp:>2026-01-01", "on:2026-01-03", "timestamp:[2026-01-01 TO *]", 'timestamp:"2026-01-01 09:00"')).map(
        lambda text: parse([text]).tree
    ),
)


def _joined(joint: type[All | Any], parts: list[Tree]) -> Tree:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, joint) else (part,))]
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else joint(distinct)


trees: st.SearchStrategy[Tree] = st.recursive(
    st.one_of(terms, terms, fields),
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: _joined(All, parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: _joined(Any, parts)),
    ),
    max_leaves=6,
)


@quick
@given(trees)
def test_a_printed_tree_is_parsed_as_the_same_tree(tree: Tree) -> None:
    assert parse([show(tree)]).tree == tree, show(tree)


@quick
@given(terms)
def test_literal_is_the_quoted_phrase(term: Term) -> None:
    quoted = show(Term(term.text)) if term.text.startswith('"') else '"' + show(Term(" " + term.text))[2:]
    assert parse([term.text], literal=True).tree == term
    assert parse([quoted]).tree == term


# --- nothing is lost ------------------------------------------------------------------------------------------------

SAID = ("paint the ferry", "scrub the FERRY", "sell the boat", "the tide", "ferry and tide", "nothing")
BOXES = ("/src/dock", "/src/dock/pier", "/src/quay", None)
NAMES = ("bbbbbbbb-0000-7000-8000-00000000000%d", "aaaaaaaa-0000-4000-8000-00000000000%d")
said = st.tuples(
    st.sampled_from(("codex", "claude")), st.integers(1, 2), st.sampled_from(("user", "assistant")), st.sampled_from(SAID),
    st.sampled_from(BOXES),
    st.integers(0, 3),
)  # fmt: skip
asked_fields = st.sampled_from((
    "agent:codex", "agent:claude", "agent:c*", "store:codex.history", "store:claude.sessions", "speaker:person", "speaker:agent",
    "role:user", "kind:reply",
    "cwd:/src/dock", "cwd:/src", "cwd:dock", "cwd:*", "project:pier", "project:*", "branch:*", "date:2026-01-02",
    "date:>2026-01-02", "since:2026-01-03",
    "on:2026-01-01", "date:*", "conversation:bbbbbbbb*", "model:*", "path:.codex", "path:history.jsonl", "mtime:>2030-01-01",
    "mtime:*", "title:*",
))  # fmt: skip
queries = st.recursive(
    st.one_of(st.sampled_from(("ferry", "tide", '"the ferry"', "boat", "zebra")), asked_fields),
    lambda inner: st.one_of(
        inner.map(lambda text: f"NOT ({text})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: " ".join(f"({part})" for part in parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: " OR ".join(f"({part})" for part in parts)),
    ),
    max_leaves=5,
)


def home_of(rows: list[tuple[str, int, str, str, str | None, int]], folder: Path) -> Path:
    """A home with the histories and conversations of two agents that say these things."""
    files: dict[str, list[object]] = {}
    for at, (agent, number, role, text, cwd, day) in enumerate(rows):
        stamp, second = f"2026-01-0{day + 1}T00:00:{at:02}Z", 1767225600 + 86400 * day + at
        if agent == "codex":
            native = NAMES[0] % number
            name = f".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-{native}.jsonl"
            lines = files.setdefault(name, [{"timestamp": stamp, "type": "session_meta", "payload": {"id": native, "cwd": "/src/dock"}}])
            kind = "input_text" if role == "user" else "output_text"
            if cwd:
                lines.append({"timestamp": stamp, "type": "turn_context", "payload": {"cwd": cwd, "model": "gpt-invented"}})
            lines.append({"timestamp": stamp, "type": "response_item",
                          "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}})  # fmt: skip
            if role == "user":
                files.setdefault(".codex/history.jsonl", []).append({"session_id": native, "ts": second, "text": text})
        else:
            native = NAMES[1] % number
            content = text if role == "user" else [{"type": "text", "text": text}]
            row = {"type": role, "uuid": f"u{at}", "timestamp": stamp, "sessionId": native, "message": {"role": role, "content": content}}
            files.setdefault(f".claude/projects/-src/{native}.jsonl", []).append(row | ({"cwd": cwd, "gitBranch": "main"} if cwd else {}))
            if role == "user":
                history = {"display": text, "pastedContents": {}, "timestamp": second * 1000, "sessionId": native}
                files.setdefault(".claude/history.jsonl", []).append(history | ({"project": cwd} if cwd else {}))
    return write(folder, {name: jsonl(*lines) for name, lines in files.items()})


def holds(tree: Tree, record: object) -> bool:
    """The obvious evaluation of a tree on one record; what a record does not say is not what was asked for."""
    from deepgrep.query.fields import of_record

    if isinstance(tree, Term):
        return occurs(tree.text, record.text)  # type: ignore[attr-defined]
    if isinstance(tree, Field):
        return of_record(tree, record) is True  # type: ignore[arg-type]
    if isinstance(tree, Not):
        return not holds(tree.part, record)
    assert isinstance(tree, (All, Any))
    return (all if isinstance(tree, All) else any)(holds(part, record) for part in tree.parts)


def found(home: Path, *texts: str, **options: object) -> list[object]:
    stream = events(texts, home=home, dedupe=False, order="newest", **options)  # type: ignore[arg-type]
    return [(event.record.store, event.record.source.key, event.record.position, event.record.block, event.record)
            for event in stream if isinstance(event, Result)]  # fmt: skip


@quick
@given(st.lists(said, min_size=1, max_size=8), queries)
def test_no_effort_loses_a_record_that_the_whole_query_admits(tmp_path_factory: pytest.TempPathFactory, rows: list, text: str) -> None:  # type: ignore[type-arg]
    home = home_of(rows, tmp_path_factory.mktemp("home"))
    tree = request([text]).tree
    everything = found(home, agent=("codex", "claude"), effort="exhaustive", scope="all")
    right = [one for one in everything if holds(tree, one[-1])]  # type: ignore[index]
    assert found(home, text, effort="exhaustive", scope="all") == right
    prompts = [one for one in right if one[-1].source.role == "prompts"]  # type: ignore[index]
    assert found(home, text, effort="prompt") == prompts
    targeted = found(home, text, effort="targeted")
    assert [one for one in targeted if one[-1].source.role == "prompts"] == prompts  # type: ignore[index]
    assert set(targeted) <= set(right)


# --- what it costs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ['"checkout"', '"checkout", "page"', '"check-out", "c++"', '"--effort", "exhaustive", "checkout"'])
def test_plain_terms_load_no_language(words: str, outside: dict[str, str]) -> None:
    code = (
        f"import sys\nfrom deepgrep.cli.main import main\nmain(['search', '--home', {str(SAMPLE)!r}, {words}])\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('lark', 're2') or "
        "name in ('deepgrep.query.language', 'deepgrep.query.fields', 'deepgrep.query.regex', 'deepgrep.query.dates')])"
    )
    out = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"
