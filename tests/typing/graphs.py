"""What a type checker sees of graph_compat: a program of LangGraph's with the prefix of its imports changed.

Checked as `api.py` is.
"""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, assert_type

from langchain_core.runnables import RunnableConfig, RunnableLambda

from flowfn import Future
from graph_compat.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.config import get_config, get_stream_writer
from graph_compat.func import entrypoint, task
from graph_compat.graph import END, START, StateGraph
from graph_compat.graph.state import CompiledStateGraph
from graph_compat.pregel import Pregel
from graph_compat.runtime import Runtime
from graph_compat.store.base import BaseStore, SearchItem
from graph_compat.store.memory import InMemoryStore
from graph_compat.types import (
    CachePolicy,
    Command,
    Interrupt,
    RetryPolicy,
    Send,
    StateSnapshot,
    StreamWriter,
    interrupt,
)


class State(TypedDict):
    words: Annotated[list[str], operator.add]
    count: int


class Result(TypedDict):
    count: int


@dataclass
class Context:
    user: str


def split(state: State) -> dict[str, Any]:
    get_stream_writer()({"words": len(state["words"])})
    return {"words": ["a"]}


def decide(state: State) -> Command[Literal["split", "ask"]]:
    return Command(goto="ask", update={"count": len(state["words"])})


def ask(state: State, runtime: Runtime[Context]) -> State:
    assert_type(runtime.context, Context)
    return {"words": [], "count": interrupt(runtime.context.user)}


async def remember(state: State, *, store: BaseStore, writer: StreamWriter) -> dict[str, Any]:
    await store.aput(("words",), "last", {"count": state["count"]})
    assert_type(await store.asearch(("words",)), list[SearchItem])
    writer("kept")
    return {}


def route(state: State) -> Literal["decide", "remember"]:
    return "decide"


def each(state: State) -> Sequence[Send]:
    return [Send("split", {"words": [word]}) for word in state["words"]]


builder = StateGraph(State, context_schema=Context, output_schema=Result)
builder.add_node(split)
builder.add_node("decide", decide, cache_policy=CachePolicy(ttl=60))
builder.add_node("ask", ask, retry_policy=RetryPolicy(max_attempts=3))
builder.add_node("remember", remember, defer=True)
builder.add_edge(START, "split").add_edge(["ask", "remember"], END)
builder.add_conditional_edges("split", route, {"decide": "decide", "remember": "remember"})
builder.add_conditional_edges("ask", each, ["split"])
graph = builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore(), interrupt_before=["ask"])
assert_type(graph, CompiledStateGraph[State, Context, State, Result])
program: Pregel[State, Context, State, Result] = graph

config = {"configurable": {"thread_id": "t"}}
graph.invoke({"words": ["a"], "count": 0}, config, context=Context("ann"))
graph.invoke(Command(resume="yes"), config)
for mode, chunk in graph.stream(None, config, stream_mode=["values", "updates"]):
    print(mode, chunk)
snapshot = graph.get_state(config)
assert_type(snapshot, StateSnapshot)
assert_type(snapshot.tasks[0].interrupts, tuple[Interrupt[Any], ...])
updated: RunnableConfig = graph.update_state(snapshot.config, {"count": 1}, as_node="decide")
assert_type(snapshot.config, RunnableConfig)
for past in graph.get_state_history(config):
    assert_type(past.parent_config, RunnableConfig | None)


async def look(program: CompiledStateGraph[State, Context, State, Result]) -> RunnableConfig:
    """What asyncio callers are given is annotated alike."""
    assert_type((await program.aget_state(updated)).config, RunnableConfig)
    async for past in program.aget_state_history(updated):
        assert_type(past.config, RunnableConfig)
    return await program.aupdate_state(updated, {"count": 2})


asked: list[Interrupt[str]] = []
keyed: CachePolicy[Any] = CachePolicy(key_func=str)


class Keeping(BaseCheckpointSaver[str]):
    """A saver of one's own, annotated as LangGraph's documents do it."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, CheckpointTuple] = {}

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.kept.get(config.get("configurable", {})["thread_id"])

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        for kept in self.kept.values():
            around = None if kept.parent_config is None else self.get_tuple(kept.parent_config)
            yield kept if around is None else around

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread = config.get("configurable", {})["thread_id"]
        self.kept[thread] = CheckpointTuple(config, checkpoint, metadata)
        return {"configurable": {"thread_id": thread, "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        print(config, writes)


builder.compile(checkpointer=Keeping())


def hands_on(state: State) -> dict[str, Any]:
    config: RunnableConfig = get_config()
    return {"count": RunnableLambda(len).invoke(state["words"], config)}


@task
def spell(word: str) -> list[str]:
    return [*word]


@task(retry_policy=RetryPolicy())
async def aspell(word: str) -> list[str]:
    return [*word]


@entrypoint(checkpointer=InMemorySaver())
def letters(words: list[str], *, previous: int | None = None) -> entrypoint.final[list[str], int]:
    spelt = [letter for word in words for letter in spell(word).result()]
    return entrypoint.final(value=spelt, save=len(spelt))


assert_type(spell("a"), Future[list[str]])
assert_type(aspell("a"), Future[list[str]])
assert_type(letters, Pregel[Any, Any, Any, Any])
spell(3)  # type: ignore[arg-type]
aspell(3)  # type: ignore[arg-type]


def misspelt() -> Sequence[object]:
    import graph_compat.cache
    import graph_compat.channels.binop
    import graph_compat.checkpoint.base
    import graph_compat.checkpoint.serde
    import graph_compat.config
    import graph_compat.func
    import graph_compat.graph.message
    import graph_compat.graph.state
    import graph_compat.prebuilt.tool_node
    import graph_compat.pregel.main
    import graph_compat.store.memory
    import graph_compat.utils.runnable

    return [
        graph_compat.cache.bass,  # type: ignore[attr-defined]
        graph_compat.channels.binop.BinaryOperatorAggregator,  # type: ignore[attr-defined]
        graph_compat.checkpoint.base.BaseCheckpointSavor,  # type: ignore[attr-defined]
        graph_compat.checkpoint.serde.encripted,  # type: ignore[attr-defined]
        graph_compat.config.get_stor,  # type: ignore[attr-defined]
        graph_compat.func.entripoint,  # type: ignore[attr-defined]
        graph_compat.graph.message.MessageState,  # type: ignore[attr-defined]
        graph_compat.graph.state.CompiledGraphState,  # type: ignore[attr-defined]
        graph_compat.prebuilt.ToolNod,  # type: ignore[attr-defined]
        graph_compat.prebuilt.tool_node.ToolNod,  # type: ignore[attr-defined]
        graph_compat.pregel.main.Pregl,  # type: ignore[attr-defined]
        graph_compat.store.memory.InMemoryStor,  # type: ignore[attr-defined]
        graph_compat.utils.runnable.RunnableCalable,  # type: ignore[attr-defined]
    ]


def also_there() -> Sequence[object]:
    """What LangGraph's modules import themselves is found in them, as its programs do."""
    from graph_compat.config import RunnableConfig
    from graph_compat.func import BaseStore
    from graph_compat.graph.message import BaseMessage, convert_to_messages
    from graph_compat.graph.state import Command
    from graph_compat.store.memory import PutOp

    return [RunnableConfig, BaseStore, BaseMessage, convert_to_messages, Command, PutOp]
