"""Retries, caches, timeouts, error handlers and defaults for all nodes (sections 2.17 to 2.21)."""

import asyncio
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.cache.base import BaseCache
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import (
    GraphRecursionError,
    InvalidUpdateError,
    NodeCancelledError,
    NodeError,
    NodeTimeoutError,
)
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, TimeoutPolicy, interrupt

from ..parts import ONE, TWO, State, edges, nodes
from ..trace import Trace, differs, differs_by_caller


def _at_once(**options: Any) -> RetryPolicy:
    """A retry policy that doesn't wait."""
    return RetryPolicy(initial_interval=0, jitter=False, **options)


def _failing(t: Trace, *errors: Exception) -> tuple[Any, list[str]]:
    """A node that raises each of the errors in turn and then succeeds, and the list of its attempts."""
    attempts: list[str] = []

    def node(state: State) -> Any:
        attempts.append("attempt")
        if len(attempts) <= len(errors):
            raise errors[len(attempts) - 1]
        return {"x": [f"after {len(attempts)}"]}

    return t.node(node), attempts


def _one(node: Any, **options: Any) -> StateGraph:
    """A graph of the node `a`, built with the options."""
    return edges(StateGraph(State).add_node("a", node, **options), ". a .")


async def retries(t: Trace) -> None:
    """max_attempts counts the first attempt; the last exception is the caller's."""
    for most, failures in [(3, 2), (2, 2), (1, 1)]:
        node, attempts = _failing(t, *[OverflowError(str(i)) for i in range(failures)])
        policy = _at_once(max_attempts=most, retry_on=OverflowError)
        await t.invoke(_one(node, retry_policy=policy).compile(), {"x": []})
        t.note("attempts", len(attempts))


async def what_is_retried_by_default(t: Trace) -> None:
    """Programming errors aren't retried by default, nor OSErrors but ConnectionError; other exceptions are."""

    class Custom(Exception):
        pass

    errors = [
        ValueError,
        TypeError,
        ZeroDivisionError,
        KeyError,
        NameError,
        RuntimeError,
        NotImplementedError,
    ]
    for error in [
        *errors,
        OSError,
        TimeoutError,
        FileNotFoundError,
        ConnectionError,
        ConnectionResetError,
        AssertionError,
        Custom,
    ]:
        node, attempts = _failing(t, error("e"))
        await t.invoke(_one(node, retry_policy=_at_once()).compile(), {"x": []})
        t.note(error.__name__, len(attempts))


async def forms_of_retry_on(t: Trace) -> None:
    """retry_on is a class, several classes, or a predicate."""
    for retry_on in [KeyError, (KeyError, ValueError), [KeyError], lambda error: error.args == ("k",)]:
        node, attempts = _failing(t, KeyError("k"))
        policy = _at_once(retry_on=retry_on)
        await t.invoke(_one(node, retry_policy=policy).compile(), {"x": []})
        t.note("attempts", len(attempts))


async def the_graphs_own_errors_are_retried(t: Trace) -> None:
    """An update that doesn't fit, and what a nested graph fails with, are retried as a node's other errors."""
    loop = edges(nodes(t, StateGraph(State), "l"), ". l l").compile()

    async def recurses() -> Any:
        return await t.call(loop, "invoke", {"x": []}, {"recursion_limit": 2})

    async def refused() -> Any:
        return 5

    async def raises() -> Any:
        raise InvalidUpdateError("no")

    for fails in (recurses, refused, raises):
        for options in ({}, {"retry_on": Exception}, {"retry_on": (GraphRecursionError, InvalidUpdateError)}):
            attempts: list[int] = []

            async def a(state: State, fails: Any = fails, attempts: Any = attempts) -> Any:
                attempts.append(1)
                return await fails() if len(attempts) < 3 else {"x": ["made it"]}

            await t.invoke(_one(t.node(a), retry_policy=_at_once(**options)).compile(), {"x": []})
            t.note("attempts", len(attempts))


