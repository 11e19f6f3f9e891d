"""Functions that share a name, lambdas and what factories make, keep their records apart (G2, section 4)."""

from __future__ import annotations

import ipaddress
import operator
import threading
import time
from collections import UserList, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from enum import Enum
from functools import lru_cache, partial, partialmethod, wraps
from itertools import count
from typing import Any, NamedTuple, Protocol, TypedDict

import attrs
import msgspec
import numpy as np
import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr, create_model

from checkpointers import MemorySaver
from flowfn import CachePolicy, Entrypoint, MemoryCache, NonDeterminismError, Task, entrypoint, task
from flowfn.identity.made_with.together import Namesakes

from ..worlds import World

ran: list[Any] = []


def times(n: int) -> Any:
    def scaled(x: int) -> int:
        ran.append(n)
        return x * n

    return scaled


def times_of(spec: dict[str, int]) -> Any:
    def scaled(x: int) -> int:
        ran.append(spec["n"])
        return x * spec["n"]

    return scaled


class Scale:
    """An object that has no digest: all that tells it from others is what it was given."""

    def __init__(self, n: int) -> None:
        self.n = n

    def by(self, x: int) -> int:
        return x * self.n

    def __call__(self, x: int) -> int:
        return self.by(x)

    @task
    def by_task(self, x: int) -> int:
        return x * self.n


def times_by(scale: Scale) -> Any:
    def scaled(x: int) -> int:
        ran.append(scale.n)
        return x * scale.n

    return scaled


def calling(function: Any) -> Any:
    def called(x: int) -> Any:
        return function(x)

    return called


def apply(function: Any, x: int) -> Any:
    return function(x)


def asking(function: Any) -> Any:
    def asked(x: int) -> Any:
        return function(x).result()

    return asked


class Settings(dict[str, int]):
    pass


def valued(value: Any, number: Callable[[Any], int]) -> Any:
    def scaled(x: int) -> int:
        return x * number(value)

    return scaled


def noted(function: Any) -> Any:
    def around(*args: Any) -> Any:
        return function(*args)

    return around


def limited(n: int) -> Any:
    def scaled(x: int) -> Any:
        return x * scaled.limit  # type: ignore[attr-defined]

    scaled.limit = n  # type: ignore[attr-defined]
    return scaled


def same(x: int) -> int:
    return x


def decorated(n: int) -> Any:
    @wraps(same)
    def scaled(x: int) -> int:
        return same(x) * n

    return scaled


def twice_decorated(n: int) -> Any:
    return wraps(same)(noted(decorated(n)))


def memo(function: Any) -> Any:
    known: dict[int, int] = {}
    calls = {"n": 0}

    @wraps(function)
    def around(x: int) -> Any:
        calls["n"] += 1
        if x not in known:
            known[x] = function(x)
        return known[x]

    around.known = known  # type: ignore[attr-defined]
    around.forget = lambda: known.clear()  # type: ignore[attr-defined]
    return around


def unnamed_memo(function: Any) -> Any:
    known: dict[int, int] = {}

    def around(x: int) -> Any:
        return known.setdefault(x, function(x))

    return around


def with_options(n: int) -> Any:
    options: dict[str, Any] = {}
    options["n"] = n

    @wraps(same)
    def scaled(x: int) -> Any:
        options["x"] = x
        return options["x"] * options["n"]

    return scaled


def marked_by(id: int) -> Any:
    def scaled(x: int) -> Any:
        return x * scaled.by  # type: ignore[attr-defined]

    hash = id
    scaled.by = hash  # type: ignore[attr-defined]
    return scaled


def with_options_put_in(n: int) -> Any:
    options: dict[str, Any] = {}

    def put(name: str, value: int) -> None:
        options[name] = value

    def scaled(x: int) -> Any:
        options["x"] = x
        return options["x"] * options["n"]

    put("n", n)
    return scaled


def given_options(**options: Any) -> Any:
    @wraps(same)
    def scaled(x: int) -> Any:
        options["x"] = x
        return options["x"] * options["n"]

    return scaled


def named_by_hand(n: int) -> Any:
    def scaled(x: int) -> int:
        return x * n

    scaled.__qualname__ = scaled.__name__
    return scaled


class Service:
    """Is given an object."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale

    def by(self, x: int) -> int:
        return self.scale.by(x)


class Strategy:
    """Is given a function, a class, or an object of one."""

    def __init__(self, how: Any) -> None:
        self.how = how

    def by(self, x: int) -> Any:
        how = self.how() if isinstance(self.how, type) else self.how
        return how(x)


class Table:
    """Is given a dict of functions."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def by(self, x: int) -> Any:
        return self.options["how"](x)


