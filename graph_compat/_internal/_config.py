"""Configurations put together."""

from graph_compat.utils.config import ensure_config, merge_configs, patch_configurable

__all__ = ["ensure_config", "merge_configs", "patch_configurable"]
