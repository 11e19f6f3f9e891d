"""The functional API: entrypoints and tasks, on their own and in a graph's nodes (section 3)."""

import asyncio
import threading
from typing import Any
from unittest.mock import MagicMock, patch

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Command, RetryPolicy, StreamWriter, interrupt
from pydantic import BaseModel

from ..parts import ONE, TWO, State, edges, nodes
from ..trace import Trace, differs, differs_by_caller


def _task(t: Trace, ran: list[Any], **options: Any) -> Any:
    """A task that doubles a number and notes its runs."""

    def double(n: int) -> int:
        ran.append(n)
        return 2 * n

    return task(**options)(t.node(double))


def _at_once(**options: Any) -> RetryPolicy:
    return RetryPolicy(initial_interval=0, jitter=False, **options)


async def a_workflow_without_a_checkpointer(t: Trace) -> None:
    """An entrypoint is a graph: it takes an input and gives what its function returns."""

    def wf(n: Any) -> Any:
        return {"got": n}

    graph = entrypoint()(t.node(wf))
    for given in [1, "text", {"a": 1}, [1, 2]]:
        await t.invoke(graph, given)
    await t.invoke(graph, None)
    await t.stream(graph, 1)
    t.note("graph", (graph.name, list(graph.nodes), graph.stream_mode))


async def tasks_one_after_another(t: Trace) -> None:
    """A task gives a future; its result is the caller's value."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def wf(n: int) -> Any:
        one = await t.value(double(n))
        return await t.value(double(one))

    await t.stream(entrypoint()(t.node(wf)), 1, stream_mode=["updates", "values"])
    t.note("ran", ran)


async def tasks_in_parallel(t: Trace) -> None:
    """Tasks that are called before any is waited for run side by side."""
    double = _task(t, [])

    async def wf(n: int) -> Any:
        return [await t.value(future) for future in [double(i) for i in range(n)]]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 4, ONE)
    await t.stream(graph, 3, ONE, stream_mode="updates", unordered=True)


async def tasks_of_tasks(t: Trace) -> None:
    """A task may call tasks, to any depth."""
    double = _task(t, [])

    async def outer(n: int) -> int:
        return await t.value(double(n)) + 1

    outer_task = task(t.node(outer))

    async def wf(n: int) -> int:
        return await t.value(outer_task(n)) + await t.value(outer_task(n + 1))

    await t.stream(entrypoint()(t.node(wf)), 1, stream_mode=["updates", "values"])


async def two_checkpoints_for_a_call(t: Trace) -> None:
    """A call keeps its input and its end; the tasks' results are writes beside the input."""
    double = _task(t, [])

    async def wf(n: int) -> int:
        return await t.value(double(n))

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, 2, ONE)
    await t.history(graph, ONE)


async def previous_values(t: Trace) -> None:
    """`previous` is what the last finished call on the thread returned, or saved with final."""

    def count(n: int, *, previous: Any = None) -> int:
        return n + (previous or 0)

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(count))
    for config in [ONE, ONE, TWO]:
        await t.invoke(graph, 5, config)

    def saved(n: int, *, previous: Any) -> Any:
        return entrypoint.final(value={"before": previous}, save=n)

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(saved))
    for n in [1, 2]:
        await t.invoke(graph, n, ONE)
    await t.state(graph, ONE)
    await t.invoke(entrypoint()(t.node(saved)), 3)


async def results_in_a_part_of_the_history(t: Trace) -> None:
    """What a call came to is shown wherever its checkpoint is looked at."""
    graph = entrypoint(checkpointer=InMemorySaver())(t.node(lambda n: {"got": n}))
    for n in (1, 2):
        await t.invoke(graph, n, ONE)
    found = await t.history(graph, ONE)
    for snapshot in found:
        await t.state(graph, snapshot.config)
        await t.history(graph, snapshot.config)
        await t.history(graph, ONE, before=snapshot.config)
    await t.history(graph, ONE, before=found[0].config, limit=1)
    await t.history(graph, ONE, filter={"source": "input"})


async def a_question_after_a_result(t: Trace) -> None:
    """What the call before came to is shown beside a question where it is a mapping alone."""

    def wf(n: int) -> Any:
        return n if n == 1 else interrupt("?")

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    for n in (1, 2):
        await t.invoke(graph, n, ONE, version="v2")
    await t.stream(graph, 2, ONE, version="v2", stream_mode="values")


