"""One attempt at a task as bytes, and what a worker makes of them.

Rule: the function and its arguments travel as code (cloudpickle: by reference where they can be imported), and
so only to workers that this process chose. What comes back is data, in the serializer's bytes, and is read
as carefully as any record. A worker of another Python or another flowfn refuses before it loads anything.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import iscoroutine
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.context import shipped
from flowfn.errors import RECORDED_AS, SerializationError, UnshippableError
from flowfn.executors.script import script_sent_along
from flowfn.python.script import MAIN
from flowfn.serde import DEFAULT, Serde
from flowfn.serde.exceptions import made_of
from flowfn.serde.names import receiver
from flowfn.serde.objects.kinds import solid_base
from flowfn.serde.objects.state import set_state, state_of

if TYPE_CHECKING:
    from flowfn.ports import Serializer
    from flowfn.runtime import Runtime

_VALUE, _ERROR = b"\x00", b"\x01"
_FORMAT = (2, *sys.version_info[:2])


def pack(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    runtime: Runtime[Any],
    serde: Serializer,
) -> bytes:
    """An attempt as bytes; `runtime` is what the code there sees as `current()`.

    Raises:
        UnshippableError: the function, what it closes over, or an argument can't travel.
    """
    own = None if type(serde) is Serde else serde
    read_by = (serde if isinstance(serde, Serde) else DEFAULT).receiver
    try:
        what = _address(function) or function
        code = _pickled((what, tuple(args), dict(kwargs), portable(runtime), own, read_by))
    except Exception as error:
        raise UnshippableError(
            f"{runtime.name}() can't be sent to a worker: {error}. What it closes over, its arguments and the globals "
            "that it names have to be picklable; make connections and locks inside the task, or run it on threads"
        ) from error
    return pickle.dumps((_FORMAT, code))


def _pickled(value: Any) -> bytes:
    held = BytesIO()
    with script_sent_along():
        _pickler()(held).dump(value)
    return held.getvalue()


@lru_cache(1)
def _pickler() -> Any:
    """cloudpickle's, but that an error is made as one that is restored is.

    pickle calls its class with `args`, which are those of `Exception.__init__`: a class with one of its own seldom
    takes them.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, BaseException) and _is_made_by_its_own(type(obj)):
                state = {name: item for name, item in state_of(obj).items() if name != RECORDED_AS}
                return _error, (type(obj), obj.args, state)
            return super().reducer_override(obj)

    return Pickler


def _is_made_by_its_own(cls: Any) -> bool:
    """Whether a class of errors has an `__init__` written in Python, and no word of its own for pickle."""
    own = cls.__init__ is not solid_base(cls).__init__  # type: ignore[misc]
    return own and cls.__reduce__ is BaseException.__reduce__ and cls.__reduce_ex__ is object.__reduce_ex__


def _error(cls: type, args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    error = made_of(cls, args)
    set_state(error, state)
    return error


def perform(payload: bytes) -> bytes:
    """Make an attempt, on a worker: the bytes of its value, or of its error."""
    there, code = pickle.loads(payload)
    if there != _FORMAT:
        here = ".".join(map(str, _FORMAT[1:]))
        error = UnshippableError(
            f"the worker has Python {here}, and the run {'.'.join(map(str, there[1:]))}, or their flowfn differ: "
            "install the same on both"
        )
        return _ERROR + DEFAULT.dumps(error)
    try:
        function, args, kwargs, runtime, own, read_by = pickle.loads(code)
        if isinstance(function, _Address):
            function = function.found()
    except Exception as error:
        refusal = UnshippableError(
            f"the worker can't load the task and its arguments: {error!r}. Install their modules there, or have them "
            "sent along with cloudpickle.register_pickle_by_value(module)"
        )
        return _ERROR + DEFAULT.dumps(refusal)
    serde = DEFAULT if own is None else own
    token, known = shipped.set(runtime), receiver.set(read_by)
    try:
        value = function(*args, **kwargs)
        if iscoroutine(value):
            import asyncio

            value = asyncio.run(value)
        return _packed(serde, value, runtime)
    except SerializationError as error:
        return _ERROR + bytes(DEFAULT.dumps(error))
    except BaseException as error:  # a SystemExit is the attempt's, as on a thread, and not the worker's
        return _ERROR + bytes(serde.dumps(error))
    finally:
        receiver.reset(known)
        shipped.reset(token)


def _packed(serde: Serializer, value: Any, runtime: Any) -> bytes:
    """The bytes of a value, or of an error that says whose it is that can't be stored."""
    try:
        return _VALUE + bytes(serde.dumps(value))
    except SerializationError as error:
        told = SerializationError(f"the result of task {runtime.name!r}: {error}", error.path)
        return _ERROR + bytes(DEFAULT.dumps(told))


def unpack(data: bytes, serde: Serializer) -> Any:
    """The value of `perform`'s bytes.

    Raises:
        BaseException: the attempt's error.
        CorruptDataError, UntrustedTypeError: the value can't be restored.
    """
    value = serde.loads(data[1:])
    if data[:1] == _ERROR:
        raise value
    return value


class _Address(NamedTuple):
    """Where the task is found whose function is meant: a name leads to the task, and not to its function."""

    module: str
    qualname: str

    def found(self) -> Callable[..., Any]:
        import_module(self.module)
        function: Callable[..., Any] = _at(self)._self_definition.function
        return function


def _address(function: Callable[..., Any]) -> _Address | None:
    """The address of a task's function; None where no name leads to it, or its module is to travel along."""
    import cloudpickle

    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not qualname or module in MAIN:
        return None
    along = cloudpickle.list_registry_pickle_by_value()
    if any(module == name or module.startswith(f"{name}.") for name in along):
        return None
    address = _Address(module, qualname)
    definition = getattr(_at(address), "_self_definition", None)
    return address if getattr(definition, "function", None) is function else None


def _at(address: _Address) -> Any:
    found: Any = sys.modules.get(address.module)
    for name in address.qualname.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found.__func__ if isinstance(found, staticmethod | classmethod) else found


def portable(runtime: Runtime[Any]) -> Runtime[Any]:
    """What of a runtime is data; streams, stores and the run itself are where the run is."""
    from flowfn.runtime import Runtime

    return Runtime(
        name=runtime.name,
        idempotency_key=runtime.idempotency_key,
        execution_info=runtime.execution_info,
        stream_writer=_no_stream,
    )


def _no_stream(data: Any) -> None:
    raise RuntimeError(
        "a task on a worker has no stream to write to: return the data, or run the task on threads"
    )
