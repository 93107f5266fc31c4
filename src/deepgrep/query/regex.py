r"""Regular expressions that no text can hang: read here, run by RE2, line by line.

The syntax is ripgrep's. A pattern becomes a tree, and the tree RE2's spelling of it, in which `\w \d \s`, case and word
boundaries know all of Unicode. What RE2 cannot do faithfully is refused with what to write instead.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from ..errors import UsageError
from ..model import Pattern
from ..typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re2

Spans = tuple[tuple[int, int], ...]
Finds = Callable[[str], "Spans | None"]

_MOST_NESTED = 100
_MOST_REPEATS = 1000  # RE2's own bound
_MEMORY_BYTES = 64 << 20  # of RE2's automaton; beyond, it goes on slower
_MOST_ALTERNATIVES = 24  # that a probe looks for

# Members of classes, as RE2 spells them. Word characters are ripgrep's: letters, marks, digits, connectors, joiners, and the signs
# that Unicode calls alphabetic.
_WORD = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}"
_SPACE = r"\t-\r \x{85}\p{Z}"
_NO_SPACE = (
    r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}"
    r"\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
_CLASSES = {"d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE, "S": _NO_SPACE, "w": _WORD}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_POSIX = frozenset((
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word", "xdigit",
))  # fmt: skip
_SIGNS = frozenset("\\.+*?()|[]{}^$#&-~/\"'`@!%,:;<>=_ ")  # what a backslash may stand before without a meaning of its own

_REFUSED_GROUPS = {
    "?=": "look-ahead", "?!": "look-ahead", "?<=": "look-behind", "?<!": "look-behind", "?>": "an atomic group", "?(": "a condition",
    "?#": "a comment", "?|": "a branch reset", "?R": "recursion", "?&": "recursion",
}  # fmt: skip
_INSTEAD = {
    "look-ahead": "match the text that follows too and print matches with -o, or leave lines out with a second `grep -v`",
    "look-behind": "match the text before too and print matches with -o, or leave lines out with a second `grep -v`",
    "an atomic group": "write (?:...): no pattern backtracks here",
    "a condition": "write the cases side by side with |",
    "a comment": "leave it out",
    "a branch reset": "write (?:...)",
    "recursion": "write as many levels as you need",
}
_REFUSED_ESCAPES = {
    "A": "write ^, which stands for the start of a line", "z": "write $, which stands for the end of a line",
    "Z": "write $, which stands for the end of a line", "G": "leave it out", "K": "match the text before too and print matches with -o",
    "R": "leave it out: a match never crosses a line", "X": "write the character itself, or `.`", "h": r"write [ \t]",
    "Q": "put a backslash before each sign, or use -F", "E": "put a backslash before each sign, or use -F",
    "C": "write `.`", "N": "write `.`", "<": r"write \b", ">": r"write \b", "k": "write out the text", "g": "write out the text",
}  # fmt: skip


# --- the tree -------------------------------------------------------------------------------------------------------


class Literal(NamedTuple):
    """One character."""

    char: str
    folds: bool


class Set(NamedTuple):
    """One character of a class. `members` is RE2's spelling of them without brackets, `written` those that stand there themselves."""

    members: str
    negated: bool
    folds: bool
    written: str = ""
    named: bool = False  # is a category or a script in it?


class Edge(NamedTuple):
    """A place: `^`, `$`, or a word boundary."""

    sign: str


class Repeat(NamedTuple):
    part: Node
    low: int
    high: int | None
    greedy: bool


class Sequence(NamedTuple):
    parts: tuple[Node, ...]


class Choice(NamedTuple):
    parts: tuple[Node, ...]
    joint: str = "|"


Node = Literal | Set | Edge | Repeat | Sequence | Choice


class _Flags(NamedTuple):
    folds: bool
    swaps: bool = False  # is what is greedy lazy, and the other way round?


