"""Texts that break searches, and slow, obvious answers to compare with. Nothing here uses the code under test."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import strategies as st

# Each entry is a piece of text; pieces are glued at random.
PIECES = (
    *"abAB kKsS;`=019.:!#-_", "k", "\u212a", "s", "\u017f", "ss", "\xdf", "\u1e9e", "i", "I", "\u0130", "\u0131", "I\u0307", "i\u0307",
    '"', "\\", "/", "\\u0041", "\\n", "\n", "\t", "\r\n", "\xa0", "\u2028", "\u3000", "\u2000", "\x00", "\x1b", "\x85", "\ufffd",
    "\u037e", "\u1fef", "\u212b", "\xc5", "\xe5", "A\u030a", "a\u030a", "\u2126", "\u03c9", "\u03c3", "\u03c2", "\u03a3", "\u0345",
    "\u03b9", "\u1fb3", "\u1fbc", "\u1f80", "\u1f88", "\u0390", "\u1fd3", "\u03a2",
    "漢", "字", "한", "\u1112\u1161\u11ab", "\u1112", "\u1161", "\u11ab", "\uac00", "\u1100\u1161",
    "ế", "e\u0302\u0301", "e\u0301\u0302", "ượ", "u\u031bo\u031b\u0323", "ạ", "a\u0323", "\u1ea3\u017a", "\u0178\u1e93", "ḥ", "đ", "ž",
    "\u0243",
    "\u0915\u093c", "\u0958", "\u0928\u093c", "\u0929", "\u09c7\u09be", "\u09cb", "\u0301", "\u0323", "q\u0307\u0323", "q\u0323\u0307",
    "\u0f71\u0f74", "\u0344", "=\u0338", "\u2260", "\U0001d15e", "\ufb1d", "\U000110a5\U000110ba", "\U0001109a",
    "😀", "👩\u200d💻", "🇩🇪", "\ufb01", "fi", "\ufb05", "\ufb06", "st", "\u01c6", "\u01c5", "\u01c4", "\U00010400", "\U00010428", "\u13a0",
    "\uab70",
)  # fmt: skip
WORDS = ("foo", "Bar", "naïve", "nai\u0308ve", "Straße", "được", "--force", "C:\\tmp\\x", "src/main.rs", "E-12:34", 'said "no"', "日本語")

pieces = st.sampled_from(PIECES)
texts = st.lists(st.one_of(pieces, pieces, st.sampled_from(WORDS), st.sampled_from((" ", "  "))), max_size=14).map("".join)
needles = st.lists(st.one_of(pieces, st.sampled_from(WORDS)), min_size=1, max_size=4).map("".join).filter(lambda text: bool(text.strip()))


def simple_fold(char: str) -> str:
    """One character's simple fold, straight from the design: casefold if it is one character, else lower if it is, else itself."""
    if len(char.casefold()) == 1:
        return char.casefold()
    return char.lower() if len(char.lower()) == 1 else char


def slow_fold(text: str) -> str:
    """NFC, then character by character."""
    return "".join(simple_fold(char) for char in unicodedata.normalize("NFC", text))


def occurs(needle: str, text: str) -> bool:
    """Does the needle occur, any run of white space in it matching any run?"""
    form, wanted = slow_fold(text), slow_fold(needle)

    def rest(at: int, index: int) -> bool:
        while index < len(wanted):
            if wanted[index].isspace():
                while index < len(wanted) and wanted[index].isspace():
                    index += 1
                ends = []
                stop = at
                while stop < len(form) and form[stop].isspace():
                    stop += 1
                    ends.append(stop)
                return any(rest(end, index) for end in ends)
            if at >= len(form) or form[at] != wanted[index]:
                return False
            at, index = at + 1, index + 1
        return True

    return any(rest(start, 0) for start in range(len(form) + 1))


def folded_space(text: str) -> str:
    """The text folded, each run of white space one space."""
    return re.sub(r"\s+", " ", slow_fold(text))


@st.composite
def containing(draw: st.DrawFn) -> tuple[str, str]:
    """A needle and a text that often holds it, spelled another way."""
    needle = draw(needles)
    ways = (
        lambda t: t, str.upper, str.lower, str.title, lambda t: unicodedata.normalize("NFD", t), lambda t: unicodedata.normalize("NFC", t),
        lambda t: re.sub(r"\s+", "\n\t", t), lambda t: t.replace("k", "\u212a").replace("s", "\u017f").replace(";", "\u037e"),
        lambda t: unicodedata.normalize("NFD", t).swapcase(),
    )  # fmt: skip
    spelled = draw(st.sampled_from(ways))(needle)
    before, after = draw(texts), draw(texts)
    return needle, draw(st.sampled_from((before + spelled + after, before + spelled + after, before + spelled, before)))
