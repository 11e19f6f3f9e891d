"""What a workflow is made of, fixed at its definition; what it names by a path or a URL opens at its first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flowfn.config import Durability, OnBusy, RunConfig
from flowfn.context import current_world
from flowfn.engine.hosts import Hosts
from flowfn.engine.runs.entering import Fresh, Resume
from flowfn.engine.runs.lead import Ending, lead
from flowfn.engine.runs.run import Run
from flowfn.engine.settings import Settings
from flowfn.opening import is_open, is_place, is_relative
from flowfn.ports import Saver
from flowfn.pregel.program import Program
from flowfn.python.cached_property import cached_property
from flowfn.python.folder import from_here
from flowfn.values import Checkpoint, Command, StateUpdate, Write

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.invocation.order import Order
    from flowfn.pregel.amendment import Amendment


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a workflow is made of, fixed at its definition.

    `given` checks an input, and gives what it writes and the digest that tells the same call from another, empty where
    no two are the same; `updates` says what updates of the state come to; `inside` runs it as a part of a run that
    calls it.
    """

    program: Program
    name: str
    checkpointer: Any = None
    settings: Settings = field(default_factory=Settings)
    durability: Durability = "sync"
    on_busy: OnBusy = "wait"
    stream_mode: str | Sequence[str] = "updates"
    context_schema: type[Any] | None = None
    progress: bool = False
    """Whether its runs show themselves, where somebody may see it."""
    is_async: bool = False
    """Whether a blocking caller is turned away before anything runs."""
    given: Callable[[Any], tuple[Sequence[Write], str]]
    recorded_call: Callable[[Callable[[str], Any]], str] = lambda read: ""
    """What `given` says of a recorded call now, told by what reads a channel of the checkpoint that it began at."""
    updates: Callable[[Checkpoint, Sequence[StateUpdate], RunConfig], Amendment]
    inside: Callable[[Frame, Fresh, Order, Hosts], Coroutine[Any, Any, Ending]]
    lead: Callable[[Run, Fresh | Resume, Order], Coroutine[Any, Any, Ending]] = lambda run, given, order: (
        lead(run, given)
    )
    """How a run of it is led; a front end may do something of its own before and after."""
    commands: Callable[[Command[Any]], Sequence[Write]] | None = None
    """What a command's update and goto write; None where the program takes neither."""
    follows_run_id: bool = False
    """Whether a call that names, by `run_id`, the run that its thread stands at goes on with that, not its input."""
    returned: Callable[[Ending, Any], Any]
    """What `invoke` returns of an ending, given its result."""
    part: Callable[[str], Setup | None] = lambda node: None
    """The program that is nested in a node, if its state can be looked at."""
    remembers: bool = False
    """Whether, nested, it goes on from where it was when it last ran on the thread."""
    translated: Callable[[BaseException], BaseException] = lambda error: error
    """An error as the front end's users know it."""

    def context_of(self, given: Any) -> Any:
        """A call's context as its schema.

        Raises:
            ValidationError: it doesn't fit.
        """
        if given is None or self.context_schema is None:
            return given
        from flowfn.validation import validate

        return validate(given, self.context_schema)

    def settings_for(self, order: Order) -> Settings:
        """The settings for one call."""
        settings, context, executor = self.ready, self.context_of(order.context), order.config.executor
        if context is not None:
            settings = replace(settings, context=context)
        return settings if executor is None else replace(settings, executor=executor)

    @cached_property
    def ready(self) -> Settings:
        """The settings with the store and the cache opened, once: `memory://` lives as long as its workflow."""
        settings = self.settings
        if is_place(settings.store):
            from flowfn.stores.opening import open_store

            settings = replace(settings, store=open_store(settings.store))
        if is_place(settings.cache):
            from flowfn.caching.opening import open_cache

            settings = replace(settings, cache=open_cache(settings.cache))
        return settings

    @property
    def saver(self) -> Saver | None:
        """The checkpointer, opened; what its user closed meanwhile, or deleted, is opened again where it has a name."""
        world = current_world.get()
        found: Saver | None = self._configured() if world is None else world.saver(self._configured)
        return found

    def _configured(self) -> Saver | None:
        if self.checkpointer is None:
            return None
        if self.checkpointer == "memory://":
            return self._memory
        if self._is_named:
            return self._named()
        if self._note_loop is not None:
            self._note_loop()
        return self._itself

    def _named(self) -> Saver:
        """What a path or a URL names now; it stays open while the workflow lives.

        While a run is under way a relative path names what it did when that began: its code may change the folder for a
        while, and with it that of the whole process.
        """
        if self.under_way and (known := self.__dict__.get("_kept")) is not None and is_open(known[1]):
            return known[1]  # type: ignore[no-any-return]
        where = from_here(os.fspath(self.checkpointer)) if self._is_relative else ""
        kept: tuple[str, Saver] | None = self.__dict__.get("_kept")
        if kept is None:  # of threads that come first, all get the same: it may be in memory
            kept = self.__dict__.setdefault("_kept", (where, self._opened()))
        if kept[0] != where or not is_open(kept[1]):
            kept = self.__dict__["_kept"] = where, self._opened()
        return kept[1]

    @cached_property
    def under_way(self) -> set[object]:
        """Something for each run of it that has taken up its saver, and not ended."""
        return set()

    @cached_property
    def _is_named(self) -> bool:
        """Whether the checkpointer is a path or a URL; asking an abstract class takes a microsecond."""
        return isinstance(self.checkpointer, str | os.PathLike)

    @cached_property
    def _is_relative(self) -> bool:
        """Whether the checkpointer's name means another file in another folder."""
        return is_relative(self.checkpointer)

    def _opened(self) -> Saver:
        from checkpointers import open_saver

        saver: Saver = open_saver(self.checkpointer)
        return saver

    @cached_property
    def _itself(self) -> Saver:
        """A checkpointer that is a saver."""
        return self._opened()

    @cached_property
    def _note_loop(self) -> Callable[[], None] | None:
        """Tells a saver with methods of asyncio's the event loop of this call: a process has one after another."""
        noting: Callable[[], None] | None = getattr(self._itself, "note_loop", None)
        return noting

    @cached_property
    def _memory(self) -> Saver:
        """What `memory://` stands for: a saver that lives as long as the workflow."""
        from checkpointers import MemorySaver

        return MemorySaver()