class Once:
    def __call__(self, x: int) -> int:
        return x


class Twice:
    def __call__(self, x: int) -> int:
        return 2 * x


class Thrice:
    def __call__(self, x: int) -> int:
        return 3 * x


BY_CLASS: dict[int, Any] = {1: Once, 2: Twice, 3: Thrice}


def class_with_an_attribute(n: int) -> Any:
    class Scales:
        factor = n

        def by(self, x: int) -> int:
            return x * self.factor

    return Scales


def class_whose_method_captured(n: int) -> Any:
    class Scales:
        @staticmethod
        def times(x: int) -> int:
            return x * n

        @property
        def own(self) -> Any:
            return Scales

        def by(self, x: int) -> int:
            return int(self.own.times(x))

    return Scales


def class_with_a_partial_method(n: int) -> Any:
    class Scales:
        def times(self, factor: int, x: int) -> int:
            return x * factor

        by = partialmethod(times, n)

    return Scales


def class_of_a_base(n: int) -> Any:
    class Scales(class_whose_method_captured(n)):  # type: ignore[misc]
        def by(self, x: int) -> int:
            return int(super().by(x))

    return Scales


def class_of_a_metaclass(n: int) -> Any:
    class Meta(type):
        def times(cls, x: int) -> int:
            return x * n

    class Scales(metaclass=Meta):
        def by(self, x: int) -> int:
            return type(self).times(x)

    return Scales


def class_with_a_class(n: int) -> Any:
    class Scales:
        class Inner:
            factor = n

        def by(self, x: int) -> int:
            return x * self.Inner.factor

    return Scales


def class_that_implements_a_protocol(n: int) -> Any:
    class Scaling(Protocol):
        def by(self, x: int) -> int: ...

    class Scales(Scaling):
        def by(self, x: int) -> int:
            return x * n

    return Scales


def dataclass_with_a_default(n: int) -> Any:
    @dataclass(slots=True)
    class Scales:
        factor: int = n

        def by(self, x: int) -> int:
            return x * self.factor

    return Scales


def dataclass_with_a_factory(n: int) -> Any:
    @dataclass
    class Scales:
        factors: list[int] = field(default_factory=lambda: [n])

        def by(self, x: int) -> int:
            return x * self.factors[0]

    return Scales


def dataclass_whose_method_captured(n: int) -> Any:
    @dataclass
    class Scales:
        name: str = "a"

        def by(self, x: int) -> int:
            return x * n

    return Scales


def model(n: int) -> Any:
    class Scales(BaseModel):
        factor: int = n

        def by(self, x: int) -> int:
            return x * self.factor

    return Scales


def struct(n: int) -> Any:
    class Scales(msgspec.Struct):
        factors: list[int] = msgspec.field(default_factory=lambda: [n])

        def by(self, x: int) -> int:
            return x * self.factors[0]

    return Scales


def made_struct(n: int) -> Any:
    return msgspec.defstruct("Scales", [("factor", int, n)], namespace={"by": by})


@dataclass(slots=True)
class Sized:
    factor: int


@dataclass(slots=True)
class Named(Sized):
    """Has the field that counts from the class above it."""

    name: str = ""

    def by(self, x: int) -> int:
        return x * self.factor


def enumeration(n: int) -> Any:
    class Scales(Enum):
        FACTOR = n

        def by(self, x: int) -> int:
            return int(x * self.value)

    return Scales


def by(self: Any, x: int) -> int:
    return int(x * self.factor)


def made_by_type(n: int) -> Any:
    return type("Scales", (), {"factor": n, "by": by})


def made_dataclass(n: int) -> Any:
    return make_dataclass("Scales", [("factor", int, n)], namespace={"by": by})


def created_model(n: int) -> Any:
    return create_model("Scales", __base__=Scaled, factor=(int, n))


class Scaled(BaseModel):
    by = by


CLASSES: dict[str, Callable[[int], Any]] = {
    "attribute": class_with_an_attribute,
    "method": class_whose_method_captured,
    "partial method": class_with_a_partial_method,
    "base": class_of_a_base,
    "metaclass": class_of_a_metaclass,
    "class inside": class_with_a_class,
    "protocol": class_that_implements_a_protocol,
    "dataclass default": dataclass_with_a_default,
    "dataclass factory": dataclass_with_a_factory,
    "dataclass method": dataclass_whose_method_captured,
    "model": model,
    "enumeration": enumeration,
    "type()": made_by_type,
    "make_dataclass": made_dataclass,
    "create_model": created_model,
    "struct": struct,
    "defstruct": made_struct,
}
"""Classes of one name, by what tells them apart; their instances have a method `by`."""


