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
import sysconfig
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.context import current_frame, site_of
from flowfn.errors import NonDeterminismError
from flowfn.hosts.clock import Clock
from flowfn.testing.lives import Job, Life
from flowfn.testing.processes import Fate, never

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.invocation import Setup
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

TOO_MUCH = 5000
"""How many objects are compared at each line, at most; of more, none is."""

TOO_LONG = 20_000
"""After how many lines nobody compares any more: a long run would take for ever."""

_LIBRARIES = tuple(
    os.path.realpath(sysconfig.get_paths()[name]) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OURS = os.path.realpath(os.path.dirname(os.path.dirname(__file__))) + os.sep
_BESIDE = os.path.dirname(os.path.dirname(_OURS))
_LIBRARY = (_OURS, *(os.path.join(_BESIDE, name) + os.sep for name in ("checkpointers", "graph_compat")))


_SLOT_NAMES = "__slotnames__"
"""What `copyreg` keeps in a class whose instance it takes apart: nobody's state."""


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


class _Watch:
    """Sees each line and call of the code that runs for a workflow."""

    def __init__(self, workflow: Any) -> None:
        self.writes = 0
        self._roots = _bodies(workflow._self_setup)
        self._left = TOO_LONG
        self._seen: list[tuple[Frame, Effect]] = []
        self._chance: dict[str, None] = {}
        self._traced: dict[int, tuple[int, Any, Any]] = {}
        """By thread: how many functions under it are watched, and who traced and profiled it before."""
        self._last: tuple[int, Frame, str] | None = None
        self._lock = threading.RLock()
        self._state = self._snapshot()

    def begin(self) -> None:
        """Code of a task or a body is about to run on this thread. Who traced it before does so again afterwards."""
        here = threading.get_ident()
        depth, trace, profile = self._traced.get(here) or (0, sys.gettrace(), sys.getprofile())
        self._traced[here] = (depth + 1, trace, profile)
        if depth == 0:
            sys.settrace(self._trace)
            sys.setprofile(self._profile)

    def end(self) -> None:
        """That code has ended."""
        here = threading.get_ident()
        depth, trace, profile = self._traced[here]
        self._traced[here] = (depth - 1, trace, profile)
        if depth == 1:
            del self._traced[here]
            sys.settrace(trace)
            sys.setprofile(profile)

    def evidence(self) -> Evidence:
        """What was seen: of tasks, only of those that asked, and so began anew."""
        effects = [effect for frame, effect in self._seen if _is_body(frame) or frame.suspended]
        return Evidence(list(self._chance), list(dict.fromkeys(effects)), self.writes)

    # -- what changes -----------------------------------------------------------------------------

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not _is_users(frame.f_code):
            return None
        with self._lock:
            if self._left == 0:
                return None
            self._left -= 1
            self._look(frame)
        return self._trace

    def _look(self, frame: FrameType) -> None:
        """Blame a change on the line before this one, if that was the last one that ran anywhere."""
        running, thread = current_frame.get(), threading.get_ident()
        state = self._snapshot()
        if state != self._state:
            self._state = state
            if self._last is not None and self._last[0] == thread:
                self._seen.append((self._last[1], Effect("changes what outlives the run", self._last[2])))
        self._last = None if running is None else (thread, running, site_of(frame))

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

    def _snapshot(self) -> Any:
        """What the workflow's functions can reach of what outlives them, in a form that compares."""
        left = [TOO_MUCH]
        seen: set[int] = set()
        try:
            return [_shape(thing, seen, left) for thing in _reached_by(self._roots)]
        except _TooMuch:
            return None


class _TooMuch(Exception):
    pass


def _is_body(frame: Frame) -> bool:
    """Whether its code is entered anew when a run goes on: it is no call that has a record."""
    return not frame.call.definition.recorded


def _is_users(code: CodeType) -> bool:
    name = code.co_filename
    return not name.startswith(("<frozen", *_LIBRARIES, *_LIBRARY))


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of the user's code around one; None where flowfn called, and not the user."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_LIBRARY):
            return None
        if _is_users(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def _is_chance(function: Any) -> bool:
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, random.Random):
        return True
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return name in CLOCK_METHODS
    return (getattr(function, "__module__", None), name) in CHANCE_CALLS


# -- the state that functions reach -----------------------------------------------------------------


def _bodies(setup: Setup) -> list[Any]:
    """The functions of a workflow's nodes: of an entrypoint the one, of a graph all, those of its subgraphs too."""
    found: list[Any] = []
    for name, node in setup.program.nodes.items():
        inner = setup.part(name)
        found += [getattr(node.run, "author_function", node.run)] if inner is None else _bodies(inner)
    return found


def _reached_by(functions: list[Any]) -> Iterator[Any]:
    seen: set[int] = set()
    for function in functions:
        yield from _reached(function, seen)


def _reached(thing: Any, seen: set[int]) -> Iterator[Any]:
    """The data that a function, or what it calls by name, has in its closure or globals."""
    function = getattr(thing, "func", thing) if getattr(thing, "__flowfn__", None) else thing
    if isinstance(function, MethodType):
        yield from _reached(function.__self__, seen)
        function = function.__func__
    function = getattr(function, "__wrapped__", function)
    if id(function) in seen:
        return
    seen.add(id(function))
    if not isinstance(function, FunctionType):
        if isinstance(function, type) and _is_users_module(function.__module__):
            for name, value in list(vars(function).items()):
                if name != _SLOT_NAMES:
                    yield from _reached(value, seen)
        elif isinstance(function, ModuleType):
            if _is_users_module(function.__name__):
                for value in list(vars(function).values()):
                    yield from _reached(value, seen)
        elif not isinstance(function, type):
            yield function
        return
    if not _is_users(function.__code__):
        return
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield from _reached(function.__globals__[name], seen)
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        yield from _reached(value, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _is_users_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and not os.path.realpath(file).startswith((*_LIBRARIES, *_LIBRARY))


def _shape(thing: Any, seen: set[int], left: list[int]) -> Any:
    """A value as something that compares: containers and the user's own objects by what is in them."""
    left[0] -= 1
    if left[0] < 0:
        raise _TooMuch
    if thing is None or isinstance(thing, bool | int | float | str | bytes | bytearray):
        return bytes(thing) if isinstance(thing, bytearray) else thing
    if id(thing) in seen:
        return id(thing)
    seen.add(id(thing))
    if isinstance(thing, list | tuple | deque):
        return [type(thing).__name__, *(_shape(item, seen, left) for item in list(thing))]
    if isinstance(thing, set | frozenset):
        return sorted(str(_shape(item, seen, left)) for item in list(thing))
    if isinstance(thing, Mapping):
        return [(_shape(key, seen, left), _shape(value, seen, left)) for key, value in list(thing.items())]
    if _is_users_module(type(thing).__module__) and getattr(thing, "__flowfn__", None) is None:
        return [
            (name, _shape(value, seen, left)) for name, value in list(getattr(thing, "__dict__", {}).items())
        ]
    return id(thing)


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
