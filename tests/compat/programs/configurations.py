"""Whose word counts in a configuration: the call's, the graph's own, or that of the code around (section 2.3)."""

import operator
from typing import Annotated

from langchain_core.callbacks import BaseCallbackHandler, adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph._internal._config import ensure_config, merge_configs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.func import task
from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from langgraph.utils.config import patch_configurable
from typing_extensions import TypedDict

from ..parts import ONE, edges
from ..trace import differs


class S(TypedDict):
    x: Annotated[list, operator.add]


def one(t, node, **options):
    builder = StateGraph(S)
    builder.add_node("node", node if hasattr(node, "invoke") else t.node(node), **options)
    return edges(builder, ". node .")


def telling(t, seen, **options):
    """A builder whose node notes what its configuration says."""

    def node(state, config: RunnableConfig):
        inner = config["configurable"]
        mine = {key: value for key, value in config["metadata"].items() if not key.startswith("langgraph_")}
        said = [config.get(key) for key in ("tags", "recursion_limit", "max_concurrency", "run_name")]
        seen.append((*said, mine, inner.get("user"), inner.get("thread_id")))
        return {"x": ["i"]}

    return one(t, node, **options)


@differs("a saver is the graph's")
async def a_saver_in_a_configuration(t):
    """Another saver than the graph's own is used, or refused; its own may be named."""
    own, other = InMemorySaver(), InMemorySaver()
    inner = one(t, lambda state: {"x": ["a"]}).compile()
    graph = one(t, inner).compile(checkpointer=own)
    for saver in (own, other):
        config = {"configurable": {"thread_id": "1", CONFIG_KEY_CHECKPOINTER: saver}}
        await t.invoke(graph, {"x": ["i"]}, config)
        await t.state(graph, config)
        await t.update(graph, config, {"x": ["u"]})
    copy = graph.copy({"checkpointer": other})
    await t.invoke(copy, {"x": ["i"]}, {"configurable": {"thread_id": "2"}})
    t.note(
        "kept by",
        [saver.get_tuple({"configurable": {"thread_id": "2"}}) is not None for saver in (own, other)],
    )


async def limits_of_bound_graphs(t):
    """A graph's own limit counts where it is called, and yields where it is a node or is handed the configuration."""
    steps = [f"n{i}" for i in range(6)]
    builder = StateGraph(S)
    for name in steps:
        builder.add_node(name, lambda state: {"x": []})
    edges(builder, " ".join([".", *steps, "."]))

    async def outcome(node, given):
        graph = one(t, node).compile()
        try:
            await t.call(graph, "invoke", {"x": []}, {"recursion_limit": given} if given else None)
        except RecursionError as error:
            return str(error)[:20]
        return "ended"

    for own in (3, 30):
        bound = builder.compile().with_config(recursion_limit=own)

        async def calls(state, bound=bound):
            return await t.call(bound, "invoke", state)

        async def hands(state, config: RunnableConfig, bound=bound):
            return await t.call(bound, "invoke", state, config)

        async def says(state, bound=bound):
            return await t.call(bound, "invoke", state, {"recursion_limit": 9})

        for given in (None, 2, 30):
            nodes = {"node": bound, "calls": calls, "hands": hands, "says": says}
            found = {name: await outcome(node, given) for name, node in nodes.items()}
            t.note(f"own {own}, given {given}", found)


async def graphs_bound_to_a_configuration(t):
    """What a call says wins over what its graph is bound to, and that over what surrounds it."""
    seen = []
    own = {"tags": ["own"], "metadata": {"own": 1}, "configurable": {"user": "own"}, "run_name": "own"}
    inner = telling(t, seen, metadata={"inner": 1}).compile().with_config(own)

    async def calls(state):
        said = {"tags": ["said"], "metadata": {"said": 1}, "configurable": {"user": "said"}}
        return await t.call(inner, "invoke", state, said)

    builder = StateGraph(S)
    builder.add_node("inner", inner, metadata={"node": 1})
    builder.add_node("calls", t.node(calls), metadata={"node": 2})
    edges(builder, ". inner calls .")
    graph = builder.compile(checkpointer=InMemorySaver()).with_config(
        tags=["bound"], metadata={"bound": 1}, configurable={"user": "bound"}, max_concurrency=3
    )
    thread = {"thread_id": "1"}
    given = {"tags": ["given"], "configurable": {"user": "given", **thread}, "recursion_limit": 50}
    for config in (given, {"configurable": thread}, {"user": "beside", "configurable": thread}):
        await t.invoke(graph, {"x": []}, {**config, "run_name": "given"})
        t.note("seen", seen)
        seen.clear()
    await t.stream(graph, {"x": []}, ONE, stream_mode=["tasks", "messages"], subgraphs=True)