def instance(scales: Any) -> Any:
    return next(iter(scales)) if issubclass(scales, Enum) else scales()


def instantiating(scales: Any) -> Any:
    def called(x: int) -> Any:
        return instance(scales).by(x)

    return called


BY_CODE: dict[int, Any] = {1: lambda x: x, 2: lambda x: x * 2, 3: lambda x: x * 3}

MAKERS: dict[str, Callable[[int], Any]] = {
    "default": lambda n: lambda x, n=n: x * n,
    "captured": times,
    "captured container": lambda n: times_of({"n": n}),
    "captured object": lambda n: times_by(Scale(n)),
    "captured address": lambda n: valued(ipaddress.ip_address(n), int),
    "captured slice": lambda n: valued(slice(n), operator.attrgetter("stop")),
    "captured secret": lambda n: valued(SecretStr(str(n)), lambda held: int(held.get_secret_value())),
    "captured address of a page": lambda n: valued(AnyUrl(f"http://a:{n}/"), operator.attrgetter("port")),
    "captured array": lambda n: valued(np.array([n]), operator.methodcaller("item")),
    "captured bytes": lambda n: valued(bytearray([n]), operator.itemgetter(0)),
    "captured error": lambda n: valued(ValueError(n), lambda held: held.args[0]),
    "captured dict of a class": lambda n: valued(Settings(n=n), operator.itemgetter("n")),
    "captured list of a class": lambda n: valued(UserList([n]), operator.itemgetter(0)),
    "captured object with slots": lambda n: calling(Named(n).by),
    "captured by what it wraps": lambda n: noted(times(n)),
    "captured method": lambda n: calling(Scale(n).by),
    "captured partial": lambda n: calling(partial(operator.mul, n)),
    "captured partial of a function": lambda n: calling(partial(apply, times(n))),
    "captured cached function": lambda n: calling(lru_cache(times(n))),
    "captured task": lambda n: asking(task(times(n))),
    "captured task of an object": lambda n: asking(Scale(n).by_task),
    "captured workflow": lambda n: calling(entrypoint(times(n))),
    "captured object that was given one": lambda n: calling(Service(Scale(n)).by),
    "cached function": lambda n: lru_cache(times(n)),
    "attribute": limited,
    "captured attribute": lambda n: calling(limited(n)),
    **{each.__name__: each for each in (decorated, twice_decorated, named_by_hand)},
    "attribute of an id": marked_by,
    "captured decorator's": lambda n: calling(decorated(n)),
    "captured twice decorated": lambda n: calling(twice_decorated(n)),
    "captured named by hand": lambda n: calling(named_by_hand(n)),
    "captured memo": lambda n: calling(memo(times(n))),
    "captured with options": lambda n: calling(with_options(n)),
    "captured with options that another puts in": lambda n: calling(with_options_put_in(n)),
    "captured given options": lambda n: calling(given_options(n=n)),
    "object that was given a decorator's": lambda n: Strategy(decorated(n)).by,
    "object that was given one": lambda n: Service(Scale(n)).by,
    "object that was given a function": lambda n: Strategy(BY_CLASS[n]().__call__).by,
    "object that was given a lambda": lambda n: Strategy(BY_CODE[n]).by,
    "object that was given a dict of lambdas": lambda n: Table({"how": BY_CODE[n]}).by,
    "object that was given a class": lambda n: Strategy(BY_CLASS[n]).by,
    "object that was given one of a class": lambda n: Strategy(BY_CLASS[n]()).by,
    "code": BY_CODE.__getitem__,
    "captured code": lambda n: calling(BY_CODE[n]),
    **{f"captured class: {name}": lambda n, c=c: instantiating(c(n)) for name, c in CLASSES.items()},
    **{f"captured object: {name}": lambda n, c=c: calling(instance(c(n)).by) for name, c in CLASSES.items()},
    **{f"method: {name}": lambda n, c=c: instance(c(n)).by for name, c in CLASSES.items()},
}


