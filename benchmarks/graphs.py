"""W5, W6, W7: graphs, in µs per node that runs: a chain of nodes, one with a state of 500 keys, a fan-out of Sends."""

import operator
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from benchmarks import floor, peers
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import timed

UNIT = "µs/node"
KEYS = 500

Result = Callable[[Any], int]
"""What a run of a graph came to, of its final state: how many nodes ran."""


class Count(TypedDict):
    """A state of one number."""

    number: int


class Sum(TypedDict):
    """A state of what many nodes add up to."""

    size: int
    number: Annotated[int, operator.add]


Keys = TypedDict("Keys", {f"key{number}": int for number in range(KEYS)})  # type: ignore[misc]


@dataclass(frozen=True)
class Workload:
    """A graph for any subject, its input, and how to read its final state."""

    name: str
    build: Callable[[Api, int], Any]
    given: Callable[[int], Any]
    result: Result
    together: bool = False
    """Whether all nodes may be committed at once."""


def chain(api: Api, size: int, state: Any, step: Callable[[int], Callable[[Any], Any]]) -> Any:
    """Nodes one after the other."""
    builder = api.graph.StateGraph(state)
    names = [f"node{number}" for number in range(size)]
    for number, name in enumerate(names):
        builder.add_node(name, step(number))
    for before, after in zip([api.graph.START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder


def counting(api: Api, size: int) -> Any:
    """Each node adds one."""
    return chain(api, size, Count, lambda number: lambda state: {"number": state["number"] + 1})


def keyed(api: Api, size: int) -> Any:
    """Each node reads the whole state, and adds one to one of its keys."""

    def step(number: int) -> Callable[[Any], Any]:
        key = f"key{number % KEYS}"
        return lambda state: {key: state[key] + 1}

    return chain(api, size, Keys, step)


def fan(api: Api, size: int) -> Any:
    """A node for each of many Sends."""
    builder = api.graph.StateGraph(Sum)
    builder.add_node("node", lambda number: {"number": 1})
    sends = partial(_sends, api)
    builder.add_conditional_edges(api.graph.START, sends, ["node"])
    return builder


def _sends(api: Api, state: Sum) -> list[Any]:
    return [api.send("node", number) for number in range(state["size"])]


WORKLOADS = (
    Workload("W5 sequential nodes", counting, lambda size: {"number": 0}, lambda state: int(state["number"])),
    Workload(
        f"W6 sequential nodes, {KEYS} keys",
        keyed,
        lambda size: {f"key{number}": 0 for number in range(KEYS)},
        lambda state: sum(state.values()),
    ),
    Workload(
        "W7 fan-out of Sends",
        fan,
        lambda size: {"size": size, "number": 0},
        lambda state: int(state["number"]),
        together=True,
    ),
)


def cases() -> Iterator[Case]:
    """Without checkpointer and on SQLite: first the floor, then the subjects."""
    for workload in WORKLOADS:
        for storage, survives in ((peers.NONE, "nothing"), (peers.PROCESS, "process death")):
            yield Case(workload.name, storage, "floor", UNIT, survives, partial(raw, workload, storage))
            for api in peers.subjects():
                yield case(api, workload, storage)


def case(api: Api, workload: Workload, storage: str) -> Case:
    given = api.storages.get(storage)
    if given is None or api.graph is None:
        return Case(workload.name, storage, api.name, UNIT, "", None)
    return Case(workload.name, storage, api.name, UNIT, given.survives, partial(run, api, workload, given))


def run(api: Api, workload: Workload, storage: Storage, directory: Path, size: int) -> float:
    """One run, without the definition, its compilation and the opening of the saver."""
    config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": size + 10}
    with storage.open(directory / "runs.db") as saver:
        graph = workload.build(api, size).compile(checkpointer=saver)
        given = workload.given(size)
        options = storage.options
        return timed(lambda: workload.result(graph.invoke(given, config, **options)), size) / size * 1e6


def raw(workload: Workload, storage: str, directory: Path, size: int) -> float:
    """A function call per node that changes a dict, and where there is a storage, a committed row."""
    if storage == peers.NONE:
        return timed(lambda: calls(size, lambda values: None, size), size) / size * 1e6
    with floor.database(directory / "runs.db", floor.SYNCHRONOUS[storage]) as connection:
        batch = size if workload.together else 1
        return timed(lambda: calls(size, partial(floor.commit, connection), batch), size) / size * 1e6


def calls(size: int, commit: Callable[[list[bytes]], None], batch: int) -> int:
    state = {"number": 0}
    for number in range(size):
        state |= step(state)
        if (number + 1) % batch == 0:
            commit([b"%d" % number] * batch)
    return state["number"]


def step(state: dict[str, int]) -> dict[str, int]:
    return {"number": state["number"] + 1}
