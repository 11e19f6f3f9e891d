"""What a result is found by (section 4): arguments, code, and the constants that the code names."""

import ast
import importlib.util
import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial, wraps
from itertools import count
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any

import pytest

from flowfn import CachePolicy, MemoryCache, task
from flowfn.caching.brought import brought_code
from flowfn.caching.keys import key_of
from flowfn.identity.code.dependencies import Dependencies
from flowfn.python.cached_property import renew

SHOP = """
from dataclasses import dataclass

from flowfn import CachePolicy, task
import helpers

RATE = 3
NAMES = ["changes", "in", "place"]
calls = 0

def clean(x):
    return abs(x)

@task(cache_policy=CachePolicy())
def price(x, y=2):
    global calls
    calls += 1
    return clean(x) * RATE + y + len(NAMES) + helpers.offset(x)

def scaled(factor):
    @task(cache_policy=CachePolicy())
    def scale(x):
        return factor * x
    return scale

double = scaled(2)

@task(cache_policy=CachePolicy())
def outer(x):
    return price(x).result()

class Shop:
    tax = 7
    seen = 0

    @task(cache_policy=CachePolicy())
    def total(self, x):
        Shop.seen += 1
        return x + self.tax + Shop.seen

def halved(x):
    return x // 2

TAX = 1

@dataclass
class Order:
    lines: int

    def sum(self):
        return self.lines * 11 * TAX

@task(cache_policy=CachePolicy())
def apply(to, x):
    return to[0](x)

FEE = 2
FACTOR = 1

class Base:
    factor = 0

    def parsed(self, x):
        return x * 5 * self.factor + FEE

class Client(Base):
    opened = []
    factor = FACTOR

    def sent(self, x):
        return self.parsed(x) - 6

client = Client()

def added(x):
    return x + 8 * added.rate

added.rate = 9

HANDLERS = {"add": added}

@task(cache_policy=CachePolicy())
def send(x):
    return HANDLERS["add"](client.sent(x))
"""

HELPERS = """
STEP = 1
RATE = 1
UNUSED = 1

def offset(x, k=1):
    return x + STEP + k * RATE
"""


class Project:
    """A user's two modules in a folder, edited and imported anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keys(self, *edits: tuple[str, str]) -> dict[str, str]:
        """The key of a call of each task, after edits of the source."""
        for name, source in (("helpers", HELPERS), ("shop", SHOP)):
            for old, new in edits:
                source = source.replace(old, new)
            file = self._folder / f"{name}.py"
            file.write_text(textwrap.dedent(source))
            spec = importlib.util.spec_from_file_location(name, file)
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            # Not by the loader: two edits in one second would share a compiled file.
            exec(compile(file.read_text(), str(file), "exec"), vars(module))
            _forget_source(file)
        found: Any = sys.modules["shop"]
        tasks = {"price": found.price, "double": found.double, "outer": found.outer, "send": found.send}
        return {name: _key(task, 5) for name, task in tasks.items()} | {
            "total": _key(found.Shop.total, None, 5),
            "apply": _key(found.apply, [found.halved], 5),
            "method": _key(found.apply, [found.Order(2).sum], 5),
        }


def _forget_source(file: Path) -> None:
    import linecache

    linecache.checkcache(str(file))


def _key(task: Any, *args: Any) -> str:
    return key_of(task._self_definition, args, {}).text


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Forgets its modules afterwards."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield Project(tmp_path)
    for name in ("helpers", "shop"):
        sys.modules.pop(name, None)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Makes a module of a source, as a process would that imports it."""
    versions = count()

    def imported(source: str) -> Any:
        folder = tmp_path / str(next(versions))
        folder.mkdir()
        file = folder / "ledger.py"
        file.write_text(source)
        spec = importlib.util.spec_from_file_location("ledger", file)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "ledger", made)
        spec.loader.exec_module(made)
        _key(made.post, 5)  # while the module has the name
        return made

    return imported


@pytest.mark.parametrize(
    ("old", "new", "busted"),
    [
        ("def clean(x):", "# a comment\n\n\ndef clean(x):", set()),
        ("    return clean(x)", "    # why\n    return clean(x)", set()),
        ("calls = 0", "calls = 100", set()),
        ("    tax = 7", "    tax = 7\n    'What it is.'", set()),
        ("    return clean(x)", "    'What it does.'\n    return clean(x)", set()),
        ('["changes", "in", "place"]', '["changed"]', {"price", "outer"}),
        ("UNUSED = 1", "UNUSED = 2", set()),
        ("def offset", "def unused(x):\n    return x\n\ndef offset", set()),
        ("abs(x)", "abs(x) + 1", {"price", "outer"}),
        ("RATE = 3", "RATE = 4", {"price", "outer"}),
        ("y=2", "y=3", {"price", "outer"}),
        ("x + STEP", "x - STEP", {"price", "outer"}),
        ("STEP = 1", "STEP = 2", {"price", "outer"}),
        ("scaled(2)", "scaled(3)", {"double"}),
        ("price(x).result()", "price(x).result() + 1", {"outer"}),
        ("tax = 7", "tax = 8", {"total"}),
        ("seen = 0", "seen = 1", {"total"}),
        ("k=1", "k=2", {"price", "outer"}),
        ("x * 5", "x * 50", {"send"}),
        ("FEE = 2", "FEE = 3", {"send"}),
        ("FACTOR = 1", "FACTOR = 2", {"send"}),
        ("TAX = 1", "TAX = 2", {"method"}),
        ("- 6", "- 60", {"send"}),
        ("x + 8", "x + 80", {"send"}),
        ("added.rate = 9", "added.rate = 10", {"send"}),
        ("x // 2", "x // 3", {"apply"}),
        ("lines * 11", "lines * 12", {"method"}),
    ],
)
def test_what_an_edit_busts(project: Project, old: str, new: str, busted: set[str]) -> None:
    """Comments, moved lines and counters don't count; code, defaults, constants and the lines that make tables do."""
    before, after = project.keys(), project.keys((old, new))
    assert {name for name in before if before[name] != after[name]} == busted


LEDGER = """
from fractions import Fraction
from functools import singledispatch
from math import floor as rounded
from operator import itemgetter

from flowfn import CachePolicy, task

def doubled(method):
    return lambda self, x: method(self, x) * 2

def limited(cls):
    cls.limit = 40
    return cls

@singledispatch
def size(x):
    return 0

@size.register
def size_of_number(x: int):
    return x + 11

class Handler:
    def sent(self, x):
        return x * 21

HANDLERS = {"all": [Handler()]}
BASE = 30
SHARE = Fraction(1, 2)
first = itemgetter(0)

@limited
class Rates:
    base = BASE + 1

    @doubled
    def of(self, x):
        return x

rates = Rates()

@task(cache_policy=CachePolicy())
def post(x):
    sent = HANDLERS["all"][0].sent(x)
    return rounded(size(x) * SHARE) + sent + rates.of(x) + rates.base + rates.limit + first([x, 0])
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 11", "x + 12"),
        ("x * 21", "x * 22"),
        ("BASE = 30", "BASE = 31"),
        ("(self, x) * 2", "(self, x) * 3"),
        ("limit = 40", "limit = 41"),
        ("Fraction(1, 2)", "Fraction(1, 3)"),
        ("itemgetter(0)", "itemgetter(1)"),
        ("import floor as", "import ceil as"),
    ],
)
def test_an_edit_behind_a_name_busts(module: Any, old: str, new: str) -> None:
    """What a name leads to counts, though the text that has the name is the same: what `singledispatch` knows, objects
    in containers, a decorator of a helper's method or class, what a class's body was made of, what was imported."""
    before, after = module(LEDGER), module(LEDGER.replace(old, new))
    assert _key(module(LEDGER).post, 5) == _key(before.post, 5) != _key(after.post, 5)


@pytest.mark.parametrize("held", ["post", "size", "Handler", "doubled"])
def test_code_that_is_edited_in_place_busts(module: Any, held: str) -> None:
    """IPython's autoreload gives old functions the code of new ones; all names mean the same objects as before."""
    made, new = module(LEDGER), {"__name__": "ledger"}
    exec("def sent(self, x): return x * 210\ndef size(x): return 1\ndef post(x): return 2", new)
    exec("def doubled(method): return lambda self, x: method(self, x) * 3", new)
    changed = {
        "post": (made.post.func, new["post"]),
        "size": (made.size.__wrapped__, new["size"]),
        "Handler": (made.Handler.sent, new["sent"]),
        "doubled": (made.Rates.of, new["doubled"](None)),  # type: ignore[operator]
    }
    before = _key(made.post, 5)
    old, edited = changed[held]
    old.__code__ = edited.__code__
    renew()
    assert _key(made.post, 5) != before


@pytest.mark.parametrize(("cls", "method"), [("Rates", "of"), ("Handler", "sent"), ("Rates", "__add__")])
def test_a_method_that_another_function_takes_the_place_of_busts(module: Any, cls: str, method: str) -> None:
    """As a test puts one there for a while: what is kept of the one isn't the other's result."""
    made = module(LEDGER)
    before = _key(made.post, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vars(made)[cls], method, lambda self, x: 7, raising=False)
        renew()
        assert _key(made.post, 5) != before
    renew()
    assert _key(made.post, 5) == before


PIPELINE = """
from dataclasses import dataclass
from types import SimpleNamespace

from flowfn import CachePolicy, task

def cleaned(x): return x + 1
def sorted_out(x): return x + 2
def counted(x): return x + 3
def told(x): return x + 4

class Pipeline:
    def __init__(self, first, *others):
        self.first = first
        self.others = list(others)
        self.owner, self.ran = self, 0

    def run(self, x):
        self.ran += 1
        return sum(each(self.first(x)) for each in self.others)

@dataclass
class Step:
    how: object

pipeline = Pipeline(cleaned, sorted_out, Step(counted).how)
steps = SimpleNamespace(last=Step({"told": told}))

@task(cache_policy=CachePolicy())
def post(x):
    return pipeline.run(x) + steps.last.how["told"](x)
"""


@pytest.mark.parametrize("added", "1234")
def test_an_edit_of_what_an_object_was_given_busts(module: Any, added: str) -> None:
    """A task names the object alone; what it has counted since makes it no other one."""
    before, after = module(PIPELINE), module(PIPELINE.replace(f"x + {added}", f"x + {added}0"))
    key = _key(before.post, 5)
    before.pipeline.run(1)
    assert key == _key(before.post, 5) == _key(module(PIPELINE).post, 5) != _key(after.post, 5)


