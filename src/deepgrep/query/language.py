"""The query language: words, phrases, OR AND NOT, minus and plus, parentheses, fields. Text to a tree, and back.

A lexer of our own decides what is an operator and what only looks like one; lark, loaded only when there is an operator
or a field, decides how they hang together. Knows no agent: choices of fields come from the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from ..errors import UsageError
from ..model import EVERYTHING, Any, Field, Not, Pattern, Term, Tree
from ..typed import TYPE_CHECKING, NamedTuple
from .fields import BY_NAME, FieldSpec
from .parse import EMPTY, Choices, Parsed, joined

if TYPE_CHECKING:
    from lark import Lark

_SHOWN = 80  # characters of a text that an error shows on each side
_WARNINGS = 5  # shown at most
_DEPTH = 50  # parentheses and negations within each other
_FIELD = re.compile(r"([A-Za-z_]+):(?!:|//)(?=\S)")
_QUOTE = re.compile(r'(\\*)"')
_RANGE = re.compile(r"([\[{])\s*(\S+)\s+TO\s+(\S+?)\s*([\]}])")
_COMPARISON = re.compile(r"(>=|<=|>|<)(.+)", re.DOTALL)
_OPERATORS = ("OR", "AND", "NOT")


class QueryError(UsageError):
    """Query text that makes no sense. Names the column, counted from 1, and shows it."""

    def __init__(self, text: str, at: int, message: str) -> None:
        start = max(0, at - _SHOWN) if len(text) > 2 * _SHOWN else 0
        piece = text[start : start + 2 * _SHOWN]
        line = "".join(" " if char.isspace() else char for char in piece)
        line = ("…" if start else "") + line + ("…" if text[start + 2 * _SHOWN :] else "")
        super().__init__(f"{message}\n  {line}\n  {' ' * (at - start + (start > 0))}^")
        self.column = at + 1


class Token(NamedTuple):
    kind: str  # WORD, PHRASE, FIELD, OR, AND, NOT, MINUS, PLUS, LPAR, RPAR
    value: str
    at: int  # offset in the query text
    name: str = ""  # of a field
    quoted: bool = False  # is a field's value a phrase?


def parse(text: str, *, any_term: bool = False, choices: Choices | None = None) -> Parsed:
    """The tree of a query text. Raises QueryError with a column inside the text."""
    tokens = list(_tokens(text))
    if not tokens:
        raise UsageError(EMPTY)
    near = [(token, name) for token in tokens if token.kind == "WORD" and (name := _meant(token.value))]
    plain = all(token.kind in ("WORD", "PHRASE") for token in tokens)
    for token in tokens:
        if token.kind in ("WORD", "PHRASE") and not token.value.strip():
            raise QueryError(text, token.at, "an empty phrase finds nothing: write a word between the quotes")
    if any(token.kind in ("OR", "AND", "NOT", "LPAR", "MINUS") for token in tokens) and near:
        token, name = near[0]
        raise QueryError(text, token.at, f"no field {token.value.partition(':')[0]!r}: write {name}:, or put the text in quotes")
    warnings = [f"{token.value!r} was searched as text; the field is called {name}:" for token, name in near]
    for mark, token in pairwise(tokens):
        if mark.kind == "MINUS" and token.kind == "WORD" and len(token.value) <= 2:
            warnings.append(f'-{token.value} leaves out what holds {token.value!r}; to find the dash, write "-{token.value}"')
    for token, following in pairwise(tokens):
        if token.kind == "WORD" and token.value[-1:] == ":" and token.value[:-1] in BY_NAME and following.kind in ("WORD", "PHRASE"):
            warnings.append(f"{token.value!r} was searched as text; as a field its value follows at once: {token.value}{following.value}")
    said = tuple(dict.fromkeys(warnings))[:_WARNINGS]
    if plain:
        return Parsed(joined([Term(token.value) for token in tokens], any_term), said)
    return Parsed(_Builder(text, choices or {}, any_term).build(tokens), said)


# --- tokens ---------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> Iterator[Token]:
    at = depth = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
        elif char == '"':
            value, end = _phrase(text, at)
            yield Token("PHRASE", value, at)
            at = end
        elif char == "(" and _opens(text, at):
            depth += 1
            yield Token("LPAR", char, at)
            at += 1
        elif char == ")" and depth:
            depth -= 1
            yield Token("RPAR", char, at)
            at += 1
        elif char in "-+" and _marks(text, at):
            yield Token("MINUS" if char == "-" else "PLUS", char, at)
            at += 1
        else:
            token, at = _word(text, at, depth)
            yield token


def _opens(text: str, at: int) -> bool:
    """A parenthesis opens a group where something follows that it does not close at once."""
    return text[at + 1 : at + 2] not in ("", ")")


def _marks(text: str, at: int) -> bool:
    """A dash or plus excludes or requires what follows it where that begins like a word, a phrase or a group."""
    following = text[at + 1 : at + 2]
    return following.isalpha() or following in ('"', "_") or (following == "(" and _opens(text, at + 1))


def _phrase(text: str, at: int) -> tuple[str, int]:
    r"""A quoted phrase and where it ends. A backslash before a quote makes the quote a part of it; `\\"` is a backslash and the end."""
    out: list[str] = []
    index = at + 1
    while found := _QUOTE.search(text, index):
        out += [text[index : found.start()], "\\" * (len(found[1]) // 2)]
        index = found.end()
        if len(found[1]) % 2 == 0:
            return "".join(out), index
        out.append('"')
    escaped = "; a backslash before a quote makes it text, two of them do not" if '\\"' in text[at:] else ""
    raise QueryError(
        text, at, f'the quote at column {at + 1} is not closed: add a closing ", or use --literal to search for quotes{escaped}'
    )


def _word(text: str, at: int, depth: int) -> tuple[Token, int]:
    found = _FIELD.match(text, at)
    if found and found[1].lower() in BY_NAME:
        return _field(text, found, depth)
    end = _word_end(text, at, depth)
    value = text[at:end]
    return Token(value if value in _OPERATORS else "WORD", value, at), end


def _word_end(text: str, at: int, depth: int) -> int:
    """Where a word ends: at white space, or in a group at the parenthesis that closes it and not one of the word's own."""
    own = 0
    while at < len(text) and not text[at].isspace():
        if text[at] == "(":
            own += 1
        elif text[at] == ")":
            if not own and depth:
                break
            own = max(0, own - 1)
        at += 1
    return at