async def graphs_that_are_nodes(t):
    """A graph that is a node is configured as that is: as the call was, with the node's metadata, two levels deep."""
    seen = []
    inner = telling(t, seen, metadata={"inner": 1}).compile()
    middle = one(t, inner, metadata={"middle": 1}).compile()
    graph = one(t, middle, metadata={"outer": 1}).compile(checkpointer=InMemorySaver())
    bare = one(t, one(t, telling(t, seen).compile()).compile()).compile()
    for compiled in (graph, bare):
        for config in (
            {"configurable": {"thread_id": "1"}},
            {
                "tags": ["given"],
                "metadata": {"given": 1, "inner": 0},
                "configurable": {"user": "given", "thread_id": "2"},
                "recursion_limit": 50,
                "max_concurrency": 3,
                "run_name": "given",
            },
        ):
            await t.invoke(compiled, {"x": []}, config)
            t.note("seen", seen)
            seen.clear()


async def graphs_in_a_runnable(t):
    """A graph that LangChain's code calls is configured as that is, unless it says where it belongs."""
    seen = []
    around = {
        "tags": ["around"],
        "metadata": {"around": 1},
        "recursion_limit": 33,
        "max_concurrency": 2,
        "run_name": "around",
        "configurable": {"user": "around", "thread_id": "around"},
    }
    builder = telling(t, seen)
    bound = builder.compile(checkpointer=InMemorySaver()).with_config(tags=["bound"], recursion_limit=77)
    for graph in (builder.compile(), bound):
        for said in (
            None,
            {"configurable": {"user": "said"}},
            {"recursion_limit": 44, "tags": ["said"]},
            ONE,
        ):

            async def calls(value, graph=graph, said=said):
                return await t.call(graph, "invoke", value, said)

            await t.invoke(RunnableLambda(t.node(calls)), {"x": []}, around)
        t.note("seen", seen)
        seen.clear()

    async def calls(value):
        return await t.call(builder.compile(), "invoke", value)

    await t.invoke(RunnableLambda(t.node(calls)), {"x": []})
    t.note("seen", seen)


async def a_graph_in_a_tool(t):
    """A tool's graph goes on with the thread that the tool is called with."""
    graph = telling(t, []).compile(checkpointer=InMemorySaver())

    async def ask(q: str) -> str:
        """Ask the graph."""
        return str(await t.call(graph, "invoke", {"x": [q]}))

    asking = tool(t.node(ask))
    await t.invoke(asking, {"q": "1"}, ONE)
    await t.invoke(asking, {"q": "2"}, ONE)
    await t.state(graph, ONE)


async def callbacks_of_nobody(t):
    """A node that nobody listens to has a manager of callbacks all the same."""
    seen = []

    def node(state, config: RunnableConfig):
        for found in (config, get_config()):
            seen.append((type(found["callbacks"]).__name__, len(found["callbacks"].handlers)))
        return {"x": []}

    graph = one(t, node).compile()
    for callbacks in (None, [], [BaseCallbackHandler()]):
        await t.invoke(graph, {"x": []}, {"callbacks": callbacks})
    t.note("seen", seen if not t.asyncio else [(name.removeprefix("Async"), count) for name, count in seen])