HANDLING = """
from functools import singledispatch
from flowfn import CachePolicy, task

def first(x): return x

class Handler:
    def handle(self, x): return x

handlers, others, objects = {"a": first}, [lambda x: x], {"one": Handler()}

@singledispatch
def size(x): return 0

@task(cache_policy=CachePolicy())
def post(x):
    return handlers["a"](x) + others[0](x) + objects["one"].handle(x) + size(x)
"""


@pytest.mark.parametrize(
    "edit",
    [
        "def first(x): return x + 1\nhandlers['a'] = first",
        "others[0] = lambda x: x + 1",
        "class Handler:\n    def handle(self, x): return x + 1\nobjects['one'] = Handler()",
        "@size.register\ndef _(x: int): return x",
        "def first(x): return x + 1\nhandlers['a'] = {'run': [first]}",
    ],
)
def test_code_that_is_put_into_a_container_busts(module: Any, edit: str) -> None:
    """A notebook's cell that is run again may register a function anew, while others still have the old one."""
    made = module(HANDLING)
    olds = [made.first, *made.others, made.Handler]
    before = _key(made.post, 5)
    exec(compile(edit, made.__file__, "exec", dont_inherit=True), vars(made))
    renew()
    assert (_key(made.post, 5) != before, len(olds)) == (True, 3)


def test_code_that_comes_to_be_after_the_first_call_busts(module: Any) -> None:
    """A later cell defines what a branch needs that was not taken yet, and is run again when that was edited."""
    made = module(HANDLING.replace("+ size(x)", "+ (wide(x) if x > 9 else LIMIT)"))
    keys = [_key(made.post, 5)]
    for cell in ("def wide(x): return x", "def wide(x): return x * 2", "LIMIT = 3"):
        exec(cell, vars(made))
        renew()
        keys.append(_key(made.post, 5))
    assert len({*keys}) == 4


@pytest.mark.parametrize(
    "change",
    [
        "others.append(others[0])",
        "objects['two'] = Handler()",
        "handlers[1] = 1",
        "objects.clear()",
        "objects['three'] = [{'of': Handler()}]",
        "others.append(others)",
        "others.append([[0] * 1001, [lambda x: 2]])",
    ],
)
def test_nothing_is_read_anew_where_a_container_holds_no_other_code(module: Any, change: str) -> None:
    """A program puts values of its own there on each call."""
    made = module(HANDLING)
    _key(made.post, 5)
    known = made.post._self_definition.dependencies
    exec(change, vars(made))
    renew()
    assert made.post._self_definition.dependencies is known


SHELF = """
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, validate_call
from typing_extensions import TypeAliasType

from flowfn import CachePolicy, task

def rounded(x):
    return x + 10

def checked(x):
    return x + 20

def told(x):
    return x + 30

Amount = Annotated[int, AfterValidator(rounded), AfterValidator(lambda x: x + 40)]
Limited = Annotated[int, Field(ge=50)]
Told = TypeAliasType("Told", Annotated[int, AfterValidator(told)])
Given = TypeVar("Given")

class Pen(BaseModel):
    def cost(self):
        return 60

class Ink(BaseModel):
    def cost(self):
        return 70

class Box(BaseModel, Generic[Given]):
    items: list[Given]

Boxes = Box[Ink]
DEFAULTS = {"pen": 80}
LABELS = {"pen": 90}
height = ["of no field"]

def pens():
    return "of no type"

class Order(BaseModel):
    amount: Amount
    height: Limited
    pens: list[Annotated[Pen, "pens"]]
    kind: Literal["pens"] = "pens"
    told: Told
    prices: dict = Field(default_factory=lambda: dict(DEFAULTS))

@dataclass
class Label:
    text: "dict" = field(default_factory=LABELS.copy)

@validate_call
def checks(x: Annotated[int, AfterValidator(checked)]):
    return x

def made(table):
    def lookup(x):
        return table[x]
    return lookup

def with_table(table):
    def decorated(function):
        return lambda x: function(table[x])
    return decorated

lookup = made({5: 100})

@with_table({5: 110})
def looked_up(x):
    return x

@np.vectorize
def command(x):
    return x + 120

@task(cache_policy=CachePolicy())
def post(x):
    return Order(amount=x), Label(), checks(x), Boxes(items=[]), lookup(x), looked_up(x), command
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 10", "x + 11"),
        ("x + 20", "x + 21"),
        ("x + 30", "x + 31"),
        ("x + 40", "x + 41"),
        ("ge=50", "ge=51"),
        ("return 60", "return 61"),
        ("return 70", "return 71"),
        ('"pen": 80', '"pen": 81'),
        ('"pen": 90', '"pen": 91'),
        ("5: 100", "5: 101"),
        ("5: 110", "5: 111"),
        ("x + 120", "x + 121"),
    ],
)
@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(("", ""), id="annotations are text"),
        pytest.param(("from __future__ import annotations", ""), id="annotations are objects"),
        pytest.param(('list[Annotated[Pen, "pens"]]', '"list[Pen]"'), id="one is text within text"),
    ],
)
def test_an_edit_behind_a_class_or_a_decorator_busts(
    module: Any, spelling: tuple[str, str], old: str, new: str
) -> None:
    """What a hint leads to counts, and what a class's body or a library's decorator was given: validators behind an
    alias, a model's types, tables for defaults and decorators, the function that an object was made of."""
    source = SHELF.replace(*spelling)
    before, after = module(source), module(source.replace(old, new))
    assert _key(module(source).post, 5) == _key(before.post, 5) != _key(after.post, 5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["of no field"]', '["of none"]'),
        ('"of no type"', '"of none"'),
        ("maxsize=8", "maxsize=9"),
        ('DEFAULTS = {"pen"', 'DEFAULTS = {  "pen"'),
    ],
)
def test_what_only_shares_a_name_or_is_an_option_does_not_bust(module: Any, old: str, new: str) -> None:
    """A field is no global of its name, and how many results a helper remembers changes none."""
    source = SHELF.replace("def checked", "import functools\n\n@functools.lru_cache(maxsize=8)\ndef checked")
    before, after = module(source), module(source.replace(old, new))
    assert source.replace(old, new) != source
    assert _key(before.post, 5) == _key(after.post, 5)


DESK = """
import functools
from dataclasses import dataclass, field

import flowfn
from flowfn import CachePolicy, task
from pydantic import BaseModel, field_validator

FIELDS = ["low"]
KNOWN = {}

def registered(name):
    def kept(function):
        KNOWN[name] = function
        return function
    return kept

@dataclass(eq=True)
class Point:
    x: int

class Range(BaseModel):
    low: int
    high: int

    @field_validator(*FIELDS)
    @classmethod
    def checked(cls, value):
        return value + 1

class Clerk:
    @staticmethod
    def counts(*given):
        return len(given)

@registered("first")
def one(x):
    return x + 1

@registered("second")
def other(x):
    return x + 2

@functools.lru_cache(maxsize=8)
def remembered(x):
    def told(y):
        @registered("inner")
        def inner(z):
            return z
        return inner(y)
    return told(x)

@registered("above")
@flowfn.task(timeout=5)
@registered("below")
def step(x):
    return x

@task(cache_policy=CachePolicy())
def post(x):
    found = Point(x) == Point(x), Range(low=x, high=x), Clerk().counts(x), step(x).result()
    return found, KNOWN["first"](remembered(x))
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("eq=True", "eq=False", id="of a class"),
        pytest.param("@staticmethod", "@classmethod", id="of a method"),
        pytest.param('FIELDS = ["low"]', 'FIELDS = ["high"]', id="what one names"),
        pytest.param('"first")\ndef', '"third")\ndef', id="what registers a function under a name"),
        pytest.param('"inner"', '"outer"', id="inside a function"),
        pytest.param('"below"', '"beneath"', id="below flowfn's own"),
    ],
)
def test_an_edited_decorator_busts(module: Any, old: str, new: str) -> None:
    """What it is given decides what a function or class does, though its own source is the same."""
    before, after = module(DESK), module(DESK.replace(old, new))
    assert _key(before.post, 5) != _key(after.post, 5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("timeout=5", "timeout=6", id="options of a task"),
        pytest.param('"above"', '"over"', id="what is done with a task"),
        pytest.param("@functools.lru_cache(maxsize=8)\n", "", id="what is remembered"),
        pytest.param('@registered("first")', "@registered( 'first' )", id="how it is written"),
    ],
)
def test_a_decorator_that_changes_no_result_does_not_bust(module: Any, old: str, new: str) -> None:
    """flowfn's own, what is above one, and a cache in memory leave what a function gives as it is."""
    before, after = module(DESK), module(DESK.replace(old, new))
    assert DESK.replace(old, new) != DESK
    assert _key(before.post, 5) == _key(after.post, 5)


STAND = {
    "app": "from flowfn import CachePolicy, task\nimport conf\nfrom shop import Shop as Store, told\n"
    "conf.TABLE = [1]\nStore.known['b'] = 20\nStore.rates = {'b': 30}\n\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n"
    "    return x, conf.TABLE, Store.known, Store.rates, Store.names, Store.sizes, told(x)\n",
    "shop": "class Shop:\n    known = {}\n    names = []\n    rates = sizes = None\n\n"
    "def told(x):\n    return x, told.table\n\n"
    "Shop.names.append(40)\nsetattr(Shop, 'sizes', {50})\ntold.table = [60]\n"
    "def shown(*given):\n    return given\n\nshown(Shop, 70)\n",
    "conf": "TABLE = [0]\n",
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("TABLE = [1]", "TABLE = [2]", id="a module, in another one"),
        pytest.param("20", "21", id="an item of a class's table"),
        pytest.param("{'b': 30}", "{'b': 31}", id="a class's attribute"),
        pytest.param("40", "41", id="by a method"),
        pytest.param("50", "51", id="by setattr"),
        pytest.param("60", "61", id="a function's attribute"),
    ],
)
def test_what_a_module_gives_what_code_names_busts(found_in: Any, old: str, new: str) -> None:
    """A class, function or module is made in one place, and given what may change in place in another."""
    assert found_in(STAND, (old, new)) != found_in(STAND)


def test_a_call_with_a_class_gives_it_nothing(found_in: Any) -> None:
    """Classes and functions are handed to calls that only look at them."""
    assert found_in(STAND, ("Shop, 70", "Shop, 71")) == found_in(STAND)