def _field(text: str, found: re.Match[str], depth: int) -> tuple[Token, int]:
    name, start = BY_NAME[found[1].lower()].name, found.end()
    if text[start] == '"':
        value, end = _phrase(text, start)
        return Token("FIELD", value, found.start(), name, quoted=True), end
    if text[start] in "[{" and BY_NAME[name].compare == "instant":
        span = _RANGE.match(text, start)
        if not span:
            raise QueryError(text, start, f"a range is written [2026-01-01 TO 2026-01-31], or {{a TO b}} without its ends: {name}:")
        return Token("FIELD", span[0], found.start(), name), span.end()
    end = _word_end(text, start, depth)
    return Token("FIELD", text[start:end], found.start(), name), end


def _meant(word: str) -> str | None:
    """The field that a word before a colon nearly spells; None where it is text of its own."""
    found = _FIELD.match(word)
    if not found or found[1].lower() in BY_NAME or len(found[1]) < 4:
        return None
    name = found[1].lower()
    close = [known for known in BY_NAME if _distance_at_most_one(name, known) or (len(name) > 6 and name.removesuffix("s") == known)]
    return min(close, default=None)


def _distance_at_most_one(one: str, other: str) -> bool:
    """Is it one letter more, less or other, or two neighbours exchanged?"""
    if abs(len(one) - len(other)) > 1 or one == other:
        return one == other
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, far = one[at:], other[at:]
    exchanged = rest[:2] == far[1::-1] and len(far) > 1 and rest[2:] == far[2:]
    return rest[1:] == far[1:] or rest[1:] == far or rest == far[1:] or exchanged


