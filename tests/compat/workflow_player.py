"""Random workflows, played: see `player`, whose rules hold here too."""

from __future__ import annotations

import importlib
from typing import Any

from .player import TASKS, Boom, Incomparable, Player
from .trace import Trace, raised
from .workflow_generator import Function, Step, Workflow, WorkflowProgram, steps


class WorkflowPlayer(Player):
    """A workflow on a library, for a caller."""

    program: WorkflowProgram
    at_once = 40  # a task that waits for one that it calls counts

    def __init__(self, program: WorkflowProgram, name: str, trace: Trace) -> None:
        super().__init__(program, name, trace)
        functional = importlib.import_module(f"{name}.func")
        self.entrypoint, self.task = functional.entrypoint, functional.task
        self.cache = self.library.InMemoryCache()
        self.runs: list[str] = []
        self.given = 0

    def made(self) -> Any:
        """The workflow, as a process makes it."""
        return self.entry(self.program.workflow, {"checkpointer": self.saver, "cache": self.cache})

    def entry(self, workflow: Workflow, options: dict[str, Any]) -> Any:
        known: dict[str, Any] = {}
        for name, function in workflow.tasks.items():
            known[name] = self.made_task(name, function, {**known})
        bodies = self.inner(workflow.main)

        async def main(given: Any, *, previous: Any = None) -> Any:
            self.count(workflow.main.name)
            heard: list[Any] = [given]
            if workflow.remembers:
                heard.append(f"before: {previous}"[:60])
            await self.follow(workflow.main, workflow.main.body, heard, known, bodies)
            if workflow.ends == "final":
                return self.entrypoint.final(value=heard, save=len(heard))
            return None if workflow.ends == "nothing" else heard

        main.__name__ = workflow.main.name
        return self.entrypoint(**options)(self.t.node(main))

    def made_task(self, name: str, function: Function, known: dict[str, Any]) -> Any:
        retry = self.library.RetryPolicy(
            initial_interval=0, jitter=False, max_attempts=function.attempts, retry_on=Exception
        )
        bodies = self.inner(function)

        async def act(size: int, nth: int = 0) -> Any:
            self.count(name)
            heard: list[Any] = [f"{name}{size}.{nth}"]
            await self.follow(function, function.body, heard, known, bodies)
            times = self.failed[name] = self.failed.get(name, 0) + 1
            if times <= function.fails:
                raise (Boom if times % 2 else ValueError)(f"{name} fails")
            return heard

        options: dict[str, Any] = {"retry_policy": retry} if function.attempts > 1 else {}
        if function.cached:
            options["cache_policy"] = self.library.CachePolicy(
                key_func=lambda *args, **kw: f"{name} {args} {kw}"
            )
        act.__name__ = name
        return self.task(name=name, **options)(self.t.node(act))

    def inner(self, function: Function) -> dict[int, Any]:
        """The graphs and workflows that a function calls, by their steps."""
        found: dict[int, Any] = {}
        for step in steps(function.body):
            if step.child is not None:
                found[id(step)] = self.entry(step.child, {})
            if step.graph is not None:
                found[id(step)] = self.built(step.graph, None)
        return found

    def count(self, name: str) -> None:
        self.runs.append(name)
        if len(self.runs) > 3 * TASKS:
            raise Incomparable

    async def follow(
        self,
        function: Function,
        body: list[Step],
        heard: list[Any],
        known: dict[str, Any],
        inner: dict[int, Any],
    ) -> None:
        """Do the steps; what they come to is heard."""
        later: list[Any] = []
        for step in body:
            size = len(heard)
            match step.kind:
                case "call":
                    heard.append(await self.t.value(known[step.tasks[0]](size)))
                case "catch":
                    try:
                        heard.append(await self.t.value(known[step.tasks[0]](size)))
                    except (Boom, ValueError) as error:
                        heard.append(f"caught {error}")
                case "gather":
                    futures = [known[name](size, nth=nth) for nth, name in enumerate(step.tasks)]
                    heard.extend([await self.t.value(future) for future in futures])
                case "later":
                    later += [known[name](size, nth) for nth, name in enumerate(step.tasks)]
                case "ask":
                    heard.append(self.library.interrupt(f"{function.name} at {size}?"))
                case "say":
                    self.library.get_stream_writer()(f"{function.name} at {size}")
                case "branch" if size % 2:
                    await self.follow(function, step.body, heard, known, inner)
                case "loop":
                    for _ in range(step.times):
                        await self.follow(function, step.body, heard, known, inner)
                case "child":
                    heard.append(await self.t.call(inner[id(step)], "invoke", size))
                case "graph":
                    heard.append(await self.called(inner[id(step)], size))
                case "fail":
                    times = self.failed[function.name] = self.failed.get(function.name, 0) + 1
                    if times == 1:
                        raise Boom(f"{function.name} fails at {size}")
        for future in later:
            heard.append(await self.t.value(future))

    async def called(self, graph: Any, size: int) -> Any:
        """What a graph comes to.

        Raises:
            Incomparable: a channel refused a superstep. LangGraph's has taken what came before that, and its graph goes
                on from there (COMPATIBILITY.md, "a channel that refuses a write").
        """
        try:
            return await self.t.call(graph, "invoke", {"x": [f"{size}"]})
        except Exception as error:
            if type(error).__name__ == "InvalidUpdateError":
                raise Incomparable from error
            raise

    async def chunks(self, chunks: list[Any], given: Any, config: Any, options: dict[str, Any]) -> int:
        """Recorded calls aren't told again, and so there are no empty chunks of them."""
        await super().chunks(chunks, given, config, options)
        chunks[:] = [chunk for chunk in chunks if not self.is_empty(chunk, options)]
        return len(chunks)

    def is_empty(self, chunk: Any, options: dict[str, Any]) -> bool:
        if "version" in options:
            chunk = chunk["data"]
        elif not isinstance(options["stream_mode"], str):
            chunk = chunk[1]
        return isinstance(chunk, dict) and [*chunk.values()] == [None] and "main" not in chunk

    def input(self) -> Any:
        self.given += 1
        return f"i{self.given}"

    async def play(self) -> None:
        """Make the workflow, and do everything that the program says, then look at what there is."""
        try:
            self.graph = self.made()
        except Exception as error:
            self.t.note("building raised", raised(error))
            return
        threads: dict[str, Any] = {}
        for operation in self.program.operations:
            config = threads[operation.thread] = {"configurable": {"thread_id": operation.thread}}
            self.t.note("operation", [operation.kind, operation.thread])
            if operation.anew:
                self.graph = self.made()
            await getattr(self, f"do_{operation.kind}")(operation, config)
            self.t.note("runs", sorted(name for name in self.runs if name[0] != "w"))
        for config in threads.values():
            await self.shown("state", self.state(config))
            await self.shown("history", self.past(config))