READ = """
from functools import singledispatch

from pydantic import validate_call

from flowfn import CachePolicy, task

Given = int
CHOSEN = "first"

@validate_call
def checked(x: Given, y: int = 0):
    return x, y

@singledispatch
def told(x):
    return "other"

@told.register
def told_of_number(x: float):
    return "number"

@told.register
def told_of_text(x: str):
    return "text"

if CHOSEN == "first":
    class Side:
        def of(self, x):
            return x
else:
    class Side:
        def of(self, x):
            return -x

def plain(x: bytes):
    return x

@task(cache_policy=CachePolicy())
def post(x):
    return checked(x), told(x), Side().of(x), plain(x)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("y: int", "y: str", id="what a library's wrapper checks"),
        pytest.param("Given = int", "Given = str", id="what an annotation names"),
        pytest.param("x: float", "x: int", id="the type of an overload"),
        pytest.param('CHOSEN = "first"', 'CHOSEN = "second"', id="which of two classes there is"),
    ],
)
@pytest.mark.parametrize("first", ["", "from __future__ import annotations"])
def test_what_decides_which_code_runs_busts(module: Any, first: str, old: str, new: str) -> None:
    """Annotations that are read, and conditions above definitions, are code."""
    before, after = module(first + READ), module(first + READ.replace(old, new))
    assert _key(before.post, 5) != _key(after.post, 5)


def test_annotations_that_nobody_reads_do_not_bust(module: Any) -> None:
    """A function by itself does the same whatever they say."""
    before, after = module(READ), module(READ.replace("x: bytes", "x: bytearray"))
    assert _key(before.post, 5) == _key(after.post, 5)


LAZY = {
    "app": "from flowfn import CachePolicy, task\nimport tools\nfrom tools import TABLE\n\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n    return tools.clean(x), TABLE\n",
    "tools/__init__": "from importlib import import_module\n\nWHERE = {'clean': '.cleaning', 'TABLE': '.table'}\n\n"
    "def __getattr__(name):\n"
    "    if name not in WHERE:\n        raise AttributeError(name)\n"
    "    return getattr(import_module(WHERE[name], __name__), name)\n",
    "tools/cleaning": "from .base import STEP\n\ndef clean(x):\n    return x + 10 * STEP[0]\n",
    "tools/table": "TABLE = [20]\n",
    "tools/base": "STEP = [30]\n",
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("10 *", "11 *", id="a function"),
        pytest.param("[20]", "[21]", id="a table that is imported by its name"),
        pytest.param("[30]", "[31]", id="what the function names"),
        pytest.param("'TABLE': '.table'", "'TABLE': '.base'", id="where names are"),
    ],
)
def test_an_edit_behind_a_lazy_package_busts(found_in: Any, old: str, new: str) -> None:
    """What its `__getattr__` gives may be of any of its modules, which needn't be loaded yet."""
    project = LAZY | {"tools/base": LAZY["tools/base"] + "TABLE = [0]\n"}
    assert found_in(project, (old, new)) != found_in(project)


def test_what_a_function_imports_that_makes_a_table_busts(found_in: Any) -> None:
    """In its body, where the line that makes the table doesn't name it."""
    project = {
        "app": "from flowfn import CachePolicy, task\n\ndef load():\n    from base import STEP\n    return [STEP[0]]\n"
        "\nTABLE = load()\n\n@task(cache_policy=CachePolicy())\ndef price(x):\n    return x, TABLE\n",
        "base": "STEP = [30]\n",
    }
    assert found_in(project, ("[30]", "[31]")) != found_in(project)


BRANCH = """
import sys

import wrapt

from flowfn import CachePolicy, task

class Kept:
    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x)

@Kept
def kept(x):
    return x + 11

class Table(dict):
    def of(self, x):
        return x + 21

TABLE = Table()

class Service:
    def of(self, x):
        return x + 31

service = Service()

class Report:
    def total(self, x):
        return service.of(x) + FUNCTIONS["last"](x)

def last(x):
    return x + 41

FUNCTIONS = {"last": last}

@wrapt.decorator
def added(wrapped, instance, args, kwargs):
    return wrapped(*args) + 51

@added
def plain(x):
    return x

class Aside:
    @staticmethod
    def tail(x):
        return x + 61

here = sys.modules[__name__]

@task(cache_policy=CachePolicy())
def post(x):
    module = here
    return kept(x) + TABLE.of(x) + Report().total(x) + plain(x) + module.Aside.tail(x)
"""


@pytest.mark.parametrize("old", ["x + 11", "x + 21", "x + 31", "x + 41", "(*args) + 51", "x + 61"])
def test_an_edit_behind_an_object_busts(module: Any, old: str) -> None:
    """What a decorator that is a class keeps, the class of a mapping, what a method names, a decorator that `wrapt`
    makes, and a module that is a value."""
    before, after = module(BRANCH), module(BRANCH.replace(old, f"{old}0"))
    assert _key(module(BRANCH).post, 5) == _key(before.post, 5) != _key(after.post, 5)


ROWS = """
from dataclasses import dataclass, field, make_dataclass
from typing import NamedTuple, TypedDict
import attrs
from pydantic import BaseModel, Field, create_model
from flowfn import CachePolicy, task

def bounded(n):
    class Row(BaseModel):
        x: int = Field(0, ge=n)
    return Row

def listing(n):
    @dataclass
    class Row:
        x: list = field(default_factory=lambda: [n])
    return Row

def filling(n):
    @attrs.define
    class Row:
        x: list = attrs.field(factory=lambda: [n])
    return Row

def converting(n):
    @attrs.define
    class Row:
        x: int = attrs.field(default=1, converter=lambda value: value * n)
    return Row

def defaulting(n):
    class Row(NamedTuple):
        x: int = n
    return Row

def keyed(n):
    return TypedDict("Row", {f"x{n}": int})

def naming(row):
    @task(cache_policy=CachePolicy())
    def post(x):
        return row
    return post

Row = MADE
post_captured = naming(MADE)

@task(cache_policy=CachePolicy())
def post(x):
    return Row

class Longer(Row):
    pass

@task(cache_policy=CachePolicy())
def post_longer(x):
    return Longer
"""

CALLS = {
    **{f"{name}(5)": f"{name}(6)" for name in ("bounded", "listing", "filling", "converting", "defaulting", "keyed")},
    'create_model("Row", x=(int, Field(10, ge=5)))': 'create_model("Row", x=(int, Field(10, ge=6)))',
    'make_dataclass("Row", [("x", int, field(default=5))])': 'make_dataclass("Row", [("x", int, field(default=6))])',
    'TypedDict("Row", {"x": int})': 'TypedDict("Row", {"y": int})',
    'NamedTuple("Row", [("x", int)])': 'NamedTuple("Row", [("x", str)])',
}  # fmt: skip


