"""What is tried again where a policy doesn't say."""

from graph_compat.types import default_retry_on

__all__ = ["default_retry_on"]
