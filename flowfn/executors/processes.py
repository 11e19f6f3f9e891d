"""Worker processes on this machine, each of which can be killed by itself.

The standard library's pool breaks whole when one of its processes dies, so nothing in it can be killed. Here a
thread looks after each worker: it hands it one function at a time, notices its death at once, kills it when its time
is up, and starts another. Workers don't import the caller's script, so it needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from flowfn.errors import WorkerDied
from flowfn.python.forking import each_after_fork, leave_alone

T = TypeVar("T")

_LEAVING = 1.0
"""Seconds for a process that ends by itself; then it is killed."""


class _Job(NamedTuple):
    future: Future[Any]
    body: bytes
    timeout: float | None


class ProcessExecutor(Executor):
    """Runs functions in `max_workers` processes (default: one for each processor), started when needed.

    What is submitted travels by cloudpickle. The future of a function whose process died raises `WorkerDied`.
    """

    def __init__(self, max_workers: int | None = None) -> None:
        count = (os.cpu_count() or 1) if max_workers is None else max_workers
        if count < 1:
            raise ValueError(f"max_workers must be at least 1, not {max_workers!r}")
        self._count = count
        self._closed = False
        self._renew()
        _crosses_forks(self)

    def _renew(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._slots = [_Slot(self._jobs) for _ in range(self._count)]
        self._lock = threading.Lock()
        self._started = 0

    def cross_fork(self) -> None:
        """Go on in a forked child, with processes of its own."""
        leave_alone(self._slots)
        self._renew()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have a process call `fn`. Raises `RuntimeError` after `shutdown`."""
        return self._submit(None, fn, args, kwargs)

    def submit_within(self, timeout: float, fn: Callable[..., T], /, *args: Any) -> Future[T]:
        """`submit`, and kill the process `timeout` seconds after `fn` has started: the future raises `TimeoutError`."""
        return self._submit(timeout, fn, args, {})

    def stop(self, future: Future[Any]) -> bool:
        """Kill the process that runs it, which then raises `WorkerDied`; False if none does."""
        return any(slot.kill(future) for slot in self._slots)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once they have done what was submitted, or, with `cancel_futures`, begun."""
        with self._lock:
            self._closed = True
        if cancel_futures:
            while not self._jobs.empty():
                job = self._jobs.get()
                if job is not None and job.future.cancel():
                    job.future.set_running_or_notify_cancel()  # or `concurrent.futures.wait` waits on
        for _ in range(self._started):
            self._jobs.put(None)
        if wait:
            for slot in self._slots[: self._started]:
                slot.join()

    def _submit(
        self, timeout: float | None, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Future[T]:
        import cloudpickle

        from flowfn.executors.script import script_sent_along

        future: Future[T] = Future()
        with script_sent_along():
            body = cloudpickle.dumps((fn, args, kwargs))
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor has been shut down")
            self._jobs.put(_Job(future, body, timeout))
            if self._started < len(self._slots) and self._jobs.qsize() > 0:
                self._slots[self._started].start()
                self._started += 1
        return future


_crosses_forks = each_after_fork(ProcessExecutor.cross_fork)


class _Slot:
    """One process, and the thread that looks after it."""

    def __init__(self, jobs: SimpleQueue[_Job | None]) -> None:
        self._jobs = jobs
        self._lock = threading.Lock()
        self._running: Future[Any] | None = None
        self._doomed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._thread = threading.Thread(target=self._loop, daemon=True, name="flowfn process worker")

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def kill(self, future: Future[Any]) -> bool:
        with self._lock:
            if self._running is not future:
                return False
            self._doomed = True
            if self._process is not None:
                self._process.kill()
            return True

    def _loop(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                self._run(job)
        self._end()

    def _run(self, job: _Job) -> None:
        """Have the process do a job, and settle its future."""
        reply: bytes | None = None
        lost: Exception | None = None
        with self._lock:
            self._running = job.future
        try:
            pipe = self._ready()
            if self._doomed:
                raise EOFError
            pipe.send_bytes(job.body)
            if pipe.poll(job.timeout):
                reply = pipe.recv_bytes()
        except EOFError as error:
            lost = error
            self._let_end()
        except Exception as error:  # whatever it is, the call has to be answered
            lost = error
        with self._lock:
            self._running = None
            self._doomed |= reply is None
        code = self._end() if self._doomed else None
        if reply is not None:
            _settle(job.future, reply)
        elif lost is None:
            job.future.set_exception(TimeoutError(f"it took longer than {job.timeout:g} s"))
        elif code is None:
            job.future.set_exception(WorkerDied(f"its process could not be started: {lost}"))
        else:
            job.future.set_exception(WorkerDied(f"its process ended with exit code {code}"))

    def _ready(self) -> Connection[Any, Any]:
        """The pipe of a process that lives and waits for a job."""
        if self._process is not None and self._process.poll() is not None:
            self._end()  # it died while it had nothing to do
        if self._process is None:
            ours, theirs = Pipe()
            with theirs:
                words = [sys.executable, "-P", "-m", "flowfn.executors.worker", str(theirs.fileno())]
                self._process = subprocess.Popen(
                    words, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], env=_environment()
                )
            self._pipe = ours
            ours.send(sys.path)
            ours.recv_bytes()  # it has started
        assert self._pipe is not None
        return self._pipe

    def _let_end(self) -> None:
        """Give a process that has left its pipe the time to tell its exit code."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVING)

    def _end(self) -> int | None:
        """End the process, killing it if it is doomed; its exit code."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        with self._lock:
            doomed, self._doomed = self._doomed, False
        if process is None or pipe is None:
            return None
        if doomed:
            process.kill()
        pipe.close()
        assert process.stdin is not None
        process.stdin.close()
        return process.wait()


_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _environment() -> dict[str, str]:
    """This process's, with the folder that flowfn is imported from."""
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": _HOME if not path else f"{_HOME}{os.pathsep}{path}"}


def _settle(future: Future[Any], reply: bytes) -> None:
    import pickle

    try:
        done, value = pickle.loads(reply)
    except Exception as error:
        done, value = False, error
    if done:
        future.set_result(value)
    else:
        future.set_exception(value)