class _Reader:
    """Reads one pattern. Columns in errors count from 1."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.depth = 0

    def read(self, folds: bool) -> Node:
        node = self._choice(_Flags(folds))
        if self.at < len(self.text):
            raise self._error(self.at, "this parenthesis closes nothing", r"write \) for the sign, or use -F")
        return node

    def _error(self, at: int, what: str, instead: str) -> UsageError:
        return UsageError(f"pattern {self.text!r}, column {at + 1}: {what}; {instead}")

    def _peek(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def _choice(self, flags: _Flags) -> Node:
        parts: list[Node] = []
        while True:
            part, flags = self._sequence(flags)
            parts.append(part)
            if self._peek() != "|":
                return parts[0] if len(parts) == 1 else Choice(tuple(parts))
            self.at += 1

    def _sequence(self, flags: _Flags) -> tuple[Node, _Flags]:
        """Parts up to a bar, a parenthesis or the end; flags set on the way hold until the group ends."""
        parts: list[Node] = []
        while self.at < len(self.text) and self._peek() not in ("|", ")"):
            start = self.at
            atom, flags = self._atom(flags)
            if atom is not None:
                parts.append(self._repeated(atom, start, flags))
        return (parts[0] if len(parts) == 1 else Sequence(tuple(parts))), flags

    def _atom(self, flags: _Flags) -> tuple[Node | None, _Flags]:
        char, start = self._peek(), self.at
        if char == "(":
            return self._group(flags)
        self.at += 1
        if char == "[":
            return self._class(start, flags), flags
        if char == "\\":
            return self._escape(start, flags), flags
        if char == ".":
            return Set("\\n", True, False), flags
        if char in "^$":
            return Edge(char), flags
        if char in "*+?":
            raise self._error(start, f"nothing stands before {char}", rf"write \{char} for the sign, or use -F")
        if char == "{" and self._counted(start):
            raise self._error(start, "nothing stands before the repetition", r"write \{ for the sign, or use -F")
        if char == "\n":
            raise self._error(start, "a match never crosses a line", "look for one line")
        return Literal(char, flags.folds), flags

    def _group(self, flags: _Flags) -> tuple[Node | None, _Flags]:
        start = self.at
        self.at += 1
        inner = flags
        if self._peek() == "?":
            for sign in (self._peek(3), self._peek(2)):
                if sign in _REFUSED_GROUPS:
                    name = _REFUSED_GROUPS[sign]
                    raise self._error(start, f"{name} is not supported", _INSTEAD[name])
            name = self._name(start)
            if not name:
                inner = self._group_flags(start, flags)
                if self._peek() == ")":
                    self.at += 1
                    return None, inner
                self.at += 1  # the colon
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise self._error(start, f"more than {_MOST_NESTED} groups within each other", "write a simpler pattern")
        node = self._choice(inner)
        if self._peek() != ")":
            raise self._error(start, "this parenthesis is not closed", r"close it, or write \( for the sign, or use -F")
        self.at += 1
        self.depth -= 1
        return node, flags

    def _name(self, start: int) -> str:
        """Pass over `?P<name>` or `?<name>`; empty where there is none."""
        for opening in ("?P<", "?<"):
            if self._peek(len(opening)) == opening:
                end = self.text.find(">", self.at)
                name = self.text[self.at + len(opening) : end] if end >= 0 else ""
                if not name.isidentifier():
                    raise self._error(start, "a group's name is letters, digits and _", "write (?P<name>...), or leave the name out")
                self.at = end + 1
                return name
        if self._peek(3) in ("?P=", "?P>"):
            raise self._error(start, "a back-reference is not supported", "write out the text")
        return ""

    def _group_flags(self, start: int, flags: _Flags) -> _Flags:
        self.at += 1
        on = True
        while (char := self._peek()) not in (":", ")"):
            if char == "-" and on:
                on = False
            elif char == "i":
                flags = flags._replace(folds=on)
            elif char == "U":
                flags = flags._replace(swaps=on)
            elif char in ("s", "m", "u") and on:
                pass  # lines are looked at one by one, and always as Unicode
            elif not char:
                raise self._error(start, "this parenthesis is not closed", r"close it, or write \( for the sign, or use -F")
            else:
                raise self._error(start, f"(?{'' if on else '-'}{char} is not supported", "of flags there are i, U, s, m, u: as in (?i)")
            self.at += 1
        return flags

    def _repeated(self, atom: Node, start: int, flags: _Flags) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return atom
        low, high = bounds
        if (high is not None and low > high) or max(low, high or 0) > _MOST_REPEATS:
            raise self._error(start, "this repetition cannot be", f"write {{low,high}}, both at most {_MOST_REPEATS}")
        greedy = True
        if self._peek() == "?":
            self.at += 1
            greedy = False
        elif self._peek() == "+":
            raise self._error(self.at, "a possessive repetition is not supported", "leave the + out: no pattern backtracks here")
        if self._peek() and (self._peek() in "*+?" or self._counted(self.at)):
            raise self._error(self.at, "a repetition of a repetition", "put the inner one in parentheses")
        return Repeat(atom, low, high, greedy != flags.swaps)

    def _bounds(self) -> tuple[int, int | None] | None:
        """The repetition that stands here, passed over; None where there is none."""
        signs: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in signs and char:
            self.at += 1
            return signs[char]
        end = self._counted(self.at)
        if not end:
            return None
        low, comma, high = self.text[self.at + 1 : end - 1].partition(",")
        self.at = end
        first = min(int(low[:6]), _MOST_REPEATS + 1)
        return first, (first if not comma else min(int(high[:6]), _MOST_REPEATS + 1) if high else None)

    def _counted(self, at: int) -> int:
        """Where `{2}`, `{2,}` or `{2,3}` ends; 0 where a brace is only a brace."""
        end = self.text.find("}", at) if self.text[at : at + 1] == "{" else -1
        low, _, high = self.text[at + 1 : end].partition(",") if end >= 0 else ("", "", "")
        good = low.isascii() and low.isdecimal() and (not high or (high.isascii() and high.isdecimal()))
        return end + 1 if good else 0

    def _escape(self, start: int, flags: _Flags) -> Node:
        char = self._peek()
        self.at += 1
        if char in ("b", "B"):
            return Edge("\\" + char)
        if char in _CLASSES:
            return Set(_CLASSES[char], False, False)
        if char == "W":
            return Set(_WORD, True, False)
        if char in ("p", "P"):
            return Set(self._property(start, char), False, flags.folds, named=True)
        return Literal(self._escaped(start, char), flags.folds)

    def _property(self, start: int, char: str) -> str:
        name = self._peek()
        self.at += 1
        if name == "{":
            end = self.text.find("}", self.at)
            name = self.text[self.at : end] if end >= 0 else ""
            self.at = end + 1
        negated = name.startswith("^")
        name = name.removeprefix("^")
        member = rf"\{char if not negated else {'p': 'P', 'P': 'p'}[char]}{{{name}}}"
        if not name.replace("_", "").isalnum() or not _is_known(member):
            raise self._error(start, "no such class of characters", r"there are categories such as \p{Lu} and scripts such as \p{Greek}")
        return member

    def _escaped(self, start: int, char: str) -> str:
        """The character that an escape stands for."""
        if char in _REFUSED_ESCAPES and char:
            raise self._error(start, rf"\{char} is not supported", _REFUSED_ESCAPES[char])
        if char.isdecimal():
            raise self._error(start, "a back-reference is not supported", r"write out the text; a character by its number is \x{41}")
        if char in ("x", "u", "U"):
            return self._by_number(start, char)
        if char == "n":
            raise self._error(start, "a match never crosses a line", "look for one line")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _SIGNS and char:
            return char
        if not char:
            raise self._error(start, "nothing follows this backslash", r"write \\ for the sign, or use -F")
        raise self._error(start, rf"\{char} means nothing here", rf"write {char}, or \\{char} for a backslash before it")

    def _by_number(self, start: int, char: str) -> str:
        if self._peek() == "{":
            end = self.text.find("}", self.at)
            digits = self.text[self.at + 1 : end] if end >= 0 else ""
            self.at = end + 1
        else:
            digits = self._peek({"x": 2, "u": 4, "U": 8}[char])
            self.at += len(digits)
            if len(digits) < {"x": 2, "u": 4, "U": 8}[char]:
                digits = ""
        try:
            number = int(digits, 16) if digits.isalnum() else -1
        except ValueError:
            number = -1
        if not 0 <= number < 0x110000 or 0xD800 <= number < 0xE000 or number == 10:
            raise self._error(start, "no character has this number", r"write \x41 or \x{1F600}")
        return chr(number)

    def _class(self, start: int, flags: _Flags) -> Node:
        negated = self._peek() == "^"
        self.at += negated
        members, written = "", ""
        while not members or self._peek() != "]":
            if self.at >= len(self.text):
                raise self._error(start, "this bracket is not closed", r"close it, or write \[ for the sign, or use -F")
            member, spelled_out = self._members(start)
            members, written = members + member, written + spelled_out
        self.at += 1
        return Set(members, negated, flags.folds, written, r"\p{" in _less(members) or r"\P{" in _less(members))

    def _members(self, start: int) -> tuple[str, str]:
        """One member of a class or a range, as RE2 spells it, and the characters that stand there themselves."""
        if self._peek(2) in ("&&", "--", "~~") and self.text[self.at + 2 : self.at + 3] not in ("]", ""):
            raise self._error(self.at, "set operations are not supported", "write out the characters")
        if self._peek() == "[":
            return self._posix(), ""
        low = self._member(start)
        if len(low) > 1:
            return low, ""
        if self._peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return _spelled(low), low
        self.at += 1
        high = self._member(start)
        if len(high) > 1 or ord(high) < ord(low):
            raise self._error(start, "a range goes from a character up to another", r"write \- for a dash")
        return f"{_spelled(low)}-{_spelled(high)}", low + high

    def _posix(self) -> str:
        end = self.text.find(":]", self.at)
        name = self.text[self.at + 2 : end] if self._peek(2) == "[:" and end >= 0 else ""
        if name.removeprefix("^") not in _POSIX:
            raise self._error(self.at, "a class within a class is not supported", r"write \[ for the bracket")
        self.at = end + 2
        return f"[:{name}:]"

    def _member(self, start: int) -> str:
        """One character, or RE2's spelling of several."""
        char, at = self._peek(), self.at
        self.at += 1
        if char == "\n":
            raise self._error(at, "a match never crosses a line", "look for one line")
        if char != "\\":
            return char
        char = self._peek()
        self.at += 1
        if char in _CLASSES:
            return _CLASSES[char]
        if char == "W":
            return _no_word()
        if char in ("p", "P"):
            return self._property(at, char)
        if char == "n":
            return r"\n\n"  # a class may name what it can never find
        if char == "b":
            raise self._error(at, r"\b is no character", r"write \x08 for the backspace")
        return self._escaped(at, char)


