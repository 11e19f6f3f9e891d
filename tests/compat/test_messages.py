"""Messages as state: ids that a replay makes again, and dicts where LangChain isn't installed."""

from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid5

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.graph import END, START, MessagesState, StateGraph, add_messages
from graph_compat.graph.message import push_message
from graph_compat.graph.ui import delete_ui_message, push_ui_message, ui_message_reducer
from graph_compat.langchain import messages
from graph_compat.langchain.messages import name_uuid
from graph_compat.types import Command, Send, interrupt

ONE = {"configurable": {"thread_id": "1"}}


def graph_of(*nodes: Any, schema: Any = MessagesState, **options: Any) -> Any:
    """A chain of nodes."""
    builder = StateGraph(schema)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0].__name__)
    return builder.compile(**options)


def ids(state: Any, key: str = "messages") -> list[str]:
    return [message.id for message in state[key]]


def answering(state: Any) -> Any:
    return {"messages": [{"role": "assistant", "content": "yes"}, ("ai", "yes")]}


def test_what_is_ahead_of_a_checkpoint_keeps_its_ids() -> None:
    """A message of a finished node has one id: while its superstep waits for an answer, and ever after."""

    def asking(state: Any) -> Any:
        return {"messages": [("ai", interrupt("?"))]}

    builder = StateGraph(MessagesState)
    builder.add_node(answering)
    builder.add_node(asking)
    builder.add_edge(START, "answering")
    builder.add_edge(START, "asking")
    graph = builder.compile(checkpointer=InMemorySaver())

    graph.invoke({"messages": "hi"}, ONE)
    seen = [ids(graph.get_state(ONE).values) for _ in range(2)]
    graph.invoke(Command(resume="answer"), ONE)
    after = ids(graph.get_state(ONE).values)

    assert seen[0] == seen[1]
    assert after[: len(seen[0])] == seen[0]
    assert len(set(after)) == len(after) == 4


@pytest.mark.parametrize("name", ["", "place:('ai', 'yes'):0", "süß 漢字 \U0001f600", "long " * 1000])
def test_an_id_of_a_place_is_a_uuid_of_its_name(name: str) -> None:
    """So that ids which were made before come to be made again."""
    assert name_uuid(name) == str(uuid5(UUID("8f0e9a52-6a0c-4a4e-9a53-0a3f0d5f2c11"), name))


def test_equal_messages_have_ids_of_their_own() -> None:
    """Two nodes that say the same at the same time say two messages; so do two threads, and two keys."""

    class Two(TypedDict):
        messages: Annotated[list[Any], add_messages]
        log: Annotated[list[Any], add_messages]

    def one(state: Any) -> Any:
        return {"messages": ("ai", "ok"), "log": ("ai", "ok")}

    def other(state: Any) -> Any:
        return {"messages": ("ai", "ok")}

    builder = StateGraph(Two)
    for node in (one, other):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    graph = builder.compile(checkpointer=InMemorySaver())
    found = [graph.invoke({"messages": []}, {"configurable": {"thread_id": n}}) for n in "12"]

    every = [name for state in found for key in ("messages", "log") for name in ids(state, key)]
    assert len(every) == len(set(every)) == 6


@pytest.mark.parametrize("saver", [lambda: None, InMemorySaver], ids=["unrecorded", "recorded"])
@pytest.mark.parametrize("as_node", [True, False], ids=["as a node", "called"])
def test_a_nested_graph_that_runs_again_says_other_messages(saver: Any, as_node: bool) -> None:
    """Each has an id of its own where none is given: one of an earlier call isn't replaced."""

    def call_a_tool(state: Any) -> Any:
        return {"messages": AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "c"}])}

    agent = graph_of(call_a_tool)
    builder = StateGraph(MessagesState).add_node(
        "agent", agent if as_node else lambda state: agent.invoke(state)
    )
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda state: "agent" if len(state["messages"]) < 4 else END)
    found = builder.compile(checkpointer=saver()).invoke(
        {"messages": [("human", "go")]}, {**ONE, "recursion_limit": 9}
    )
    assert len(set(ids(found))) == 4


