"""What agents that began as a copy of `create_react_agent` import from beside it, under LangGraph's names.

They take LangChain's models and messages alone, and bind them themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from graph_compat.langchain.callable import RunnableCallable
from graph_compat.prebuilt.agent_nodes import check_history, value_of
from graph_compat.prebuilt.chat_models import innermost, is_bound
from graph_compat.prebuilt.prompts import prompt_action

PROMPT_RUNNABLE_NAME = "Prompt"

_get_state_value = value_of
_validate_chat_history = check_history


def _get_prompt_runnable(prompt: Any) -> Runnable[Any, Any]:
    """What makes the model's input of the state.

    Raises:
        ValueError: the prompt is no text, system message, function or runnable.
    """
    if isinstance(prompt, Runnable):
        return prompt
    if callable(prompt):  # fills its other parameters itself, from the configuration that it is given
        return RunnableCallable(prompt, name=PROMPT_RUNNABLE_NAME)
    action = prompt_action(prompt, partial(value_of, key="messages"), as_dict=False)
    return RunnableCallable(action.blocking, name=PROMPT_RUNNABLE_NAME)


def _get_model(model: Any) -> BaseChatModel:
    """The chat model inside a chain, and inside what binds tools to it.

    Raises:
        TypeError: there is none.
    """
    found = innermost(model)
    if not isinstance(found, BaseChatModel):
        raise TypeError(
            f"Expected `model` to be a ChatModel or RunnableBinding (e.g. model.bind_tools(...)), got {type(found)}"
        )
    return found


def _should_bind_tools(model: Any, tools: Sequence[Any], num_builtin: int = 0) -> bool:
    """Whether tools are still to be bound to a model.

    Raises:
        ValueError: others are bound.
    """
    return not is_bound(model, tools, num_builtin)
