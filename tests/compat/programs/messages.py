"""Messages as state: add_messages, MessagesState and removals (behaviour of section 2.6.1)."""

from typing import Annotated, TypedDict

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer, push_message
from langgraph.graph.ui import ui_message_reducer
from langgraph.types import Command, Overwrite, Send

from ..trace import differs

THREAD = {"configurable": {"thread_id": "1"}}


class Formatted(TypedDict):
    messages: Annotated[list, add_messages(format="langchain-openai")]


def answers(t, *messages, schema=MessagesState):
    """A graph of one node that returns these messages."""
    builder = StateGraph(schema)
    builder.add_node("answer", t.node(lambda state: {"messages": list(messages)}))
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=InMemorySaver())


async def messages_are_appended(t):
    """Messages of new ids are appended."""
    t.note("lists", add_messages([HumanMessage("a", id="1")], [AIMessage("b", id="2")]))
    t.note("one", add_messages([HumanMessage("a", id="1")], AIMessage("b", id="2")))
    t.note("empty", add_messages([], []))


async def a_router_changes_what_it_is_shown(t):
    """What becomes of a message that a node wrote as a dict isn't what its router made of the one that it saw."""

    def route(state):
        state["messages"][-1].content = "changed"
        return END

    builder = StateGraph(MessagesState)
    builder.add_node(
        "answer", t.node(lambda state: {"messages": [{"role": "ai", "content": "b", "id": "2"}]})
    )
    builder.add_edge(START, "answer").add_conditional_edges("answer", route)
    await t.invoke(builder.compile(), {"messages": [HumanMessage("a", id="1")]})


async def messages_are_replaced(t):
    """A message of a known id takes the place of the one before."""
    left = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    t.note("replaced", add_messages(left, [HumanMessage("A", id="1"), AIMessage("c", id="3")]))
    t.note("twice", add_messages(left, [AIMessage("x", id="3"), AIMessage("y", id="3")]))
    t.note("left", left)


async def messages_are_coerced(t):
    """Strings, pairs, dicts and chunks become messages."""
    result = add_messages(
        [("system", "s")],
        [
            "text",
            ("ai", "pair"),
            {"role": "user", "content": "dict"},
            {"type": "tool", "content": "t", "tool_call_id": "1"},
            AIMessageChunk("chunk", id="c"),
        ],
    )
    t.note("kinds", [(type(m).__name__, m.content) for m in result])
    t.note("ids", [len(m.id) for m in result])


async def messages_get_ids_in_place(t):
    """A message without an id is given one, itself."""
    message = HumanMessage("a")
    result = add_messages([], [message])
    t.note("same", result[0].id == message.id is not None)


async def messages_are_removed(t):
    """A RemoveMessage removes the message of its id, and has to know one."""
    left = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    t.note("removed", add_messages(left, [RemoveMessage(id="1")]))
    t.note("added back", add_messages(left, [RemoveMessage(id="1"), HumanMessage("again", id="1")]))
    t.note("removed last", add_messages(left, [AIMessage("B", id="2"), RemoveMessage(id="2")]))
    t.raises(add_messages, left, [RemoveMessage(id="9")])


async def all_messages_are_removed(t):
    """The id of all removes what was before, also within one update."""
    left = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    every = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    t.note("id", REMOVE_ALL_MESSAGES)
    t.note("all", add_messages(left, [every]))
    t.note("then", add_messages(left, [HumanMessage("x", id="x"), every, HumanMessage("y", id="y")]))
    t.note("of nothing", add_messages([], [every, HumanMessage("y", id="1")]))


async def arguments_of_add_messages(t):
    """Both sides are wanted, or none for a reducer with options."""
    t.raises(add_messages, [HumanMessage("a", id="1")])
    t.raises(add_messages, None, [HumanMessage("a", id="1")])
    partial = add_messages(format="langchain-openai")
    t.note("partial", partial([], [HumanMessage("a", id="1")]))
    t.raises(add_messages, [], [HumanMessage("a", id="1")], format="nope")