async def final_of_none(t: Trace) -> None:
    """final saves None when it's told to."""

    def wf(n: int, *, previous: Any) -> Any:
        return entrypoint.final(value=previous, save=None if n == 2 else n)

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    for n in [1, 2, 3]:
        await t.invoke(graph, n, ONE)


async def an_update_of_an_entrypoint(t: Trace) -> None:
    """update_state writes the result and `previous`."""

    def wf(n: int, *, previous: Any) -> Any:
        return {"n": n, "previous": previous}

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.update(graph, ONE, "human")
    await t.state(graph, ONE)
    await t.invoke(graph, 2, ONE)


async def a_workflow_asks(t: Trace) -> None:
    """The function runs from its start again with the answer; finished tasks don't."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def wf(n: int) -> Any:
        ran.append("wf")
        before = await t.value(double(n))
        answer = interrupt({"doubled": before})
        return [before, answer, await t.value(double(before))]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.state(graph, ONE)
    await t.stream(graph, Command(resume="yes"), ONE)
    t.note("ran", ran)


async def a_workflow_asks_twice(t: Trace) -> None:
    """Answers go to the questions in the order in which they're asked."""

    def wf(n: int) -> Any:
        return [interrupt("first?"), interrupt("second?")]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, Command(resume=1), ONE)
    await t.invoke(graph, Command(resume=2), ONE)


async def a_task_asks(t: Trace) -> None:
    """The task runs again with the answer, those finished before it don't."""
    ran: list[Any] = []
    double = _task(t, ran)

    def ask(question: str) -> Any:
        ran.append(question)
        return interrupt(question)

    ask_task = task(t.node(ask))

    async def wf(n: int) -> Any:
        return [await t.value(double(n)), await t.value(ask_task("sure?"))]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, Command(resume="yes"), ONE)
    t.note("ran", ran)


async def new_input_to_a_waiting_workflow(t: Trace) -> None:
    """It drops the question and what the tasks had done."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def wf(n: int) -> Any:
        return [await t.value(double(n)), interrupt("?")]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, 2, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    t.note("ran", ran)


async def a_workflow_that_fails(t: Trace) -> None:
    """Finished tasks are kept, and None runs the function again."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def wf(n: int) -> Any:
        value = await t.value(double(n))
        ran.append("wf")
        if ran.count("wf") == 1:
            raise RuntimeError("boom")
        return value

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, None, ONE)
    t.note("ran", ran)


async def a_task_that_fails(t: Trace) -> None:
    """Its exception is the caller's, with a note for each level; a resume runs the task again."""
    ran: list[Any] = []

    def flaky(n: int) -> int:
        ran.append(n)
        if len(ran) == 1:
            raise RuntimeError("boom")
        return n

    flaky_task = task(t.node(flaky))

    async def wf(n: int) -> Any:
        return await t.value(flaky_task(n))

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, None, ONE)
    t.note("ran", ran)


async def a_caught_failure_of_a_task(t: Trace) -> None:
    """A workflow may catch it and go on."""

    def fail(n: int) -> int:
        raise ValueError(n)

    fail_task = task(t.node(fail))

    async def wf(n: int) -> Any:
        try:
            return await t.value(fail_task(n))
        except ValueError as error:
            return f"caught {error}"

    await t.stream(entrypoint()(t.node(wf)), 1, stream_mode=["updates", "tasks"])


@differs("an error that was caught was caught")
async def a_caught_failure_before_a_question(t: Trace) -> None:
    """LangGraph runs the task again when the workflow goes on."""
    ran: list[Any] = []

    def flaky(n: int) -> int:
        ran.append(n)
        if len(ran) == 1:
            raise ValueError("boom")
        return n

    flaky_task = task(t.node(flaky))

    async def wf(n: int) -> Any:
        try:
            found = await t.value(flaky_task(n))
        except ValueError:
            found = "caught"
        return [found, interrupt("?")]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


async def retries_of_tasks(t: Trace) -> None:
    """A task's retry policy retries it, and an entrypoint's retries the function."""
    ran: list[str] = []

    def flaky(n: int) -> int:
        ran.append("flaky")
        if len(ran) < 3:
            raise OverflowError
        return n

    flaky_task = task(retry_policy=_at_once(max_attempts=3, retry_on=OverflowError))(t.node(flaky))

    async def wf(n: int) -> Any:
        ran.append("wf")
        return await t.value(flaky_task(n))

    await t.invoke(entrypoint()(t.node(wf)), 1)
    t.note("ran", ran)


