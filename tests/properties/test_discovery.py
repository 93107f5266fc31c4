from __future__ import annotations

import os
import random
import shutil
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepgrep.discovery import Installed, Listing, Place, listing
from deepgrep.model import Store

NAMES = ("a", "b", "projects", "subagents", "x.jsonl", "agent-1.jsonl", "y.jsonl.zst", "x.txt", ".hidden")
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map("/".join)
segments = st.sampled_from(("*", "**", "a", "projects", "subagents", "?", "*s"))
patterns = st.builds(
    lambda folders, file: "/".join((*folders, file)),
    st.lists(segments, max_size=4),
    st.sampled_from(("*.jsonl", "x.jsonl", "agent-*.jsonl", "?.jsonl")),
)


def _store(*where: str, unless: tuple[str, ...] = (), endings: tuple[str, ...] = (".jsonl",)) -> Store:
    return Store("claude.sessions", "transcript", where, "observed never", None, unless=unless, endings=endings)


def _tree(root: Path, files: list[str]) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name in files:
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(name)
        except (FileExistsError, NotADirectoryError):
            continue
    return root


def _listed(root: Path, *stores: Store) -> Listing:
    return listing(Installed("claude", (Place("home", str(root), ""),)), stores)


def _fits(parts: list[str], pattern: list[str]) -> bool:
    """Does a path fit a pattern, segment by segment, `**` standing for any number of folders?"""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[at:], pattern[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _all_files(root: Path) -> list[str]:
    return [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]


@given(st.lists(paths, max_size=12), st.lists(patterns, min_size=1, max_size=3))
def test_the_walk_finds_what_a_look_at_every_file_finds(tmp_path: Path, files: list[str], where: list[str]) -> None:
    root = _tree(tmp_path / "root", files)
    expected = sorted(name for name in _all_files(root) if any(_fits(name.split("/"), pattern.split("/")) for pattern in where))
    found = _listed(root, _store(*where))
    assert [source.key for source in found.sources] == expected
    assert [Path(source.path) for source in found.sources] == [root / name for name in expected]
    assert (found.copies, found.refused, found.broken) == (0, 0, ())


@given(st.lists(paths, max_size=12), st.lists(patterns, min_size=1, max_size=3))
def test_names_are_left_to_others_and_twins_count_once(tmp_path: Path, files: list[str], where: list[str]) -> None:
    root = _tree(tmp_path / "root", [*files, *(f"{name}.zst" for name in files if name.endswith(".jsonl"))])
    where = [*where, *(f"{pattern}.zst" for pattern in where)]
    fitting = [name for name in _all_files(root) if any(_fits(name.split("/"), pattern.split("/")) for pattern in where)]
    fitting = [name for name in fitting if not fnmatchcase(os.path.basename(name), "agent-*")]
    keys = sorted({name.removesuffix(".zst") for name in fitting})
    found = _listed(root, _store(*where, unless=("agent-*",), endings=(".jsonl", ".jsonl.zst")))
    assert [source.key for source in found.sources] == keys
    for source in found.sources:
        assert source.path.endswith(".jsonl") is os.path.exists(root / source.key)
        assert source.stem == os.path.basename(source.key).removesuffix(".jsonl")
    assert found.copies == len(fitting) - len(keys)


@given(
    st.lists(paths, min_size=1, max_size=10),
    st.lists(patterns, min_size=1, max_size=2),
    st.lists(st.tuples(paths, paths), max_size=3),
    st.integers(0, 99),
)
def test_the_listing_does_not_depend_on_the_order_in_which_folders_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], where: list[str], links: list[tuple[str, str]], seed: int
) -> None:
    root = _tree(tmp_path / "root", files)
    for name, target in links:
        path = root / name
        if path.parent.is_dir() and not os.path.lexists(path):
            path.symlink_to(root / target)
    first = _listed(root, _store(*where))
    shuffler = random.Random(seed)
    true_scandir, true_listdir = os.scandir, os.listdir

    class Shuffled:
        def __init__(self, path: str) -> None:
            with true_scandir(path) as entries:
                self.entries = list(entries)
            shuffler.shuffle(self.entries)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *args: object) -> None:
            return None

    def listdir(path: str) -> list[str]:
        names = true_listdir(path)
        shuffler.shuffle(names)
        return names

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", Shuffled)
        patch.setattr(os, "listdir", listdir)
        assert _listed(root, _store(*where)) == first
    assert list(first.sources) == sorted(first.sources, key=lambda source: (source.store, source.key))


