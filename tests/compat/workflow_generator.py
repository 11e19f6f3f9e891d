"""Random workflows as plain data: entrypoints, their tasks, what those call, and what a user does with their threads.

Rule: as in `generator`. What a function does next depends on how long the list is of what it has heard so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .generator import SIEVES, Draw, Graph, Operation, Program, graphs, restrict

KINDS = ("call",) * 4 + (
    "gather",
    "gather",
    "later",
    "ask",
    "say",
    "catch",
    "branch",
    "loop",
    "child",
    "graph",
    "fail",
)
OPERATIONS = ("go",) * 5 + ("given", "replay", "branch", "state", "history", "delete")
MODES = ("values", "updates", "tasks", "checkpoints", "debug", "custom")


@dataclass
class Step:
    """A statement: calls of tasks, one after another or side by side, a question, a loop, and so on."""

    kind: str
    tasks: list[str] = field(default_factory=list)
    body: list[Step] = field(default_factory=list)
    times: int = 1
    child: Workflow | None = None
    graph: Graph | None = None


@dataclass
class Function:
    """A task, or an entrypoint's function."""

    name: str
    body: list[Step]
    fails: int = 0
    attempts: int = 1
    cached: bool = False


@dataclass
class Workflow:
    """An entrypoint with its tasks, which may call each other: a task those before it."""

    main: Function
    tasks: dict[str, Function]
    ends: str
    """How it returns what it heard: as it is, or saving something else for the next run."""
    remembers: bool
    """Whether it looks at what the run before it saved."""


@dataclass
class WorkflowProgram(Program):
    workflow: Workflow


def workflow_program(seed: int) -> WorkflowProgram:
    """The program of a seed."""
    return _DrawWorkflow(seed).workflow_program()


def steps(body: list[Step]) -> Iterator[Step]:
    """The steps and all that are in them, without those of the tasks that they call."""
    for step in body:
        yield step
        yield from steps(step.body)


def functions(workflow: Workflow) -> Iterator[Function]:
    """All functions of a workflow, and of those that it calls."""
    for function in (workflow.main, *workflow.tasks.values()):
        yield function
        for step in steps(function.body):
            if step.child is not None:
                yield from functions(step.child)


def all_steps(workflow: Workflow) -> Iterator[Step]:
    for function in functions(workflow):
        yield from steps(function.body)


class _DrawWorkflow(Draw):
    def workflow_program(self) -> WorkflowProgram:
        workflow = self.workflow("", 1)
        operations = [self.workflow_operation(nth) for nth in range(self.random.randint(2, 6))]
        made = WorkflowProgram(Graph("typed", ["x"], {}), operations, self.happens(0.5), workflow)
        _restrict(made)
        return made

    def workflow(self, prefix: str, levels: int) -> Workflow:
        tasks: dict[str, Function] = {}
        for letter in "abcd"[: self.one(1, 2, 3, 3, 4)]:
            name = f"{prefix}{letter}"
            task = Function(name, self.body([*tasks], 0, self.one(0, 0, 1, 2), prefix))
            task.fails = self.one(1, 2) if self.happens(0.15) else 0
            task.attempts = self.one(2, 3) if self.happens(0.6 if task.fails else 0.1) else 1
            task.cached = self.happens(0.1)
            tasks[name] = task
        main = Function(f"{prefix}main", self.body([*tasks], levels, self.one(1, 2, 3, 4), prefix))
        return Workflow(main, tasks, self.one("value", "value", "final", "nothing"), self.happens(0.4))

    def body(self, tasks: list[str], levels: int, count: int, prefix: str, depth: int = 0) -> list[Step]:
        return [self.step(tasks, levels, prefix, depth) for _ in range(count)]

    def step(self, tasks: list[str], levels: int, prefix: str, depth: int) -> Step:
        kind = self.one(*KINDS)
        if kind in ("child", "graph") and not levels:
            kind = "call"
        if kind in ("call", "catch") and tasks:
            return Step(kind, [self.one(*tasks)])
        if kind in ("gather", "later") and tasks:
            return Step(kind, [self.one(*tasks) for _ in range(self.one(1, 2, 3))])
        if kind in ("branch", "loop") and depth < 2:
            body = self.body(tasks, levels, self.one(1, 1, 2), prefix, depth + 1)
            return Step(kind, body=body, times=self.one(2, 3) if kind == "loop" else 1)
        if kind == "child":
            return Step(kind, child=self.workflow(f"{prefix}w", levels - 1))
        if kind == "graph":
            return Step(kind, graph=self.graph("g", 0))
        return Step(kind if kind in ("ask", "fail") else "say")

    def workflow_operation(self, nth: int) -> Operation:
        method = self.one("invoke", "stream")
        options = self.options([], ["x"], method)
        for name in ("interrupt_before", "interrupt_after", "recursion_limit", "output_keys", "subgraphs"):
            options.pop(name, None)
        if method == "stream":
            options["stream_mode"] = self.one(*MODES) if self.happens(0.5) else self.some(MODES, 1, 3)
        return Operation(
            "given" if nth == 0 else self.one(*OPERATIONS),
            thread=self.one("1", "1", "1", "2"),
            method=method,
            options=options,
            as_node=None,
            writes=[],
            at=self.random.randint(0, 9),
            goto=[],
            steps=[],
            partly=False,
            inside="",
            head=False,
            heard=self.happens(0.25),
            anew=self.happens(0.15),
            sieve=self.some(SIEVES, 0, 2),
        )


