"""create_react_agent with a function as its model: dicts in, dicts out, and no LangChain."""

import asyncio
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from flowfn.serde import Serde
from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.errors import GraphRecursionError
from graph_compat.prebuilt import InjectedState, ToolNode, ToolRuntime, create_react_agent
from graph_compat.prebuilt.agent_states import DictAgentState
from graph_compat.prebuilt.tool import FunctionTool
from graph_compat.types import Command, interrupt

from .callers import ONE, Caller, Script, calls, contents, says

Version = Literal["v1", "v2"]
HI = {"messages": [{"role": "user", "content": "hi"}]}


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(params=["v1", "v2"])
def version(request: pytest.FixtureRequest) -> Version:
    found: Version = request.param
    return found


def test_the_loop_ends_when_no_tool_is_called(caller: Caller, version: Version) -> None:
    """Model, tools, model: every message is a dict, in the order of the calls."""
    model = Script(calls(("add", {"a": 1}), ("add", {"a": 2})), says("2 and 3"))
    result = caller.invoke(create_react_agent(model, [add], version=version), HI)
    assert result["messages"] == [
        {"role": "user", "content": "hi"},
        calls(("add", {"a": 1}), ("add", {"a": 2})),
        {"role": "tool", "tool_call_id": "0", "name": "add", "content": "2"},
        {"role": "tool", "tool_call_id": "1", "name": "add", "content": "3"},
        {"role": "assistant", "content": "2 and 3"},
    ]
    assert [tool["function"]["name"] for tool in model.offered] == ["add"]
    assert model.heard[1] == result["messages"][:4]


def test_a_text_is_an_answer_and_an_input(caller: Caller) -> None:
    """The shortest way to write both."""
    agent = create_react_agent(lambda messages: f"you said {messages[-1]['content']}", [])
    assert caller.invoke(agent, {"messages": "hi"})["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "you said hi"},
    ]


def test_a_model_that_returns_no_message_is_told(caller: Caller) -> None:
    """With what it should have returned."""
    with pytest.raises(TypeError, match=r"the model returned 7: return a text, or \{'role': 'assistant'"):
        caller.invoke(create_react_agent(lambda messages: 7, []), HI)


def test_models_may_be_async(caller: Caller) -> None:
    """A coroutine function is awaited, and refused for a blocking caller."""

    async def model(messages: list[Any], tools: Any = None) -> str:
        await asyncio.sleep(0)
        return "done"

    agent = create_react_agent(model, [add])
    if caller.asyncio:
        assert caller.invoke(agent, HI)["messages"][-1] == says("done")
    else:
        with pytest.raises(TypeError, match=r"is async: call its agent with ainvoke\(\) or astream\(\)"):
            caller.invoke(agent, HI)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_a_function_of_state_and_runtime_chooses_the_model(caller: Caller) -> None:
    """What it returns may be a function too."""

    def choose(state: Any, runtime: Any) -> Any:
        return Script(says(f"{runtime.context} of {len(state['messages'])}"))

    agent = create_react_agent(choose, [add], state_schema=DictAgentState)
    assert caller.invoke(agent, HI, context="quiet")["messages"][-1] == says("quiet of 1")


@pytest.mark.parametrize("prompt", ["Be brief.", {"role": "system", "content": "Be brief."}])
def test_a_prompt_comes_first(caller: Caller, prompt: Any) -> None:
    """The model is told; the state doesn't have it."""
    model = Script(says("ok"))
    result = caller.invoke(create_react_agent(model, [], prompt=prompt), HI)
    assert model.heard == [[{"role": "system", "content": "Be brief."}, *HI["messages"]]]
    assert len(result["messages"]) == 2


def test_a_prompt_may_be_a_function(caller: Caller) -> None:
    """Of the state, with what it asks for by name."""

    def prompt(state: Any, runtime: Any) -> list[Any]:
        return [says(runtime.context), *state["messages"]]

    model = Script(says("ok"))
    caller.invoke(create_react_agent(model, [], prompt=prompt), HI, context="ada")
    assert model.heard == [[says("ada"), *HI["messages"]]]


def test_a_format_adds_a_call(caller: Caller) -> None:
    """The model is asked again, for JSON of that schema."""

    class Weather(BaseModel):
        degrees: int

    model = Script(says("it is warm"), '{"degrees": 21}')
    result = caller.invoke(create_react_agent(model, [], response_format=("Be exact.", Weather)), HI)
    assert result["structured_response"] == Weather(degrees=21)
    assert model.heard[1] == [{"role": "system", "content": "Be exact."}, *HI["messages"], says("it is warm")]
    assert model.format == {
        "type": "json_schema",
        "json_schema": {"name": "Weather", "schema": Weather.model_json_schema()},
    }


def test_a_format_needs_a_model_that_takes_one(caller: Caller) -> None:
    """Nobody is left to guess why a free text didn't parse."""
    agent = create_react_agent(lambda messages: "x", [], response_format={"title": "X", "type": "object"})
    with pytest.raises(TypeError, match="can't answer in a format: give it a parameter response_format"):
        caller.invoke(agent, HI)


def test_a_hook_may_shorten_what_the_model_is_told(caller: Caller) -> None:
    """`llm_input_messages` replaces the messages for one call, and stays out of the result."""
    model = Script(calls(("add", {"a": 1})), says("done"))
    agent = create_react_agent(
        model, [add], pre_model_hook=lambda state: {"llm_input_messages": state["messages"][:1]}
    )
    result = caller.invoke(agent, HI)
    assert model.heard == [HI["messages"], HI["messages"]]
    assert sorted(result) == ["messages"]


