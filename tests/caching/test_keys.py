"""What a result is found by (section 4): arguments, code, and the constants that the code names."""

import importlib.util
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from flowfn import CachePolicy, MemoryCache, task
from flowfn.caching.brought import brought_code
from flowfn.caching.keys import key_of

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
        ('["changes", "in", "place"]', '["changed"]', {"price", "outer"}),
        ("UNUSED = 1", "UNUSED = 2", set()),
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
}

FIND = (
    "import app; from flowfn.caching.keys import key_of; "
    "print(key_of(app.price._self_definition, (5,), {}).text)"
)


@pytest.fixture
def found_by(tmp_path: Path, run_python: Any) -> Callable[..., str]:
    """The key that a process of its own finds, after edits of the source."""

    def found(*edits: tuple[str, str]) -> str:
        for name, source in SETTINGS.items():
            for old, new in edits:
                source = source.replace(old, new)
            file = tmp_path / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(source)
        return str(run_python("-B", "-c", FIND).stdout.strip())

    return found


@pytest.mark.parametrize(
    ("old", "new", "busts"),
    [
        ("dict(low=1)", "dict(low=2)", True),
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


def test_a_long_table_counts_as_it_stands(found_by: Callable[..., str]) -> None:
    """One value among a thousand lines makes it another."""
    lines = "".join(f"    'key {number}': {number},\n" for number in range(1000))
    table = "dict(low=1)", f"dict(low=1) | {{\n{lines}}}"
    before = found_by(table)
    assert before == found_by(table)
    assert before != found_by((table[0], table[1].replace("777,", "778,")))


def test_a_line_that_changed_under_the_process_counts_for_it_alone(tmp_path: Path, run_python: Any) -> None:
    """What another process, which runs the new line, keeps is never taken for the result of the old one."""
    for name, source in SETTINGS.items():
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
    """Data in containers that share or hold themselves costs what its first ten thousand values do."""
    looked: list[int] = []

    class Looked(list[Any]):
        def __len__(self) -> int:
            looked.append(1)
            return super().__len__()

    cyclic = Looked()
    cyclic.append(cyclic)
    rows = [Looked([0.5] * 1000) for _ in range(1000)]
    assert brought_code({"rows": rows, "cyclic": cyclic}).keys() <= {"code of rows", "code of cyclic"}
    assert len(looked) < 50
