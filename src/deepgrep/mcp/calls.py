"""One call of a tool: its work runs in a thread, and hears of cancellation, of its deadline and of who wants progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from ..errors import DeepgrepError, UsageError
from ..files import Unreadable
from ..model import Event, SourceFinished, Started

_REPORT_EVERY_S = 0.2
_GRACE_S = 8.0  # what an answer may take beyond its deadline: ordering and folding what was found
T = TypeVar("T")
Report = Callable[[float, float | None, str], Awaitable[None]]


class Call:
    """What a thread at work and the event loop tell each other. Calling it asks whether to stop."""

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.sources = self.done = self.bytes = self.read = 0
        self._ends = time.monotonic() + deadline_s
        self._stopped = threading.Event()

    def __call__(self) -> bool:
        return self._stopped.is_set() or time.monotonic() >= self._ends

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopped.set()

    def see(self, event: Event) -> None:
        """Note how far a search is."""
        if isinstance(event, Started):
            self.sources, self.bytes = event.sources, event.bytes
        elif isinstance(event, SourceFinished):
            self.done, self.read = self.done + 1, self.read + event.bytes_read


async def run(work: Callable[[Call], T], deadline_s: float, report: Report) -> T:
    """What the work gives, done in a thread of its own. Raises UsageError for misuse, for a file, and for a deadline that is overrun."""
    call = Call(deadline_s)
    outcome: list[T | DeepgrepError | Unreadable] = []

    def attempt() -> None:
        try:
            outcome.append(work(call))
        except (DeepgrepError, Unreadable) as error:
            outcome.append(error)

    try:
        with anyio.move_on_after(deadline_s + _GRACE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(_report, call, report)
                await anyio.to_thread.run_sync(attempt, abandon_on_cancel=True)
                group.cancel_scope.cancel()
    finally:
        call.stop()
    if not outcome or (isinstance(outcome[0], Unreadable) and outcome[0].code == "cancelled"):
        raise UsageError("deadline_s: the call took longer; give more seconds, or ask for less")
    if isinstance(outcome[0], Unreadable):
        raise UsageError(f"ref: its file cannot be read ({outcome[0].code}); `sources` says more") from None
    if isinstance(outcome[0], DeepgrepError):
        raise outcome[0]
    return outcome[0]


async def _report(call: Call, report: Report) -> None:
    """Say how far the call is, whenever that has changed."""
    told = -1
    while True:
        await anyio.sleep(_REPORT_EVERY_S)
        if call.done != told and call.sources:
            told = call.done
            message = f"{call.done:,} of {call.sources:,} sources, {call.read / 1e6:,.0f} of {call.bytes / 1e6:,.0f} MB"
            await report(call.done, max(call.sources, call.done), message)