@differs("a policy that makes no sense is refused at once")
async def retry_on_something_else(t: Trace) -> None:
    """A name or a number is no retry_on."""
    for retry_on in ["KeyError", 1]:
        t.raises(lambda retry_on=retry_on: _at_once(retry_on=retry_on))


async def several_retry_policies(t: Trace) -> None:
    """The first policy that matches an exception counts for it, and all share one count of attempts."""
    policies = [_at_once(max_attempts=2, retry_on=KeyError), _at_once(max_attempts=4, retry_on=Exception)]
    for errors in [
        (KeyError(1), KeyError(2)),
        (OSError(1), OSError(2), OSError(3)),
        (OSError(1), KeyError(2)),
    ]:
        node, attempts = _failing(t, *errors)
        await t.invoke(_one(node, retry_policy=policies).compile(), {"x": []})
        t.note("attempts", len(attempts))


async def a_retry_starts_with_no_writes(t: Trace) -> None:
    """What a stream writer has sent stays sent, and only the last attempt's update counts."""
    attempts: list[int] = []

    def a(state: State, runtime: Runtime) -> Any:
        attempts.append(len(attempts))
        runtime.stream_writer(f"attempt {len(attempts)}")
        if len(attempts) < 3:
            raise OverflowError
        return {"x": [len(attempts)]}

    graph = _one(t.node(a), retry_policy=_at_once(retry_on=OverflowError)).compile()
    await t.stream(graph, {"x": []}, stream_mode=["custom", "updates"])


async def an_interrupt_is_not_retried(t: Trace) -> None:
    """No policy retries a question."""
    attempts: list[int] = []

    def a(state: State) -> Any:
        attempts.append(1)
        return {"x": [interrupt("?")]}

    policy = _at_once(retry_on=Exception)
    graph = _one(t.node(a), retry_policy=policy).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    t.note("attempts", len(attempts))
    await t.invoke(graph, Command(resume="!"), ONE)


@differs("a cached task ends too")
async def cached_nodes(t: Trace) -> None:
    """A node with a cache policy isn't run again for an equal input; `updates` says that it was cached."""
    ran: list[Any] = []

    def a(state: State) -> Any:
        ran.append(state["x"])
        return {"x": ["a"]}

    graph = _one(t.node(a), cache_policy=CachePolicy()).compile(cache=InMemoryCache())
    for given in ["i", "i", "j"]:
        await t.stream(graph, {"x": [given]}, stream_mode=["updates", "values"])
    await t.stream(graph, {"x": ["i"]}, stream_mode="tasks")
    t.note("ran", ran)


class _OwnCache(BaseCache):
    """A cache that somebody else wrote, for callers of one colour: the methods of the other one refuse."""

    def __init__(self, *, awaited: bool) -> None:
        super().__init__()
        self.awaited = awaited
        self.held: dict[Any, Any] = {}
        self.asked: list[Any] = []
        self.loops: set[Any] = set()

    def _get(self, keys: Any) -> Any:
        self.asked.append("get")
        return {key: self.serde.loads_typed(self.held[key]) for key in keys if key in self.held}

    def _set(self, pairs: Any) -> None:
        self.asked.append([repr(ttl) for _, ttl in pairs.values()])
        self.held |= {key: self.serde.dumps_typed(value) for key, (value, _) in pairs.items()}

    def _check(self, *, awaited: bool) -> None:
        if awaited != self.awaited:
            raise NotImplementedError("the other methods")
        if awaited:
            self.loops.add(asyncio.get_running_loop())

    def get(self, keys: Any) -> Any:
        self._check(awaited=False)
        return self._get(keys)

    def set(self, pairs: Any) -> None:
        self._check(awaited=False)
        self._set(pairs)

    def clear(self, namespaces: Any = None) -> None:
        self._check(awaited=False)
        self.held.clear()

    async def aget(self, keys: Any) -> Any:
        self._check(awaited=True)
        return self._get(keys)

    async def aset(self, pairs: Any) -> None:
        self._check(awaited=True)
        self._set(pairs)

    async def aclear(self, namespaces: Any = None) -> None:
        self._check(awaited=True)
        self.held.clear()