def died_after(saver: Any, finished: int, tasks: Callable[[int], Any]) -> Callable[[list[int]], Any]:
    """A workflow that calls `tasks` 1 to 3 with one argument, and died after some: goes on in another order."""
    order = [1, 2, 3]
    left = [finished]

    @entrypoint(checkpointer=saver)
    def wf() -> dict[int, int]:
        found = {}
        for n in order:
            found[n] = tasks(n)(7).result()
            if left and len(found) == left[0]:
                left.clear()
                raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        wf.invoke(thread_id="t")

    def go_on(anew: list[int]) -> Any:
        order[:] = anew
        return wf.invoke(None, thread_id="t")

    return go_on


@pytest.mark.parametrize("inside", [False, True], ids=["made before", "made inside the run"])
@pytest.mark.parametrize("finished", [1, 2, 3])
@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_each_gets_its_own_record_in_any_order(
    made: Callable[[int], Any], finished: int, inside: bool
) -> None:
    """G2: of three with one name and one argument, whichever had finished, each gets its own."""
    before = {n: task(made(n)) for n in (1, 2, 3)}
    tasks = (lambda n: task(made(n))) if inside else before.__getitem__
    go_on = died_after(MemorySaver(), finished, tasks)
    assert go_on([3, 2, 1]) == {1: 7, 2: 14, 3: 21}


@task
def apply_to_seven(function: Any) -> Any:
    return function(7)


@pytest.mark.parametrize("inside", [False, True], ids=["made before", "made inside the run"])
@pytest.mark.parametrize("finished", [1, 2, 3])
def test_an_attribute_that_a_task_is_given_tells_it_from_others(finished: int, inside: bool) -> None:
    """G2: as it is when the task is first called; one that the task itself assigns is a state."""

    def made(n: int) -> Any:
        @task
        def scaled(x: int) -> Any:
            scaled.calls += 1  # type: ignore[attr-defined]
            return x * scaled.limit  # type: ignore[attr-defined]

        scaled.limit, scaled.calls = n, len(ran)  # type: ignore[attr-defined]
        ran.append(n)
        return scaled

    before = {n: made(n) for n in (1, 2, 3)}
    go_on = died_after(MemorySaver(), finished, made if inside else before.__getitem__)
    assert go_on([3, 2, 1]) == {1: 7, 2: 14, 3: 21}


@task
def scale_seven(scales: Any) -> Any:
    return (instance(scales) if isinstance(scales, type) else scales).by(7)


@pytest.mark.parametrize("finished", [1, 2, 3])
@pytest.mark.parametrize("given", [lambda made: made, instance], ids=["class", "instance"])
@pytest.mark.parametrize("made", CLASSES.values(), ids=CLASSES)
def test_classes_of_one_name_that_a_task_is_given_are_told_apart(
    made: Callable[[int], Any], given: Callable[[Any], Any], finished: int
) -> None:
    """G2: by their constants, their fields' defaults and what their methods captured; their instances, too."""
    arguments = {n: given(made(n)) for n in (1, 2, 3)}
    go_on = died_after(MemorySaver(), finished, lambda n: lambda x: scale_seven(arguments[n]))
    assert go_on([3, 2, 1]) == {1: 7, 2: 14, 3: 21}


def page_of(item: Any) -> Any:
    class Page(BaseModel):
        items: list[item]

    return Page


def described(item: Any) -> Any:
    return create_model("Row", value=(int, Field(description=str(item))))


def struct_of(item: Any) -> Any:
    return msgspec.defstruct("Row", [("value", item)])


SCHEMAS: dict[str, Callable[[Any], Any]] = {
    "class": page_of,
    "create_model": lambda item: create_model("Row", value=(item, ...)),
    "create_model, optional": lambda item: create_model("Row", value=(item | None, ...)),
    "create_model, described": described,
    "make_dataclass": lambda item: make_dataclass("Row", [("value", item)]),
    "defstruct": lambda item: msgspec.defstruct("Row", [("value", item)]),
    "defstruct, inherited": lambda item: msgspec.defstruct("Row", [], bases=(struct_of(item),)),
    "defstruct, tagged": lambda item: msgspec.defstruct("Row", ["value"], tag=item.__name__),
    "defstruct, renamed": lambda item: msgspec.defstruct("Row", ["value"], rename={"value": item.__name__}),
    "NamedTuple": lambda item: NamedTuple("Row", [("value", item)]),
    "NamedTuple, defaults": lambda item: namedtuple("Row", ["value"], defaults=[item()]),
    "TypedDict": lambda item: TypedDict("Row", {"value": item}),
    "TypedDict, not required": lambda item: TypedDict("Row", {"value": Any}, total=item is int),
    "create_model, configured": lambda item: create_model(
        "Row", __config__=ConfigDict(title=item.__name__), value=(int, 1)
    ),
    "create_model, bounded": lambda item: create_model(
        "Row", value=(float, Field(ge=(int, str).index(item)))
    ),
    "attrs, converted": lambda item: attrs.make_class("Row", {"value": attrs.field(converter=item)}),
    "attrs, made by default": lambda item: attrs.make_class("Row", {"value": attrs.field(factory=item)}),
    "namedtuple": lambda item: namedtuple("Row", [f"a_{item.__name__}"]),
    "Enum": lambda item: Enum("Row", [item.__name__]),
}
"""Classes of one name that hold something else, by how they are made."""


