"""Search the history that coding agents leave on this machine. Public names only; each loads on first use."""

from __future__ import annotations

from .typed import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .errors import DeepgrepError, EngineError, UsageError
    from .library import Answer, events, search
    from .model import (
        Action,
        Diagnostic,
        Event,
        Filters,
        Finished,
        Query,
        Record,
        Result,
        Resume,
        Score,
        Source,
        SourceFinished,
        Started,
        Status,
        Summary,
    )

_WHERE = {
    "library": ("Answer", "events", "search"),
    "errors": ("DeepgrepError", "EngineError", "UsageError"),
    "model": (
        "Action", "Diagnostic", "Event", "Filters", "Finished", "Query", "Record", "Result", "Resume", "Score", "Source",
        "SourceFinished", "Started", "Status", "Summary",
    ),
}  # fmt: skip

__all__ = [
    "Action",
    "Answer",
    "DeepgrepError",
    "Diagnostic",
    "EngineError",
    "Event",
    "Filters",
    "Finished",
    "Query",
    "Record",
    "Result",
    "Resume",
    "Score",
    "Source",
    "SourceFinished",
    "Started",
    "Status",
    "Summary",
    "UsageError",
    "__version__",
    "events",
    "search",
]


def __getattr__(name: str) -> object:
    for module, names in _WHERE.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