async def events_that_nobody_hears(t):
    """A node tells of events of its own, whether or not somebody listens."""
    seen = []

    class Listens(BaseCallbackHandler):
        def on_custom_event(self, name, data, **rest):
            seen.append((name, data))

    async def node(state, config: RunnableConfig):
        for given in (None, config):
            if t.asyncio:
                await adispatch_custom_event("event", 1, config=given)
            else:
                dispatch_custom_event("event", 1, config=given)
        return {"x": ["told"]}

    graph = one(t, node).compile()
    for callbacks in (None, [], [Listens()]):
        await t.invoke(graph, {"x": []}, {"callbacks": callbacks})
    t.note("seen", seen)


async def callbacks_of_a_graph_that_a_sync_node_calls(t):
    """A sync node calls, streams and starts elsewhere graphs that somebody listens to, under an asyncio caller too."""

    class Heard(BaseCallbackHandler):
        def __init__(self):
            self.names = []

        def on_chain_start(self, *args, name=None, **rest):
            self.names.append(name)

    inner = edges(StateGraph(S).add_node("node", lambda state: {"x": ["inner"]}), ". node .")
    sub, own = inner.compile(name="sub"), inner.compile(name="own", checkpointer=InMemorySaver())

    def node(state):
        elsewhere = {"configurable": {"thread_id": "elsewhere"}}
        return {"x": [sub.invoke({"x": []}), *sub.stream({"x": []}), own.invoke({"x": []}, elsewhere)]}

    heard = Heard()
    graph = edges(StateGraph(S).add_node("node", node), ". node .").compile()
    await t.invoke(graph, {"x": []}, {"callbacks": [heard]})
    await t.stream(graph, {"x": []}, stream_mode="messages")
    t.note("heard", heard.names)


async def metadata_of_tasks_and_checkpoints(t):
    """Ids that traces are searched by are metadata wherever they were given; where code is, each task knows itself."""
    own = {"thread_id": "node's", "langgraph_node": "node's", "run_id": "node's"}
    graph = one(t, lambda state: {"x": []}, metadata=own).compile(checkpointer=InMemorySaver())
    plain = one(t, lambda state: {"x": []}).compile(checkpointer=InMemorySaver())
    ids = dict.fromkeys(["run_id", "task_id", "assistant_id", "graph_id", "user", "__user"], "given")
    places = [
        "thread_id",
        "checkpoint_ns",
        "langgraph_step",
        "langgraph_auth_user",
        "langgraph_other",
        "__own",
    ]
    for n, config in enumerate(
        [
            {"configurable": ids},
            {"metadata": ids},
            {"metadata": dict.fromkeys(places, "given"), "configurable": {"langgraph_request_id": "given"}},
            {"configurable": {"run_id": "given"}, "metadata": {"run_id": "metadata's"}},
        ]
    ):
        thread = {"thread_id": str(n)}
        for each in (graph, plain):
            configured = {**config, "configurable": {**config.get("configurable", {}), **thread}}
            await t.stream(each, {"x": []}, configured, stream_mode="tasks")
            await t.state(each, {"configurable": thread})


async def a_call_of_the_run_that_is_on_the_thread(t):
    """The input of a call that names the thread's own run, in metadata or `configurable`, is left aside: it goes on."""
    seen: list[str] = []

    def flaky(state):
        if "failed" not in seen:
            seen.append("failed")
            raise ValueError("at first")
        return {"x": ["flaky"]}

    def asking(state):
        return {"x": [interrupt("which?")]}

    builder = StateGraph(S)
    for name, function in (("asking", asking), ("flaky", flaky)):
        builder.add_node(name, t.node(function))
    graph = edges(builder, ". flaky asking .").compile(checkpointer=InMemorySaver())
    inner = edges(StateGraph(S).add_node("flaky", t.node(flaky)), ". flaky .").compile()
    around = one(t, inner).compile(checkpointer=InMemorySaver())
    for n, place in enumerate(("metadata", "configurable", "both", "neither")):
        for each in (graph, around):
            seen.clear()
            thread = {"configurable": {"thread_id": str(n)}}

            def named(run, thread=thread, place=place):
                said = {"run_id": run}
                config = {**thread, **({"metadata": said} if place in ("metadata", "both") else {})}
                if place in ("configurable", "both"):
                    config["configurable"] = {
                        **thread["configurable"],
                        "run_id": "c" if place == "both" else run,
                    }
                return config

            for run, value in (("r", "1"), ("r", "2"), ("r", "3"), ("s", "4")):
                await t.stream(each, {"x": [value]}, named(run), stream_mode=["updates", "values"])
            answer = [Command(resume="this")] if each is graph else []
            for value in (*answer, {"x": ["5"]}):
                await t.stream(each, value, named("s"), stream_mode=["updates", "values"])
            await t.state(each, thread)


