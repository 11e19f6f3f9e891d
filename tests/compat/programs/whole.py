"""Whole programs, as users write them: several rules at once."""

import operator
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

from ..trace import differs

THREAD = {"configurable": {"thread_id": "1"}}


class Topics(TypedDict):
    topic: str
    subjects: list[str]
    jokes: Annotated[list[str], operator.add]
    best: str


class Subject(TypedDict):
    subject: str


async def map_reduce(t):
    """A list of subjects fans out with Sends, and the results come together in one node."""

    def generate(state: Topics):
        return {"subjects": [f"{state['topic']} {n}" for n in (2, 1, 3)]}

    def joke(state: Subject):
        return {"jokes": [f"A joke of {state['subject']}"]}

    def best(state: Topics):
        return {"best": max(state["jokes"])}

    def fan_out(state: Topics):
        return [Send("joke", {"subject": s}) for s in state["subjects"]]

    builder = StateGraph(Topics)
    for node in (generate, joke, best):
        builder.add_node(node.__name__, t.node(node))
    builder.add_edge(START, "generate")
    builder.add_conditional_edges("generate", fan_out, ["joke"])
    builder.add_edge("joke", "best")
    builder.add_edge("best", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"topic": "cats"}, THREAD, unordered=True)
    await t.state(graph, THREAD)
    await t.history(graph, THREAD)


class Team(MessagesState):
    active: str


async def supervisor(t):
    """Agents that are graphs hand over to each other by Commands for their parent."""

    def agent(name, replies):
        replies = iter(replies)

        def act(state: Team):
            text, other = next(replies)
            update = {"messages": [AIMessage(text, name=name, id=f"{name} {text}")], "active": name}
            if other:
                return Command(goto=other, update=update, graph=Command.PARENT)
            return update

        builder = StateGraph(Team)
        builder.add_node("act", t.node(act))
        builder.add_edge(START, "act")
        return builder.compile()

    def supervise(state: Team) -> Command[Literal["maths", "writer", "__end__"]]:
        return Command(goto={1: "maths", 3: "writer"}.get(len(state["messages"]), END))

    builder = StateGraph(Team)
    builder.add_node("supervisor", t.node(supervise))
    builder.add_node("maths", agent("maths", [("1 + 1 = 2", "writer"), ("2 + 2 = 4", None)]))
    builder.add_node("writer", agent("writer", [("It is two.", "supervisor"), ("Done.", None)]))
    builder.add_edge(START, "supervisor")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"messages": [HumanMessage("sum?", id="h")]}, THREAD, subgraphs=True)
    await t.state(graph, THREAD)
    t.note("mermaid", graph.get_graph().draw_mermaid())


class Transfer(TypedDict):
    amount: int
    approved: bool
    log: Annotated[list[str], operator.add]


async def human_approval(t):
    """A person approves, edits or refuses what a node is going to do."""

    def check(state: Transfer) -> Command[Literal["pay", "refuse"]]:
        answer = interrupt({"question": f"Pay {state['amount']}?"})
        if answer["type"] == "refuse":
            return Command(goto="refuse", update={"approved": False})
        return Command(goto="pay", update={"approved": True, "amount": answer.get("amount", state["amount"])})

    builder = StateGraph(Transfer)
    builder.add_node("check", t.node(check))
    builder.add_node("pay", t.node(lambda state: {"log": [f"paid {state['amount']}"]}))
    builder.add_node("refuse", t.node(lambda state: {"log": ["refused"]}))
    builder.add_edge(START, "check")
    graph = builder.compile(checkpointer=InMemorySaver())
    answers = [{"type": "approve"}, {"type": "edit", "amount": 5}, {"type": "refuse"}]
    for number, answer in enumerate(answers):
        config = {"configurable": {"thread_id": str(number)}}
        await t.stream(graph, {"amount": 10}, config)
        await t.state(graph, config)
        await t.stream(graph, Command(resume=answer), config)


async def validated_answers(t):
    """A node asks again until the answer is right."""

    def age(state: dict):
        question = "Age?"
        while True:
            answer = interrupt(question)
            if isinstance(answer, int):
                return {"x": answer}
            question = f"{answer!r} is no age. Age?"

    class Person(TypedDict):
        x: int

    builder = StateGraph(Person)
    builder.add_node("age", t.node(age))
    builder.add_edge(START, "age")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {}, THREAD)
    await t.invoke(graph, Command(resume="old"), THREAD)
    await t.invoke(graph, Command(resume="very"), THREAD)
    await t.invoke(graph, Command(resume=30), THREAD)