@pytest.mark.parametrize("made", SCHEMAS.values(), ids=SCHEMAS)
def test_classes_of_one_name_are_told_apart_by_their_fields(made: Callable[[Any], Any]) -> None:
    """G2: schemas that a function made of what it was given don't get each other's results."""
    seen: list[Any] = []

    @task(name="extract", cache_policy=CachePolicy())
    def extract(schema: Any) -> int:
        seen.append(schema)
        return len(seen)

    @entrypoint(checkpointer=MemorySaver(), cache=MemoryCache())
    def extracted() -> list[int]:
        return [extract(schema).result() for schema in (made(int), made(str), made(int))]

    assert extracted() == [1, 2, 1]


ARGUMENTS: dict[str, Callable[[int], Any]] = {
    "captured function": lambda n: calling(times(n)),
    "object": Scale,
    "object in a partial": lambda n: partial(Scale.by, Scale(n)),
    "method": lambda n: Scale(n).by,
    "captured method": lambda n: calling(Scale(n).by),
    "captured method's object": lambda n: times_by(Scale(n)),
    "captured partial": lambda n: calling(partial(operator.mul, n)),
    "captured cached function": lambda n: calling(lru_cache(times(n))),
    "captured task": lambda n: asking(task(times(n))),
    "captured tuple": lambda n: lambda x, of=(n, "a"): x * of[0],
    "captured class": lambda n: instantiating(class_with_an_attribute(n)),
    "attribute": limited,
    "captured attribute": lambda n: calling(limited(n)),
}


@pytest.mark.parametrize("finished", [1, 2, 3])
@pytest.mark.parametrize("made", ARGUMENTS.values(), ids=ARGUMENTS)
def test_functions_given_to_a_task_are_told_by_what_they_were_made_with(
    made: Callable[[int], Any], finished: int
) -> None:
    """G2: a function that captured another one by that one's values, a method by what its object was given."""
    functions = {n: made(n) for n in (1, 2, 3)}
    go_on = died_after(MemorySaver(), finished, lambda n: lambda x: apply_to_seven(functions[n]))
    assert go_on([3, 2, 1]) == {1: 7, 2: 14, 3: 21}


def test_a_function_given_to_a_task_may_call_itself() -> None:
    """It has a digest, and is no weak argument for that."""

    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> Any:
        return apply_to_seven(factorial).result()

    thread = wf.thread("t")
    assert thread.invoke() == 5040
    assert list(thread.report) == []


def test_what_had_finished_does_not_run_again(world: World) -> None:
    """G1: in another order, and with one more in front, the finished ones are found."""
    tasks = [world.task(times(n)) for n in (1, 2, 3)]
    order = [0, 1]

    @world.entrypoint
    async def wf() -> list[int]:
        found = [await world.value(tasks[n](7)) for n in order]
        if len(order) == 2:
            raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    ran.clear()
    order[:] = [2, 1, 0]
    assert world.invoke(wf, None, thread_id="t") == [21, 14, 7]
    assert ran == [3]


def recorded_calling(function: Any) -> Any:
    def called(x: int) -> Any:
        ran.append(x)
        return function(x)

    return called


@pytest.mark.parametrize("decorator", [memo, unnamed_memo])
def test_what_a_memo_has_learned_is_no_part_of_what_captured_it(
    world: World, decorator: Callable[[Any], Any]
) -> None:
    """G1: the next attempt's memo knows nothing of calls that come from their records."""
    fast, killed = [decorator(same)], [True]

    @world.entrypoint
    async def wf() -> list[int]:
        found = [await world.value(world.task(recorded_calling(fast[0]))(x)) for x in (3, 4)]
        if killed:
            raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    fast[:], killed[:] = [decorator(same)], []
    ran.clear()
    assert (world.invoke(wf, None, thread_id="t"), ran) == ([3, 4], [])


