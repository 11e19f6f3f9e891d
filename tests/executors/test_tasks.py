"""Tasks on executors: what runs elsewhere is the function; identity, records, retries and time stay with the run."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import (
    CachePolicy,
    InvalidInput,
    RetryPolicy,
    Runtime,
    TaskTimeout,
    UnshippableError,
    WorkerDied,
    current,
    entrypoint,
    gather,
    interrupt,
    task,
)
from flowfn.executors import ProcessExecutor
from flowfn.executors.opening import open_executor
from flowfn.hosts.threads import ThreadHost

QUICKLY = RetryPolicy(max_attempts=2, initial_interval=0.001, jitter=False)


@dataclass
class Receipt:
    total: int
    worker: int


class Declined(Exception):
    pass


class Refused(Exception):
    """Takes what `args` hasn't, and keeps it in a slot as well."""

    __slots__ = ("reason",)

    def __init__(self, *, code: int, reason: str) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.reason = reason


def note(file: Path, text: str) -> None:
    """Append a line: what ran, and how often, seen from outside the workers."""
    with file.open("a") as out:
        out.write(text + "\n")


def noted(file: Path) -> bool:
    return file.exists() and file.read_text().endswith("\n")


def local(**options: Any) -> Callable[[Any], Any]:
    """`@task` on a function that no name leads to, and that therefore travels by value."""
    return task(**options)


def run(executor: Any, body: Callable[[], Any], **options: Any) -> Any:
    return entrypoint(executor=executor, **options)(body).invoke({}, thread_id="t")


@pytest.mark.parametrize("how", ["task", "entrypoint", "run", "workflow"])
def test_where_an_executor_is_named(how: str, processes: ProcessExecutor) -> None:
    """On a task, on its entrypoint, in the config of a run, or for a copy of the workflow."""

    @local(executor=processes if how == "task" else None)
    def where() -> int:
        return os.getpid()

    @entrypoint(executor=processes if how == "entrypoint" else None)
    def workflow() -> int:
        return where().result()  # type: ignore[no-any-return]

    if how == "run":
        found = workflow.invoke({}, {"executor": processes})
    else:
        found = (workflow.with_executor(processes) if how == "workflow" else workflow)()
    assert found != os.getpid()


def test_values_come_back(executor: Executor) -> None:
    """Arguments go there and results come back as they are, in the order of the calls."""

    @local()
    def charge(total: int, *, tip: tuple[int, ...] = ()) -> Receipt:
        return Receipt(total + sum(tip), os.getpid())

    def body() -> list[Receipt]:
        return gather(*(charge(total, tip=(1, 2)) for total in range(8))).result()

    assert [receipt.total for receipt in run(executor, body)] == [3, 4, 5, 6, 7, 8, 9, 10]


def test_errors_come_back(executor: Executor) -> None:
    """The function's own error is raised here, with its type and arguments, and retried by its policy."""

    @local(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=Declined))
    def decline() -> None:
        raise Declined("card", current().attempt)

    with pytest.raises(Declined) as raised:
        run(executor, lambda: decline().result())
    assert raised.value.args == ("card", 3)


def test_an_error_goes_there_as_an_argument(executor: Executor) -> None:
    """Also one whose class can't be called with its `args`, as pickle does it."""

    @local()
    def told(errors: list[Refused]) -> list[Any]:
        return [(str(error), error.code, error.reason, type(error).__name__) for error in errors]

    refused = [Refused(code=5, reason="late")]
    assert run(executor, lambda: told(refused).result()) == [("code 5", 5, "late", "Refused")]


SCRIPT = """
from dataclasses import dataclass
from flowfn.serde import allow


@dataclass
class Loaf:
    grams: int


@allow
class Tray:
    def __init__(self, loaves):
        self.loaves = loaves


class Burnt(Exception):
    pass


@dataclass(slots=True)
class Bun:
    grams: int


def bake(grams):
    if grams > 1000:
        raise Burnt(grams)
    return Tray([Loaf(grams)])


def halve(bun):
    return Bun(bun.grams // 2)
"""