# --- structure ------------------------------------------------------------------------------------------------------

_GRAMMAR = """
start: anyof
anyof: allof (OR allof)*
allof: unary (AND? unary)*
unary: (NOT | MINUS) unary -> excluded
     | PLUS unary -> required
     | LPAR anyof RPAR -> group
     | (WORD | PHRASE | FIELD) -> leaf
%declare OR AND NOT MINUS PLUS LPAR RPAR WORD PHRASE FIELD
"""
_lark: Lark | None = None


def _parser() -> Lark:
    global _lark  # noqa: PLW0603 - built when the first query needs it
    if _lark is None:
        from lark import Lark
        from lark import Token as LarkToken
        from lark.lexer import Lexer

        class Given(Lexer):
            """Hands over tokens that are made already."""

            def __init__(self, conf: object) -> None:
                del conf

            def lex(self, data: Sequence[Token]) -> Iterator[LarkToken]:  # type: ignore[override]
                for index, token in enumerate(data):
                    yield LarkToken(token.kind, str(index), start_pos=token.at)

        _lark = Lark(_GRAMMAR, parser="lalr", lexer=Given)
    return _lark


class _Builder:
    """Makes the tree of some tokens."""

    def __init__(self, text: str, choices: Choices, any_term: bool) -> None:
        self.text, self.choices, self.any_term = text, choices, any_term
        self.tokens: Sequence[Token] = ()

    def build(self, tokens: Sequence[Token]) -> Tree:
        self.tokens = tokens
        self._check_depth()
        from lark.exceptions import UnexpectedInput

        try:
            structure = _parser().parse(tokens)
        except UnexpectedInput as error:
            raise self._misplaced(getattr(error, "token", None)) from None
        return self._node(structure.children[0])

    def _check_depth(self) -> None:
        depth = run = 0
        opened: list[Token] = []
        for token in self.tokens:
            if token.kind == "LPAR":
                opened.append(token)
            elif token.kind == "RPAR":
                opened.pop()
            run = run + 1 if token.kind in ("NOT", "MINUS", "PLUS") else 0
            depth = max(depth, len(opened) + run)
            if depth > _DEPTH:
                raise QueryError(self.text, token.at, f"more than {_DEPTH} groups within each other: write a simpler query")
        if opened:
            raise QueryError(self.text, opened[-1].at, "this parenthesis is not closed: close it, or put the text in quotes")

    def _misplaced(self, found: object) -> QueryError:
        """What is wrong at the token where the grammar cannot go on."""
        kind, index = getattr(found, "type", "$END"), str(found)
        if kind == "$END" or not index.isdecimal():
            last = self.tokens[-1]
            return QueryError(self.text, last.at, f"nothing follows {last.value}: add what it applies to, or put it in quotes")
        token = self.tokens[int(index)]
        if token.kind == "RPAR":
            return QueryError(self.text, token.at, "nothing stands before this parenthesis: fill the group, or put it in quotes")
        return QueryError(self.text, token.at, f"nothing stands before {token.value}: give both sides, or put it in quotes")

    def _node(self, node: object) -> Tree:
        kind, children = getattr(node, "data", ""), getattr(node, "children", [])
        if kind == "anyof":
            parts = [self._node(child) for child in children if hasattr(child, "data")]
            distinct = tuple(dict.fromkeys(parts))
            return distinct[0] if len(distinct) == 1 else Any(distinct)
        if kind == "allof":
            return joined([self._node(child) for child in children if hasattr(child, "data")], self.any_term)
        if kind == "excluded":
            return Not(self._node(children[-1]))
        if kind == "required":
            return self._node(children[-1])
        if kind == "group":
            return self._node(children[1])
        return self._leaf(self.tokens[int(str(children[0]))])

    def _leaf(self, token: Token) -> Tree:
        if token.kind != "FIELD":
            return Term(token.value)
        spec = BY_NAME[token.name]
        if spec.compare == "text":
            if not token.value.strip():
                raise QueryError(self.text, token.at, "text: needs a text after it")
            return Term(token.value)
        if token.value == "*":
            return Field(spec.name, shown="*")
        if spec.compare == "instant":
            return self._instant(token, spec)
        value = token.value
        if not value.strip():
            raise QueryError(self.text, token.at, f"{spec.name}: needs a value, or {spec.name}:* for any")
        self._check_choice(token, spec, value)
        return Field(spec.name, value, shown=value)

    def _check_choice(self, token: Token, spec: FieldSpec, value: str) -> None:
        known = self.choices.get(spec.name)
        if known and value.lower() not in known and not ("*" in value or "?" in value):
            from difflib import get_close_matches

            close = get_close_matches(value.lower(), list(known), n=1, cutoff=0.5)
            hint = f" (did you mean {close[0]}?)" if close else ""
            if "," in value:
                hint = " (several are written with OR)"
            raise QueryError(self.text, token.at, f"unknown {spec.name} {value!r}{hint}; choose from {', '.join(known)}")

    def _instant(self, token: Token, spec: FieldSpec) -> Field:
        try:
            low, high = _bounds(spec.name, token.value)
        except UsageError as error:
            raise QueryError(self.text, token.at, str(error)) from None
        return Field(spec.name, low=low, high=high, shown=token.value)