def _spelled(char: str) -> str:
    """A character as RE2 takes it anywhere, also in a class."""
    return char if char.isascii() and char.isalnum() else f"\\x{{{ord(char):x}}}"


def _less(members: str) -> str:
    """The members of a class but for what backslash and letter stand for."""
    for known in sorted(_CLASSES.values(), key=len, reverse=True):
        members = members.replace(known, "")
    return members


@cache
def _no_word() -> str:
    r"""All characters that are no word characters, as ranges: for `[\W...]`, which RE2 cannot nest. About 0.3 s, once."""
    ranges: list[list[int]] = []
    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        if not _is_word(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)


_ALPHABETIC_SIGNS = ((0x200C, 0x200D), (0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
_SIGNS_IN_WORDS = frozenset(chr(code) for low, high in _ALPHABETIC_SIGNS for code in range(low, high + 1))


def _is_word(char: str) -> bool:
    """Is this a word character, as `_WORD` says?"""
    kind = unicodedata.category(char)
    return kind[0] in "LM" or kind in ("Nd", "Nl", "Pc") or char in _SIGNS_IN_WORDS


# --- RE2's spelling -------------------------------------------------------------------------------------------------


def _emitted(node: Node) -> str:
    if isinstance(node, Literal):
        return f"(?i:{_spelled(node.char)})" if node.folds and node.char.lower() != node.char.upper() else _spelled(node.char)
    if isinstance(node, Set):
        inner = f"[{'^' if node.negated else ''}{node.members}]"
        return f"(?i:{inner})" if node.folds else inner
    if isinstance(node, Edge):
        return r"(?:\r??$)" if node.sign == "$" else node.sign
    if isinstance(node, Repeat):
        bounds = f"{{{node.low},{'' if node.high is None else node.high}}}"
        sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high), bounds)
        return f"(?:{_emitted(node.part)}){sign}{'' if node.greedy else '?'}"
    if isinstance(node, Sequence):
        return "".join(f"(?:{_emitted(part)})" if isinstance(part, Choice) else _emitted(part) for part in node.parts)
    return "|".join(map(_emitted, node.parts))