async def an_entrypoints_retries(t: Trace) -> None:
    """An entrypoint's retry policy retries its function."""
    ran: list[int] = []

    def wf(n: int) -> int:
        ran.append(n)
        if len(ran) < 3:
            raise OverflowError
        return len(ran)

    await t.invoke(entrypoint(retry_policy=_at_once(retry_on=OverflowError))(t.node(wf)), 1)


@differs("a parent's retry keeps its children's results")
async def children_of_a_retried_entrypoint(t: Trace) -> None:
    """LangGraph runs the tasks of a retried function again."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def wf(n: int) -> int:
        value: int = await t.value(double(n))
        ran.append("wf")
        if ran.count("wf") < 3:
            raise OverflowError
        return value

    policy = _at_once(retry_on=OverflowError)
    graph = entrypoint(checkpointer=InMemorySaver(), retry_policy=policy)(t.node(wf))
    await t.invoke(graph, 1, ONE)
    t.note("ran", ran)


async def cached_tasks(t: Trace) -> None:
    """A task with a cache policy isn't run again for equal arguments, until its cache is cleared."""
    ran: list[Any] = []
    double = _task(t, ran, cache_policy=CachePolicy())
    cache = InMemoryCache()

    async def wf(n: int) -> Any:
        return [await t.value(double(n)), await t.value(double(n + 1))]

    graph = entrypoint(cache=cache)(t.node(wf))
    await t.stream(graph, 1)
    await t.stream(graph, 1)
    t.note("ran", ran)
    double.clear_cache(cache)
    await t.invoke(graph, 1)
    t.note("ran", ran)


async def injected_parameters(t: Trace) -> None:
    """Tasks and entrypoints get config, writer, store, previous and runtime by name."""
    store = InMemoryStore()
    store.put(("ns",), "k", {"v": 1})

    def work(n: int, config, *, writer: StreamWriter, store: BaseStore, runtime: Runtime) -> Any:  # type: ignore[no-untyped-def]
        writer("task")
        return [config["configurable"]["thread_id"], store.get(("ns",), "k").value, runtime.previous]  # type: ignore[union-attr]

    work_task = task(t.node(work))

    async def wf(n: int, writer: StreamWriter, *, previous: Any, runtime: Runtime, config) -> Any:  # type: ignore[no-untyped-def]
        writer("wf")
        get_stream_writer()("same")
        return [previous, runtime.previous, config["configurable"]["thread_id"], await t.value(work_task(n))]

    graph = entrypoint(checkpointer=InMemorySaver(), store=store)(t.node(wf))
    await t.stream(graph, 1, ONE, stream_mode=["custom", "values"])
    await t.invoke(graph, 1, ONE)


async def names_of_tasks(t: Trace) -> None:
    """A task is called like its function, or as it's told."""

    def first(n: int) -> int:
        return n

    class Speaker:
        def method(self, n: int) -> int:
            return n

    tasks = [task(t.node(first)), task(name="renamed")(t.node(lambda n: n)), task(t.node(Speaker().method))]

    async def wf(n: int) -> Any:
        return [await t.value(each(n)) for each in tasks]

    await t.stream(entrypoint()(t.node(wf)), 1)


async def arguments_of_tasks(t: Trace) -> None:
    """Arguments are given by position and by name, and defaults hold."""

    def show(*args: int, a: int = 1, **kw: int) -> Any:
        return [list(args), a, kw]

    show_task = task(t.node(show))

    async def wf(n: int) -> Any:
        return [await t.value(show_task()), await t.value(show_task(1, 2, a=3, b=4))]

    await t.stream(entrypoint()(t.node(wf)), 1, stream_mode=["updates", "tasks"])


async def a_task_outside_of_a_workflow(t: Trace) -> None:
    """There's nobody to run it."""
    t.raises(_task(t, []), 1)


async def an_unawaited_task(t: Trace) -> None:
    """A task that nobody waits for is finished before the call returns."""
    ran: list[Any] = []
    double = _task(t, ran)

    def wf(n: int) -> str:
        double(n)
        return "done"

    await t.invoke(entrypoint(checkpointer=InMemorySaver())(t.node(wf)), 1, ONE)
    t.note("ran", ran)


