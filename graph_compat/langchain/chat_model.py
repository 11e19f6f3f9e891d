"""A chat model asked where nobody listens: LangChain's code answers, with its cache, rate limit and ids of messages.

Rule: what is left out is what callbacks would be told of the call, which costs several times as much as asking a model
that answers at once. A model that is asked in a way of its own, or that somebody has put code around, is left to
LangChain, and so is whatever it would convert first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from inspect import signature
from types import FunctionType
from typing import TYPE_CHECKING, Any

from graph_compat.langchain import is_loaded
from graph_compat.langchain.node_config import NodeConfig

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_ASKED = ("invoke", "generate_prompt", "generate", "_generate_with_cache")
_AWAITED = ("ainvoke", "agenerate_prompt", "agenerate", "_agenerate_with_cache")
"""The methods that a call of a chat model goes through before its own code."""

_FOR_TRACES = ("ls_structured_output_format", "structured_output_format")
"""Options that only callbacks are told of."""


async def answer(model: Any, messages: Any, config: Any, *, on_loop: bool) -> Any:
    """What a model answers; `config` is that of the node that asks."""
    if (chat := _unheard(model, messages, config, _AWAITED if on_loop else _ASKED)) is None:
        handed = None if config is None else {**config}
        return await model.ainvoke(messages, handed) if on_loop else model.invoke(messages, handed)
    _signed(chat._agenerate if on_loop else chat._generate)
    generate: Any = chat._agenerate_with_cache if on_loop else chat._generate_with_cache
    options = {} if chat is model else _options(model)
    result = generate(list(messages), run_manager=_managers()[on_loop](chat, config), **options)
    return (await result if on_loop else result).generations[0].message


def _signed(method: Any) -> None:
    """Keep with a model's method what its signature is: LangChain works it out on every call, in more time than it has
    for the rest. `inspect` looks for it there, and gives what it would have found."""
    function = getattr(method, "__func__", None)
    if type(function) is FunctionType and "__signature__" not in function.__dict__:
        with suppress(Exception):
            function.__signature__ = signature(function)  # type: ignore[attr-defined]


def _unheard(model: Any, messages: Any, config: Any, methods: tuple[str, ...]) -> BaseChatModel | None:
    """The chat model that answers for a model, where nobody would be told of it; None where LangChain is to ask."""
    if type(config) is not NodeConfig or not is_loaded() or not _are_plain(messages):
        return None
    base, binding = _bases()
    if isinstance(model, binding):
        if model.config or model.config_factories or not _is_plain(model, binding, methods[:1]):
            return None
        model = model.bound
    if not _is_plain(model, base, methods) or model.callbacks or model.verbose:
        return None
    return model  # type: ignore[no-any-return]


@cache
def _bases() -> tuple[Any, Any]:
    """LangChain's class of chat models, and that of models that something is bound to."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableBinding

    return BaseChatModel, RunnableBinding


def _is_plain(model: Any, base: type, methods: tuple[str, ...]) -> bool:
    """Whether a model has these methods from the base, without code around them: looked up anew, tracers come late."""
    kind = type(model)
    if not issubclass(kind, base):  # a mock only says that it is one
        return False
    for name in methods:
        method = getattr(kind, name)
        if method is not getattr(base, name) or method.__module__ != base.__module__:
            return False
        if hasattr(method, "__wrapped__"):
            return False
    return True


def _are_plain(messages: Any) -> bool:
    """Whether messages reach a model as they are: in a list, each with a text."""
    if type(messages) is not list or not all(map(_is_message, map(type, messages))):
        return False
    return {type(message.content) for message in messages} <= {str}


@lru_cache
def _is_message(kind: type) -> bool:
    """Whether a class is one of LangChain's messages; asked of all messages in every round."""
    from langchain_core.messages import BaseMessage

    return issubclass(kind, BaseMessage)


def _options(model: Any) -> dict[str, Any]:
    """What is bound to a model."""
    return {name: value for name, value in model.kwargs.items() if name not in _FOR_TRACES}


@cache
def _managers() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What a blocking and an asyncio model tell of a call, made of the model and the configuration; nobody hears it."""
    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun

    return _late(CallbackManagerForLLMRun), _late(AsyncCallbackManagerForLLMRun)


def _late(kind: Any) -> Callable[..., Any]:
    """A kind of run manager that works out its place in the trace when a model first looks at it."""
    from langchain_core.callbacks import CallbackManager
    from langchain_core.runnables import ensure_config
    from langchain_core.utils.uuid import uuid7

    class Late(kind):  # type: ignore[misc]
        def __init__(self, model: Any, config: NodeConfig) -> None:
            self.run_id = uuid7()
            self.handlers: list[Any] = []
            self._asked = (model, config)

        def __getattr__(self, name: str) -> Any:
            if "_asked" not in self.__dict__:
                return self.__getattribute__(name)  # which isn't there, and says so
            model, config = self.__dict__.pop("_asked")
            handed: Any = {**config}  # a dict like any other
            full = ensure_config(handed)
            above = CallbackManager.configure(
                inheritable_callbacks=full["callbacks"],
                inheritable_tags=full["tags"],
                local_tags=model.tags,
                inheritable_metadata=full["metadata"],
                local_metadata=model.metadata,
            )
            super().__init__(
                run_id=self.run_id,
                handlers=[],
                inheritable_handlers=[],
                parent_run_id=above.parent_run_id,
                tags=above.tags,
                inheritable_tags=above.inheritable_tags,
                metadata=above.metadata,
                inheritable_metadata=above.inheritable_metadata,
            )
            return getattr(self, name)

    Late.__name__ = Late.__qualname__ = kind.__name__
    return Late
