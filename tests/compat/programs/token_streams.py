"""Streams of messages: tokens of chat models and messages that nodes return (behaviour of section 4.1)."""

from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langgraph.constants import TAG_NOSTREAM
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from ..trace import differs


def fake(text):
    """A model that answers once, a word at a time."""
    return GenericFakeChatModel(messages=iter([AIMessage(text, id="ai")]))


def calling(t, model):
    """A node that asks the model."""

    async def node(state):
        return {"messages": [await t.call(model, "invoke", state["messages"])]}

    return t.node(node)


def chain(t, **nodes):
    builder = StateGraph(MessagesState)
    builder.add_sequence(list(nodes.items()))
    builder.add_edge(START, next(iter(nodes)))
    return builder


def texts(chunks):
    """What is said, by which node."""
    return [(type(m).__name__, m.content, metadata["langgraph_node"]) for m, metadata in chunks]


ASK = {"messages": [HumanMessage("hi", id="h")]}


async def tokens_of_a_model(t):
    """The tokens of a model come out one by one, with the metadata of their node."""
    graph = chain(t, call=calling(t, fake("hello big world"))).compile()
    await t.stream(graph, ASK, stream_mode="messages")


async def tokens_of_a_chain(t):
    """A chain as a node: its model's tokens come out one by one, and its update is whole."""
    prompt = ChatPromptTemplate.from_messages([("system", "be brief"), ("placeholder", "{messages}")])
    answers = prompt | fake("hello world") | (lambda message: {"messages": [message]})
    await t.stream(chain(t, answers=answers).compile(), ASK, stream_mode=["messages", "updates"])


async def tokens_among_other_modes(t):
    """The tokens come before the update of their node."""
    graph = chain(t, call=calling(t, fake("hello world"))).compile()
    chunks = await t.stream(graph, ASK, stream_mode=["messages", "updates"])
    t.note("modes", [mode for mode, _ in chunks])


async def messages_that_nodes_return(t):
    """A message that a node returns is streamed once; one that came in with the state isn't."""

    def answer(state):
        return {"messages": [*state["messages"], AIMessage("made up", id="m")]}

    graph = chain(
        t, answer=t.node(answer), again=t.node(lambda state: {"messages": state["messages"]})
    ).compile()
    await t.stream(graph, ASK, stream_mode="messages")


async def messages_added_to_the_list_of_a_state(t):
    """A message that a node adds to the very list that it was given is streamed, as any other that it returns."""

    def answer(state):
        state["messages"].append(AIMessage("made up", id="m"))
        return {"messages": state["messages"]}

    def again(state):
        state["messages"].append(AIMessage("once more", id="o"))
        return state

    graph = chain(t, answer=t.node(answer), again=t.node(again)).compile()
    await t.stream(graph, ASK, stream_mode=["messages", "values"])


async def a_message_that_a_model_repeats(t):
    """One of an id that came in with the state isn't streamed; it takes that one's place."""
    model = FakeMessagesListChatModel(responses=[AIMessage("the same", id="m")])
    graph = chain(t, call=calling(t, model)).compile()
    given = {"messages": [*ASK["messages"], AIMessage("the first", id="m"), HumanMessage("again", id="a")]}
    for mode in ("messages", "values"):
        await t.stream(graph, given, stream_mode=mode)


async def messages_of_a_command(t):
    """Messages in a Command's update are streamed too."""

    def answer(state):
        return Command(update={"messages": AIMessage("commanded", id="m")})

    graph = chain(t, answer=t.node(answer)).compile()
    t.note("texts", texts(await t.stream(graph, ASK, stream_mode="messages")))


async def messages_of_a_command_for_the_graph_around(t):
    """They aren't streamed, neither as the inner node's nor as those of the node that its graph is."""

    def leaves(state):
        return Command(graph=Command.PARENT, goto="last", update={"messages": [AIMessage("left", id="l")]})

    graph = chain(t, inner=chain(t, leaves=t.node(leaves)).compile())
    graph.add_node("last", t.node(lambda state: {"messages": [AIMessage("last", id="z")]}))
    await t.stream(graph.compile(), ASK, stream_mode=["messages", "updates"], subgraphs=True)