async def what_cannot_be_an_entrypoint(t: Trace) -> None:
    """Generators and functions without a parameter are refused."""

    def generator(n: int) -> Any:
        yield n

    async def async_generator(n: int) -> Any:
        yield n

    def nothing() -> None:
        return None

    for function in [generator, async_generator, nothing]:
        t.raises(entrypoint(), function)


async def an_entrypoint_with_a_second_parameter(t: Trace) -> None:
    """A second required parameter that nobody gives is the call's TypeError."""

    def wf(n: int, other: int) -> int:
        return n

    await t.invoke(entrypoint()(t.node(wf)), 1)


async def an_async_task_in_a_blocking_call(t: Trace) -> None:
    """It can't be run."""

    @task
    async def slow(n: int) -> int:
        return n

    @entrypoint()
    def wf(n: int) -> int:
        return slow(n).result()  # type: ignore[no-any-return, union-attr]

    t.raises(wf.invoke, 1)


async def an_async_entrypoint_in_a_blocking_call(t: Trace) -> None:
    """It can't be invoked."""

    @entrypoint()
    async def wf(n: int) -> int:
        return n

    t.raises(wf.invoke, 1)


@differs_by_caller("a blocking caller has no futures to gather")
async def gathered_tasks(t: Trace) -> None:
    """In asyncio a task's future can be awaited with others."""
    double = _task(t, [])

    async def wf(n: int) -> Any:
        return await asyncio.gather(*(double(i) for i in range(n)))

    if t.asyncio:
        await t.invoke(entrypoint()(wf), 3)


@differs_by_caller("a blocking caller has no futures to wait for in asyncio")
async def futures_in_asyncio_wait(t: Trace) -> None:
    """`asyncio.wait` takes the futures of tasks: all of them, the first of them, or those of a certain time."""
    ended = asyncio.Event()

    @task
    async def waits(n: int) -> int:
        await ended.wait()
        return n

    double = _task(t, [])

    async def wf(n: int) -> Any:
        some = {double(i) for i in range(n)}
        done, _ = await asyncio.wait(some)
        late = waits(1)
        first, left = await asyncio.wait({double(7), late}, return_when=asyncio.FIRST_COMPLETED)
        none, _ = await asyncio.wait(left, timeout=0)
        ended.set()
        values = [sorted(future.result() for future in futures) for futures in (done, first, none)]
        return [done == some, values, await late]

    if t.asyncio:
        await t.invoke(entrypoint()(wf), 3)


async def timeouts_of_tasks(t: Trace) -> None:
    """A sync task or entrypoint can't have one."""
    t.raises(task(timeout=1), lambda n: n)
    t.raises(entrypoint(timeout=1), lambda n: n)


async def pydantic_inputs(t: Trace) -> None:
    """An input is given as it is, whatever the annotation says."""

    class Model(BaseModel):
        a: int

    def wf(model: Model) -> Any:
        return model

    graph = entrypoint()(t.node(wf))
    await t.invoke(graph, Model(a=1))
    await t.invoke(graph, {"a": "1"})


async def tasks_in_a_graphs_node(t: Trace) -> None:
    """A node may call tasks; what they finished isn't run again when the node asks."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def a(state: State) -> Any:
        value = await t.value(double(3))
        return {"x": [value, interrupt("?")]}

    graph = edges(nodes(t, StateGraph(State), "z", a=a), ". a z .").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, ONE, stream_mode=["updates", "values"])
    await t.state(graph, ONE)
    await t.stream(graph, Command(resume="!"), ONE, stream_mode=["updates", "values"])
    t.note("ran", ran)


async def a_workflow_in_a_graphs_node(t: Trace) -> None:
    """A node may call an entrypoint, whose question bubbles up."""
    double = _task(t, [])

    async def inner(n: int) -> Any:
        return [await t.value(double(n)), interrupt("inner?")]

    workflow = entrypoint()(t.node(inner))

    async def a(state: State) -> Any:
        return {"x": await t.call(workflow, "invoke", 1)}

    graph = edges(nodes(t, StateGraph(State), a=a), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


async def a_graph_in_a_workflow(t: Trace) -> None:
    """An entrypoint may call a graph; what that had finished isn't run again after its question."""
    ran: list[str] = []

    def a(state: State) -> Any:
        ran.append("a")
        return {"x": ["a"]}

    builder = nodes(t, StateGraph(State), a=a, b=lambda state: {"x": [interrupt("?")]})
    sub = edges(builder, ". a b .").compile()

    async def wf(n: int) -> Any:
        return await t.call(sub, "invoke", {"x": [n]})

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.stream(graph, Command(resume="!"), ONE, subgraphs=True)
    t.note("ran", ran)


