"""Objects of named classes: state is restored, code is not run, and changed classes say so."""

import threading
from collections import OrderedDict, deque, namedtuple
from dataclasses import KW_ONLY, dataclass, field, make_dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag, auto
from functools import cached_property
from typing import Any, Generic, NamedTuple, Self, TypeVar
from zoneinfo import ZoneInfo

import attrs
import pydantic
import pytest

from flowfn.identity.digest import exact
from flowfn.serde import DEFAULT, Serde, SerializationError, TypeChangedError, UntrustedTypeError, allow

CALLS: list[str] = []
T = TypeVar("T")


class Colour(Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796
    BLUE = "b"


class Level(IntEnum):
    LOW = 1


class Access(Flag):
    READ = auto()
    WRITE = auto()
    RUN = auto()
    ALL = READ | WRITE | RUN


class Bits(IntFlag):
    ONE = 1
    TWO = 2


@dataclass
class Loud:
    """Its constructor leaves a trace."""

    value: Any

    def __init__(self, value: Any) -> None:
        CALLS.append("init")
        self.value = value

    def __post_init__(self) -> None:
        CALLS.append("post_init")


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


@dataclass
class Order:
    item: str
    _: KW_ONLY
    tags: list[str] = field(default_factory=list)
    total: int = field(init=False)
    point: Point = field(default=Point(1), compare=False)

    def __post_init__(self) -> None:
        self.total = len(self.item)
        self.note = "not a field"

    @cached_property
    def shout(self) -> str:
        return self.item.upper()


@attrs.define
class Parcel:
    """Its `code` is made of another field; validators and converters leave a trace."""

    weight: int = attrs.field(validator=lambda *_: CALLS.append("validator"))
    _owner: str = attrs.field(default="ann", converter=lambda name: CALLS.append("converter") or name)
    stops: list[str] = attrs.Factory(list)
    code: str = attrs.field(
        init=False, default=attrs.Factory(lambda self: f"p{self.weight}", takes_self=True)
    )

    @cached_property
    def label(self) -> str:
        return self.code.upper()


@attrs.frozen(slots=False, cache_hash=True)
class Stamp:
    cents: int


@attrs.define
class Connected:
    """Its property can't be stored, and leaves a trace."""

    host: str

    @cached_property
    def lock(self) -> threading.Lock:
        CALLS.append("property")
        return threading.Lock()


@attrs.frozen(cache_hash=True)
class Seal:
    text: str


@attrs.define
class Nothing:
    pass


@dataclass
class Box(Generic[T]):
    content: T


class Pair(NamedTuple):
    left: int
    right: Any = None


Old = namedtuple("Old", "a b")


class Rows(pydantic.RootModel[list[int]]):
    pass


class Kept(pydantic.RootModel[list[int]]):
    _secret: int = pydantic.PrivateAttr(default=7)


class Inner(pydantic.BaseModel):
    n: int = 1


class Wider(Inner):
    extra_field: str = "w"


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    inner: Inner = Inner()
    name: str = "x"
    _secret: int = pydantic.PrivateAttr(default=3)

    @pydantic.field_validator("name")
    @classmethod
    def _trace(cls, name: str) -> str:
        CALLS.append("validator")
        return name


class Plain:
    def __init__(self, value: Any) -> None:
        CALLS.append("plain init")
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and other.value == self.value

    __hash__ = None  # type: ignore[assignment]


class Tagged(str):
    tag: str


class Numbers(list[int]):
    pass


class Moment(datetime):
    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        CALLS.append("moment new")
        return super().__new__(cls, *args, **kwargs)


class Clock(time):
    pass


class Day(date):
    pass


class Span(timedelta):
    pass


class Money(Decimal):
    pass


class Place(ZoneInfo):
    pass


class Offset(tzinfo):
    def __init__(self, hours: int) -> None:
        self.hours = hours

    def __repr__(self) -> str:
        return f"Offset({self.hours})"

    def utcoffset(self, when: datetime | None) -> timedelta:
        return timedelta(hours=self.hours)

    def tzname(self, when: datetime | None) -> str:
        return f"{self.hours} hours"


class Raw(bytearray):
    pass


class Line(deque[int]):
    pass


class Ordered(OrderedDict[str, int]):
    pass


@allow
class Registered:
    __slots__ = ("one", "two")


class Outer:
    @dataclass
    class Nested:
        a: int


@pytest.mark.parametrize(
    "value",
    [
        Colour.RED,
        Colour.CRIMSON,
        Colour.BLUE,
        Level.LOW,
        {Level.LOW: Colour.BLUE},
        Access.READ,
        Access.READ | Access.RUN,
        Access.ALL,
        Access(0),
        Bits.ONE | Bits.TWO,
        Bits(9),
        Point(1, 2),
        {Point(1): {Point(2)}},
        Order("tea", tags=["hot"]),
        Box[int](1),
        Parcel(2, "bob", ["here"]),
        {Stamp(5): Nothing()},
        Pair(1, [2]),
        Old(1, (2,)),
        Outer.Nested(1),
        Inner(n=2),
        Model(inner=Wider(n=3), more=[1]),
        pydantic.SecretStr("key"),
        pydantic.SecretBytes(b"key"),
        pydantic.Secret[list[int]]([1]),
        pydantic.ByteSize(1024),
        pydantic.HttpUrl("https://ü.example/a b?x=1#f"),
        pydantic.AnyUrl("mailto:a@b.example"),
        pydantic.PostgresDsn("postgresql://u:p@one:1,two:2/db"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_come_back_equal_and_of_their_class(value: Any) -> None:
    """Enums, flags, dataclasses, named tuples and models need no registration."""
    data = DEFAULT.dumps(value)
    actual = DEFAULT.loads(data)
    assert (type(actual), actual) == (type(value), value)
    assert DEFAULT.dumps(actual) == data


def test_no_constructor_runs_when_an_object_is_restored() -> None:
    """G5: restoring runs no `__init__`, `__post_init__` or validator."""
    serde = Serde().allow(Plain)
    data = serde.dumps([Loud(1), Model(name="a"), Plain(2), Parcel(3)])
    CALLS.clear()
    loud, model, plain, parcel = serde.loads(data)
    assert (loud.value, model.name, plain.value, parcel.weight, CALLS) == (1, "a", 2, 3, [])


def test_attributes_that_are_not_fields_are_kept() -> None:
    """A `__post_init__` that does not run again must not be missed."""
    assert DEFAULT.loads(DEFAULT.dumps(Order("tea"))).note == "not a field"


def test_a_cached_property_is_not_part_of_the_value() -> None:
    """Section 4: reading an attribute does not change a digest."""
    order = Order("tea")
    before = DEFAULT.dumps(order)
    assert order.shout == "TEA"
    assert DEFAULT.dumps(order) == before


def test_a_cached_property_in_a_slot_is_left_alone() -> None:
    """attrs keeps it in a slot, and works it out where somebody looks there; nobody has to store a lock."""
    fresh, asked = Connected("a"), Connected("a")
    assert asked.lock is asked.lock
    CALLS.clear()
    assert DEFAULT.dumps(fresh) == DEFAULT.dumps(asked)
    assert exact({"x": fresh}) == exact({"x": asked})
    assert (DEFAULT.loads(DEFAULT.dumps(asked)), CALLS) == (fresh, [])


def test_a_slot_that_attrs_keeps_a_hash_in_counts_as_empty() -> None:
    """Section 4, rule 1: a text's hash is another in each process, and the call that it was given would run again."""
    fresh, asked = Seal("a"), Seal("a")
    assert asked in {asked}
    assert exact({"x": fresh}) == exact({"x": asked})
    assert not exact({"x": asked}).weak


def test_the_hash_that_attrs_keeps_is_not_part_of_the_value() -> None:
    """Section 4: putting an object in a set does not change a digest; and a text's hash is another in each process."""
    stamp = Stamp(5)
    before = DEFAULT.dumps(stamp)
    assert stamp in {stamp}
    assert DEFAULT.dumps(stamp) == before


def test_all_of_a_models_state_is_kept() -> None:
    """Which fields were set, extra ones and private ones come back; nested models keep their class."""
    model = Model(inner=Wider(), more=[1])
    model._secret = 7
    actual = DEFAULT.loads(DEFAULT.dumps(model))
    assert type(actual.inner) is Wider
    assert actual.model_fields_set == {"inner", "more"}
    assert (actual.__pydantic_extra__, actual._secret) == ({"more": [1]}, 7)


@pytest.mark.parametrize("model", [Rows([1]), Kept([1])], ids=lambda model: type(model).__name__)
def test_a_root_model_comes_back_with_the_attributes_that_it_had(model: Any) -> None:
    """G1, G2: what is restored counts as the same argument, so that the call that was given it isn't run again."""
    actual = DEFAULT.loads(DEFAULT.dumps(model))
    assert (actual, vars(actual)) == (model, vars(model))
    assert exact({"rows": actual}) == exact({"rows": model})


def test_the_order_in_which_a_model_got_its_fields_is_none_of_its_value() -> None:
    """`model_construct` and assignment may fill them in any order; equal models are equal bytes."""
    late = Wider.model_construct(n=1, extra_field="w", _fields_set=set())
    fields = late.__dict__
    fields["n"] = fields.pop("n")
    assert list(fields) == ["extra_field", "n"]
    assert DEFAULT.dumps(late) == DEFAULT.dumps(Wider())


def test_a_value_that_no_validator_would_take_comes_back_as_it_was() -> None:
    """Fidelity before validity: `model_construct` made it, and it was recorded."""
    assert DEFAULT.loads(DEFAULT.dumps(Inner.model_construct(n="no number"))).n == "no number"


def test_a_subclass_of_a_basic_type_is_refused_and_never_flattened() -> None:
    """G2: a `str` subclass must not come back as `str`, neither as a value nor as a key."""
    serde = Serde()
    for value in (Tagged("a"), [Tagged("a")], {Tagged("a"): 1}, (Numbers([1]),)):
        with pytest.raises(SerializationError, match="register it"):
            serde.dumps(value)


def test_a_registered_subclass_keeps_its_value_class_and_attributes() -> None:
    """`allow` stores the base value and the attributes."""
    serde = Serde().allow(Tagged, Numbers)
    text = Tagged("a")
    text.tag = "t"
    actual, numbers = serde.loads(serde.dumps([text, Numbers([1, 2])]))
    assert (type(actual), actual, actual.tag) == (Tagged, "a", "t")
    assert (type(numbers), numbers) == (Numbers, [1, 2])


@pytest.mark.parametrize(
    "value",
    [
        Moment(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris")),
        Clock(1, 2, 3, 4, fold=1),
        Day(2024, 2, 29),
        Span(days=-1, microseconds=5),
        Money("1.10"),
        Place("Europe/Paris"),
        Offset(2),
        Raw(b"\x00\xff"),
        Line([1, 2], 3),
        Ordered(b=1, a=2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_registered_class_may_extend_any_type_that_is_stored(value: Any) -> None:
    """What it holds as that type comes back with its attributes, and none of its code runs (G5)."""
    serde = Serde().allow(type(value))
    value.note = ["kept"]
    stored = serde.dumps(value)
    CALLS.clear()
    actual = serde.loads(stored)
    assert CALLS == []
    assert (type(actual), repr(actual), vars(actual)) == (type(value), repr(value), vars(value))
    assert getattr(actual, "fold", None) == getattr(value, "fold", None)
    assert getattr(actual, "maxlen", None) == getattr(value, "maxlen", None)


@pytest.mark.parametrize("zone", [Offset(2), Place("Europe/Paris")], ids=lambda zone: type(zone).__name__)
def test_a_time_keeps_its_zone_if_that_is_registered(zone: tzinfo) -> None:
    """G2: as it was, and not as another zone that has its offset."""
    value = [datetime(2024, 7, 1, 12, tzinfo=zone), time(12, tzinfo=zone)]
    serde = Serde().allow(type(zone))
    actual = serde.loads(serde.dumps(value))
    assert [type(each.tzinfo) for each in actual] == [type(zone)] * 2
    assert [repr(each) for each in actual] == [repr(each) for each in value]
    assert actual[0].utcoffset() == value[0].utcoffset()


def test_a_class_registered_for_the_process_is_known_to_every_serializer() -> None:
    """`flowfn.serde.allow` as a decorator; unset slots stay unset."""
    value = Registered()
    value.one = 1
    actual = Serde().loads(Serde().dumps(value))
    assert (type(actual), actual.one, hasattr(actual, "two")) == (Registered, 1, False)


def test_a_class_made_in_a_function_is_refused_unless_registered() -> None:
    """Another process could not find it by its name."""

    @dataclass
    class Local:
        a: int

    with pytest.raises(SerializationError, match=r"Move Local to the top of its module.*allow\(Local\)"):
        DEFAULT.dumps([Local(1)])
    serde = Serde().allow(Local)
    assert serde.loads(serde.dumps(Local(1))) == Local(1)


def test_what_attrs_makes_of_other_fields_is_made_for_one_that_was_added() -> None:
    """A factory that takes the instance is given what was stored."""
    old = attrs.make_class("Changed", {"a": attrs.field()})
    made = attrs.Factory(lambda self: self.a + 1, takes_self=True)
    new = attrs.make_class("Changed", {"a": attrs.field(), "b": attrs.field(default=made, init=False)})
    old.__module__ = new.__module__ = "elsewhere"
    assert Serde().allow(new).loads(Serde().allow(old).dumps(old(a=1))).b == 2


def test_an_attrs_class_may_become_a_dataclass_and_back() -> None:
    """Both declare their fields, and are stored alike."""
    (one, other), (again, _) = _versions("attrs", FIELDS, FIELDS), _versions("dataclass", FIELDS, FIELDS)
    stored = Serde().allow(one).dumps(one(a=1))
    middle = Serde().allow(again).loads(stored)
    assert Serde().allow(other).loads(Serde().allow(again).dumps(middle)) == other(a=1)


def test_a_class_whose_name_now_means_another_is_refused() -> None:
    """What would come back as another class is not stored."""
    impostor = make_dataclass("Point", ["x"])
    impostor.__module__ = __name__
    with pytest.raises(SerializationError, match="is not this class but another"):
        DEFAULT.dumps(impostor(1))


@pytest.mark.parametrize("kind", ["dataclass", "attrs", "namedtuple", "model"])
def test_a_field_with_a_default_may_be_added(kind: str) -> None:
    """A class may grow under what was stored."""
    old, new = _versions(kind, {"a": (int, ...)}, {"a": (int, ...), "b": (int, 5)})
    actual = Serde().allow(new).loads(Serde().allow(old).dumps(old(a=1)))
    assert (type(actual), actual.a, actual.b) == (new, 1, 5)


@pytest.mark.parametrize("kind", ["dataclass", "attrs", "namedtuple", "model"])
def test_a_required_field_that_was_added_is_an_error_that_names_it(kind: str) -> None:
    """G2: no value is made up for it."""
    old, new = _versions(kind, {"a": (int, ...)}, {"a": (int, ...), "b": (int, ...)})
    with pytest.raises(TypeChangedError, match=r"Changed now requires 'b'"):
        Serde().allow(new).loads(Serde().allow(old).dumps(old(a=1)))


@dataclass
class SetLater:
    a: int
    b: int = field(init=False)


@dataclass(slots=True)
class SetLaterInSlot:
    a: int
    b: int = field(init=False)


@attrs.define
class SetLaterOfAttrs:
    a: int
    b: int = attrs.field(init=False)


@pydantic.dataclasses.dataclass
class SetLaterOfPydantic:
    a: int
    b: int = field(init=False)


class SetLaterInModel(pydantic.BaseModel):
    a: int
    _b: int = pydantic.PrivateAttr()


SET_LATER = [SetLater, SetLaterInSlot, SetLaterOfAttrs, SetLaterOfPydantic, SetLaterInModel]


@pytest.mark.parametrize("cls", SET_LATER)
def test_an_added_field_that_code_of_the_class_would_set_is_an_error_that_names_it(cls: Any) -> None:
    """G2: no code of the class runs to set it, and no object comes back half made."""
    old = _make("model" if cls is SetLaterInModel else "dataclass", FIELDS)
    data = Serde().allow(old).dumps(old(a=1))
    with pytest.raises(TypeChangedError, match=rf"{cls.__name__} now requires '_?b'"):
        Serde().allow(cls, as_="elsewhere:Changed").loads(data)


@pytest.mark.parametrize("cls", SET_LATER)
def test_a_field_that_was_not_set_yet_comes_back_so(cls: Any) -> None:
    """Fidelity before validity: a class that hasn't changed takes what was stored of it."""
    name = "_b" if cls is SetLaterInModel else "b"
    unset = DEFAULT.loads(DEFAULT.dumps(cls(a=1)))
    assert (unset.a, hasattr(unset, name)) == (1, False)
    setattr(unset, name, 2)
    assert getattr(DEFAULT.loads(DEFAULT.dumps(unset)), name) == 2


def test_an_attribute_that_became_a_field_comes_back_in_it() -> None:
    """G2: what `__post_init__` set was stored before the class declared it."""
    old = _make("dataclass", FIELDS)
    value = old(a=1)
    value.b = 2
    data = Serde().allow(old).dumps(value)
    assert Serde().allow(SetLater, as_="elsewhere:Changed").loads(data).b == 2


def test_a_model_that_was_made_without_a_field_comes_back_so() -> None:
    """Fidelity before validity: `model_construct` asks for none."""
    value = DEFAULT.loads(DEFAULT.dumps(SetLaterInModel.model_construct()))
    assert vars(value) == {}


@dataclass(slots=True)
class DefaultInSlot:
    a: int
    b: int = field(init=False, default=5)


def test_a_default_for_a_slot_that_was_added_is_in_it() -> None:
    """A slot stands in the place of the class's attribute, which other instances would find the default in."""
    old = _make("dataclass", FIELDS)
    assert (
        Serde().allow(DefaultInSlot, as_="elsewhere:Changed").loads(Serde().allow(old).dumps(old(a=1))).b == 5
    )


@pytest.mark.parametrize("kind", ["dataclass", "attrs", "namedtuple", "model"])
def test_a_field_that_was_removed_is_an_error_that_names_it(kind: str) -> None:
    """G2: what was stored is not dropped silently."""
    old, new = _versions(kind, {"a": (int, ...), "b": (int, ...)}, {"a": (int, ...)})
    with pytest.raises(TypeChangedError, match=r"Changed was stored with 'b'"):
        Serde().allow(new).loads(Serde().allow(old).dumps(old(a=1, b=2)))


@pytest.mark.parametrize("after", ["dataclass", "namedtuple", "model", "enum"])
@pytest.mark.parametrize("before", ["dataclass", "namedtuple", "model", "enum"])
def test_a_class_that_is_of_another_kind_now_is_an_error_that_says_so(before: str, after: str) -> None:
    """G2, G5: what was stored is made into no other kind of thing, and the message names both."""
    kinds = {kind: _of_kind(kind) for kind in ("dataclass", "namedtuple", "model", "enum")}
    (old, stored, was), (new, _, now) = kinds[before], kinds[after]
    data = Serde().allow(old).dumps(stored)
    if before == after:
        assert Serde().allow(old).loads(data) == stored
        return
    with pytest.raises(TypeChangedError, match=f"elsewhere:Changed was stored as {was}, and is {now} now"):
        Serde().allow(new).loads(data)


def test_a_dataclass_that_is_a_plain_class_now_is_an_error_that_says_so() -> None:
    """G5: a plain class isn't restored from what was a dataclass; importing or registering it would be no remedy."""
    old = make_dataclass("Plain", ["x"])
    old.__module__ = "elsewhere"
    new = type("Plain", (), {"__module__": "elsewhere"})
    with pytest.raises(
        UntrustedTypeError, match="'elsewhere:Plain' as a dataclass, which is not allowed here"
    ):
        Serde().allow(new).loads(Serde().allow(old).dumps(old(1)))


@pytest.mark.parametrize(("before", "after"), [(list, object), (object, list), (list, dict)])
def test_a_registered_class_that_extends_another_basic_type_is_an_error(before: type, after: type) -> None:
    """G2: the items that a class held aren't dropped when it stops being a list."""
    old, new = (type("Bag", (base,), {"__module__": "elsewhere"}) for base in (before, after))
    with pytest.raises(
        TypeChangedError, match=f"elsewhere:Bag was stored with .*, and extends {after.__name__} now"
    ):
        Serde().allow(new).loads(Serde().allow(old).dumps(old()))


def test_an_enum_member_that_was_removed_is_an_error_that_names_it() -> None:
    """Members are stored by name, so that renumbering them does no harm."""
    old = Enum("Stage", ["DRAFT", "DONE"], module="elsewhere")
    new = Enum("Stage", ["DONE"], module="elsewhere")
    assert Serde().allow(new).loads(Serde().allow(old).dumps(old.DONE)) is new.DONE
    with pytest.raises(TypeChangedError, match="'DRAFT'"):
        Serde().allow(new).loads(Serde().allow(old).dumps(old.DRAFT))


def test_a_lock_inside_an_object_is_refused_by_its_path() -> None:
    """The error leads to the attribute."""
    with pytest.raises(SerializationError) as caught:
        DEFAULT.dumps({"boxes": [Box(1), Box(threading.Lock())]})
    assert caught.value.path == '["boxes"][1].content'


def _of_kind(kind: str) -> tuple[Any, Any, str]:
    """A class `elsewhere:Changed` of a kind, an instance, and what authors call the kind."""
    if kind == "enum":
        stage = Enum("Changed", ["A"], module="elsewhere")
        return stage, stage.A, "an enum"
    made, _ = _versions(kind, {"a": (int, ...)}, {"a": (int, ...)})
    made.__module__ = "elsewhere"
    label = {"dataclass": "a dataclass", "namedtuple": "a named tuple", "model": "a pydantic model"}
    return made, made(a=1), label[kind]


FIELDS: dict[str, Any] = {"a": (int, ...)}


def _versions(kind: str, before: dict[str, Any], after: dict[str, Any]) -> tuple[Any, Any]:
    return tuple(_make(kind, fields) for fields in (before, after))


def _make(kind: str, fields: dict[str, Any]) -> Any:
    if kind == "model":
        return pydantic.create_model("Changed", __module__="elsewhere", **fields)
    if kind == "attrs":
        columns = {
            name: attrs.field(default=attrs.NOTHING if default is ... else default)
            for name, (_, default) in fields.items()
        }
        made = attrs.make_class("Changed", columns)
        made.__module__ = "elsewhere"
        return made
    if kind == "namedtuple":
        defaults = [default for _, default in fields.values() if default is not ...]
        return namedtuple("Changed", list(fields), defaults=defaults, module="elsewhere")
    columns = [
        (name, cls) if default is ... else (name, cls, default) for name, (cls, default) in fields.items()
    ]
    made = make_dataclass("Changed", columns)
    made.__module__ = "elsewhere"
    return made


def test_langchain_messages_come_back() -> None:
    """Section 6: they are pydantic models like any other."""
    messages = pytest.importorskip("langchain_core.messages")
    value = [messages.HumanMessage("hi", id="1"), messages.AIMessage("yo", tool_calls=[])]
    actual = DEFAULT.loads(DEFAULT.dumps(value))
    assert (actual, [type(item) for item in actual]) == (value, [type(item) for item in value])
