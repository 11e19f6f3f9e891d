"""What is known of a decorated function before it is called.

Rule: whatever a call would find out by looking at the function is found out once, here; what its code is, once more
in each run, as that may change in the middle of a process.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Literal

from flowfn.doubt import Done, InDoubt, NotDone
from flowfn.identity.code.functions import is_local
from flowfn.identity.made_with.captured import (
    captured,
    class_made_with,
    kept_attributes,
)
from flowfn.identity.made_with.together import Maker, Namesake, told_by
from flowfn.identity.names import qualified_name
from flowfn.options import check_option
from flowfn.parameters import INJECTED, Parameters
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy
from flowfn.python.annotations import annotations_of, signature_of
from flowfn.python.cached_property import cached_property, renewed_property
from flowfn.python.parametrised import evaluated, note

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.identity.code.dependencies import Dependencies
    from flowfn.identity.grown import Defaults

OnCodeChange = Literal["reuse", "rerun", "error"]
OnDivergence = Literal["doubt", "rerun", "reuse", "error"]
Settled = Literal["rerun", "ask"]
InDoubtPolicy = Settled | Callable[[InDoubt], Done | NotDone | Awaitable[Done | NotDone]]


def always(config: RunConfig, recorded: bool) -> bool:
    """Whatever a run is."""
    return True


class Left(Enum):
    """What a parameter counts by that a call leaves out: no argument equals it."""

    OUT = "out"


@dataclass(frozen=True, kw_only=True, eq=False)
class Definition:
    """A function and how its calls are to be made, named, matched, retried and cached."""

    function: Callable[..., Any]
    name: str
    qualified: str
    is_async: bool
    is_generator: bool
    retry: tuple[RetryPolicy, ...] = ()
    cache: CachePolicy | None = None
    place: Any = None
    """The cache for its results, a path or a URL of one; None leaves that to the run."""
    executor: Any = None
    """An executor, or the name of one; None leaves that to the run."""
    timeout: float | TimeoutPolicy | None = None
    key: Callable[..., Any] | str | Sequence[str] | None = None
    ignore: tuple[str, ...] = ()
    version: str | None = None
    on_code_change: OnCodeChange = "reuse"
    on_divergence: OnDivergence | None = None
    in_doubt: InDoubtPolicy = "rerun"
    transaction: Any = None
    """The database in a transaction of which it runs; see `functional/transacting.py`."""
    is_workflow: bool = False
    """Whether it is the function of a workflow, which calls tasks and is called again on each replay."""
    held: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that the function brings with it; they tell its calls from those of another of its name."""
    made_with: Mapping[str, Any] = field(default_factory=dict)
    """What the function captured, and its defaults, as they were when it was decorated; see
    `identity.made_with.captured`."""
    made: Sequence[Namesake] = field(default=(), repr=False)
    """The functions of its name that were made together with it, itself among them."""
    counted: bool = True
    """Whether calls take a place under `max_concurrency`."""
    stands_for: Callable[..., Any] | None = None
    """The user's function, where `function` is one of ours that runs it: its signature and code count."""
    injects: bool = True
    """Whether the engine fills the parameters of `function` that it knows; a nested workflow's run does that."""
    recorded: bool = True
    """Whether an outcome gets a record of its own; an entrypoint's is in the next checkpoint."""
    hidden: bool = False
    """Whether streams show nothing of its calls: they are a part of the node that makes them, also in what their code
    is told of where it is."""
    alone: bool = False
    """Whether such a call is all that its node does meanwhile: what is nested in it is named as if in the node."""
    reader: Any = None
    """Who reads the stream of the workflow that it runs, inside the run that calls it (`engine/records/reader.py`)."""
    form_on_loop: Callable[..., Any] | None = None
    """What to call instead where an event loop drives the run: it has to be awaited."""
    prefers_loop: Callable[[RunConfig, bool], bool] = field(default=always, repr=False)
    """Which runs call that, by their configuration and whether they are recorded; all, unless it says otherwise."""
    awaits: str = ""
    """Which part of it has to be awaited, where that has a name of its own: a blocking run is refused for that."""
    checked: set[int] = field(default_factory=set, repr=False)
    """The serializers that have looked at `returns` already."""
    marks_start: bool = field(init=False)
    """Whether a call's start is committed before it begins."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks_start", callable(self.in_doubt) or self.in_doubt == "ask")

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: what was found out about it is found out there again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def with_options(self, **changes: Any) -> Definition:
        """The same function, called otherwise."""
        return replace(self, **changes)

    @cached_property
    def unrecorded(self) -> Definition:
        """The same function, called outside any run."""
        return self.with_options(recorded=False)

    @cached_property
    def all_alone(self) -> Definition:
        """The same hidden one, called where its node does nothing else meanwhile."""
        return self.with_options(alone=True)

    @cached_property
    def on_loop(self) -> Definition:
        """The same, called in its form for an event loop."""
        assert self.form_on_loop is not None
        return self.with_options(function=self.form_on_loop, is_async=True, form_on_loop=None)

    @property
    def author_function(self) -> Callable[..., Any]:
        """The function as its author wrote it."""
        return self.stands_for or self.function

    # -- its arguments --------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> Parameters:
        """Those of the function as its author wrote it."""
        lent = () if self.transaction is None else ("transaction",)
        return Parameters(self.author_function, self.name, lent)

    @cached_property
    def filled(self) -> tuple[str, ...]:
        """The parameters that the engine fills on each call of `function`."""
        return tuple(name for name in self.parameters.injected if name in INJECTED) if self.injects else ()

    def identifying(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The part of the arguments that tells one call from another (`key=`, `ignore=`)."""
        bound = self.parameters.taken(args, kwargs)
        if self.all_count:
            return bound
        if callable(self.key):
            return {"key": self.key(*args, **kwargs)}
        if self._brought:
            bound = {**self._brought, **bound}
        if self.key is not None:
            return {name: bound.get(name, default) for name, default in self._named.items()}
        for name in self.ignore:
            bound.pop(name, None)
        return bound

    @cached_property
    def _named(self) -> Mapping[str, Any]:
        """The parameters that `key=` names, each with what it counts by where a call leaves it out: its default, or
        that it is left out, if nothing tells the default from others of its type, as `UNSET = object()`."""
        from flowfn.identity.digest import exact

        names: Any = (self.key,) if isinstance(self.key, str) else self.key
        defaults = {name: self.parameters.defaults.get(name) for name in names}
        return {name: Left.OUT if exact({name: each}).weak else each for name, each in defaults.items()}

    @cached_property
    def defaults_left_out(self) -> Defaults:
        """Of each parameter that a call may leave out what it is called with then, as far as that tells."""
        from flowfn.identity.grown import defaults_of_parameters

        return () if self.key is not None else defaults_of_parameters(self.parameters.defaults)

    @cached_property
    def all_count(self) -> bool:
        """Whether the arguments tell one call from another, all of them and nothing else."""
        return self.key is None and not (self._brought or self.ignore)

    @cached_property
    def _brought(self) -> Mapping[str, Any]:
        """What counts like arguments: what it holds, and the attributes of one that was made inside a run."""
        return self.held if self.made else {**kept_attributes(self.author_function), **self.held}

    @property
    def captured(self) -> bytes:
        """What tells it from others of its name with the same code: there may be some later. Empty of one that was made
        inside a run, where it is `held`."""
        return self.told if self.made else b""

    @renewed_property
    def maker(self) -> Maker:
        """What tells it from others of its name."""
        return Maker(self.code, self.captured)

    @property
    def shares_name(self) -> bool:
        """Whether others may have, or have, its name: it is local, or was made together with others."""
        return self._is_local or len(self.made) > 1

    @cached_property
    def told(self) -> bytes:
        """The digest of what it was made with; empty of one that was made with nothing."""
        return told_by(self.author_function, self.made_with)

    @cached_property
    def contents(self) -> dict[str, Any]:
        """What the containers held that it captured; what can't change is among its dependencies."""
        own = self.parameters.signature.parameters
        found = self.made_with.items()
        return {name: value for name, value in found if type(value) in (dict, list) and name not in own}

    @cached_property
    def _is_local(self) -> bool:
        return is_local(self.author_function)

    @cached_property
    def verifies_async(self) -> bool:
        """Whether `in_doubt` is a coroutine function."""
        return callable(self.in_doubt) and _is_async(self.in_doubt)

    # -- its code -------------------------------------------------------------------------------

    @renewed_property
    def code(self) -> str:
        """The version that the author gave it, or the fingerprint of its code: 16 hex digits."""
        if self.version is not None:
            return f"version {self.version}"
        from flowfn.identity.code.fingerprint import fingerprint

        digest: str = fingerprint(self.stands_for or self.function).digest[:16]
        return digest

    @renewed_property
    def body(self) -> CodeType | None:
        """The code of the function as its author wrote it, under all its wrappers."""
        from flowfn.identity.code.lines import body_of

        return body_of(self.author_function)

    @renewed_property
    def lines(self) -> frozenset[bytes]:
        """The lines of the project's code that it leads to, as `identity/code/lines.py` tells them."""
        from flowfn.identity.code.lines import lines_of

        return lines_of(self.author_function)

    @property
    def dependencies(self) -> Dependencies:
        """The code and the constants behind the function, as of now."""
        known: Dependencies | None = self.__dict__.get("_dependencies")
        if known is None or not known.hold:
            from flowfn.identity.code.dependencies import Dependencies

            known = self.__dict__["_dependencies"] = Dependencies(self.author_function)
        return known

    @renewed_property
    def version_key(self) -> str:
        """What the source of this version is kept under."""
        return version_key(self.qualified, self.code)

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The function's annotations by parameter, and under `return`, but for those that can't be resolved."""
        import typing

        function, found = self.author_function, dict[str, Any]()
        try:
            return typing.get_type_hints(function, include_extras=True)
        except Exception:
            for name, annotation in annotations_of(function).items():
                with suppress(Exception):
                    found[name] = evaluated(annotation, function)
        return found

    @cached_property
    def returns(self) -> Any:
        """What the function's annotation says it returns; `inspect.Signature.empty` if nothing or unknown."""
        return self.hints.get("return", inspect.Signature.empty)


