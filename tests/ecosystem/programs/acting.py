"""What the programs share: a chat model that says its lines, and how messages, streams and questions are printed."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool


class Actor(BaseChatModel):
    """A model whose answer is a function of what it is told: of the messages, and of the names of its tools."""

    answer: Callable[[list[BaseMessage], list[str]], Any]

    @property
    def _llm_type(self) -> str:
        return "actor"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        tools = [tool["function"]["name"] for tool in kwargs.get("tools", ())]
        said = self.answer(messages, tools)
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])


def actor(*lines: Any) -> Actor:
    """A model that says its lines in turn."""
    left = list(lines)
    return Actor(answer=lambda messages, tools: left.pop(0))


def calls(*asked: tuple[str, dict[str, Any]], said: str = "", first: int = 1) -> AIMessage:
    """A message that calls tools."""
    listed = [
        {"name": name, "args": args, "id": f"call-{number}"}
        for number, (name, args) in enumerate(asked, first)
    ]
    return AIMessage(said, tool_calls=listed)


def show(value: Any, label: str = "") -> None:
    """Print a value without what differs from run to run."""
    print(label, plain(value), flush=True)


def plain(value: Any) -> Any:
    """A value as builtins, with ids masked."""
    if isinstance(value, BaseMessage):
        parts: list[Any] = [value.type, plain(value.content)]
        for name in ("name", "tool_call_id", "status"):
            if found := getattr(value, name, None):
                parts.append(f"{name}={plain(found)}")
        for call in getattr(value, "tool_calls", ()):
            parts.append((call["name"], plain(call["args"])))
        return tuple(parts)
    if isinstance(value, dict):
        return {plain(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if hasattr(value, "model_dump"):
        return type(value).__name__, plain(value.model_dump())
    if type(value).__name__ == "Interrupt":
        return "Interrupt", plain(value.value)
    if isinstance(value, str):
        masked = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>", value)
        masked = re.sub(r"\b[0-9a-f]{32}\b", "<id>", masked)
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?", "<time>", masked)
    return value if isinstance(value, int | float | bool | type(None)) else type(value).__name__
