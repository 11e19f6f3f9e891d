"""Random programs, played: their graphs made with a library, and their threads driven, all of it traced.

Rule: what is done next depends on the thread's state alone, as a user's next step does: a question is answered, a
failed run gone on with, a finished thread given a new input. What begun supersteps have done is never given up, since
the libraries differ there. `Incomparable` ends a program that says nothing: it grew too large, or made a state that
LangGraph can't show.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Annotated, Any, Optional

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage, RemoveMessage
from pydantic import Field, create_model
from typing_extensions import TypedDict

from .comparable import clean, grouped, is_alone, is_settled, replaced
from .generator import STEPS, Graph, Node, Operation, Program, Router, Sent, Target, graphs
from .trace import NOT_OURS, Trace, in_order, raised

REMOVE_ALL_MESSAGES = "__remove_all__"
TASKS = 60
"""How many tasks a program may run."""
EMPTY = {"x": list, "s": list, "d": dict, "m": list, "p": list}


class Incomparable(BaseException):
    """Nothing follows from what this program does."""


class Context(TypedDict):
    """What a call of a graph is told of who calls."""

    who: str


class Boom(Exception):
    """What a node fails with."""


def union(left: list[str], right: list[str]) -> list[str]:
    return sorted({*left, *right})


def most(left: int, right: int) -> int:
    return max(left, right)


def library(name: str) -> SimpleNamespace:
    """What a program uses of LangGraph, or of graph_compat."""
    names = {
        "graph": ("StateGraph", "add_messages"),
        "types": ("CachePolicy", "Command", "Overwrite", "Send", "RetryPolicy", "StateUpdate", "interrupt"),
        "checkpoint.memory": ("InMemorySaver",),
        "cache.memory": ("InMemoryCache",),
        "config": ("get_config", "get_store", "get_stream_writer"),
        "managed": ("RemainingSteps",),
        "runtime": ("get_runtime",),
        "store.memory": ("InMemoryStore",),
    }
    modules = {path: importlib.import_module(f"{name}.{path}") for path in names}
    return SimpleNamespace(**{each: getattr(modules[path], each) for path in names for each in names[path]})


class Player:
    """A program on a library, for a caller."""

    at_once = 1
    """How many tasks a blocking run has side by side."""

    def __init__(self, program: Program, name: str, trace: Trace) -> None:
        self.program, self.library, self.t = program, library(name), trace
        self.saver, self.store = self.library.InMemorySaver(), self.library.InMemoryStore()
        self.failed: dict[str, int] = {}
        self.tasks = self.answers = self.asked = 0
        self.forgets = any(part.checkpointer is False for part in graphs(program.graph))
        """Whether an answer by its id doesn't reach a question, as that of a graph that stores nothing."""
        self.answered_by_value: set[Any] = set()
        """Checkpoints at which a question was; it isn't answered by its id after that."""

    async def play(self) -> None:
        """Make the graph, and do everything that the program says, then look at what there is."""
        try:
            self.graph = self.built(self.program.graph, self.saver)
        except Exception as error:
            self.t.note("building raised", raised(error))
            return
        threads: dict[str, Any] = {}
        for operation in self.program.operations:
            config = threads[operation.thread] = {"configurable": {"thread_id": operation.thread}}
            self.t.note("operation", [operation.kind, operation.thread])
            if operation.anew:
                self.graph = self.built(self.program.graph, self.saver)
            await getattr(self, f"do_{operation.kind}")(operation, config)
        for config in threads.values():
            await self.shown("state", self.state(config, subgraphs=True))
            await self.shown("history", self.past(config))
        if self.tasks > TASKS:
            raise Incomparable
        if not any(node.cached for node in self.program.graph.nodes.values()):
            self.t.note("tasks", self.tasks)

    # -- graphs -----------------------------------------------------------------------------------

    def built(self, graph: Graph, checkpointer: Any) -> Any:
        library = self.library
        given = {"input_schema": graph.input, "output_schema": graph.output}
        schemas = {name: self.schema("typed", keys) for name, keys in given.items() if keys is not None}
        keys = [*graph.keys, "left"] if graph.counts else graph.keys
        builder = library.StateGraph(self.schema(graph.schema, keys), context_schema=Context, **schemas)
        for name, node in graph.nodes.items():
            kinds = (Exception,) if node.policies == 1 else (Boom, ValueError)
            retry = [
                library.RetryPolicy(
                    initial_interval=0, jitter=False, max_attempts=node.attempts + nth, retry_on=kind
                )
                for nth, kind in enumerate(kinds)
            ]
            cache = library.CachePolicy(key_func=str)  # what LangGraph pickles of equal states may differ
            builder.add_node(
                name,
                self.action(node),
                defer=node.defers,
                cache_policy=cache if node.cached else None,
                retry_policy=retry if node.attempts > 1 else None,
                error_handler=None if node.handler is None else self.handler(node),
                input_schema=None if node.reads is None else self.schema(node.schema, node.reads),
            )
        for source, end in graph.edges:
            builder.add_edge(source, end)
        for sources, end in graph.joins:
            builder.add_edge(sources, end)
        for router in graph.routers:
            self.route(builder, router)
        cache = library.InMemoryCache() if any(node.cached for node in graph.nodes.values()) else None
        store = self.store if graph is self.program.graph else None
        return builder.compile(checkpointer=checkpointer, cache=cache, store=store, **graph.stops)

    def schema(self, kind: str, keys: list[str]) -> Any:
        hints: dict[str, Any] = {
            "x": Annotated[list, operator.add],
            "n": int,
            "s": Annotated[list, union],
            "d": Annotated[dict, operator.or_],
            "m": Annotated[list, self.library.add_messages],
            "p": Annotated[list, operator.add],
            "q": int,
            "left": self.library.RemainingSteps,
            "o": Annotated[Optional[int], most],  # noqa: UP045 - no type that can be called makes it start empty
        }
        found = {key: hints[key] for key in keys}
        if kind == "dataclass":
            fields = [
                (key, hint, dataclasses.field(default_factory=EMPTY.get(key, lambda: None)))
                for key, hint in found.items()
            ]
            return dataclasses.make_dataclass("State", fields)
        if kind == "pydantic":
            defaults = {key: Field(default_factory=EMPTY.get(key, lambda: None)) for key in found}
            optional = {key: hint | None if key in ("n", "q") else hint for key, hint in found.items()}
            return create_model("State", **{key: (optional[key], defaults[key]) for key in found})  # type: ignore[call-overload]
        return TypedDict("State", found, total=False)  # type: ignore[operator]

    def route(self, builder: Any, router: Router) -> None:
        names = {target for option in router.options for target in option if isinstance(target, str)}
        renamed = {name: f"to {name}" for name in sorted(names | {"__end__"})} if router.mapped else {}

        def path(state: Any) -> Any:
            self.asked += 1
            if self.asked > 4 * TASKS:  # a nested graph none of whose nodes runs counts as no task
                raise Incomparable
            option: list[Target] = ["__end__"]
            if length(state) <= router.bound and self.tasks <= TASKS:
                known = sum(self.known(state)) if router.knows else 0
                option = router.options[(length(state) + known) % len(router.options)]
            found = [self.meant(target, state) for target in option]
            return [renamed.get(target, target) if isinstance(target, str) else target for target in found]

        builder.add_conditional_edges(
            router.source, self.t.node(path), {to: name for name, to in renamed.items()} or None
        )

    def meant(self, target: Target, state: Any) -> Any:
        if not isinstance(target, Sent):
            return target
        word = f"sent{length(state)}"
        return self.library.Send(target.node, {"x": [*listed(state), word] if target.whole else [word]})

    def action(self, node: Node) -> Any:
        """The node's function, or the graph that it is."""
        nested = None if node.graph is None else self.built(node.graph, node.graph.checkpointer)
        if nested is not None and not node.calls:
            return nested

        async def act(state: Any) -> Any:
            self.tasks += 1
            if self.tasks > 2 * TASKS or length(state) > 200:
                raise Incomparable
            if node.says:
                self.library.get_stream_writer()(f"{node.name} of {length(state)}")
            heard = [
                self.library.interrupt(f"{node.name}{nth} of {length(state)}?") for nth in range(node.asks)
            ]
            for nth in range(node.calls if nested is not None else 0):
                result = await self.called(node, nested, {"x": [*listed(state)[-1:], f"call{nth}"]})
                heard.append([word for word in result.get("x", ()) if isinstance(word, str)][-3:])
            if node.stores:
                item = self.library.get_store().get((node.name,), "key")
                heard.append("nothing" if item is None else item.value)
                self.library.get_store().put((node.name,), "key", {"size": length(state)})
            if node.knows:
                heard.append([*self.known(state), self.library.get_runtime().context])
            self.fail(node)
            if node.reads is not None:
                heard.append(sight(state))
            return self.returned(node, state, heard)

        return self.t.node(act)

    def handler(self, node: Node) -> Any:
        """What answers for a node that failed for good."""

        def handle(state: Any) -> Any:
            goto = [self.meant(target, state) for target in node.handler or ()]
            update = {"x": [f"{node.name} handled at {length(state)}"]}
            return self.library.Command(update=update, goto=goto) if goto else update

        return self.t.node(handle)

    def known(self, state: Any) -> list[int]:
        """What the running code knows beside its state's values: by the caller's configuration, and of the steps."""
        left = state.get("left", 0) if isinstance(state, dict) else 0
        return [*self.library.get_config()["configurable"].get("mine", [0]), left]

    async def called(self, node: Node, graph: Any, given: dict[str, Any]) -> Any:
        """What a nested graph comes to that a node calls; one of some bound streams it."""
        if node.bound != 6:
            return await self.t.call(graph, "invoke", given)
        options = {
            "stream_mode": "values",
            "output_keys": [*graph.output_channels],  # what a nested graph keeps to itself
        }
        if self.t.asyncio:
            chunks = [chunk async for chunk in graph.astream(given, **options)]
        else:
            chunks = [*graph.stream(given, **options)]
        return {"x": [f"{len(chunks)} chunks", *(chunks[-1].get("x", ()) if chunks else ())]}

    def fail(self, node: Node) -> None:
        """Fail the first times; in asyncio only where it is tried again, as what a failure cancels there is chance."""
        times = self.failed[node.name] = self.failed.get(node.name, 0) + 1
        chance = self.t.asyncio and node.handler is None
        if times <= (min(node.fails, node.attempts - 1) if chance else node.fails):
            raise (Boom if times % 2 else ValueError)(f"{node.name} fails")

    def returned(self, node: Node, state: Any, heard: list[Any]) -> Any:
        command = self.library.Command
        update = written(node.writes, node.name, length(state), heard)
        if "m" in update and node.says_messages != "dict":
            if node.says_messages == "object":
                update["m"] = [AIMessage(f"{node.name}{length(state)}", id=f"id-{node.name}")]
            else:
                update["m"] = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *update["m"]]
        if node.overwrites and (keys := [key for key in ("s", "d") if key in update]):
            update[keys[0]] = self.library.Overwrite(update[keys[0]])
        if node.form in ("dataclass", "pydantic"):
            return self.object(node, update)
        if node.form in ("dict", "none", "empty", "unknown"):
            return {"dict": update, "none": None, "empty": {}, "unknown": {**update, "unknown": 1}}[node.form]
        if node.form == "pairs":
            return command(update=[*update.items(), ("x", ["pair"])])
        goes_on = length(state) <= node.bound and self.tasks <= TASKS
        goto = [self.meant(target, state) for target in node.goto] if goes_on else []
        to = {"graph": command.PARENT} if node.parent else {}
        if node.form == "command":
            return command(update=update, goto=goto, **to)
        return [command(update=update, **to), command(update={"x": ["two"]}, goto=goto), {"x": ["three"]}]

    def object(self, node: Node, update: dict[str, Any]) -> Any:
        """An update as an instance of a class that has one key more."""
        if node.form == "dataclass":
            fields = [(key, Any, dataclasses.field(default=None)) for key in {**update, "n": None}]
            return dataclasses.make_dataclass("Update", fields)(**update)
        return create_model("Update", **dict.fromkeys({**update, "n": None}, (Any, None)))(**update)

    # -- looking at threads -----------------------------------------------------------------------

    async def shown(self, label: str, outcome: Coroutine[Any, Any, Any]) -> Any:
        """What something comes to, traced; None for an error.

        Raises:
            Incomparable: a state can't be shown.
        """
        try:
            value = await outcome
        except (Incomparable, *NOT_OURS):
            raise
        except BaseException as error:
            if label in ("state", "history"):
                raise Incomparable from error  # a thread can be read
            self.t.note(f"{label} raised", raised(error))
            return None
        self.t.note(label, clean(value))
        return value

    async def state(self, config: Any, **options: Any) -> Any:
        """The snapshot.

        Raises:
            Incomparable: which of two equal questions comes first is chance, and an answered question is closed.
        """
        found = await self.t.call(self.graph, "get_state", config, **options)
        if any(task.error and task.interrupts for task in found.tasks):
            raise Incomparable
        if len({question.value for question in found.interrupts}) < len(found.interrupts):
            raise Incomparable
        return found

    async def past(self, config: Any, **sieve: Any) -> list[Any]:
        """The history, without the questions that were answered there, and what came of tasks in an exiting run."""
        if self.t.asyncio:
            found = [snapshot async for snapshot in self.graph.aget_state_history(config, **sieve)]
        else:
            found = [*self.graph.get_state_history(config, **sieve)]
        exits = any("exit" in each.options.values() for each in self.program.operations)
        return [
            replaced(
                snapshot,
                interrupts=(),
                tasks=()
                if exits
                else tuple(
                    task if task.result is None else replaced(task, interrupts=()) for task in snapshot.tasks
                ),
            )
            for snapshot in found
        ]

    async def seen(self, config: Any, **options: Any) -> Any:
        """The state that a user decides by, untraced."""
        try:
            return await self.state(config, **options)
        except Exception as error:
            raise Incomparable from error  # a thread can be read

    async def earlier(self, operation: Operation, config: Any) -> Any:
        """One of the checkpoints before the head from which a run goes on; None where there is none."""
        found = [snapshot for snapshot in (await self.past(config))[1:] if snapshot.next]
        return found[operation.at % len(found)] if found else None

    # -- operations -------------------------------------------------------------------------------

    async def run(self, operation: Operation, given: Any, config: Any) -> None:
        """Invoke the graph, or stream it."""
        options = {**operation.options, "context": {"who": operation.thread}}
        config = {**config, "recursion_limit": options.pop("recursion_limit", STEPS)}
        if operation.heard:
            config["callbacks"] = [AsyncCallbackHandler() if self.t.asyncio else BaseCallbackHandler()]
        modes = options.get("stream_mode", "values")
        shows_checkpoints = bool(
            {"checkpoints", "debug"}.intersection([modes] if isinstance(modes, str) else modes)
        )
        if not shows_checkpoints:  # checkpoints in streams say what is stored
            config["configurable"] = {**config["configurable"], "mine": [1]}
        told = options.get("subgraphs", False) or "custom" in modes or "messages" in modes
        if not self.t.asyncio:
            config["max_concurrency"] = (
                self.at_once + told
            )  # LangGraph needs one more to wait for these chunks
        if operation.method == "invoke":
            if await self.shown("result", self.result(given, config, options)) is None:
                await self.failed_alone(config)
            return
        if options.get("durability") == "exit" and shows_checkpoints:
            del options["durability"]  # a streamed checkpoint names the one before it
        chunks: list[Any] = []
        ended = await self.shown("end", self.chunks(chunks, given, config, options))
        if ended is None:
            await self.failed_alone(config)
            return
        caches = any(node.cached for node in self.program.graph.nodes.values())
        in_turn = not (self.t.asyncio or told or caches or isinstance(modes, list)) and self.at_once == 1
        for chunk in chunks if in_turn else grouped(chunks, options):
            self.t.note("chunk", clean(chunk))

    async def failed_alone(self, config: Any) -> None:
        """Go on after a failure that nothing ran beside.

        Raises:
            Incomparable: which of several tasks had ended by then, or had begun, is chance.
        """
        head = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
        if not is_alone(await self.seen(head, subgraphs=True)):
            raise Incomparable

    async def result(self, given: Any, config: Any, options: dict[str, Any]) -> Any:
        result = await self.t.call(self.graph, "invoke", given, config, **options)
        if hasattr(result, "interrupts"):
            return [result.value, in_order(result.interrupts)]
        if isinstance(result, dict) and "__interrupt__" in result:
            result["__interrupt__"] = in_order(result["__interrupt__"])
        return result

    async def chunks(self, chunks: list[Any], given: Any, config: Any, options: dict[str, Any]) -> int:
        """Fill the list; how many there are."""
        if self.t.asyncio:
            async for chunk in self.graph.astream(given, config, **options):
                chunks.append(chunk)
        else:
            chunks.extend(self.graph.stream(given, config, **options))
        return len(chunks)

    async def do_given(self, operation: Operation, config: Any) -> None:
        """A new input, where that gives nothing up."""
        state = await self.seen(config)
        if is_settled(state):
            await self.run(operation, self.input(), config)

    def input(self) -> dict[str, Any]:
        graph = self.program.graph
        keys = [
            key for key in [*graph.keys, *(graph.input or ())[1:]] if key in ("x", "n", "d", "m", "p", "q")
        ]
        return written(keys, "i", 0, [])

    async def do_go(self, operation: Operation, config: Any) -> None:
        """Whatever the thread needs to go on."""
        state = await self.seen(config)
        if not state.interrupts:
            await self.run(operation, None if state.next else self.input(), config)
            return
        self.answers += 1
        asked, here = in_order(state.interrupts), state.config["configurable"]["checkpoint_id"]
        if not self.program.by_id and len({question.id for question in asked}) == 1:
            self.answered_by_value.add(here)
            await self.run(operation, self.library.Command(resume=f"A{self.answers}"), config)
        elif here not in self.answered_by_value and not self.forgets:  # an answer is used once
            if operation.partly:
                asked = asked[:1]
            answers = {question.id: f"A{self.answers} to {question.value}" for question in asked}
            await self.run(operation, self.library.Command(resume=answers), config)

    async def do_state(self, operation: Operation, config: Any) -> None:
        await self.shown("state", self.state(config, subgraphs=operation.partly))

    async def do_history(self, operation: Operation, config: Any) -> None:
        sieve: dict[str, Any] = {}
        for kind in operation.sieve:
            if kind == "before":
                found = await self.past(config)
                sieve["before"] = found[operation.at % len(found)].config if found else None
            elif kind == "limit":
                sieve["limit"] = operation.at % 4
            else:
                value = (
                    ("input", "loop", "update", "fork")[operation.at % 4]
                    if kind == "source"
                    else operation.at - 1
                )
                sieve["filter"] = {**sieve.get("filter", {}), kind: value}
        await self.shown("history", self.past(config, **sieve))

    async def do_delete(self, operation: Operation, config: Any) -> None:
        await self.t.call(self.saver, "delete_thread", operation.thread)
        await self.shown("state", self.state(config))

    async def do_update(self, operation: Operation, config: Any) -> None:
        state = await self.seen(config)
        if not is_settled(state):
            return
        values = written(operation.writes, "U", 0, [])
        if operation.as_node in ("__end__", "__copy__"):
            values = None
        if operation.as_node == "__end__" and state.created_at is None:
            return  # a thread of which nothing was written is neither new nor old
        await self.updated(config, values, operation.as_node)

    async def updated(self, config: Any, values: Any, as_node: str | None) -> Any:
        """The config of the updated state, which is shown."""
        if as_node is None:
            as_node = await self.told_apart(config)
        call = self.t.call(self.graph, "update_state", config, values, as_node=as_node)
        found = await self.shown("update", call)
        if found is not None:
            await self.shown("state", self.state(found))
        return found

    async def told_apart(self, config: Any) -> str | None:
        """The node that an update has to name where LangGraph takes another one than graph_compat."""
        here = await self.seen(config)
        if here.created_at is None:
            return None
        if here.next == ("__start__",) and here.metadata["source"] == "fork":
            return "__start__"  # a checkpoint that was replayed is what it was
        first, copied, sent = min(self.program.graph.nodes), False, False
        while True:
            ran = () if here.parent_config is None else (await self.seen(here.parent_config)).tasks
            sent |= any(task.path[0] == "__pregel_push" for task in ran)
            if here.metadata["source"] == "loop":
                return (
                    first if sent or not ran else None
                )  # an update after a Send is of the node that it went to
            copied |= here.metadata["source"] == "fork"
            if here.parent_config is None:
                return first if copied else None  # a checkpoint that was replayed is what it was
            here = await self.seen(here.parent_config)

    async def do_bulk(self, operation: Operation, config: Any) -> None:
        if is_settled(await self.seen(config)):
            steps = [
                [self.library.StateUpdate({"x": [f"B{name}"]}, name) for name in step]
                for step in operation.steps
            ]
            await self.shown("bulk", self.t.call(self.graph, "bulk_update_state", config, steps))

    async def do_replay(self, operation: Operation, config: Any) -> None:
        if (there := await self.earlier(operation, config)) is not None:
            await self.run(operation, None, there.config)

    async def do_branch(self, operation: Operation, config: Any) -> None:
        """A new input at an earlier checkpoint."""
        if (there := await self.earlier(operation, config)) is not None and is_settled(there):
            await self.run(operation, self.input(), there.config)

    async def do_fork(self, operation: Operation, config: Any) -> None:
        if (there := await self.earlier(operation, config)) is not None:
            values = written(operation.writes, "F", 0, [])
            forked = await self.updated(there.config, values, operation.as_node)
            if forked is not None:
                await self.run(operation, None, forked)

    async def do_command(self, operation: Operation, config: Any) -> None:
        state = await self.seen(config)
        if state.created_at is not None and is_settled(state):
            goto = [self.meant(target, {"x": []}) for target in operation.goto]
            await self.run(operation, self.library.Command(update={"x": ["C"]}, goto=goto), config)

    # -- in nested graphs -------------------------------------------------------------------------

    async def do_inside(self, operation: Operation, config: Any) -> None:
        """Whatever is done in the thread of a nested graph that is due, or was at an earlier checkpoint."""
        found = [*nested(await self.seen(config, subgraphs=True))]
        if not found or not operation.head:
            for snapshot in [each for each in await self.past(config) if each.next]:
                found += nested(await self.seen(snapshot.config, subgraphs=True))
        if not found:
            return
        state = found[operation.at % len(found)]
        self.t.note("inside", [operation.inside, clean(state.config)])
        await getattr(self, f"inside_{operation.inside}")(operation, config, state)

    async def inner(self, operation: Operation, state: Any) -> Any:
        """One of the checkpoints of a nested graph from which it goes on; None where there is none."""
        found = [each for each in await self.past(without_checkpoint(state.config)) if each.next]
        return found[operation.at % len(found)] if found else None

    async def rests(self, config: Any) -> bool:
        """Whether nothing that is due has ended: a replay in a nested graph, at an update, would run it again."""
        return not any(task.result is not None for task in (await self.seen(config)).tasks)

    async def inside_state(self, operation: Operation, config: Any, state: Any) -> None:
        await self.shown("state", self.state(state.config, subgraphs=operation.partly))

    async def inside_history(self, operation: Operation, config: Any, state: Any) -> None:
        found = await self.past(without_checkpoint(state.config))
        for nth, snapshot in enumerate(found):  # the past shows the questions that were open last
            found[nth] = replaced(
                snapshot, tasks=tuple(replaced(task, interrupts=()) for task in snapshot.tasks)
            )
        self.t.note("history", clean(found))

    async def inside_update(self, operation: Operation, config: Any, state: Any) -> None:
        """Where that gives up nothing but a question, and no answer, which is used once."""
        if self.answers:
            return
        root = await self.seen(config)
        if len(state.tasks) == len(root.tasks) == 1 and state.tasks[0].result is None:
            as_node = next(iter(state.next)) if operation.as_node else None
            values = written(["x"], "V", 0, [])
            call = self.t.call(self.graph, "update_state", state.config, values, as_node=as_node)
            if await self.shown("update", call) is not None:
                await self.shown("state", self.state(config, subgraphs=True))
                await self.run(operation, None, config)

    async def inside_replay(self, operation: Operation, config: Any, state: Any) -> None:
        if await self.rests(config) and (there := await self.inner(operation, state)) is not None:
            await self.run(operation, None, there.config)

    async def inside_fork(self, operation: Operation, config: Any, state: Any) -> None:
        if await self.rests(config) and (there := await self.inner(operation, state)) is not None:
            values = written(["x"], "W", 0, [])
            call = self.t.call(self.graph, "update_state", there.config, values, as_node=there.next[0])
            forked = await self.shown("update", call)
            if forked is not None:
                await self.run(operation, None, forked)


