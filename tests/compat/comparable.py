"""What of a random program's values both libraries have to agree in.

Rule: configurations count by their ids, errors that are shown as text by their first sentence, and chunks of tasks
that run side by side by what they are, whatever their order.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .trace import Mask, first_sentence, render

IDS = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
QUOTES = dict.fromkeys(map(ord, "\"')"))


def is_settled(state: Any) -> bool:
    """Whether nothing of the superstep that is due has been begun."""
    return not any(task.interrupts or task.error or task.result is not None for task in state.tasks)


def is_alone(state: Any) -> bool:
    """Whether no two tasks are due side by side, in nested graphs either."""
    parts = [task.state for task in state.tasks if hasattr(task.state, "tasks")]
    return len(state.tasks) < 2 and all(map(is_alone, parts))


def replaced(value: Any, **changes: Any) -> Any:
    """A snapshot or one of its tasks, changed: a named tuple in one library, a dataclass in the other."""
    return value._replace(**changes) if hasattr(value, "_replace") else dataclasses.replace(value, **changes)


def grouped(chunks: list[Any], options: dict[str, Any]) -> list[list[str]]:
    """The chunks by graph and mode: in order what comes once in a superstep, and sorted what tasks race for."""
    several, nested = isinstance(options["stream_mode"], list), options.get("subgraphs", False)
    groups: dict[Any, list[str]] = {}
    for chunk in chunks:
        mode = chunk[nested] if several else options["stream_mode"]
        shown = render(clean(chunk), Mask(numbered=False))
        groups.setdefault((chunk[0] if nested else (), mode), []).append(shown)
    once = ("values", "checkpoints")  # but for the values that a question is shown with
    return sorted(
        group if mode in once and not any("__interrupt__" in each for each in group) else sorted(group)
        for (_, mode), group in groups.items()
    )


def clean(value: Any) -> Any:
    """A value with the ids alone in its configurations, and without the libraries' own advice in texts of errors."""
    match value:
        case {"configurable": dict(found)}:
            return {"configurable": {key: found[key] for key in IDS if key in found}}
        case dict():
            return {key: told(each) if key == "error" else clean(each) for key, each in value.items()}
        case _ if type(value).__name__ == "PregelTask":
            return replaced(value, state=clean(value.state), error=told(value.error))
        case _ if type(value).__name__ == "StateSnapshot":
            parts = ("config", "parent_config", "tasks")
            return replaced(value, **{part: clean(getattr(value, part)) for part in parts})
        case list() | tuple() if not hasattr(value, "_fields"):
            return type(value)(map(clean, value))
    return value


def told(error: Any) -> Any:
    """The text of an error, without quotes, which depend on what is in it; a cancelled task has none."""
    if not isinstance(error, str):
        return error
    return None if error.startswith("CancelledError") else first_sentence(error).translate(QUOTES)
