"""What each stream mode shows, in LangGraph's shapes (behaviour page 3.8 and 4.1, golden trace C8)."""

import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, current_thread
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import Interrupt, entrypoint, get_stream_writer, interrupt, task
from flowfn.context import current_frame
from flowfn.hosts.threads import ThreadHost

from ..worlds import World, questions


def increasing(world: World) -> Any:
    """Golden trace C8: two tasks that write to the stream, a question, and `final`."""

    @world.task
    async def inc(x: int) -> int:
        get_stream_writer()(f"w{x}")
        world.ran.append(x)
        return x + 1

    @world.entrypoint
    async def wf(x: int, *, previous: Any = None) -> Any:
        first = await world.value(inc(x))
        second = await world.value(inc(x + 1))
        answer = interrupt("ok?")
        return entrypoint.final(value={"r": [first, second], "a": answer, "prev": previous}, save=x + 4)

    return wf


def test_updates_is_the_default(world: World) -> None:
    """C8: `{task: result}` as each ends, the questions, and on going on only what is new."""
    wf = increasing(world)
    first = world.stream(wf, 10, thread_id="t")
    (question,) = world.state(wf, "t").interrupts
    assert first == [{"inc": 11}, {"inc": 12}, {"__interrupt__": (question,)}]
    from flowfn import Command

    resumed = world.stream(wf, Command(resume="z"), thread_id="t", stream_mode="updates")
    assert resumed == [{"wf": {"r": [11, 12], "a": "z", "prev": None}}]


def test_values_shows_results(world: World) -> None:
    """C8: the result when there is one, `{"__interrupt__": …}` when the run waits; nothing for tasks."""
    from flowfn import Command

    wf = increasing(world)
    first = world.stream(wf, 10, thread_id="t", stream_mode="values")
    (question,) = world.state(wf, "t").interrupts
    assert first == [{"__interrupt__": (question,)}]
    resumed = world.stream(wf, Command(resume="z"), thread_id="t", stream_mode="values")
    assert resumed == [{"r": [11, 12], "a": "z", "prev": None}]


def test_tasks_shows_starts_and_ends(world: World) -> None:
    """C8: a start and an end per task, with the same id; the entrypoint's end has the questions."""
    wf = increasing(world)
    chunks = world.stream(wf, 10, thread_id="t", stream_mode="tasks")
    (question,) = world.state(wf, "t").interrupts
    ids = [chunk.pop("id") for chunk in chunks]
    assert chunks == [
        {"name": "wf", "input": 10, "triggers": ("__start__",)},
        {"name": "inc", "input": ((10,), {}), "triggers": ("__pregel_push",)},
        {"name": "inc", "error": None, "result": {"__return__": 11}, "interrupts": []},
        {"name": "inc", "input": ((11,), {}), "triggers": ("__pregel_push",)},
        {"name": "inc", "error": None, "result": {"__return__": 12}, "interrupts": []},
        {
            "name": "wf",
            "error": None,
            "result": {},
            "interrupts": [{"value": "ok?", "id": question.id, "response_schema": None}],
        },
    ]
    assert [ids[0], ids[1], ids[3]] == [ids[5], ids[2], ids[4]]
    assert len(set(ids)) == 3


def test_tasks_shows_the_result_of_the_entrypoint(world: World) -> None:
    """The entrypoint's own end has its result under `__end__`."""

    @world.entrypoint
    async def wf(x: int) -> int:
        return 2 * x

    chunks = world.stream(wf, 3, stream_mode="tasks")
    assert [chunk.get("result") for chunk in chunks] == [None, {"__end__": 6}]


def test_tasks_shows_errors(world: World) -> None:
    """A failed task ends with its error and no result."""

    @world.task
    async def fail() -> None:
        raise KeyError("gone")

    @world.entrypoint
    async def wf() -> str:
        await world.error(fail())
        return "done"

    chunks = world.stream(wf, stream_mode="tasks")
    assert [(repr(c["error"]), c["result"]) for c in chunks if c["name"] == "fail" and "result" in c] == [
        ("KeyError('gone')", {})
    ]


