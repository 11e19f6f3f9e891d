"""`langgraph-supervisor`: agents that a supervisor hands work to, nested supervisors, memory, questions in an agent."""

import asyncio

from acting import actor, calls, show
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_handoff_tool, create_supervisor
from langgraph_supervisor.handoff import create_forward_message_tool

THREAD = {"configurable": {"thread_id": "1"}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def ask(what: str) -> str:
    """Ask a human."""
    return f"human says {interrupt(what)}"


def team(**options):
    adder = create_react_agent(
        actor(
            calls(("add", {"a": 1, "b": 2})),
            "It is 3.",
            calls(("add", {"a": 3, "b": 4}), first=9),
            "It is 7.",
        ),
        [add],
        name="adder",
    )
    asker = create_react_agent(
        actor(calls(("ask", {"what": "sure?"}), first=2), "The human is sure."), [ask], name="asker"
    )
    chief = actor(
        calls(("transfer_to_adder", {}), first=3),
        calls(("transfer_to_asker", {}), first=4),
        "3, and sure.",
        calls(("transfer_to_adder", {}), first=5),
        "7.",
    )
    return create_supervisor([adder, asker], model=chief, prompt="You lead.", **options)


def memory():
    app = team().compile(checkpointer=InMemorySaver(), name="team")
    asked = app.invoke({"messages": "1 + 2?"}, THREAD)
    show(asked["__interrupt__"], "asked")
    show(app.get_state(THREAD).next, "next")
    show(app.invoke(Command(resume="yes"), THREAD)["messages"], "first turn")
    show(app.invoke({"messages": "3 + 4?"}, THREAD)["messages"][-4:], "second turn")
    show(sorted(app.get_graph().nodes), "nodes")
    show([name for name, _ in app.get_subgraphs()], "subgraphs")


async def awaited():
    app = team(output_mode="full_history", add_handoff_back_messages=False).compile(
        checkpointer=InMemorySaver()
    )
    show(
        [chunk async for chunk in app.astream({"messages": "1 + 2?"}, THREAD, stream_mode="updates")],
        "until asked",
    )
    show(
        [chunk async for chunk in app.astream(Command(resume="yes"), THREAD, stream_mode="updates")],
        "answered",
    )
    names = [
        (len(namespace), list(chunk))
        async for namespace, chunk in app.astream({"messages": "3 + 4?"}, THREAD, subgraphs=True)
    ]
    show(names, "with subgraphs")


def nested():
    inner = create_supervisor(
        [create_react_agent(actor("leaf"), [], name="leaf")],
        model=actor(calls(("transfer_to_leaf", {})), "inner done"),
        supervisor_name="inner_supervisor",
    ).compile(name="inner")
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [AIMessage("said by a graph", name="sayer")]})
    builder.add_edge(START, "say")
    plain_graph = builder.compile(name="sayer")
    forward = create_forward_message_tool("outer_supervisor")
    outer = create_supervisor(
        [inner, plain_graph],
        model=actor(
            calls(("delegate_to_inner", {}), first=3),
            calls(("transfer_to_sayer", {}), first=4),
            calls(("forward_message", {"from_agent": "sayer"}), first=5),
            "not reached",
        ),
        tools=[
            create_handoff_tool(agent_name="inner", name="delegate_to_inner"),
            create_handoff_tool(agent_name="sayer"),
            forward,
        ],
        supervisor_name="outer_supervisor",
        include_agent_name="inline",
    ).compile()
    show(outer.invoke({"messages": "Go."})["messages"], "nested")


def tools_of_a_node():
    def fail() -> str:
        """Fail."""
        raise ValueError("no luck")

    app = create_supervisor(
        [create_react_agent(actor("leaf"), [], name="leaf")],
        model=actor(calls(("fail", {})), "I tried."),
        tools=ToolNode([fail], handle_tool_errors="It failed."),
    ).compile()
    show(app.invoke({"messages": "Go."})["messages"], "tools of a node")


memory()
asyncio.run(awaited())
nested()
tools_of_a_node()
