"""What a schema's annotations make of a graph's state: channels, roles, coercion (sections 2.6 and 7)."""

import dataclasses
import operator
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NotRequired, Required

from langchain_core.runnables import RunnableLambda
from langgraph.channels import (
    AnyValue,
    BinaryOperatorAggregate,
    DeltaChannel,
    EphemeralValue,
    LastValue,
    Topic,
    UntrackedValue,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from langgraph.types import Command, Overwrite
from pydantic import BaseModel, Field, PrivateAttr, field_validator
from typing_extensions import ReadOnly, TypedDict

from ..parts import ONE, State, edges, nodes
from ..trace import Trace, differs


def _run(t: Trace, schema: Any, *functions: Any, **schemas: Any) -> Any:
    """A chain of functions n0, n1, ... over the schema."""
    names = [f"n{i}" for i in range(len(functions))]
    builder = nodes(t, StateGraph(schema, **schemas), **dict(zip(names, functions, strict=True)))
    return edges(builder, " ".join([".", *names, "."])).compile()


class Plain(TypedDict):
    a: int
    b: str


class Nothing(TypedDict):
    pass


class NoKeys:
    pass


async def keys_never_written_are_absent(t: Trace) -> None:
    """A key without a reducer is absent until its first write; unknown keys are dropped everywhere."""

    def n0(state: Plain) -> Any:
        t.note("seen", dict(state))
        return {"b": "b", "unknown": 1}

    graph = _run(t, Plain, n0)
    await t.invoke(graph, {"a": 1, "other": 2})
    await t.invoke(graph, {"other": 2})
    await t.invoke(graph, {})


async def values_that_nothing_checks(t: Trace) -> None:
    """A TypedDict validates nothing, be it total or not."""

    class Loose(TypedDict, total=False):
        a: Required[int]
        b: NotRequired[Annotated[list, operator.add]]

    def n0(state: Any) -> Any:
        t.note("seen", dict(state))
        return {"a": "text"}

    await t.invoke(_run(t, Loose, n0), {"a": None, "b": [1]})
    await t.invoke(_run(t, Loose, n0), {})


async def a_reducer_starts_from_its_types_empty_value(t: Trace) -> None:
    """A reduced key whose type can be made without arguments is there from the start; another one isn't."""

    class Reduced(TypedDict):
        items: Annotated[list, operator.add]
        count: Annotated[int, operator.add]
        text: Annotated[str, operator.add]
        both: Annotated[dict, operator.or_]
        maybe: Annotated[int | None, lambda a, b: (a or 0) + (b or 0)]

    def n0(state: Any) -> Any:
        t.note("seen", dict(state))
        return {"items": [1], "count": 2, "text": "x", "both": {"k": 1}, "maybe": 3}

    def n1(state: Any) -> Any:
        t.note("seen", dict(state))
        return {"maybe": 4, "both": {"l": 2}}

    await t.invoke(_run(t, Reduced, n0, n1), {})


async def only_the_last_annotation_reduces(t: Trace) -> None:
    """A reducer counts as the last item of the metadata alone; before another item it's silently nothing."""

    class Late(TypedDict):
        a: Annotated[list, "doc", operator.add]
        b: Annotated[list, operator.add, "doc"]

    def n0(state: Any) -> Any:
        return {"a": [2], "b": [2]}

    await t.invoke(_run(t, Late, n0), {"a": [1], "b": [1]})


async def reducers_of_a_wrong_signature(t: Trace) -> None:
    """A reducer takes exactly two positional arguments; keyword-only ones may come on top."""

    def one(a: Any) -> Any:
        return a

    def three(a: Any, b: Any, c: Any = None) -> Any:
        return a

    def star(*args: Any) -> Any:
        return args

    def keyword(a: list, b: list, *, reverse: bool = False) -> list:
        return a + b

    for reducer in (one, three, star, keyword, max):
        t.note("reducer", reducer.__name__)
        t.raises(StateGraph, TypedDict("Bad", {"k": Annotated[list, reducer]}))  # type: ignore[misc]


async def a_plain_type_as_the_state(t: Trace) -> None:
    """A schema without annotations is one value under the root key; any return but None is its update."""
    total = t.warns(StateGraph, Annotated[int, operator.add])

    def n0(state: Any) -> Any:
        t.note("seen", state)
        return 2

    graph = edges(nodes(t, total, n0=n0, n1=lambda state: None), ". n0 n1 .").compile()
    await t.invoke(graph, 1)
    await t.stream(graph, 1, stream_mode=["values", "updates"])


async def a_dataclass_as_the_state(t: Trace) -> None:
    """Nodes get an instance; a default is seen and not stored; an instance as an update writes all its fields."""

    @dataclasses.dataclass
    class Data:
        a: int
        b: str = "default"
        x: Annotated[list, operator.add] = dataclasses.field(default_factory=list)

    def n0(state: Data) -> Any:
        t.note("seen", state)
        return {"a": state.a + 1, "x": [state.b]}

    def n1(state: Data) -> Any:
        t.note("seen", state)
        return Data(a=state.a + 1, x=["n1"])

    graph = _run(t, Data, n0, n1)
    await t.invoke(graph, {"a": 1})
    await t.invoke(graph, Data(a=5, b="given"))
    await t.stream(graph, {"a": 1}, stream_mode="values")


async def a_router_of_objects(t: Trace) -> None:
    """A router whose state is an object sees what the node wrote to it, and nothing else that the node returned."""

    @dataclasses.dataclass
    class Data:
        x: Annotated[list, operator.add] = dataclasses.field(default_factory=list)

    class Model(BaseModel):
        x: Annotated[list, operator.add] = []

    for schema in (Data, Model):
        seen: list[Any] = []
        builder = nodes(t, StateGraph(schema), a=lambda state: {"x": ["a"], "unknown": 1})
        builder.add_conditional_edges("a", lambda state, seen=seen: seen.append(state) or "__end__")
        await t.invoke(edges(builder, ". a").compile(), {"x": ["i"]})
        t.note("seen", seen)


async def a_dataclass_without_a_required_field(t: Trace) -> None:
    """A missing field fails in the first node that needs the instance, with a note that says so."""

    @dataclasses.dataclass
    class Data:
        a: int

    await t.invoke(_run(t, Data, lambda state: None), {})


class Model(BaseModel):
    a: int
    b: str = "default"
    x: Annotated[list[int], operator.add] = []


async def pydantic_is_checked_at_a_nodes_input(t: Trace) -> None:
    """Values are coerced for each node and kept raw; what the last node writes is never checked."""

    def n0(state: Model) -> Any:
        t.note("seen", state)
        t.note("set", sorted(state.model_fields_set))
        return {"a": "7"}

    def n1(state: Model) -> Any:
        t.note("seen", state)
        return {"a": "bad"}

    graph = _run(t, Model, n0, n1)
    await t.invoke(graph, {"a": "1"})
    await t.stream(graph, {"a": "1", "x": [1]}, stream_mode="values")


async def pydantic_fields_that_a_factory_fills(t: Trace) -> None:
    """A model that a node returns writes what its factories made, None too; None by default is left out."""

    class Made(BaseModel):
        a: int | None = 1
        b: int | None = Field(default_factory=lambda: None)
        c: list[int] = Field(default_factory=list)
        d: int | None = None

    graph = _run(t, Made, lambda state: Made())
    for given in [{}, {"a": 2, "b": 2, "c": [2], "d": 2}, Made()]:
        await t.stream(graph, given, stream_mode=["values", "updates"])


async def pydantic_refuses_an_input(t: Trace) -> None:
    """Bad input raises pydantic's error in the first node."""
    await t.invoke(_run(t, Model, lambda state: None), {"a": "no"})


@differs("a thread can be read")
async def a_thread_that_stored_what_pydantic_refuses(t: Trace) -> None:
    """The refused input is stored, and the same error meets every later look at the thread, and an update."""
    builder = edges(nodes(t, StateGraph(Model), n0=lambda state: None), ". n0 .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"a": "no"}, ONE)
    await t.state(graph, ONE)
    await t.update(graph, ONE, {"a": 1})
    await t.invoke(graph, None, ONE)
    await t.invoke(graph, {"a": 2}, ONE)


@differs("a thread can be read")
async def a_stream_of_what_pydantic_refuses(t: Trace) -> None:
    """A stream ends without the values that the next node refuses to read."""
    builder = edges(
        nodes(t, StateGraph(Model), n0=lambda state: {"a": "no"}, n1=lambda state: None), ". n0 n1 ."
    )
    await t.stream(builder.compile(), {"a": 1}, stream_mode=["values", "updates"])


async def a_model_instance_as_input_and_as_an_update(t: Trace) -> None:
    """An instance writes its set and non-empty fields, so returning the whole state doubles a reduced key."""

    def n0(state: Model) -> Any:
        state.b = "changed"
        return state

    graph = _run(t, Model, n0)
    await t.invoke(graph, Model(a=1, x=[1]))
    await t.invoke(graph, Model(a=1))
    await t.stream(graph, {"a": 1, "x": [2]}, stream_mode="updates")


class Other(BaseModel):
    a: int
    c: int = 5


async def _nested_in_a_model(t: Trace, inner: Any) -> None:
    builder = nodes(t, StateGraph(inner), i0=lambda state: {"a": 3})
    graph = edges(
        nodes(t, StateGraph(Model), n0=lambda state: {"a": 2}).add_node(
            "sub", edges(builder, ". i0 .").compile()
        ),
        ". n0 sub .",
    ).compile(checkpointer=InMemorySaver())
    for mode in (["values"], ["checkpoints"]):
        config = {"configurable": {"thread_id": mode[0]}}
        await t.stream(graph, {"a": 1}, config, stream_mode=mode, version="v2", subgraphs=True)


async def a_nested_graph_of_the_same_model(t: Trace) -> None:
    """`version="v2"` shows the values of nested graphs as instances of the model, too."""
    await _nested_in_a_model(t, Model)


@differs("values of a nested graph are of its own class")
async def a_nested_graph_of_another_model(t: Trace) -> None:
    """`version="v2"` shows the values of nested graphs as instances of the outermost one's model."""
    await _nested_in_a_model(t, Other)


async def a_nested_model_in_a_graph_of_dicts(t: Trace) -> None:
    """Where the outermost state is a dict, `version="v2"` shows dicts of nested graphs, whatever theirs is."""
    inner = edges(nodes(t, StateGraph(Other), i0=lambda state: {"a": 3}), ". i0 .").compile()
    graph = edges(StateGraph(Plain).add_node("sub", inner), ". sub .").compile()
    await t.stream(graph, {"a": 1}, stream_mode=["values"], version="v2", subgraphs=True)


async def a_model_coerces_the_second_versions_output(t: Trace) -> None:
    """`version="v2"` makes the output schema of the result, and raises if that's impossible."""
    await t.invoke(_run(t, Model, lambda state: {"b": "n0"}), {"a": "1"}, version="v2")
    await t.invoke(_run(t, Model, lambda state: {"a": "bad"}), {"a": "1"}, version="v2")


async def a_models_validators_run_for_each_node(t: Trace) -> None:
    """A validator is applied to what a node gets, once per node."""
    calls: list[int] = []

    class Checked(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def check(cls, value: int) -> int:
            calls.append(value)
            return value * 10

    def n(state: Checked) -> Any:
        return {"a": state.a}

    await t.invoke(_run(t, Checked, n, n), {"a": 1})
    t.note("calls", calls)


async def input_and_output_schemas(t: Trace) -> None:
    """Input keys of the input schema alone are taken; invoke gives the output schema's keys, stream all."""

    class In(TypedDict):
        a: int

    class Out(TypedDict):
        b: str

    class Both(In, Out):
        c: int

    def n0(state: Both) -> Any:
        t.note("seen", dict(state))
        return {"b": "b", "c": 3}

    graph = _run(t, Both, n0, input_schema=In, output_schema=Out)
    await t.invoke(graph, {"a": 1, "c": 9})
    await t.stream(graph, {"a": 1, "c": 9}, stream_mode=["values", "updates"])


async def private_keys_of_a_nodes_input(t: Trace) -> None:
    """The class that a node's first parameter is annotated with is what it reads, and adds keys to the graph."""

    class Private(TypedDict):
        secret: str

    def n0(state: Plain) -> Private:
        return {"secret": "s", "a": state["a"] + 1}  # type: ignore[typeddict-unknown-key]

    def n1(state: Private) -> Any:
        t.note("seen", dict(state))
        return {"b": state["secret"]}

    graph = _run(t, Plain, n0, n1, output_schema=Plain)
    await t.invoke(graph, {"a": 1})
    await t.stream(graph, {"a": 1}, stream_mode="values")


async def input_schema_of_a_node(t: Trace) -> None:
    """`input_schema=` wins over the annotation, and a class of it is instantiated."""

    class Part(BaseModel):
        a: int

    def n0(state: Plain) -> Any:
        t.note("seen", state)
        return {"b": "b"}

    builder = StateGraph(Plain).add_node("n0", t.node(n0), input_schema=Part)
    await t.invoke(edges(builder, ". n0 .").compile(), {"a": "1", "b": "x"})


async def annotations_of_partials(t: Trace) -> None:
    """A partial says nothing: as a node and as a router it's given the whole state, and may go anywhere."""

    class Part(TypedDict):
        a: int

    def n0(state: Part, word: str) -> Command[Literal["n1", "unknown"]]:
        t.note(word, dict(state))
        return Command(goto="n1")

    def route(state: Part, word: str) -> Literal["n2", "unknown"]:
        t.note(word, dict(state))
        return "n2"

    def n1(state: Plain) -> Any:
        return {"b": "n1"}

    def n2(state: Plain) -> Any:
        return {"b": "n2"}

    builder = nodes(t, StateGraph(Plain), n1=n1, n2=n2).add_edge("__start__", "n0")
    builder.add_node("n0", partial(t.node(n0), word="node"))
    builder.add_conditional_edges("n1", partial(t.node(route), word="router"))
    await t.invoke(builder.compile(), {"a": 1, "b": "x"})
    t.note("drawn", builder.compile().get_graph().draw_mermaid())


async def annotations_of_routers(t: Trace) -> None:
    """Of a `RunnableLambda` those of its function count, unless it is bound; of an object what it takes alone."""

    class Part(TypedDict):
        a: int

    def route(state: Part) -> Literal["n0"]:
        t.note("seen", dict(state))
        return "n0"

    class Routes:
        def __call__(self, state: Part) -> Literal["n0"]:
            return route(state)

    for router in (route, RunnableLambda(route), RunnableLambda(route).with_config(tags=["t"]), Routes()):
        builder = nodes(t, StateGraph(Plain), n0=lambda state: {"b": "n0"})
        builder.add_conditional_edges("__start__", router)
        await t.invoke(builder.compile(), {"a": 1, "b": "x"})
        t.note("drawn", builder.compile().get_graph().draw_mermaid())


async def one_key_in_two_schemas(t: Trace) -> None:
    """A plain key gives way to an earlier channel; a reducer over a plain key, or another reducer, is refused."""

    class Added(TypedDict):
        k: Annotated[list, operator.add]

    class Bare(TypedDict):
        k: list

    class Merged(TypedDict):
        k: Annotated[list, operator.or_]

    t.raises(StateGraph, Added, input_schema=Bare)
    t.raises(StateGraph, Bare, input_schema=Added)
    t.raises(StateGraph, Added, output_schema=Merged)


@differs("a result is the state as it is")
async def channels_in_annotations(t: Trace) -> None:
    """A channel's instance or class in the metadata is the channel of the key."""

    class Channels(TypedDict):
        last: Annotated[int, LastValue(int)]
        any: Annotated[int, AnyValue]
        once: Annotated[int, EphemeralValue]
        topic: Annotated[list, Topic(int)]
        every: Annotated[list, Topic(int, accumulate=True)]
        total: Annotated[int, BinaryOperatorAggregate(int, operator.add)]
        untracked: Annotated[int, UntrackedValue]

    def n0(state: Any) -> Any:
        t.note("seen", dict(state))
        return {"topic": [3], "every": 4, "total": 1, "last": 2}

    def n1(state: Any) -> Any:
        t.note("seen", dict(state))
        return None

    given = {"last": 1, "any": 1, "once": 1, "topic": [1, 2], "every": [1, 2], "total": 1, "untracked": 1}
    await t.invoke(_run(t, Channels, n0, n1), given)


@differs("a result is the state as it is")
async def a_stream_of_emptied_channels(t: Trace) -> None:
    """Of a superstep that empties keys and writes none a stream of values shows nothing."""

    class Channels(TypedDict):
        x: Annotated[list, operator.add]
        once: Annotated[int, EphemeralValue]

    graph = _run(t, Channels, lambda state: {"once": 1}, lambda state: None)
    await t.stream(graph, {"x": ["i"]}, stream_mode="values")


async def what_routers_see_of_channels(t: Trace) -> None:
    """A router sees of the keys that last for one superstep what its own node has written, in updates as well."""

    class Channels(TypedDict):
        x: Annotated[list, operator.add]
        once: Annotated[int, EphemeralValue]
        topic: Annotated[list, Topic(str)]
        every: Annotated[list, Topic(str, accumulate=True)]
        untracked: Annotated[int, UntrackedValue]

    first = {"x": ["a"], "once": 1, "topic": "a", "every": "a", "untracked": 1}

    def route(state: Any) -> str:
        t.note("routed by", dict(state))
        return "c"

    for update in (None, {}, {"x": ["b"]}, {"once": 2}, {"topic": "b"}, {"every": "b"}):
        builder = nodes(t, StateGraph(Channels), "c", a=lambda state: first, b=lambda state, u=update: u)
        builder.add_conditional_edges("b", t.node(route))
        graph = edges(builder, ". a b").compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": []}, ONE)
        before = next(each for each in await t.history(graph, ONE) if each.next == ("b",))
        await t.update(graph, before.config, update, as_node="b")


async def an_untracked_value_is_not_stored(t: Trace) -> None:
    """A key in an UntrackedValue channel is seen while the run lasts and is gone in the thread's state."""

    class Untracked(TypedDict):
        x: Annotated[list, operator.add]
        db: Annotated[str, UntrackedValue]

    builder = nodes(t, StateGraph(Untracked), a=lambda state: {"x": [state["db"]]})
    graph = edges(builder, ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"db": "connection"}, ONE)
    await t.state(graph, ONE)


async def values_of_guarded_channels(t: Trace) -> None:
    """Two writes in a superstep: refused by LastValue and by guarded channels, the last by name wins elsewhere."""
    for channel in [LastValue(int), EphemeralValue(int), UntrackedValue(int)]:
        await _two_writers(t, channel)
    for channel in [AnyValue(int), EphemeralValue(int, guard=False), UntrackedValue(int, guard=False)]:
        await _two_writers(t, channel)


async def _two_writers(t: Trace, channel: Any) -> None:
    class Two(TypedDict):
        k: Annotated[int, channel]

    builder = nodes(t, StateGraph(Two), a=lambda state: {"k": 1}, b=lambda state: {"k": 2})
    await t.invoke(edges(builder, ". a .", ". b .").compile(), {})


async def overwrite_passes_the_reducer(t: Trace) -> None:
    """Overwrite, in each of its forms, replaces a reduced value, whatever else is written in the superstep."""
    forms = [Overwrite([0]), {"__overwrite__": [0]}, {"type": "__overwrite__", "value": [0]}]
    for form in forms:
        builder = nodes(t, StateGraph(State), "a", "z", b=lambda state, form=form: {"x": form})
        await t.invoke(edges(builder, ". a .", ". b .", ". z .").compile(), {"x": ["i"]})


async def two_overwrites_are_refused(t: Trace) -> None:
    """One Overwrite of a key in a superstep."""

    def over(state: State) -> Any:
        return {"x": Overwrite([0])}

    builder = nodes(t, StateGraph(State), a=over, b=over)
    await t.invoke(edges(builder, ". a .", ". b .").compile(), {"x": ["i"]})


async def managed_values(t: Trace) -> None:
    """RemainingSteps counts down to the recursion limit and IsLastStep says when one is left; neither is state."""

    class Managed(TypedDict):
        x: Annotated[list, operator.add]
        left: RemainingSteps
        last: IsLastStep

    def a(state: Managed) -> Any:
        t.note("seen", (state["left"], state["last"]))
        return {"x": [state["left"]]}

    graph = edges(nodes(t, StateGraph(Managed), a=a), ". a a").compile()
    await t.stream(graph, {"x": []}, {"recursion_limit": 4}, stream_mode="values")


async def managed_values_outside_of_the_state(t: Trace) -> None:
    """A managed key in an input or output schema is refused."""

    class Managed(TypedDict):
        left: RemainingSteps

    t.raises(StateGraph, State, input_schema=Managed)
    t.raises(StateGraph, State, output_schema=Managed)


async def json_schemas(t: Trace) -> None:
    """Input, output and context of a graph as JSON schemas, of each kind of schema."""

    @dataclasses.dataclass
    class Data:
        a: int
        b: str = "b"

    for schema in [Plain, Model, Data]:
        graph = edges(
            StateGraph(schema, context_schema=schema).add_node("a", lambda state: None), ". a ."
        ).compile()
        t.note("input", graph.get_input_jsonschema())
        t.note("output", graph.get_output_jsonschema())
        t.note("context", graph.get_context_jsonschema())
    graph = edges(StateGraph(State).add_node("a", lambda state: None), ". a .").compile()
    t.note("context", graph.get_context_jsonschema())


async def json_schemas_of_described_keys(t: Trace) -> None:
    """What a pydantic `Field` in an annotation says of a key is in the schema, wherever the reducer stands, as is
    what a class says of itself."""

    class Described(TypedDict):
        a: Annotated[int, "text", Field(gt=0, description="A")]
        b: Annotated[list, Field(description="B"), operator.add]
        c: NotRequired[Annotated[list, operator.add, Field(description="C", max_length=3)]]

    @dataclasses.dataclass
    class Data:
        """Described."""

        a: Annotated[int, Field(gt=0, description="A")]
        b: Annotated[list, operator.add, Field(description="B")] = dataclasses.field(default_factory=list)

    for schema in (Described, Data):
        builder = StateGraph(schema, context_schema=schema).add_node("a", lambda state: None)
        graph = edges(builder, ". a .").compile()
        t.note("input", graph.get_input_jsonschema())
        t.note("output", graph.get_output_jsonschema())
        t.note("context", graph.get_context_jsonschema())


async def json_schemas_of_classes(t: Trace) -> None:
    """A class variable of a dataclass is no field, and only a dataclass's fields and a model's have defaults."""

    @dataclasses.dataclass
    class Data:
        a: int
        kinds: ClassVar[int] = 3
        b: list = dataclasses.field(default_factory=list)

    class Record(NamedTuple):
        a: int
        b: int = 2

    class Simple:
        a: int
        b: int = 2

    for schema in [Data, Record, Simple]:
        graph = edges(StateGraph(schema).add_node("a", lambda state: None), ". a .").compile()
        t.note("input", graph.get_input_jsonschema())
        t.note("output", graph.get_output_jsonschema())


async def models_of_inputs(t: Trace) -> None:
    """The model of an input has it as its root, without the keys that weren't given."""

    class Partial(TypedDict):
        a: int
        b: NotRequired[Annotated[str, "told"]]

    @dataclasses.dataclass
    class Data:
        a: int
        b: str = "b"

    class Record(NamedTuple):
        a: int
        b: Annotated[str, operator.add] = "b"

    for schema in [Partial, Data, Record, int]:
        graph = edges(StateGraph(schema).add_node("a", lambda state: None), ". a .").compile()
        model = graph.get_input_schema()
        t.note(model.__name__, model.model_json_schema())
        t.note("valid", model.model_validate(1 if schema is int else {"a": 1}).model_dump())
        t.raises(model.model_validate, "no")
        t.note("json", graph.get_input_jsonschema())


@differs("a plain class has a schema")
async def models_of_plain_classes(t: Trace) -> None:
    """The model of an input that is a class with nothing but annotations."""

    class Plain:
        a: int
        b: Annotated[list[str], operator.add]

    graph = edges(StateGraph(Plain).add_node("a", lambda state: None), ". a .").compile()
    model = graph.get_input_schema()
    t.raises(model.model_json_schema)
    t.raises(model.model_validate, {"a": 1, "b": []})
    t.note("json", graph.get_input_jsonschema())


async def models_in_a_typed_dict(t: Trace) -> None:
    """A model as a value stays an instance; a dict in its place stays a dict."""

    class Holder(TypedDict):
        model: Model

    def n0(state: Holder) -> Any:
        t.note("seen", state["model"])
        return {"model": {"a": 2}}

    graph = _run(t, Holder, n0)
    await t.invoke(graph, {"model": Model(a=1)})


async def aliases_of_a_models_fields(t: Trace) -> None:
    """Keys of the state are the fields' names, whatever their aliases."""

    class Aliased(BaseModel):
        model_config = {"populate_by_name": True}
        a: int = Field(alias="first")

    def n0(state: Aliased) -> Any:
        t.note("seen", state)
        return {"a": 2}

    await t.invoke(_run(t, Aliased, n0), {"a": 1})
    await t.invoke(_run(t, Aliased, n0), {"first": 1})


async def forward_references(t: Trace) -> None:
    """Annotations may be strings."""

    class Later(TypedDict):
        x: "Annotated[list, operator.add]"

    def n0(state: "Later") -> Any:
        return {"x": [1]}

    await t.invoke(_run(t, Later, n0), {"x": [0]})


async def inherited_keys(t: Trace) -> None:
    """A schema has its bases' keys."""

    class Child(State):
        y: int

    await t.invoke(_run(t, Child, lambda state: {"x": [1], "y": 2}), {"x": [0]})


async def an_overwrite_of_an_input(t: Trace) -> None:
    """An Overwrite in a run's input or in an update starts a reduced value anew."""
    builder = edges(nodes(t, StateGraph(State), "a"), ". a .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, {"x": Overwrite(["anew"])}, ONE)
    await t.update(graph, ONE, {"x": Overwrite(["updated"])})
    t.note("values", (await t.state(graph, ONE)).values)


async def delta_channels(t: Trace) -> None:
    """A DeltaChannel's reducer gets all writes of a superstep at once; the state is the same as any."""

    def merge(state: list, writes: list) -> list:
        t.note("merged", (list(state), list(writes)))
        return [*state, *(item for write in writes for item in write)]

    class Delta(TypedDict):
        x: Annotated[list, DeltaChannel(merge)]

    said = {name: lambda state, name=name: {"x": [name]} for name in "abc"}
    graph = edges(nodes(t, StateGraph(Delta), **said), ". a c .", ". b c").compile()
    await t.invoke(graph, {"x": ["i"]})


async def delta_channels_that_nobody_wrote(t: Trace) -> None:
    """A node reads the empty value of its type, and the history shows it from the input on."""

    class Delta(TypedDict):
        x: Annotated[list, DeltaChannel(lambda state, writes: [*state, *writes])]
        y: Annotated[dict, DeltaChannel(lambda state, writes: state)]
        n: int

    counts = {"a": lambda state: {"n": len(state["x"])}, "b": lambda state: {"x": len(state["y"])}}
    graph = edges(nodes(t, StateGraph(Delta), **counts), ". a b .").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"n": 1}, ONE, stream_mode="values")
    states = await t.call(graph, "get_state_history", ONE) if not t.asyncio else graph.aget_state_history(ONE)
    t.note("values", [s.values async for s in states] if t.asyncio else [s.values for s in states])


async def models_of_a_graph(t: Trace) -> None:
    """Models have the graph's name; an output has the keys that were written; a pydantic input is its own."""

    @entrypoint()
    def workflow(given: Model) -> Model:
        return given

    graphs: list[Any] = [workflow]
    for schema in (Plain, Model, int):
        builder = edges(StateGraph(schema).add_node("a", lambda state: None), ". a .")
        graphs += [builder.compile(), builder.compile(name="named")]
    for graph in graphs:
        t.note("names", [graph.get_input_schema().__name__, graph.get_output_schema().__name__])
    for graph in graphs[:-2]:
        t.note("output", graph.get_output_schema().model_json_schema())


async def json_schemas_of_optional_keys(t: Trace) -> None:
    """Keys that needn't be there aren't required, and have no default."""

    class Some(TypedDict, total=False):
        a: Required[Annotated[int, operator.add]]
        b: Annotated[list[int], operator.add]
        c: str

    class Spelled(TypedDict):
        a: "NotRequired[Annotated[int, operator.add]]"
        b: "Annotated[NotRequired[list[int]], operator.add]"
        c: "ReadOnly[str]"
        d: NotRequired[ReadOnly[int]]

    for schema in (Some, Spelled):
        builder = StateGraph(schema, context_schema=Some).add_node("a", lambda state: None)
        graph = edges(builder, ". a .").compile()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic's, that it doesn't guard what is read only
            t.note("input", graph.get_input_jsonschema())
        t.note("context", graph.get_context_jsonschema())


async def an_input_of_a_local_class(t: Trace) -> None:
    """An input may be an object whose class could not be stored: its fields are the input."""

    @dataclasses.dataclass
    class Data:
        a: int
        b: Annotated[list[int], operator.add] = dataclasses.field(default_factory=list)

    class Local(BaseModel):
        a: int = 1
        b: Annotated[list[int], operator.add] = []

    for schema in (Data, Local):
        builder = StateGraph(schema).add_node("n", t.node(lambda state: {"b": [state.a]}))
        graph = edges(builder, ". n .").compile(checkpointer=InMemorySaver())
        await t.invoke(graph, schema(a=2), ONE)
        await t.stream(graph, schema(a=3, b=[7]), ONE, stream_mode=["values", "updates"])
        await t.history(graph, ONE)


async def classes_without_keys(t: Trace) -> None:
    """A class of one's own has the keys that it names, though it names none; a builtin one is the state's one value."""

    def node(state: Any) -> Any:
        seen.append(state)
        return {"a": 2}

    for schema in (Nothing, NoKeys, Mapping, OrderedDict, dict, object):
        seen: list[Any] = []
        t.note("schema", schema)
        builder = edges(nodes(t, StateGraph(Plain, input_schema=schema), n=node), ". n .")
        await t.stream(builder.compile(), {"a": 1}, stream_mode="values")
        t.note("channels", {*edges(nodes(t, StateGraph(schema), n=node), ". n .").compile().channels})
        t.note("seen", seen)


async def a_value_beside_keys(t: Trace) -> None:
    """A graph that takes or gives one value writes its nodes' updates to the state's keys all the same."""
    for schemas in (
        {"input_schema": dict},
        {"output_schema": dict},
        {"input_schema": dict, "output_schema": dict},
    ):
        graph = _run(t, Plain, lambda state: {"a": 2}, lambda state: {"b": str(state.get("a"))}, **schemas)
        await t.invoke(graph, {"a": 1})
        await t.stream(graph, {"a": 1}, stream_mode="values")


@differs("a result is the state as it is")
async def results_without_values(t: Trace) -> None:
    """A run that writes nothing of its output came to None."""
    graph = _run(t, Plain, lambda state: {"a": 2})
    await t.invoke(graph, {"a": 1}, output_keys=["b"])
    await t.invoke(graph, {"a": 1}, output_keys=[])
    await t.invoke(_run(t, Plain, lambda state: {"a": 2}, output_schema=Nothing), {"a": 1})


class Kept(TypedDict):
    x: "Annotated[list, lambda old, new: [*old, *new]]"


class Shown(Kept):
    """Its annotations are read again, and so have a lambda of their own."""


async def lambdas_of_two_schemas(t: Trace) -> None:
    """Two lambdas aren't told apart: the first one is the key's. Two functions contradict each other."""

    def backwards(old: list, new: list) -> list:
        return new + old

    class Backwards(TypedDict):
        x: Annotated[list, lambda old, new: new + old]

    class Function(TypedDict):
        x: Annotated[list, backwards]

    for schema in (Shown, Backwards, Function):
        await t.invoke(_run(t, Kept, lambda state: {"x": ["n"]}, input_schema=schema), {"x": ["i"]})
    t.raises(StateGraph, State, input_schema=Function)


class _Beside(BaseModel):
    """A model with more than fields."""

    a: int = 0
    LIMIT: ClassVar[int] = 5
    _secret: str = PrivateAttr("s")


@differs("a state has its fields")
async def what_a_model_has_beside_its_fields(t: Trace) -> None:
    """Class variables and private attributes of a state that is given, and returned, as an instance."""
    builder = nodes(t, StateGraph(_Beside), n=lambda state: {"a": state.a + 1}, same=lambda state: state)
    graph = edges(builder, ". n same .").compile(checkpointer=InMemorySaver())
    await t.stream(graph, _Beside(a=1), ONE, stream_mode=["values", "updates"])
    t.note("stored", (await t.call(graph, "get_state", ONE)).values)
