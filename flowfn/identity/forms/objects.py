"""The forms of objects of named classes: enums, paths, records, models, and all that defines equality.

Rule: an object has the form of what a faithful serializer restores from it: its class's name and its state. What a
class computes, or keeps for itself, is no part of it.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from flowfn.identity.forms.attributes import attributes_of, own_state
from flowfn.identity.forms.containers import CONTAINERS, mapping_form
from flowfn.identity.forms.leaves import LEAVES
from flowfn.identity.forms.notation import Field, Form, tagged
from flowfn.identity.names import qualified_name
from flowfn.python.plain import PLAIN
from flowfn.python.slots import slots_of
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = [
    "enum_form",
    "estimator_form",
    "form_of_record",
    "future_form",
    "is_estimator",
    "path_form",
    "reduced_form",
    "subclass_form",
    "with_additions",
]


def enum_form(walk: Walk, value: Any) -> Any:
    """A member of an enumeration, by its name."""
    return tagged("enum", walk.enum(type(value)), value.name or str(value.value), *walk.beside(value))


def path_form(walk: Walk, value: PurePath) -> Any:
    """A path, with the same separators on every platform."""
    return tagged("path", walk.walk(value.as_posix(), Field("")))


def subclass_form(base: type) -> Form:
    """The plain value that it holds, its class, and what the instance carries besides."""
    plain = LEAVES.get(base) or CONTAINERS[base]
    convert = PLAIN[base]

    def form(walk: Walk, value: Any) -> Any:
        form = plain(walk, convert(value))
        more = attributes_of(value)
        carried = [mapping_form(walk, more)] if more else []
        return tagged("subclass", qualified_name(type(value)), form, *carried)

    return form


def with_additions(cls: type, base: type, form: Form) -> Form:
    """The form of a base for the instances of a class that extends it; what they carry besides is counted too."""
    known = _slots_at_home(cls, base)
    if not cls.__dictoffset__ and known.issuperset(name for name, _ in slots_of(cls)):
        return form

    def of_class(walk: Walk, value: Any) -> Any:
        made = form(walk, value)
        more = {name: item for name, item in attributes_of(value).items() if name not in known}
        return tagged("subclass", qualified_name(cls), made, mapping_form(walk, more)) if more else made

    return of_class


def _slots_at_home(cls: type, base: type) -> set[str]:
    """The slots that a base, and those above and below it in its own library, declare: what it keeps for itself."""
    return {name for each in cls.__mro__ if _home(each) == _home(base) for name, _ in slots_of(each)}


def _home(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def future_form(walk: Walk, value: Any) -> Any:
    """What a task is to come to, by its call; another future has nothing that tells it."""
    call = getattr(value, "call", None)
    return tagged("future", call) if type(call) is str and call else walk.by_type(value)


def estimator_form(walk: Walk, value: Any) -> Any:
    """An estimator of scikit-learn's kind, by its parameters: what it was fitted to it keeps for itself."""
    walk.weak = name = qualified_name(type(value))
    return tagged("object", name, mapping_form(walk, value.get_params(deep=False)))


def is_estimator(cls: type) -> bool:
    """Whether a class has scikit-learn's protocol of parameters, as those of many libraries do."""
    return all(callable(getattr(cls, name, None)) for name in ("get_params", "set_params", "fit"))


def reduced_form(walk: Walk, value: Any) -> Any:
    """Objects that define equality, by what `pickle` would keep of them.

    Where a library says that for its own class, it knows nothing of what one that extends it elsewhere has added.
    """
    teller = _teller(type(value))
    if teller is None or _home(teller) == _home(type(value)):
        return _reduced(walk, value)
    return with_additions(type(value), teller, _reduced)(walk, value)


def _teller(cls: type) -> type | None:
    """The class that says what pickle keeps of its instances, without a state; None where Python does."""
    first = next(each for each in cls.__mro__ if not _TELLS.isdisjoint(vars(each)))
    return None if first is object else first


_TELLS = {"__reduce__", "__reduce_ex__"}


def _reduced(walk: Walk, value: Any) -> Any:
    cls = type(value)
    reduce = copyreg.dispatch_table.get(cls)
    reduced: Any = reduce(value) if reduce is not None else value.__reduce_ex__(2)
    if isinstance(reduced, str):
        return tagged("name", reduced)
    make, arguments, *state = reduced
    if state:
        state[0] = own_state(cls, state[0])
    parts = (make, arguments, *(list(each) if hasattr(each, "__next__") else each for each in state))
    return tagged("reduced", qualified_name(cls), *(walk.walk(part, Field("")) for part in parts))


def form_of_record(cls: type) -> Form | None:
    """Classes that declare their fields: dataclasses, pydantic, attrs, msgspec, named tuples."""
    for mark in ("__pydantic_fields__", "model_fields"):
        if hasattr(cls, mark):
            return _model(hidden={"id"} if _is_message(cls) else set())
    for mark in ("__dataclass_fields__", "__attrs_attrs__", "__struct_fields__"):
        declared = getattr(cls, mark, None)
        if declared is not None:
            holds_more = issubclass(cls, tuple(PLAIN))  # than its fields: it is a list or a text as well
            return None if holds_more else _record([getattr(each, "name", each) for each in declared])
    fields = getattr(cls, "_fields", None)
    return _record(fields) if issubclass(cls, tuple) and fields is not None else None


def _is_message(cls: type) -> bool:
    base = getattr(sys.modules.get("langchain_core.messages.base"), "BaseMessage", None)
    return base is not None and issubclass(cls, base)


def _record(names: Iterable[str]) -> Form:
    steps = {name: Field(f".{name}") for name in names}

    def form(walk: Walk, value: Any) -> Any:
        walk.size += len(steps)
        found = ((name, getattr(value, name, MISSING), step) for name, step in steps.items())
        fields = {name: walk.walk(item, step) for name, item, step in found if item is not MISSING}
        more = attributes_of(value)
        if more.keys() - steps.keys():  # what its `__post_init__` or anybody else has put there
            others = sorted(more.keys() - steps.keys())
            fields.update((name, walk.walk(more[name], Field(f".{name}"))) for name in others)
        return tagged("record", qualified_name(type(value)), fields)

    return form


def _model(hidden: set[str]) -> Form:
    """A pydantic model: its fields, the extra ones that its configuration may allow, and its private attributes."""

    def form(walk: Walk, value: Any) -> Any:
        fields = dict(attributes_of(value))  # in slots too, as a dataclass of pydantic's may have them
        for more in ("__pydantic_extra__", "__pydantic_private__"):
            fields.update(fields.pop(more, None) or {})
        fields.pop("__pydantic_fields_set__", None)
        shown = {key: walk.walk(item, Field(f".{key}")) for key, item in fields.items() if key not in hidden}
        walk.size += len(shown)
        return tagged("record", qualified_name(type(value)), shown)

    return form