@pytest.mark.parametrize("by", ["post", "post_longer", "post_captured"])
@pytest.mark.parametrize(("old", "new"), CALLS.items())
def test_an_edit_of_what_makes_a_class_busts(module: Any, by: str, old: str, new: str) -> None:
    """Of a class that a call makes the line counts, and the options of its fields: its text has none of them."""
    keys = [_key(vars(module(ROWS.replace("MADE", made)))[by], 5) for made in (old, old, new)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("made", ["bounded(5)", "converting(5)", 'create_model("Row", x=(set, {1, 2}))'])
def test_a_class_that_a_call_makes_is_one_in_all_processes(
    tmp_path: Path, run_python: Any, made: str
) -> None:
    """What was kept is found by the next process."""
    (tmp_path / "app.py").write_text(ROWS.replace("MADE", made))
    for by in ("post_longer", "post_captured"):
        find = FIND.replace("price", by)
        found = {run_python("-B", "-c", find, PYTHONHASHSEED=seed).stdout.strip() for seed in "12"}
        assert [each.partition(":")[0] for each in found] == [
            f"app.{by}" if by == "post_longer" else "app.naming.<locals>.post"
        ]


def test_a_reassigned_constant_counts_at_once(project: Project) -> None:
    """A constant that is given another value is another key from then on; what the code itself counts up isn't."""
    before = project.keys()["price"]
    module = sys.modules["shop"]
    module.RATE = 4  # type: ignore[attr-defined]
    changed = _key(module.price, 5)
    module.RATE = 3  # type: ignore[attr-defined]
    assert changed != before == _key(module.price, 5)
    before = _key(module.Shop.total, None, 5)
    module.Shop.seen = 5  # type: ignore[attr-defined]
    assert _key(module.Shop.total, None, 5) == before
    module.Shop.tax = 8  # type: ignore[attr-defined]
    assert _key(module.Shop.total, None, 5) != before


def test_an_attribute_of_a_function_counts_at_once(project: Project) -> None:
    """One that the code names, of a helper's as of the task's own."""
    before = project.keys()["send"]
    module = sys.modules["shop"]
    module.added.rate = 10  # type: ignore[attr-defined]
    assert _key(module.send, 5) != before


def test_a_patched_helper_counts_at_once(project: Project) -> None:
    """A helper that a name is rebound to is other code."""
    before = project.keys()["price"]
    module = sys.modules["shop"]
    module.clean = lambda x: x  # type: ignore[attr-defined]
    assert _key(module.price, 5) != before


def test_constants_of_one_name_are_told_apart(project: Project) -> None:
    """Two modules have a constant each under one name: if they swap their values, what names both gets another key."""
    project.keys()
    shop, helpers = sys.modules["shop"], sys.modules["helpers"]

    def key(of_shop: int, of_helpers: int) -> str:
        shop.RATE, helpers.RATE = of_shop, of_helpers  # type: ignore[attr-defined]
        return _key(shop.price, 5)

    assert key(1, 2) != key(2, 1)


def test_another_process_has_the_same_keys(project: Project, tmp_path: Path, run_python: Any) -> None:
    """Keys depend on nothing of the process: neither addresses nor the seed of hashes."""
    here = project.keys()["price"]
    program = (
        "import shop; from flowfn.caching.keys import key_of; "
        "print(key_of(shop.price._self_definition, (5,), {}).text)"
    )
    found = {run_python("-c", program, PYTHONHASHSEED=seed).stdout.strip() for seed in ("1", "2")}
    assert found == {here}


def test_what_is_done_to_a_table_does_not_count(project: Project) -> None:
    """What may change in place counts by the line that makes it: it is no input."""
    before = project.keys()["price"]
    module = sys.modules["shop"]
    module.NAMES.append("more")  # type: ignore[attr-defined]
    assert _key(module.price, 5) == before


SETTINGS = {
    "app": "from flowfn import CachePolicy, task\nimport tables\nfrom tables.rates import RATES as KNOWN, Rate\n"
    "own = Rate(7)\n\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n"
    "    return x * KNOWN['low'] + tables.EXTRA[0] + own.value\n",
    "tables/__init__": "EXTRA: list[int] = [5]\n",
    "tables/rates": "from .base import RATES\n\n"
    "class Rate:\n    def __init__(self, value):\n        self.value = value\n",
    "tables/base": "RATES = dict(low=1)  # a call, not a literal\n",
    "defaults": "KNOWN = {'low': 9}\n",
    "over": "KNOWN = {'low': 7}\n",
}

FIND = (
    "import app; from flowfn.caching.keys import key_of; "
    "print(key_of(app.price._self_definition, (5,), {}).text)"
)


@pytest.fixture
def found_in(tmp_path: Path, run_python: Any) -> Callable[..., str]:
    """The key that a process of its own finds for a project's task, after edits; `first` runs before."""

    def found(project: dict[str, str], *edits: tuple[str, str], first: str = "") -> str:
        for name, source in project.items():
            for old, new in edits:
                source = source.replace(old, new)
            file = tmp_path / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(source)
        return str(run_python("-B", "-c", f"{first}\n{FIND}").stdout.strip())

    return found


@pytest.fixture
def found_by(found_in: Callable[..., str]) -> Callable[..., str]:
    """That of the project with settings."""
    return partial(found_in, SETTINGS)


@pytest.mark.parametrize(
    ("old", "new", "busts"),
    [
        ("dict(low=1)", "dict(low=2)", True),
        ("# a call, not a literal", "\nif __name__ == '__main__':\n    print(RATES)", False),
        ("= [5]", "= [6]", True),
        ("Rate(7)", "Rate(8)", True),
        ("EXTRA: list[int] = [5]", "EXTRA = [5]", False),
        ("# a call, not a literal", "# changed", False),
        ("from .base", "# moved\nfrom .base", False),
    ],
)
def test_the_line_that_makes_a_table_counts_wherever_it_is(
    found_by: Callable[..., str], old: str, new: str, busts: bool
) -> None:
    """A cached task is stale once a table or a settings object that it names is made of other code."""
    before = found_by()
    assert before.startswith("app.price:")
    assert before == found_by()
    assert (before != found_by((old, new))) == busts


@pytest.mark.parametrize(
    "line",
    [
        "TABLE = [{}]",
        "if (TABLE := [{}]): pass",
        "for TABLE in ([0], [{}]): TABLE += [3]",
        "with nullcontext([{}]) as TABLE: pass",
        "TABLE = []; TABLE.append({})",
        "BASE = [{}]; TABLE = [*BASE]",
        "RATE = {}; TABLE = dict(rate=RATE)",
        "RATES = [{}]; TABLE = [rate for rate in RATES]",
        "load = lambda: [{}]; TABLE = load()",
        "TABLE = [1, 2, 3]; del TABLE[{}]",
        "TABLE = [1, 2, 3]; TABLE.sort(reverse={} == 1)",
        "def fill(table): table.append({})\nTABLE = []\nfill(TABLE)",
        "TABLE = []\nfor _ in range({}): TABLE.append(1)",
        "TABLE = []\nwhile len(TABLE) < {}: TABLE.append(1)",
        "MODE = {}\nif MODE == 1: TABLE = [1]\nelse: TABLE = [2]",
        "MODE = {}\nmatch MODE:\n    case 1: TABLE = [1]\n    case _: TABLE = [2]",
        "MODE = {}\nif MODE == 1:\n    def load(): return [1]\nelse:\n    def load(): return [2]\nTABLE = load()",
        "def load():\n    global TABLE\n    TABLE = [{}]\nload()",
        "TABLE = []\ndef load(): TABLE.append({})\nload()",
        "TABLE = {{5: 0}}\ndef load(): TABLE[5] += {}\nload()",
        "TABLE = []; same = TABLE; same.append({})",
        "TABLE = same = []; same += [{}]",
        "TABLE = [[0]]; first = TABLE[0]; last = first; last[0] = {}",
        "TABLE = {{}}; first = TABLE.setdefault(5, {{}}); first['x'] = {}",
        "TABLE, OTHER = [0], [0]\nfor each in TABLE, OTHER: each[0] = {}",
        "TABLE = {{5: {{}}}}\nfor each in TABLE.values(): each['x'] = {}",
        "TABLE = []; put = TABLE.append; put({})",
        "TABLE = []; same = None or TABLE; same.append({})",
        "TABLE = []; OTHER = []; same = TABLE if OTHER else OTHER; same.append({})",
        "globals()['TABLE'] = [{}]",
        "TABLE = [1, 2, 3]; first = TABLE.pop({})",
        "TABLE = {{}}; entry = TABLE.setdefault(5, {})",
        "TABLE = {{}}; TABLE.get(5) or TABLE.update(x={})",
        "TABLE = [1, 2, 3]\nassert TABLE.pop({})",
        "TABLE = []; [TABLE.append(each) for each in range({})]",
        "TABLE = []; any(TABLE.append(each) for each in range(5) if each > {})",
        "TABLE = []; list(map(TABLE.append, range({})))",
        "TABLE = []\ndef load(each):\n    TABLE.append(each)\n    return 1\nloaded = load({})",
        "TABLE = []\ndef fill(table, each):\n    table.append(each)\n    return 1\nloaded = fill(TABLE, {})",
        "TABLE = []\ndef filled(make):\n    TABLE.append(make())\n    return make\n@filled\ndef more(): return {}",
        "TABLE = {{}}\ndef ranked(rank):\n    return lambda made: TABLE.setdefault(made.__name__, rank)\n"
        "@ranked({})\ndef more(): pass",
        "TABLE = []\nwith nullcontext(TABLE) as same: same.append({})",
    ],
)
def test_whatever_gives_a_table_its_name_counts(module: Any, line: str) -> None:
    """An assignment within an expression, a loop and a `with` at the top of a module do, too, and what is put into it
    there, what it is made of, and what decides whether and how often."""
    text = "from contextlib import nullcontext\nfrom flowfn import CachePolicy, task\n{}\n"
    text += "@task(cache_policy=CachePolicy())\ndef post(x): return TABLE[x]\n"
    keys = [_key(module(text.format(line.format(value))).post, 5) for value in (1, 2, 1)]
    assert (len({*keys}), keys[0]) == (2, keys[2])


@pytest.mark.parametrize(
    "line",
    [
        "TABLE = []; other = list(TABLE); other.append({})",
        "TABLE = []; other = len(TABLE); other += {}",
        "TABLE = []; same = TABLE; del same; other = {}",
        "TABLE = []\ndef later(): TABLE.append({})",
        "TABLE = []\ndef later(): return [TABLE.append(each) for each in range({})]",
        "TABLE = []\ndef told(table): return len(table) + {}\nother = told(TABLE)",
        "TABLE = []\ndef kept(made): return made\n@kept\ndef other(): return {}",
        "TABLE = []\ndef other(): return {}\nother()",
        "TABLE = []\ndef load(): TABLE.append({})\nif __name__ == '__main__': load()",
    ],
)
def test_what_is_done_to_another_value_is_not_done_to_the_table(module: Any, line: str) -> None:
    """What a function made of it is another value, and a function that nobody calls does nothing yet."""
    text = "from flowfn import CachePolicy, task\n{}\n"
    text += "@task(cache_policy=CachePolicy())\ndef post(x): return TABLE[x]\n"
    keys = [_key(module(text.format(line.format(value))).post, 5) for value in (1, 2)]
    assert keys[0] == keys[1]


@pytest.mark.parametrize("kind", ["abc.ABC", "Protocol"])
def test_what_counts_as_of_an_abstract_class_counts(module: Any, kind: str) -> None:
    """What is registered below it decides what `isinstance` says."""
    text = "import abc\nfrom typing import Protocol\nfrom flowfn import CachePolicy, task\n"
    text += "class Known({}): pass\nKnown.register({})\n"
    text += "@task(cache_policy=CachePolicy())\ndef post(x): return isinstance(x, Known)\n"
    keys = [_key(module(text.format(kind, known)).post, 5) for known in ("int", "str", "int")]
    assert (len({*keys}), keys[0]) == (2, keys[2])


def test_what_a_defaultdict_makes_of_a_key_that_it_lacks_counts() -> None:
    """Two are equal that make others: a task that asks for a key gets its own argument's."""

    @task(cache=MemoryCache())
    def look(counts: Any) -> Any:
        return counts["lacking"]

    given = [defaultdict(int), defaultdict(list), defaultdict(int)]
    assert [look(each).result() for each in given] == [0, [], 0]
    assert look.cache.explain(defaultdict(list)).hit


CONF = """
import datetime, os, random, secrets, tempfile, time, uuid
from pathlib import Path
DRAWN = [random.randint(0, 10 ** 6)]
TOLD = {told}
"""

ORDERS = """
import conf, datetime, os, random, secrets, tempfile, time, uuid
from conf import TOLD as NAMED
from dataclasses import dataclass, field
from pathlib import Path
from flowfn import CachePolicy, task

DRAWN = [random.randint(0, 10 ** 6)]
TOLD = {told}

@dataclass
class Order:
    made_with: list = field(default_factory={made_with})

@task(cache_policy=CachePolicy())
def price(x):
    return Order()
"""


@pytest.fixture
def found_of_orders(tmp_path: Path, run_python: Any) -> Callable[..., str]:
    """The key that a process of its own finds, by how a class is made and what the environment says."""

    def found(told: str, made_with: str = "lambda: [TOLD]", env: str = "") -> str:
        (tmp_path / "app.py").write_text(ORDERS.format(told=told, made_with=made_with))
        (tmp_path / "conf.py").write_text(CONF.format(told=told))
        return str(run_python("-B", "-c", FIND, TOLD=env).stdout.strip())

    return found


@pytest.mark.parametrize(
    "made_with", ["lambda: [NAMED]", "lambda: [conf.TOLD]", "[TOLD].copy", "(lambda: lambda: [TOLD])()"]
)
def test_what_a_class_is_made_with_counts_wherever_its_body_names_it(
    found_of_orders: Callable[..., str], made_with: str
) -> None:
    """What an object holds is an input, though the line that gives it is the same."""
    first, again, other = (found_of_orders("os.environ['TOLD']", made_with, env) for env in "112")
    assert first.startswith("app.price:")
    assert first == again != other


@pytest.mark.parametrize(
    ("told", "values"),
    [
        ("os.environ['TOLD']", ["3f2a9c0de1b74c5f8a6b0c1d2e3f4a5b", "8a6b0c1d2e3f4a5b3f2a9c0de1b74c5f"]),
        ("uuid.UUID(os.environ['TOLD'])", ["3f2a9c0de1b74c5f8a6b0c1d2e3f4a5b", "8a6b0c1d2e3f4a5b3f2a9c0de1b74c5f"]),
        ("float(os.environ['TOLD'])", ["0.1234567890123456", "0.6543210987654321"]),
        ("random.Random(os.environ['TOLD']).random()", ["1", "2"]),
        ("datetime.datetime.now().year + int(os.environ['TOLD'])", ["1", "2"]),
        ("time.strftime(os.environ['TOLD'], time.gmtime(0))", ["%Y", "%j"]),
        ("hash(int(os.environ['TOLD']))", ["1", "2"]),
    ],
    ids=["token", "uuid", "measure", "seed", "year", "format", "hash"],
)  # fmt: skip
def test_a_value_that_looks_drawn_counts_where_the_line_does_not_draw_it(
    found_of_orders: Callable[..., str], told: str, values: list[str]
) -> None:
    """A token of the environment is the same in each process that is given it."""
    first, other = (found_of_orders(told, env=value) for value in values)
    assert first.startswith("app.price:")
    assert first != other


DRAWN = [
    ("time.time()", "lambda: [TOLD]"),
    ("time.time()", "lambda: [NAMED]"),
    ("time.perf_counter()", "lambda: [conf.TOLD]" ),
    ("datetime.datetime.now()", "lambda: [TOLD]"),
    ("uuid.uuid4()", "lambda: [TOLD]"),
    ("f'run {uuid.uuid4().hex}'", "lambda: [TOLD]"),
    ("random.random()", "lambda: [TOLD]"),
    ("secrets.token_hex()", "lambda: [TOLD]"),
    ("Path(tempfile.mkdtemp())", "lambda: [TOLD]"),
    ("os.urandom(16)", "lambda: [TOLD]"),
    ("os.urandom(4)", "lambda: [TOLD]"),
    ("os.getpid()", "lambda: [TOLD]"),
    ("uuid.uuid4().hex[:8]", "lambda: [TOLD]"),
    ("secrets.token_hex(4)", "lambda: [TOLD]"),
    ("random.randint(0, 10 ** 6)", "lambda: [TOLD]"),
    ("random.Random().randint(0, 10 ** 6)", "lambda: [TOLD]"),
    ("tempfile.NamedTemporaryFile().name", "lambda: [TOLD]"),
    ("time.ctime()", "lambda: [TOLD]"),
    ("time.gmtime()", "lambda: [TOLD]"),
    ("time.strftime('%H%M%S')", "lambda: [TOLD]"),
    ("hash('a')", "lambda: [TOLD]"),
    ("DRAWN[0]", "lambda: [TOLD]"),
    ("object()", "lambda: [TOLD]"),
]  # fmt: skip


def test_what_each_process_draws_for_a_class_counts_by_its_line(tmp_path: Path, run_python: Any) -> None:
    """A class needn't use what it is made with: its tasks find what another process kept."""

    def found(edited: str = "{}") -> list[str]:
        for number, (told, made_with) in enumerate(DRAWN):
            parts = {"told": edited.format(told), "made_with": made_with}
            app = ORDERS.format(**parts).replace("import conf,", f"import conf{number} as conf,")
            (tmp_path / f"app{number}.py").write_text(app.replace("from conf ", f"from conf{number} "))
            (tmp_path / f"conf{number}.py").write_text(CONF.format(**parts))
        finds = "".join(f"{FIND.replace('app', f'app{number}')}\n" for number in range(len(DRAWN)))
        keys: list[str] = run_python("-B", "-c", finds).stdout.split()
        return keys

    before, again, edited = found(), found(), found("[{}]")
    assert [key.partition(":")[0] for key in before] == [f"app{n}.price" for n in range(len(DRAWN))]
    assert before == again
    assert [DRAWN[n] for n in range(len(DRAWN)) if edited[n] == before[n]] == []


MAKING = {
    "app": "from flowfn import CachePolicy, task\nfrom tables import RATES\n\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n    return x * RATES['low']\n",
    "tables/__init__": "from . import base\nfrom tables.rates import load as loaded\n\nRATES = loaded(base.PATH)\n",
    "tables/rates": "from .base import *\n\ndef load(path):\n    return Loader(path).read()\n\n"
    "def other():\n    return 4\n",
    "tables/base": "from flowfn import task\n\nPATH = 'rates.csv'\nUNIT = 1\n\n"
    "@task(timeout=5)\ndef unit():\n    return UNIT\n\nclass Loader:\n    def __init__(self, path):\n"
    "        self.path = path\n\n    def read(self):\n        return dict(low=unit)\n",
}

LAZILY = {
    "app": "from flowfn import CachePolicy, task\n\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n    IMPORT\n    return VALUE\n",
    "tables/__init__": "",
    "tables/rates": "from .base import Loader\n\ndef load(path):\n    return Loader(path).read()\n\n"
    "def other():\n    return 4\n",
    "tables/base": MAKING["tables/base"],
}


@pytest.mark.parametrize(
    ("old", "new", "busts"),
    [
        ("rates.csv", "rates.txt", True),
        ("UNIT = 1", "UNIT = 2", True),
        ("return UNIT", "return UNIT + 1", True),
        ("timeout=5", "timeout=6", False),
        ("dict(low=unit)", "dict(low=unit, high=2)", True),
        ("Loader(path)", "Loader(path + '.gz')", True),
        ("return 4", "return 5", False),
        ("def load(path)", "# how\ndef load(path: str) -> dict", False),
    ],
)
def test_what_the_line_names_that_makes_a_table_counts(
    found_in: Callable[..., str], old: str, new: str, busts: bool
) -> None:
    """The function that gives it, what that names, and what it is given, in whatever files."""
    before = found_in(MAKING)
    assert before.startswith("app.price:")
    assert (before != found_in(MAKING, (old, new))) == busts


@pytest.mark.parametrize(
    "made",
    [
        pytest.param("def load():\n    return {'low': 1}\n\nRATES = load()", id="by a function"),
        pytest.param("class RATES:\n    pass\n\nRATES.low = {}", id="a class's table"),
    ],
)
def test_a_script_that_is_started_has_the_keys_that_it_has_where_it_is_imported(
    found_in: Callable[..., str], tmp_path: Path, run_python: Any, made: str
) -> None:
    """Its module goes by one name in what the line leads to that makes a table, too."""
    source = MAKING["app"].replace("from tables import RATES", made)
    main = f"if __name__ == '__main__':\n    import sys\n    sys.modules['app'] = sys.modules['__main__']\n    {FIND}\n"
    imported = found_in({"app": source})
    assert imported.startswith("app.price:")
    (tmp_path / "app.py").write_text(source + main)
    assert run_python("-B", "app.py").stdout.strip() == imported


RATED = {
    "app": "from flowfn import CachePolicy, task\nIMPORT\nFILL\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n    return x * VALUE\n",
    "rates": "RATES = {'low': 0}\nOTHERS = {}\nSHARE = None\n\n"
    "def load(low, high=0):\n    RATES.update(low=low, high=high)\n\n"
    "def rated(low):\n    def kept(made):\n        RATES[made.__name__] = low\n        return made\n    return kept\n\n"
    "def share(value):\n    global SHARE\n    SHARE = [value]\n\n"
    "def other(value):\n    OTHERS[value] = value\n\n"
    "def shown(value):\n    return len(RATES) + value\n\n"
    "def of(name):\n    return RATES[name]\n\ndef part():\n    return SHARE[0]\n",
}


@pytest.mark.parametrize(
    ("imported", "fill", "value", "busts"),
    [
        ("import rates", "rates.load(1)", "rates.RATES['low']", True),
        ("import rates", "rates.load(1)", "rates.of('low')", True),
        ("from rates import RATES, load", "load(1)", "RATES['low']", True),
        ("from rates import load as fill, of", "done = fill(2, high=1)", "of('low')", True),
        ("from rates import load, of", "for n in range(1): load(n)", "of('low')", True),
        ("from rates import rated, RATES", "@rated(1)\ndef low(): pass", "RATES['low']", True),
        ("import rates", "rates.share(1)", "rates.part()", True),
        ("import rates", "rates.load(1); rates.load(2)", "rates.of('low')", True),
        ("import rates", "rates.other(1)", "rates.of('low')", False),
        ("import rates", "SHOWN = rates.shown(1)", "rates.of('low')", False),
        ("import rates", "def later(): rates.load(1)", "rates.of('low')", False),
        ("import rates", "if __name__ == '__main__': rates.load(1)", "rates.of('low')", False),
    ],
)
def test_what_its_module_has_others_put_into_their_tables_counts(
    found_in: Callable[..., str], imported: str, fill: str, value: str, busts: bool
) -> None:
    """A call at the top of the module counts where it changes what the task names, or what a helper does."""
    edits = ("IMPORT", imported), ("FILL", fill), ("VALUE", value)
    before = found_in(RATED, *edits)
    assert before.startswith("app.price:")
    edited = fill.replace("1", "3") if "load(2)" not in fill else "rates.load(2); rates.load(1)"
    assert (before != found_in(RATED, edits[0], ("FILL", edited), edits[2])) == busts


CONFIGURED = {
    "app": "from flowfn import CachePolicy, task\nfrom helper import rate\nIMPORT\nDONE\n"
    "@task(cache_policy=CachePolicy())\ndef price(x):\n    return x * rate()\n",
    "helper": "from conf import settings\n\ndef rate():\n    return settings.rate\n",
    "conf": "class Settings:\n    def __init__(self):\n        self.rate = 0\n\n"
    "    def configure(self, **options):\n        self.__dict__.update(options)\n\n"
    "settings, others = Settings(), Settings()\n",
}


@pytest.mark.parametrize(
    ("imported", "done", "busts"),
    [
        ("from conf import settings", "settings.configure(rate=1)", True),
        ("from conf import settings as mine", "mine.rate = 1", True),
        ("import conf", "conf.settings.configure(rate=1)", True),
        ("from conf import others", "others.configure(rate=1)", False),
        ("from conf import settings", "if __name__ == '__main__': print(1)", False),
    ],
)
def test_what_its_module_does_to_what_a_helper_names_counts(
    found_in: Callable[..., str], imported: str, done: str, busts: bool
) -> None:
    """It needn't be named by the task itself."""
    before = found_in(CONFIGURED, ("IMPORT", imported), ("DONE", done))
    assert before.startswith("app.price:")
    edited = found_in(CONFIGURED, ("IMPORT", imported), ("DONE", done.replace("1", "2")))
    assert (before != edited) == busts


@pytest.mark.parametrize(
    ("made", "value"),
    [
        ("for name in ['RATES']:\n    globals()[name] = [1]", "rates.RATES"),
        ("import sys\nfor name in ['RATES']:\n    setattr(sys.modules[__name__], name, [1])", "rates.RATES"),
        ("vars().update(RATES=[1])", "rates.RATES"),
        ("class Base:\n    def __init_subclass__(cls, rate):\n        RATES[cls.__name__] = rate\n\nRATES = {}\n"
         "class Low(Base, rate=1): pass", "rates.RATES"),
        ("class Base:\n    rates = {}\n    def __init_subclass__(cls, rate):\n        Base.rates[cls.__name__] = rate\n"
         "class Low(Base, rate=1): pass", "rates.Base.rates"),
        ("class Meta(type):\n    def __init__(cls, *given):\n        RATES.append(cls.rate)\n\nRATES = []\n"
         "class Low(metaclass=Meta):\n    rate = 1", "rates.RATES"),
        ("class Rate:\n    def __init__(self, rate):\n        self.rate = rate\n"
         "    def __set_name__(self, of, name):\n        RATES[name] = self.rate\n\nRATES = {}\n"
         "class Shop:\n    low = Rate(1)", "rates.RATES"),
    ],
    ids=["globals", "setattr", "vars", "subclass", "class attribute", "metaclass", "name in a class"],
)  # fmt: skip
def test_what_fills_a_table_unseen_by_its_name_counts(
    found_in: Callable[..., str], made: str, value: str
) -> None:
    """A name that no line gives a value counts by that; and a class that is defined may be what fills a table."""
    project = {
        "app": "import rates\nfrom flowfn import CachePolicy, task\n\n"
        f"@task(cache_policy=CachePolicy())\ndef price(x):\n    return x, {value}\n",
        "rates": f"{made}\n",
    }
    before = found_in(project)
    assert before.startswith("app.price:")
    assert before == found_in(project)
    assert before != found_in(project, ("1", "2"))


def test_a_connection_that_another_module_sets_counts_for_nothing(found_in: Callable[..., str]) -> None:
    """Only its type tells it from others, and results are kept all the same."""
    project = {
        "app": "import rates, threading\nfrom flowfn import CachePolicy, task\nrates.lock = threading.Lock()\n\n"
        "@task(cache_policy=CachePolicy())\ndef price(x):\n    return x, rates.lock\n",
        "rates": "",
    }
    assert found_in(project) == found_in(project) != ""


@pytest.mark.parametrize(
    ("imported", "value"),
    [
        ("from tables.rates import load", "load(x)"),
        ("from tables.rates import load as give", "give(x)"),
        ("import tables.rates", "tables.rates.load(x)"),
        ("import tables.rates as found", "found.load(x)"),
        ("from tables import rates", "rates.load(x)"),
        ("from os import path; from tables.rates import load", "[load(each) for each in path.split(x)]"),
    ],
)
def test_what_a_body_imports_counts(found_in: Callable[..., str], imported: str, value: str) -> None:
    """By its text, whether it is loaded yet or not; and nothing is loaded to find it."""
    edits = ("IMPORT", imported), ("VALUE", value)
    before = found_in(LAZILY, *edits)
    assert before.startswith("app.price:")
    assert before == found_in(LAZILY, *edits, first="import tables.rates")
    assert before == found_in(LAZILY, *edits, ("return 4", "return 5\n\nraise ValueError"))
    assert before != found_in(LAZILY, *edits, ("UNIT = 1", "UNIT = 2"))


def test_what_a_body_imports_from_a_plain_folder_counts(found_in: Callable[..., str]) -> None:
    """A package needs no `__init__.py`."""
    project = {name: source for name, source in LAZILY.items() if name != "tables/__init__"}
    edits = ("IMPORT", "from tables import rates"), ("VALUE", "rates.load(x)")
    assert found_in(project, *edits) != found_in(project, *edits, ("UNIT = 1", "UNIT = 2"))


def test_a_module_that_a_body_imports_is_read_again_once_it_ran_again(
    tmp_path: Path, run_python: Any
) -> None:
    """As in a notebook with autoreload: what it has now is what runs."""
    (tmp_path / "rates.py").write_text("def load(x): return 1\n")
    (tmp_path / "app.py").write_text(
        "from flowfn import CachePolicy, task\n@task(cache_policy=CachePolicy())\ndef price(x):\n"
        "    import rates\n    return rates.load(x)\n"
    )
    edit = "import pathlib; pathlib.Path('rates.py').write_text('def load(x): return 1 + 1'); "
    again = "import importlib; importlib.reload(app.price.func.__globals__['rates']); "
    program = f"import app, rates; app.rates = rates; {FIND}; {edit}{again}{FIND}"
    first, second = run_python("-B", "-c", program).stdout.split()
    assert first != second


def test_the_line_counts_of_what_came_with_all_names_of_a_module(found_by: Callable[..., str]) -> None:
    """`from … import *` is followed as an import by name is, from module to module."""
    stars = [
        ("RATES as KNOWN, Rate", "*"),
        ("KNOWN['low']", "RATES['low']"),
        ("from .base import RATES", "from .base import *"),
    ]
    before = found_by(*stars)
    assert before == found_by(*stars)
    assert before != found_by(*stars, ("dict(low=1)", "dict(low=2)"))


def test_the_line_counts_of_the_table_that_a_name_means(found_by: Callable[..., str]) -> None:
    """Of two imports of a name the one that it is, and beside what is done to a table the line that made it."""
    over = [
        ("RATES as KNOWN, Rate", "Rate\nfrom defaults import KNOWN\nfrom over import *"),
        ("from .base import RATES", "from .base import RATES\nRATES |= {'high': 3}"),
    ]
    before = found_by(*over)
    assert before.startswith("app.price:")
    assert before == found_by(*over)
    assert before != found_by(*over, ("'low': 7", "'low': 8"))
    assert before == found_by(*over, ("'low': 9", "'low': 10"))
    changed = [over[1]]
    before = found_by(*changed)
    assert before != found_by(*changed, ("dict(low=1)", "dict(low=2)"))
    assert before != found_by(*changed, ("'high': 3", "'high': 4"))


@pytest.mark.parametrize("named", ["RATES", "load"])
def test_the_line_counts_of_what_a_failed_import_stands_beside(
    found_in: Callable[..., str], named: str
) -> None:
    """Of `try … except ImportError` any import may have given the name."""
    table = "RATES" if named == "RATES" else "load()"
    project = {
        "app": f"try:\n    from fast import {named}\nexcept ImportError:\n    from slow import {named}\n"
        + MAKING["app"].replace("from tables import RATES", f"RATES = {table}"),
        "fast": "RATES = {'low': 1}\n\ndef load():\n    return {'low': 2}\n",
        "slow": "RATES = {'low': 3}\n\ndef load():\n    return {'low': 4}\n",
    }
    if named == "RATES":
        project["app"] = project["app"].replace("RATES = RATES\n", "")
    before = found_in(project)
    assert before.startswith("app.price:")
    assert before != found_in(project, ("'low': 1", "'low': 5"), ("'low': 2", "'low': 6"))


@pytest.mark.parametrize(
    "around", ["{}", "if True:\n    {}", "{}\nRATES['new'] = 1"], ids=["", "inside", "more"]
)
def test_a_long_table_counts_as_it_stands(found_by: Callable[..., str], around: str) -> None:
    """One value among a thousand lines makes it another."""
    lines = "".join(f"    'key {number}': {number},\n" for number in range(1000))
    table = "RATES = dict(low=1)", around.format(f"RATES = dict(low=1) | {{\n{lines}}}")
    before = found_by(table)
    assert before == found_by(table)
    assert before != found_by((table[0], table[1].replace("777,", "778,")))


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("RATES = dict(low=1)", id="of a table"),
        pytest.param(
            "from pydantic import validate_call\n\n@validate_call(config={'title': 'low=1'})\ndef RATES():\n    pass",
            id="above code",
        ),
    ],
)
def test_a_line_that_changed_under_the_process_counts_for_it_alone(
    tmp_path: Path, run_python: Any, table: str
) -> None:
    """What another process, which runs the new line, keeps is never taken for the result of the old one."""
    for name, source in (SETTINGS | {"tables/base": table}).items():
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
    edited = (
        "import app, os, pathlib, time; "
        "base = pathlib.Path('tables/base.py'); base.write_text(base.read_text().replace('low=1', 'low=2')); "
        "later = time.time() + 60; os.utime(base, (later, later)); "
    )
    old = run_python("-B", "-c", edited + FIND).stdout.strip()
    os.utime(tmp_path / "tables/base.py")
    new = [run_python("-B", "-c", FIND).stdout.strip() for _ in range(2)]
    assert new[0] == new[1]
    assert old.startswith("app.price:")
    assert old != new[0]


