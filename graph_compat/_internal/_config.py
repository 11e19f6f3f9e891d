"""Configurations put together."""

from graph_compat.utils.config import ensure_config, patch_configurable

__all__ = ["ensure_config", "patch_configurable"]
