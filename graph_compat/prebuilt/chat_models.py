"""The model of an agent: LangChain's, a function that answers messages, or a function that chooses one.

| `model=` | is |
|---|---|
| a string | the name of a model that the package langchain knows |
| an object with `invoke` | a chat model, or a chain that ends in one |
| a function of `messages`, or of `messages` and `tools` | a model: it takes and returns dicts (see `chat`) |
| any other function | called with the state and the runtime, it returns one of the above, with its tools bound |

Rule: a function is a model if it takes one argument, or if its first is called `messages`, or one is called
`tools`. It is given `tools=` and `response_format=` where it takes them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from graph_compat.injection import is_coroutine_function
from graph_compat.prebuilt.chat import as_dicts, is_dict
from graph_compat.prebuilt.tool import FunctionTool, json_schema


class FunctionModel:
    """A function that answers chat messages: `function(messages)`, or `function(messages, tools=[...])`.

    Args:
        function: blocking or async; gets dicts, and returns the answer as a dict or as a text.
        tools: what it is given as `tools=`, as chat-completion APIs have them.
        response_format: what it is given as `response_format=`.
    """

    def __init__(
        self, function: Callable[..., Any], tools: Sequence[Any] = (), response_format: Any = None
    ) -> None:
        self.function = function
        self.is_async = is_coroutine_function(function)
        self.options: dict[str, Any] = {}
        if tools and takes(function, "tools"):
            self.options["tools"] = [json_schema(tool) for tool in tools]
        if response_format is not None:
            self.options["response_format"] = response_format

    def invoke(self, messages: Any, config: Any = None) -> Any:
        """The answer, as a dict.

        Raises:
            TypeError: the function is async, or returns no message.
        """
        if self.is_async:
            raise TypeError(
                f"the model {self.function!r} is async: call its agent with ainvoke() or astream()"
            )
        return self._answer(self.function(as_dicts(messages), **self.options))

    async def ainvoke(self, messages: Any, config: Any = None) -> Any:
        """`invoke` for asyncio; a blocking function runs in a thread."""
        if self.is_async:
            return self._answer(await self.function(as_dicts(messages), **self.options))
        from flowfn.hosts.on_thread import on_thread

        return self._answer(await on_thread(self.function, as_dicts(messages), **self.options))

    def _answer(self, value: Any) -> Any:
        if isinstance(value, str):
            return {"role": "assistant", "content": value}
        if is_dict(value):
            return {"role": "assistant", **value}
        raise TypeError(
            f"the model returned {value!r}: return a text, or {{'role': 'assistant', 'content': …, 'tool_calls': […]}}"
        )


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of that name, or takes any."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def is_runnable(model: Any) -> bool:
    """Whether a model can be invoked as LangChain's are."""
    return hasattr(model, "invoke") and hasattr(model, "ainvoke")


def answers_messages(model: Any) -> bool:
    """Whether a model is a function that answers messages itself."""
    if is_runnable(model) or not callable(model):
        return False
    parameters = list(inspect.signature(model).parameters.values())
    required = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    names = [p.name for p in parameters]
    return names[:1] == ["messages"] or "tools" in names or len(required) == 1


def chooses_model(model: Any) -> bool:
    """Whether a model is a function that chooses one."""
    return callable(model) and not is_runnable(model) and not answers_messages(model)


def ready(model: Any, tools: Sequence[Any]) -> Any:
    """A model that was given as such, with its tools bound.

    Raises:
        ImportError: it is a string, and langchain isn't installed.
        ValueError: other tools are bound to it already.
        TypeError: it is no model.
    """
    if isinstance(model, str):
        model = _by_name(model)
    if answers_messages(model):
        return FunctionModel(model, tools)
    if not is_runnable(model):
        raise TypeError(f"{model!r} is no model: give a chat model, or a function of messages")
    if not tools or is_bound(model, tools):
        return model
    return model.bind_tools([tool.json_schema if isinstance(tool, FunctionTool) else tool for tool in tools])


def _by_name(name: str) -> Any:
    try:
        init_chat_model = import_module("langchain.chat_models").init_chat_model
    except ImportError:
        raise ImportError(
            "Please install langchain (`pip install langchain`) to use '<provider>:<model>' string syntax for `model`"
            f" parameter, as in model={name!r}."
        ) from None
    return init_chat_model(name)


def is_bound(model: Any, tools: Sequence[Any], provided: int = 0) -> bool:
    """Whether the agent's tools are bound to a model already, beside so many that its provider has.

    Raises:
        ValueError: others are.
    """
    for step in getattr(model, "steps", ()):  # a chain is bound where its model is
        if hasattr(step, "bind_tools") or "tools" in getattr(step, "kwargs", {}):
            model = step
            break
    bound = getattr(model, "kwargs", {}).get("tools")
    if bound is None:
        return False
    if len(bound) != len(tools) + provided:
        raise ValueError(
            "Number of tools in the model.bind_tools() and tools passed to create_react_agent must match"
            f" Got {len(tools)} tools, expected {len(bound) - provided}"
        )
    missing = {tool.name for tool in tools if not isinstance(tool, dict)} - set(map(_bound_name, bound))
    if missing:
        raise ValueError(f"Missing tools '{missing}' in the model.bind_tools()")
    return True


def _bound_name(tool: Mapping[str, Any]) -> Any:
    return tool["function"]["name"] if tool.get("type") == "function" else tool.get("name")


# -- structured answers -----------------------------------------------------------------------------


def structured(model: Any, schema: Any) -> Any:
    """A model whose answers have a schema: instances of a pydantic model, or dicts of a JSON schema.

    Raises:
        TypeError: a function is the model, and takes no `response_format`.
    """
    if not isinstance(model, FunctionModel) and not answers_messages(model):
        return innermost(model).with_structured_output(schema)
    function = model.function if isinstance(model, FunctionModel) else model
    if not takes(function, "response_format"):
        raise TypeError(
            f"the model {function!r} can't answer in a format: give it a parameter response_format, which gets"
            ' {"type": "json_schema", "json_schema": {"name": …, "schema": …}}'
        )
    return _Structured(function, schema)


def innermost(model: Any) -> Any:
    """The chat model inside a chain and inside what binds options to it."""
    from langchain_core.runnables import RunnableBinding

    for step in getattr(model, "steps", ()):
        if hasattr(step, "bind_tools") or isinstance(step, RunnableBinding):
            model = step
            break
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model


class _Structured(FunctionModel):
    """A function model that answers in a format."""

    def __init__(self, function: Callable[..., Any], schema: Any) -> None:
        self._schema = schema
        is_model = hasattr(schema, "model_json_schema")
        shape = schema.model_json_schema() if is_model else schema
        named = {"name": shape.get("title", "response"), "schema": shape}
        super().__init__(function, response_format={"type": "json_schema", "json_schema": named})

    def _answer(self, value: Any) -> Any:
        value = json.loads(super()._answer(value)["content"])
        return self._schema.model_validate(value) if hasattr(self._schema, "model_validate") else value
