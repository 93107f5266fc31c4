"""Drivers: planned sources are read in this process, or by worker processes when there is much to read.

Either way each task gives exactly one Reading. A worker that dies costs the source it was reading, counted as failed.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from ..model import Reading
from ..typed import TYPE_CHECKING, NamedTuple
from .read import Task, read

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

Cancelled = Callable[[], bool]

WORTH_BYTES = {"fork": 64 << 20, "spawn": 512 << 20}  # a second process must save more than it costs to start
CHUNK_BYTES = 4 << 20  # small sources travel together: a message costs more than a small file
_FILE_BYTES = 16 << 10  # what opening a file costs, in bytes read: also bounds a chunk's message, which must fit into a pipe
_AHEAD = 2  # small chunks that a worker holds, so that it never waits for the next
_POLL_S = 0.05  # how often a wait looks for cancellation


class Driver(NamedTuple):
    """How many processes may read (None: as many as the work is worth), and how they are started."""

    workers: int | None = 1
    method: str = "spawn"


INLINE = Driver()


def command_line(workers: int | None) -> Driver:
    """The driver of a single-threaded program that owns its process: it may fork where forking is safe."""
    return Driver(workers, "fork" if sys.platform == "linux" else "spawn")


def worth(driver: Driver, tasks: Sequence[Task]) -> int:
    """How many processes these tasks are worth."""
    if driver.workers is not None:
        return min(driver.workers, max(len(tasks), 1))
    total = sum(task.source.size for task in tasks)
    return max(1, min(_cores(), len(tasks), 1 + total // WORTH_BYTES[driver.method]))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def readings(tasks: Sequence[Task], driver: Driver, cancelled: Cancelled) -> Iterator[Reading]:
    """One Reading for each task that was begun; in the order of the tasks when one process reads, else as they come."""
    workers = worth(driver, tasks)
    if workers > 1:
        yield from _Crew(tasks, workers, driver.method, cancelled).readings()
        return
    for task in tasks:
        if cancelled():
            return
        yield read(task, cancelled)


def chunks(tasks: Sequence[Task]) -> list[list[int]]:
    """Indices of tasks, biggest first, small ones put together."""
    out: list[list[int]] = []
    room = 0
    for index in sorted(range(len(tasks)), key=lambda i: (-tasks[i].source.size, i)):
        size = tasks[index].source.size + _FILE_BYTES
        if size > room or not out:
            out.append([])
            room = CHUNK_BYTES
        out[-1].append(index)
        room -= size
    return out


class _Worker:
    """A process, the parent's ends of its pipes, and the chunks it was given and has not finished.

    Pipes, not sockets: no search opens one.
    """

    def __init__(self, context: BaseContext, tasks: Sequence[Task]) -> None:
        asked, self.asks = context.Pipe(duplex=False)
        self.pipe, answers = context.Pipe(duplex=False)
        try:
            self.process: BaseProcess = context.Process(  # type: ignore[attr-defined]
                target=_serve, args=(asked, answers, tasks, (self.asks, self.pipe)), daemon=True
            )
            self.process.start()
        except OSError:
            self.close()
            raise
        finally:
            asked.close()
            answers.close()
        self.pending: deque[int] = deque()
        self.ends: deque[int] = deque()  # the last index of each chunk it holds

    def give(self, chunk: Sequence[int]) -> None:
        self.pending.extend(chunk)
        self.ends.append(chunk[-1])
        self.asks.send(list(chunk))

    def close(self) -> None:
        self.asks.close()
        self.pipe.close()

    def stop(self) -> None:
        self.close()
        self.process.kill()  # it only reads; and whoever started us may have told it to ignore a polite request
        self.process.join()


def _serve(asked: Connection, answers: Connection, tasks: Sequence[Task], parents_ends: Sequence[Connection]) -> None:
    """A worker's life: read what is asked for until the pipe closes. Ctrl-C is the parent's to handle."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for pipe in parents_ends:
        pipe.close()
    try:
        while True:
            for index in asked.recv():
                answers.send((index, read(tasks[index])))
    except (EOFError, OSError):
        return


class _Crew:
    """Workers, the chunks that wait, and what is known of each task."""

    def __init__(self, tasks: Sequence[Task], workers: int, method: str, cancelled: Cancelled) -> None:
        import multiprocessing  # deferred: 10 ms that small work must not pay

        self.tasks, self.cancelled = tasks, cancelled
        self.context = multiprocessing.get_context(method)
        self.waiting = deque(chunks(tasks))
        self.workers: list[_Worker] = []
        for _ in range(min(workers, len(self.waiting))):
            self._hire()

    def readings(self) -> Iterator[Reading]:
        from multiprocessing.connection import wait

        try:
            for worker in self.workers:  # something for each, before any holds more
                self._feed(worker, 1)
            for worker in self.workers:
                self._feed(worker)
            while any(worker.pending for worker in self.workers):
                if self.cancelled():
                    yield from self._abandoned()
                    return
                busy = {worker.pipe: worker for worker in self.workers if worker.pending}
                for pipe in wait(list(busy), timeout=_POLL_S):
                    yield from self._hear(busy[pipe])  # type: ignore[index]
            yield from self._alone()
        finally:
            for worker in self.workers:
                worker.stop()

    def _hire(self) -> None:
        """One more worker, unless the system refuses another process."""
        try:
            self.workers.append(_Worker(self.context, self.tasks))
        except OSError:
            return

    def _alone(self) -> Iterator[Reading]:
        """Read in this process what no worker took."""
        for index in (index for chunk in self.waiting for index in chunk):
            if self.cancelled():
                return
            yield read(self.tasks[index], self.cancelled)

    def _feed(self, worker: _Worker, most: int = _AHEAD) -> None:
        """Give chunks out; a large source goes to nobody who is busy, lest it wait there while others are idle."""
        while self.waiting and len(worker.ends) < most and not (worker.ends and self._is_large(self.waiting[0])):
            try:
                worker.give(self.waiting.popleft())
            except OSError:  # it died in between; `_hear` finds the closed pipe and gives out again what it held
                return

    def _is_large(self, chunk: Sequence[int]) -> bool:
        return self.tasks[chunk[0]].source.size > CHUNK_BYTES

    def _hear(self, worker: _Worker) -> Iterator[Reading]:
        try:
            index, reading = worker.pipe.recv()
        except (EOFError, OSError):
            yield self._replace(worker)
            return
        worker.pending.remove(index)
        if worker.ends and index == worker.ends[0]:
            worker.ends.popleft()
        self._feed(worker)
        yield reading

    def _replace(self, worker: _Worker) -> Reading:
        """The source that a dead worker was reading has failed; what else it held goes to a new one."""
        dead = worker.pending.popleft()
        if worker.pending:
            self.waiting.appendleft([*worker.pending])
        worker.stop()
        self.workers.remove(worker)
        if self.waiting:
            self._hire()
            for other in self.workers:  # also one that had nothing left to do
                self._feed(other)
        return Reading(self.tasks[dead].source, "failed", "worker_died", True, 0, {}, ())

    def _abandoned(self) -> Iterator[Reading]:
        """The sources that workers were at when the search was cancelled."""
        for worker in self.workers:
            if worker.pending:
                yield Reading(self.tasks[worker.pending[0]].source, "cancelled", None, True, 0, {}, ())
