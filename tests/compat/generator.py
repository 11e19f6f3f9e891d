"""Random programs as plain data: graphs, nested ones among them, and what a user does with their threads.

Rule: a seed is a program, and LangGraph does the same each time that it runs it. So a program keeps away from what
LangGraph leaves to chance, and from what COMPATIBILITY.md lists; each restriction is in `restrict`, with its reason.
What a node does depends on how long its state's list `x` is, and so does every choice of a router: nothing in a
program is random once it is made.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

MODES = ("values", "updates", "tasks", "checkpoints", "debug", "custom", "messages")
KEYS = {"n": 0.2, "s": 0.25, "d": 0.25, "m": 0.1, "o": 0.2}
"""How often a state has each key beside `x`; `player.hints` says of which kind each is."""
PRIVATE = ("p", "q")
"""Keys that no state has, but the schemas of some inputs and nodes."""
FORMS = ("dict",) * 8 + ("none", "empty", "unknown", "pairs", "command", "command", "commands")
FORMS += ("dataclass", "pydantic")
OPERATIONS = ("go",) * 6 + ("given", "update", "update", "bulk", "replay", "replay", "fork", "fork")
OPERATIONS += ("state", "history", "command", "branch", "delete")
INSIDE = ("state", "history", "update", "replay", "fork")
"""What is done in a nested graph's thread, by an operation "inside"."""
SIEVES = ("source", "step", "before", "limit")
STEPS = 12
"""The recursion limit of a run: a cycle without an exit is an error, and no more than that."""


@dataclass(frozen=True)
class Sent:
    """A `Send`, with a state of its own, or with the `whole` list of the sender's."""

    node: str
    whole: bool


Target = str | Sent


@dataclass
class Router:
    """A conditional edge: one of its options, by the length of the list, or the end beyond `bound`."""

    source: str
    options: list[list[Target]]
    bound: int
    mapped: bool
    """Whether it returns other names than the nodes', and has a path map."""
    knows: bool = False
    """Whether it decides by the configuration, and by the steps that remain where the state has them, too."""


@dataclass
class Node:
    """A function of the state, a nested graph, or a function that `calls` a nested graph so many times."""

    name: str
    graph: Graph | None = None
    calls: int = 0
    defers: bool = False
    says: bool = False
    asks: int = 0
    fails: int = 0
    attempts: int = 1
    cached: bool = False
    form: str = "dict"
    writes: list[str] = field(default_factory=lambda: ["x"])
    goto: list[Target] = field(default_factory=list)
    parent: bool = False
    """Whether its command is for the graph around."""
    bound: int = 6
    schema: str = "typed"
    reads: list[str] | None = None
    """The keys of its own schema, of the kind `schema`; None for the graph's."""
    knows: bool = False
    """Whether it tells of the context, the configuration, and the steps that remain where the state has them."""
    stores: bool = False
    """Whether it tells of what it put into the store when it ran before, and puts something there."""
    overwrites: bool = False
    """Whether its update replaces what its key with a reducer had."""
    says_messages: str = "dict"
    """What its messages are: dicts, objects, or a removal of all."""
    handler: list[Target] | None = None
    """Where the handler of its errors goes, if it has one."""
    policies: int = 1
    """How many retry policies it has, each for other errors."""


@dataclass
class Graph:
    """What a `StateGraph` is made of; `checkpointer` counts where it is nested."""

    schema: str
    keys: list[str]
    nodes: dict[str, Node]
    edges: list[tuple[str, str]] = field(default_factory=list)
    joins: list[tuple[list[str], str]] = field(default_factory=list)
    routers: list[Router] = field(default_factory=list)
    input: list[str] | None = None
    output: list[str] | None = None
    checkpointer: bool | None = None
    stops: dict[str, list[str]] = field(default_factory=dict)
    counts: bool = False
    """Whether its state has the steps that remain."""