def test_a_branch_sees_the_ids_that_the_state_will_have() -> None:
    """What a branch sends of a message by its id is that very message."""
    sent = []

    def route(state: Any) -> Any:
        sent.append(state["messages"][-1].id)
        return [Send("edit", state["messages"][-1].id)]

    def edit(name: str) -> Any:
        return {"messages": [AIMessage("edited", id=name)]}

    builder = StateGraph(MessagesState)
    builder.add_node(answering)
    builder.add_node(edit)
    builder.add_edge(START, "answering")
    builder.add_conditional_edges("answering", route, ["edit"])
    found = builder.compile().invoke({"messages": "hi"})

    assert [message.content for message in found["messages"]] == ["hi", "yes", "edited"]
    assert sent == [found["messages"][-1].id]


def test_branches_of_equal_texts_see_the_ids_that_the_state_will_have() -> None:
    """Tasks side by side that answer the same are told apart, for their branches as for the state."""
    seen = []

    def route(state: Any) -> str:
        seen.append(state["messages"][-1].id)
        return END

    builder = StateGraph(MessagesState)
    builder.add_node(answering)
    builder.add_conditional_edges(START, lambda state: [Send("answering", state)] * 3, ["answering"])
    builder.add_conditional_edges("answering", route)
    found = builder.compile().invoke({"messages": []})

    assert sorted(seen) == sorted(ids(found)[1::2])  # the last one of each task's two
    assert len({*ids(found)}) == 6


def test_a_killed_superstep_makes_the_same_ids_again(run_python: Any, tmp_path: Path) -> None:
    """A node's message that was shown before the process died has the same id after it, in the next process (G1)."""
    script = tmp_path / "chat.py"
    script.write_text(
        """
import os, sys
from graph_compat.graph import END, START, MessagesState, StateGraph
THREAD = {"configurable": {"thread_id": "1"}}

def says(state):
    return {"messages": [{"role": "assistant", "content": "yes"}]}

def dies(state):
    if sys.argv[1] == "die":
        while len(shown := graph.get_state(THREAD).values["messages"]) < 2:
            pass  # the nodes run side by side: what the other one said is shown once it is kept
        print(shown[-1].id, flush=True)
        os._exit(9)
    return {}

builder = StateGraph(MessagesState)
for node in (says, dies):
    builder.add_node(node)
    builder.add_edge(START, node.__name__)
graph = builder.compile(checkpointer="chat.db")
found = graph.invoke({"messages": "hi"} if sys.argv[1] == "die" else None, THREAD)
print(found["messages"][-1].id)
"""
    )
    killed, after = run_python(script, "die"), run_python(script, "on")

    assert killed.returncode == 9
    assert after.stdout == killed.stdout != ""


def test_an_id_costs_the_same_beside_many_equal_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred equal messages that come together each is named once: no earlier one's name is tried again."""
    named: list[str] = []
    monkeypatch.setattr(messages, "name_uuid", lambda name: named.append(name) or name_uuid(name))

    found = graph_of(answering).invoke({"messages": [("human", "hi")] * 100})

    assert len(set(ids(found))) == 102
    assert len(named) == 102


def test_ids_made_by_code_in_a_node_are_new_each_time() -> None:
    """Code that merges equal messages twice gets four ids, not two."""
    found: list[str] = []

    def merging(state: Any) -> Any:
        for _ in range(2):
            found.extend(message.id for message in add_messages([("ai", "x")], [("ai", "x")]))
        return {}

    graph_of(merging).invoke({"messages": "hi"})

    assert len(set(found)) == 4


