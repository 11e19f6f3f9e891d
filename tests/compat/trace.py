"""What a program saw of its library, as text: two libraries agree when their traces are equal.

A program is written for LangGraph and talks to its graphs through `t`, its trace, so that it runs for
a blocking and for an asyncio caller. Everything is rendered when it happens. What differs from run to run
by design is masked, in order of first appearance: UUIDs as <U0>, 32-digit hex ids as <H0>, and times,
addresses and the library's name without a number.
"""

import asyncio
import builtins
import dataclasses
import functools
import inspect
import pprint
import re
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import langgraph.errors
import langgraph.prebuilt.tool_node
import langgraph.store.base

import graph_compat.errors

Program = Callable[["Trace"], Coroutine[Any, Any, None]]

ADDED = {("PregelTask", "calls"), ("Interrupt", "key"), ("Interrupt", "expires_at"), ("Command", "by")}
"""Fields that graph_compat's values have beside LangGraph's."""

NOT_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What ends a program rather than being recorded; graph_compat's control signals are no `Exception`."""

WITHOUT_TRACE = (
    (re.compile(r"(?:\n|\\n)?For troubleshooting, visit: https://[\w./-]+"), ""),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r"\b(?:langgraph|graph_compat)(?=\.)"), "<lib>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z)?"), "<T>"),
    (re.compile(r"elapsed: [.\d]+s"), "elapsed: <T>"),
)
NUMBERED = (
    ("U", re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")),
    ("H", re.compile(r"\b[0-9a-f]{32}\b")),
)


def differs(reason: str) -> Callable[[Program], Program]:
    """Mark a program on which graph_compat differs on purpose; `reason` names a row of its COMPATIBILITY.md."""
    return _mark("differs", reason)


def differs_by_caller(reason: str) -> Callable[[Program], Program]:
    """Mark a program whose trace on LangGraph depends on the caller, blocking or asyncio."""
    return _mark("differs_by_caller", reason)


def _mark(name: str, reason: str) -> Callable[[Program], Program]:
    def mark(program: Program) -> Program:
        setattr(program, name, reason)
        return program

    return mark


class Trace:
    """The trace of one run, and the program's hands: methods that call a graph record what came of it.

    A method that records an exception returns None (`stream`: the chunks so far). Positional and keyword
    arguments after the graph go to the graph's own method.
    """

    def __init__(self, caller: str) -> None:
        self.asyncio = caller == "asyncio"
        self._mask = Mask()
        self._entries: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._entries) + "\n"

    # Calling a graph.

    async def invoke(self, graph: Any, *args: Any, unordered: bool = False, **kw: Any) -> Any:
        """The graph's result: `invoke`, or `ainvoke` for asyncio; `unordered` where parallel tasks interrupt it."""

        async def result() -> Any:
            result = await self.call(graph, "invoke", *args, **kw)
            if unordered:
                result["__interrupt__"] = in_order(result["__interrupt__"])
            return result

        return await self._record("invoke", result())

    async def stream(self, graph: Any, *args: Any, unordered: bool = False, **kw: Any) -> list[Any]:
        """The chunks, as a list; `unordered` where parallel tasks race: they are recorded sorted."""
        chunks: list[Any] = []
        try:
            if self.asyncio:
                async for chunk in graph.astream(*args, **kw):
                    chunks.append(chunk)
            else:
                chunks.extend(graph.stream(*args, **kw))
        except NOT_OURS:
            raise
        except BaseException as error:
            self._write_chunks(chunks, unordered)
            self._write("stream raised", raised(error))
        else:
            self._write_chunks(chunks, unordered)
        return chunks

    async def state(self, graph: Any, *args: Any, **kw: Any) -> Any:
        """The thread's StateSnapshot."""
        return await self._record("state", self.call(graph, "get_state", *args, **kw))

    async def history(self, graph: Any, *args: Any, **kw: Any) -> Any:
        """The thread's StateSnapshots as a list, newest first."""

        async def read() -> list[Any]:
            if self.asyncio:
                return [snapshot async for snapshot in graph.aget_state_history(*args, **kw)]
            return list(graph.get_state_history(*args, **kw))

        return await self._record("history", read())

    async def update(self, graph: Any, *args: Any, **kw: Any) -> Any:
        """The config of the checkpoint that `update_state` made."""
        return await self._record("update", self.call(graph, "update_state", *args, **kw))

    async def bulk(self, graph: Any, *args: Any, **kw: Any) -> Any:
        """The config of the last checkpoint that `bulk_update_state` made."""
        return await self._record("bulk", self.call(graph, "bulk_update_state", *args, **kw))

    async def batch(self, graph: Any, *args: Any, **kw: Any) -> Any:
        """One result for each input, in order."""
        return await self._record("batch", self.call(graph, "batch", *args, **kw))

    async def call(self, graph: Any, method: str, *args: Any, **kw: Any) -> Any:
        """Any method that has an asyncio twin, unrecorded: what a node does that calls a graph itself."""
        if self.asyncio:
            return await getattr(graph, f"a{method}")(*args, **kw)
        return getattr(graph, method)(*args, **kw)

    # Writing nodes and tasks.

    def node(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function in the caller's colour: plain for a blocking caller, `async def` for asyncio."""
        if inspect.iscoroutinefunction(function) == self.asyncio:
            return function

        async def coroutine(*args: Any, **kw: Any) -> Any:
            return function(*args, **kw)

        def plain(*args: Any, **kw: Any) -> Any:
            return drive(function(*args, **kw))

        return functools.wraps(function)(coroutine if self.asyncio else plain)

    async def value(self, future: Any) -> Any:
        """What a task's future comes to, inside a function that `node` coloured."""
        return await future if self.asyncio else future.result()

    # Plain notes.

    def note(self, label: str, value: Any) -> None:
        """Record any value."""
        self._write(label, value)

    def raises(self, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Record what a plain call came to: its exception, or that there was none. Returns its result."""
        try:
            result = function(*args, **kw)
        except NOT_OURS:
            raise
        except BaseException as error:
            self._write("raises", raised(error))
            return None
        self._write("raises", "nothing")
        return result

    def warns(self, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Record the warnings of a plain call. Returns its result."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = function(*args, **kw)
        self._write(
            "warns", [(warning.category.__name__, first_sentence(str(warning.message))) for warning in caught]
        )
        return result

    async def _record(self, label: str, outcome: Coroutine[Any, Any, Any]) -> Any:
        try:
            result = await outcome
        except NOT_OURS:
            raise
        except BaseException as error:
            self._write(f"{label} raised", raised(error))
            return None
        self._write(label, result)
        return result

    def _write_chunks(self, chunks: list[Any], unordered: bool) -> None:
        self._write("stream", None)
        for chunk in in_order(chunks) if unordered else chunks:
            self._write("  ", chunk)

    def _write(self, label: str, value: Any) -> None:
        self._entries.append(f"{label}: {render(value, self._mask)}")


class Mask:
    """Replaces what differs from run to run; `numbered=False` forgets which ids are the same."""

    def __init__(self, *, numbered: bool = True) -> None:
        self._numbered = numbered
        self._names: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        for pattern, replacement in WITHOUT_TRACE:
            text = pattern.sub(replacement, text)
        for kind, pattern in NUMBERED:
            text = pattern.sub(functools.partial(self._name, kind), text)
        return text

    def _name(self, kind: str, match: re.Match[str]) -> str:
        if not self._numbered:
            return f"<{kind}>"
        count = sum(name.startswith(f"<{kind}") for name in self._names.values())
        return self._names.setdefault(match[0], f"<{kind}{count}>")


def render(value: Any, mask: Mask) -> str:
    """A value of either library as the same text: class names and fields instead of reprs."""
    return pprint.pformat(plain(value, mask), width=110)


def in_order(values: Iterable[Any]) -> list[Any]:
    """The values sorted by what a trace shows of them, whatever their ids."""
    return sorted(values, key=lambda value: render(value, Mask(numbered=False)))


def plain(value: Any, mask: Mask) -> Any:
    """The value made of builtins and of `named` records. Keys are visited in order, so that ids are numbered alike."""
    again = functools.partial(plain, mask=mask)
    match value:
        case None | bool() | int() | float() | bytes():
            return value
        case str():
            return mask(value)
        case type():
            return named("type", {"name": value.__name__})
        case Mapping():
            return {again(key): again(value[key]) for key in sorted(value, key=str)}
        case tuple() if hasattr(value, "_fields"):
            fields = list(value._fields)
        case tuple():
            return tuple(map(again, value))
        case set() | frozenset():
            return {"set": sorted(map(again, value), key=repr)}
        case BaseException():
            return named(known_class(value), {"message": mask(first_sentence(str(value)))})
        case _ if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value)]
        case _ if hasattr(type(value), "model_fields"):
            fields = list(type(value).model_fields)
        case Iterable():
            return [*map(again, value)]
        case _ if hasattr(value, "__slots__"):
            fields = [key for key in value.__slots__ if not key.startswith("_")]
        case _:
            return named("object", {"repr": mask(repr(value))})
    name = type(value).__name__
    return named(name, {key: again(getattr(value, key)) for key in fields if (name, key) not in ADDED})


def known_class(error: BaseException) -> str:
    """The name that users catch an error by: the first of its classes that is builtin or LangGraph's too."""
    if type(error).__module__.split(".")[0] not in ("flowfn", "graph_compat"):
        return type(error).__name__
    renamed = {kind: name for name, kind in vars(graph_compat.errors).items() if isinstance(kind, type)}
    names = (renamed.get(kind, kind.__name__) for kind in type(error).__mro__)
    homes = (builtins, langgraph.errors, langgraph.prebuilt.tool_node, langgraph.store.base)
    return next(name for name in names if any(hasattr(home, name) for home in homes))


def first_sentence(text: str) -> str:
    """What users match on: what comes after it is each library's own advice."""
    return re.split(r"(?<=[.!?])\s|\n", text, maxsplit=1)[0].rstrip(".")


def named(name: str, fields: dict[str, Any]) -> SimpleNamespace:
    """A record that prints as `name(key=value, ...)`."""
    record: SimpleNamespace = type(name, (SimpleNamespace,), {})(**fields)
    return record


def raised(error: BaseException) -> dict[str, Any]:
    """An exception and the notes on it."""
    return {"error": error, "notes": getattr(error, "__notes__", [])}


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing, without an event loop; its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("this ran for a blocking caller and waited for an event loop")
