"""The prompt of an agent: what is put before its messages, or makes of its state what the model is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graph_compat.graph.action import Action, action_of, immediate
from graph_compat.prebuilt.chat import role_of, system


def prompt_action(prompt: Any, read: Callable[[Any], Any], *, as_dict: bool) -> Action:
    """What makes the model's input of the state.

    Args:
        prompt: None, a text or a system message to put first, or a function (or runnable) of the state.
        read: takes the messages out of the state.
        as_dict: whether a text becomes a dict.

    Raises:
        ValueError: the prompt is of another kind.
    """
    if prompt is None:
        return immediate(prompt, "Prompt", read)
    if isinstance(prompt, str):
        prompt = system(prompt, as_dict=as_dict)
    if role_of(prompt) == "system":
        return immediate(prompt, "Prompt", partial(_after, prompt, read))
    if callable(prompt) or hasattr(prompt, "invoke"):
        return action_of(prompt, "Prompt")
    raise ValueError(f"Got unexpected type for `prompt`: {type(prompt)}")


def _after(first: Any, read: Callable[[Any], Any], state: Any) -> list[Any]:
    return [first, *read(state)]
