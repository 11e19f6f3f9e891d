"""An answer asked for in the terminal, as the form that the question's type makes: the JSON schema of its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.prompt import Confirm, FloatPrompt, IntPrompt, Prompt, PromptBase

from flowfn.cli import typed
from flowfn.cli.terminal import output, printable

Schema = Mapping[str, Any]

_ASKED_BY: dict[Any, type[PromptBase[Any]]] = {"integer": IntPrompt, "number": FloatPrompt, "string": Prompt}


def filled(schema: Schema | None, label: str) -> Any:
    """What the human answers, field by field; Enter takes a default where there is one."""
    return _field(schema or {}, label, schema or {})


def _field(schema: Schema, label: str, root: Schema) -> Any:
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    if choices is not None:
        return _choice(choices, label, schema)
    variants = schema.get("anyOf") or schema.get("oneOf")
    if variants:
        return _variant(variants, label, root)
    kind = schema.get("type")
    if kind == "object" and schema.get("properties"):
        return _object(schema, label, root)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return _items(schema["items"], label, root)
    if kind == "null":
        return None
    return _plain(kind, label, schema)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """A schema itself, where it is the name of one."""
    while isinstance(name := schema.get("$ref"), str):
        found: Any = root
        for part in name.removeprefix("#/").split("/"):
            found = found[part]
        schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _plain(kind: Any, label: str, schema: Schema) -> Any:
    default = {"default": schema["default"]} if "default" in schema else {}
    if kind == "boolean":
        return Confirm.ask(_label(label), console=output(), **default)
    if kind in _ASKED_BY:
        return _ASKED_BY[kind].ask(_label(label), console=output(), **default)
    return typed.value(Prompt.ask(_label(f"{label} (JSON, or text)"), console=output()))


def _choice(choices: list[Any], label: str, schema: Schema) -> Any:
    """One of several values, by how they are written."""
    written = {_written(value): value for value in choices}
    default: Any = next((word for word, value in written.items() if value == schema.get("default")), ...)
    return written[Prompt.ask(_label(label), console=output(), choices=list(written), default=default)]


def _variant(variants: list[Schema], label: str, root: Schema) -> Any:
    """One of several types: nothing where that is allowed and the human wants it, else which one."""
    kinds = [_resolved(each, root) for each in variants]
    some = [each for each in kinds if each.get("type") != "null"]
    if len(some) < len(kinds) and not Confirm.ask(_label(f"{label}: is there one?"), console=output()):
        return None
    names = [_named(each) or str(place) for place, each in enumerate(some, 1)]
    if len(set(names)) < len(names):
        names = [str(place) for place in range(1, len(some) + 1)]
    chosen = (
        names[0] if len(some) == 1 else Prompt.ask(_label(f"{label}: which"), console=output(), choices=names)
    )
    return _field(some[names.index(chosen)], label, root)


def _named(schema: Schema) -> str:
    """What one of several types is called: a single value as it is written, else its title or kind."""
    if "const" in schema:
        return _written(schema["const"])
    return str(schema.get("title") or schema.get("type") or "")


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _object(schema: Schema, label: str, root: Schema) -> dict[str, Any]:
    """Each field in turn; one that may be left out is asked for first."""
    found = {}
    output().print(_label(label))
    required = schema.get("required", ())
    for name, each in schema["properties"].items():
        if (
            name in required
            or "default" in _resolved(each, root)
            or Confirm.ask(_label(f"  {name}: is there one?"), console=output(), default=False)
        ):
            found[name] = _field(each, f"  {_title(name, each)}", root)
    return found


def _title(name: str, schema: Schema) -> str:
    about = schema.get("description")
    return f"{name} ({about})" if about else name


def _items(schema: Schema, label: str, root: Schema) -> list[Any]:
    found: list[Any] = []
    while Confirm.ask(
        _label(f"{label}: {'another' if found else 'is there one'}?"), console=output(), default=False
    ):
        found.append(_field(schema, f"{label} {len(found) + 1}", root))
    return found


def _label(text: str) -> str:
    """A label for rich's prompts, which read markup."""
    from rich.markup import escape

    return escape(printable(text))
