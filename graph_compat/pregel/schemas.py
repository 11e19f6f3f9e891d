"""What a program takes and gives, as pydantic models of its channels' types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import BaseModel


def model_of_channels(names: str | Sequence[str], types: Mapping[str, Any], title: str) -> type[BaseModel]:
    """A model of one channel's value, or of a mapping of several, none of which has to be there; a model is its own."""
    from pydantic import ConfigDict, RootModel, create_model

    if isinstance(names, str) and hasattr(types[names], "model_validate"):
        return cast("type[BaseModel]", types[names])
    if isinstance(names, str):
        root: Any = RootModel
        base = root[types[names]]
        return cast("type[BaseModel]", create_model(title, __base__=base))
    fields: dict[str, Any] = {name: (types[name], None) for name in names}
    return create_model(title, __config__=ConfigDict(arbitrary_types_allowed=True), **fields)