def test_a_hook_may_rewrite_the_messages(caller: Caller) -> None:
    """A removal of all, then the new ones."""

    def forget(state: Any) -> Any:
        return {
            "messages": [{"role": "remove", "id": "__remove_all__"}, {"role": "user", "content": "again"}]
        }

    result = caller.invoke(create_react_agent(Script(says("ok")), [], pre_model_hook=forget), HI)
    assert result["messages"] == [{"role": "user", "content": "again"}, says("ok")]


def test_a_hook_may_answer_calls(caller: Caller, version: Version) -> None:
    """The calls that it leaves open run; those that it answered don't."""
    ran: list[int] = []

    def work(n: int) -> int:
        ran.append(n)
        return n

    def refuse(state: Any) -> Any:
        asked = state["messages"][-1].get("tool_calls")
        return {
            "messages": [{"role": "tool", "tool_call_id": "0", "name": "work", "content": "refused"}]
            if asked
            else []
        }

    model = Script(calls(("work", {"n": 0}), ("work", {"n": 1})), says("done"))
    result = caller.invoke(create_react_agent(model, [work], post_model_hook=refuse, version=version), HI)
    assert (ran, contents(result)) == ([1], ["refused", "1"])


def test_when_steps_run_out_the_agent_says_so(caller: Caller, version: Version) -> None:
    """Rather than leave calls without answers."""
    agent = create_react_agent(Script(*[calls(("add", {"a": 1}))] * 9), [add], version=version)
    result = caller.invoke(agent, HI, {"recursion_limit": 4})
    assert result["messages"][-1]["content"] == "Sorry, need more steps to process this request."
    with pytest.raises(GraphRecursionError):
        caller.invoke(
            create_react_agent(Script(*[calls(("add", {"a": 1}))] * 9), [add]), HI, {"recursion_limit": 3}
        )


def test_a_call_without_an_answer_is_refused(caller: Caller) -> None:
    """No API takes such a history, so the model isn't asked."""
    model = Script(says("never"))
    with pytest.raises(ValueError, match="do not have a corresponding ToolMessage"):
        caller.invoke(create_react_agent(model, [add]), {"messages": [calls(("add", {"a": 1})), "well?"]})
    assert model.heard == []


def test_tools_see_the_state_of_their_superstep(caller: Caller, version: Version) -> None:
    """State and runtime are the same in both versions."""

    class State(DictAgentState):
        user: str

    def who(user: Annotated[str, InjectedState("user")], runtime: ToolRuntime[Any, Any]) -> str:
        return f"{user} {len(runtime.state['messages'])} {runtime.tool_call_id}"

    model = Script(calls(("who", {}), ("who", {})), says("done"))
    agent = create_react_agent(model, [who], state_schema=State, version=version)
    assert contents(caller.invoke(agent, {**HI, "user": "ada"})) == ["ada 2 0", "ada 2 1"]


def test_sent_calls_do_not_carry_the_state(caller: Caller) -> None:
    """G6: ten calls on a long history store it once."""
    long = "x" * 10_000
    model = Script(calls(*[("add", {"a": n}) for n in range(10)]))
    saver = InMemorySaver()
    agent = create_react_agent(model, [add], checkpointer=saver, interrupt_before=["tools"])
    caller.invoke(agent, {"messages": [long]}, ONE)
    (sends,) = [
        value
        for write in saver.get_tuple(ONE).checkpoint["channel_values"].items()
        if "tasks" in write[0]
        for value in [write[1]]
    ]
    assert len(sends) == 10
    assert len(Serde().dumps(sends)) < len(long)


def test_questions_of_tools_resume_where_they_were_asked(caller: Caller, version: Version) -> None:
    """Several at once, in both versions; what had finished doesn't run again."""
    ran: list[str] = []

    def ask(what: str) -> str:
        ran.append(what)
        return f"{what}: {interrupt(what)}"

    model = Script(calls(("ask", {"what": "a"}), ("add", {"a": 1}), ("ask", {"what": "b"})), says("done"))
    agent = create_react_agent(model, [ask, add], version=version, checkpointer=InMemorySaver())
    asked = {question.value: question.id for question in caller.invoke(agent, HI, ONE)["__interrupt__"]}
    result = caller.invoke(agent, Command(resume={asked["a"]: "A", asked["b"]: "B"}), ONE)
    assert contents(result) == ["a: A", "2", "b: B"]
    assert result["messages"][-1] == says("done")
    assert sorted(ran) == ["a", "a", "b", "b"]
    assert len(model.heard) == 2


def test_the_name_signs_messages(caller: Caller) -> None:
    """So that agents that share a history can be told apart."""
    result = caller.invoke(create_react_agent(Script(says("x")), [], name="helper"), HI)
    assert result["messages"][-1] == {"role": "assistant", "content": "x", "name": "helper"}


def test_a_node_of_tools_may_be_given(caller: Caller, version: Version) -> None:
    """With its own handling of errors."""

    def fail(a: int) -> int:
        raise ValueError(f"no {a}")

    node = ToolNode([FunctionTool(fail)], handle_tool_errors=True)
    result = caller.invoke(
        create_react_agent(Script(calls(("fail", {"a": 1})), says("x")), node, version=version), HI
    )
    assert contents(result) == ["Error: ValueError('no 1')\n Please fix your mistakes."]


def test_what_is_no_model_is_refused() -> None:
    """What is no model, or no tool, is refused when the agent is made, before anything runs."""
    with pytest.raises(TypeError, match="7 is no model: give a chat model, or a function of messages"):
        create_react_agent(7, [])
    with pytest.raises(TypeError, match="7 is no tool: give a function"):
        create_react_agent(Script(), [7])