async def metadata_inside_a_graph_that_remembers(t):
    """They name the task of the node around it, as in any other nested graph, though its namespace doesn't."""
    seen = []

    def node(state, config: RunnableConfig):
        name, colon, task = config["metadata"]["checkpoint_ns"].partition(":")
        seen.append((name, colon, len(task), config["metadata"]["langgraph_checkpoint_ns"].count(":")))
        return {"x": ["i"]}

    for remembers in (None, True):
        inner = edges(StateGraph(S).add_node("node", node), ". node .").compile(checkpointer=remembers)

        def calls(state, inner=inner):
            return inner.invoke({"x": []})

        for around in (inner, calls):
            middle = edges(StateGraph(S).add_node("middle", around), ". middle .").compile(
                checkpointer=remembers
            )
            graph = edges(StateGraph(S).add_node("outer", middle), ". outer .")
            await t.invoke(graph.compile(checkpointer=InMemorySaver()), {"x": []}, ONE)
    t.note("seen", seen)


async def what_runnables_and_tools_look_up(t):
    """Code looks up the configuration that the runnable or the tool around it was called with, or is bound to: so do a
    tool node and a graph there. After a task that is awaited in between it is the same."""
    seen = []
    said = {"metadata": {"said": 1}}

    def note(place, found):
        inner = found["configurable"]
        tags = sorted(tag for tag in found.get("tags") or [] if ":" not in tag)
        seen.append(
            (place, inner.get("user"), tags, [key for key in found["metadata"] if key in ("said", "bound")])
        )

    async def step(number):
        return number

    async def looks(state):
        note("code", get_config())
        await t.value(task(t.node(step))(1))
        note("after a task", get_config())
        await t.call(graph, "invoke", {"x": []})
        calls = [{"name": "tells", "args": {"q": "in a tool node"}, "id": "1", "type": "tool_call"}]
        await t.call(ToolNode([tells]), "invoke", {"messages": [AIMessage("", tool_calls=calls)]})
        return {"x": []}

    async def tell(q: str, config: RunnableConfig) -> str:
        """Tell."""
        note(q, get_config())
        note(q, config)
        return q

    async def inside(state):
        note("in a graph", get_config())
        return {"x": []}

    async def node(state):
        saying = patch_configurable(get_config(), {"user": "said"})
        await t.call(RunnableLambda(t.node(looks)), "invoke", state)
        await t.call(RunnableLambda(t.node(looks)), "invoke", state, {**saying, **said})
        await t.call(tells, "invoke", {"q": "in a tool"}, {"configurable": {"user": "said"}})
        note("the node", get_config())
        return {"x": []}

    tells = tool("tells")(t.node(tell))
    graph = one(t, inside).compile()
    bound = RunnableLambda(t.node(looks)).with_config(
        configurable={"user": "bound"}, tags=["bound"], metadata={"bound": 1}
    )
    for builder in (one(t, node), one(t, bound)):
        for callbacks in (None, [BaseCallbackHandler()]):
            for given in ({}, {"user": "given"}):
                config = {
                    "configurable": {**given, "thread_id": "1"},
                    "tags": ["given"],
                    "callbacks": callbacks,
                }
                await t.invoke(builder.compile(checkpointer=InMemorySaver()), {"x": []}, config)
                t.note("seen", seen)
                seen.clear()