@pytest.fixture
def bakery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of a script that was started."""
    file, main = tmp_path / "bakery.py", ModuleType("__main__")
    file.write_text(SCRIPT)
    main.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(compile(SCRIPT, file, "exec"), vars(main))
    return main


def test_classes_of_the_script_come_back(executor: Executor, bakery: Any) -> None:
    """A worker that hasn't imported the script returns and raises what its classes made, those with `allow` as well."""
    bake = task(bakery.bake)
    tray = run(executor, lambda: bake(500).result(), checkpointer=MemorySaver())
    assert (type(tray), tray.loaves) == (bakery.Tray, [bakery.Loaf(500)])
    with pytest.raises(bakery.Burnt, match="1500"):
        run(executor, lambda: bake(1500).result(), checkpointer=MemorySaver())
    halve = task(bakery.halve)
    assert run(executor, lambda: halve(bakery.Bun(90)).result(), checkpointer=MemorySaver()) == bakery.Bun(45)


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "asyncio"])
def test_a_stop_iteration_from_a_worker_says_whose_it_is(processes: ProcessExecutor, is_async: bool) -> None:
    """No coroutine can raise it, so that it comes as a `RuntimeError`, as it does from a thread."""

    @local(executor=processes)
    def first(items: list[int]) -> int:
        return next(iter(items))

    @entrypoint(checkpointer=MemorySaver())
    def blocking() -> int:
        return first([]).result()

    @entrypoint(checkpointer=MemorySaver())
    async def waiting() -> int:
        return await first([])

    with pytest.raises(RuntimeError, match="'first' raised StopIteration"):
        asyncio.run(waiting()) if is_async else blocking()