def test_policy_options_do_not_count(project: Project) -> None:
    """Retries, times to live and the like change no key."""
    project.keys()
    price: Any = sys.modules["shop"].price  # type: ignore[attr-defined]
    assert _key(price.with_options(cache_policy=CachePolicy(ttl=5), timeout=3), 5) == _key(price, 5)


def test_a_version_stands_for_the_code(project: Project) -> None:
    """With a version neither code nor constants count, but the version does."""
    keys = []
    for edits, version in (((), "1"), ((("abs(x)", "x"), ("RATE = 3", "RATE = 4")), "1"), ((), "2")):
        project.keys(*edits)
        price: Any = sys.modules["shop"].price  # type: ignore[attr-defined]
        keys.append(_key(price.with_options(cache_policy=CachePolicy(version=version)), 5))
    assert keys[0] == keys[1] != keys[2]


def test_ignored_arguments_do_not_count() -> None:
    """`ignore=` leaves an argument out, and `CachePolicy(key=)` replaces them all."""
    numbers = count()

    @task(cache=MemoryCache(), ignore="connection")
    def read(name: str, connection: Any = None) -> int:
        return next(numbers)

    assert [read("a", object()).result(), read("a", object()).result(), read("b").result()] == [0, 0, 1]


def test_a_key_that_was_given_stands_for_what_arguments_bring(project: Project) -> None:
    """`key=` and `version=` say what counts: the code of a function among the arguments doesn't."""
    options = (CachePolicy(key=lambda to, x: x), CachePolicy(version="1"))
    keys = []
    for edits in ((), (("x // 2", "x // 3"),)):
        project.keys(*edits)
        shop: Any = sys.modules["shop"]
        tasks = [shop.apply.with_options(cache_policy=each) for each in options]
        keys.append([_key(each, [shop.halved], 5) for each in tasks])
    assert keys[0] == keys[1]


