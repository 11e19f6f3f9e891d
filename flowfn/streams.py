"""Stream modes: which events of a run a caller sees, and in which shape. The shapes are LangGraph's.

| mode | a chunk is |
|---|---|
| `values` | the state, each time that it changes; on a question with `"__interrupt__": (…)` in it |
| `updates` | `{name: what it wrote}` of each task that ends; on a question `{"__interrupt__": (…)}` |
| `custom` | what user code wrote, and the items of generator tasks |
| `messages` | `(message, metadata)` of each chat message, token by token where the model streams |
| `tools` | what the tools do that a chat model called |
| `tasks` | the start, and the end, of each task |
| `checkpoints` | each checkpoint, and what runs next |
| `debug` | `tasks` and `checkpoints`, each with its step and time |

With `version="v2"` each chunk is a dict of `type` (the mode), `ns` and `data`; of `values` also `interrupts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from flowfn.config import RunConfig, located
from flowfn.engine.calls.injection import place_around
from flowfn.engine.ids import nested_namespace, shown_namespace
from flowfn.engine.records.reader import Shown
from flowfn.errors import InvalidInput, Suspended
from flowfn.events import (
    CheckpointSaved,
    Custom,
    Due,
    Event,
    Message,
    NodeReused,
    RunSuspended,
    TaskFinished,
    TaskReused,
    TaskStarted,
    ToolTold,
    ValuesChanged,
)
from flowfn.options import check_option
from flowfn.pregel.program import HIDDEN, Node, Program
from flowfn.pregel.view import shown, view
from flowfn.row_channels import RETURN
from flowfn.values import Interrupt, Write

MODES = ("values", "updates", "custom", "messages", "tools", "tasks", "checkpoints", "debug")

_BETWEEN = frozenset({"values", "updates", "tasks", "checkpoints", "debug"})

Version = Literal["v1", "v2"]
Keys = str | Sequence[str] | None


class Shaper:
    """Turns events into the chunks that one caller asked for.

    `output_keys` says which channels of the root `values` and `updates` show; None stands for all that stream. Of
    nested programs they show those of the output: what is private to one is its caller's no more than in a result.
    """

    def __init__(
        self,
        mode: str | Sequence[str],
        subgraphs: bool = False,
        output_keys: Keys = None,
        version: Version = "v1",
        typed: bool = False,
    ) -> None:
        check_option("version", version, Version)
        self.labelled = not isinstance(mode, str)
        """Whether each chunk says of which mode it is."""
        modes: tuple[Any, ...]
        modes = tuple(mode) if self.labelled and isinstance(mode, Iterable) else (mode,)
        for name in modes:
            if name not in MODES:
                raise InvalidInput(
                    f"stream_mode={name!r} is unknown: use {', '.join(MODES)}, or a list of such"
                )
        self.modes = tuple(sorted(set(modes), key=_rank))
        self.subgraphs = subgraphs
        self.place = ""
        """The namespace of the run that is streamed."""
        self.form = "pieces"
        """How a message is shown that its model is still writing."""
        self._keys = output_keys
        self._version = version
        self._typed = typed
        self._frame = self._framed if version == "v1" else self._part

    def chunks(self, event: Event | Shown) -> Iterator[Any]:
        """The chunks of one event: what it changed before what the engine did, however the modes were listed."""
        if isinstance(event, Shown):
            yield from event.chunks
            return
        if not self._shows(event):
            return
        for mode in self.modes:
            for payload in _SHAPES[mode](event, self._shown_keys(event, mode)):
                yield self._frame(event, mode, payload)

    @property
    def waits(self) -> bool:
        """Whether what it shows of a superstep of one task, which calls none, comes before that or at its end."""
        return not self.subgraphs and _BETWEEN.issuperset(self.modes)

    def keeps(self, event: Event) -> bool:
        """Whether whoever watches the run around isn't shown it too: a custom chunk is told once."""
        return "custom" in self.modes and isinstance(event, Custom) and self._shows(event)

    @property
    def shape(self) -> str:
        """Says how chunks are made: of equal ones, equal events are equal chunks."""
        return repr((self.modes, self.labelled, self.subgraphs, self._keys, self._version))

    def _shows(self, event: Event) -> bool:
        if isinstance(event, Message) and event.form not in ("", self.form):
            return False
        return self.subgraphs or event.namespace == self.place

    def _shown_keys(self, event: Event, mode: str) -> Keys:
        if mode not in ("values", "updates"):
            return None
        if event.namespace == self.place:
            return self._keys
        program = _program_of(event)
        return None if program is None else program.output

    def _framed(self, event: Event, mode: str, payload: Any) -> Any:
        path = _path(event, mode)
        if not self.labelled:
            return (path, payload) if self.subgraphs else payload
        return (path, mode, payload) if self.subgraphs else (mode, payload)

    def _part(self, event: Event, mode: str, payload: Any) -> dict[str, Any]:
        part = {"type": mode, "ns": _path(event, mode), "data": payload}
        if mode == "values":
            part["interrupts"] = ()
            if isinstance(payload, Mapping) and "__interrupt__" in payload:
                part["interrupts"] = payload["__interrupt__"]
                part["data"] = {k: v for k, v in payload.items() if k != "__interrupt__"}
        program = _program_of(event) if self._typed else None
        one_key = mode == "values" and isinstance(self._shown_keys(event, mode), str)
        if program is not None and program.typed is not None and not one_key:
            part["data"] = program.typed(mode, part["data"])
        return part


