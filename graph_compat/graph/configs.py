"""Configurations as LangChain's programs write them: keys of their own, and several that are merged.

Rule: what was said nearest to a call wins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowfn.config import GIVEN_THREAD, RECURSION_LIMIT, Elsewhere
from graph_compat.constants import CONFIG_KEY_SEND
from graph_compat.langchain import INTEGRATION, config_around

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.context import Frame

KEYS = frozenset(
    [
        "tags",
        "metadata",
        "callbacks",
        "recursion_limit",
        "max_concurrency",
        "configurable",
        "run_name",
        "run_id",
    ]
)
"""The keys of a configuration."""

DEFAULT_RECURSION_LIMIT = int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT") or RECURSION_LIMIT)
"""Supersteps that a call may take which says nothing else, and isn't a part of a run that does."""

_COORDINATES = frozenset(["thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"])
"""The keys of its `configurable` that say where a call belongs."""

_OF_A_NODE = ("langgraph_", "checkpoint_ns", "checkpoint_id", "thread_id")
"""What keys of metadata begin with that say in which node running code is, and nothing of what it calls."""


def with_own_keys(config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A configuration whose other keys were moved into its `configurable`."""
    if config is None or config.keys() <= KEYS:
        return config
    own = {key: value for key, value in config.items() if key in KEYS}
    others = {key: value for key, value in config.items() if key not in KEYS}
    return {**own, "configurable": {**others, **(own.get("configurable") or {})}}


def merged_config(base: Mapping[str, Any] | None, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Two configurations as one: mappings merge, tags and callbacks add up, and what was given last wins."""
    merged: dict[str, Any] = dict(base or {})
    for key, value in (given or {}).items():
        if value is None:
            continue
        old = merged.get(key)
        if key in ("configurable", "metadata") and old:
            merged[key] = {**old, **value}
        elif key == "tags" and old:
            merged[key] = [*old, *value]
        elif key == "callbacks" and old:
            merged[key] = _of_both(old, value)
        else:
            merged[key] = value
    return merged


def config_inside(around: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What code inside a run, or a runnable, is configured by: a tag that is around it isn't repeated there."""
    told, tags = around.get("tags") or (), given.get("tags") or ()
    return merged_config(
        around, {**given, "tags": [tag for tag in tags if tag not in told]} if tags else given
    )


def full_config(
    bound: Mapping[str, Any] | None, given: Mapping[str, Any] | None, thread_id: str | None
) -> dict[str, Any]:
    """A call's configuration: what it was given, over what its graph is bound to, over that of the code around it.

    A call that says where it belongs, by a thread or a checkpoint, has nothing of the `configurable` around it.
    """
    found = merged_config(with_own_keys(bound), _left_by_node(with_own_keys(given)))
    if around := _left_by_node(config_around()):
        configurable = found.get("configurable") or {}
        if thread_id is not None or not _COORDINATES.isdisjoint(configurable):
            around = {**around, "configurable": {}}
        found = config_inside(around, found)
    return found


def shown_config(bound: Mapping[str, Any] | None, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a call was given, over what its graph is bound to; a thread's id is the text that it is kept under."""
    merged = merged_config(bound, given)
    configurable = dict(merged.get("configurable") or {})
    if "thread_id" in configurable:
        configurable["thread_id"] = str(configurable["thread_id"])
    return {**merged, "configurable": configurable}


def is_handed_on(config: Mapping[str, Any] | None) -> bool:
    """Whether a configuration is that of running code: with its place in a run, what is called is a part of that."""
    return config is not None and CONFIG_KEY_SEND in (config.get("configurable") or ())


def of_a_part(frame: Frame, config: RunConfig) -> RunConfig:
    """The configuration of a call that was handed that of the code in whose run it is made, changed or not.

    The call is a part of the run, on its thread: another thread that it names is what its code is shown, and, with a
    namespace that it names, where it remembers.
    """
    if not config.checkpoint_ns:
        return config
    given, shown = config.configurable.get(GIVEN_THREAD, config.thread_id), _shown_thread(frame)
    said = {} if given is None or str(given) == str(shown) else {GIVEN_THREAD: given}
    return replace(
        config,
        thread_id=frame.run.thread or frame.run.config.thread_id,
        checkpoint_map={} if named_place(config.checkpoint_ns) else config.checkpoint_map,
        configurable={**config.configurable, **said},
    )


def of_its_own(config: RunConfig) -> RunConfig:
    """The configuration of a call inside a run that wasn't handed the one around: a namespace in it names nothing,
    unless it is that of a checkpoint."""
    if not config.checkpoint_ns or "" in config.checkpoint_map:
        return config
    return replace(config, checkpoint_ns="")


_OF_A_TASK = re.compile(r":[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def named_place(namespace: str) -> str:
    """The namespace that a caller names; empty where it is only that of the running code, which is a task's."""
    return "" if _OF_A_TASK.search(namespace) else namespace


def elsewhere_of(frame: Frame, config: RunConfig, named: str) -> Elsewhere | None:
    """Where a part of a run remembers that has this configuration, if its callers name a place for it."""
    given = config.configurable.get(GIVEN_THREAD)
    thread = "" if given is None or str(given) == frame.run.thread else str(given)
    return Elsewhere(thread, named) if thread or named else None


def _shown_thread(frame: Frame) -> Any:
    """The thread's id as the code of a frame sees it."""
    run = frame.run
    return run.config.configurable.get(GIVEN_THREAD, run.thread or run.config.thread_id)


def _left_by_node(config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A configuration whose metadata say nothing of the node that it is of."""
    metadata = (config or {}).get("metadata") or {}
    if config is None or "langgraph_node" not in metadata:
        return config
    of_caller = {
        key: value
        for key, value in metadata.items()
        if not key.startswith(_OF_A_NODE) and (key, value) != INTEGRATION
    }
    return {**config, "metadata": of_caller}


def config_within(frame: Frame) -> RunConfig:
    """The configuration of a graph that is a node: that of the run around, marked as the node is."""
    config, node = frame.run.config, frame.call.node
    assert node is not None
    if not (node.tags or node.metadata or config.run_id or config.checkpoint_id or config.checkpoint_map):
        return config
    return replace(
        config,
        tags=(*config.tags, *(tag for tag in node.tags if tag not in config.tags)),
        metadata={**config.metadata, **(node.metadata or {})},
        run_id=None,
        checkpoint_id=None,
        checkpoint_map={},
    )


def _of_both(old: Any, given: Any) -> Any:
    """The handlers, or their managers, of two configurations."""
    if isinstance(old, list) and isinstance(given, list):
        return [*old, *given]
    from langchain_core.runnables.config import merge_configs

    return merge_configs({"callbacks": old}, {"callbacks": given})["callbacks"]