def define(function: Callable[..., Any], *, name: str | None = None, **options: Any) -> Definition:
    """Look at a function once and for all.

    Raises:
        TypeError: it is no function, or an option doesn't fit it.
    """
    if isinstance(function, property):
        raise TypeError(
            f"expected a function, got {function!r}: write @property above the decorator, not below"
        )
    if not callable(function):
        raise TypeError(f"expected a function, got {function!r}: write @task above a def, or task(function)")
    if not isinstance(name, str | None):
        raise TypeError(f"name={name!r} is no text: write name={str(name)!r}")
    target = _innermost(function)
    qualified = name or qualified_name(target if hasattr(target, "__qualname__") else type(target))
    made_with = captured(target, INJECTED)
    definition = Definition(
        function=function,
        name=name or str(getattr(target, "__name__", type(target).__name__)),
        qualified=qualified,
        is_async=_is_async(target),
        is_generator=_is_generator(target),
        held=held_by(function),
        made_with=made_with,
        **options,
    )
    check_options(definition)
    note(_runs(target))
    return definition


def check_options(definition: Definition) -> None:
    """Refuse options that mean nothing, or not for this function.

    Raises:
        TypeError, InvalidInput: says which, and what to write.
    """
    _check_names(definition)
    if not isinstance(definition.cache, CachePolicy | None):
        raise TypeError(f"cache_policy={definition.cache!r}: write CachePolicy(), or CachePolicy(ttl=3600)")
    check_option("on_code_change", definition.on_code_change, OnCodeChange)
    check_option("on_divergence", definition.on_divergence, OnDivergence)
    if not callable(definition.in_doubt):
        check_option("in_doubt", definition.in_doubt, Settled, ", or a function that verifies the call")
    if definition.verifies_async and not definition.is_async:
        raise TypeError(
            f"in_doubt={definition.in_doubt!r} is async, and task {definition.name!r} isn't: make both a plain def"
        )