def nested(state: Any) -> Iterator[Any]:
    """The states of nested graphs that a state shows."""
    for task in state.tasks:
        if hasattr(task.state, "tasks"):
            yield task.state
            yield from nested(task.state)


def without_checkpoint(config: Any) -> Any:
    """The thread of a nested graph, wherever it stands."""
    return {"configurable": {key: config["configurable"][key] for key in ("thread_id", "checkpoint_ns")}}


def listed(state: Any) -> list[Any]:
    """The state's list `x`, whatever kind of state it is."""
    return (state.get("x") if isinstance(state, dict) else getattr(state, "x", None)) or []


def length(state: Any) -> int:
    return len(listed(state))


def sight(state: Any) -> list[str]:
    """What a node sees of the keys of a schema of its own."""
    found = state if isinstance(state, dict) else vars(state)
    return [
        f"{key}{len(value) if isinstance(value, list | dict) else value}"
        for key, value in sorted(found.items())
    ]


def written(keys: list[str], name: str, size: int, heard: list[Any]) -> dict[str, Any]:
    """The update of these keys by somebody of that name, who has seen a list of that size."""
    message = {"role": "user", "content": f"{name}{size}", "id": f"id-{name}"}
    makes: dict[str, Callable[[], Any]] = {
        "x": lambda: [f"{name}{size}", *heard],
        "n": lambda: size,
        "s": lambda: [name],
        "d": lambda: {name: size},
        "m": lambda: [dict(message)],
        "o": lambda: size,
        "p": lambda: [name],
        "q": lambda: size,
    }
    return {key: makes[key]() for key in keys}