async def a_cache_of_ones_own(t: Trace) -> None:
    """It is asked once for each call, by methods of the caller's colour, and told times to live as they were said."""
    ran: list[Any] = []

    def a(state: State) -> Any:
        ran.append(state["x"])
        return {"x": ["a"]}

    cache = _OwnCache(awaited=t.asyncio)
    graph = _one(t.node(a), cache_policy=CachePolicy(ttl=60)).compile(cache=cache)
    for given in ["i", "i", "j"]:
        await t.invoke(graph, {"x": [given]})
    await t.call(graph, "clear_cache")
    await t.invoke(graph, {"x": ["i"]})

    @task(cache_policy=CachePolicy(ttl=0.5))
    @t.node
    def double(n: int) -> int:
        ran.append(n)
        return 2 * n

    @entrypoint(cache=cache)
    @t.node
    async def flow(n: int) -> int:
        return await t.value(double(n))

    await t.invoke(flow, 2)
    await t.call(double, "clear_cache", cache)
    await t.invoke(flow, 2)
    t.note("ran", ran)
    t.note("asked", cache.asked)
    t.note("loops", cache.loops <= ({asyncio.get_running_loop()} if t.asyncio else set()))


async def the_key_of_a_cache(t: Trace) -> None:
    """key_func says which inputs are the same."""
    ran: list[Any] = []

    def a(state: State) -> Any:
        ran.append(state["x"])
        return {"x": ["a"]}

    policy = CachePolicy(key_func=lambda state: str(len(state["x"])))
    graph = _one(t.node(a), cache_policy=policy).compile(cache=InMemoryCache())
    for given in [["i"], ["j"], ["i", "j"]]:
        await t.invoke(graph, {"x": given})
    t.note("ran", ran)


async def a_cache_policy_needs_a_cache(t: Trace) -> None:
    """Without a cache a policy does nothing, and a cache without a policy neither."""
    ran: list[Any] = []

    def a(state: State) -> Any:
        ran.append(state["x"])
        return {"x": ["a"]}

    graphs = [
        _one(t.node(a), cache_policy=CachePolicy()).compile(),
        _one(t.node(a)).compile(cache=InMemoryCache()),
    ]
    for graph in graphs:
        await t.invoke(graph, {"x": []})
        await t.invoke(graph, {"x": []})
    t.note("ran", ran)


async def clear_cache(t: Trace) -> None:
    """clear_cache forgets all nodes, or those named; a graph without a cache has nothing to clear."""
    ran: list[str] = []

    def a(state: State) -> Any:
        ran.append("a")

    def b(state: State) -> Any:
        ran.append("b")

    builder = StateGraph(State).add_node("a", t.node(a), cache_policy=CachePolicy())
    builder.add_node("b", t.node(b), cache_policy=CachePolicy(ttl=1000))
    graph = edges(builder, ". a b .").compile(cache=InMemoryCache())
    for clear in [None, ["a"], ["b", "a"], None]:
        await t.invoke(graph, {"x": []})
        await t.call(graph, "clear_cache", clear)
        await t.invoke(graph, {"x": []})
    t.note("ran", ran)
    t.raises(_one(t.node(a)).compile().clear_cache)


class _ClearedCache(InMemoryCache):
    """Notes in how many namespaces it is cleared at once."""

    def __init__(self) -> None:
        super().__init__()
        self.cleared: list[int] = []

    def clear(self, namespaces: Any = None) -> None:
        self.cleared.append(len(namespaces))
        super().clear(namespaces)