def _leaves(node: Node) -> Iterator[Literal | Set | Edge]:
    if isinstance(node, (Literal, Set, Edge)):
        yield node
    elif isinstance(node, Repeat):
        yield from _leaves(node.part)
    else:
        for part in node.parts:
            yield from _leaves(part)


# --- what it takes --------------------------------------------------------------------------------------------------


def _required(node: Node) -> tuple[str, ...] | None:
    """Texts of which one must occur, whatever its case, where the node matches; None where nothing must."""
    if isinstance(node, Literal):
        return (node.char,)
    if isinstance(node, Repeat):
        return _required(node.part) if node.low else None
    if isinstance(node, Choice):
        found = [_required(part) for part in node.parts]
        if any(part is None for part in found):
            return None
        together = tuple(dict.fromkeys(text for part in found for text in part or ()))
        return together if len(together) <= _MOST_ALTERNATIVES else None
    if isinstance(node, Sequence):
        return _best(node.parts)
    return None


def _best(parts: tuple[Node, ...]) -> tuple[str, ...] | None:
    """Of what a sequence requires: the fewest alternatives, then the longest text. Neighbouring characters are one text."""
    choices: list[tuple[str, ...]] = []
    run: list[str] = []
    for part in [*_flat(parts), Edge("^")]:
        if isinstance(part, Literal):
            run.append(part.char)
            continue
        if run:
            choices.append(("".join(run),))
            run = []
        if (found := _required(part)) is not None:
            choices.append(found)
    return min(choices, key=lambda some: (len(some), -min(map(len, some))), default=None)


