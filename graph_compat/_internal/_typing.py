"""What channels and signatures have where there is nothing."""

from flowfn.values import MISSING
from graph_compat.typing import DeprecatedKwargs

__all__ = ["MISSING", "DeprecatedKwargs"]