async def nodes_that_are_cleared_at_once(t: Trace) -> None:
    """A cache is asked once for all of them; an empty list stands for each node, and an unknown name for none."""
    cache = _ClearedCache()
    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, t.node(lambda state: None), cache_policy=CachePolicy())
    graph = edges(builder, ". a b .").compile(cache=cache)
    for chosen in (None, [], ["a"], ("a", "b"), ["a", "a"], ["nobody"], ["a", "nobody"]):
        await t.call(graph, "clear_cache", chosen)
    t.note("cleared", cache.cleared)


async def a_cache_for_sends(t: Trace) -> None:
    """Sends of equal arguments share a cached result."""
    ran: list[Any] = []

    def w(arg: int) -> Any:
        ran.append(arg)
        return {"x": [arg]}

    builder = StateGraph(State).add_node("w", t.node(w), cache_policy=CachePolicy())
    builder.add_conditional_edges("__start__", lambda state: [Send("w", 1), Send("w", 2)], ["w"])
    graph = builder.compile(cache=InMemoryCache())
    await t.invoke(graph, {"x": []})
    await t.stream(graph, {"x": []}, stream_mode="updates")
    t.note("ran", sorted(ran))


async def failures_and_interrupts_are_not_cached(t: Trace) -> None:
    """A node that failed or asked runs again for the same input."""
    node, _ = _failing(t, ValueError("no"))
    graph = _one(node, cache_policy=CachePolicy()).compile(cache=InMemoryCache())
    await t.invoke(graph, {"x": []})
    await t.invoke(graph, {"x": []})
    asking = t.node(lambda state: {"x": [interrupt("?")]})
    graph = _one(asking, cache_policy=CachePolicy()).compile(
        cache=InMemoryCache(), checkpointer=InMemorySaver()
    )
    for config in [ONE, TWO]:
        await t.invoke(graph, {"x": []}, config)
    await t.invoke(graph, Command(resume="!"), ONE)


@differs_by_caller("timeouts are for async nodes")
async def timeouts_of_async_nodes(t: Trace) -> None:
    """An attempt that lasts too long is cancelled, and the error says how long it might have taken."""

    async def forever(state: State) -> Any:
        await asyncio.Event().wait()

    async def quick(state: State) -> Any:
        return {"x": ["quick"]}

    if not t.asyncio:
        return
    await t.invoke(_one(forever, timeout=0.01).compile(), {"x": []})
    await t.invoke(_one(forever, timeout=TimeoutPolicy(idle_timeout=0.01)).compile(), {"x": []})
    await t.invoke(_one(quick, timeout=60).compile(), {"x": []})


@differs_by_caller("timeouts are for async nodes")
async def a_timeouts_attributes(t: Trace) -> None:
    """NodeTimeoutError has the node, the limit and its kind, and is no TimeoutError."""

    async def forever(state: State) -> Any:
        await asyncio.Event().wait()

    if not t.asyncio:
        return
    try:
        await _one(forever, timeout=0.01).compile().ainvoke({"x": []})
    except NodeTimeoutError as error:
        t.note("error", (error.node, error.kind, error.timeout, error.run_timeout, error.idle_timeout))
        t.note("a TimeoutError", isinstance(error, TimeoutError))


@differs_by_caller("timeouts are for async nodes")
async def a_timeout_is_retried(t: Trace) -> None:
    """The default policy retries a timeout, and the limit holds for each attempt."""
    attempts: list[int] = []

    async def a(state: State) -> Any:
        attempts.append(1)
        if len(attempts) < 3:
            await asyncio.Event().wait()
        return {"x": [len(attempts)]}

    if t.asyncio:
        await t.invoke(_one(a, timeout=0.01, retry_policy=_at_once()).compile(), {"x": []})