def test_an_argument_without_a_digest_is_never_cached(caplog: pytest.LogCaptureFixture) -> None:
    """A lock can't be told from another lock: the task runs each time, and the log says what to write."""
    import threading

    ran = []

    @task(cache=MemoryCache())
    def guarded(lock: Any) -> None:
        ran.append(1)

    for _ in range(2):
        guarded(threading.Lock())
    assert ran == [1, 1]
    assert "argument 'lock' has no digest" in caplog.text
    assert "CachePolicy(key=…)" in caplog.text


def test_of_arguments_that_hold_much_a_bounded_part_is_looked_at_for_code() -> None:
    """Data costs what its first ten thousand values do, the outer ones first; what holds itself is looked at once."""
    cyclic: list[Any] = [_helper]
    cyclic.append(cyclic)
    few, many = ([(0.5,) * 1000 for _ in range(rows)] for rows in (8, 1000))
    few[-1] += (_helper,)
    many[-1] += (_helper,)
    found = brought_code({"cyclic": cyclic, "few": few, "many": many})
    assert found.keys() == {"code of cyclic", "code of few"}


def _helper() -> int:
    return 1


HELD = """
from argparse import Namespace
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Optional, Protocol
import sys

import attrs
import numpy
from pydantic import BaseModel, PrivateAttr

from flowfn import CachePolicy, task

class Engine(Protocol):
    def price(self, n): ...

@dataclass(frozen=True)
class Flat:
    rate: int = 10

    def price(self, n):
        return n * self.rate

def clean(x):
    return x * 21

class Size(IntEnum):
    SMALL = 31

@dataclass
class Shop:
    engine: Engine

    @task(cache_policy=CachePolicy())
    def total(self, n):
        return self.engine.price(n)

@dataclass(slots=True)
class Slotted:
    held: Any

@attrs.frozen
class Frozen:
    held: Any

class Model(BaseModel):
    held: Any = None
    _kept: Any = PrivateAttr(default=None)

    def size(self):
        return 41

class Plain:
    def __init__(self, held):
        self.held = held

    def __eq__(self, other):
        return self.held == other.held

class Names(dict):
    pass

names = Names()
names.held = clean
private = Model()
private._kept = Flat()
array = numpy.array([Flat(), None], dtype=object)

ARGUMENTS = {
    "field": Shop(Flat()),
    "function in a field": Slotted(clean),
    "attrs": Frozen([clean]),
    "model": Model(held={"a": Flat()}),
    "private attribute": private,
    "attribute": Plain(Plain(Flat())),
    "namespace": SimpleNamespace(held=clean),
    "options": Namespace(held=clean),
    "maps": ChainMap({}, {"a": clean}),
    "user's dict": UserDict(a=clean),
    "values": {"a": clean}.values(),
    "hint": list[Model],
    "hint of one or none": Optional[Model],
    "annotated hint": Annotated[int, clean],
    "key": {clean: 1},
    "member as key": {Size.SMALL: 1},
    "queue": deque([Flat()]),
    "view": MappingProxyType({"a": Flat()}),
    "ordered": OrderedDict(a=(clean,)),
    "default": defaultdict(clean),
    "attribute of a dict": names,
    "array": array,
    "module": sys.modules[__name__],
    "bound method": Shop(Flat()).total.func.__get__(Shop(Flat())),
}

@task(cache_policy=CachePolicy())
def post(x):
    return 1
"""

