"""ToolNode, tools_condition and ValidationNode: what tools get, and what becomes of what they return (section 5)."""

import operator
import warnings
from dataclasses import dataclass
from typing import Annotated, Any
from unittest import mock

from langchain import tools as handed_on
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_stream_writer
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime, tools_condition
from langgraph.prebuilt.tool_node import ToolInvocationError, msg_content_output
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from ..parts import ONE, edges
from ..trace import differs, differs_by_caller


class State(MessagesState):
    seen: Annotated[list, operator.add]
    user: str


def asks(*calls, text=""):
    """A message of a model that calls tools: `("name", {"argument": 1})`, with the ids 1, 2, …"""
    found = [
        {"name": name, "args": args, "id": str(number), "type": "tool_call"}
        for number, (name, args) in enumerate(calls, start=1)
    ]
    return AIMessage(text, tool_calls=found, id="ai")


def graph(node, schema=State, **compiled):
    """A graph of this one node."""
    builder = StateGraph(schema)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    return builder.compile(**compiled)


async def _answers(t, tools, *calls, state=None, config=None, given=None, compiled=None, **options):
    """What a graph of one ToolNode makes of a model's calls."""
    agent = graph(ToolNode(tools, **options), **(compiled or {}))
    given = {"messages": [asks(*calls)], **(state or {})} if given is None else given
    result = await _result(t, agent, given, *([config] if config else []))
    if result is not None:
        _note(t, result)


async def _result(t, graph, *args, **kw):
    """The graph's result, recorded only where it is an error."""
    try:
        return await t.call(graph, "invoke", *args, **kw)
    except Exception as error:
        t.note("raised", error)


def _note(t, result):
    found = [(m.content, m.name, m.tool_call_id, m.status) for m in result["messages"] if m.type == "tool"]
    rest = {key: value for key, value in result.items() if key != "messages"}
    t.note("answers", found)
    t.note("rest", rest)


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(kind: str) -> str:
    """Fail."""
    raise {"value": ValueError, "key": KeyError, "type": TypeError}[kind](f"no {kind}")


async def calls_are_answered_in_order(t):
    """Each call has its answer, in the order of the calls."""
    await _answers(t, [add], ("add", {"a": 1}), ("add", {"a": 2, "b": 5}), ("add", {"a": "3"}))