class Words(TypedDict):
    x: Annotated[list[str], operator.add]


def says(word):
    """A node that appends its word."""
    return lambda state: {"x": [word]}


async def breakpoint_debugging(t):
    """A run is stepped through, looked at, and mended on the way."""
    builder = StateGraph(Words)
    builder.add_sequence([(name, t.node(says(name))) for name in ("one", "two", "three")])
    builder.add_edge(START, "one")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD, interrupt_before="*")
    for _ in range(2):
        await t.state(graph, THREAD)
        await t.invoke(graph, None, THREAD, interrupt_before="*")
    await t.update(graph, THREAD, {"x": ["mended"]})
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


class Public(TypedDict):
    question: str
    answer: str


class Private(TypedDict):
    draft: str


async def private_state(t):
    """Two nodes share a key that callers never see."""

    def think(state: Public) -> Private:
        return {"draft": state["question"].upper()}

    def answer(state: Private):
        return {"answer": f"{state['draft']}!", "leaked": list(state)}

    class Input(TypedDict):
        question: str

    class Output(TypedDict):
        answer: str

    builder = StateGraph(Public, input_schema=Input, output_schema=Output)
    builder.add_node("think", t.node(think))
    builder.add_node("answer", t.node(answer))
    builder.add_edge(START, "think")
    builder.add_edge("think", "answer")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"question": "why", "answer": "given"}, THREAD)
    await t.stream(graph, {"question": "why"}, THREAD, stream_mode=["values", "updates"])
    await t.state(graph, THREAD)


async def join_of_uneven_branches(t):
    """A join waits for the longer branch; a plain edge doesn't."""

    def build(join):
        builder = StateGraph(Words)
        for name in ("a", "short", "long 1", "long 2", "z"):
            builder.add_node(name, t.node(says(name)))
        for edge in ((START, "a"), ("a", "short"), ("a", "long 1"), ("long 1", "long 2")):
            builder.add_edge(*edge)
        if join:
            builder.add_edge(["short", "long 2"], "z")
        else:
            builder.add_edge("short", "z")
            builder.add_edge("long 2", "z")
        return builder.compile()

    await t.stream(build(True), {"x": []}, stream_mode="values")
    await t.stream(build(False), {"x": []}, stream_mode="values")


async def subgraph_memory(t):
    """An agent that's a graph with memory remembers what it was asked in earlier runs of the thread."""
    builder = StateGraph(MessagesState)
    builder.add_node(
        "reply", t.node(lambda state: {"messages": [AIMessage(f"reply {len(state['messages'])}")]})
    )
    builder.add_edge(START, "reply")
    agent = builder.compile(checkpointer=True)

    async def ask(state: Words):
        result = await t.call(agent, "invoke", {"messages": [HumanMessage(state["x"][-1])]})
        return {"x": [result["messages"][-1].content]}

    builder = StateGraph(Words)
    builder.add_node("ask", t.node(ask))
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["one"]}, THREAD)
    await t.invoke(graph, {"x": ["two"]}, THREAD)
    await t.invoke(graph, {"x": ["three"]}, {"configurable": {"thread_id": "2"}})


async def time_travel(t):
    """A conversation is taken back to a point, edited there, and goes another way."""
    builder = StateGraph(MessagesState)
    builder.add_node(
        "reply",
        t.node(
            lambda s: {
                "messages": [AIMessage(f"re: {s['messages'][-1].content}", id=f"a{len(s['messages'])}")]
            }
        ),
    )
    builder.add_edge(START, "reply")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"messages": [HumanMessage("one", id="1")]}, THREAD)
    await t.invoke(graph, {"messages": [HumanMessage("two", id="2")]}, THREAD)
    waiting = [s for s in await t.history(graph, THREAD) if s.next == ("reply",)]
    await t.invoke(graph, None, waiting[-1].config)
    branch = await t.update(graph, waiting[0].config, {"messages": [HumanMessage("TWO", id="2")]})
    await t.invoke(graph, None, branch)
    t.note("steps", [(s.metadata["source"], s.metadata["step"]) for s in await t.history(graph, THREAD)])