HOLDERS = [
    ("field", "n * self.rate"),
    ("function in a field", "x * 21"),
    ("attrs", "x * 21"),
    ("model", "n * self.rate"),
    ("private attribute", "n * self.rate"),
    ("attribute", "n * self.rate"),
    ("namespace", "x * 21"),
    ("options", "x * 21"),
    ("maps", "x * 21"),
    ("user's dict", "x * 21"),
    ("values", "x * 21"),
    ("hint", "return 41"),
    ("hint of one or none", "return 41"),
    ("annotated hint", "x * 21"),
    ("key", "x * 21"),
    ("member as key", "SMALL = 31"),
    ("queue", "n * self.rate"),
    ("view", "n * self.rate"),
    ("ordered", "x * 21"),
    ("default", "x * 21"),
    ("attribute of a dict", "x * 21"),
    ("array", "n * self.rate"),
    ("module", "x * 21"),
    ("bound method", "n * self.rate"),
]


@pytest.mark.parametrize(("holder", "old"), HOLDERS)
def test_an_edit_of_code_that_an_argument_holds_busts(module: Any, holder: str, old: str) -> None:
    """Code in what an argument holds counts: in attributes, fields, slots, keys, items and the defaults of a dict."""

    def key(source: str) -> str:
        made = module(source)
        return _key(made.post, made.ARGUMENTS[holder])

    assert key(HELD) == key(f"# moved\n{HELD}") != key(HELD.replace(old, f"{old}0"))


def test_objects_that_compare_equal_bring_code_of_their_own() -> None:
    """What says that it equals everything, or can't be compared, is no other object's."""

    class Wrapper:
        def __init__(self, function: Any) -> None:
            self.__wrapped__ = function

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    class Incomparable(Wrapper):
        def __hash__(self) -> int:
            raise RuntimeError("not now")

    held = [
        Wrapper(test_constants_of_one_name_are_told_apart),
        Wrapper(test_a_long_table_counts_as_it_stands),
    ]
    first, second = ({**brought_code({"x": [each]})} for each in held)
    assert first != second
    assert brought_code({"x": [Incomparable(each.__wrapped__) for each in held]}) != first


def test_an_edit_of_code_that_the_object_of_a_method_holds_busts(module: Any) -> None:
    """What a method calls by a field of its object counts, though the field's type says nothing of it."""

    def key(source: str) -> str:
        made = module(source)
        return _key(made.Shop.total, made.Shop(made.Flat()), 5)

    assert key(HELD) == key(f"# moved\n{HELD}") != key(HELD.replace("n * self.rate", "n + self.rate"))


def test_looking_for_code_in_arguments_runs_none() -> None:
    """Neither properties nor what a class does in place of looking up an attribute, an item, or a hash."""
    ran: list[str] = []

    class Telling(dict[str, Any]):
        __slots__ = ("__dict__", "empty")

        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            return super().__getattribute__(name)

        def __getattr__(self, name: str) -> Any:
            ran.append(name)
            raise ValueError(name)

        def values(self) -> Any:
            ran.append("values")
            return super().values()

        def __iter__(self) -> Iterator[str]:
            ran.append("iter")
            return super().__iter__()

        def __len__(self) -> int:
            ran.append("len")
            return super().__len__()

        @property
        def found(self) -> int:
            ran.append("found")
            return 1

        @property
        def __class__(self) -> Any:
            ran.append("class")
            return dict

    telling = Telling(a=_helper)
    ran.clear()
    assert len(brought_code({"telling": [telling]})["code of telling"]) == 2
    assert ran == []


def test_what_an_object_remembers_brings_no_code() -> None:
    """A `cached_property` that has been asked for makes no other key."""

    class Shop:
        @cached_property
        def engine(self) -> Any:
            return _helper

    shop = Shop()
    before = brought_code({"shop": shop})
    assert shop.engine is _helper
    assert brought_code({"shop": shop}) == before


def test_an_argument_that_cannot_be_looked_at_brings_the_rest() -> None:
    """An object that wraps a function and can't be hashed brings it, beside the classes; nothing is raised."""

    class Wrapper:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.__wrapped__ = _helper

    class Hidden:
        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            raise ValueError

    assert len(brought_code({"all": (Wrapper(), Hidden())})["code of all"]) == 3


def test_the_code_in_arguments_has_one_key_in_all_processes(
    tmp_path: Path, run_python: Any, module: Any
) -> None:
    """Neither the order of a set nor an address counts."""
    (tmp_path / "ledger.py").write_text(HELD)
    program = (
        "import ledger; from flowfn.caching.keys import key_of; held = {ledger.clean, ledger.Flat, ledger.Size}; "
        "print(key_of(ledger.post._self_definition, (ledger.Plain(held),), {}).text)"
    )
    found = {run_python("-c", program, PYTHONHASHSEED=seed).stdout.strip() for seed in ("1", "2")}
    assert len(found) == 1
    assert found.pop().startswith("ledger.post:")


CELLS = """
import sys
from flowfn.caching.keys import key_of

_ih = [""]

class Shell:
    def run_cell_magic(self, name, line, cell):
        exec(cell, globals())

def get_ipython():
    return Shell()

def run(cell):
    _ih.append(cell)
    try:
        exec(compile(cell, f"<cell {len(_ih)}>", "exec"), globals())
    except ZeroDivisionError:
        pass

run("from flowfn import CachePolicy, task\\n@task(cache_policy=CachePolicy())\\ndef f(x): return RATES")
for cells in sys.argv[1:]:
    for cell in cells.split("|"):
        run(cell)
    print(key_of(f._self_definition, (1,), {}).text)
"""


@pytest.fixture
def notebook(run_python: Any) -> Callable[..., list[str]]:
    """The key after each of some cells, as IPython runs them; `|` parts those that run before one is asked for."""

    def keys(*cells: str) -> list[str]:
        return str(run_python("-c", CELLS, *cells).stdout).split()

    return keys


@pytest.mark.parametrize(
    ("cell", "edited"),
    [
        ("RATES = {'a': 1}", "RATES = {'a': 2}"),
        ("RATES = dict(a=1)", "RATES = dict(a=2)"),
        ("RATES: dict = dict(a=1)", "RATES: dict = dict(a=2)"),
        (
            "import numpy|@numpy.vectorize\ndef RATES(x): return 1",
            "import numpy|@numpy.vectorize\ndef RATES(x): return 2",
        ),
        ("RATES = dict(a=1)", "RATES = dict(a=1)|RATES['a'] = 2|RATES = RATES.copy()"),
        ("RATES = dict(a=1)|RATES = RATES.copy()", "RATES = dict(a=2)|RATES = RATES.copy()"),
        ("RATES = dict(a=1)", "get_ipython().run_cell_magic('time', '', 'RATES = dict(a=2)')"),
    ],
)
def test_an_edited_cell_of_a_notebook_busts(
    notebook: Callable[..., list[str]], cell: str, edited: str
) -> None:
    """The line that made a table last counts, in whatever cell it is; run again, or put back, it is as it was."""
    first, again, changed, back = notebook(cell, cell, edited, cell)
    assert first.startswith("__main__.f:")
    assert first == again == back != changed
    assert notebook(edited)[0] == changed


