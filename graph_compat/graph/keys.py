"""The keys of a graph's state, as all of its schemas declare them together.

Rule: the first declaration of a key counts. A later one may say less, or the same, but nothing else.
"""

from __future__ import annotations

import warnings
from typing import Any

from graph_compat.channels import LastValue
from graph_compat.graph.schema import AnyChannel, Schema, has_fields, read_schema
from graph_compat.managed import ManagedValue


class Keys:
    """What schemas declare: `channels` and `managed` values by key, and `schemas`, which has both by schema."""

    def __init__(self) -> None:
        self.channels: dict[str, AnyChannel] = {}
        self.managed: dict[str, type[ManagedValue[Any]]] = {}
        self.schemas: dict[Any, dict[str, Any]] = {}
        self._read: list[tuple[Any, Schema]] = []

    def of(self, schema: Any) -> Schema:
        """What an equal schema was read as, or this one, which is added then."""
        for known, read in self._read:
            if known is schema or known == schema:
                return read
        return self.add(schema)

    def add(self, schema: Any, *, managed: bool = True) -> Schema:
        """Read a schema, unless this very one has been read; without `managed` it may have no managed values.

        Raises:
            ValueError: it has some, it contradicts another schema, or a reducer doesn't take two arguments.
        """
        for known, read in self._read:
            if known is schema:
                return read
        if not isinstance(schema, type) and not has_fields(schema) and not hasattr(schema, "__origin__"):
            warnings.warn(
                f"Invalid state_schema: {schema}. Expected a type or Annotated[type, reducer].",
                UserWarning,
                stacklevel=4,
            )
        read = read_schema(schema)
        if read.managed and not managed:
            names = ", ".join(read.managed)
            where = getattr(schema, "__name__", str(schema))
            raise ValueError(
                f"Invalid managed channels detected in {where}: {names}."
                " Managed channels are not permitted in Input/Output schema."
            )
        self._declare(read)
        self._read.append((schema, read))
        self.schemas[schema] = {**read.channels, **read.managed}
        return read

    def _declare(self, read: Schema) -> None:
        for key, channel in read.channels.items():
            known = self.channels.setdefault(key, channel)
            if known is not channel and known != channel and type(channel) is not LastValue:
                raise ValueError(f"Channel '{key}' already exists with a different type")
        for key, kind in read.managed.items():
            if self.managed.setdefault(key, kind) is not kind:
                raise ValueError(f"Managed value '{key}' already exists with a different type")