def _program_of(event: Event) -> Program | None:
    """The program whose values an event may show."""
    return event.call.run.program if isinstance(event, TaskFinished) else getattr(event, "program", None)


def _path(event: Event, mode: str) -> tuple[str, ...]:
    """The graphs that a chunk comes from, the outermost left out."""
    return path_of(_place(event, mode))


def path_of(namespace: str) -> tuple[str, ...]:
    """A namespace as whoever watches is shown it: by its parts."""
    return tuple(shown_namespace(namespace).split("|")) if namespace else ()


def _place(event: Event, mode: str) -> str:
    """Where a chunk comes from: what a task's code wrote, from the calls around it; all else from a run."""
    if mode == "custom" and isinstance(event, Custom | TaskReused):
        return place_around(event.call)
    return event.namespace


def printer(modes: str | Sequence[str]) -> Callable[[Event | Shown], None]:
    """What prints the chunks of `modes`, each with its mode; nothing for none."""
    if not modes:
        return lambda event: None
    shaper = Shaper([modes] if isinstance(modes, str) else modes)

    def show(event: Event | Shown) -> None:
        told = event.event if isinstance(event, Shown) else event
        for mode, payload in () if told is None else shaper.chunks(told):
            print(f"\033[1m[{mode}]\033[0m {payload}")

    return show


# -- values and updates ---------------------------------------------------------------------------


def _values(event: Event, keys: Keys) -> Iterator[Any]:
    if isinstance(event, ValuesChanged):
        if _concerns(event, keys):
            yield shown(event.program, event.state, keys)
    elif isinstance(event, TaskFinished) and (asked := _asked(event)):
        run = event.call.run
        now = shown(run.program, view(run.program, run.checkpoint), keys)
        yield {**(now if isinstance(now, Mapping) else {}), "__interrupt__": asked}


def _concerns(event: ValuesChanged, keys: Keys) -> bool:
    """Whether any of the keys changed; of a run that goes on, whether there is anything to show."""
    names = event.program.stream_channels if keys is None else (keys,) if isinstance(keys, str) else keys
    if event.changed is not None:
        return any(name in event.changed for name in names)
    return not event.program.lone or any(name in event.state for name in names)


def _asked(event: TaskFinished) -> tuple[Interrupt, ...]:
    """The questions that a node's task ended on."""
    if event.call.node is None or not isinstance(event.error, Suspended):
        return ()
    return tuple(event.call.questions)


