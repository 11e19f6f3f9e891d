"""What of a random program's values both libraries have to agree in.

Rule: configurations count by their ids, errors that are shown as text by their first sentence, and chunks of tasks
that run side by side by what they are, whatever their order.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .trace import Mask, first_sentence, in_order, render

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
        if options.get("version") == "v2":
            place, mode = chunk["ns"], chunk["type"]
        else:
            place, mode = chunk[0] if nested else (), chunk[nested] if several else options["stream_mode"]
        groups.setdefault((place, mode), []).append(render(clean(chunk), Mask(numbered=False)))
    once = ("values", "checkpoints")  # but for the values that a question is shown with
    return sorted(
        group if mode in once and not any("__interrupt__" in each for each in group) else sorted(group)
        for (_, mode), group in groups.items()
    )


def clean(value: Any) -> Any:
    """A value with the ids alone in its configurations, and without the libraries' own advice in texts of errors."""
    match value:
        case {"configurable": dict(found)}:
            return {"configurable": {key: kept for key in IDS if (kept := shown_id(found, key)) is not None}}
        case {"config": {"configurable": _}, "metadata": _, **rest}:
            metadata = of_its_own(value["metadata"], value["config"])
            return {**clean(rest), "config": clean(value["config"]), "metadata": metadata}
        case {"interrupts": _, "result": _, "state": _, **rest} if rest:
            return {
                **clean(rest),
                "result": value["result"],
                "state": clean(value["state"]),
            }  # answered ones are closed
        case dict():
            return {key: told(each) if key == "error" else clean(each) for key, each in value.items()}
        case _ if type(value).__name__ == "PregelTask":
            asked = clean(value.interrupts)
            return replaced(value, state=clean(value.state), error=told(value.error), interrupts=asked)
        case _ if type(value).__name__ == "StateSnapshot":
            parts = ("config", "parent_config", "tasks", "interrupts")
            changed = {part: clean(getattr(value, part)) for part in parts}
            return replaced(value, metadata=of_its_own(value.metadata, value.config), **changed)
        case list() | tuple() if value and all(map(is_question, value)):
            return type(value)(in_order(value))  # which comes first of several branches is chance
        case list() | tuple() if not hasattr(value, "_fields"):
            return type(value)(map(clean, value))
    return value


def is_question(value: Any) -> bool:
    """Whether it is a question, as snapshots or streams show it."""
    return type(value).__name__ == "Interrupt" or (
        isinstance(value, dict) and value.keys() == {"id", "value", "response_schema"}
    )


def shown_id(found: dict[str, Any], key: str) -> Any:
    """What a configuration has under one of `IDS`; a map is of the checkpoint's own namespace and those around it."""
    if key != "checkpoint_map" or key not in found:
        return found.get(key)
    here: str = found.get("checkpoint_ns", "")
    return around(found[key], here) if here else None


def of_its_own(metadata: Any, config: Any) -> Any:
    """The metadata of a checkpoint, with none but its own parents: a replay in a nested graph leaves more."""
    if not isinstance(metadata, dict) or "parents" not in metadata:
        return metadata
    here: str = config["configurable"].get("checkpoint_ns", "")
    parents = (
        {} if not here else {ns: each for ns, each in around(metadata["parents"], here).items() if ns != here}
    )
    return {**metadata, "parents": parents}


def around(checkpoints: dict[str, Any], here: str) -> dict[str, Any]:
    """Of the checkpoints by namespace those in this one and the ones around it."""
    return {ns: each for ns, each in checkpoints.items() if f"{here}|".startswith(f"{ns}|" if ns else "")}


def told(error: Any) -> Any:
    """The text of an error, without quotes, which depend on what is in it; a cancelled task has none."""
    if not isinstance(error, str):
        return error
    return None if error.startswith("CancelledError") else first_sentence(error).translate(QUOTES)