async def workflows_in_workflows(t: Trace) -> None:
    """An entrypoint that is called twice in another asks each time, in turn."""

    def inner(n: int) -> Any:
        return [n, interrupt(n)]

    inner_workflow = entrypoint()(t.node(inner))

    async def outer(n: int) -> Any:
        first = await t.call(inner_workflow, "invoke", n)
        return [first, await t.call(inner_workflow, "invoke", n + 1)]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(outer))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, Command(resume="one"), ONE)
    await t.invoke(graph, Command(resume="two"), ONE)


async def deprecated_arguments_of_tasks(t: Trace) -> None:
    """`retry` is called retry_policy now."""
    t.warns(task, retry=RetryPolicy())
    t.warns(entrypoint, retry=RetryPolicy())
    t.warns(entrypoint, config_schema=dict)


async def a_failing_task_beside_another(t: Trace) -> None:
    """The one that finished is kept for the resume."""
    ran: list[Any] = []
    double = _task(t, ran)

    def fail(n: int) -> int:
        if "failed" not in ran:
            ran.append("failed")
            raise RuntimeError("boom")
        return n

    fail_task = task(t.node(fail))

    async def wf(n: int) -> Any:
        one = await t.value(double(n))
        return [one, await t.value(fail_task(n))]

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, None, ONE)
    t.note("ran", ran)


async def json_schemas_of_an_entrypoint(t: Trace) -> None:
    """They come from the annotations, final's two parameters too."""

    def wf(n: int) -> str:
        return str(n)

    def saved(n: int) -> entrypoint.final[str, int]:
        return entrypoint.final(value=str(n), save=n)

    for function in [wf, saved]:
        graph = entrypoint()(t.node(function))
        t.note("input", graph.get_input_jsonschema())
        t.note("output", graph.get_output_jsonschema())


async def annotations_of_final(t: Trace) -> None:
    """final takes two parameters or none in an annotation."""

    def bare(n: int) -> entrypoint.final:
        return entrypoint.final(value=n, save=n + 1)

    await t.invoke(entrypoint(checkpointer=InMemorySaver())(t.node(bare)), 1, ONE)
    t.raises(lambda: entrypoint.final[int])
    t.raises(entrypoint.final, 1, 2)


async def explicit_arguments_win(t: Trace) -> None:
    """What a caller gives for an injected parameter is what the task gets."""

    def work(n: int, *, store: Any = None, runtime: Any = None) -> Any:
        return [n, store, runtime]

    work_task = task(t.node(work))

    async def wf(n: int) -> Any:
        return await t.value(work_task(n, store="mine", runtime="too"))

    await t.invoke(entrypoint()(t.node(wf)), 1)


async def a_context_for_a_workflow(t: Trace) -> None:
    """A context is given to the function and its tasks."""

    class Context(BaseModel):
        user: str

    def work(n: int, runtime: Runtime[Context]) -> str:
        return runtime.context.user

    work_task = task(t.node(work))

    async def wf(n: int, runtime: Runtime[Context]) -> Any:
        return [runtime.context, await t.value(work_task(n))]

    await t.invoke(entrypoint(context_schema=Context)(t.node(wf)), 1, context={"user": "u"})


async def time_travel_of_a_workflow(t: Trace) -> None:
    """From the checkpoint of its input a workflow runs again, with all its tasks."""
    ran: list[Any] = []
    double = _task(t, ran)

    async def wf(n: int) -> Any:
        return await t.value(double(n))

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, 2, ONE)
    first = (await t.history(graph, ONE))[-1]
    await t.invoke(graph, None, first.config)
    t.note("ran", ran)