def built(saver: Any, crash: bool, **options: Any) -> tuple[Entrypoint[Any, Any], Task[Any, Any]]:
    @task(**options)
    def step(i: int) -> int:
        ran.append(i)
        if crash and i == 2:
            raise KeyboardInterrupt
        return i

    @entrypoint(checkpointer=saver)
    def wf() -> list[int]:
        return [step(i).result() for i in range(4)]

    return wf, step


def test_one_alone_under_its_name_may_capture_something_else() -> None:
    """G1: where a name has one function, it is the same one whatever it captured: a flag, a path, a port."""
    saver = MemorySaver()
    ran.clear()
    with pytest.raises(KeyboardInterrupt):
        built(saver, True)[0].invoke(thread_id="t")
    assert built(saver, False)[0].invoke(None, thread_id="t") == [0, 1, 2, 3]
    assert ran == [0, 1, 2, 2, 3]


def test_versions_that_are_made_together_are_versions() -> None:
    """G1: of two that were made together, the one that another workflow names is no other one to this one."""
    saver = MemorySaver()
    broken, fixed = built(saver, True)[0], built(saver, False)[0]
    ran.clear()
    with pytest.raises(KeyboardInterrupt):
        broken.invoke(thread_id="t")
    assert fixed.invoke(None, thread_id="t") == [0, 1, 2, 3]
    assert ran == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("reads_clock", [False, True])
def test_an_edited_one_gets_no_record_where_another_one_has_gone(reads_clock: bool) -> None:
    """G2: two of one name have records, and one is left, with other code: nothing tells which of the two it was, so it
    runs, or is refused where its record may differ in the clock alone."""
    given, left = time.time() if reads_clock else 7, [True]

    def workflow(*functions: Any) -> Entrypoint[Any, Any]:
        tasks = [*map(task, functions)]

        @entrypoint(checkpointer=saver, name="wf")
        def wf() -> list[Any]:
            found = [each(given).result() for each in tasks]
            if left:
                left.pop()
                raise ConnectionError("killed here")
            return found

        return wf

    saver = MemorySaver()
    with pytest.raises(ConnectionError):
        workflow(lambda x: "a", lambda x: "b").invoke(thread_id="t")
    edited = workflow(lambda x: "b, edited")
    if reads_clock:
        given = time.time()
        with pytest.raises(NonDeterminismError):
            edited.invoke(None, thread_id="t")
    else:
        assert edited.invoke(None, thread_id="t") == ["b, edited"]


def test_one_that_captured_something_else_gets_no_record_of_two_that_have_gone() -> None:
    """G2: two of one factory have records, and a third one is left alone: nothing tells which of the two it was."""
    saver = MemorySaver()

    def workflow(*numbers: int, crash: bool = False) -> Entrypoint[Any, Any]:
        tasks = [task(times(n)) for n in numbers]

        @entrypoint(checkpointer=saver, name="wf")
        def wf() -> list[Any]:
            found = [each(7).result() for each in tasks]
            if crash:
                raise ConnectionError("killed here")
            return found

        return wf

    with pytest.raises(ConnectionError):
        workflow(1, 2, crash=True).invoke(thread_id="t")
    assert workflow(3).invoke(None, thread_id="t") == [21]


EDITED = """
@entrypoint(checkpointer=saver, name="wf")
def wf():
    @task
    def step(x):
        return x {sign} next(numbers)

    found = [step(7).result() for _ in range(next(calls))]
    if next(dies):
        raise ConnectionError("killed here")
    return found
"""


@pytest.mark.parametrize("versions", ["++++", "+-++", "+--+", "++--", "+++-"])
def test_equal_calls_keep_their_order_across_edits(versions: str) -> None:
    """G1, G2: a function inside a workflow, edited between attempts of which each calls it once more, is one."""
    names: dict[str, Any] = {"entrypoint": entrypoint, "task": task, "saver": MemorySaver()}
    names |= {"numbers": count(1), "calls": iter([1, 2, 3, 3]), "dies": iter([True, True, True, False])}
    for sign in versions[:-1]:
        exec(EDITED.format(sign=sign), names)
        with pytest.raises(ConnectionError):
            names["wf"].thread("t")()
    exec(EDITED.format(sign=versions[-1]), names)
    signed = [number if sign == "+" else -number for number, sign in enumerate(versions[:-1], 1)]
    assert names["wf"].invoke(None, thread_id="t") == [7 + number for number in signed]