def test_a_cell_that_failed_before_its_line_gave_no_value(notebook: Callable[..., list[str]]) -> None:
    """What a cell would have made had it come so far isn't what the table was made by."""
    before, failed, ran = notebook("RATES = {'a': 1}", "1 / 0\nRATES = {'a': 2}", "RATES = {'a': 2}")
    assert before == failed != ran


COMMAND = """
from flowfn import CachePolicy, task
from flowfn.caching.keys import key_of

RATES = {"a": 1}

@task(cache_policy=CachePolicy())
def f(x):
    return RATES

print(key_of(f._self_definition, (1,), {}).text)
"""


def test_the_line_of_a_command_that_makes_a_table_counts(run_python: Any) -> None:
    """Of `python -c` the text that it was given has the line."""
    sources = (COMMAND, f"# moved\n{COMMAND}", COMMAND.replace('"a": 1', '"a": 2'))
    first, moved, edited = (run_python("-B", "-W", "default", "-c", source).stdout for source in sources)
    assert first.startswith("__main__.f:")
    assert first == moved != edited


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the prompt keeps no source")
def test_the_line_of_a_prompt_that_makes_a_table_counts(run_python: Any) -> None:
    """Of an interactive session the line that was typed last counts."""
    typed = COMMAND.replace("    return RATES\n", "    return RATES\n\n")
    sources = (typed, typed, typed.replace('"a": 1', '"a": 2'))
    program = "import subprocess, sys; subprocess.run([sys.executable, '-i'], input=sys.argv[1], text=True)"
    first, again, edited = (run_python("-c", program, source).stdout for source in sources)
    assert "__main__.f:" in first
    assert first == again != edited


@pytest.mark.parametrize("how", ["stdin", "no line", "by value"])
def test_a_table_that_no_line_makes_counts_by_what_it_is(run_python: Any, how: str) -> None:
    """Of a script that Python reads from its input, of a value that is set by its name, and of code that came along by
    value, another process finds what one kept, and an edited table is another."""

    def key(source: str) -> str:
        if how == "no line":
            return str(run_python("-c", source.replace("RATES = {", "globals()['RATES'] = {")).stdout)
        if how == "stdin":
            program = (
                "import subprocess, sys; subprocess.run([sys.executable, '-'], input=sys.argv[1], text=True)"
            )
        else:
            program = "import sys; exec(sys.argv[1], {'__name__': '__main__'})"
        return str(run_python("-c", program, source).stdout)

    first, again, edited = key(COMMAND), key(COMMAND), key(COMMAND.replace('"a": 1', '"a": 2'))
    assert ".f:" in first
    assert first == again != edited


def test_what_no_line_makes_and_only_its_type_tells_counts_for_its_process(run_python: Any) -> None:
    """What can't be told from another one is kept for nobody else, and a warning says what to write."""
    hidden = COMMAND.replace("RATES = {", "globals()['RATES'] = {1: object(), ")
    first, second = (run_python("-c", hidden) for _ in range(2))
    assert first.stdout.startswith("__main__.f:")
    assert first.stdout != second.stdout
    assert "nothing is seen to make RATES" in first.stderr


def test_a_table_that_no_line_makes_is_one_key_until_it_is_another(run_python: Any) -> None:
    """All that ask for the key of a value in one process get the same; once the name has another one they don't."""
    printed = COMMAND.splitlines()[-1]
    again = printed.replace("f._self", "f.with_options(timeout=5)._self")
    other = "globals()['RATES'] = {'a': 2}"
    hidden = COMMAND.replace("RATES = {", "globals()['RATES'] = {")
    first, same, changed = run_python("-c", "\n".join([hidden, again, other, printed])).stdout.split()
    assert first == same != changed


def test_a_parameter_that_a_key_names_may_be_left_out() -> None:
    """Its default counts, or that it is left out, if only its type tells the default from others."""
    unset = object()
    ran = []

    @task(key=("url", "page"), cache=MemoryCache())
    def fetch(url: str, page: Any = unset) -> str:
        ran.append(url)
        return url

    assert [fetch("a").result(), fetch("a").result(), fetch("a", None).result()] == ["a", "a", "a"]
    assert ran == ["a", "a"]


class _Query(type):
    """A class of it has something for any name, as those of a query builder do."""

    def __getattr__(cls, name: str) -> Any:
        return [name]


class _Users(metaclass=_Query):
    pass


def test_a_class_that_has_any_name_is_looked_at_like_others() -> None:
    """What its metaclass answers is nothing of the class's, and hides nothing else that a task names."""

    def read() -> Any:
        return _Users.id, _aside(), _beside()  # type: ignore[attr-defined]

    named = {name.rpartition(".")[2] for name in Dependencies(read).units}
    assert named == {"read", "_Users", "_Query", "_aside", "_beside"}


def _aside() -> None: ...


def _beside() -> None: ...


def _remembering(function: Callable[[], Any]) -> Callable[[], Any]:
    made = None

    @wraps(function)
    def wrapper() -> Any:
        nonlocal made
        made = made or function()
        return made

    return wrapper


@_remembering
def _settings() -> dict[str, int]:
    return {"rate": 2}


def test_a_helper_that_remembers_is_the_same_once_it_does() -> None:
    """What a decorator's function sets itself is no input."""

    def priced() -> int:
        return _settings()["rate"]

    before = Dependencies(priced).digest
    _settings()
    assert Dependencies(priced).digest == before


@pytest.mark.parametrize("given", ["'first'", "['first']"], ids=["constant", "list"])
def test_what_a_helper_that_sets_it_was_given_counts_by_the_line(
    found_by: Callable[..., str], given: str
) -> None:
    """Of a variable that it sets itself nobody knows what it was at first but the line that makes the helper."""
    maker = (
        "def made(left):\n    def helper(x):\n        nonlocal left\n        left = left\n"
        f"        return left\n    return helper\nown = made({given})\n"
    )
    edits = ("own = Rate(7)\n", maker), ("own.value", "own(x)")
    before = found_by(*edits)
    assert before == found_by(*edits)
    assert before != found_by(*edits, ("first", "other"))


def _traced(lock: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*arguments: Any) -> Any:
            with lock:
                return function(*arguments)

        return wrapper

    return decorate


class _Command:
    def __init__(self, callback: Callable[..., Any]) -> None:
        self.callback = callback


@lru_cache
@_traced(Lock())
def _scored(x: int) -> int:
    return x


@_Command
@_traced(Lock())
def _command(x: int) -> int:
    return x


@pytest.mark.parametrize("given", [_scored, _command.callback], ids=["cached", "command"])
def test_a_decorated_function_that_stands_behind_another_is_told_by_its_name(given: Any) -> None:
    """Though the decorator holds what only its type tells, calls with it are kept."""
    ran = []

    @task(cache=MemoryCache())
    def apply(function: Any, x: int) -> int:
        ran.append(x)
        return x

    assert [apply(given, 1).result(), apply(given, 1).result()] == [1, 1]
    assert ran == [1]


def test_what_python_makes_of_fields_does_not_count(tmp_path: Path) -> None:
    """Each version makes the methods of a dataclass its own way: an upgrade makes no result stale."""
    (tmp_path / "orders.py").write_text(
        "from dataclasses import dataclass\n@dataclass(frozen=True, order=True)\nclass Order:\n    lines: int = 3\n"
    )
    spec = importlib.util.spec_from_file_location("orders", tmp_path / "orders.py")
    assert spec is not None
    assert spec.loader is not None
    orders = sys.modules["orders"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(orders)
    parts = Dependencies(orders.Order).parts
    del sys.modules["orders"]
    assert sorted(parts) == [
        *("code orders.Order", "constant decorators of orders.Order"),
        *("constant orders.Order.lines.default", "constant orders.Order.lines.type"),
    ]


@pytest.mark.parametrize(
    "each",
    [
        "class C{0}(Base):\n    def told(self): return T, C{1}\n",
        "def f{0}(x): return T, f{1}\nT[{0}] = f{0}\n",
    ],
)
def test_what_fills_a_table_is_written_out_once_whatever_is_in_it(module: Any, each: str) -> None:
    """Each of many that are in it names it: the key of a module of some thousand lines took a minute."""

    def written(size: int) -> int:
        times = 0

        def note(frame: FrameType, event: str, _: Any) -> None:
            nonlocal times
            times += event == "call" and frame.f_code is ast.unparse.__code__

        head = "from flowfn import CachePolicy, task\n"
        base = "T = {}\nclass Base:\n    def __init_subclass__(cls): T[cls.__name__] = cls\n"
        many = "".join(each.format(number, number + 1) for number in range(size))
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            module(f"{head}{base}{many}@task(cache_policy=CachePolicy())\ndef post(x): return T\n")
        finally:
            sys.setprofile(before)
        return times

    assert written(60) - written(40) == written(40) - written(20)


@pytest.mark.parametrize(
    ("head", "each", "item"),
    [("", "D{0} = dict(number={0})\n", "D{0}"), ("class E:\n", "    M{0} = {0}\n", "E.M{0}")],
    ids=["names", "members"],
)
def test_what_a_table_of_all_that_a_module_makes_names_is_looked_through_once(
    module: Any, head: str, each: str, item: str
) -> None:
    """The table has each of them under another name, and what they are members of is one for all: the key of a module
    of some thousand lines took half a minute."""
    looks = (ast.iter_child_nodes.__code__, ast.NodeVisitor.visit.__code__)

    def looked(size: int) -> int:
        times = 0

        def note(frame: FrameType, event: str, _: Any) -> None:
            nonlocal times
            times += event == "call" and frame.f_code in looks

        made = "".join(each.format(number) for number in range(size))
        table = f"T = [{', '.join(item.format(number) for number in range(size))}]\n"
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            module(
                f"from flowfn import CachePolicy, task\n{head}{made}{table}"
                "@task(cache_policy=CachePolicy())\ndef post(x): return T\n"
            )
        finally:
            sys.setprofile(before)
        return times

    few = looked(40)
    assert looked(160) < 5 * few
