"""Configurations put together: what older programs import from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowfn.context import current_frame
from graph_compat.config import get_config, get_store
from graph_compat.graph.configs import DEFAULT_RECURSION_LIMIT, config_inside, merged_config, with_own_keys

__all__ = ["ensure_config", "get_config", "get_store", "merge_configs", "patch_configurable"]


def ensure_config(*configs: Mapping[str, Any] | None) -> dict[str, Any]:
    """One configuration of several, the last first, over that of the running node and the defaults.

    Keys that aren't a configuration's own go into its `configurable`.
    """
    found: dict[str, Any] = {
        "tags": [],
        "metadata": {},
        "callbacks": None,
        "recursion_limit": DEFAULT_RECURSION_LIMIT,
        "configurable": {},
    }
    given = merge_configs(*map(with_own_keys, configs))
    if current_frame.get() is None:
        return merged_config(found, given)
    return config_inside(merged_config(found, with_own_keys(get_config())), given)


def merge_configs(*configs: Mapping[str, Any] | None) -> dict[str, Any]:
    """One configuration of several, the last first."""
    found: dict[str, Any] = {}
    for config in configs:
        found = merged_config(found, config)
    return {"configurable": {}, **found}


def patch_configurable(config: Mapping[str, Any] | None, patch: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with other values under `configurable`."""
    given = dict(config or {})
    return {**given, "configurable": {**given.get("configurable", {}), **patch}}