@differs_by_caller("timeouts are for async nodes")
async def a_timeout_is_what_policies_and_handlers_see(t: Trace) -> None:
    """A retry policy, an error handler and the history of a node know its timeout as NodeTimeoutError."""
    seen: list[Any] = []

    async def a(state: State) -> Any:
        seen.append("attempt")
        await asyncio.Event().wait()

    def handle(state: State, error: NodeError) -> Any:
        seen.append((error.node, isinstance(error.error, NodeTimeoutError)))
        return {"x": ["handled"]}

    if not t.asyncio:
        return
    policy = _at_once(retry_on=NodeTimeoutError, max_attempts=2)
    graph = _one(a, timeout=0.01, retry_policy=policy, error_handler=handle)
    await t.invoke(graph.compile(checkpointer=InMemorySaver()), {"x": []}, ONE)
    t.note("seen", seen)
    failing = _one(a, timeout=0.01).compile(checkpointer=InMemorySaver())
    await t.stream(failing, {"x": []}, ONE, stream_mode="tasks")
    await t.state(failing, ONE)


async def timeouts_of_sync_nodes(t: Trace) -> None:
    """A sync node can't have one: it couldn't be stopped."""

    def a(state: State) -> Any:
        return None

    t.raises(lambda: _one(a, timeout=1).compile())


@differs_by_caller("timeouts are for async nodes")
async def timeouts_of_graphs_and_runnables(t: Trace) -> None:
    """They can have one where what they do on an event loop is more than a way to a thread."""

    async def forever(state: State) -> Any:
        await asyncio.Event().wait()

    def sync(state: State) -> Any:
        return None

    class Own(Runnable):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return None

        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            await forever(input)

    class OnlySync(Runnable):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return None

    awaits, blocks = RunnableLambda(forever), RunnableLambda(sync)
    can_be_stopped = [
        _one(forever).compile(),
        awaits,
        RunnableLambda(sync, afunc=forever),
        Own(),
        awaits | awaits,
    ]
    for each in (*can_be_stopped, awaits.with_config(tags=["t"]), awaits.with_retry()):
        graph = _one(each, timeout=0.01).compile()
        if t.asyncio:
            await t.invoke(graph, {"x": []})
    if t.asyncio:
        await t.invoke(_one(_one(sync).compile(), timeout=60).compile(), {"x": []})
    for each in (blocks, blocks.with_config(tags=["t"]), OnlySync(), awaits | blocks):
        try:
            _one(each, timeout=1).compile()
        except ValueError as error:
            t.note("refused", str(error).split(".")[0])


async def timeouts_that_make_no_sense(t: Trace) -> None:
    """A timeout is greater than 0, and refresh_on is one of two words."""
    t.raises(lambda: TimeoutPolicy.coerce(TimeoutPolicy(run_timeout=0)))
    t.raises(lambda: TimeoutPolicy.coerce(TimeoutPolicy(idle_timeout=-1)))
    t.raises(lambda: TimeoutPolicy.coerce(TimeoutPolicy(run_timeout=1, refresh_on="never")))  # type: ignore[arg-type]
    t.raises(TimeoutPolicy.coerce, 0)
    t.note("none", TimeoutPolicy.coerce(TimeoutPolicy()))
    t.note("coerced", [TimeoutPolicy.coerce(value) for value in (None, 2, TimeoutPolicy(idle_timeout=1))])


@differs("errors say whose they are")
async def a_node_that_cancels_itself(t: Trace) -> None:
    """A CancelledError that a node raises is a NodeCancelledError to the caller."""

    def a(state: State) -> Any:
        raise asyncio.CancelledError

    await t.invoke(_one(t.node(a)).compile(), {"x": []})
    t.note("bases", [base.__name__ for base in NodeCancelledError.__mro__])