async def openai_format(t):
    """With the format of OpenAI contents become blocks of its kinds."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    message = HumanMessage([{"type": "text", "text": "t"}, image], id="1")
    graph = answers(t, message, schema=Formatted)
    result = await t.invoke(graph, {"messages": []}, THREAD)
    t.note("content", result["messages"][0].content)


@differs("tuples stay tuples")
async def a_graph_of_messages(t):
    """MessagesState appends what nodes return to what came in."""
    graph = answers(t, AIMessage("b", id="2"))
    await t.invoke(graph, {"messages": [HumanMessage("a", id="1")]}, THREAD)
    await t.invoke(graph, {"messages": [("user", "again")]}, THREAD)
    await t.history(graph, THREAD, filter={"source": "input"})


async def one_message_as_input(t):
    """One message, or a text, does for a list."""
    graph = answers(t, AIMessage("b", id="2"))
    await t.invoke(graph, {"messages": HumanMessage("a", id="1")}, THREAD)
    result = await t.invoke(graph, {"messages": "hello"}, {"configurable": {"thread_id": "2"}})
    t.note("texts", [m.content for m in result["messages"]])


async def messages_are_removed_by_a_node(t):
    """A node removes messages by what it returns."""
    graph = answers(t, RemoveMessage(id="1"), AIMessage("c", id="3"))
    given = {"messages": [HumanMessage("a", id="1"), AIMessage("b", id="2")]}
    await t.stream(graph, given, THREAD, stream_mode=["values", "updates"])
    await t.invoke(graph, given, THREAD)


async def messages_are_edited_from_outside(t):
    """An update of the state replaces or removes messages by id."""
    graph = answers(t, AIMessage("b", id="2"))
    await t.invoke(graph, {"messages": [HumanMessage("a", id="1")]}, THREAD)
    await t.update(graph, THREAD, {"messages": [AIMessage("B", id="2")]})
    await t.update(graph, THREAD, {"messages": [RemoveMessage(id="1")]})
    snapshot = await t.state(graph, THREAD)
    t.note("texts", [m.content for m in snapshot.values["messages"]])


async def messages_with_tools(t):
    """Tool calls and tool results pass through a thread unchanged."""
    call = {"name": "f", "args": {"n": 1}, "id": "c1", "type": "tool_call"}
    graph = answers(
        t, AIMessage("", id="2", tool_calls=[call]), ToolMessage("1", id="3", tool_call_id="c1", name="f")
    )
    await t.invoke(graph, {"messages": [SystemMessage("s", id="0")]}, THREAD)
    await t.state(graph, THREAD)


async def pushed_messages(t):
    """push_message streams a message at once, and writes it to the state."""

    def push(state):
        push_message(AIMessage("first", id="1"))
        return {"messages": [AIMessage("second", id="2")]}

    builder = StateGraph(MessagesState)
    builder.add_node("push", t.node(push))
    builder.add_edge(START, "push")
    await t.stream(builder.compile(), {"messages": []}, stream_mode=["messages", "values", "updates"])


async def pushed_messages_without_an_id(t):
    """A message that's pushed has to have an id."""

    def push(state):
        push_message(AIMessage("no id"))

    builder = StateGraph(MessagesState)
    builder.add_node("push", t.node(push))
    builder.add_edge(START, "push")
    await t.invoke(builder.compile(), {"messages": []})


async def equal_messages_of_nodes_that_are_routed(t):
    """Tasks side by side that return the same text without an id are two messages, though a router has seen each."""

    def two(state):
        return [Send("tool", {"messages": []}), Send("tool", {"messages": []})]

    def says(state):
        return {"messages": [ToolMessage("done", tool_call_id="1")]}

    def seen(state):
        t.note("seen", len(state["messages"]))
        return "end"

    builder = StateGraph(MessagesState).add_node("tool", t.node(says))
    builder.add_node("end", t.node(lambda state: {"messages": "over"}))
    builder.add_conditional_edges(START, t.node(two), ["tool"])
    builder.add_conditional_edges("tool", t.node(seen), ["end"])
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"messages": []}, {**THREAD, "max_concurrency": 1})
    await t.state(graph, THREAD)


def joined(state, writes):
    """A reducer that makes no ids."""
    return [
        *(state or []),
        *(each for write in writes for each in (write if isinstance(write, list) else [write])),
    ]