def _flat(parts: tuple[Node, ...]) -> Iterator[Node]:
    for part in parts:
        if isinstance(part, Sequence):
            yield from _flat(part.parts)
        else:
            yield part


def required(pattern: Pattern) -> tuple[str, ...] | None:
    """Texts of which one must occur in a text that the pattern matches; None where every text may match."""
    return None if pattern.inverted else _required(compiled(pattern).node)


# --- running it -----------------------------------------------------------------------------------------------------


class Regex:
    """A pattern that is ready to run."""

    def __init__(self, node: Node, edges: str) -> None:
        self.node = node
        self._group = 1 if edges == "word" else 0
        body = _emitted(node)
        if edges == "line":
            body = rf"^(?:{body})(?:\r??$)"
        elif edges == "word":
            body = rf"(?:^|[^{_WORD}])({body})(?:[^{_WORD}]|\r??$)"
        self._re = _built(f"(?m){body}")
        self._stand_ins = _StandIns(node) if any(isinstance(leaf, Edge) and leaf.sign in (r"\b", r"\B") for leaf in _leaves(node)) else None

    def search(self, text: str) -> bool:
        """Does the pattern match anywhere in the text?"""
        return next(self._places(text), None) is not None

    def spans(self, text: str) -> Spans:
        """Every match, in code points of the text, left to right, not overlapping; none of them crosses a line."""
        return tuple(self._places(text))

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        if self._stand_ins is not None and not text.isascii():
            text = text.translate(self._stand_ins)
        raw = text.encode("utf-8", "replace")
        size = len(raw) - 1 if raw.endswith(b"\n") else len(raw)  # what follows the last line feed is no line
        plain = len(raw) == len(text)
        at, last, chars, counted = 0, -1, 0, 0
        while at <= size:
            found = self._re.search(raw, at)
            if found is None:
                return
            start, end = found.span(self._group)
            if start > size or (start == size and size < len(raw) and start == end == len(raw)):
                return
            if end > start and raw[end - 1] == 0x0D and raw[end : end + 1] in (b"", b"\n"):
                end -= 1  # a carriage return before a line feed belongs to the line's end
            if end > start:
                at = end
            else:
                at = end + 1
                while at < len(raw) and raw[at] & 0xC0 == 0x80:
                    at += 1
                if end == last:  # nothing, right behind a match
                    continue
            last = end
            if plain:
                yield start, end
                continue
            chars += len(raw[counted:start].decode("utf-8", "replace"))
            length = len(raw[start:end].decode("utf-8", "replace"))
            yield chars, chars + length
            chars, counted = chars + length, end