def _updates(event: Event, keys: Keys) -> Iterator[Any]:
    if isinstance(event, RunSuspended):
        if not event.interrupts:
            yield {"__interrupt__": ()}
    elif isinstance(event, NodeReused):
        if HIDDEN not in event.task.node.tags:
            update = _folded(event.task.writes or (), event.program, keys)
            yield {event.task.name: update, "__metadata__": {"cached": True}}
    elif isinstance(event, TaskFinished):
        yield from _update_of(event, keys)


def _update_of(event: TaskFinished, keys: Keys) -> Iterator[Any]:
    """What a task's end shows: a call's value, or what a node wrote."""
    call = event.call
    if asked := _asked(event):
        yield {"__interrupt__": asked}
    if event.error is not None or _is_hidden(event):
        return
    update = event.value if call.node is None else _folded(call.writes or (), call.run.program, keys)
    shown_update = {call.definition.name: update}
    yield {**shown_update, "__metadata__": {"cached": True}} if call.from_cache else shown_update


def _folded(writes: Sequence[Write], program: Program, keys: Keys) -> Any:
    """A node's writes as its update: a mapping, a list of such where it wrote a key twice, or None for nothing."""
    if keys is None:
        keys = program.stream_channels[0] if program.lone else program.stream_channels
    if isinstance(keys, str):
        found = [value for channel, value in writes if channel == keys]
        return found[0] if len(found) == 1 else found or None
    relevant = [(channel, value) for channel, value in writes if channel in keys]
    if any(count > 1 for count in Counter(channel for channel, _ in relevant).values()):
        return [{channel: value} for channel, value in relevant]
    return dict(relevant) or None


def _custom(event: Event, keys: Keys) -> Iterator[Any]:
    if isinstance(event, Custom):
        yield event.data
    elif isinstance(event, TaskReused) and event.call.definition.is_generator:
        yield from event.value


def _messages(event: Event, keys: Keys) -> Iterator[Any]:
    if isinstance(event, Message):
        yield event.message, event.metadata


def _tools(event: Event, keys: Keys) -> Iterator[Any]:
    if isinstance(event, ToolTold):
        yield event.data


# -- tasks, checkpoints, debug --------------------------------------------------------------------


def _tasks(event: Event, keys: Keys) -> Iterator[dict[str, Any]]:
    if isinstance(event, NodeReused):
        if HIDDEN not in event.task.node.tags:
            task = event.task
            start = {"id": event.id, "name": task.name, "input": task.node.shown(task.input)}
            yield {**start, "triggers": task.triggers, **_described(event.config, task.node)}
        return
    if not isinstance(event, TaskStarted | TaskFinished) or _is_hidden(event):
        return
    call = event.call
    if isinstance(event, TaskFinished):
        # What stopped it is nested in it, or around it, unless it asked something itself; so is what cancelled it.
        if call.questions or event.error is None or isinstance(event.error, Exception):
            yield _task_end(event)
    elif not call.is_handler:
        start = {"id": call.id, "name": call.definition.name, "input": call.shown_input}
        yield {**start, "triggers": call.triggers, **_described(call.run.config, call.node)}


def _described(config: RunConfig, node: Node | None) -> dict[str, Any]:
    """A task's metadata and tags, with those that the caller gave for the run; no key where there are none."""
    tags = [*config.tags, *(() if node is None else node.tags)]
    own = (node.metadata if node is not None else None) or {}
    metadata = {**config.shown_metadata(own), **({"tags": tags} if tags else {})}
    return {"metadata": metadata} if metadata else {}


def _is_hidden(event: TaskStarted | TaskFinished) -> bool:
    call = event.call
    return call.definition.hidden if call.node is None else HIDDEN in call.node.tags


