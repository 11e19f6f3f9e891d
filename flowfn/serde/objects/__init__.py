"""Objects of named classes.

Rule: an object is stored as its class's name and its state, and restored by setting that state on an
empty instance. No `__init__`, `__post_init__`, `__new__`, validator or property of its class runs.
What the class has gained since gets its default; what it has lost is an error that names it.

- `kinds`: what a class is; `state`: the attributes of an instance; `bases`: what it holds as one of a class in C.
- `enums`, `records`, `structs`, `namedtuples`, `models`, `registered`: how each kind is packed, and built again.
"""

from flowfn.serde.containers import Builder
from flowfn.serde.format import Kind
from flowfn.serde.objects.enums import build_enum
from flowfn.serde.objects.models import build_model
from flowfn.serde.objects.namedtuples import build_namedtuple
from flowfn.serde.objects.records import build_record
from flowfn.serde.objects.registered import build_object

__all__ = ["BUILDERS"]

BUILDERS: dict[Kind, Builder] = {
    Kind.ENUM: build_enum,
    Kind.DATACLASS: build_record,
    Kind.NAMEDTUPLE: build_namedtuple,
    Kind.PYDANTIC: build_model,
    Kind.OBJECT: build_object,
}
