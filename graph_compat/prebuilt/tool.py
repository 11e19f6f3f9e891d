"""A tool: LangChain's, or a plain Python function.

Rule: a function's schema comes from its signature; what the graph fills isn't in it. A function becomes
LangChain's tool in a program that has loaded LangChain, so that its callbacks and tracers see it; elsewhere
it becomes a `FunctionTool`, which needs nothing but pydantic.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from flowfn.config import RECURSION_LIMIT
from flowfn.python.apart import apart
from flowfn.python.cached_property import cached_property
from flowfn.python.lazy import Later
from graph_compat.langchain.node_config import NodeConfig
from graph_compat.langchain.tool_calls import somebody_listens, told_of_call
from graph_compat.langchain.tool_runs import tool_run
from graph_compat.prebuilt.chat import ToolCall, uses_langchain
from graph_compat.prebuilt.injected import Injection, injections_of, injections_of_schema

if TYPE_CHECKING:
    from langchain_core.tools import base, structured

    from flowfn.hosts import on_thread as threads
else:
    base, structured = Later("langchain_core.tools.base"), Later("langchain_core.tools.structured")
    threads = Later("flowfn.hosts.on_thread")

_VARIADIC = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)

_MODEL = "Validation"
"""What pydantic calls the arguments in its errors."""


class FunctionTool:
    """A Python function that a model may call.

    `name` and `description` are the function's, `args_schema` is a pydantic model of its arguments, and
    `json_schema` is what chat-completion APIs take as an item of `tools`.

    Raises:
        TypeError: it is no function, or a parameter has no name to be given by.
    """

    return_direct = False

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(
                f"{function!r} is no tool: give a function, or an object made by LangChain's @tool"
            )
        self.func = function
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self.description = inspect.getdoc(function) or ""
        self.is_async = inspect.iscoroutinefunction(function)
        self.injections = injections_of(function)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in _VARIADIC:
                raise TypeError(
                    f"{self.name}() takes {parameter}, which a model can't give: name each parameter of a tool"
                )

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @cached_property
    def args_schema(self) -> Any:
        """The model of the arguments that a model of chat gives."""
        from pydantic import Field, create_model

        hints = typing.get_type_hints(self.func, include_extras=True)
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(self.func).parameters.items():
            if name not in self.injections:
                default = ... if parameter.default is parameter.empty else parameter.default
                # Numbered fields: a parameter may be called what pydantic keeps for itself.
                fields[f"p{len(fields)}"] = (_described(hints.get(name, Any)), Field(default, alias=name))
        return create_model(_MODEL, **fields)

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The tool as an item of `tools` in a chat-completion request."""
        parameters = _untitled(self.args_schema.model_json_schema())
        parameters.setdefault("properties", {})
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them: converted to their annotations.

        Raises:
            pydantic.ValidationError: they don't fit.
        """
        checked = self.args_schema.model_validate(given)
        return {self._names[name]: getattr(checked, name) for name in checked.model_fields_set}

    @cached_property
    def _names(self) -> dict[str, str]:
        """The function's name for each field of the model."""
        return {name: known.alias for name, known in self.args_schema.model_fields.items()}

    def invoke(self, given: Mapping[str, Any], filled: Mapping[str, Any]) -> Any:
        """Call the function with what a model gave, and what the graph fills.

        Raises:
            pydantic.ValidationError: the arguments don't fit.
            TypeError: the function is async.
        """
        if self.is_async:
            raise TypeError(f"the tool {self.name!r} is async: call its graph with ainvoke() or astream()")
        return copy_context().run(self.func, **self.arguments(given), **filled)

    async def ainvoke(self, given: Mapping[str, Any], filled: Mapping[str, Any]) -> Any:
        """`invoke` for asyncio; a blocking function runs in a thread."""
        arguments = {**self.arguments(given), **filled}
        if self.is_async:
            return await apart(self.func(**arguments), copy_context())
        return await threads.on_thread(self.func, **arguments)


def is_numbered(schema: Any) -> bool:
    """Whether a model of arguments is one of ours, of which only the aliases mean anything."""
    return bool(schema.__name__ == _MODEL and all(known.alias for known in schema.model_fields.values()))


def _described(hint: Any) -> Any:
    """A hint with `Annotated[T, "text"]` as pydantic has it."""
    if get_origin(hint) is not Annotated:
        return hint
    from pydantic import Field

    inner, *extras = get_args(hint)
    return Annotated[(inner, *(Field(description=e) if isinstance(e, str) else e for e in extras))]


def _untitled(schema: Any) -> Any:
    """A JSON schema without the titles that pydantic adds."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _untitled(part) for name, part in value.items()}
        if key == "properties"
        else _untitled(value)
        for key, value in schema.items()
        if key != "title"
    }


# -- either kind ------------------------------------------------------------------------------------


def tool_of(given: Any) -> Any:
    """A tool of what a program lists: a tool, or a function.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(given, FunctionTool) or (hasattr(given, "invoke") and hasattr(given, "name")):
        return given
    if callable(given) and uses_langchain():
        from langchain_core.tools import StructuredTool, tool

        if inspect.getdoc(given):
            return tool(given)
        # LangChain wants a docstring; a function that is a tool without it stays one when LangChain is loaded.
        form = "coroutine" if inspect.iscoroutinefunction(given) else "func"
        return StructuredTool.from_function(**{form: given}, description=given.__name__)
    return FunctionTool(given)


