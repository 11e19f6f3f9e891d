"""`ValidationNode`: checks the calls of a model against schemas, and runs none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graph_compat.prebuilt.chat import answer, calls_of, is_dict, role_of
from graph_compat.prebuilt.tool import FunctionTool, is_numbered, tool_of
from graph_compat.prebuilt.tool_input import messages_in
from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

__all__ = ["ValidationNode"]


def _advice(error: Exception, call: Any, schema: Any) -> str:
    return f"{error!r}\n\nRespond after fixing all validation errors."


class ValidationNode:
    """A node that answers each tool call with its arguments as JSON, or with what is wrong with them.

    Deprecated. An answer to a call that doesn't fit has `is_error` in its `additional_kwargs`.

    Args:
        schemas: pydantic models, tools, and functions.
        format_error: `function(error, call, schema)` gives the content of such an answer.
        name: the node's name.
        tags: for tracers.
    """

    def __init__(
        self,
        schemas: Sequence[Any],
        *,
        format_error: Callable[[Exception, Any, Any], str] | None = None,
        name: str = "validation",
        tags: list[str] | None = None,
    ) -> None:
        warn(
            "ValidationNode is deprecated. Please use `create_agent` from `langchain.agents` with custom tool error"
            " handling.",
            LangGraphDeprecatedSinceV10,
        )
        self.name = name
        self.tags = tags
        self._format = format_error or _advice
        self.schemas_by_name = dict(map(_schema, schemas))

    def __call__(self, state: Any) -> Any:
        """The answers: `{"messages": [...]}`, or a list for a list.

        Raises:
            ValueError: the last message isn't a model's.
            KeyError: a call names no schema.
        """
        messages = messages_in(state, "messages")
        if not messages:
            raise ValueError("No message found in input")
        if role_of(messages[-1]) != "assistant":
            raise ValueError("Last message is not an AIMessage")
        answers = [self._answer(call, is_dict(messages[-1])) for call in calls_of(messages[-1])]
        return answers if isinstance(state, list) else {"messages": answers}

    def invoke(self, state: Any, config: Any = None, **kwargs: Any) -> Any:
        """The same."""
        return self(state)

    async def ainvoke(self, state: Any, config: Any = None, **kwargs: Any) -> Any:
        """The same, for asyncio."""
        return self(state)

    def _answer(self, call: Any, as_dict: bool) -> Any:
        from pydantic import ValidationError

        schema = self.schemas_by_name[call["name"]]
        try:
            checked = schema.model_validate(call["args"])
            return answer(call, checked.model_dump_json(by_alias=is_numbered(schema)), as_dict=as_dict)
        except ValidationError as error:
            found = answer(call, self._format(error, call, schema), as_dict=as_dict)
            if not as_dict:
                found.additional_kwargs["is_error"] = True
            return found


def _schema(given: Any) -> tuple[str, Any]:
    """A schema by its name.

    Raises:
        ValueError: it has none.
    """
    if isinstance(given, type) and hasattr(given, "model_validate"):
        return given.__name__, given
    tool = (
        given if hasattr(given, "args_schema") else FunctionTool(given) if callable(given) else tool_of(given)
    )
    if not hasattr(tool.args_schema, "model_validate"):
        raise ValueError(f"{given!r} has no pydantic model of its arguments")
    return tool.name, tool.args_schema