async def error_handlers(t: Trace) -> None:
    """A handler is given the error after the last attempt and answers for the node, whose edges don't fire."""

    def h(state: State, error: NodeError) -> Any:
        t.note("handled", (state, error))
        return {"x": ["handled"]}

    def fail(state: State) -> Any:
        raise OverflowError("boom")

    builder = nodes(t, StateGraph(State), "b")
    policy = _at_once(max_attempts=2, retry_on=OverflowError)
    builder.add_node("a", t.node(fail), error_handler=t.node(h), retry_policy=policy)
    graph = edges(builder, ". a b .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.state(graph, ONE)
    await t.stream(graph, {"x": []}, TWO, stream_mode="updates")
    await t.stream(graph, {"x": []}, TWO, stream_mode="tasks")


async def a_handler_that_routes(t: Trace) -> None:
    """A handler's Command says where to go on."""

    def h(state: State, error: NodeError) -> Any:
        return Command(update={"x": [repr(error.error)]}, goto="b")

    def fail(state: State) -> Any:
        raise ValueError("boom")

    builder = nodes(t, StateGraph(State), "b", "c")
    builder.add_node("a", t.node(fail), error_handler=t.node(h))
    await t.invoke(edges(builder, ". a c .").compile(), {"x": []})


async def a_handler_that_fails(t: Trace) -> None:
    """Nobody handles a handler's own failure."""

    def h(state: State) -> Any:
        raise LookupError("handler")

    def fail(state: State) -> Any:
        raise ValueError("boom")

    builder = StateGraph(State).add_node("a", t.node(fail), error_handler=t.node(h))
    builder.set_node_defaults(error_handler=t.node(lambda state: {"x": ["default"]}))
    await t.invoke(edges(builder, ". a .").compile(), {"x": []})


async def a_handler_does_not_see_interrupts(t: Trace) -> None:
    """A question isn't a failure."""

    def a(state: State) -> Any:
        return {"x": [interrupt("?")]}

    builder = StateGraph(State).add_node(
        "a", t.node(a), error_handler=t.node(lambda state: {"x": ["handled"]})
    )
    graph = edges(builder, ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


async def a_handler_beside_a_question(t: Trace) -> None:
    """A handler doesn't wait for the answer to a question beside it."""
    graph = _handled_beside_a_question(t, [])
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


@differs("a handler that ended has ended")
async def a_handler_beside_a_question_that_is_answered(t: Trace) -> None:
    """LangGraph runs it again each time that the run goes on."""
    handled: list[Any] = []
    graph = _handled_beside_a_question(t, handled)
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, None, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    t.note("times", len(handled))


@differs("finished siblings of an abandoned superstep")
async def a_handler_of_an_abandoned_superstep(t: Trace) -> None:
    """What a handler wrote is kept where the superstep is given up."""
    graph = _handled_beside_a_question(t, [])
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.update(graph, ONE, {"x": ["update"]}, as_node="b")
    await t.state(graph, ONE)
    await t.invoke(graph, {"x": ["i"]}, TWO)
    await t.invoke(graph, {"x": ["new"]}, TWO)


def _handled_beside_a_question(t: Trace, handled: list[Any]) -> Any:
    def fail(state: State) -> Any:
        raise ValueError("boom")

    def handle(state: State, error: NodeError) -> Any:
        handled.append(error)
        return {"x": ["handled"]}

    builder = StateGraph(State).add_node("a", t.node(fail), error_handler=t.node(handle))
    builder.add_node("b", t.node(lambda state: {"x": [interrupt("?")]}))
    return edges(builder, ". a .", ". b .").compile(checkpointer=InMemorySaver())


async def an_update_after_a_handler(t: Trace) -> None:
    """It is of the node whose error was handled."""

    def fail(state: State) -> Any:
        raise ValueError("boom")

    builder = nodes(t, StateGraph(State), "b")
    builder.add_node("a", t.node(fail), error_handler=t.node(lambda state: {"x": ["handled"]}))
    graph = edges(builder, ". a b .").compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.update(graph, ONE, {"x": ["update"]})
    await t.state(graph, ONE)


async def one_failure_of_several_is_handled(t: Trace) -> None:
    """A handled failure doesn't stop the nodes beside it."""

    def fail(state: State) -> Any:
        raise ValueError("boom")

    builder = nodes(t, StateGraph(State), "b", "c")
    builder.add_node("a", t.node(fail), error_handler=t.node(lambda state: {"x": ["handled"]}))
    await t.invoke(edges(builder, ". a .", ". b c .").compile(), {"x": []})


async def defaults_for_all_nodes(t: Trace) -> None:
    """set_node_defaults gives policies to the nodes that have none of their own."""
    failing, attempts = _failing(t, OverflowError("a"), OverflowError("b"))
    builder = StateGraph(State).add_node("a", failing)
    builder.set_node_defaults(retry_policy=_at_once(retry_on=OverflowError))
    await t.invoke(edges(builder, ". a .").compile(), {"x": []})
    t.note("attempts", len(attempts))
    failing, attempts = _failing(t, OverflowError("a"), OverflowError("b"))
    builder = StateGraph(State).add_node("a", failing, retry_policy=_at_once(max_attempts=1))
    builder.set_node_defaults(retry_policy=_at_once(retry_on=OverflowError))
    await t.invoke(edges(builder, ". a .").compile(), {"x": []})
    t.note("attempts", len(attempts))


async def a_default_error_handler(t: Trace) -> None:
    """A default handler serves all nodes, each failure on its own."""

    def h(state: State, error: NodeError) -> Any:
        return {"x": [f"{error.node}: {error.error}"]}

    def fail(state: State) -> Any:
        raise ValueError("boom")

    builder = nodes(t, StateGraph(State), a=fail, b=fail).set_node_defaults(error_handler=t.node(h))
    graph = edges(builder, ". a .", ". b .").compile()
    t.note("nodes", list(graph.nodes))
    await t.invoke(graph, {"x": []})


async def a_default_cache_policy(t: Trace) -> None:
    """A default cache policy makes all nodes cached."""
    ran: list[str] = []

    def a(state: State) -> Any:
        ran.append("a")

    builder = nodes(t, StateGraph(State), a=a).set_node_defaults(cache_policy=CachePolicy())
    graph = edges(builder, ". a .").compile(cache=InMemoryCache())
    await t.invoke(graph, {"x": []})
    await t.invoke(graph, {"x": []})
    t.note("ran", ran)


async def a_name_that_a_handler_would_take(t: Trace) -> None:
    """A handler's node has a name that no other may have."""
    builder = nodes(t, StateGraph(State), "__error_handler__a")
    t.raises(builder.add_node, "a", lambda state: None, error_handler=lambda state: None)


@differs("equal calls at once run once")
async def equal_sends_of_a_cached_node(t: Trace) -> None:
    """A cached node that is sent the same twice in a superstep."""
    ran: list[int] = []

    def work(n: int) -> Any:
        ran.append(n)
        return {"x": [n]}

    builder = StateGraph(State).add_node("work", t.node(work), cache_policy=CachePolicy())
    builder.add_conditional_edges(START, lambda state: [Send("work", n) for n in (1, 1, 2)])
    await t.invoke(builder.compile(cache=InMemoryCache()), {"x": []})
    t.note("ran", sorted(ran))


@differs("a cache tells functions apart")
async def a_cache_of_two_graphs(t: Trace) -> None:
    """Two graphs with one cache, and in each another function of one name as the node of one name."""
    cache = InMemoryCache()
    for word in ("first", "second"):

        def node(state: State, said: str = word) -> Any:
            return {"x": [said]}

        builder = StateGraph(State).add_node("a", t.node(node), cache_policy=CachePolicy())
        await t.invoke(edges(builder, ". a .").compile(cache=cache), {"x": []})


@differs("nested graphs use the cache around")
async def the_cache_of_a_nested_graph(t: Trace) -> None:
    """A node with a cache policy, in a graph without a cache that is nested in one with a cache."""
    ran: list[str] = []

    def a(state: State) -> Any:
        ran.append("a")
        return {"x": ["a"]}

    inner = edges(StateGraph(State).add_node("a", t.node(a), cache_policy=CachePolicy()), ". a .").compile()
    graph = edges(StateGraph(State).add_node("inner", inner), ". inner .").compile(cache=InMemoryCache())
    for _ in range(2):
        await t.call(graph, "invoke", {"x": []})
    t.note("ran", ran)