def test_what_is_done_to_a_captured_container_changes_nothing() -> None:
    """G1: a list that a task appends to, and another one reads, was empty when they were made."""
    seen: list[int] = []

    @task
    def step(i: int) -> int:
        seen.append(i)
        return len(seen)

    left = [True]

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> list[int]:
        found = [step(i).result() for i in range(3)]
        if left:
            left.pop()
            raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        wf.invoke(thread_id="t")
    assert wf.invoke(None, thread_id="t") == [1, 2, 3]
    assert seen == [0, 1, 2]


def wrapped(function: Any) -> Any:
    """The function under a decorator of somebody's."""

    @wraps(function)
    def plain(*args: Any) -> Any:
        ran.append(args)
        return function(*args)

    return plain


class Scaling:
    def __init__(self, n: int) -> None:
        self.step = task(wrapped(Scale(n).by), name="by")


def scaling(saver: Any, n: int, *, crash: bool = False) -> Entrypoint[Any, Any]:
    job = Scaling(n)

    @entrypoint(checkpointer=saver)
    def wf() -> list[int]:
        found = [job.step(x).result() for x in range(3)]
        if crash:
            raise ConnectionError("killed here")
        return found

    return wf


@pytest.mark.parametrize("beside", [2, 5], ids=["another like it", "another"])
def test_one_that_was_alone_finds_its_records_beside_another(beside: int) -> None:
    """G1: where nobody shared a function's name when its calls were recorded, and somebody does now, none reruns."""
    saver = MemorySaver()
    with pytest.raises(ConnectionError):
        scaling(saver, 2, crash=True).invoke(thread_id="t")
    ran.clear()
    wf, other = scaling(saver, 2), scaling(saver, beside)
    assert wf.invoke(None, thread_id="t") == [0, 2, 4]
    assert ran == []
    assert other.invoke(thread_id="u") == [0, beside, 2 * beside]


def test_a_call_that_left_no_record_uses_up_its_occurrence() -> None:
    """G2: of three equal calls only the last was recorded, and that is whose result it is on the next attempt."""
    numbers, left = count(), [True]

    @task
    def step(x: int) -> int:
        return next(numbers)

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> list[int]:
        futures = [step(7) for _ in range(3)]
        if left:
            left.pop()
            raise ConnectionError(f"killed when the last was {futures[-1].result()}")
        return [future.result() for future in futures]

    thread = wf.thread("t")
    with pytest.raises(ConnectionError, match="was 0"):
        thread.invoke(config={"max_concurrency": 1})
    assert thread.resume() == [1, 2, 0]


def test_one_that_is_added_gets_no_record_of_another() -> None:
    """G2, rule 4: a new one of a factory's, which comes first, runs; the recorded one is reused."""
    saver, specs = MemorySaver(), [2]
    left = [True]

    @entrypoint(checkpointer=saver)
    def wf() -> list[int]:
        found = [task(times(n))(7).result() for n in specs]
        if left:
            left.pop()
            raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        wf.invoke(thread_id="t")
    ran.clear()
    specs[:] = [5, 2]
    assert wf.invoke(None, thread_id="t") == [35, 14]
    assert ran == [5]


def test_a_captured_value_that_looks_random_is_refused() -> None:
    """G2, rule 3: of a function that is made inside the run, what it captured counts like an argument."""
    tokens = ["9f86d081884c7d659a2feaa0c55ad015", "2c26b46b68ffc68ff99b453c1d304134"]

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> str:
        token = tokens[0]
        found: str = task(lambda x: f"{x} {token}")("a").result()
        if len(tokens) > 1:
            tokens.pop(0)
            raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        wf.invoke(thread_id="t")
    with pytest.raises(NonDeterminismError, match="token='9f86"):
        wf.invoke(None, thread_id="t")


def test_the_options_of_a_function_make_no_other_one_of_it() -> None:
    """G1: a task and the same with other options are one function."""
    saver = MemorySaver()
    ran.clear()
    with pytest.raises(KeyboardInterrupt):
        built(saver, True)[0].invoke(thread_id="t")
    wf, step = built(saver, False, version="2")
    step.with_options(version="3")
    assert wf.invoke(None, thread_id="t") == [0, 1, 2, 3]
    assert ran == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_a_kept_result_is_of_the_function_that_made_it(made: Callable[[int], Any]) -> None:
    """G2: three of one name share no entry of a cache."""
    tasks = {n: task(cache_policy=CachePolicy())(made(n)) for n in (1, 2, 3)}

    @entrypoint(cache=MemoryCache())
    def wf() -> dict[int, int]:
        return {n: tasks[n](7).result() for n in tasks}

    assert wf.invoke(thread_id="t") == {1: 7, 2: 14, 3: 21}


