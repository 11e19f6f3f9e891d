"""An agent with LangChain: its chat models, messages and tools, on flowfn's record.

`create_react_agent` takes any chat model that has `bind_tools`, and `@tool` functions, as LangGraph's does. Messages
are LangChain's, also after they were stored. Here the second call of the model fails; the run that goes on asks
neither the model for its first answer nor the tool for its result again.

Output:
    model
    weather service: Rome
    model
    stopped: rate limit
    model
    human   Is it warm in Rome?
    ai      calls weather(city='Rome')
    tool    21 degrees in Rome
    ai      It is 21 degrees in Rome.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

# from langgraph.prebuilt import create_react_agent  # LangGraph
from graph_compat.prebuilt import create_react_agent

folder = TemporaryDirectory()
limited = True


class ScriptedModel(BaseChatModel):
    """Stands for `ChatOpenAI(model=…)` or `ChatAnthropic(model=…)`."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        print("model")
        if not isinstance(messages[-1], ToolMessage):
            call = {"name": "weather", "args": {"city": "Rome"}, "id": "call-1"}
            answer = AIMessage("", tool_calls=[call])
        elif limited:
            raise ConnectionError("rate limit")
        else:
            answer = AIMessage(f"It is {messages[-1].content}.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    print("weather service:", city)
    return f"21 degrees in {city}"


agent = create_react_agent(ScriptedModel(), [weather], checkpointer=Path(folder.name) / "runs.db")


if __name__ == "__main__":
    thread = {"configurable": {"thread_id": "travel"}}
    try:
        agent.invoke({"messages": [("user", "Is it warm in Rome?")]}, thread)
    except ConnectionError as error:
        print("stopped:", error)

    limited = False
    for message in agent.invoke(None, thread)["messages"]:
        calls = [
            f"calls {call['name']}(city={call['args']['city']!r})"
            for call in getattr(message, "tool_calls", [])
        ]
        print(f"{message.type:7}", *calls or [message.content])
