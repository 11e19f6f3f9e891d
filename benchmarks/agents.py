"""W8: an agent of 20 rounds, in µs per round: a model that calls a tool, and the tool; the model is a fake one.

The program is the same for all: messages and model are LangChain's, and so is most of the floor. "no LangChain" is
graph_compat's agent whose model is a function of dicts, in asyncio an async one, as the chat model is there.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks import floor, peers
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import atimed, timed

UNIT = "µs/round"
ROUNDS = 20
BLOCKING, ASYNCIO = f"W8 agent of {ROUNDS} rounds, blocking", f"W8 agent of {ROUNDS} rounds, asyncio"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@cache
def model() -> Any:
    """A chat model that calls `add` in every round, and then says so."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Fake(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "fake"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            number = len(messages) // 2
            call = {"name": "add", "args": {"a": number, "b": 1}, "id": f"call{number}"}
            message = AIMessage("", tool_calls=[call]) if number < ROUNDS else AIMessage("done")
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            return self._generate(messages)

    return Fake()


def function(messages: list[dict[str, Any]], tools: Any) -> dict[str, Any]:
    """The same model as a function."""
    number = len(messages) // 2
    if number == ROUNDS:
        return {"role": "assistant", "content": "done"}
    call = {"name": "add", "arguments": f'{{"a": {number}, "b": 1}}'}
    asked = {"id": f"call{number}", "type": "function", "function": call}
    return {"role": "assistant", "content": "", "tool_calls": [asked]}


async def async_function(messages: list[dict[str, Any]], tools: Any) -> dict[str, Any]:
    """And as an async one."""
    return function(messages, tools)


def cases() -> Iterator[Case]:
    """Without checkpointer and on SQLite, blocking and in asyncio: first the floor, then the subjects."""
    for workload, run, plainly in ((BLOCKING, blocking, function), (ASYNCIO, awaited, async_function)):
        for storage in (peers.NONE, peers.PROCESS):
            lines = [floor.case(workload, storage, UNIT, raw)]
            for api in (peers.graph_compat(), peers.langgraph()):
                lines.append(with_agents(api).case(workload, storage, UNIT, partial(run, model)))
            plain = replace(with_agents(peers.graph_compat()), name="no LangChain")
            lines.append(plain.case(workload, storage, UNIT, partial(run, lambda given=plainly: given)))
            yield from lines if installed() else [replace(line, sample=None) for line in lines]


def installed() -> bool:
    """Whether LangChain is."""
    return peers.optional("langchain_core") is not None


def with_agents(api: Api) -> Api:
    """The subject; without storages where it makes no agents."""
    return api if api.agent else replace(api, storages={})


def config() -> dict[str, Any]:
    return {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 3 * ROUNDS}


GIVEN = {"messages": [("user", "Add.")]}


def blocking(model: Callable[[], Any], api: Api, storage: Storage, directory: Path, size: int) -> float:
    """One run, without the making of the agent and the opening of the saver; `size` doesn't count."""
    with storage.open(directory / "runs.db") as saver:
        agent = api.agent(model(), [add], checkpointer=saver)
        seconds = timed(lambda: count(agent.invoke(GIVEN, config(), **storage.options)), 2 * ROUNDS + 2)
    return seconds / ROUNDS * 1e6


def awaited(model: Callable[[], Any], api: Api, storage: Storage, directory: Path, size: int) -> float:
    """As `blocking`, on an event loop."""
    import asyncio

    async def run() -> float:
        async with storage.aopen(directory / "runs.db") as saver:
            agent = api.agent(model(), [add], checkpointer=saver)

            async def call() -> int:
                return count(await agent.ainvoke(GIVEN, config(), **storage.options))

            return await atimed(call, 2 * ROUNDS + 2)

    return asyncio.run(run()) / ROUNDS * 1e6


def count(state: Any) -> int:
    return len(state["messages"])


def raw(storage: str, directory: Path, size: int) -> float:
    """The model and the tool in a loop, and where there is a storage, a committed row for each."""
    from langchain_core.tools import tool

    fake, adder = model(), tool(add)
    if storage == peers.NONE:
        return timed(lambda: loop(fake, adder, lambda: None), 2 * ROUNDS + 2) / ROUNDS * 1e6
    with floor.database(directory / "runs.db", floor.SYNCHRONOUS[storage]) as connection:
        commit = partial(floor.commit, connection, [b"message"])
        return timed(lambda: loop(fake, adder, commit), 2 * ROUNDS + 2) / ROUNDS * 1e6


def loop(fake: Any, adder: Any, commit: Callable[[], None]) -> int:
    """Call until no more tools are called; how many messages there are then."""
    from langchain_core.messages import HumanMessage

    messages = [HumanMessage("Add.")]
    while True:
        messages.append(fake.invoke(messages))
        commit()
        if not messages[-1].tool_calls:
            return len(messages)
        messages += [adder.invoke({**call, "type": "tool_call"}) for call in messages[-1].tool_calls]
        commit()