def _restrict(made: WorkflowProgram) -> None:
    """Take out of a program what LangGraph leaves to chance, and what is known to differ."""
    workflow = made.workflow
    for step in all_steps(workflow):
        if step.graph is not None:
            restrict(Program(step.graph, [], made.by_id))
            for part in graphs(step.graph):
                part.stops = {}
                for node in part.nodes.values():
                    node.parent = node.cached = node.stores = False
                    node.asks = node.fails = 0
    for child in [step.child for step in all_steps(workflow) if step.child is not None]:
        for function in functions(child):  # a workflow that ended isn't run again
            function.fails = min(function.fails, function.attempts - 1)
        for step in all_steps(child):
            step.kind = "say" if step.kind == "fail" else step.kind
        for function in child.tasks.values():
            for step in steps(function.body):  # LangGraph shows such a question twice
                step.kind = "say" if step.kind == "ask" else step.kind
    for each in (workflow, *(step.child for step in all_steps(workflow) if step.child is not None)):
        _restrict_tasks(each)
    asks = any(step.kind in ("ask", "fail") for step in all_steps(workflow))
    for function in functions(workflow) if asks else ():
        function.fails = min(function.fails, function.attempts - 1)  # a failure that was caught is recorded
    fails = any(function.fails >= function.attempts for function in functions(workflow))
    if fails and any(step.kind == "catch" for step in all_steps(workflow)):
        fails = False  # or else an error that was caught is recorded, and one that wasn't caught isn't
        for step in all_steps(workflow):
            step.kind = "catch" if step.kind == "call" else step.kind
    stops = asks or fails
    for step in all_steps(workflow):
        if step.kind == "later" and (stops or any(each.graph for each in all_steps(workflow))):
            step.kind = "gather"  # what has begun beside a failure or a question is chance
    cached = any(function.cached for function in functions(workflow))
    left_out = {"values"} if stops or any(each.kind == "replay" for each in made.operations) else set()
    left_out |= {"tasks", "debug"} if stops or cached else set()
    # A stream shows values that are there, recorded calls aren't told again, and a cached task ends too.
    for operation in made.operations:
        modes = operation.options.get("stream_mode")
        if modes is None:
            continue
        listed = [modes] if isinstance(modes, str) else modes
        kept = [mode for mode in listed if mode not in left_out] or ["updates"]
        operation.options["stream_mode"] = kept[0] if isinstance(modes, str) else kept


def _restrict_tasks(workflow: Workflow) -> None:
    if any(step.kind in ("gather", "later") for step in all_steps(workflow)):
        for function in workflow.tasks.values():
            function.cached = False  # equal calls at once run once
    for function in workflow.tasks.values():
        if function.body:
            function.attempts = 1  # a parent's retry keeps its children's results
            function.cached = False
    loud = {name for name, function in workflow.tasks.items() if function.fails >= function.attempts}
    for name, function in workflow.tasks.items():  # a task calls those before it
        if any(step.kind in ("ask", "fail") or loud & {*step.tasks} for step in steps(function.body)):
            loud.add(name)
    for function in (workflow.main, *workflow.tasks.values()):
        for step in steps(function.body):
            if step.kind in ("gather", "later"):  # which of several asks or fails first is chance
                step.tasks = [name for name in step.tasks if name not in loud]
