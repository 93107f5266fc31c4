from __future__ import annotations

import pytest

from deepgrep.engine.lines import parse, shape
from deepgrep.files import Window


def _is_line(value: dict[str, object]) -> bool:
    return "row" in value


@pytest.mark.parametrize(
    ("raw", "offsets", "malformed", "undecodable"),
    [
        (b'{"row": 1}', [0], 0, 0),
        (b'\xef\xbb\xbf{"row": 1}', [3], 0, 0),
        (b'\0\0 {"row": 1}\r', [3], 0, 0),
        (b"", [], 0, 0),
        (b" \0\r", [], 0, 0),
        (b'{"row": 1}{"row": 2}', [0, 10], 0, 0),
        (b'{"row": 1} {"row": 2}', [0, 11], 0, 0),
        (b'{"row": "a{"row": 2}', [10], 1, 0),
        ('{"row": "é"}{"row": 2}'.encode(), [0, 13], 0, 0),
        (b'{"row": "\xff"}{"row": 2}', [0, 12], 0, 0),
        (b'\xff{"row": "\xc4\xc4{"}{"row": 2}', [1, 15], 1, 0),
        (b"null", [], 1, 0),
        (b"[]", [], 1, 0),
        (b"42", [], 1, 0),
        (b'42 {"row": 1}', [3], 1, 0),
        (b'{"row": 1} tail', [0], 1, 0),
        (b'{"row": {"other": {"row"', [], 1, 0),
        (b'{"other": {"row": 1}', [10], 1, 0),
        (b'{"row": ' + b"9" * 5000 + b"}", [], 0, 1),
        (b'{"row": ' + b"[" * 200_000, [], 0, 1),
        (b'{"row": "\t\x01"}', [0], 0, 0),
        (b'{"row": NaN}', [0], 0, 0),
    ],
)
def test_objects_of_a_line(raw: bytes, offsets: list[int], malformed: int, undecodable: int) -> None:
    parsed = parse(raw, _is_line)
    assert [offset for offset, _ in parsed.values] == offsets
    assert (parsed.malformed, parsed.undecodable) == (malformed, undecodable)


def test_a_line_of_nothing_but_beginnings_ends_soon() -> None:
    parsed = parse(b'{"a' * 300_000, _is_line)
    assert (parsed.values, parsed.malformed) == ((), 1)


@pytest.mark.parametrize(
    ("raw", "lines", "misshapen"),
    [
        (b"", 0, []),
        (b"{}\n{}\n", 2, []),
        (b"{}\n{}", 2, []),
        (b"{}\r\n{}\r\n", 2, []),
        (b"{}\n\n{}\n", 3, []),
        (b"\n", 1, []),
        (b"{}\n[]\n", 2, [b"[]"]),
        (b'{}\n{"a', 2, [b'{"a']),
        (b"\0\0{}\n{} \0\n", 2, []),
        (b"{\n{}\n}\n", 3, [b"{", b"}"]),
        (b"}\n{", 2, [b"}", b"{"]),
        (b"\xef\xbb\xbf{}\n", 1, []),
        (b"{", 1, [b"{"]),
    ],
)
def test_lines_that_are_visibly_no_object(raw: bytes, lines: int, misshapen: list[bytes]) -> None:
    seen = shape(Window(bytearray(raw + b"behind the end"), len(raw), 0, 0))
    assert seen.lines == lines
    assert [raw[start:stop] for start, stop in seen.misshapen] == misshapen
