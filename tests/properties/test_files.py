from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import example, given
from hypothesis import strategies as st

from deepgrep import files
from deepgrep.files import OpenFile, Peek, Window, inside, sibling, windows

# Lines of many lengths around the sizes of windows, caps and peeks; content that betrays a wrong cut.
lengths = st.one_of(st.integers(0, 40), st.sampled_from((255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 70_000)))


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    lines = [bytes([97 + number % 26]) * length for number, length in enumerate(draw(st.lists(lengths, max_size=12)))]
    return b"\n".join(lines) + draw(st.sampled_from((b"", b"\n", b"\n\n", b"\r\n")))


def _lines(content: bytes) -> list[bytes]:
    """Lines with their line feeds."""
    return (
        content.splitlines(keepends=True)
        if b"\r" not in content
        else [line for line in content.replace(b"\n", b"\n\0").split(b"\0") if line]
    )


def _write(folder: Path, content: bytes, *, compressed: bool = False) -> str:
    path = folder / ("file.jsonl.zst" if compressed else "file.jsonl")
    path.write_bytes(zstd.compress(content) if compressed else content)
    return str(path)


@given(contents(), st.sampled_from((1, 7, 256, 1024, 4096, 65536)), st.booleans())
def test_windows_put_together_are_the_file(tmp_path: Path, content: bytes, size: int, compressed: bool) -> None:
    with OpenFile(_write(tmp_path, content, compressed=compressed)) as file:
        at, parts = 0, []
        for window in windows(file, size=size):
            assert window.start == at
            assert window.oversized == 0
            part = bytes(window.buffer[: window.end])
            parts.append(part)
            at += len(part)
    assert b"".join(parts) == content
    assert all(part.endswith(b"\n") for part in parts[:-1])
    assert file.bytes_read == len(content)


@given(contents(), st.sampled_from((1, 256, 1024, 4096, 65536)), st.sampled_from((256, 1024, 2048, 4096)))
@example(b"a" * 4097 + b"\nb\n", 65536, 4096)
@example(b"a" * 3000 + b"\n" + b"b" * 3000 + b"\nc", 4096, 2048)
def test_lines_over_the_cap_are_passed_over_whatever_the_window(tmp_path: Path, content: bytes, size: int, cap: int) -> None:
    kept, passed, at = [], 0, 0
    for line in _lines(content):
        if len(line) > cap or (len(line) == cap and not line.endswith(b"\n")):
            passed += 1
        else:
            kept.append((at, line))
        at += len(line)
    found, oversized = [], 0
    with OpenFile(_write(tmp_path, content)) as file:
        for window in windows(file, size=size, cap=cap):
            oversized += window.oversized
            at = window.start
            for line in _lines(bytes(window.buffer[: window.end])):
                found.append((at, line))
                at += len(line)
    assert found == kept
    assert oversized == passed


def test_a_window_grows_no_further_than_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_spare", [])  # no buffer of an earlier file
    with OpenFile(_write(tmp_path, b"x" * 100_000 + b"\nshort\n")) as file:
        seen = list(map(_glance, windows(file, size=64, cap=1000)))
    assert [one for one in seen if one[0]] == [(b"short\n", 1, True)]
    assert all(small for _, _, small in seen)  # empty ones let a reader stop inside a line that is passed over


def _glance(window: Window) -> tuple[bytes, int, bool]:
    return bytes(window.buffer[: window.end]), window.oversized, len(window.buffer) <= 1000


@given(contents(), st.booleans())
def test_peeking_is_splitting(tmp_path: Path, content: bytes, compressed: bool) -> None:
    lines = [line.removesuffix(b"\n") for line in _lines(content)]
    starts = [0]
    for line in _lines(content):
        starts.append(starts[-1] + len(line))
    with OpenFile(_write(tmp_path, content, compressed=compressed)) as file, closing(Peek(file)) as peek:
        for number, start in enumerate(starts):
            assert list(peek.after(start)) == lines[number:]
            assert list(peek.before(start)) == lines[:number][::-1]


@given(contents(), st.sampled_from((64, 1024, 4096, 69_999, 70_000, 100_000)))
def test_peeking_stops_at_a_line_beyond_the_cap(tmp_path: Path, content: bytes, cap: int) -> None:
    lines = [line.removesuffix(b"\n") for line in _lines(content)]

    def until_long(rest: list[bytes]) -> list[bytes]:
        out = []
        for line in rest:
            if len(line) >= cap:
                break
            out.append(line)
        return out

    with OpenFile(_write(tmp_path, content)) as file, closing(Peek(file)) as peek:
        assert list(peek.after(0, cap)) == until_long(lines)
        assert list(peek.before(len(content), cap)) == until_long(lines[::-1])


def test_peeking_reads_no_further_than_the_file_was_long(tmp_path: Path) -> None:
    path = Path(_write(tmp_path, b"one\ntwo\n"))
    with OpenFile(str(path)) as file:
        with path.open("ab") as more:
            more.write(b"three\n")
        with closing(Peek(file)) as peek:
            assert list(peek.after(0)) == [b"one", b"two"]
        assert [bytes(w.buffer[: w.end]) for w in windows(file)] == [b"one\ntwo\n"]


@pytest.mark.parametrize("beside", [True, False])
def test_a_replaced_files_neighbours_are_the_old_files_or_none(tmp_path: Path, beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not beside:  # as where the system cannot read at an offset
        monkeypatch.delattr(os, "pread")
    path = Path(_write(tmp_path, b"one\ntwo\n"))
    with OpenFile(str(path)) as file:
        path.unlink()
        path.write_bytes(b"other\nfile\n")
        with closing(Peek(file)) as peek:
            assert list(peek.after(0)) == ([b"one", b"two"] if beside else [])


@pytest.mark.parametrize(
    "relative",
    [
        "",
        ".",
        "..",
        "../outside.txt",
        "a/../../outside.txt",
        "/etc/passwd",
        "a//b",
        "link.txt",
        "folder/outside.txt",
        "a\\b",
        "a\0b",
        "a",
        "gone",
    ],
)
def test_siblings_lie_below_the_root(tmp_path: Path, relative: str) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "folder").symlink_to(tmp_path)
    assert sibling(str(root), relative, 1000) is None


def test_siblings_are_read_up_to_their_limit(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "note.txt").write_bytes(b"caf\xc3\xa9\xff")
    assert sibling(str(tmp_path), "a/note.txt", 6) == "café\ufffd"
    assert sibling(str(tmp_path), "a/note.txt", 5) is None
    assert inside(str(tmp_path / "a"), str(tmp_path))
    assert not inside(str(tmp_path) + "x", str(tmp_path))