@dataclass
class Operation:
    """One thing that a user does with a thread. `options` are those of the call that it makes, if it makes one."""

    kind: str
    thread: str
    method: str
    options: dict[str, Any]
    as_node: str | None
    writes: list[str]
    at: int
    """Which of the checkpoints that it may go back to."""
    goto: list[Target]
    steps: list[list[str]]
    partly: bool
    """Whether it answers the first of several questions alone."""
    inside: str
    """Which of `INSIDE` it is, if it is done in a nested graph."""
    head: bool
    """Whether that nested graph is looked for where the thread stands, and not at an earlier checkpoint."""
    heard: bool
    """Whether callbacks are told of it."""
    anew: bool
    """Whether the graph is made anew before it, as in another process, on the same checkpointer."""
    sieve: list[str]
    """What picks of a history: a filter of its metadata, a checkpoint that it begins before, a limit."""


@dataclass
class Program:
    graph: Graph
    operations: list[Operation]
    by_id: bool
    """Whether also a single question is answered by its id."""


def program(seed: int) -> Program:
    """The program of a seed."""
    return Draw(seed).program()


def graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and all that are nested in it."""
    yield graph
    for node in graph.nodes.values():
        if node.graph is not None:
            yield from graphs(node.graph)


class Draw:
    """Everything that is drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def happens(self, probability: float) -> bool:
        return self.random.random() < probability

    def some(self, items: Sequence[str], low: int, high: int) -> list[str]:
        return self.random.sample(items, min(len(items), self.random.randint(low, high)))

    def one(self, *items: Any) -> Any:
        return self.random.choice(items)

    def program(self) -> Program:
        graph = self.graph("", self.one(0, 0, 1, 1, 2))
        for when in ("interrupt_before", "interrupt_after"):
            if self.happens(0.1):
                graph.stops[when] = self.some([*graph.nodes], 1, 2)
        operations = [self.operation(graph, nth) for nth in range(self.random.randint(2, 7))]
        for operation in operations[1:]:
            if len([*graphs(graph)]) > 1 and self.happens(0.35):
                operation.kind = "inside"
        made = Program(graph, operations, self.happens(0.5))
        for part in graphs(graph):
            self.insights(part)
        restrict(made)
        return made

    def insights(self, part: Graph) -> None:
        """What its code knows beside its state."""
        part.counts = part.schema == "typed" and self.happens(0.2)
        for one in (*part.nodes.values(), *part.routers):
            one.knows = self.happens(0.15)

    def graph(self, prefix: str, levels: int) -> Graph:
        count = self.one(1, 1, 2, 2, 3) if prefix else self.one(1, 2, 3, 3, 4, 4, 5)
        names = [prefix + letter for letter in "abcde"[:count]]
        keys = ["x", *(key for key, probability in KEYS.items() if self.happens(probability))]
        schema = "typed" if prefix else self.one(*["typed"] * 6, "dataclass", "pydantic")
        graph = Graph(schema, keys, {name: self.node(name, names, keys, levels) for name in names})
        if self.happens(0.15):
            graph.output = ["x", *self.some(keys[1:], 0, 2)]
        if self.happens(0.15):
            graph.input = ["x", *self.some([*keys[1:], *PRIVATE], 0, 2)]
        if prefix:
            graph.checkpointer = self.one(None, None, None, True, False)
            if self.happens(0.1):
                graph.stops[self.one("interrupt_before", "interrupt_after")] = self.some(names, 1, 1)
        self.connect(graph, names)
        return graph

    def connect(self, graph: Graph, names: list[str]) -> None:
        """Plain edges lead on, so that only routers, commands and few others make cycles."""
        if self.happens(0.12):
            graph.routers.append(self.router("__start__", names))
        else:
            starts = {names[0], *self.some(names, 0, 1)}
            graph.edges += [("__start__", name) for name in sorted(starts)]
        for place, name in enumerate(names):
            later = names[place + 1 :]
            ends = self.some(later, 1, 2) if later and self.happens(0.6) else self.some(["__end__"], 0, 1)
            graph.edges += [(name, end) for end in ends]
            if self.happens(0.03):
                graph.edges.append((name, self.one(*names)))
            if self.happens(0.25):
                graph.routers.append(self.router(name, names))
        if len(names) > 2 and self.happens(0.35):
            end = self.one(*names[2:])
            graph.joins.append((self.some([name for name in names if name != end], 2, 3), end))

    def router(self, source: str, names: list[str]) -> Router:
        options = [
            [self.target(["__end__", *names, *names]) for _ in range(self.one(0, 1, 1, 1, 2, 3))]
            for _ in range(self.random.randint(1, 3))
        ]
        return Router(source, options, self.one(4, 6, 8), self.happens(0.3))

    def target(self, names: Sequence[str]) -> Target:
        name: str = self.one(*names)
        return Sent(name, self.happens(0.5)) if name != "__end__" and self.happens(0.3) else name

    def node(self, name: str, names: list[str], keys: list[str], levels: int) -> Node:
        node = Node(name, defers=self.happens(0.1), cached=self.happens(0.1))
        if levels and self.happens(0.4):
            node.graph, node.calls = self.graph(name, levels - 1), self.one(0, 0, 1, 1, 2)
        node.asks = self.one(1, 1, 2) if self.happens(0.15) else 0
        node.fails = self.one(1, 2) if self.happens(0.15) else 0
        node.attempts = self.one(2, 3) if self.happens(0.5 if node.fails else 0.1) else 1
        node.policies = self.one(1, 2)
        if self.happens(0.4 if node.fails else 0.05):
            node.handler = [self.target(names) for _ in range(self.one(0, 0, 1))]
        node.stores, node.overwrites = self.happens(0.1), self.happens(0.1)
        node.says_messages = self.one("dict", "dict", "object", "object", "removal")
        node.form, node.says, node.bound = self.one(*FORMS), self.happens(0.1), self.one(4, 6, 8)
        node.writes = [
            "x",
            *self.some(keys[1:], 0, 2),
            *(self.some(PRIVATE, 1, 2) if self.happens(0.2) else ()),
        ]
        if self.happens(0.2):
            node.schema = self.one(*["typed"] * 4, "dataclass", "pydantic")
            node.reads = [*(["x"] if self.happens(0.8) else []), *self.some([*keys[1:], *PRIVATE], 1, 3)]
        if node.form in ("command", "commands"):
            node.goto = [self.target(["__end__", *names, *names]) for _ in range(self.one(0, 1, 1, 2))]
            if len(name) > 1 and self.happens(0.8):  # it is nested
                node.parent, node.goto = True, self.some([name[:-2] + letter for letter in "abc"], 0, 1)
        return node

    def operation(self, graph: Graph, nth: int) -> Operation:
        names, method = [*graph.nodes], self.one("invoke", "stream")
        kind = "given" if nth == 0 else self.one(*OPERATIONS)
        special = ("__end__", "__copy__", "__start__") if kind == "update" and self.happens(0.2) else ()
        return Operation(
            kind,
            thread=self.one("1", "1", "1", "2"),
            method=method,
            options=self.options(names, graph.keys, method),
            as_node=self.one(*special) if special else self.one(None, None, *names),
            writes=["x", *self.some(graph.keys[1:], 0, 1)],
            at=self.random.randint(0, 9),
            goto=[self.target(names) for _ in range(self.one(0, 1, 1, 2))],
            steps=[self.some(names, 1, 2) for _ in range(self.random.randint(1, 3))],
            partly=self.happens(0.15),
            inside=self.one(*INSIDE),
            head=self.happens(0.6),
            heard=self.happens(0.25),
            anew=self.happens(0.15),
            sieve=self.some(SIEVES, 0, 2),
        )

    def options(self, names: list[str], keys: list[str], method: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if method == "stream":
            options["stream_mode"] = self.one(*MODES) if self.happens(0.5) else self.some(MODES, 1, 3)
            options["subgraphs"] = self.happens(0.4)
        if self.happens(0.3):
            options["durability"] = self.one("sync", "async", "exit")
        for when in ("interrupt_before", "interrupt_after"):
            if self.happens(0.1):
                options[when] = self.one("*", self.some(names, 1, 2))
        if self.happens(0.15):
            options["version"] = "v2"
        if self.happens(0.1):
            options["output_keys"] = ["x", *self.some(keys[1:], 0, 2)]
        if self.happens(0.06):
            options["recursion_limit"] = self.random.randint(1, 4)
        return options


def restrict(made: Program) -> None:
    """Take out of a program what LangGraph leaves to chance, and what is known to differ."""
    parts = [*graphs(made.graph)]
    for part in parts:
        for inner in [*graphs(part)] if part.checkpointer is False else []:
            inner.checkpointer = (
                False if inner.checkpointer else inner.checkpointer
            )  # no memory in what stores nothing
    nodes = [node for part in parts for node in part.nodes.values()]
    fails = any(node.fails for node in nodes)
    for operation in made.operations:
        if fails and operation.method == "stream":
            operation.method, operation.options = "invoke", {}  # what is streamed beside a failure is chance
    calls = [operation.options for operation in made.operations]
    for node in [node for node in nodes if node.fails][1:]:
        node.fails = 0  # which of two errors is raised is chance
    for node in nodes:
        if node.graph is not None and node.reads is not None and not node.calls:
            node.reads = [*{"x": None, **dict.fromkeys(node.reads)}]  # a result is the state as it is
            node.schema = "typed"
        if node.graph is not None:
            node.attempts, node.fails, node.handler = (
                1,
                0,
                None,
            )  # a parent's retry keeps its children's results
    for part in parts[1:]:
        for node in part.nodes.values():
            node.cached = False  # nested graphs use the cache around
    for node in [node for node in nodes if node.overwrites][1:]:
        node.overwrites = False  # two in a superstep are refused
    for node in [node for node in nodes if node.cached]:
        node.stores = False
        node.cached = node.graph is None  # a cache tells functions apart, and that of a graph is its own
        # Whether a result is there for the next superstep is chance.
        node.says = node.says and not node.cached
        node.form = "dict" if node.form in ("none", "empty") else node.form
    if any(node.cached or node.stores or node.overwrites for node in nodes):
        _without_sends(made, nodes)  # equal calls at once run once, and which of others is first is chance
        for options in [options for options in calls if "stream_mode" in options]:
            options["stream_mode"] = _without_tasks(options["stream_mode"])
    if fails:
        for node in nodes:
            node.asks = 0  # an answered question is closed, and so is a failure that was made good
    for part in parts:
        for leaving in [node for node in part.nodes.values() if node.parent]:
            leaving.parent = len(part.nodes) == 1  # which of two leaves first is chance
            _send_nothing(part)
        for router in part.routers:
            nested = part.nodes[router.source].graph if router.source in part.nodes else None
            for inner in graphs(nested) if nested is not None else ():
                for node in inner.nodes.values():
                    node.parent = False  # a parent's command meets an async router
    if fails or any(part.checkpointer is True for part in parts):
        _without_sends(made, nodes)  # which task of a node fails first, or remembers first, is chance
    if any(part.checkpointer is True for part in parts):
        _only_whole_runs(made, nodes)
    if any(part.joins for part in parts):
        for part in parts:
            part.checkpointer = part.checkpointer or None
        for options in calls:
            options["durability"] = "sync"  # else a join's checkpoint is saved while the next step changes it
    if any(part.checkpointer is False for part in parts):
        made.by_id = False  # an answer by id reaches a graph that stores nothing
        for options in calls:
            options.pop("durability", None)  # "sync" is an AttributeError
            if "subgraphs" in options:
                options["subgraphs"] = False  # a graph that stores nothing has none in it that does
    seen = {key for part in parts for key in (*(part.input or ()), *(part.output or ()))}
    seen |= {key for node in nodes for key in node.reads or ()}
    if made.graph.schema == "dataclass" and seen & {*PRIVATE}:
        for options in calls:
            options.pop("version", None)  # a stream of version 2 makes the class of keys that it hasn't
    for options in calls:
        if made.graph.schema != "typed" and "version" in options and "subgraphs" in options:
            options["subgraphs"] = False  # values of a nested graph are of its own class
    commanded: set[str] = set()
    for operation in made.operations:
        if operation.thread in commanded:
            operation.kind = "state"  # what a command wrote there is lost by an update and a new input
        elif operation.kind == "command":
            commanded.add(operation.thread)
    for part in parts:
        if part.checkpointer is False:
            part.stops = {}  # no run of it gets beyond
            for node in part.nodes.values():
                node.asks = min(node.asks, 1)  # a second question is asked again, whatever the answer
            for node in nodes:
                node.calls = min(
                    node.calls, 1
                )  # an answer goes to the call that asks first, not to the one that asked
    for node in nodes:
        if node.asks and node.form == "empty":
            node.form = (
                "dict"  # an answered question is closed, and nothing tells that of a task without a result
            )
    if any(part.stops for part in parts[1:]):
        for node in nodes:
            node.asks = 0  # an answered question is closed, and LangGraph shows it beside a breakpoint
    waits = any(node.asks or node.fails for node in nodes) or any(part.stops for part in parts)
    waits |= any(
        {"recursion_limit", "interrupt_before", "interrupt_after"} & options.keys() for options in calls
    )
    deferred = [name for name, node in made.graph.nodes.items() if node.defers]
    for operation in made.operations:
        if operation.kind == "command" and deferred:
            operation.goto = []  # a deferred node that is due, and is gone to again, is due and isn't
        if waits:
            operation.goto = []  # what a command started is shown
        options = operation.options
        keeps = fails or len(parts) > 1 or "recursion_limit" in options or operation.kind == "command"
        if keeps and options.get("durability") == "exit":
            del options["durability"]  # durability exit keeps what finished
        if made.graph.joins and operation.as_node is None:
            operation.as_node = next(iter(made.graph.nodes))  # a node isn't ambiguous with itself


def _without_tasks(modes: str | list[str]) -> str | list[str]:
    """A cached task ends too."""
    if isinstance(modes, str):
        return "updates" if modes in ("tasks", "debug") else modes
    return [mode for mode in modes if mode not in ("tasks", "debug")] or ["updates"]


def _only_whole_runs(made: Program, nodes: list[Node]) -> None:
    """A memory is no result: of a graph with memory no run is resumed."""
    for part in graphs(made.graph):
        part.stops = {}
    for node in nodes:
        node.asks = node.fails = 0
        node.parent = False  # finished siblings of an abandoned superstep
    for operation in made.operations:
        for name in ("interrupt_before", "interrupt_after", "recursion_limit"):
            operation.options.pop(name, None)
        if operation.kind == "inside":
            operation.inside = "state" if operation.head else "history"
        elif operation.kind not in ("given", "state", "history", "replay", "fork"):
            operation.kind = "given"


def _send_nothing(part: Graph) -> None:
    for router in part.routers:
        router.options = [
            [target for target in option if isinstance(target, str)] for option in router.options
        ]
    for node in part.nodes.values():
        node.goto = [target for target in node.goto if isinstance(target, str)]


def _without_sends(made: Program, nodes: list[Node]) -> None:
    def named(targets: list[Target]) -> list[Target]:
        return [target.node if isinstance(target, Sent) else target for target in targets]

    for node in nodes:
        node.goto = named(node.goto)
    for router in [router for part in graphs(made.graph) for router in part.routers]:
        router.options = [named(option) for option in router.options]
    for operation in made.operations:
        operation.goto = named(operation.goto)
