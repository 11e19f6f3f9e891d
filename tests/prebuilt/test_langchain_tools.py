"""LangChain's tools in a ToolNode: what LangChain would turn into text passes, and what it marks is filled."""

from typing import Annotated, Any, ClassVar

import pytest
from typing_extensions import TypedDict

pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool

from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.graph import MessagesState
from graph_compat.prebuilt import InjectedState, ToolNode, ToolRuntime
from graph_compat.prebuilt.tool_node import ToolInvocationError
from graph_compat.types import Command, interrupt

from .callers import ONE, Caller, node_graph


class State(MessagesState):
    user: str


def asks(*asked: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A state whose last message calls these tools, with the ids "0", "1", …"""
    calls = [
        {"name": name, "args": args, "id": str(number), "type": "tool_call"}
        for number, (name, args) in enumerate(asked)
    ]
    return {"messages": [AIMessage("", tool_calls=calls)]}


def answers(result: Any) -> list[Any]:
    return [message.content for message in result["messages"] if isinstance(message, ToolMessage)]


class Rename(BaseTool):
    """A tool written as a class, blocking alone."""

    name: str = "rename"
    description: str = "Rename."

    def _run(self, user: str, runtime: ToolRuntime[Any, Any], **kwargs: Any) -> Any:
        return Command(
            update={"user": user, "messages": [ToolMessage("renamed", tool_call_id=runtime.tool_call_id)]}
        )


def test_a_command_passes_through_a_tool_written_as_a_class(caller: Caller) -> None:
    """Whatever class a tool is of; blocking code serves asyncio too."""
    result = caller.invoke(node_graph(ToolNode([Rename()]), State), asks(("rename", {"user": "bob"})))
    assert (result["user"], answers(result)) == ("bob", ["renamed"])


def test_the_tools_that_a_program_sees_are_its_own() -> None:
    """A node wraps none of them."""
    rename = Rename()
    assert ToolNode([rename]).tools_by_name["rename"] is rename


def test_a_command_of_a_tool_that_is_called_by_hand_is_one() -> None:
    """A node of the program's own may call a tool, and return what it got."""

    @tool
    def rename(user: str) -> Command[Any]:
        """Rename."""
        return Command(update={"user": user})

    call = {"name": "rename", "args": {"user": "bob"}, "id": "1", "type": "tool_call"}
    assert rename.invoke(call) == Command(update={"user": "bob"})


def test_listeners_are_told_of_the_command_itself() -> None:
    """`on_tool_end` gets what the tool returned."""

    class Told(BaseCallbackHandler):
        outputs: ClassVar[list[Any]] = []

        def on_tool_end(self, output: Any, **rest: Any) -> None:
            self.outputs.append(output)

    graph = node_graph(ToolNode([Rename()]), State)
    graph.invoke(asks(("rename", {"user": "bob"})), {"callbacks": [Told()]})
    assert [type(output) for output in Told.outputs] == [Command]


def test_commands_of_finished_calls_survive_a_question(caller: Caller) -> None:
    """A recorded Command, with its message, comes back as what it was."""
    ran: list[str] = []

    @tool
    def rename(user: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Rename."""
        ran.append(user)
        return Command(update={"user": user, "messages": [ToolMessage("renamed", tool_call_id=call)]})

    @tool
    def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {interrupt(what)}"

    graph = node_graph(ToolNode([rename, ask]), State, checkpointer=InMemorySaver())
    caller.invoke(graph, asks(("rename", {"user": "bob"}), ("ask", {"what": "age"})), ONE)
    result = caller.invoke(graph, Command(resume="7"), ONE)
    assert (result["user"], answers(result), ran) == ("bob", ["renamed", "age: 7"], ["bob"])


def test_states_and_runtimes_of_any_type_are_injected(caller: Caller) -> None:
    """Annotations that pydantic couldn't check are no hindrance."""

    class Context(TypedDict):
        place: str

    @tool
    def who(state: Annotated[State, InjectedState], runtime: ToolRuntime[Context, State]) -> str:
        """Who."""
        return f"{state['user']} {runtime.state['user']}"

    assert answers(
        caller.invoke(node_graph(ToolNode([who]), State), {**asks(("who", {})), "user": "ada"})
    ) == ["ada ada"]
    assert who.tool_call_schema.model_json_schema()["properties"] == {}  # type: ignore[union-attr]


def test_arguments_that_do_not_fit_are_an_error_of_langchains_kind() -> None:
    """`except ToolException` goes on to catch them."""
    assert issubclass(ToolInvocationError, ToolException)


def test_a_plain_function_is_langchains_tool_here() -> None:
    """In a program that has loaded LangChain, so that its callbacks and tracers see the calls."""

    def add(a: int) -> int:
        """Add."""
        return a

    async def undocumented(a: int) -> int:
        return a

    assert isinstance(ToolNode([undocumented]).tools_by_name["undocumented"], BaseTool)
    assert isinstance(ToolNode([add]).tools_by_name["add"], BaseTool)