def _task_end(event: TaskFinished) -> dict[str, Any]:
    call, error = event.call, event.error
    return {
        "id": call.id,
        "name": call.definition.name,
        "error": None if isinstance(error, Suspended) else error,
        "result": {} if error is not None else _result_of(event),
        "interrupts": [_question(i) for i in call.questions] if error is not None else [],
    }


def _question(interrupt: Interrupt) -> dict[str, Any]:
    return {"value": interrupt.value, "id": interrupt.id, "response_schema": interrupt.response_schema}


def _result_of(event: TaskFinished) -> Any:
    call = event.call
    if call.node is None:
        return {RETURN: event.value}
    return gathered(call.writes or (), call.run.program.stream_channels)


def gathered(writes: Sequence[Write], channels: Sequence[str]) -> dict[str, Any]:
    """Writes by channel; those of one that was written to several times as `{"$writes": [...]}`."""
    found: dict[str, list[Any]] = {}
    for channel, value in writes:
        if channel in channels:
            found.setdefault(channel, []).append(value)
    return {name: all_[0] if len(all_) == 1 else {"$writes": all_} for name, all_ in found.items()}


def _checkpoints(event: Event, keys: Keys) -> Iterator[dict[str, Any]]:
    if isinstance(event, CheckpointSaved):
        yield checkpoint_payload(event)


def checkpoint_payload(event: CheckpointSaved) -> dict[str, Any]:
    """A checkpoint as the `checkpoints` mode shows it."""
    checkpoint = event.checkpoint
    metadata = {**checkpoint.metadata, "source": checkpoint.source, "step": checkpoint.step}
    parent = checkpoint.parent
    return {
        "config": located(event.thread, event.namespace, checkpoint.id, metadata),
        "parent_config": None if parent is None else located(event.thread, event.namespace, parent, metadata),
        "values": shown(event.program, view(event.program, checkpoint)),
        "metadata": metadata,
        "next": [task.name for task in event.next],
        "tasks": [_task_of(event, task) for task in event.next],
    }


def _task_of(event: CheckpointSaved, task: Due) -> dict[str, Any]:
    """A task that is due, with what an earlier attempt at it came to."""
    payload: dict[str, Any] = {"id": task.id, "name": task.name}
    if task.error is not None:
        payload["error"] = task.error
    else:
        if found := gathered(task.writes or (), event.program.stream_channels):
            payload["result"] = found
        payload["interrupts"] = tuple(map(_question, task.interrupts))
    return {**payload, "state": _state_of(event, task)}


def _state_of(event: CheckpointSaved, task: Due) -> dict[str, Any] | None:
    """A config that names where the state of the program nested in a task is."""
    if event.program.nodes[task.name].nested is None:
        return None
    namespace = nested_namespace(event.namespace, task.name, task.id, "anew")
    return {"configurable": {"thread_id": event.thread, "checkpoint_ns": namespace}}


def _debug(event: Event, keys: Keys) -> Iterator[dict[str, Any]]:
    kinds = {
        CheckpointSaved: "checkpoint",
        TaskStarted: "task",
        TaskFinished: "task_result",
        NodeReused: "task",
    }
    kind = kinds.get(type(event))
    if kind is None:
        return
    step = event.checkpoint.step if isinstance(event, CheckpointSaved) else getattr(event, "step", 0) + 1
    for payload in (*_checkpoints(event, keys), *_tasks(event, keys)):
        yield {"step": step, "timestamp": datetime.now(UTC).isoformat(), "type": kind, "payload": payload}


def _rank(mode: str) -> int:
    return _ORDER.index(mode) if mode in _ORDER else len(_ORDER)


_SHAPES = {
    "updates": _updates,
    "values": _values,
    "custom": _custom,
    "messages": _messages,
    "tools": _tools,
    "tasks": _tasks,
    "checkpoints": _checkpoints,
    "debug": _debug,
}
_ORDER = tuple(_SHAPES)


def is_of_call(event: Event | Shown) -> bool:
    """Whether it tells of a call that a task made."""
    return isinstance(event, TaskFinished) and event.call.parent is not None