@given(st.lists(paths, min_size=1, max_size=10), st.lists(st.tuples(paths, paths), max_size=4))
def test_links_add_no_file_and_never_lead_out(tmp_path: Path, files: list[str], links: list[tuple[str, str]]) -> None:
    """Whatever links there are inside the root, each file that some name fits is listed once, and nothing else is."""
    root, outside = _tree(tmp_path / "root", files), _tree(tmp_path / "outside", files)
    for number, (name, target) in enumerate(links):
        path = root / name
        if path.parent.is_dir() and not os.path.lexists(path):
            path.symlink_to((outside if number % 2 else root) / target)
    found = _listed(root, _store("**/*.jsonl"))
    identities = [os.path.realpath(source.path) for source in found.sources]
    assert len(identities) == len(set(identities))
    assert all(real.startswith(str(root) + "/") for real in identities)
    own = {os.path.realpath(root / name) for name in _all_files(root) if name.endswith(".jsonl") and os.path.isfile(root / name)}
    assert {real for real in own if real.startswith(str(root) + "/")} <= set(identities)


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    root = _tree(tmp_path / "root", ["a/x.jsonl", "b/y.jsonl"])
    (root / "a" / "up").symlink_to(root)
    (root / "b" / "across").symlink_to(root / "a")
    (root / "a" / "self").symlink_to(root / "a" / "self")
    found = _listed(root, _store("**/*.jsonl"))
    assert sorted(os.path.basename(source.path) for source in found.sources) == ["x.jsonl", "y.jsonl"]


def test_a_file_that_two_patterns_fit_is_no_copy(tmp_path: Path) -> None:
    root = _tree(tmp_path / "root", ["projects/projects/x/subagents/subagents/agent-1.jsonl", "projects/projects/subagents/agent-2.jsonl"])
    found = _listed(root, _store("**/projects/*/*.jsonl", "**/projects/*/*/subagents/**/agent-*.jsonl"))
    assert len(found.sources) == 2
    assert found.copies == 0


def test_a_hard_link_and_a_link_are_second_names(tmp_path: Path) -> None:
    root = _tree(tmp_path / "root", ["b.jsonl"])
    os.link(root / "b.jsonl", root / "a.jsonl")
    (root / "c.jsonl").symlink_to(root / "b.jsonl")
    (root / "d.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (tmp_path / "elsewhere.jsonl").write_text("secret")
    found = _listed(root, _store("*.jsonl"))
    assert [source.key for source in found.sources] == ["a.jsonl"]
    assert (found.copies, found.refused) == (2, 1)


@pytest.mark.parametrize("link", ["a", "zz"])
def test_a_link_to_a_deeper_folder_still_shows_its_files(tmp_path: Path, link: str) -> None:
    """A folder that another pattern has led through may hold files that only the link's name fits."""
    root = _tree(tmp_path / "root", ["p/m/s/t/x.jsonl", f"p/{link}/y/other.txt"])
    (root / "p" / link / "l").symlink_to(root / "p" / "m" / "s" / "t")
    found = _listed(root, _store("p/*/*/*.jsonl"), _store("p/*/*/*/deep/*.jsonl")._replace(id="claude.deep"))
    assert [source.key for source in found.sources] == [f"p/{link}/l/x.jsonl"]