class _StandIns(dict[int, int]):
    """For each word character outside ASCII one inside that the pattern cannot tell from it: RE2's word boundary knows only those."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        kinds = {_emitted(leaf): leaf for leaf in _leaves(node) if not isinstance(leaf, Edge)}
        self._tests = [_built(f"(?:{spelling})") for spelling in kinds]
        self._ascii = {self._kind(char): ord(char) for char in "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}
        named = any(_names_words(leaf) for leaf in kinds.values())
        if named or any(self._kind(char) not in self._ascii for char in "\u0436\u0663\u0301"):
            raise UsageError(r"\b and \B beside letters outside ASCII are not supported; leave them out, or use -w for whole words")

    def _kind(self, char: str) -> tuple[bool, ...]:
        raw = char.encode()
        return tuple(test.fullmatch(raw) is not None for test in self._tests)

    def __missing__(self, code: int) -> int:
        char = chr(code)
        stand_in = code if code < 0x80 or not _is_word(char) else self._ascii.get(self._kind(char), code)
        self[code] = stand_in
        return stand_in


def _names_words(leaf: Literal | Set) -> bool:
    """Does it name word characters outside ASCII one by one?"""
    written = leaf.char if isinstance(leaf, Literal) else leaf.written
    wide = isinstance(leaf, Set) and not written.isascii()  # a range may hold any
    return wide or (isinstance(leaf, Set) and leaf.named) or any(not char.isascii() and _is_word(char) for char in written)


@lru_cache(maxsize=512)
def _built(spelling: str) -> re2._Regexp[bytes]:
    import re2  # deferred: 20 ms that only a pattern is worth

    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(spelling.encode(), options)
    except re2.error as error:
        said = error.args[0] if error.args else b""
        why = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        if "too large" in why or "too big" in why:
            raise UsageError("the pattern is too large: repeat less, or look for fewer words at once") from None
        raise UsageError(f"the pattern cannot be run ({why}); write a simpler one, or use -F for a text") from None


@cache
def _is_known(member: str) -> bool:
    try:
        _built(f"[{member}]")
    except UsageError:
        return False
    return True


@lru_cache(maxsize=64)
def compiled(pattern: Pattern) -> Regex:
    """The pattern, ready to run. Raises UsageError, one line that says what to write instead."""
    if any(not text for text in pattern.texts) or not pattern.texts:
        raise UsageError("an empty pattern matches every line: give a text, or a filter without a pattern to `deepgrep search`")
    folds = pattern.case == "ignore" or (pattern.case == "smart" and _is_low(pattern))
    nodes = [_fixed(text, folds) if pattern.fixed else _Reader(text).read(folds) for text in pattern.texts]
    return Regex(nodes[0] if len(nodes) == 1 else Choice(tuple(nodes)), pattern.edges)


def compile(text: str, *, ignore_case: bool = False) -> Regex:  # noqa: A001 - what it is called everywhere
    """One regular expression, ready to run. Raises UsageError."""
    return compiled(Pattern((text,), case="ignore" if ignore_case else "exact"))


def _fixed(text: str, folds: bool) -> Node:
    if "\n" in text:
        raise UsageError("a match never crosses a line: look for one line, or give each line with its own -e")
    return Sequence(tuple(Literal(char, folds) for char in text))


def _is_low(pattern: Pattern) -> bool:
    """Is there a letter or sign to look for, and no capital?"""
    chars = list(pattern.texts) if pattern.fixed else [_written(_Reader(text).read(folds=False)) for text in pattern.texts]
    return any(chars) and not any(char.isupper() for text in chars for char in text)


def _written(node: Node) -> str:
    """The characters that a pattern spells, also those of its classes."""
    return "".join(leaf.char if isinstance(leaf, Literal) else leaf.written for leaf in _leaves(node) if not isinstance(leaf, Edge))


def finder(pattern: Pattern) -> Finds:
    """The predicate of a pattern: spans in code points, or None where no line of the text fits."""
    regex = compiled(pattern)
    if not pattern.inverted:
        return lambda text: regex.spans(text) or None

    def unmatched(text: str) -> Spans | None:
        hits = iter([*regex.spans(text), (len(text) + 1, 0)])
        hit, out = next(hits), []
        for start, end in lines(text):
            while hit[0] < start:
                hit = next(hits)
            if hit[0] > end:
                out.append((start, end))
        return tuple(out) or None

    return unmatched


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the lines of a text, without their line feeds; what follows the last line feed is a line only where there is something."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1