def _bounds(name: str, value: str) -> tuple[int | None, int | None]:
    """The first instant that a date field admits, and the first after it that it does not."""
    from .dates import day_of, end_of, start_of

    special: Mapping[str, Callable[[str], tuple[int | None, int | None]]] = {
        "since": lambda text: (start_of(text), None),
        "until": lambda text: (None, end_of(text)),
        "on": day_of,
    }
    if name in special:
        return special[name](value)
    if span := _RANGE.fullmatch(value):
        low = None if span[2] == "*" else start_of(span[2]) if span[1] == "[" else end_of(span[2])
        high = None if span[3] == "*" else end_of(span[3]) if span[4] == "]" else start_of(span[3])
        return low, high
    if found := _COMPARISON.fullmatch(value):
        sign, moment = found[1], found[2]
        if sign[0] == ">":
            return (start_of(moment) if sign == ">=" else end_of(moment)), None
        return None, (end_of(moment) if sign == "<=" else start_of(moment))
    return start_of(value), end_of(value)


# --- back to text ---------------------------------------------------------------------------------------------------


def show(tree: Tree) -> str:
    """The tree as query text; parsing it gives the tree again."""
    if tree == EVERYTHING:
        return ""
    return _shown(tree, 0)


def _shown(tree: Tree, within: int) -> str:
    """`within`: 0 at the top and in a group, 1 as a part of an alternative, 2 where only one thing may stand."""
    if isinstance(tree, Term):
        return _shown_term(tree.text)
    if isinstance(tree, Pattern):  # comes from no query text
        return " OR ".join(map(_quoted, tree.texts))
    if isinstance(tree, Field):
        value = tree.shown or tree.value or "*"
        bare = value == "*" or (value and not re.search(r'[\s"()]|^:|^//', value)) or _RANGE.fullmatch(value)
        return f"{tree.name}:{value}" if bare else f"{tree.name}:{_quoted(value)}"
    if isinstance(tree, Not):
        return f"NOT {_shown(tree.part, 2)}"
    joint, level = (" OR ", 0) if isinstance(tree, Any) else (" ", 1)
    inner = joint.join(_shown(part, 1 if isinstance(tree, Any) else 2) for part in tree.parts)
    return f"({inner})" if within > level else inner


def _shown_term(text: str) -> str:
    tokens: list[Token] = []
    try:
        tokens = list(_tokens(text))
    except QueryError:
        return _quoted(text)
    alone = len(tokens) == 1 and tokens[0].kind == "WORD" and tokens[0].value == text and not _meant(text) and not re.search("[()]", text)
    return text if alone else _quoted(text)


def _quoted(text: str) -> str:
    ended = text + '"'  # backslashes are doubled where a quote follows, also the closing one
    return '"' + _QUOTE.sub(lambda found: found[1] * 2 + '\\"', ended)[:-2] + '"'