async def limits_of_graphs_in_a_sequence_that_is_a_node(t):
    """Each has its own limit, or the caller's, and not the one that suits a chain."""

    async def again(state):
        return {"x": [len(state["x"])]}

    loop = one(t, again).add_conditional_edges(
        "node", lambda state: "node" if len(state["x"]) < 60 else "__end__"
    )
    for own in (None, 10, 100):
        graph = loop.compile()
        graph = graph if own is None else graph.with_config(recursion_limit=own)
        for sequence in (
            RunnableLambda(lambda state: state) | graph,
            graph | RunnableLambda(lambda state: state),
        ):
            for given in (None, 20, 90):
                try:
                    await t.call(
                        one(t, sequence).compile(), "invoke", {"x": []}, given and {"recursion_limit": given}
                    )
                    t.note(f"own {own}, given {given}", "ended")
                except RecursionError as error:
                    t.note(f"own {own}, given {given}", str(error)[:21])


async def what_handlers_of_a_models_own_are_told(t):
    """They know the node and the thread, and what the caller said, though nobody listens to the graph."""
    seen = []

    class Listens(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, *, tags=None, metadata=None, **rest):
            known = {key: metadata.get(key) for key in ("langgraph_node", "thread_id", "given", "said")}
            seen.append((known, [tag for tag in tags if ":" not in tag]))

    model = FakeListChatModel(responses=["answer"], callbacks=[Listens()])

    async def node(state):
        for said in (None, {"tags": ["said"]}, {"tags": ["said"], "metadata": {"said": 1}}):
            await t.call(model, "invoke", "question", said)
        return {"x": []}

    graph = one(t, node).compile(checkpointer=InMemorySaver())
    for given in ({}, {"tags": ["given"], "metadata": {"given": 1}}):
        await t.invoke(graph, {"x": []}, {**ONE, **given})
        t.note("told", seen)
        seen.clear()


@differs("a configuration is its node's own")
async def a_tag_that_a_node_appends(t):
    """What a node does to the tags of its configuration."""
    seen = []

    def node(state, config: RunnableConfig):
        seen.append(list(config["tags"]))
        config["tags"].append("more")
        config["metadata"]["more"] = config["configurable"]["more"] = 1

    builder = StateGraph(S).add_node("a", t.node(node)).add_node("b", t.node(node))
    given = {"tags": ["mine"]}
    await t.invoke(edges(builder, ". a b .").compile(), {"x": []}, given)
    t.note("seen", seen)
    t.note("given", given)


async def what_a_graph_is_bound_to(t):
    """A graph that is bound to something has a `configurable`, though nobody named one."""
    graph = edges(StateGraph(S).add_node("a", t.node(lambda state: {"x": ["a"]})), ". a .").compile()
    t.note("plain", graph.config)
    for own in ({"recursion_limit": 3}, {"configurable": {"k": 1}}, {}, None):
        t.note("bound", graph.with_config(own).config)
    await t.invoke(graph.with_config(tags=["mine"]), {"x": []})


async def tags_that_are_said_twice(t):
    """A tag of a graph's and of its call's counts twice; one that is around the call isn't repeated."""
    seen = []
    inner = telling(t, seen).compile()
    graph = inner.with_config(tags=["a", "b"]).with_config(tags=["a"])
    t.note("bound", graph.config["tags"])

    async def calls(state):
        await t.call(graph, "invoke", state, {"tags": ["b", "c", "c"]})
        return await t.call(inner, "invoke", state, {"tags": ["a"]})

    for given in ({}, {"tags": ["a", "c"]}):
        await t.invoke(graph, {"x": []}, given)
        await t.invoke(one(t, calls).compile(), {"x": []}, given)
    t.note("seen", seen)
    t.note("merged", merge_configs({"tags": ["a"]}, {"tags": ["b", "a"]})["tags"])
    t.note("whole", ensure_config({"tags": ["a"]}, {"tags": ["b", "a"]})["tags"])


async def tags_that_a_node_looks_up(t):
    """What a node's code makes a configuration of doesn't repeat the tags around it."""

    def node(state):
        t.note(
            "tags", [ensure_config(*given)["tags"] for given in ((), ({"tags": ["a", "b"]}, {"tags": ["b"]}))]
        )

    await t.invoke(one(t, node).compile(), {"x": []}, {"tags": ["a"]})