async def messages_of_delta_channels_get_ids(t):
    """What is written to a DeltaChannel has ids, as its reducer makes none: messages, and dicts that spell them."""
    spelled = {"role": "user", "content": "spelled"}
    answers = (
        [AIMessage("first"), dict(spelled), {"some": "data"}, {"role": "stranger", "content": "kept"}],
        AIMessage("alone"),
        dict(spelled),
        Overwrite([HumanMessage("over")]),
        {"__overwrite__": [HumanMessage("over")]},
        [HumanMessage("known", id="1"), RemoveMessage(id="1")],
    )
    for reducer in (joined, _messages_delta_reducer):

        class Schema(TypedDict):
            messages: Annotated[list, DeltaChannel(reducer)]

        for answer in answers[: None if reducer is joined else 1]:
            if reducer is not joined:
                answer = [AIMessage("first"), ("ai", "a pair"), dict(spelled), "a text"]
            graph = answers_of(t, answer, Schema)
            given = [HumanMessage("hi"), dict(spelled)]
            await t.stream(graph, {"messages": given}, THREAD, stream_mode=["updates", "values", "tasks"])
            t.note("stored", (await t.call(graph, "get_state", THREAD)).values)
        await t.update(graph, THREAD, {"messages": [AIMessage("outside")]}, as_node="answer")
        await t.invoke(graph, Command(update={"messages": [AIMessage("commanded")]}, goto="answer"), THREAD)
        t.note("stored", (await t.call(graph, "get_state", THREAD)).values)


async def all_messages_of_a_delta_channel_are_removed(t):
    """The id of all removes what was before, as with add_messages: so agents replace a history by a summary."""

    class Schema(TypedDict):
        messages: Annotated[list, DeltaChannel(_messages_delta_reducer)]

    every = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    graph = answers_of(t, [HumanMessage("x", id="x"), every, HumanMessage("y", id="y")], Schema)
    await t.stream(
        graph, {"messages": [HumanMessage("a", id="a")]}, THREAD, stream_mode=["updates", "values"]
    )
    t.note("stored", (await t.call(graph, "get_state", THREAD)).values)
    await t.update(graph, THREAD, {"messages": [every, HumanMessage("z", id="z")]})
    t.note("stored", (await t.call(graph, "get_state", THREAD)).values)


def answers_of(t, answer, schema):
    """A graph of one node that returns this."""
    builder = StateGraph(schema).add_node("answer", t.node(lambda state: {"messages": answer}))
    return builder.add_edge(START, "answer").compile(checkpointer=InMemorySaver())


async def no_message(t):
    """A node that returns None for its messages fails as the reducer does."""
    builder = StateGraph(MessagesState)
    builder.add_node("none", t.node(lambda state: {"messages": None}))
    builder.add_edge(START, "none")
    await t.invoke(builder.compile(), {"messages": "hi"})


async def components_are_merged_by_id(t):
    """Either side is one component or a list; a removal needs one to remove, and what is shown again is back."""

    def card(id, merge=False, **props):
        return {"type": "ui", "id": id, "name": "card", "props": props, "metadata": {"merge": merge}}

    gone = {"type": "remove-ui", "id": "1"}
    for left, right in (
        (card("1", a=1), card("2", b=2)),
        ([card("1", a=1)], [card("1", b=2), card("2")]),
        (card("1", a=1), card("1", merge=True, b=2)),
        ([card("1"), card("2")], gone),
        (card("1"), [gone, card("1", a=2)]),
        ([], [card("1"), gone]),
        ([], gone),
    ):
        t.note("merged", t.raises(ui_message_reducer, left, right))


async def the_json_schema_of_a_state_of_messages(t):
    """The library's own state says nothing of itself; one that extends it says what its author wrote."""

    class Noted(MessagesState):
        """Messages, and notes on them."""

        notes: list[str]

    for state in (MessagesState, Noted):
        builder = StateGraph(state).add_node("a", lambda given: given)
        graph = builder.add_edge(START, "a").add_edge("a", END).compile()
        for schema in (graph.get_input_jsonschema(), graph.get_output_jsonschema()):
            t.note("schema", {key: value for key, value in schema.items() if key != "$defs"})