class Unwilling:
    """Fails whoever looks at it."""

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


def knot() -> dict[str, Any]:
    """Holds itself."""
    tied: dict[str, Any] = {}
    tied["self"] = tied
    return tied


STRANGE: dict[str, Callable[[], Any]] = {
    "unwilling": Unwilling,
    "unwilling inside": lambda: {"x": [Unwilling()]},
    "holds itself": knot,
    "lock": threading.Lock,
    "large": lambda: list(range(100_000)),
    "generator": lambda: (i for i in range(3)),
    "not a number": lambda: float("nan"),
    "surrogate": lambda: "\ud800",
}


@pytest.mark.parametrize("inside", [False, True], ids=["made before", "made inside the run"])
@pytest.mark.parametrize("made", STRANGE.values(), ids=STRANGE)
def test_whatever_is_captured_the_record_is_found(made: Callable[[], Any], inside: bool) -> None:
    """G1: what has no value, can't be looked at or is large counts by its type, and makes no call a new one."""

    def defined() -> Any:
        value = made()

        @task
        def step(x: int) -> int:
            ran.append(type(value))
            return x

        return step

    before, left = defined(), [True]
    ran.clear()

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> int:
        found: int = (defined() if inside else before)(1).result()
        if left:
            left.pop()
            raise ConnectionError("killed here")
        return found

    with pytest.raises(ConnectionError):
        wf.invoke(thread_id="t")
    assert wf.invoke(None, thread_id="t") == 1
    assert len(ran) == 1
    assert not list(wf.thread("t").report)


def test_functions_that_are_gone_are_forgotten() -> None:
    """Who makes a task for each request, without a run, keeps none of them."""
    for number in range(1000):
        made = task(lambda x, k=number: x * k)
    assert len(made._self_definition.made) <= Namesakes.room + 1


def locked(lock: Any) -> Any:
    def step(x: int) -> int:
        with lock:
            return x

    return step


@pytest.mark.parametrize("inside", [False, True], ids=["made before", "made inside the run"])
@pytest.mark.parametrize("locks", [1, 2])
def test_what_nothing_tells_apart_is_reported(locks: int, inside: bool) -> None:
    """G2: of functions that differ only in a captured object that counts by its type a row is `weak`; not of those that
    captured the same one."""
    captured = [threading.Lock() for _ in range(locks)]
    before = [task(locked(captured[n % locks])) for n in range(2)]
    left = [True]

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> list[int]:
        steps = [task(locked(captured[n % locks])) for n in range(2)] if inside else before
        found = [step(7).result() for step in steps]
        if left:
            left.pop()
            raise ConnectionError("killed here")
        return found

    thread = wf.thread("t")
    with pytest.raises(ConnectionError):
        thread.invoke()
    thread.resume()
    weak = [each.cause for each in thread.report if each.kind == "weak"]
    assert bool(weak) == (locks == 2)
    assert all("another function of its name captured another thread.lock" in cause for cause in weak)


class Compared:
    """An object that defines equality, and of which nothing is known that it was given."""

    def __init__(self, names: str) -> None:
        self.names = names.split()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compared) and self.names == other.names

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Declared:
    """The same, as the row of the report advises."""

    names: list[str]


@pytest.mark.parametrize(
    ("objects", "advice"),
    [
        ([Compared("a"), Compared("b")], "make its class a dataclass"),
        ([Declared(["a"]), Declared(["b"])], None),
    ],
    ids=["compared", "declared"],
)
def test_what_a_weak_row_advises_for_what_was_captured_helps(objects: list[Any], advice: str | None) -> None:
    """G2: an `__eq__` alone doesn't tell what a function captured from another object; declared fields do."""

    def greet(names: Any) -> Any:
        @task
        def hello() -> str:
            return ", ".join(names.names)

        return hello

    tasks = [greet(each) for each in objects]
    left = [True]

    @entrypoint(checkpointer=MemorySaver())
    def wf() -> list[str]:
        found = [each().result() for each in tasks]
        if left:
            left.pop()
            raise ConnectionError("killed here")
        return found

    thread = wf.thread("t")
    with pytest.raises(ConnectionError):
        thread.invoke()
    assert thread.resume() == ["a", "b"]
    weak = [each.cause for each in thread.report if each.kind == "weak"]
    assert bool(weak) == (advice is not None)
    assert all(advice is not None and advice in cause for cause in weak)
