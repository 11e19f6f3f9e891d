"""Messages and documents of langchain-core come back equal, and as the very class that they were."""

from typing import Any

import pytest

from flowfn.serde import DEFAULT

messages: Any = pytest.importorskip("langchain_core.messages")
documents: Any = pytest.importorskip("langchain_core.documents")

CALL = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
CHUNK = {"name": "f", "args": '{"x":', "id": "c", "index": 0, "type": "tool_call_chunk"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
MAKE: dict[str, Any] = {
    "HumanMessage": lambda cls: cls("hi", id="1", name="n", custom=5),
    "HumanMessageChunk": lambda cls: cls("hi"),
    "AIMessage": lambda cls: cls(
        "a", tool_calls=[CALL], usage_metadata=USAGE, additional_kwargs={"k": (1, 2)}
    ),
    "AIMessageChunk": lambda cls: cls("a", tool_call_chunks=[CHUNK]) + cls("b"),
    "SystemMessage": lambda cls: cls([{"type": "text", "text": "s"}]),
    "SystemMessageChunk": lambda cls: cls("s"),
    "ToolMessage": lambda cls: cls("t", tool_call_id="c", artifact={"found": {1, 2}}, status="error"),
    "ToolMessageChunk": lambda cls: cls("t", tool_call_id="c"),
    "FunctionMessage": lambda cls: cls("f", name="n"),
    "FunctionMessageChunk": lambda cls: cls("f", name="n"),
    "ChatMessage": lambda cls: cls("c", role="r"),
    "ChatMessageChunk": lambda cls: cls("c", role="r"),
    "RemoveMessage": lambda cls: cls(id="x"),
    "Document": lambda cls: cls("p", metadata={"source": 1}, id="d"),
}


def make(name: str) -> Any:
    cls = getattr(documents if name == "Document" else messages, name)
    return MAKE[name](cls)


def test_every_kind_of_message_is_here() -> None:
    """A kind that langchain-core adds shows as a failure, not as a gap."""
    listed = [
        getattr(messages, name) for name in messages.__all__ if name.endswith(("Message", "MessageChunk"))
    ]
    kinds = {cls.__name__ for cls in listed if isinstance(cls, type)} - {"BaseMessage", "BaseMessageChunk"}
    assert kinds == set(MAKE) - {"Document"}


@pytest.mark.parametrize("name", MAKE)
def test_a_message_comes_back_whole(name: str) -> None:
    """Equal, of the same class, with the same fields set, extras and bytes."""
    value = make(name)
    data = DEFAULT.dumps({"messages": [value]})
    actual = DEFAULT.loads(data)["messages"][0]
    assert (type(actual), actual, repr(actual)) == (type(value), value, repr(value))
    assert actual.model_fields_set == value.model_fields_set
    assert actual.__pydantic_extra__ == value.__pydantic_extra__
    assert DEFAULT.dumps({"messages": [actual]}) == data


def test_a_restored_message_works() -> None:
    """Its properties and methods are those of its class."""
    actual = DEFAULT.loads(DEFAULT.dumps(make("AIMessage")))
    assert (actual.text, actual.tool_calls, actual.type) == ("a", [CALL], "ai")


def test_the_text_of_a_message_comes_back_as_what_it_is() -> None:
    """It is a `str` of langchain-core's own class, which programs store without knowing it."""
    value = make("AIMessage").text
    actual = DEFAULT.loads(DEFAULT.dumps({"answer": value}))["answer"]
    assert (type(actual), actual) == (type(value), "a")