@dataclass(frozen=True)
class Prepared:
    """A tool, what the graph fills of its parameters, and where its code is (file:line).

    `direct` runs it without LangChain, which takes fifty times as long: a tool that isn't LangChain's always, one that
    is where nobody listens, and nobody has changed it, or put code around its methods, since it was looked at.
    """

    tool: Any
    wanted: Mapping[str, Injection]
    site: str
    direct: FunctionTool | None = None
    had: Mapping[str, Any] | None = None
    methods: tuple[Any, ...] = ()

    async def run(
        self, call: ToolCall, arguments: Any, filled: Mapping[str, Any], config: Any, *, on_loop: bool
    ) -> Any:
        """What the tool returns: `arguments` are the model's, `filled` the graph's.

        Raises:
            ToolInvocationError: what the model wrote is no JSON object.
        """
        _check_object(call, arguments)
        direct = self._direct(config)
        if direct is None or not (on_loop or direct is self.tool or not direct.is_async):
            request = _request_of(
                call, arguments, filled
            )  # LangChain refuses its own that have to be awaited
            async with tool_run(self.tool, told_of(config), on_loop=on_loop) as told:
                return await self.tool.ainvoke(request, told) if on_loop else self.tool.invoke(request, told)
        if not somebody_listens():
            return await direct.ainvoke(arguments, filled) if on_loop else direct.invoke(arguments, filled)
        with told_of_call(call, arguments) as result:
            output = await direct.ainvoke(arguments, filled) if on_loop else direct.invoke(arguments, filled)
            result["output"] = output
        return output

    @property
    def only_blocks(self) -> bool:
        """Whether nothing in it is awaited: LangChain's asyncio methods would run it in a thread."""
        if isinstance(self.tool, FunctionTool):
            return not self.tool.is_async
        awaited = (getattr(type(self.tool), name, None) for name in ("ainvoke", "arun", "_arun"))
        return getattr(self.tool, "coroutine", None) is None and all(map(_is_langchains, awaited))

    def _direct(self, config: Any) -> FunctionTool | None:
        if self.direct is None or self.direct is self.tool:
            return self.direct
        untouched = vars(self.tool) == self.had and _methods() == self.methods
        return self.direct if untouched and isinstance(config, NodeConfig) else None


_SAID: dict[str, Any] = {"tags": [], "recursion_limit": RECURSION_LIMIT}


def told_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as a tool is given it: with what it has where nobody said anything else."""
    return {**_SAID, **config}


def _request_of(call: ToolCall, arguments: Mapping[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """A call as LangChain's tools take it, so that they answer with a message."""
    return {**call, "args": {**arguments, **filled}, "type": "tool_call"}


def _check_object(call: ToolCall, arguments: Any) -> None:
    if not isinstance(arguments, Mapping):
        from graph_compat.prebuilt.marks import ToolInvocationError

        raise ToolInvocationError(call["name"], ValueError("the arguments are no JSON object"), arguments)


def prepared(tool: Any) -> Prepared:
    """A tool, looked at."""
    if isinstance(tool, FunctionTool):
        return Prepared(tool, tool.injections, _site(tool.func), tool)
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
    wanted = {**injections_of_schema(getattr(tool, "args_schema", None)), **injections_of(function)}
    # LangChain fills the call's id itself.
    theirs = {name: injection for name, injection in wanted.items() if injection.kind != "tool_call_id"}
    if wanted or not _is_plain(tool) or not _is_all(tool.args_schema, function):
        return Prepared(tool, theirs, _site(function))
    direct = _Same(function, tool.args_schema)
    return Prepared(tool, theirs, _site(function), direct, dict(vars(tool)), _methods())


class _Same(FunctionTool):
    """The function of a tool that LangChain made of it with nothing but defaults, run as that runs it."""

    def __init__(self, func: Callable[..., Any], schema: Any) -> None:
        super().__init__(func)
        self._schema = schema

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        checked = self._schema.model_validate(given)
        told = checked.model_fields_set
        return {
            n: getattr(checked, n)
            for n, is_required in self._required.items()
            if n in told or not is_required
        }

    @cached_property
    def _required(self) -> dict[str, bool]:
        """Whether a model of chat has to give each argument; looked up once, as pydantic takes long to say."""
        return {name: field.is_required() for name, field in self._schema.model_fields.items()}


def _is_plain(tool: Any) -> bool:
    """Whether a tool is LangChain's own kind with nothing but a function, and nobody has put code around its calls."""
    from langchain_core.tools import StructuredTool

    if type(tool) is not StructuredTool or not hasattr(tool.args_schema, "model_validate"):
        return False  # its arguments are described by a JSON schema, or by pydantic 1
    kept = ("callbacks", "tags", "metadata", "verbose", "handle_tool_error", "handle_validation_error")
    return (
        not any(getattr(tool, name) for name in kept)
        and tool.response_format == "content"
        and None in (tool.func, tool.coroutine)
        and all(map(_is_langchains, _methods()))
    )


def _methods() -> tuple[Any, ...]:
    """The methods of LangChain's tools that tracers and tests put something around, or in the place of."""
    Base, Own = base.BaseTool, structured.StructuredTool
    return Base.invoke, Base.ainvoke, Base.run, Base.arun, Own.invoke, Own.ainvoke, Own.run, Own.arun


def _is_langchains(method: Any) -> bool:
    module = getattr(method, "__module__", None) or ""
    return module.startswith("langchain_core.tools.") and not hasattr(method, "__wrapped__")


def _is_all(schema: Any, function: Any) -> bool:
    """Whether a tool's arguments are all parameters of its function: nobody else fills any."""
    parameters = inspect.signature(function).parameters
    named = all(parameter.kind not in _VARIADIC for parameter in parameters.values())
    return named and list(getattr(schema, "model_fields", ())) == list(parameters)


def _site(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def json_schema(tool: Any) -> dict[str, Any]:
    """A tool as an item of `tools` in a chat-completion request."""
    if isinstance(tool, FunctionTool):
        return tool.json_schema
    if isinstance(tool, dict):
        return tool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(tool)