async def places_of_tasks(t: Trace) -> None:
    """`langgraph_path` counts the calls that the code around has made since its start, reused ones too."""
    seen: list[Any] = []

    def place(name: str) -> None:
        seen.append((name, get_config()["metadata"]["langgraph_path"]))

    async def inner(n: int) -> int:
        place(f"inner {n}")
        return n

    inner_task = task(t.node(inner))

    async def outer(n: int) -> int:
        place(f"outer {n}")
        return await t.value(inner_task(n)) + await t.value(inner_task(n + 1))

    outer_task = task(t.node(outer))

    async def wf(n: int) -> list[int]:
        both = [inner_task(1), inner_task(2)]
        found = [await t.value(each) for each in both]
        interrupt("?")
        return [*found, await t.value(outer_task(5)), await t.value(inner_task(3))]

    async def node(state: State) -> Any:
        return {"x": [await t.value(inner_task(8)), await t.value(inner_task(9))]}

    for options in ({"checkpointer": InMemorySaver()}, {}):
        workflow = entrypoint(**options)(t.node(wf))
        await t.invoke(workflow, 1, ONE)
        await t.invoke(workflow, Command(resume="!"), ONE)
        graph = edges(nodes(t, StateGraph(State), a=node, b=node), ". a b .").compile(**options)
        await t.invoke(graph, {"x": []}, TWO)
    t.note("seen", sorted(seen))


async def what_tasks_write_names_the_calls_around_them(t: Trace) -> None:
    """A custom chunk of a task's is of the namespace of the call that called it; the tasks' updates are the run's."""

    async def inner(n: int) -> int:
        get_stream_writer()(("inner", n))
        return n + 1

    inner_task = task(t.node(inner))

    async def outer(n: int) -> int:
        get_stream_writer()(("outer", n))
        return await t.value(inner_task(n))

    outer_task = task(t.node(outer))

    async def wf(n: int) -> int:
        get_stream_writer()("wf")
        return await t.value(outer_task(n))

    async def node(state: State) -> Any:
        return {"x": [await t.value(outer_task(1))]}

    sub = edges(nodes(t, StateGraph(State), node=node), ". node .").compile()
    graph = edges(nodes(t, StateGraph(State), node=node).add_node("sub", sub), ". node sub .").compile()
    for options in [{}, {"subgraphs": True}, {"version": "v2"}, {"version": "v2", "subgraphs": True}]:
        await t.stream(entrypoint()(t.node(wf)), 1, stream_mode=["custom", "updates"], **options)
        await t.stream(graph, {"x": []}, stream_mode=["custom", "updates"], **options)


async def results_of_calls_that_ask(t: Trace) -> None:
    """The second version's result of a call that waits is what the last one gave, or an empty dict."""

    def wf(n: int) -> Any:
        return {"n": n} if n == 1 else interrupt("?")

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 2, ONE, version="v2")
    await t.invoke(graph, 1, TWO, version="v2")
    await t.invoke(graph, 2, TWO, version="v2")
    await t.invoke(graph, Command(resume="!"), TWO, version="v2")


async def tasks_told_to_callbacks(t: Trace) -> None:
    """A task is a chain in that of its caller, with its arguments by name; what has finished isn't told again."""
    names: dict[Any, str] = {}

    class Listens(BaseCallbackHandler):
        def on_chain_start(self, _: Any, given: Any, *, run_id: Any, name: str, **told: Any) -> None:
            names[run_id] = name
            metadata = {
                k: v for k, v in told["metadata"].items() if k in ("own", "langgraph_node", "langgraph_step")
            }
            t.note("start", (name, given, names.get(told["parent_run_id"]), told["tags"], metadata))

        def on_chain_end(self, value: Any, *, run_id: Any, **told: Any) -> None:
            t.note("end", (names[run_id], value))

        def on_chain_error(self, error: BaseException, *, run_id: Any, **told: Any) -> None:
            t.note("error", names[run_id])

    failed: list[int] = []

    def add(n: int, by: int = 1) -> int:
        return RunnableLambda(lambda x: x + by, name="adds").invoke(n)

    def flaky(n: int) -> int:
        if not failed:
            failed.append(n)
            raise ConnectionError(n)
        return n

    def ask(n: int) -> Any:
        return interrupt(n)

    added, tried = task(t.node(add)), task(retry_policy=_at_once(max_attempts=2))(t.node(flaky))
    asked = task(name="asks")(t.node(ask))

    @task
    @t.node
    async def both(n: int) -> int:
        return await t.value(added(n)) + await t.value(added(n, by=n))

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    async def wf(n: int) -> Any:
        found = await t.value(both(n)) + await t.value(tried(n))
        return await t.value(asked(found))

    config: Any = {**ONE, "callbacks": [Listens()], "tags": ["mine"], "metadata": {"own": 1}}
    await t.invoke(wf, 5, config)
    await t.invoke(wf, Command(resume="yes"), config)


