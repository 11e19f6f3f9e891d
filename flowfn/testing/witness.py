"""What code does outside the record: where chance enters a body, and where it changes the world.

Rule: a body is entered anew whenever its run goes on, and a task that asks begins anew with the answer. So a line
that changes something in either is done again each time, and nothing but watching it shows that: state that the
functions can reach is compared line by line, and what the interpreter audits (files, processes, sockets) is
heard. Chance in a body is no error by itself; it explains one.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.context import current_frame, site_of
from flowfn.errors import NonDeterminismError
from flowfn.hosts.clock import Clock
from flowfn.testing.lives import Job, Life
from flowfn.testing.outlasting import OURS, bodies_of, is_users, state_of
from flowfn.testing.processes import Fate, never

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.ports import Saver
    from flowfn.testing.onlooker import Onlooker
    from flowfn.testing.processes import Disk

CHANCE_MODULES = {"random", "secrets", "uuid"}
CHANCE_CALLS = {("time", "time"), ("time", "time_ns"), ("posix", "urandom"), ("nt", "urandom")}
CLOCK_METHODS = {"now", "utcnow", "today"}

AUDITED = {
    "os.remove": "removed a file",
    "os.rename": "renamed a file",
    "os.mkdir": "made a folder",
    "os.rmdir": "removed a folder",
    "os.system": "ran a command",
    "subprocess.Popen": "started a process",
    "socket.connect": "connected to a server",
    "socket.sendto": "sent to a server",
    "sqlite3.connect": "opened a database",
}

TOO_LONG = 20_000
"""After how many lines nobody compares any more: a long run would take for ever."""


class Effect(NamedTuple):
    """Something that a line did to the world."""

    what: str
    site: str

    def __str__(self) -> str:
        return f"{self.site} {self.what}"


@dataclass
class Evidence:
    """What was seen: lines of bodies that ask for chance, and lines whose effect is repeated."""

    chance: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    writes: int = 0
    """How many writes the life was made of: no more results can have been recorded one by one."""


class WatchedJob(Job):
    """A job whose life is watched; its answer is the evidence."""

    def live(
        self, disk: Disk, onlooker: Onlooker, fate: Fate = never, die: Callable[[], None] = lambda: None
    ) -> Any:
        watch = _Watch(self.workflow)
        with suppress(NonDeterminismError):  # which whoever explains it raises
            self.lived(disk, lambda saver: _WatchedLife(saver, onlooker, fate, die, self.clock, watch))
        return watch.evidence()


class _WatchedLife(Life):
    def __init__(
        self,
        saver: Saver,
        onlooker: Onlooker,
        fate: Fate,
        die: Callable[[], None],
        clock: Clock,
        watch: _Watch,
    ) -> None:
        super().__init__(saver, onlooker, fate, die, clock)
        self._watch = watch

    def __enter__(self) -> _WatchedLife:
        super().__enter__()
        _hear(self._watch)
        return self

    def __exit__(self, *raised: object) -> None:
        _hear(None)
        self._watch.writes = self.dying.calls
        super().__exit__(*raised)

    def begins(self, frame: Frame, timeout: float | None) -> None:
        super().begins(frame, timeout)
        self._watch.begin()

    def left(self, frame: Frame) -> None:
        self._watch.end()


Line = tuple[int, "Frame", str]
"""A line that began: on which thread, what for, and where it is."""


@dataclass
class _Thread:
    """A thread on which functions are watched: who traced and profiled it before, and the lines that called them."""

    trace: Any
    profile: Any
    around: list[Line | None] = field(default_factory=list)


class _Watch:
    """Sees each line and call of the code that runs for a workflow."""

    def __init__(self, workflow: Any) -> None:
        self.writes = 0
        self._roots = bodies_of(workflow._self_setup)
        self._left = TOO_LONG
        self._seen: list[tuple[Frame, Effect]] = []
        self._chance: dict[str, None] = {}
        self._threads: dict[int, _Thread] = {}
        self._last: Line | None = None
        self._lock = threading.RLock()
        self._state = state_of(self._roots)

    def begin(self) -> None:
        """Code of a task or a body is about to run on this thread. Who traced it before does so again afterwards."""
        here = threading.get_ident()
        with self._lock:  # Python refuses that two threads begin to be traced at once
            thread = self._threads.get(here)
            if thread is None:
                thread = self._threads[here] = _Thread(sys.gettrace(), sys.getprofile())
                sys.settrace(self._trace)
                sys.setprofile(self._profile)
            last = self._last
            thread.around.append(last if last is not None and last[0] == here else None)

    def end(self) -> None:
        """That code has ended, and with it what it changed: the line that called it goes on."""
        here = threading.get_ident()
        thread = self._threads[here]
        with self._lock:
            self._state = state_of(self._roots) if self._left else None
            self._last = thread.around.pop()
            if not thread.around:
                del self._threads[here]
                sys.settrace(thread.trace)
                sys.setprofile(thread.profile)

    def evidence(self) -> Evidence:
        """What was seen: of tasks, only of those that asked, and so began anew."""
        effects = [effect for frame, effect in self._seen if _is_body(frame) or frame.suspended]
        return Evidence(list(self._chance), list(dict.fromkeys(effects)), self.writes)

    # -- what changes -----------------------------------------------------------------------------

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not is_users(frame.f_code):
            return None
        with self._lock:
            if self._left == 0:
                return None
            if event == "call" and _is_importing(frame):
                self._last = (
                    None  # the line that imports a module for the first time does so once in a process
                )
                return None
            self._left -= 1
            self._look(frame)
        return self._trace

    def _look(self, frame: FrameType) -> None:
        """Blame a change on the line before this one, if none has begun elsewhere since, or is still at work."""
        running, here = current_frame.get(), threading.get_ident()
        state = state_of(self._roots)
        if state != self._state:
            self._state = state
            if self._last is not None and self._last[0] == here and self._is_alone(here):
                self._seen.append((self._last[1], Effect("changes what outlives the run", self._last[2])))
        self._last = None if running is None else (here, running, site_of(frame))

    def _is_alone(self, here: int) -> bool:
        """Whether no other thread is in the user's code: what waits for a task changes nothing meanwhile."""
        frames = sys._current_frames()
        return all(thread == here or _is_idle(frames.get(thread)) for thread in [*self._threads])

    def heard(self, what: str) -> None:
        """The interpreter tells of something that is done to the world."""
        running, caller = current_frame.get(), _user_frame(sys._getframe(2))
        if running is not None and caller is not None:
            self._seen.append((running, Effect(what, site_of(caller))))

    # -- what differs -----------------------------------------------------------------------------

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            caller = frame if _is_chance(arg) else None
        elif event == "call" and frame.f_globals.get("__name__") in CHANCE_MODULES:
            caller = frame.f_back
        else:
            return
        running = current_frame.get()
        if caller is not None and running is not None and _is_body(running):
            user = _user_frame(caller)
            if user is not None:
                self._chance.setdefault(site_of(user))