@dataclass
class User:
    name: str


async def long_term_memory(t):
    """What is remembered of a user outlives the thread."""

    def remember(state: Words, runtime: Runtime[User]):
        space = ("memories", runtime.context.name)
        for word in state["x"]:
            runtime.store.put(space, word, {"word": word})
        return {"x": [f"known: {len(runtime.store.search(space))}"]}

    store = InMemoryStore()
    builder = StateGraph(Words, context_schema=User)
    builder.add_node("remember", t.node(remember))
    builder.add_edge(START, "remember")
    graph = builder.compile(checkpointer=InMemorySaver(), store=store)
    await t.invoke(graph, {"x": ["a"]}, THREAD, context=User("ann"))
    await t.invoke(graph, {"x": ["b"]}, {"configurable": {"thread_id": "2"}}, context={"name": "ann"})
    await t.invoke(graph, {"x": ["c"]}, {"configurable": {"thread_id": "3"}}, context=User("bob"))
    t.note("namespaces", store.list_namespaces())
    t.note("of ann", [item.key for item in store.search(("memories", "ann"))])


async def agent_with_tools(t):
    """A model calls a tool, sees the result and answers."""
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}
    script = iter([AIMessage("", tool_calls=[call], id="1"), AIMessage("It is 3.", id="2")])
    model = GenericFakeChatModel(messages=script)

    async def ask(state: MessagesState):
        return {"messages": [await t.call(model, "invoke", state["messages"])]}

    def use_tools(state: MessagesState):
        calls = state["messages"][-1].tool_calls
        return {
            "messages": [
                ToolMessage(str(sum(c["args"].values())), tool_call_id=c["id"], id="t") for c in calls
            ]
        }

    def route(state: MessagesState) -> Literal["tools", "__end__"]:
        return "tools" if state["messages"][-1].tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("model", t.node(ask))
    builder.add_node("tools", t.node(use_tools))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", route)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(
        graph, {"messages": [HumanMessage("1 + 2?", id="h")]}, THREAD, stream_mode=["updates", "values"]
    )
    t.note("mermaid", graph.get_graph().draw_mermaid())


class Essay(TypedDict):
    text: str
    grade: str
    rounds: int


async def write_and_review(t):
    """A loop of writing and reviewing ends when the review is good."""

    def write(state: Essay):
        return {"text": f"{state.get('text', '')}+", "rounds": state.get("rounds", 0) + 1}

    def review(state: Essay):
        return {"grade": "good" if state["rounds"] > 2 else "poor"}

    builder = StateGraph(Essay)
    builder.add_node("write", t.node(write))
    builder.add_node("review", t.node(review))
    builder.add_edge(START, "write")
    builder.add_edge("write", "review")
    builder.add_conditional_edges("review", lambda s: s["grade"], {"good": END, "poor": "write"})
    graph = builder.compile()
    await t.stream(graph, {}, stream_mode="values")
    await t.invoke(graph, {}, {"recursion_limit": 3})


async def review_by_a_person(t):
    """A workflow of tasks waits for a review, and doesn't write its essay twice."""
    written = []

    @task
    @t.node
    def write(topic):
        written.append(topic)
        return f"an essay about {topic}"

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    async def workflow(topic):
        essay = await t.value(write(topic))
        approved = interrupt({"essay": essay, "action": "approve?"})
        return {"essay": essay, "approved": approved}

    await t.stream(workflow, "cats", THREAD)
    await t.state(workflow, THREAD)
    await t.stream(workflow, Command(resume=True), THREAD)
    t.note("written", written)
    await t.history(workflow, THREAD)


class Order(BaseModel):
    items: list[str] = []
    total: int = 0


@differs("a thread can be read")
async def pydantic_state(t):
    """A state that's a model is checked before each node."""

    def price(state: Order):
        return {"total": str(10 * len(state.items))}

    def discount(state: Order):
        return {"total": state.total - 1}

    builder = StateGraph(Order)
    builder.add_node("price", t.node(price))
    builder.add_node("discount", t.node(discount))
    builder.add_edge(START, "price")
    builder.add_edge("price", "discount")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, Order(items=["a", "b"]), THREAD)
    await t.invoke(graph, {"items": "no list"}, {"configurable": {"thread_id": "2"}})
    await t.state(graph, {"configurable": {"thread_id": "2"}})