class Heard(BaseCallbackHandler):
    """What callbacks are told of chains: names, in which run, what went in and came out, tags and places."""

    def __init__(self) -> None:
        self.names: dict[Any, str | None] = {}
        self.told: list[Any] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **told: Any) -> None:
        self.names[told["run_id"]] = told["name"]
        around, place = self.names.get(told["parent_run_id"]), told["metadata"].get("langgraph_node")
        self.told.append(("starts", told["name"], around, inputs, sorted(told["tags"]), place))

    def on_chain_end(self, outputs: Any, *, run_id: Any, **told: Any) -> None:
        self.told.append(("ended", self.names[run_id], outputs, told["tags"]))

    def on_chain_error(self, error: BaseException, *, run_id: Any, **told: Any) -> None:
        self.told.append(("failed", self.names[run_id], type(error) is ValueError))


async def callbacks_of_tasks(t: Trace) -> None:
    """A task is a chain in its caller's, each attempt one, with what runs in it; what is reused is not told."""

    async def one(n: int, *more: int, by: int = 2, **named: int) -> Any:
        return await t.call(RunnableLambda(lambda n: n * by, name="inner"), "invoke", n)

    async def two(n: int) -> Any:
        return await t.value(inner(n, 1, other=3))

    def fails(n: int, config: RunnableConfig) -> int:
        tries.append(config["metadata"]["langgraph_node"])
        if len(tries) < 3:
            raise ValueError("once more")
        return n

    tries: list[Any] = []
    inner, outer = task(t.node(one)), task(name="named")(t.node(two))
    flaky = task(retry_policy=_at_once(retry_on=ValueError))(t.node(fails))
    kept = task(cache_policy=CachePolicy())(t.node(lambda n: n))

    async def wf(n: int) -> Any:
        found = [await t.value(each(n)) for each in (outer, flaky, kept)]
        return [*found, interrupt("more?")]

    graph = entrypoint(checkpointer=InMemorySaver(), cache=InMemoryCache())(t.node(wf))
    for given, thread in ((1, ONE), (Command(resume=1), ONE), (1, TWO)):
        heard = Heard()
        await t.call(graph, "invoke", given, {**thread, "callbacks": [heard], "tags": ["given"]})
        t.note("told", heard.told)
    t.note("tries", tries)


async def messages_that_tasks_return(t: Trace) -> None:
    """A `messages` stream shows them, and the tokens of models in tasks, as those of the task."""
    said = task(t.node(lambda n: AIMessage("said", id="1")))
    update = task(t.node(lambda n: {"messages": [AIMessage("updated", id="2")]}))

    async def asks(n: int) -> Any:
        return await t.call(FakeListChatModel(responses=["ab"]), "invoke", "?")

    model = task(t.node(asks))

    async def wf(n: int) -> None:
        for each in (said, update, model):
            await t.value(each(n))

    graph = entrypoint()(t.node(wf))
    chunks = (
        graph.astream(1, stream_mode="messages") if t.asyncio else graph.stream(1, stream_mode="messages")
    )
    found = [chunk async for chunk in chunks] if t.asyncio else list(chunks)
    t.note("shown", [(message.text, metadata["langgraph_node"]) for message, metadata in found])


async def callbacks_inside_an_unheard_task(t: Trace) -> None:
    """Whoever listens to a runnable in a task is told in which task it is."""
    heard = Heard()
    runnable = RunnableLambda(lambda n: n, name="inner")

    async def calls(n: int) -> Any:
        return await t.call(runnable, "invoke", n, {"callbacks": [heard]})

    called = task(t.node(calls))

    async def wf(n: int) -> Any:
        return await t.value(called(n))

    await t.invoke(entrypoint()(t.node(wf)), 1)
    t.note("told", heard.told)