def test_custom_shows_what_code_writes(world: World) -> None:
    """C8: what the stream writer got, from the entrypoint and from tasks, in order."""
    assert world.stream(increasing(world), 10, thread_id="t", stream_mode="custom") == ["w10", "w11"]


def test_a_generator_tasks_items_are_custom_chunks(world: World) -> None:
    """Each `yield` of a generator task is a stream event, replayed from the journal when the run goes on."""

    @task
    def count(n: int) -> Any:
        world.ran.append(n)
        yield from range(n)

    @world.entrypoint
    async def wf() -> Any:
        items = await world.value(count(3))
        return [items, interrupt("ok?")]

    from flowfn import Command

    assert world.stream(wf, thread_id="t", stream_mode="custom") == [0, 1, 2]
    assert world.stream(wf, Command(resume="yes"), thread_id="t", stream_mode="custom") == [0, 1, 2]
    assert world.ran == [3]
    assert world.state(wf, "t").values == [[0, 1, 2], "yes"]


def test_checkpoints_shows_each_checkpoint_and_what_runs_next(world: World) -> None:
    """One chunk per planned superstep: config, parent, values, metadata, next and tasks."""
    wf = increasing(world)
    chunks = world.stream(wf, 10, thread_id="t", stream_mode="checkpoints")
    state = world.state(wf, "t")
    (chunk,) = chunks
    assert set(chunk) == {"config", "parent_config", "values", "metadata", "next", "tasks"}
    assert chunk["config"] == state.config
    assert (chunk["parent_config"], chunk["values"], chunk["next"]) == (None, None, ["wf"])
    assert (chunk["metadata"]["source"], chunk["metadata"]["step"]) == ("input", -1)
    assert chunk["tasks"] == [{"id": state.tasks[0].id, "name": "wf", "interrupts": (), "state": None}]


def test_checkpoints_shows_the_last_one_too(world: World) -> None:
    """The checkpoint that the run ends on is shown as well, with its result and nothing next."""

    @world.entrypoint
    async def wf(x: int) -> int:
        return 2 * x

    chunks = world.stream(wf, 3, thread_id="t", stream_mode="checkpoints")
    assert [(c["values"], c["next"], c["metadata"]["source"]) for c in chunks] == [
        (None, ["wf"], "input"),
        (6, [], "loop"),
    ]
    assert [c["config"] for c in reversed(chunks)] == [s.config for s in world.history(wf, "t")]


def test_debug_shows_tasks_and_checkpoints(world: World) -> None:
    """`debug` wraps `tasks` and `checkpoints` with their step, time and type."""

    @world.entrypoint
    async def wf(x: int) -> int:
        return 2 * x

    chunks = world.stream(wf, 3, thread_id="t", stream_mode="debug")
    assert all(set(chunk) == {"step", "timestamp", "type", "payload"} for chunk in chunks)
    assert [(chunk["type"], chunk["step"]) for chunk in chunks] == [
        ("checkpoint", -1),
        ("task", 0),
        ("task_result", 0),
        ("checkpoint", 0),
    ]
    assert chunks[2]["payload"]["result"] == {"__end__": 6}


def test_a_list_of_modes_gives_pairs(world: World) -> None:
    """C8: with a list each chunk is `(mode, chunk)`, interleaved as it happens."""
    wf = increasing(world)
    chunks = world.stream(wf, 10, thread_id="t", stream_mode=["updates", "custom"])
    (question,) = world.state(wf, "t").interrupts
    assert chunks == [
        ("custom", "w10"),
        ("updates", {"inc": 11}),
        ("custom", "w11"),
        ("updates", {"inc": 12}),
        ("updates", {"__interrupt__": (question,)}),
    ]


def test_a_list_of_one_mode_still_gives_pairs(world: World) -> None:
    """The shape depends on how the modes are passed, not on how many they are."""

    @world.entrypoint
    async def wf(x: int) -> int:
        return 2 * x

    assert world.stream(wf, 3, stream_mode=["values"]) == [("values", 6)]