def _is_body(frame: Frame) -> bool:
    """Whether its code is entered anew when a run goes on: it is no call that has a record."""
    return not frame.call.definition.recorded


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of the user's code around one; None where flowfn called, and not the user, or an import did."""
    if _is_importing(frame):
        return None
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            return None
        if is_users(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the user's code around a frame imports a module for the first time."""
    while frame is not None and not frame.f_code.co_filename.startswith(OURS):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _is_idle(frame: FrameType | None) -> bool:
    """Whether a thread is in flowfn's code, called by the user's. One that waits to be watched is at work."""
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return _user_frame(frame) is None


def _is_chance(function: Any) -> bool:
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, random.Random):
        return True
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return name in CLOCK_METHODS
    return (getattr(function, "__module__", None), name) in CHANCE_CALLS


# -- what the interpreter audits --------------------------------------------------------------------

_listening: _Watch | None = None
_hooked = False


def _hear(watch: _Watch | None) -> None:
    """Tell a watch what is audited. A hook can't be taken away, so there is one, which mostly does nothing."""
    global _listening, _hooked
    _listening = watch
    if watch is not None and not _hooked:
        _hooked = True
        sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _listening is None:
        return
    if event == "open":
        path, mode, flags = args
        writes = (
            any(c in mode for c in "wax+") if isinstance(mode, str) else flags & (os.O_WRONLY | os.O_RDWR)
        )
        if writes:
            _listening.heard(f"writes to {path!r}")
    elif event in AUDITED:
        _listening.heard(AUDITED[event])
