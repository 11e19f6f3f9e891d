"""What functions and classes say of types, as far as that can be read.

Rule: a name that isn't there, such as one that only type checkers import, is the text that stands for it, and what has
something else in the place of annotations, as a mock has, says nothing. Since Python 3.14 annotations are evaluated
when somebody asks for them, and asking as one did before fails for all of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["ANNOTATE", "annotations_of", "signature_of"]

ANNOTATE = "__annotate__"
"""The name of the functions that evaluate them, which Python makes."""

if sys.version_info >= (3, 14):
    from annotationlib import Format, ForwardRef, get_annotations

    def _own(annotated: Any) -> dict[str, Any]:
        found = get_annotations(annotated, format=Format.FORWARDREF)
        return {
            name: each.__forward_arg__ if isinstance(each, ForwardRef) else each
            for name, each in found.items()
        }

    signature_of: Callable[..., inspect.Signature] = partial(
        inspect.signature, annotation_format=Format.FORWARDREF
    )
    """`inspect.signature`."""
else:
    _own = inspect.get_annotations
    signature_of: Callable[..., inspect.Signature] = inspect.signature
    """`inspect.signature`."""


def annotations_of(annotated: Any) -> dict[str, Any]:
    """Those of a function, or a class's own, by name."""
    try:
        return _own(annotated)
    except (TypeError, ValueError):
        return {}