@pytest.mark.parametrize("signal", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
@pytest.mark.parametrize("is_async", [False, True])
def test_what_ends_a_program_comes_back(
    executor: Executor, signal: type[BaseException], is_async: bool
) -> None:
    """`sys.exit()` and its kind stop the run, which can be resumed, wherever the task ran; the worker lives on."""
    signals, saver = [signal("over")], MemorySaver()

    @local()
    async def end_later(signals: list[BaseException]) -> int:
        raise signals[0]

    @local()
    def end(signals: list[BaseException]) -> int:
        raise signals[0]

    @entrypoint(checkpointer=saver, executor=executor)
    async def waiting() -> str:
        return "went on" if not signals else str(await end_later(signals))

    @entrypoint(checkpointer=saver, executor=executor)
    def blocking() -> str:
        return "went on" if not signals else str(end(signals).result())

    def invoke() -> Any:
        return asyncio.run(waiting.ainvoke(thread_id="t")) if is_async else blocking.invoke(thread_id="t")

    with pytest.raises(signal, match="over"):
        invoke()
    signals.clear()
    assert invoke() == "went on"


def test_async_tasks(executor: Executor) -> None:
    """A coroutine function runs on a loop of the worker's, and the caller's loop goes on meanwhile."""

    @local()
    async def double(x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    @entrypoint(executor=executor)
    async def workflow() -> list[int]:
        return list(await asyncio.gather(*(double(x) for x in range(4))))

    assert asyncio.run(workflow()) == [0, 2, 4, 6]


def test_generators(processes: ProcessExecutor) -> None:
    """What a generator task yields comes back as a list."""

    @local()
    def count(n: int) -> Any:
        yield from range(n)

    assert run(processes, lambda: count(3).result()) == [0, 1, 2]


def test_what_code_on_a_worker_knows(cluster: Executor) -> None:
    """`current()` and `runtime` have the call's name, attempt, thread and key; code there can't ask or stream."""

    @local()
    def look(runtime: Runtime[Any]) -> list[Any]:
        refused = []
        for act in (lambda: interrupt("?"), lambda: current().stream_writer(1)):
            try:
                act()
            except RuntimeError as error:
                refused.append(str(error).split(":")[0])
        key = current().idempotency_key
        return [
            current().name,
            runtime.thread_id,
            runtime.attempt,
            key == runtime.idempotency_key != "",
            refused,
        ]

    assert run(cluster, lambda: look().result(), checkpointer=MemorySaver()) == [
        "look",
        "t",
        1,
        True,
        ["interrupt() asks on behalf of a run", "a task on a worker has no stream to write to"],
    ]


def test_a_stream_writer_stays_here(processes: ProcessExecutor) -> None:
    """A task that names `writer` is refused on a worker, with what to write instead."""

    @local()
    def stream(writer: Any) -> None: ...

    with pytest.raises(InvalidInput, match="executor='threads'"):
        run(processes, lambda: stream().result())


def test_a_recorded_result_is_not_computed_again(cluster: Executor, tmp_path: Path) -> None:
    """G1: what a worker returned is recorded here; a resumed run reuses it, and sends nothing."""
    ran, saver, failing = tmp_path / "ran", MemorySaver(), [True]

    @local()
    def step(x: int) -> int:
        note(ran, str(x))
        return x + 1

    def body() -> int:
        found = step(1).result()
        if failing:
            failing.pop()
            raise ConnectionError("lost")
        return found  # type: ignore[no-any-return]

    workflow = entrypoint(executor=cluster, checkpointer=saver)(body)
    with pytest.raises(ConnectionError):
        workflow.invoke({}, thread_id="t")
    assert workflow.invoke(None, thread_id="t") == 2
    assert ran.read_text() == "1\n"


def test_a_dead_worker_is_a_failed_attempt(cluster: Executor, tmp_path: Path) -> None:
    """A worker is killed in the middle: without a policy the task fails, and nobody runs it again behind our back."""
    ran = tmp_path / "ran"

    @local()
    def die() -> None:
        note(ran, "began")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(WorkerDied, match=r"die\(\) died, or was lost"):
        run(cluster, lambda: die().result())
    assert ran.read_text() == "began\n"


def test_a_dead_worker_is_retried_by_the_policy(cluster: Executor, tmp_path: Path) -> None:
    """Of several tasks one's worker is killed: it runs again, the others' results are as they were."""
    ran = tmp_path / "ran"

    @local(retry_policy=QUICKLY)
    def work(x: int) -> int:
        note(ran, str(x))
        if x == 3 and ran.read_text().split().count("3") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return x * x

    def body() -> list[int]:
        return gather(*(work(x) for x in range(6))).result()

    assert run(cluster, body, retry_policy=QUICKLY) == [0, 1, 4, 9, 16, 25]
    assert ran.read_text().split().count("3") == 2


def test_a_broken_pool_is_a_failed_attempt() -> None:
    """The standard library's pool breaks whole when a process dies; that is told apart from the task's own errors."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    @local()
    def die() -> None:
        os._exit(1)

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(WorkerDied):
        run(pool, lambda: die().result())


@pytest.mark.parametrize("pool", [ProcessExecutor, ThreadPoolExecutor])
def test_an_executor_that_is_shut_down_answers(pool: Callable[[int], Executor], tmp_path: Path) -> None:
    """What it cancels fails and says so; it isn't waited for, nor taken for a cancellation of the run."""
    begun = tmp_path / "begun"

    @local()
    def busy() -> None:
        note(begun, "!")
        time.sleep(0.1)

    def shut_down() -> None:
        while not noted(begun):
            time.sleep(0.005)
        executor.shutdown(wait=False, cancel_futures=True)

    executor = pool(1)
    shutting = threading.Thread(target=shut_down)
    shutting.start()
    with pytest.raises(UnshippableError, match=rf"{pool.__name__} .* busy\(\)"):
        run(executor, lambda: gather(*(busy() for _ in range(8))).result())
    shutting.join()


async def test_an_executor_that_is_shut_down_answers_coroutines(tmp_path: Path) -> None:
    """In asyncio likewise: nobody has cancelled the caller."""
    begun = tmp_path / "begun"

    @local()
    async def busy() -> None:
        note(begun, "!")
        time.sleep(0.1)

    async def body() -> None:
        calls = [busy() for _ in range(8)]
        while not noted(begun):
            await asyncio.sleep(0.005)
        executor.shutdown(wait=False, cancel_futures=True)
        await gather(*calls)

    executor = ProcessExecutor(1)
    with pytest.raises(UnshippableError, match=r"ProcessExecutor cancelled busy\(\)"):
        await entrypoint(executor=executor)(body).ainvoke({}, thread_id="t")


def test_a_timeout_kills_the_process() -> None:
    """A sync function over its time is killed, not left behind; the next one has another process."""

    @local(timeout=0.2)
    def hang(seconds: float) -> int:
        time.sleep(seconds)
        return os.getpid()

    with ProcessExecutor(1) as executor:
        warm = hang.with_options(timeout=60)  # the first call there imports this module
        killed = run(executor, lambda: warm(0).result())
        with pytest.raises(TaskTimeout, match="its worker was stopped"):
            run(executor, lambda: hang(600).result())
        with pytest.raises(ProcessLookupError):
            os.kill(killed, 0)
        assert run(executor, lambda: warm(0).result()) != killed


def test_time_counts_from_the_start(processes: ProcessExecutor) -> None:
    """What waits for a free worker isn't late yet."""

    @local(timeout=2)
    def brief(x: int) -> int:
        time.sleep(0.3)
        return x

    assert run(processes, lambda: gather(*(brief(x) for x in range(16))).result()) == list(range(16))


def test_cancelling_kills_the_process(tmp_path: Path) -> None:
    """`future.cancel()` stops a function that runs in a process, and it isn't tried again."""
    pids = tmp_path / "pids"

    @local(retry_policy=QUICKLY)
    def hang() -> None:
        note(pids, str(os.getpid()))
        time.sleep(600)

    def body() -> bool:
        future = hang()
        while not noted(pids):
            time.sleep(0.005)
        stopped = future.cancel()
        with pytest.raises(CancelledError):
            future.result()
        return stopped  # type: ignore[no-any-return]

    with ProcessExecutor(1) as executor:
        assert run(executor, body)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


async def test_cancelling_a_coroutine_kills_the_process(tmp_path: Path) -> None:
    """An asyncio run that is cancelled stops what its async tasks run in processes."""
    pids = tmp_path / "pids"

    @local()
    async def hang() -> None:
        note(pids, str(os.getpid()))
        time.sleep(600)

    @entrypoint
    async def workflow() -> None:
        await hang()

    executor = ProcessExecutor(1)
    running = asyncio.create_task(workflow.with_executor(executor)())
    while not noted(pids):
        await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    executor.shutdown()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


def test_a_captured_task_stays_a_task(cluster: Executor) -> None:
    """A task that a shipped function closes over comes along whole: with its retries, its cache, its timeout."""
    attempts: list[int] = []

    @local(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=Declined))
    def inner(x: int) -> int:
        attempts.append(x)
        if len(attempts) < 3:
            raise Declined("not yet")
        return len(attempts)

    @local()
    def outer() -> list[Any]:
        return [type(inner).__name__, inner(7).result()]

    assert run(cluster, lambda: outer().result()) == ["Task", 3]
    assert attempts == []


@pytest.mark.parametrize("named", [False, True], ids=["object", "name"])
def test_what_a_task_calls_on_a_worker_runs_there(cluster: Executor, named: bool) -> None:
    """Tasks that name an executor, of a workflow that names one too: else each would wait for another worker."""
    executor: Any = "processes" if named else cluster

    @local(executor=executor)
    def where() -> int:
        return os.getpid()

    @entrypoint(executor=executor)
    def workflow() -> list[int]:
        return gather(where(), where(), where()).result()

    @local()
    def outer() -> list[int]:
        return [os.getpid(), where().result(), *workflow()]

    found = run(cluster, lambda: outer().result())
    assert found == found[:1] * 5
    assert found[0] != os.getpid()


def test_a_captured_workflow_stays_durable(processes: ProcessExecutor, tmp_path: Path) -> None:
    """A workflow that a shipped function calls keeps its runs where its checkpointer says, from the worker."""
    path = str(tmp_path / "runs.db")

    @local()
    def step(x: int) -> int:
        return x + 1

    @entrypoint(checkpointer=path)
    def child(x: int) -> int:
        return step(x).result()  # type: ignore[no-any-return]

    @local()
    def outer() -> int:
        found: int = child.invoke(4, thread_id="there")
        return found

    assert run(processes, lambda: outer().result()) == 5
    assert child.get_state(thread_id="there").values == 5


def test_a_task_that_was_called_here_travels_as_before(processes: ProcessExecutor) -> None:
    """What was found out about it here, as the code behind its cached results, stays here."""

    @local(cache_policy=CachePolicy())
    def helper(x: int) -> int:
        return x + 1

    @local(executor=processes)
    def outer(x: int) -> int:
        return helper(x).result() * 10  # type: ignore[no-any-return]

    assert run(None, lambda: (helper(5).result(), outer(3).result())) == (6, 40)


def test_what_cannot_travel(processes: ProcessExecutor) -> None:
    """A lock in an argument is refused here, at once, and says what to do."""

    @local(retry_policy=QUICKLY)
    def guarded(lock: Any) -> None: ...

    with pytest.raises(UnshippableError, match="make connections and locks inside the task"):
        run(processes, lambda: guarded(threading.Lock()).result())


def test_what_cannot_be_stored(processes: ProcessExecutor) -> None:
    """A result that can't be restored exactly is an error of the task's author, found on the worker."""
    from flowfn import SerializationError

    @local()
    def opened() -> Any:
        return threading.Lock()

    with pytest.raises(
        SerializationError, match=r"^the result of task .* is of type .* and cannot be stored"
    ):
        run(processes, lambda: opened().result())


def test_a_module_that_the_worker_lacks(processes: ProcessExecutor) -> None:
    """A task of a module that can't be imported there says so."""
    import sys
    from types import ModuleType

    module = sys.modules["only_here"] = ModuleType("only_here")
    exec("from flowfn import task\n@task\ndef f(x): return x", vars(module))
    try:
        with pytest.raises(UnshippableError, match="register_pickle_by_value"):
            run(processes, lambda: module.f(1).result())
    finally:
        del sys.modules["only_here"]


def test_outside_a_run(processes: ProcessExecutor) -> None:
    """A task with an executor runs there outside any run too."""

    @local(executor=processes)
    def where() -> int:
        return os.getpid()

    assert where().result() != os.getpid()


def test_nested_workflows_inherit(processes: ProcessExecutor) -> None:
    """A workflow inside another runs its tasks where the outer one does, unless it says otherwise itself."""

    @local()
    def where() -> int:
        return os.getpid()

    @entrypoint
    def child() -> int:
        return where().result()  # type: ignore[no-any-return]

    @entrypoint(executor="threads")
    def at_home() -> int:
        return where().result()  # type: ignore[no-any-return]

    there, here = run(processes, lambda: [child(), at_home()])
    assert here == os.getpid() != there


@pytest.mark.parametrize("wrong", [3, "process", "dask://", "http://x", object()])
def test_what_is_no_executor(wrong: Any) -> None:
    """Anything else is refused where it is written, with what can be passed."""
    for use in (
        lambda: task(executor=wrong),
        lambda: entrypoint(executor=wrong),
        lambda: entrypoint(lambda: None).invoke({}, {"executor": wrong}),
    ):
        with pytest.raises(InvalidInput, match="is not an executor"):
            use()


def test_names() -> None:
    """A name is the same executor each time; "threads" is the default."""
    assert open_executor("threads") is None
    found = open_executor("processes")
    assert found is open_executor("processes")
    assert isinstance(found, ProcessExecutor)


def test_a_call_that_a_pools_own_thread_runs_needs_no_other_of_its_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only thread of the pool waits for a call that nobody has begun, and so runs it where it is."""
    monkeypatch.setattr(ThreadHost, "start", lambda host, future: None)  # no worker comes first

    @task
    def child(x: int) -> int:
        seen.append(threading.get_ident())
        return 2 * x

    @task
    def parent(x: int) -> int:
        seen.append(threading.get_ident())
        return child(x).result() + child.map([x])[0].result()

    seen: list[int] = []
    with ThreadPoolExecutor(1) as pool:

        @entrypoint(executor=pool)
        def wf(x: int) -> int:
            return parent(x).result()

        assert wf(1) == 4
    assert len(set(seen)) == 1