@differs("a stream shows values that are there")
async def values_of_a_first_resumption(t: Trace) -> None:
    """A workflow that goes on before it has come to anything shows its result alone."""

    async def wf(n: int) -> Any:
        return interrupt("?")

    workflow = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(workflow, 1, ONE)
    chunks = await t.stream(workflow, Command(resume="!"), ONE, stream_mode="values")
    t.note("count", len(chunks))


@differs("who reads the stream of an entrypoint reads it again")
async def an_entrypoint_that_is_read_again(t: Trace) -> None:
    """A workflow that has read it is resumed; its tasks ran once."""
    ran: list[str] = []

    async def charge(n: int) -> int:
        ran.append("task")
        return n

    async def one(n: int) -> Any:
        ran.append("function")
        get_stream_writer()("written")
        return await t.value(task(t.node(charge))(n))

    inner = entrypoint()(t.node(one))
    read: list[Any] = []

    async def wf(n: int) -> Any:
        modes = ["custom", "values"]
        if t.asyncio:
            read.append([chunk async for chunk in inner.astream(n, stream_mode=modes)])
        else:
            read.append(list(inner.stream(n, stream_mode=modes)))
        return interrupt("?")

    graph = entrypoint(checkpointer=InMemorySaver())(t.node(wf))
    await t.invoke(graph, 1, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    t.note("read", read)
    t.note("ran", ran)


@differs("what a run reads of a stream can be stored")
async def chunks_that_cannot_be_stored(t: Trace) -> None:
    """A workflow that reads another's stream is given what a later attempt is given again."""

    async def tells(n: int) -> int:
        get_stream_writer()(threading.Lock())
        return n

    async def one(n: int) -> Any:
        return await t.value(task(t.node(tells))(n))

    inner = entrypoint()(t.node(one))

    async def wf(n: int) -> Any:
        if t.asyncio:
            return len([chunk async for chunk in inner.astream(n, stream_mode="custom")])
        return len(list(inner.stream(n, stream_mode="custom")))

    await t.invoke(entrypoint(checkpointer=InMemorySaver())(t.node(wf)), 1, ONE)


def _calling(t: Trace) -> tuple[Any, Any]:
    """A task, and a workflow that calls it."""

    @task
    def add(x: int) -> int:
        return x + 1

    async def flow(x: int) -> Any:
        return await t.value(add(x))

    return add, entrypoint(checkpointer=InMemorySaver())(t.node(flow))


def _stub(name: str, function: Any) -> Any:
    """A function by another name."""
    function.__name__ = function.__qualname__ = name
    return function


async def functions_that_a_test_replaces(t: Trace) -> None:
    """What a test sets as a task's function is called in its place, with what it asks for itself, until it is gone."""
    add, flow = _calling(t)
    config: Any = {"configurable": {"thread_id": "1"}}

    def told(x: int, *, writer: StreamWriter) -> int:
        writer("told")
        return x * 10

    async def awaited(x: int) -> int:
        return x * 100

    for stub in (lambda x: x * 2, told, t.node(awaited)):
        with patch.object(add, "func", _stub("add", stub)):
            t.note("set", add.func is stub)
            await t.stream(flow, 1, config, stream_mode=["custom", "updates", "tasks"])
    await t.invoke(flow, 1, config)
    authors = add.func
    add.func = _stub("add", lambda x: "set")
    await t.invoke(flow, 1, config)
    add.func = authors
    await t.invoke(flow, 1, config)


async def mocks_of_tasks(t: Trace) -> None:
    """A mock that is made of a task, or of a workflow, has what that has."""
    add, flow = _calling(t)
    of_tasks = ("func", "retry_policy", "cache_policy", "timeout", "clear_cache", "aclear_cache", "invoke")
    t.note("task", [name for name in of_tasks if hasattr(MagicMock(spec=add), name)])
    of_flows = ("invoke", "ainvoke", "stream", "get_state", "with_config", "checkpointer", "func_of_none")
    t.note("workflow", [name for name in of_flows if hasattr(MagicMock(spec=flow), name)])


@differs("a task keeps its name")
async def a_mock_as_the_function_of_a_task(t: Trace) -> None:
    """It has no name of its own."""
    add, flow = _calling(t)
    config: Any = {"configurable": {"thread_id": "1"}}
    with patch.object(add, "func", return_value="mocked"):
        await t.stream(flow, 1, config, stream_mode="updates")
    with patch.object(add, "func", lambda x: "stubbed"):
        await t.stream(flow, 1, config, stream_mode="updates")
