"""What a graph takes and gives, as pydantic models and as JSON schemas.

Rule: models have the graph's name, but for a pydantic state, which is its own; in JSON a TypedDict has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NotRequired,
    Required,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from typing_extensions import ReadOnly, TypedDict

from graph_compat.graph.schema import has_fields
from graph_compat.langchain import is_installed

if TYPE_CHECKING:
    from pydantic import BaseModel


def model_of(schema: Any, name: str) -> type[BaseModel]:
    """A pydantic model of an input, of this name: a model is its own, of others the input is the `root`."""
    from pydantic import ConfigDict, RootModel, create_model

    if _is_model(schema):
        return cast("type[BaseModel]", schema)
    if has_fields(schema) and not _is_known_to_pydantic(schema):
        return _model_of_fields(schema, name)

    class Root(RootModel[Any]):
        model_config = ConfigDict(arbitrary_types_allowed=True)

    return cast("type[BaseModel]", create_model(name, __base__=Root, root=_typed(schema)))


def _typed(schema: Any) -> Any:
    """A schema without reducers, as pydantic takes it: before Python 3.12 that refuses a `typing.TypedDict`."""
    if not _is_typed_dict(schema):
        return schema if has_fields(schema) else _plain(schema)
    hints = get_type_hints(schema, include_extras=True)
    made = TypedDict(schema.__name__, {key: _told(schema, key, hint) for key, hint in hints.items()})  # type: ignore[misc]
    is_the_authors = schema.__module__.partition(".")[0] != __name__.partition(".")[0]
    made.__doc__ = schema.__doc__ if is_the_authors else None  # the description of the JSON schema
    return made


def _told(schema: Any, key: str, hint: Any) -> Any:
    """The annotation of a key of a TypedDict, with whether it is required."""
    _, said = _unqualified(hint)  # a class whose annotations are text takes every key for a required one
    required = key in schema.__required_keys__ if said is None else said is Required
    return Required[_plain(hint)] if required else NotRequired[_plain(hint)]


def model_of_result(schema: Any, keys: Iterable[str], name: str) -> type[BaseModel]:
    """A pydantic model of what a run comes to: those of these keys that were written, or a single value."""
    if not has_fields(schema):
        return model_of(schema, name)
    hints = get_type_hints(schema, include_extras=True)
    return _model(name, {key: (_plain(hints[key]), None) for key in keys})


def model_of_channels(names: str | Sequence[str], types: Mapping[str, Any], name: str) -> type[BaseModel]:
    """A model of one channel's value, or of a mapping of several, none of which has to be there; a model is its own."""
    from pydantic import RootModel, create_model

    if not isinstance(names, str):
        return _model(name, {key: (types[key], None) for key in names})
    root: Any = RootModel
    return types[names] if _is_model(types[names]) else create_model(name, __base__=root[types[names]])


def _model(name: str, made: Mapping[str, Any]) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    config = ConfigDict(arbitrary_types_allowed=True)
    return cast("type[BaseModel]", create_model(name, __config__=config, **made))


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and hasattr(schema, "model_validate")


def _is_typed_dict(schema: Any) -> bool:
    return hasattr(schema, "__required_keys__")


def _is_known_to_pydantic(schema: Any) -> bool:
    """Whether pydantic makes an instance of a class with fields: of another one it takes instances alone."""
    return _is_typed_dict(schema) or is_dataclass(schema) or hasattr(schema, "_fields")


def _model_of_fields(schema: Any, name: str) -> type[BaseModel]:
    hints = get_type_hints(schema, include_extras=True)
    return _model(name, {key: (_plain(hint), _default(schema, key)) for key, hint in hints.items()})


def _default(schema: Any, key: str) -> Any:
    """The default of a dataclass's field; `...` for what has none, as a class variable."""
    field = {field.name: field for field in fields(schema)}.get(key) if is_dataclass(schema) else None
    if field is not None and field.default_factory is not MISSING:
        return field.default_factory()
    return ... if field is None or field.default is MISSING else field.default


def _plain(hint: Any) -> Any:
    """An annotation that doesn't say what is required; of messages, with the types of messages that there are.

    What else `Annotated` has stays: pydantic reads a `Field` in it, and passes a reducer over.
    """
    hint, _ = _unqualified(hint)
    if get_origin(hint) is not Annotated:
        return hint
    inner, *extras = get_args(hint)
    if any(hasattr(extra, "at_place") for extra in extras) and is_installed():
        from langchain_core.messages import AnyMessage, BaseMessage

        if inner == list[Any]:
            return list[AnyMessage]
        if inner == Sequence[Any]:  # as agents have it
            return Sequence[BaseMessage]
    return Annotated[(_plain(inner), *extras)]


def _unqualified(hint: Any) -> tuple[Any, Any]:
    """An annotation without `Required`, `NotRequired` and `ReadOnly`, and which of the first two it had."""
    said = None
    while True:
        inner, extras = (
            (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
        )
        kind = get_origin(inner)
        if kind not in (Required, NotRequired, ReadOnly):
            return hint, said
        said = said if kind is ReadOnly else kind
        (inner,) = get_args(inner)
        hint = Annotated[(inner, *extras)] if extras else inner


def context_schema(schema: Any) -> dict[str, Any] | None:
    """The JSON schema of a context; None where there is none.

    Raises:
        ValueError: it is neither a pydantic model, a TypedDict nor a dataclass.
    """
    if schema is None:
        return None
    if not (hasattr(schema, "model_validate") or _is_typed_dict(schema) or is_dataclass(schema)):
        raise ValueError(
            f"Invalid context schema type: {schema}. Must be a BaseModel, TypedDict or dataclass."
        )
    if not is_dataclass(schema):
        return json_schema(schema, getattr(schema, "__name__", "Context"))
    from pydantic import TypeAdapter

    return dict(TypeAdapter(schema).json_schema())  # as its author wrote it: nothing of it is a channel


_CONFIG: dict[str, Any] = {
    "tags": list[str],
    "metadata": dict[str, Any],
    "callbacks": Any,
    "run_name": str,
    "max_concurrency": int | None,
    "recursion_limit": int,
    "run_id": UUID | None,
}
"""What a configuration may have beside `configurable`."""


def model_of_config(name: str, context: Any, include: Sequence[str]) -> type[BaseModel]:
    """A pydantic model of a configuration whose `configurable` is the context; of its other keys those in `include`."""
    from pydantic import create_model

    fields: Any = {} if context is None else {"configurable": (context, None)}
    fields |= {key: (kind, None) for key, kind in _CONFIG.items() if key in include}
    return create_model(name, **fields)


def json_schema(schema: Any, name: str) -> dict[str, Any]:
    """The JSON schema of an input or output, titled `name` where it is neither a model nor a TypedDict."""
    from pydantic import TypeAdapter, create_model

    if _is_model(schema):
        found = schema.model_json_schema()
    elif _is_typed_dict(schema):
        found = TypeAdapter(_typed(schema)).json_schema()
    elif has_fields(schema):
        found = _model_of_fields(schema, name).model_json_schema()
    else:
        found = create_model(
            name, __base__=model_of(schema, name), root=(_plain(schema), None)
        ).model_json_schema()
    return dict(found)