def test_pushed_messages_that_the_state_has_no_key_for_are_only_shown() -> None:
    """`push_message` to an unknown key, or to none, shows the message and writes nothing."""

    def pushing(state: Any) -> Any:
        push_message(HumanMessage("a", id="a"), state_key="nowhere")
        push_message(HumanMessage("b", id="b"), state_key=None)

    chunks = list(graph_of(pushing).stream({"messages": []}, stream_mode=["messages", "values"]))

    assert [chunk[0].content for mode, chunk in chunks if mode == "messages"] == ["a", "b"]
    assert [chunk for mode, chunk in chunks if mode == "values"] == [{"messages": []}]


def test_pushing_outside_a_node_is_refused() -> None:
    """Nothing runs that could push."""
    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        push_message(HumanMessage("a", id="a"))
    with pytest.raises(RuntimeError, match="outside of a runnable context"):
        push_ui_message("card", {})


def test_components_are_pushed_merged_and_taken_away() -> None:
    """A component streams at once, merges into the one of its id, and goes when it is deleted."""

    class Shown(TypedDict):
        ui: Annotated[list[Any], ui_message_reducer]

    def showing(state: Any) -> Any:
        first = push_ui_message("card", {"a": 1}, id="1", message=AIMessage("m", id="m"))
        push_ui_message("card", {"b": 2}, id="1", merge=True)
        push_ui_message("gone", {}, id="2")
        delete_ui_message("2")
        assert first["metadata"]["message_id"] == "m"
        return {}

    graph = graph_of(showing, schema=Shown)
    custom = list(graph.stream({"ui": []}, stream_mode="custom"))
    (kept,) = graph.invoke({"ui": []})["ui"]

    assert [(c["type"], c["id"]) for c in custom] == [
        ("ui", "1"),
        ("ui", "1"),
        ("ui", "2"),
        ("remove-ui", "2"),
    ]
    assert kept["props"] == {"a": 1, "b": 2}


WITHOUT = "import sys; sys.modules['langchain_core'] = None\n"


def test_without_langchain_messages_are_dicts(run_python: Any) -> None:
    """Where langchain-core isn't installed, dicts of role and content merge by id, stream, and are removed."""
    code = """
from graph_compat.graph import END, START, MessagesState, StateGraph, add_messages
from graph_compat.graph.message import REMOVE_ALL_MESSAGES, push_message

def answer(state):
    push_message({"role": "assistant", "content": "pushed", "id": "p"})
    return {"messages": [*state["messages"], {"role": "assistant", "content": "b"}]}

builder = StateGraph(MessagesState)
builder.add_node(answer)
builder.add_edge(START, "answer")
graph = builder.compile()
for mode, chunk in graph.stream({"messages": "a"}, stream_mode=["messages", "values"]):
    if mode == "messages":
        print(chunk[0]["content"], chunk[1]["langgraph_node"])
print([(m["role"], m["content"], len(m["id"])) for m in chunk["messages"]])
left = [{"role": "user", "content": "a", "id": "1"}]
print(add_messages(left, [{"role": "remove", "id": "1"}, ("human", "c")])[0]["role"])
print(add_messages(left, {"role": "remove", "id": REMOVE_ALL_MESSAGES}))
print(hasattr(graph, "with_retry"), graph.get_input_jsonschema()["title"])
"""
    done = run_python("-c", WITHOUT + code)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "pushed answer",
        "b answer",
        "[('user', 'a', 36), ('assistant', 'pushed', 1), ('assistant', 'b', 36)]",
        "user",
        "[]",
        "False MessagesState",
    ]


def test_importing_graphs_imports_no_langchain(run_python: Any) -> None:
    """`import graph_compat.graph`, and a run without messages, load nothing of LangChain."""
    code = """
import sys
from graph_compat.graph import END, START, MessagesState, StateGraph
def add(state: int): return state + 1
builder = StateGraph(int)
builder.add_node(add)
builder.add_edge(START, "add")
assert builder.compile().invoke(1) == 2
print(*[name for name in sys.modules if name.startswith("langchain")])
"""
    done = run_python("-c", code)

    assert (done.stdout, done.stderr) == ("\n", "")
