"""W5, W6, W7: graphs: a chain of nodes, one with a state of 1,000 keys, a fan-out to subgraphs by Send.

And W13, W14, which `graph_compat` has to hold: a chain with a state of 500 keys, each written by one node; a fan-out of
as many Sends as a run has tasks. W15 is W5 for a caller who reads the update of each node.
"""

import operator
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from benchmarks import floor, peers, postgres
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import timed

KEYS, FEWER_KEYS = 1000, 500
SUBGRAPH = 3
"""Nodes of a subgraph."""

Result = Callable[[Any], int]
"""What a run of a graph came to, of its final state: how many nodes ran."""


class Count(TypedDict):
    """A state of one number."""

    number: int


class Sum(TypedDict):
    """A state of what many nodes add up to."""

    size: int
    number: Annotated[int, operator.add]


class Number(TypedDict):
    """What is left of it at the end."""

    number: Annotated[int, operator.add]


class Items(TypedDict):
    """A state of what many nodes write, and how many there are."""

    size: int
    items: Annotated[list[int], operator.add]


@dataclass(frozen=True)
class Workload:
    """A graph for any subject, its input, and how to read its final state."""

    name: str
    build: Callable[[Api, int], Any]
    given: Callable[[int], Any]
    result: Result
    unit: str = "µs/node"
    share: int = 1
    """One node for how many of a run's size."""
    storages: tuple[str, ...] = (peers.NONE, peers.PROCESS)
    together: bool = False
    """Whether all nodes may be committed at once, and the figure is of all of them."""
    streams: bool = False
    """Whether the caller reads each node's update; how many there are is the result."""

    def figure(self, seconds: float, nodes: int) -> float:
        """In the workload's unit."""
        return seconds * 1e3 if self.together else seconds / nodes * 1e6

    def outcome(self, graph: Any, given: Any, config: dict[str, Any], options: Mapping[str, Any]) -> int:
        """What a run comes to."""
        if self.streams:
            return sum(1 for _ in graph.stream(given, config, stream_mode="updates", **options))
        return self.result(graph.invoke(given, config, **options))


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


def zeros(keys: int) -> dict[str, int]:
    """A state of that many keys."""
    return {f"key{number}": 0 for number in range(keys)}


def keyed(keys: int, api: Api, size: int) -> Any:
    """Each node reads the whole state of that many keys, and adds one to one of them."""

    def step(number: int) -> Callable[[Any], Any]:
        key = f"key{number % keys}"
        return lambda state: {key: state[key] + 1}

    return chain(api, size, TypedDict("Keys", dict.fromkeys(zeros(keys), int)), step)  # type: ignore[misc]


def fan(api: Api, size: int) -> Any:
    """A subgraph for each of many Sends; its last node writes to the state of both."""
    inner = api.graph.StateGraph(Sum, output_schema=Number)
    names = [f"inner{number}" for number in range(SUBGRAPH)]
    for name in names[:-1]:
        inner.add_node(name, lambda state: {"size": state["size"] + 1})
    inner.add_node(names[-1], lambda state: {"number": 1})
    for before, after in zip([api.graph.START, *names], names, strict=False):
        inner.add_edge(before, after)
    builder = api.graph.StateGraph(Sum)
    builder.add_node("node", inner.compile())
    builder.add_conditional_edges(api.graph.START, partial(_sends, api), ["node"])
    return builder


def _sends(api: Api, state: Any) -> list[Any]:
    return [api.send("node", {"size": number, "number": 0}) for number in range(state["size"])]


def sending(api: Api, size: int) -> Any:
    """A call of one node for each of many Sends, each of which writes an item to a list."""
    builder = api.graph.StateGraph(Items)
    builder.add_node("node", lambda sent: {"items": [sent["size"]]})
    builder.add_conditional_edges(api.graph.START, partial(_sends, api), ["node"])
    return builder


WORKLOADS = (
    Workload(
        "W5 sequential nodes",
        counting,
        lambda size: {"number": 0},
        lambda state: int(state["number"]),
        storages=(peers.NONE, peers.MEMORY, peers.PROCESS, peers.POSTGRES),
    ),
    Workload(
        f"W6 sequential nodes, {KEYS} keys",
        partial(keyed, KEYS),
        lambda size: zeros(KEYS),
        lambda state: sum(state.values()),
        share=10,
    ),
    Workload(
        "W7 fan-out to subgraphs",
        fan,
        lambda size: {"size": size, "number": 0},
        lambda state: int(state["number"]),
        unit="ms",
        share=10,
        together=True,
    ),
    Workload(
        f"W13 sequential nodes, {FEWER_KEYS} keys",
        partial(keyed, FEWER_KEYS),
        lambda size: zeros(FEWER_KEYS),
        lambda state: sum(state.values()),
        share=2,
    ),
    Workload(
        "W14 fan-out of Sends",
        sending,
        lambda size: {"size": size, "items": []},
        lambda state: len(state["items"]),
        unit="ms",
        together=True,
    ),
    Workload(
        "W15 sequential nodes, streamed",
        counting,
        lambda size: {"number": 0},
        lambda state: int(state["number"]),
        storages=(peers.NONE, peers.MEMORY, peers.PROCESS),
        streams=True,
    ),
)


def cases() -> Iterator[Case]:
    """Each workload on its storages: first the floor, then the subjects that have graphs."""
    for workload in WORKLOADS:
        for storage in workload.storages:
            yield floor.case(workload.name, storage, workload.unit, partial(raw, workload))
            for api in (peers.graph_compat(), peers.langgraph()):
                yield api.case(workload.name, storage, workload.unit, partial(run, workload))


def run(workload: Workload, api: Api, storage: Storage, directory: Path, size: int) -> float:
    """One run, without the definition, its compilation and the opening of the saver."""
    nodes = size // workload.share
    config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": nodes + 10}
    with storage.open(directory / "runs.db") as saver:
        graph = workload.build(api, nodes).compile(checkpointer=saver)
        given = workload.given(nodes)
        seconds = timed(lambda: workload.outcome(graph, given, config, storage.options), nodes)
        return workload.figure(seconds, nodes)


def raw(workload: Workload, storage: str, directory: Path, size: int) -> float:
    """A function call per node that changes a dict of the state's size, and where it is kept, a committed row."""
    nodes = size // workload.share
    batch = nodes if workload.together else 1
    state = workload.given(nodes)

    def measured(commit: Callable[[list[bytes]], None]) -> float:
        return workload.figure(timed(lambda: calls(state, nodes, commit, batch), nodes), nodes)

    if storage == peers.NONE:
        return measured(lambda values: None)
    if storage == peers.MEMORY:
        kept: list[bytes] = []
        return measured(kept.extend)
    if storage == peers.POSTGRES:
        with postgres.database() as connection:
            return measured(partial(postgres.commit, connection))
    with floor.database(directory / "runs.db", floor.SYNCHRONOUS[storage]) as connection:
        return measured(partial(floor.commit, connection))


def calls(state: dict[str, int], size: int, commit: Callable[[list[bytes]], None], batch: int) -> int:
    for number in range(size):
        state = {**state, **step(number)}
        if (number + 1) % batch == 0:
            commit([b"%d" % number] * batch)
    return state["last"] + 1


def step(number: int) -> dict[str, int]:
    return {"last": number}