def test_an_error_ends_the_stream(world: World) -> None:
    """The chunks up to an error are delivered, then it is raised."""
    seen: list[Any] = []

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf(x: int) -> int:
        await world.value(double(x))
        raise KeyError("gone")

    async def consume() -> None:
        async for chunk in wf.astream(3):
            seen.append(chunk)

    def consume_blocking() -> None:
        seen.extend(iter(wf.stream(3)))

    if world.asyncio:
        with pytest.raises(KeyError, match="gone"):
            world.call(consume)
    else:
        with pytest.raises(KeyError, match="gone"):
            consume_blocking()
    assert [chunk for chunk in seen if "double" in chunk] == [{"double": 6}] or not world.asyncio


def test_leaving_early_stops_the_run_and_leaves_it_resumable(world: World) -> None:
    """Whoever leaves the loop stops the run at its next task; `invoke(None)` goes on and repeats nothing."""

    @world.task
    async def inc(x: int) -> int:
        world.ran.append(x)
        return x + 1

    @world.entrypoint
    async def wf(x: int) -> int:
        for _ in range(3000):
            x = await world.value(inc(x))
        return x

    assert world.first(wf, 0, thread_id="t") == {"inc": 1}
    stopped_at = len(world.ran)
    assert world.invoke(wf, None, thread_id="t") == 3000
    assert stopped_at < 3000
    repeated = len(world.ran) - len(set(world.ran))
    assert repeated <= 1
    assert world.saver.thread("t").status == "done"  # type: ignore[union-attr]


@pytest.mark.parametrize("collected", [True, False])
def test_a_stream_that_ends_within_its_own_run_is_not_waited_for(collected: bool) -> None:
    """The collector finds it there, or the run's code drops it: the run would wait for itself."""
    left = Event()
    kept: list[Any] = []

    @task
    def first() -> int:
        return 1

    @task
    def second() -> int:
        left.wait()
        kept.clear()
        gc.collect()
        return 2

    @entrypoint(checkpointer=MemorySaver())
    def wf(x: int) -> int:
        first().result()
        return second().result()

    def leave() -> None:
        stream = wf.stream(1, thread_id="t")
        assert next(stream) == {"first": 1}
        holder: list[Any] = [stream]
        if collected:
            holder.append(holder)
        kept.append(holder)

    leave()
    left.set()
    assert wf.invoke(None, thread_id="t") == 2


def test_a_call_that_is_not_recorded_has_one_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for it at once: the reader of the stream, and the thread that says whose an error is."""
    asking = Barrier(2)
    made = ThreadHost.new_id

    def made_together(host: ThreadHost, after: str = "") -> str:
        if current_thread().name.startswith("asks"):
            asking.wait(10)
        return made(host, after)

    @task
    def step() -> int:
        frame = current_frame.get()
        assert frame is not None
        with ThreadPoolExecutor(2, thread_name_prefix="asks") as threads:
            ids.update(threads.map(lambda _: frame.call.id, range(2)))
        return 1

    @entrypoint()
    def wf(n: int) -> int:
        return step().result()

    ids: set[str] = set()
    monkeypatch.setattr(ThreadHost, "new_id", made_together)
    started, *_ = [part["id"] for part in wf.stream(1, stream_mode="tasks") if part["name"] == "step"]
    assert ids == {started}


def test_a_question_is_shown_with_its_id(world: World) -> None:
    """The question in the stream is the one that `invoke` returns and the state shows."""
    wf = increasing(world)
    chunks = world.stream(wf, 10, thread_id="t")
    assert chunks[-1] == {"__interrupt__": world.state(wf, "t").interrupts}
    assert isinstance(chunks[-1]["__interrupt__"][0], Interrupt)
    assert tuple(questions(world.invoke(wf, None, thread_id="t"))) == chunks[-1]["__interrupt__"]