def version_key(qualified: str, code: str) -> str:
    """A name for one version of a function: a fingerprint says what it is of, a version that was given doesn't."""
    return f"{qualified} {code}" if code.startswith("version ") else code


def _innermost(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def held_by(function: Any) -> dict[str, Any]:
    """What a callable is called with besides a caller's arguments, by parameter: the arguments of a partial, and the
    object of a bound method or of one with `__call__`."""
    if isinstance(function, partial):
        try:
            bound = signature_of(function.func).bind_partial(*function.args, **function.keywords)
        except (TypeError, ValueError):
            # They don't fit, as calls will say, or nothing is known of its parameters.
            return {"partial": (function.args, function.keywords)}
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        kinds = {p.name: p.kind for p in bound.signature.parameters.values()}
        own = {f"partial {n}" if kinds[n] in several else n: v for n, v in bound.arguments.items()}
        return {**held_by(function.func), **own}
    if type(function) is MethodType:
        return _first_of(function.__func__, function.__self__)
    if inspect.isroutine(function) or isinstance(function, type):
        return {}
    return _first_of(type(function).__call__, function)


def _first_of(method: Any, owner: Any) -> dict[str, Any]:
    """The object that a method gets first, by the name that it has there; one that has nothing in it is its type."""
    if type(method) is not FunctionType:
        return {}
    code = method.__code__
    name = code.co_varnames[0] if code.co_argcount else "self"
    if getattr(owner, "__dict__", True):
        return {name: owner}
    return {name: type(owner)} if class_made_with(type(owner)).members else {}


def _runs(function: Any) -> Any:
    """The function whose body runs on a call: of an object with `__call__`, that method."""
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def _is_async(function: Any) -> bool:
    body = _runs(function)
    return inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body)


def _is_generator(function: Any) -> bool:
    body = _runs(function)
    return inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body)


def _check_names(definition: Definition) -> None:
    """`key=` and `ignore=` must name parameters: a typo would silently count, or not count, an argument."""
    key = definition.key
    if not (key is None or callable(key) or isinstance(key, Iterable)):
        raise TypeError(f"key={key!r}: name a parameter, list several, or pass a function of the arguments")
    named = () if key is None or callable(key) else (key,) if isinstance(key, str) else tuple(key)
    for option, names in (("key", named), ("ignore", definition.ignore)):
        for name in names:
            if not any(
                name in known
                for known in (
                    definition.parameters.signature.parameters,
                    definition.held,
                    definition.made_with,
                )
            ):
                known = ", ".join(definition.parameters.signature.parameters) or "none"
                raise TypeError(
                    f"{option}={name!r} names no parameter of {definition.name!r}; it has: {known}"
                )