async def content_of_answers_is_normalised(t):
    """The content of a message that a tool returns is normalised as any result is."""
    for content in ("text", ["a", 1], [{"type": "text", "text": "t"}], [{"type": "other"}]):

        @tool
        def answers(tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
            """Answer."""
            return ToolMessage(content, tool_call_id=tool_call_id, name="answers")  # noqa: B023

        result = await _result(t, graph(ToolNode([answers])), {"messages": [asks(("answers", {}))]})
        t.note("content", result["messages"][-1].content)


async def content_is_normalised(t):
    """Strings and content blocks stay; the rest is JSON, or what str() says."""

    class Point(BaseModel):
        x: int

    values = {
        "text": "é",
        "number": 1,
        "none": None,
        "list": [1, "é"],
        "dict": {"é": [1]},
        "blocks": [{"type": "text", "text": "hi"}],
        "strings": ["a", "b"],
        "mixed": [{"type": "text", "text": "hi"}, 1],
        "image": [{"type": "image_url", "image_url": {"url": "x"}}],
        "other": [{"type": "strange"}],
        "set": {1},
        "model": Point(x=1),
        "tuple": (1, 2),
        "empty": [],
        "json": [{"type": "json", "json": {}}],
    }

    @tool
    def give(kind: str) -> Any:
        """Give it."""
        return values[kind]

    await _answers(t, [give], *(("give", {"kind": kind}) for kind in values))
    t.note("contents", {kind: msg_content_output(value) for kind, value in values.items()})


async def a_message_passes(t):
    """A tool's own ToolMessage is the answer, under the tool's name."""

    @tool
    def own(call: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Answer."""
        return ToolMessage("mine", tool_call_id=call, artifact={"a": 1})

    agent = graph(ToolNode([own]))
    result = await _result(t, agent, {"messages": [asks(("own", {}))]})
    t.note("artifact", result["messages"][-1].artifact)
    _note(t, result)


async def artifacts_are_kept(t):
    """A tool that returns content and artifact."""

    @tool(response_format="content_and_artifact")
    def both(a: int) -> tuple:
        """Both."""
        return "text", {"a": a}

    result = await _result(t, graph(ToolNode([both])), {"messages": [asks(("both", {"a": 1}))]})
    t.note("artifact", result["messages"][-1].artifact)
    _note(t, result)


async def unknown_tools_are_answered(t):
    """A name that no tool has is an answer, whatever the handling of errors."""
    for handling in (False, True, "text"):
        await _answers(t, [add, fail], ("sub", {}), ("add", {"a": 1}), handle_tool_errors=handling)
    await _answers(t, [], ("sub", {}))


async def invalid_arguments_are_answered(t):
    """By default a tool's errors raise, and arguments that don't fit are an answer."""
    await _answers(t, [add], ("add", {"b": 1}))
    await _answers(t, [add], ("add", {"a": "x", "b": "y"}))
    await _answers(t, [fail], ("fail", {"kind": "value"}))


async def invalid_arguments_raise(t):
    """`handle_tool_errors=False` raises for everything."""
    await _answers(t, [add], ("add", {"b": 1}), handle_tool_errors=False)
    await _answers(t, [fail], ("fail", {"kind": "value"}), handle_tool_errors=False)


async def every_error_is_answered(t):
    """`handle_tool_errors=True` answers with the error."""
    calls = (("fail", {"kind": "value"}), ("add", {"b": 1}), ("add", {"a": 1}))
    await _answers(t, [add, fail], *calls, handle_tool_errors=True)
    await _answers(t, [add, fail], *calls, handle_tool_errors="Try again.")


async def errors_of_a_type_are_answered(t):
    """A type, or several: only those are answered."""
    for kinds in (ValueError, (ValueError, KeyError), (KeyError,), Exception, ToolInvocationError):
        await _answers(t, [fail], ("fail", {"kind": "value"}), handle_tool_errors=kinds)
        await _answers(t, [add], ("add", {"b": 1}), handle_tool_errors=kinds)


async def a_function_answers_errors(t):
    """A function's annotation says which errors it is for."""

    def values(error: ValueError) -> str:
        return f"value: {error}"

    def several(error: ValueError | KeyError) -> str:
        return f"several: {error!r}"

    def anything(error) -> str:
        return f"any: {error!r}"

    def exceptions(error: Exception) -> str:
        return f"exception: {error!r}"

    class Handler:
        def handle(self, error: KeyError) -> str:
            return "method"

    for handler in (values, several, anything, exceptions, lambda e: "lambda", Handler().handle):
        for kind in ("value", "key", "type"):
            await _answers(t, [fail], ("fail", {"kind": kind}), handle_tool_errors=handler)


async def a_function_has_to_be_for_errors(t):
    """What a function's annotation may be."""

    def number(error: int) -> str:
        return ""

    def mixed(error: ValueError | int) -> str:
        return ""

    def none() -> str:
        return ""

    for handler in (number, mixed, none):
        await _answers(t, [fail], ("fail", {"kind": "value"}), handle_tool_errors=handler)


async def odd_handlings(t):
    """Lists, and other things."""
    for handling in ([ValueError], 1, ()):
        await _answers(t, [fail], ("fail", {"kind": "value"}), handle_tool_errors=handling)


async def input_forms(t):
    """A state, a list of messages, a list that ends with a call, and a call with its state."""
    node = ToolNode([add])
    shown = {}

    def run(state: State):
        call = {"name": "add", "args": {"a": 1}, "id": "7", "type": "tool_call"}
        given = {
            "dict": {"messages": [HumanMessage("x"), asks(("add", {"a": 1})), HumanMessage("later")]},
            "list": [asks(("add", {"a": 1}))],
            "call": [call],
            "with state": {"__type": "tool_call_with_context", "tool_call": call, "state": {"messages": []}},
        }
        for key, value in given.items():
            shown[key] = node.invoke(value)
        return {"seen": [1]}

    await _result(t, graph(run), {"messages": []})
    for key, value in shown.items():
        messages = value if isinstance(value, list) else value["messages"]
        t.note(key, (type(value).__name__, [(m.content, m.tool_call_id) for m in messages]))


async def input_has_to_have_calls(t):
    """Inputs without a message of a model."""
    for given in ({"messages": []}, {"messages": [HumanMessage("x")]}, {"messages": [asks()]}):
        await _answers(t, [add], given=given)
    agent = graph(lambda state: ToolNode([add]).invoke({"other": []}))
    await _result(t, agent, {"messages": []})
    agent = graph(lambda state: ToolNode([add]).invoke("text"))
    await _result(t, agent, {"messages": []})


async def another_key(t):
    """The messages may have another key."""

    class Other(TypedDict):
        chat: Annotated[list, operator.add]

    agent = graph(ToolNode([add], messages_key="chat"), Other)
    result = await _result(t, agent, {"chat": [asks(("add", {"a": 1}))]})
    t.note("chat", [m.content for m in result["chat"]])


async def states_may_be_objects(t):
    """Dataclasses and pydantic models as states."""

    @dataclass
    class Data:
        messages: Annotated[list, operator.add]
        user: str = "ada"

    class Model(BaseModel):
        messages: Annotated[list, operator.add]
        user: str = "bob"

    @tool
    def who(user: Annotated[str, InjectedState("user")], state: Annotated[Any, InjectedState]) -> str:
        """Who."""
        return f"{user} {type(state).__name__}"

    for schema in (Data, Model):
        result = await _result(t, graph(ToolNode([who]), schema), {"messages": [asks(("who", {}))]})
        _note(t, result)


async def what_a_model_must_not_say(t):
    """A parameter marked as not the model's keeps its default, whatever the model says; without one it is missing."""

    class Own(InjectedToolArg):
        pass

    @tool
    def delete(x: int, user: Annotated[str, InjectedToolArg] = "nobody") -> str:
        """Delete."""
        return f"{user} deletes {x}"

    @tool
    def union(x: int, user: Annotated[str | None, Own()] = None) -> str:
        """Delete."""
        return f"{user} deletes {x}"

    class Schema(BaseModel):
        x: int
        user: Annotated[str, InjectedToolArg] = "nobody"

    @tool(args_schema=Schema)
    def described(x, user="somebody"):
        """Delete."""
        return f"{user} deletes {x}"

    def plain(x: int, user: Annotated[str, InjectedToolArg] = "nobody") -> str:
        """Delete."""
        return f"{user} deletes {x}"

    @tool
    def needs(x: int, state: Annotated[dict, InjectedState], user: Annotated[str, InjectedToolArg]) -> str:
        """Delete."""
        return f"{user} deletes {x}"

    said = {"x": 1, "user": "admin", "state": "mine"}
    names = ("delete", "union", "described", "plain", "needs")
    await _answers(t, [delete, union, described, plain, needs], *((name, said) for name in names))

    def fills(request, execute):
        call = request.tool_call
        return execute(request.override(tool_call={**call, "args": {**call["args"], "user": "host"}}))

    async def afills(request, execute):
        call = request.tool_call
        return await execute(request.override(tool_call={**call, "args": {**call["args"], "user": "host"}}))

    node = ToolNode([delete], wrap_tool_call=fills, awrap_tool_call=afills)
    _note(t, await _result(t, graph(node), {"messages": [asks(("delete", said))]}))


async def outside_of_a_graph(t):
    """A ToolNode needs a runtime."""
    t.raises(ToolNode([add]).invoke, {"messages": [asks(("add", {"a": 1}))]})


async def outside_of_a_graph_with_a_runtime(t):
    """As tests of tools do: the runtime is in the configuration, and has what a graph would give."""

    @tool
    def all_of_it(x: int, runtime: ToolRuntime) -> str:
        """All of it."""
        found = runtime.store and runtime.store.get(("a",), "k").value
        return f"{x} {sorted(runtime.state)} {found} {runtime.tool_call_id}"

    @tool
    def fails(x: int) -> str:
        """Fail."""
        raise ValueError(x)

    store = InMemoryStore()
    store.put(("a",), "k", {"v": 1})
    node = ToolNode([add, all_of_it, fails], handle_tool_errors=True)
    for runtime in (Runtime(), Runtime(store=store)):
        config = {"configurable": {"__pregel_runtime": runtime}}
        for calls in ([("add", {"a": 1})], [("all_of_it", {"x": 1}), ("fails", {"x": 2}), ("add", {"a": 3})]):
            await t.invoke(node, {"messages": [asks(*calls)], "user": "u"}, config)
    await t.invoke(node, [asks(("add", {"a": 1}))], config)


async def state_is_injected(t):
    """The state, or a key of it; what the model says in its place doesn't count."""

    @tool
    def whole(x: int, state: Annotated[dict, InjectedState]) -> str:
        """Whole."""
        return f"{x} {sorted(state)} {state['user']}"

    @tool
    def part(user: Annotated[str, InjectedState("user")]) -> str:
        """Part."""
        return user

    def plain(user: Annotated[str, InjectedState("user")], x: int = 0) -> str:
        """Plain."""
        return f"{user} {x}"

    calls = [
        ("whole", {"x": 1, "state": {"user": "eve"}}),
        ("part", {"user": "eve"}),
        ("part", {}),
        ("plain", {}),
    ]
    await _answers(t, [whole, part, plain], *calls, state={"user": "ada"})
    for each in (whole, part, tool(plain)):
        t.note("shown", each.tool_call_schema.model_json_schema())


async def missing_state_is_told(t):
    """A key that the state doesn't have."""

    @tool
    def needs(user: Annotated[str, InjectedState("user")]) -> str:
        """Needs."""
        return user

    @tool
    def may(user: Annotated[str, InjectedState("user")] = "nobody") -> str:
        """May."""
        return user

    await _answers(t, [needs], ("needs", {}))
    await _answers(t, [may], ("may", {}))
    await _answers(t, [needs], ("needs", {}), handle_tool_errors=True)


async def lists_have_no_keys(t):
    """Of a list the messages alone can be injected."""

    @tool
    def all_of(messages: Annotated[list, InjectedState("messages")]) -> str:
        """All."""
        return str(len(messages))

    @tool
    def whole(state: Annotated[Any, InjectedState]) -> str:
        """Whole."""
        return type(state).__name__

    @tool
    def user_of(user: Annotated[str, InjectedState("user")]) -> str:
        """User."""
        return user

    for each in (all_of, whole, user_of):
        agent = graph(lambda state, each=each: {"messages": ToolNode([each]).invoke(state["messages"])})
        result = await _result(t, agent, {"messages": [asks((each.name, {}))]})
        if result is not None:
            _note(t, result)


async def stores_are_injected(t):
    """A tool's store is the graph's."""

    @tool
    def keep(x: int, store: Annotated[Any, InjectedStore()]) -> str:
        """Keep."""
        store.put(("a",), "k", {"x": x})
        return str(store.get(("a",), "k").value)

    await _answers(t, [keep], ("keep", {"x": 1}), compiled={"store": InMemoryStore()})
    await _answers(t, [keep], ("keep", {"x": 1}))
    t.note("shown", keep.tool_call_schema.model_json_schema())


async def runtimes_are_injected(t):
    """A parameter called runtime, or of that type."""

    @tool
    def named(runtime: ToolRuntime) -> str:
        """Named."""
        return f"{runtime.state['user']} {runtime.tool_call_id} {runtime.store} {runtime.context}"

    @tool
    def typed(x: int, anything: ToolRuntime) -> str:
        """Typed."""
        anything.stream_writer({"x": x})
        names = [each.name for each in anything.tools]
        return f"{anything.tool_call_id} {names} {anything.config['configurable']['thread_id']}"

    agent = graph(ToolNode([named, typed]), checkpointer=InMemorySaver())
    given = {"messages": [asks(("named", {}), ("typed", {"x": 3}))], "user": "ada"}
    chunks = await t.stream(agent, given, ONE, stream_mode="custom")
    t.note("chunks", chunks)
    t.note("messages", [m.content for m in agent.get_state(ONE).values["messages"]])
    for each in (named, typed):
        t.note("shown", each.tool_call_schema.model_json_schema())


async def marks_that_langchain_hands_on(t):
    """A parameter is given the same, whoever its mark was imported from: LangChain has LangGraph's."""

    @tool
    def marked(
        state: Annotated[dict, handed_on.InjectedState],
        user: Annotated[str, handed_on.InjectedState("user")],
        store: Annotated[Any, handed_on.InjectedStore()],
    ) -> str:
        """Marked."""
        return f"{sorted(state)} {user} {type(store).__name__}"

    @tool
    def named(x: int, runtime: handed_on.ToolRuntime) -> str:
        """Named."""
        runtime.stream_writer({"x": x})
        names = [each.name for each in runtime.tools]
        return f"{runtime.state['user']} {runtime.tool_call_id} {names} {type(runtime).__name__}"

    @tool
    def typed(anything: handed_on.ToolRuntime[dict, State]) -> Command:
        """Typed."""
        said = ToolMessage("told", tool_call_id=anything.tool_call_id)
        return Command(update={"seen": [anything.context], "messages": [said]})

    agent = graph(ToolNode([marked, named, typed]), checkpointer=InMemorySaver(), store=InMemoryStore())
    given = {"messages": [asks(("marked", {}), ("named", {"x": 3}), ("typed", {}))], "user": "ada"}
    await t.stream(agent, given, ONE, stream_mode="custom")
    _note(t, agent.get_state(ONE).values)
    for each in (marked, named, typed):
        t.note("shown", each.tool_call_schema.model_json_schema())


async def contexts_are_injected(t):
    """The context of the run."""

    @dataclass
    class Context:
        user: str

    @tool
    def who(runtime: ToolRuntime[Context, State]) -> str:
        """Who."""
        return runtime.context.user

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("tools", ToolNode([who]))
    builder.add_edge(START, "tools")
    agent = builder.compile()
    result = await _result(t, agent, {"messages": [asks(("who", {}))]}, context=Context("ada"))
    _note(t, result)


async def commands_update_the_state(t):
    """A tool may return a Command, with an answer in it."""

    @tool
    def rename(user: str, call: Annotated[str, InjectedToolCallId]) -> Command:
        """Rename."""
        return Command(update={"user": user, "messages": [ToolMessage("renamed", tool_call_id=call)]})

    await _answers(t, [rename, add], ("rename", {"user": "bob"}), ("add", {"a": 1}))
    agent = graph(ToolNode([rename, add]))
    chunks = await t.stream(agent, {"messages": [asks(("add", {"a": 1}), ("rename", {"user": "b"}))]})
    t.note("chunks", len(chunks))


async def commands_need_an_answer(t):
    """A Command without a matching answer, or of the wrong shape."""

    @tool
    def silent() -> Command:
        """Silent."""
        return Command(update={"user": "x"})

    @tool
    def wrong(call: Annotated[str, InjectedToolCallId]) -> Command:
        """Wrong."""
        return Command(update={"messages": [ToolMessage("x", tool_call_id="other")]})

    @tool
    def listed(call: Annotated[str, InjectedToolCallId]) -> Command:
        """Listed."""
        return Command(update=[ToolMessage("x", tool_call_id=call)])

    @tool
    def nothing() -> Command:
        """Nothing."""
        return Command(goto="x")

    @tool
    def clears() -> Command:
        """Clears."""
        return Command(update={"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})

    for each in (silent, wrong, listed, nothing, clears):
        await _answers(t, [each], (each.name, {}))
        await _answers(t, [each], (each.name, {}), handle_tool_errors=True)


async def lists_of_answers(t):
    """A tool may return several, of which one is the answer."""

    @tool
    def several(call: Annotated[str, InjectedToolCallId]) -> list:
        """Several."""
        return [Command(update={"user": "x"}), ToolMessage("answer", tool_call_id=call)]

    @tool
    def none(call: Annotated[str, InjectedToolCallId]) -> list:
        """None."""
        return [Command(update={"user": "x"})]

    @tool
    def two(call: Annotated[str, InjectedToolCallId]) -> list:
        """Two."""
        return [ToolMessage("a", tool_call_id=call), ToolMessage("b", tool_call_id=call)]

    @tool
    def other(call: Annotated[str, InjectedToolCallId]) -> list:
        """Other."""
        return [ToolMessage("a", tool_call_id="other")]

    for each in (several, none, two, other):
        await _answers(t, [each], (each.name, {}))


async def a_command_for_the_graph_around(t):
    """Commands for the parent, whose sends become one."""

    @tool
    def hand(x: int) -> Command:
        """Hand over."""
        return Command(graph=Command.PARENT, goto=[Send("after", {"seen": [x]})])

    inner = graph(ToolNode([hand]))
    builder = StateGraph(State)
    builder.add_node("inner", inner)
    builder.add_node("after", t.node(lambda state: {"seen": [("after", state["seen"])]}))
    builder.add_edge(START, "inner")
    agent = builder.compile()
    result = await _result(t, agent, {"messages": [asks(("hand", {"x": 1}), ("hand", {"x": 2}))]})
    if result is not None:
        t.note("seen", result["seen"])


async def interceptors_run_calls(t):
    """A wrapper may run a call, change it, run it again, or answer itself."""

    def changed(request, execute):
        call = {**request.tool_call, "args": {"a": 10}}
        return execute(request.override(tool_call=call))

    def answered(request, execute):
        return ToolMessage("cached", tool_call_id=request.tool_call["id"], name=request.tool_call["name"])

    def twice(request, execute):
        execute(request)
        return execute(request)

    def seeing(request, execute):
        t.note("tool", None if request.tool is None else request.tool.name)
        t.note("state", sorted(request.state))
        t.note("id", request.runtime.tool_call_id)
        return execute(request)

    def failing(request, execute):
        raise ValueError("wrapper")

    for wrapper in (changed, answered, twice, seeing, failing):

        async def awaited(request, execute, wrapper=wrapper):
            if wrapper is changed:
                return await execute(request.override(tool_call={**request.tool_call, "args": {"a": 10}}))
            if wrapper is twice:
                await execute(request)
                return await execute(request)
            if wrapper is seeing:
                wrapper(request, lambda request: None)
                return await execute(request)
            return wrapper(request, None)

        how = {"awrap_tool_call": awaited} if t.asyncio else {"wrap_tool_call": wrapper}
        await _answers(t, [add], ("add", {"a": 1}), **how)
        await _answers(t, [add], ("sub", {"a": 1}), **how)
        await _answers(t, [add], ("add", {"a": 1}), handle_tool_errors=True, **how)


async def blocking_interceptors_serve_asyncio(t):
    """A blocking wrapper does for asyncio too."""

    def wrapper(request, execute):
        answer = execute(request)
        return ToolMessage(f"<{answer.content}>", tool_call_id=answer.tool_call_id, name=answer.name)

    await _answers(t, [add], ("add", {"a": 1}), wrap_tool_call=wrapper)


async def requests_are_immutable(t):
    """A request is overridden, not set."""
    from langgraph.prebuilt.tool_node import ToolCallRequest

    request = ToolCallRequest(tool_call={"name": "a"}, tool=None, state={}, runtime=None)
    t.note("override", request.override(state={"x": 1}).state)
    t.note("before", request.state)
    t.warns(setattr, request, "state", {"y": 1})
    t.note("after", request.state)
    t.raises(request.override, nothing=1)


async def tools_ask(t):
    """A tool that asks is called again with the answer."""

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {interrupt(what)}"

    agent = graph(ToolNode([ask], handle_tool_errors=True), checkpointer=InMemorySaver())
    result = await _result(t, agent, {"messages": [asks(("ask", {"what": "name"}))]}, ONE)
    t.note("asked", [i.value for i in result["__interrupt__"]])
    _note(t, await _result(t, agent, Command(resume="ada"), ONE))


async def wrapped_tools_ask(t):
    """Also when every error is answered."""

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {interrupt(what)}"

    def wrapper(request, execute):
        return execute(request)

    node = ToolNode([ask], handle_tool_errors=True, wrap_tool_call=wrapper)
    agent = graph(node, checkpointer=InMemorySaver())
    result = await _result(t, agent, {"messages": [asks(("ask", {"what": "name"}))]}, ONE)
    t.note("asked", [i.value for i in result.get("__interrupt__", ())])


@differs("a retried node repeats the failed calls alone")
async def retried_nodes(t):
    """A policy of the node."""
    ran = []

    @tool
    def work(what: str) -> str:
        """Work."""
        ran.append(what)
        if what == "flaky" and ran.count(what) == 1:
            raise ConnectionError(what)
        return what

    builder = StateGraph(State)
    builder.add_node("tools", ToolNode([work]), retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
    builder.add_edge(START, "tools")
    calls = asks(("work", {"what": "a"}), ("work", {"what": "flaky"}))
    await _result(t, builder.compile(checkpointer=InMemorySaver()), {"messages": [calls]}, ONE)
    t.note("ran", sorted(ran))


@differs("commands for the graph around keep their updates")
async def several_commands_for_the_graph_around(t):
    """Each sends and updates."""
    await _handed_over(t, 1, 2)


@differs("commands for the graph around keep their updates")
async def a_command_that_sends_and_updates(t):
    """It sends and updates."""
    await _handed_over(t, 1)


async def _handed_over(t, *given):
    @tool
    def hand(x: int) -> Command:
        """Hand over."""
        return Command(
            graph=Command.PARENT, goto=[Send("after", {"seen": [x]})], update={"seen": [f"update {x}"]}
        )

    builder = StateGraph(State)
    builder.add_node("inner", graph(ToolNode([hand])))
    builder.add_node("after", t.node(lambda state: {"seen": [("after", state["seen"])]}))
    builder.add_edge(START, "inner")
    calls = asks(*(("hand", {"x": x}) for x in given))
    result = await _result(t, builder.compile(), {"messages": [calls]})
    t.note("seen", result["seen"])


@differs("commands for the graph around keep their updates")
async def several_commands_for_a_graph_of_messages(t):
    """Their updates are lists of messages there."""

    @tool
    def hand(x: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Hand over."""
        answer = ToolMessage(f"update {x}", tool_call_id=tool_call_id, id=f"answer {x}")
        sent = Send("after", [HumanMessage(f"sent {x}", id=f"sent {x}")])
        return Command(graph=Command.PARENT, goto=[sent], update=[answer])

    inner = StateGraph(Annotated[list, add_messages]).add_node("tools", ToolNode([hand]))
    builder = StateGraph(Annotated[list, add_messages])
    builder.add_node("inner", inner.add_edge(START, "tools").compile())
    builder.add_node(
        "after", t.node(lambda messages: [AIMessage(f"after {messages[0].content}", id="after")])
    )
    builder.add_edge(START, "inner")
    calls = asks(("hand", {"x": 1}), ("hand", {"x": 2}))
    result = await t.call(builder.compile(), "invoke", [calls])
    t.note("seen", [message.content for message in result])


async def conditions(t):
    """Where the last message leads."""
    calls, plain = asks(("add", {})), AIMessage("x")
    for given in (
        [calls],
        [plain],
        {"messages": [plain, calls]},
        {"messages": [calls, plain]},
        {"messages": [calls, HumanMessage("x")]},
    ):
        t.note("to", tools_condition(given))
    t.note("key", tools_condition({"chat": [calls]}, messages_key="chat"))
    t.note("object", tools_condition(type("S", (), {"messages": [calls]})()))
    t.raises(tools_condition, {"messages": []})
    t.raises(tools_condition, {})


async def names(t):
    """What a ToolNode says of itself."""
    node = ToolNode([add, fail], name="mine", tags=["a"])
    t.note("name", (node.name, node.get_name(), node.tags, sorted(node.tools_by_name)))
    t.note("default", ToolNode([add]).name)


@differs_by_caller("A tool that is async alone is refused by a blocking caller")
async def async_tools(t):
    """Async tools, and blocking ones beside them."""

    @tool
    async def slow(a: int) -> str:
        """Slow."""
        return f"slow {a}"

    await _answers(t, [slow, add], ("add", {"a": 1}), ("slow", {"a": 2}))


async def validation(t):
    """A ValidationNode checks calls without running them."""
    from langgraph.prebuilt import ValidationNode

    class Point(BaseModel):
        """A point."""

        x: int

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node = ValidationNode([Point, tool(add), _triple])
        loud = ValidationNode(
            [Point], format_error=lambda error, call, schema: f"{call['name']} {schema.__name__}"
        )
    for each, calls in (
        (node, [("Point", {"x": 1}), ("Point", {"x": "a"}), ("add", {"a": 1}), ("_triple", {"a": "y"})]),
        (loud, [("Point", {"x": "a"})]),
        (node, [("other", {})]),
    ):
        if t.asyncio:
            each = _blocking(each)
        result = await _result(t, graph(each), {"messages": [asks(*calls)]})
        if result is not None:
            t.note(
                "answers",
                [(m.content, m.name, m.tool_call_id, m.additional_kwargs) for m in result["messages"][1:]],
            )
    for given in ({"messages": []}, {"messages": [HumanMessage("x")]}):
        t.raises(node.invoke, given)


def _triple(a: int) -> int:
    """Triple."""
    return 3 * a


def _blocking(node):
    async def call(state):
        return node.invoke(state)

    return call


async def a_tool_that_is_changed_once_it_is_in_a_node(t):
    """A test puts another function in a tool, and a tracer something around all tools: the node calls those."""

    @tool
    def add(a: int, b: int) -> str:
        """Add."""
        return str(a + b)

    def another(a, b):
        return "another"

    seen = []
    invoke, ainvoke = BaseTool.invoke, BaseTool.ainvoke

    def blocking(self, *args, **kw):
        seen.append(self.name)
        return invoke(self, *args, **kw)

    async def awaited(self, *args, **kw):
        seen.append(self.name)
        return await ainvoke(self, *args, **kw)

    node = ToolNode([add])
    graph = edges(StateGraph(MessagesState).add_node("tools", node), ". tools .").compile()
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}

    async def answer():
        result = await t.call(graph, "invoke", {"messages": [AIMessage("", tool_calls=[call])]})
        return result["messages"][-1].content

    t.note("as it is", await answer())
    with mock.patch.object(add, "func", another):
        t.note("another function", await answer())
    with (
        mock.patch.object(StructuredTool, "ainvoke", awaited),
        mock.patch.object(BaseTool, "invoke", blocking),
    ):
        t.note("something around", await answer())
    t.note("as it is", [await answer(), seen])


async def a_task_of_the_tools_own_name(t):
    """What it comes to is no answer of the tool's: it is there again when the tool goes on."""
    done = []

    @task(name="search")
    def looked_up(query):
        done.append(query)
        return [query, []]

    @task(name="search")
    async def looked_up_on_a_loop(query):
        done.append(query)
        return [query, []]

    @tool
    def search(query: str) -> str:
        "Search."
        return f"{looked_up(query).result()[0]}, {interrupt('ok?')}"

    @tool("search")
    async def asearch(query: str) -> str:
        "Search."
        return f"{(await looked_up_on_a_loop(query))[0]}, {interrupt('ok?')}"

    agent = graph(ToolNode([asearch if t.asyncio else search]), MessagesState, checkpointer=InMemorySaver())
    await t.call(agent, "invoke", {"messages": [asks(("search", {"query": "a"}))]}, ONE)
    found = await t.call(agent, "invoke", Command(resume="yes"), ONE)
    t.note("found", (found["messages"][-1].content, done))


def _names_of(place):
    """The names in a namespace, without ids."""
    return [part.split(":")[0] for part in (place.split("|") if isinstance(place, str) else place)]


async def tools_are_parts_of_their_node(t):
    """What their code is told of where it is, and where what it writes and calls comes from, doesn't depend on how many
    are called at once."""
    told = []

    def note(config):
        keys = ("langgraph_node", "langgraph_step", "langgraph_triggers", "langgraph_path")
        found = config["metadata"]
        places = (found["langgraph_checkpoint_ns"], config["configurable"]["checkpoint_ns"])
        told.append(([found[key] for key in keys], *map(_names_of, places)))

    @tool
    def say(a: int, config: RunnableConfig) -> str:
        """Say."""
        note(config)
        note(get_config())
        get_stream_writer()(f"said {a}")
        return "said"

    @tool("say")
    async def say_on_a_loop(a: int, config: RunnableConfig) -> str:
        """Say."""
        note(config)
        note(get_config())
        get_stream_writer()(f"said {a}")
        return "said"

    inner = edges(StateGraph(MessagesState).add_node("inner", lambda state: {"messages": "in"}), ". inner .")
    called = inner.compile()

    @tool
    def ask(a: int) -> str:
        """Ask."""
        return called.invoke({"messages": []})["messages"][-1].content

    @tool("ask")
    async def ask_on_a_loop(a: int) -> str:
        """Ask."""
        return (await called.ainvoke({"messages": []}))["messages"][-1].content

    async def found(names, tools, saver):
        told.clear()
        agent = graph(ToolNode(tools), MessagesState, checkpointer=saver)
        given = {"messages": [asks(*((name, {"a": 1}) for name in names))]}
        modes = {"stream_mode": ["custom", "updates"], "subgraphs": True}
        if t.asyncio:
            chunks = [chunk async for chunk in agent.astream(given, ONE, **modes)]
        else:
            chunks = list(agent.stream(given, ONE, **modes))
        return sorted((_names_of(ns), mode, str(chunk)[:9]) for ns, mode, chunk in chunks), [*told]

    for names in (["say"], ["say", "say"], ["ask"], ["ask", "add"], ["add", "ask"]):
        seen = []
        for tools in [[say, ask, add]] + [[say_on_a_loop, ask_on_a_loop, add]] * t.asyncio:
            seen += [await found(names, tools, saver) for saver in (None, InMemorySaver())]
        t.note("seen", (names, seen[0], [each for each in seen if each != seen[0]]))


async def errors_of_tools_are_their_nodes(t):
    """A note says of which node, however many are called at once."""
    node = ToolNode([add, fail], handle_tool_errors=False)
    failing = ("fail", {"kind": "value"})
    for saver in (None, InMemorySaver()):
        for calls in ([failing], [("add", {"a": 1}), failing]):
            await t.invoke(graph(node, MessagesState, checkpointer=saver), {"messages": [asks(*calls)]}, ONE)


async def graphs_that_tools_call_remember(t):
    """It is the node that they are in for which they do, however many tools are called beside."""

    class Counted(TypedDict):
        n: Annotated[list, operator.add]

    inner = edges(StateGraph(Counted).add_node("inner", lambda state: {"n": ["in"]}), ". inner .")
    called = inner.compile(checkpointer=True)

    @tool
    def ask(a: int) -> str:
        """Ask."""
        return str(called.invoke({"n": [a]})["n"])

    @tool
    async def wait(a: int) -> str:
        """Ask."""
        return str((await called.ainvoke({"n": [a]}))["n"])

    wait = wait if t.asyncio else ask
    agent = graph(ToolNode([ask, wait, add]), MessagesState, checkpointer=InMemorySaver())
    turns = ([ask], [ask, add], [wait], [wait, add], [ask])
    for turn, names in enumerate([[getattr(each, "name", "add") for each in tools] for tools in turns]):
        given = {"messages": [asks(*((name, {"a": turn}) for name in names))]}
        found = await t.call(agent, "invoke", given, ONE)
        t.note("answers", [m.content for m in found["messages"] if m.type == "tool"][-len(names) :])


@differs("graphs that several calls of one ToolNode call")
async def graphs_that_several_tools_call(t):
    """What they're named by, and which memory is whose."""

    class Counted(TypedDict):
        n: Annotated[list, operator.add]

    inner = edges(StateGraph(Counted).add_node("inner", lambda state: {"n": ["in"]}), ". inner .")
    anew, remembering = inner.compile(), inner.compile(checkpointer=True)

    @tool
    def ask(a: int, anything: bool = False) -> str:
        """Ask."""
        return str((anew if anything else remembering).invoke({"n": [a]})["n"])

    agent = graph(ToolNode([ask, add]), MessagesState, checkpointer=InMemorySaver())
    given = {"messages": [asks(*[("ask", {"a": 1, "anything": True})] * 2)]}
    chunks = []
    if t.asyncio:
        chunks = [chunk async for chunk in agent.astream(given, ONE, stream_mode="updates", subgraphs=True)]
    else:
        chunks = list(agent.stream(given, ONE, stream_mode="updates", subgraphs=True))
    t.note("namespaces", len({ns[0] for ns, _ in chunks if ns}))
    for turn, names in enumerate((["add", "ask"], ["ask", "add"], ["add", "ask"])):
        given = {"messages": [asks(*((name, {"a": turn}) for name in names))]}
        found = await t.call(agent, "invoke", given, ONE)
        t.note("answers", [m.content for m in found["messages"] if m.type == "tool"][-2:])


async def graphs_that_tools_call_ask(t):
    """Each goes on where it asked."""
    ran = []

    def begin(state):
        ran.append("begin")

    inner = StateGraph(MessagesState).add_node("begin", begin)
    inner.add_node("ask", lambda state: {"messages": interrupt("ok?")})
    called = edges(inner, ". begin ask .").compile()

    @tool
    def ask(a: int) -> str:
        """Ask."""
        return called.invoke({"messages": []})["messages"][-1].content

    @tool
    async def wait(a: int) -> str:
        """Ask."""
        return (await called.ainvoke({"messages": []}))["messages"][-1].content

    wait = wait if t.asyncio else ask
    agent = graph(ToolNode([ask, wait, add]), MessagesState, checkpointer=InMemorySaver())
    turns = ([ask], [ask, add], [add, ask], [wait], [wait, add])
    for turn, names in enumerate([[getattr(each, "name", "add") for each in tools] for tools in turns]):
        ran.clear()
        config = {"configurable": {"thread_id": str(turn)}}
        await t.call(agent, "invoke", {"messages": [asks(*((name, {"a": 1}) for name in names))]}, config)
        found = await t.call(agent, "invoke", Command(resume="yes"), config)
        t.note("answers", ([m.content for m in found["messages"] if m.type == "tool"], ran))
