"""The shapes in which a program and a human who reviews a tool's call talk: what is asked, and what may be answered."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = ["ActionRequest", "HumanInterrupt", "HumanInterruptConfig", "HumanResponse"]


class HumanInterruptConfig(TypedDict):
    """Which answers a question takes."""

    allow_ignore: bool
    allow_respond: bool
    allow_edit: bool
    allow_accept: bool


class ActionRequest(TypedDict):
    """What is to be done, if the human agrees: a name, and its arguments."""

    action: str
    args: dict[str, Any]


class HumanInterrupt(TypedDict):
    """A question: the value that is given to `interrupt()`."""

    action_request: ActionRequest
    config: HumanInterruptConfig
    description: str | None


class HumanResponse(TypedDict):
    """An answer: agreed, ignored, a text, or another request in place of the one that was asked about."""

    type: Literal["accept", "ignore", "response", "edit"]
    args: str | ActionRequest | None
