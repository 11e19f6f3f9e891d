"""Programs of Pregel and NodeBuilder, without a state graph (behaviour of sections 1.7 and 2.2 to 2.5)."""

import asyncio
import operator

from langgraph.cache.memory import InMemoryCache
from langgraph.channels import (
    BinaryOperatorAggregate,
    EphemeralValue,
    LastValue,
    NamedBarrierValue,
    Topic,
    UntrackedValue,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import CachePolicy, RetryPolicy, interrupt

from ..trace import differs, differs_by_caller

THREAD = {"configurable": {"thread_id": "1"}}


def double(value):
    return value + value


def one(node, kind, **options):
    """A program of one node, from the channel `a` to `b`."""
    return Pregel(
        nodes={"node": node},
        channels={"a": LastValue(kind), "b": LastValue(kind)},
        input_channels="a",
        output_channels="b",
        **options,
    )


async def one_node(t):
    """A node reads one channel and writes another."""
    node = NodeBuilder().subscribe_only("a").do(t.node(double)).write_to("b").build()
    app = Pregel(
        nodes={"node": node},
        channels={"a": EphemeralValue(str), "b": EphemeralValue(str)},
        input_channels=["a"],
        output_channels=["b"],
    )
    await t.invoke(app, {"a": "foo"})
    await t.stream(app, {"a": "foo"})
    await t.stream(app, {"a": "foo"}, stream_mode="updates")


async def an_old_name_of_the_context_schema(t):
    """It warns, and counts where the new one isn't given."""
    node = NodeBuilder().subscribe_only("a").do(double).write_to("b").build()
    given = {
        "nodes": {"node": node},
        "channels": {"a": EphemeralValue(str), "b": EphemeralValue(str)},
        "input_channels": "a",
        "output_channels": "b",
    }
    for schemas in ({"config_type": dict}, {"config_type": dict, "context_schema": list}):
        app = t.warns(lambda more=schemas: Pregel(**given, **more))
        t.note("context", app.context_schema)


async def channels_by_name(t):
    """A single input or output channel is a plain value."""
    node = NodeBuilder().subscribe_only("a").do(t.node(double)).write_to("b").build()
    app = one(node, int)
    await t.invoke(app, 4)
    await t.invoke(app, 4, output_keys=["a", "b"])
    await t.stream(app, 4, stream_mode=["values", "updates", "tasks"])


async def two_nodes_in_turn(t):
    """A node runs when a channel that it subscribes to was written."""
    first = NodeBuilder().subscribe_only("a").do(double).write_to("b")
    second = NodeBuilder().subscribe_only("b").do(double).write_to("c")
    app = Pregel(
        nodes={"first": first, "second": second},
        channels={"a": EphemeralValue(str), "b": LastValue(str), "c": EphemeralValue(str)},
        input_channels=["a"],
        output_channels=["b", "c"],
    )
    await t.invoke(app, {"a": "foo"})
    await t.stream(app, {"a": "foo"}, stream_mode=["values", "updates"])


async def none_is_a_value(t):
    """A None that a node returns is written, and triggers those who read it."""
    first = NodeBuilder().subscribe_only("a").do(t.node(lambda value: None)).write_to("b")
    second = NodeBuilder().subscribe_only("b").do(t.node(lambda value: [value])).write_to("c")
    app = Pregel(
        nodes={"first": first, "second": second},
        channels={"a": EphemeralValue(str), "b": LastValue(str), "c": LastValue(list)},
        input_channels="a",
        output_channels=["b", "c"],
    )
    await t.stream(app, "x", stream_mode=["values", "updates"])


async def a_cycle_without_end(t):
    """A node that always writes what triggers it runs into the limit."""
    node = NodeBuilder().subscribe_to("n").do(lambda values: values["n"] - 1).write_to("n")
    app = Pregel(
        nodes={"count": node},
        channels={"n": LastValue(int)},
        input_channels="n",
        output_channels="n",
    )
    await t.invoke(app, 3, {"recursion_limit": 5})


async def a_topic(t):
    """A topic collects what several nodes write."""
    one = NodeBuilder().subscribe_only("a").do(double).write_to("b", "c")
    two = NodeBuilder().subscribe_to("b").do(lambda values: values["b"] + "!").write_to("c")
    app = Pregel(
        nodes={"one": one, "two": two},
        channels={"a": EphemeralValue(str), "b": EphemeralValue(str), "c": Topic(str, accumulate=True)},
        input_channels=["a"],
        output_channels=["c"],
    )
    await t.invoke(app, {"a": "foo"})


async def an_aggregate(t):
    """A reducer's channel folds the writes of nodes in the order of their names."""
    one = NodeBuilder().subscribe_only("a").do(lambda v: [f"{v} one"]).write_to("c")
    two = NodeBuilder().subscribe_only("a").do(lambda v: [f"{v} two"]).write_to("c")
    app = Pregel(
        nodes={"two": two, "one": one},
        channels={"a": EphemeralValue(str), "c": BinaryOperatorAggregate(list, operator.add)},
        input_channels=["a"],
        output_channels=["c"],
    )
    await t.invoke(app, {"a": "x"})


@differs("an error names the channel")
async def two_writes_to_one_value(t):
    """Two nodes can't write a LastValue in one step."""
    one = NodeBuilder().subscribe_only("a").do(double).write_to("c")
    two = NodeBuilder().subscribe_only("a").do(double).write_to("c")
    app = Pregel(
        nodes={"two": two, "one": one},
        channels={"a": EphemeralValue(str), "c": LastValue(str)},
        input_channels=["a"],
        output_channels=["c"],
    )
    await t.invoke(app, {"a": "x"})


async def a_chain_of_functions(t):
    """`do` again chains functions; `write_to` maps the result for each channel."""
    node = (
        NodeBuilder()
        .subscribe_only("a")
        .do(lambda v: v + 1)
        .do(lambda v: v * 10)
        .write_to("raw", fixed=7, mapped=lambda v: -v)
    )
    app = Pregel(
        nodes={"node": node},
        channels={name: LastValue(int) for name in ("a", "raw", "fixed", "mapped")},
        input_channels="a",
        output_channels=["raw", "fixed", "mapped"],
    )
    await t.invoke(app, 1)


async def reads_without_subscription(t):
    """A node reads more channels than those that trigger it."""
    node = (
        NodeBuilder()
        .subscribe_to("a")
        .read_from("memory")
        .do(t.node(lambda values: dict(values)))
        .write_to("out", memory=lambda values: values["a"])
    )
    app = Pregel(
        nodes={"node": node},
        channels={"a": EphemeralValue(int), "memory": LastValue(int), "out": LastValue(dict)},
        input_channels="a",
        output_channels="out",
        checkpointer=InMemorySaver(),
    )
    await t.invoke(app, 1, THREAD)
    await t.invoke(app, 2, THREAD)
    await t.history(app, THREAD)


async def a_subscription_that_is_not_read(t):
    """`subscribe_to` with read=False triggers a node without giving it the value."""
    node = (
        NodeBuilder().subscribe_to("go", read=False).read_from("v").do(lambda values: values).write_to("out")
    )
    app = Pregel(
        nodes={"node": node},
        channels={"go": EphemeralValue(bool), "v": LastValue(int), "out": LastValue(dict)},
        input_channels=["go", "v"],
        output_channels="out",
    )
    await t.invoke(app, {"go": True, "v": 5})
    await t.invoke(app, {"v": 5})


async def a_barrier(t):
    """A node that waits for a barrier runs when all names came in."""

    def writer(name):
        return NodeBuilder().subscribe_only("a").do(lambda v: name).write_to("both")

    last = (
        NodeBuilder()
        .subscribe_to("both", read=False)
        .read_from("a")
        .do(lambda values: "done")
        .write_to("out")
    )
    app = Pregel(
        nodes={"p": writer("p"), "q": writer("q"), "last": last},
        channels={
            "a": EphemeralValue(str),
            "both": NamedBarrierValue(str, {"p", "q"}),
            "out": LastValue(str),
        },
        input_channels="a",
        output_channels="out",
    )
    await t.invoke(app, "x")


async def untracked(t):
    """An untracked channel is lost between runs."""
    node = (
        NodeBuilder()
        .subscribe_to("a")
        .read_from("u")
        .do(lambda v: dict(v))
        .write_to("out", u=lambda v: v["a"])
    )
    app = Pregel(
        nodes={"node": node},
        channels={"a": EphemeralValue(int), "u": UntrackedValue(int), "out": LastValue(dict)},
        input_channels="a",
        output_channels=["out", "u"],
        checkpointer=InMemorySaver(),
    )
    await t.invoke(app, 1, THREAD)
    await t.invoke(app, 2, THREAD)
    await t.state(app, THREAD)


async def inputs(t):
    """Inputs are checked: no dict, no known key, nothing."""
    node = NodeBuilder().subscribe_to("a").do(lambda values: values["a"]).write_to("b")
    app = Pregel(
        nodes={"node": node},
        channels={"a": LastValue(int), "b": LastValue(int)},
        input_channels=["a"],
        output_channels=["b"],
    )
    for value in ("text", {"zz": 1}, {}, None, {"a": 1, "zz": 2}):
        await t.invoke(app, value)


async def threads(t):
    """A program with a saver has a state of its channels, can be updated and goes on."""
    first = NodeBuilder().subscribe_only("a").do(t.node(double)).write_to("b")
    second = NodeBuilder().subscribe_only("b").do(t.node(double)).write_to("c")
    app = Pregel(
        nodes={"first": first, "second": second},
        channels={name: LastValue(str) for name in "abc"},
        input_channels="a",
        output_channels="c",
        stream_channels=["a", "b", "c"],
        interrupt_before_nodes=["second"],
        checkpointer=InMemorySaver(),
    )
    await t.invoke(app, "x", THREAD)
    await t.state(app, THREAD)
    await t.update(app, THREAD, "edited", as_node="first")
    await t.state(app, THREAD)
    await t.invoke(app, None, THREAD)
    await t.history(app, THREAD)


async def interrupts(t):
    """A node of a program may ask, like any."""
    node = NodeBuilder().subscribe_only("a").do(t.node(lambda v: v + interrupt("?"))).write_to("b")
    app = one(node, str, checkpointer=InMemorySaver())
    await t.stream(app, "x", THREAD, stream_mode=["values", "updates"])
    await t.state(app, THREAD)


async def retries(t):
    """A node's retry policy is used before the program's."""
    log = []

    def flaky(value):
        log.append(value)
        if len(log) < 3:
            raise KeyError("boom")
        return value

    policy = RetryPolicy(initial_interval=0, jitter=False, retry_on=KeyError)
    node = NodeBuilder().subscribe_only("a").do(t.node(flaky)).write_to("b").add_retry_policies(policy)
    app = one(node, int)
    await t.invoke(app, 1)
    t.note("tries", len(log))


async def a_cache(t):
    """A node with a cache policy isn't run again for an equal value."""
    log = []

    def look(value):
        log.append(value)
        return value

    node = NodeBuilder().subscribe_only("a").do(t.node(look)).write_to("b").add_cache_policy(CachePolicy())
    app = one(node, int, cache=InMemoryCache())
    for given in (1, 1, 2):
        await t.invoke(app, given)
    t.note("ran", log)


@differs_by_caller("timeouts are for async nodes")
async def a_timeout(t):
    """A node's timeout bounds each attempt."""

    async def forever(value):
        await asyncio.Event().wait()

    if not t.asyncio:
        return
    app = Pregel(
        nodes={"node": NodeBuilder().subscribe_only("a").do(forever).write_to("b").set_timeout(0.01)},
        channels={"a": LastValue(int), "b": LastValue(int)},
        input_channels="a",
        output_channels="b",
    )
    await t.invoke(app, 1)


async def tags_and_metadata(t):
    """`meta` gives the node's runs tags and metadata, with those that the caller gives."""

    def look(value, config):
        return [config["tags"], config["metadata"]["team"], config["metadata"].get("tags")]

    node = NodeBuilder().subscribe_only("a").do(t.node(look)).write_to("b").meta("one", "two", team="red")
    app = Pregel(
        nodes={"node": node},
        channels={"a": LastValue(int), "b": LastValue(list)},
        input_channels="a",
        output_channels="b",
    )
    await t.stream(app, 1, stream_mode=["values", "tasks"])
    await t.stream(
        app, 1, {"tags": ["mine"], "metadata": {"who": "me"}}, stream_mode=["values", "tasks", "debug"]
    )


async def subscriptions_are_checked(t):
    """One channel alone, or several: not both."""
    t.raises(NodeBuilder().subscribe_to("a", "b").subscribe_only, "c")
    t.raises(NodeBuilder().subscribe_only("a").subscribe_only, "b")
    t.raises(NodeBuilder().subscribe_only("a").subscribe_to, "b")
    t.raises(NodeBuilder().subscribe_only("a").read_from, "b")
    t.raises(NodeBuilder().read_from, "b")


async def programs_are_checked(t):
    """A program names only channels and nodes that there are, and none that's reserved."""
    node = NodeBuilder().subscribe_only("a").do(double).write_to("b").build()
    right = {
        "nodes": {"node": node},
        "channels": {"a": LastValue(str), "b": LastValue(str)},
        "input_channels": "a",
        "output_channels": "b",
    }
    wrong = [
        {"channels": {"b": LastValue(str)}},
        {"channels": {"a": LastValue(str), "b": LastValue(str), "__input__": LastValue(str)}},
        {"nodes": {"node": node, "__interrupt__": node}},
        {"input_channels": "nope"},
        {"input_channels": "b"},
        {"input_channels": ["b"]},
        {"output_channels": "nope"},
        {"output_channels": ["b", "nope"]},
        {"stream_channels": ["nope"]},
        {"interrupt_before_nodes": ["nope"]},
        {"interrupt_after_nodes": ["nope"]},
        {"nodes": {}},
    ]
    for change in wrong:
        t.raises(lambda change=change: Pregel(**{**right, **change}))


async def an_unknown_target(t):
    """A write to a channel that there isn't is dropped."""
    node = NodeBuilder().subscribe_only("a").do(double).write_to("b", "nope")
    app = one(node, str)
    await t.invoke(app, "x")


async def attributes(t):
    """A program shows what it was made of."""
    node = NodeBuilder().subscribe_only("a").do(double).write_to("b")
    app = one(node, str)
    for name in (
        "name",
        "stream_mode",
        "input_channels",
        "output_channels",
        "stream_channels",
        "step_timeout",
    ):
        t.note(name, getattr(app, name))
    t.note("nodes", sorted(app.nodes))
    t.note("channels", {name: type(channel).__name__ for name, channel in app.channels.items()})
    t.note("stream channels", (app.stream_channels_list, app.stream_channels_asis))
    t.note("types", (app.InputType, app.OutputType))


async def json_schemas(t):
    """A program's input and result are described by its channels' types, under its name."""
    node = NodeBuilder().subscribe_only("a").do(double).write_to("b")
    for name in ("LangGraph", "doubles it"):
        for given, shown in (("a", "b"), (["a", "c"], ["b", "c"])):
            app = Pregel(
                nodes={"node": node},
                channels={"a": LastValue(int), "b": LastValue(int), "c": LastValue(str)},
                input_channels=given,
                output_channels=shown,
                name=name,
            )
            t.note("input", app.get_input_jsonschema())
            t.note("result", app.get_output_jsonschema())


async def what_is_shown_of_the_output(t):
    """Chunks of a call, and of a nested program, show the output: a value where it is one channel, whatever streams."""
    for output in ("b", ["b"], ["b", "c"]):
        for streamed in (None, "c", ["c"]):
            node = NodeBuilder().subscribe_only("a").do(t.node(double)).write_to("b", "c")
            channels = {"a": LastValue(str), "b": LastValue(str), "c": LastValue(str)}
            inner = Pregel(
                nodes={"node": node},
                channels=channels,
                input_channels="a",
                output_channels=output,
                stream_channels=streamed,
            )
            t.note("output", (inner.output_channels, inner.stream_channels))
            await t.invoke(inner, "x", stream_mode=["values", "updates"])
            outer = one(NodeBuilder().subscribe_only("a").do(inner).write_to("b"), object)
            await t.stream(outer, "x", stream_mode=["values", "updates", "tasks"], subgraphs=True)