async def dict_messages_are_not_streamed(t):
    """A dict is no message before it's in the state."""

    def answer(state):
        return {"messages": [{"role": "assistant", "content": "plain", "id": "m"}]}

    graph = chain(t, answer=t.node(answer)).compile()
    await t.stream(graph, ASK, stream_mode=["messages", "values"])


async def models_without_a_stream_tag(t):
    """A model tagged `nostream` streams nothing; what its node returns is streamed."""
    model = fake("hello world").with_config(tags=[TAG_NOSTREAM])
    graph = chain(t, call=calling(t, model)).compile()
    await t.stream(graph, ASK, stream_mode="messages")


async def tags_of_models(t):
    """The metadata shows a model's tags and its own metadata."""
    model = FakeListChatModel(responses=["ab"]).with_config(tags=["joke"], metadata={"team": "red"})

    async def node(state):
        await t.call(model, "invoke", state["messages"])

    graph = chain(t, call=t.node(node)).compile()
    chunks = await t.stream(graph, ASK, stream_mode="messages")
    t.note("tags", [(m.content, metadata["tags"], metadata["team"]) for m, metadata in chunks])


async def tokens_of_a_subgraph(t):
    """The tokens of a subgraph come out with `subgraphs`, in its namespace."""
    sub = chain(t, call=calling(t, fake("hello world"))).compile()
    graph = chain(t, sub=sub).compile()
    await t.stream(graph, ASK, stream_mode="messages", subgraphs=True)


async def tokens_of_a_subgraph_without_subgraphs(t):
    """Without `subgraphs` the messages of a subgraph appear as the output of its node."""
    sub = chain(t, call=calling(t, fake("hello world"))).compile()
    graph = chain(t, sub=sub).compile()
    await t.stream(graph, ASK, stream_mode="messages")


@differs("a graph's name shows nothing")
async def messages_of_a_graph_that_has_its_nodes_name(t):
    """A graph that a node calls shows its messages as the node's, without subgraphs, where it has the node's name."""
    for name in ("writes", "other"):
        graph = chain(t, write=t.node(lambda state: {"messages": [AIMessage("draft", id="d")]})).compile(
            name=name
        )

        async def writes(state, graph=graph):
            answer = await t.call(graph, "invoke", state)
            return {"messages": [HumanMessage(answer["messages"][-1].content, id="w")]}

        chunks = await t.stream(chain(t, writes=t.node(writes)).compile(), ASK, stream_mode="messages")
        t.note("texts", texts(chunks))


async def tokens_of_a_task(t):
    """The tokens of a model in a task have the task's name."""
    model = fake("hello world")

    @task
    @t.node
    async def call(text):
        return (await t.call(model, "invoke", text)).content

    @entrypoint()
    @t.node
    async def flow(text):
        return await t.value(call(text))

    t.note("texts", texts(await t.stream(flow, "hi", stream_mode="messages")))


async def version_2_messages(t):
    """Version 2 frames messages like any other chunk."""
    graph = chain(t, call=calling(t, fake("hello world"))).compile()
    chunks = await t.stream(graph, ASK, stream_mode="messages", version="v2")
    t.note("types", [(chunk["type"], chunk["ns"]) for chunk in chunks])


async def tokens_of_a_stream_inside_a_node(t):
    """A node that streams a graph's messages has its tokens, and so has a caller's stream with `subgraphs`."""
    for options in ({}, {"subgraphs": True}, {"subgraphs": True, "stream_mode": "updates"}):
        sub, heard = chain(t, call=calling(t, fake("hello world"))).compile(), []

        async def relay(state, sub=sub, heard=heard):
            if t.asyncio:
                async for chunk in sub.astream(ASK, stream_mode="messages"):
                    heard.append(chunk)
            else:
                heard.extend(sub.stream(ASK, stream_mode="messages"))
            return {"messages": [AIMessage("relayed", id="r")]}

        graph = chain(t, relay=t.node(relay)).compile()
        await t.stream(graph, ASK, **{"stream_mode": "messages", **options})
        t.note("heard", texts(heard))
