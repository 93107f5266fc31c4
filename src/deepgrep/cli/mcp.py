"""`deepgrep mcp`: hands over to the server, by name, since the two frontends are strangers to each other."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from .parser import answered

_SERVER = "deepgrep.mcp.main"


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made: argparse.ArgumentParser = import_module(_SERVER).parser()
    return made


def run(words: Sequence[str]) -> int:
    """Run the command with these words; returns the exit status."""
    return answered(import_module(_SERVER).run, words)
