"""The exception tree. Content never raises; these are for misuse and for a broken machine.

DeepgrepError
├── UsageError      the request makes no sense; the message says what would
│   └── NotFound    what was named is not here, or not any more
└── EngineError     the engine contradicts itself: a bug
"""

from __future__ import annotations


class DeepgrepError(Exception):
    """Base of everything that this package raises on purpose."""


class UsageError(DeepgrepError):
    """A request that cannot be run. `str(error)` is one line that names the fix."""


class NotFound(UsageError):
    """What was named by a ref, an id or a path is not here, or not any more, or is several things."""


class EngineError(DeepgrepError):
    """Counts that cannot be, or a contract between parts that was broken: a bug worth a report."""
