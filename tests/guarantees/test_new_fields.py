"""A class gets a field, with a default, between a kill and the resume: what has run with its objects doesn't run again.
Nor what has run with an enum's member that gets another name, and keeps the old one as an alias.

G1, section 4: the most common edit of all. A restored object has the new field, at its default.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import Enum
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import InvalidInput
from flowfn.identity.digest import exact, value_of_member
from flowfn.identity.forms.notation import pack, tagged
from flowfn.identity.grown import without_defaults
from flowfn.ports import Begin, Commit, Lease

HEAD = """
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar
import secrets
import attrs
import msgspec
import pydantic
from flowfn import entrypoint, interrupt, task
"""

PROGRAM = """
@task
def load(x):
    ran.append("load")
    return Order(x)

@task
def charge(order):
    ran.append("charge")
    return ran.count("charge")

@entrypoint(checkpointer=saver)
def flow(dies):
    found = [{call} for _ in range(2)]
    if dies:
        raise ConnectionError("killed here")
    return found
"""

RESTORED = "charge(load(1).result()).result()"
"""A call with what an earlier task has given, as it comes back from its record."""

KINDS = {
    "dataclass": "@dataclass\nclass Order:\n    a: int\n",
    "frozen dataclass": "@dataclass(frozen=True, slots=True)\nclass Order:\n    a: int\n",
    "attrs": "@attrs.define\nclass Order:\n    a: int\n",
    "struct": "class Order(msgspec.Struct):\n    a: int\n",
    "named tuple": "class Order(NamedTuple):\n    a: int\n",
    "model": "class Order(pydantic.BaseModel):\n    a: int\n    def __init__(self, a, **more):\n"
    "        super().__init__(a=a, **more)\n",
    "pydantic dataclass": "@pydantic.dataclasses.dataclass\nclass Order:\n    a: int\n",
}


class Versions:
    """One thread, and the versions of a program that run on it, each as module `shop`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self.saver = MemorySaver()
        self._patch = monkeypatch

    def flow(self, order: str, call: str, program: str = PROGRAM, **names: Any) -> Any:
        module = ModuleType("shop")
        vars(module).update(saver=self.saver, ran=self.ran, **names)
        self._patch.setitem(sys.modules, "shop", module)
        exec(HEAD + order + program.replace("{call}", call), vars(module))
        return vars(module)["flow"].thread("t")

    def resumed(self, before: str, after: str, call: str = RESTORED, then: str | None = None) -> Any:
        """The thread, after a version that died and another one that went on."""
        with pytest.raises(ConnectionError):
            self.flow(before, call).invoke(True)
        thread = self.flow(after, then or call)
        with pytest.raises(ConnectionError):
            thread.resume()
        return thread


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> Versions:
    return Versions(monkeypatch)


@pytest.mark.parametrize("order", KINDS.values(), ids=KINDS)
def test_a_field_with_a_default_makes_no_other_call(versions: Versions, order: str) -> None:
    """Two equal calls, whose argument has a field more than was recorded: both are reused, and that is reported."""
    thread = versions.resumed(order, order + "    b: int = 0\n")
    assert versions.ran == ["load", "charge"] * 2
    assert [each.kind for each in thread.report if each.current.name == "charge"] == ["fields"] * 2


GENERIC = (
    "T = TypeVar('T')\nclass Of(pydantic.BaseModel, Generic[T]):\n    a: int\n{}"
    "Line = namedtuple('Line', 'number')\ndef Order(a): return Of[Line](a=a)\n"
)


def test_a_field_with_a_default_of_a_generic_model_makes_no_other_call(versions: Versions) -> None:
    """The model is found by its name, which has the modules of the types that it was given in it."""
    thread = versions.resumed(
        GENERIC.format(""), GENERIC.format("    b: int = 0\n"), "charge(Order(1)).result()"
    )
    assert versions.ran == ["charge"] * 2
    assert [each.kind for each in thread.report if each.current.name == "charge"] == ["fields"] * 2


@pytest.mark.parametrize("more", ["_b: int = 0", "_b: list = pydantic.PrivateAttr(default_factory=list)"])
def test_a_private_attribute_of_a_model_is_a_field_as_well(versions: Versions, more: str) -> None:
    """It has its default in what was made before."""
    thread = versions.resumed(KINDS["model"], f"{KINDS['model']}    {more}\n")
    assert versions.ran == ["load", "charge"] * 2
    assert [each.kind for each in thread.report if each.current.name == "charge"] == ["fields"] * 2


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("b: list = field(default_factory=list)", RESTORED),
        ("b: int = 0", "charge([{'first': (Order(1), None)}]).result()"),
        ("b: object = None\n    c: str = 'new'", "charge(Order(Order(1))).result()"),
    ],
    ids=["an empty list", "inside containers", "inside another"],
)
def test_wherever_the_object_is(versions: Versions, field: str, call: str) -> None:
    """So it is inside of other arguments, with several fields, and with a list that is made anew for each."""
    order = KINDS["dataclass"]
    versions.resumed(order, order + f"    {field}\n", call)
    assert versions.ran.count("charge") == 2


@pytest.mark.parametrize(
    "value",
    [
        "{Order(1), Order(2)}",
        "frozenset([Order(1)])",
        "{Order(1): 'first'}",
        "{(Order(1), 2): 'first'}",
        "collections.deque([Order(1)])",
        "collections.OrderedDict(first=Order(1))",
        "types.SimpleNamespace(first=Order(1))",
        "ValueError(Order(1))",
        "functools.partial(print, Order(1))",
        "Order(1).__repr__",
        "Equal(Order(1))",
        "Texts([Order(1)])",
    ],
)
def test_whatever_the_object_is_in(versions: Versions, value: str) -> None:
    """G1, section 4: a recorded call is the same, wherever in its arguments such an object is."""
    order, call = KINDS["frozen dataclass"], f"charge({value}).result()"
    versions.resumed(AROUND + order, f"{AROUND}{order}    b: int = 0\n", call)
    assert versions.ran.count("charge") == 2


@pytest.mark.parametrize("then", ["Order(1)", "Order(1, 5)"])
@pytest.mark.parametrize("value", ["Around({})", "[Around({})]", "[Around(Around({}))]"])
def test_an_object_may_have_been_given_it(versions: Versions, value: str, then: str) -> None:
    """G1, G2: it is the same as long as what it was given is, a field that is new there aside."""
    order = KINDS["dataclass"]
    calls = [f"charge({value.format(each)}).result()" for each in ("Order(1)", then)]
    versions.resumed(AROUND + order, f"{AROUND}{order}    b: int = 0\n", *calls)
    assert versions.ran.count("charge") == (2 if then == "Order(1)" else 4)


@pytest.mark.parametrize(
    ("value", "then"),
    [
        ("{Order(1)}", "{Order(1, 5)}"),
        ("{Order(1): 1}", "{Order(1): 2}"),
        ("Equal(Order(1))", "Equal(Order(2))"),
        ("[Order(1), {(1, 'x' * 60 + 'a'): 1}]", "[Order(1), {(1, 'x' * 60 + 'b'): 1}]"),
        ("[Order(1), Texts([1], value=3)]", "[Order(1), Texts([2], value=3)]"),
    ],
)
def test_whatever_else_differs_there_makes_another_call(versions: Versions, value: str, then: str) -> None:
    """G2, rule 4: however long the keys are, and whatever the attributes of a list are called."""
    order = KINDS["frozen dataclass"]
    calls = [f"charge({each}).result()" for each in (value, then)]
    versions.resumed(AROUND + order, f"{AROUND}{order}    b: int = 0\n", *calls)
    assert versions.ran.count("charge") == 4


@pytest.mark.parametrize(
    ("field", "then"),
    [
        ("b: int = 0", "charge(Order(1, 5)).result()"),
        ("b: int = 0", "charge(Order(2)).result()"),
        ("b: str = field(default_factory=secrets.token_hex)", "charge(Order(1)).result()"),
        ("b: int = 0", "charge({'a': 1, 'b': 0}).result()"),
    ],
    ids=["another value", "another field too", "a default that is made anew", "another type"],
)
def test_anything_else_is_another_call(versions: Versions, field: str, then: str) -> None:
    """G2, rule 4: the field has a value that nothing of before can have had, or more differs."""
    order = KINDS["dataclass"]
    versions.resumed(order, order + f"    {field}\n", "charge(Order(1)).result()", then)
    assert versions.ran.count("charge") == 4


AROUND = """
import collections, functools, types

class Around:
    def __init__(self, order): self.order = order

class Equal:
    def __init__(self, order): self.order = order
    def __eq__(self, other): return self.order == other.order

class Texts(list):
    def __init__(self, items, **more):
        super().__init__(items)
        vars(self).update(more)
"""

CLIENT = """
class Client:
    def __init__(self, url, timeout=3): self.url = url; self.timeout = timeout
    @task
    def get(self, path):
        ran.append("get")
        return self.url + path
"""
RETRYING = CLIENT.replace("timeout=3):", "timeout=3, *, retries=2): self.retries = retries;")


@pytest.mark.parametrize(
    "call",
    [
        "Client('a').get('/b').result()",
        "charge(Client('a')).result()",
        "charge([Client('a'), Client('b', 5)]).result()",
    ],
    ids=["its own method", "an argument", "inside an argument"],
)
def test_what_an_object_is_given_may_get_a_default(versions: Versions, call: str) -> None:
    """G1, section 4: so it is with a class that declares no fields, whose `__init__` has a parameter more."""
    thread = versions.resumed(CLIENT, RETRYING, call)
    assert len(versions.ran) == 2
    assert [each.kind for each in thread.report if each.kind != "weak"] == ["fields"] * 2


@pytest.mark.parametrize(
    ("after", "then"),
    [
        (RETRYING, "Client('a', retries=3).get('/b').result()"),
        (RETRYING, "Client('c').get('/b').result()"),
        (RETRYING.replace("=2", "='a'").replace("= retries;", "= url;"), "Client('a').get('/b').result()"),
        (
            RETRYING.replace("retries=2", "retries=secrets.token_hex()"),
            "Client('a', retries='c').get('/b').result()",
        ),
        (RETRYING.replace("= retries;", "= retries or 2;"), "Client('a').get('/b').result()"),
    ],
    ids=["another value", "another one too", "another parameter", "made anew", "not as it is"],
)
def test_anything_else_that_it_is_given_is_another_call(versions: Versions, after: str, then: str) -> None:
    """G2, rule 4: nothing but a parameter's default is what all objects had that were made before."""
    versions.resumed(CLIENT, after, "Client('a').get('/b').result()", then)
    assert versions.ran.count("get") == 4


BELOW = "class Own(Client):\n    def __init__(self, url{}): {}\n"
CALLED = BELOW.format("", "super().__init__(url)")
OWN = BELOW.format(", retries=5", "super().__init__(url); self.retries = retries")
WITH_MORE = BELOW.format("", "super().__init__(f'{url}', timeout=3)")
HANDED_ON = BELOW.format(", *more, **options", "super().__init__(url, *more, **options)")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("class Own(Client): pass\n",) * 2,
        (CALLED,) * 2,
        (WITH_MORE,) * 2,
        (HANDED_ON,) * 2,
        (CALLED, OWN),
    ],
    ids=["inherited", "called", "called with more", "handed on", "its own"],
)
def test_a_class_below_has_the_default_of_what_it_calls(versions: Versions, before: str, after: str) -> None:
    """G1: its own `__init__` decides, and a base's about what that leaves to it."""
    versions.resumed(CLIENT + before, RETRYING + after, "Own('a').get('/b').result()")
    assert versions.ran.count("get") == 2


@pytest.mark.parametrize(
    "after",
    [
        OWN,
        BELOW.format(", retries=5", "super().__init__(url, retries=retries)"),
        BELOW.format(", count=5", "super().__init__(url, retries=count)"),
        BELOW.format(", count=5", "super().__init__(url, 3, count)"),
        BELOW.format(", count=5, **options", "options['retries'] = count; super().__init__(url, **options)"),
        BELOW.format(", count=5", "options = dict(retries=count); super().__init__(url, **options)"),
    ],
    ids=[
        "its own",
        "its name",
        "another name",
        "by position",
        "in what it got",
        "in a mapping",
    ],
)
def test_the_default_of_a_base_is_none_where_the_class_hands_it_another(
    versions: Versions, after: str
) -> None:
    """G2, rule 4: of what was made before, nothing had that default."""
    call = "Own({}).get('/b').result()"
    base = RETRYING.replace("*, ", "")
    versions.resumed(CLIENT + CALLED, base + after, call.format("'a'"), call.format("'a', 2"))
    assert versions.ran.count("get") == 4


STATUS = "import enum\nclass Status(enum.Flag):\n    {}A = 1\n    B = 2\n    D = 4\n"


@pytest.mark.parametrize(
    "call",
    [
        "charge(Status.A).result()",
        "charge(Status.A | Status.B).result()",
        "charge([{'first': (Status.A, None)}]).result()",
        "charge(Line(Status.A)).result()",
    ],
    ids=["itself", "with another", "inside containers", "inside an object"],
)
def test_a_member_of_an_enum_may_get_another_name(versions: Versions, call: str) -> None:
    """G1, section 4: where the old name stays as an alias, what was done with the member isn't done again."""
    line = "@dataclass\nclass Line:\n    status: Status\n"
    thread = versions.resumed(STATUS.format("") + line, STATUS.format("NEW = 1\n    ") + line, call)
    assert versions.ran == ["charge"] * 2
    assert [each.kind for each in thread.report if each.current.name == "charge"] == ["fields"] * 2


@pytest.mark.parametrize(
    ("after", "then"),
    [
        (STATUS.format("NEW = 1\n    "), "charge(Status.B).result()"),
        (STATUS.format("").replace("A = 1", "NEW = 1"), "charge(Status.NEW).result()"),
        (STATUS.format("NEW = 8\n    "), "charge(Status.NEW).result()"),
        (STATUS.format("NEW = 8\n    ").replace("A = 1", "A = 8"), "charge(Status.NEW).result()"),
        (STATUS.format("X = 2\n    ").replace("A = 1", "A = 2"), "charge(Status.X).result()"),
        (STATUS.format("X = 1\n    ").replace("A = 1", "A = 4"), "charge(Status.X).result()"),
    ],
    ids=["another member", "no alias", "a new member", "another value", "of another one", "its value"],
)
def test_another_member_is_another_call(versions: Versions, after: str, then: str) -> None:
    """G2, rule 4: nothing but an alias says that two names are of one member, and of its value then alone."""
    versions.resumed(STATUS.format(""), after, "charge(Status.A).result()", then)
    assert versions.ran.count("charge") == 4


class Plan(Enum):
    PRO = "p"
    BASIC = "p"  # noqa: PIE796 - an alias


def test_of_a_record_without_the_value_no_other_name_is_known() -> None:
    """G2: the name may have been that of another member, as BASIC was before it was given up for PRO."""
    now, (pro,) = exact({"plan": Plan.PRO}).form, value_of_member("p")
    recorded = [pack({"plan": tagged("enum", f"{__name__}.Plan", "BASIC", *kept)}) for kept in ([], [pro])]
    assert [without_defaults(each) == without_defaults(now) for each in recorded] == [False, True]


SIDE_BY_SIDE = """
@task
def charge(order):
    return next(numbers)

@entrypoint(checkpointer=saver)
def flow(dies):
    futures = [charge(Order(1)) for _ in range(3)]
    if dies:
        raise ConnectionError(futures[-1].result())
    return [future.result() for future in futures]
"""


@pytest.mark.parametrize("more", ["", "    b: int = 0\n"], ids=["as it was", "with a new field"])
def test_of_equal_calls_each_keeps_its_own_record(versions: Versions, more: str) -> None:
    """G2: of three equal calls the last was waited for, and has the result that it had on the next attempt."""
    order = KINDS["dataclass"]
    numbers = count()
    with pytest.raises(ConnectionError) as lost:
        versions.flow(order, "", SIDE_BY_SIDE, numbers=numbers).invoke(True, {"max_concurrency": 1})
    ended = versions.flow(order + more, "", SIDE_BY_SIDE.replace("if dies", "if False"), numbers=numbers)
    found = ended.resume()
    assert (found[-1], sorted(found)) == (lost.value.args[0], [0, 1, 2])


def test_a_question_about_such_an_object_keeps_its_answer(versions: Versions) -> None:
    """Section 4: answers go by the question's payload, by the same rule."""
    order, call = KINDS["dataclass"], "interrupt(Order(1))"
    thread = versions.flow(order, call)
    thread.invoke(False)
    thread.resume("yes")
    assert versions.flow(order + "    b: int = 0\n", call).resume("also") == ["yes", "also"]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Parcel", "Packet", "@dataclass\nclass {}:\n    a: int\n"),
        ("Color", "Colour", "from enum import Enum\nclass {}(Enum):\n    A = 1\n"),
    ],
    ids=["dataclass", "enum"],
)
def test_a_class_that_was_renamed_makes_no_other_call(
    versions: Versions, old: str, new: str, kind: str
) -> None:
    """Where `allow` says what the old name means, so that its objects are restored, calls with them are the same."""
    allowed = f"from flowfn.serde import allow\nallow({new}, as_='shop:{old}')\n"
    thread = versions.resumed(
        f"{kind.format(old)}Order = {old}\n", f"{kind.format(new)}Order = {new}\n{allowed}"
    )
    assert versions.ran == ["load", "charge"] * 2
    assert [each.kind for each in thread.report if each.current.name == "charge"] == ["fields"] * 2


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("class {}(str): pass", "Order('a')"),
        ("class {}(dict): pass", "Order(a=1)"),
        ("class {}(Exception): pass", "Order('a')"),
        ("@attrs.frozen\nclass {}:\n    a: int", "{Order(1)}"),
        ("@attrs.frozen\nclass {}:\n    a: int", "{Order(1): 2}"),
        ("@attrs.frozen\nclass {}:\n    a: int", "Order"),
        ("@attrs.frozen\nclass {}:\n    a: int\n    def pay(self): pass", "Order(1).pay"),
        ("class {}:\n    def __eq__(self, other): return True", "Order()"),
    ],
    ids=["a text", "a mapping", "an error", "in a set", "a key", "itself", "a method", "with equality"],
)
def test_nor_does_one_of_another_kind(versions: Versions, kind: str, value: str) -> None:
    """Whatever the object that is of the class, and the class itself."""
    allowed = "\nfrom flowfn.serde import allow\nallow(Packet, as_='shop:Parcel')\n"
    before, after = (f"{kind.format(name)}\nOrder = {name}\n" for name in ("Parcel", "Packet"))
    versions.resumed(before, after + allowed, f"charge({value}).result()")
    assert versions.ran == ["charge"] * 2


SHOP = """
@task
def charge(order):
    ran.append("charge")
    return ran.count("charge")

@entrypoint(checkpointer=saver)
def flow(order):
    receipt = charge(order).result()
    if order.fails and len(ran) == 1:
        ran.append("died")
        raise ConnectionError("killed here")
    return receipt
"""


@pytest.mark.parametrize("fails", [False, True])
def test_a_workflow_that_is_given_such_an_object_is_known(versions: Versions, fails: bool) -> None:
    """G1: a call on a thread goes on, and `once` gives what was given before; another object is another call."""
    order = "@dataclass\nclass Order:\n    fails: bool\n"
    thread = versions.flow(order, "", SHOP)
    with pytest.raises(ConnectionError) if fails else nullcontext():
        thread.once(sys.modules["shop"].Order(fails))
    thread = versions.flow(order + "    b: int = 0\n", "", SHOP)
    ask = thread if fails else thread.once
    assert ask(sys.modules["shop"].Order(fails)) == 1
    assert versions.ran.count("charge") == 1
    with pytest.raises(InvalidInput, match="another call"):
        thread.once(sys.modules["shop"].Order(fails, b=1))


SCRIPT = """
import os, signal
from dataclasses import dataclass
from flowfn import entrypoint, task

@dataclass
class Order:
    a: int

@task
def charge(order):
    print("charged", order)
    return order.a

@entrypoint(checkpointer="runs.db")
def flow(a):
    charged = charge(Order(a)).result()
    if "DIES" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return charged

if __name__ == "__main__":
    print("result", flow(1))
"""


def test_a_class_of_the_script_itself_gets_one(run_python: Any, tmp_path: Path) -> None:
    """The script's module has another name in records than in the process, and it is the same class."""
    script = tmp_path / "app.py"
    script.write_text(SCRIPT)
    assert run_python("-u", script, DIES="1").stdout == "charged Order(a=1)\n"
    script.write_text(SCRIPT.replace("    a: int\n", "    a: int\n    b: int = 0\n"))
    assert run_python("-u", script).stdout == "result 1\n"


def test_a_workflow_that_is_called_with_such_an_object_goes_on(versions: Versions) -> None:
    """G1: a call that names no thread goes on with the unfinished run; another object's call begins one."""
    order = "@dataclass\nclass Order:\n    fails: bool\n"
    versions.flow(order, "", SHOP)
    with pytest.raises(ConnectionError):
        sys.modules["shop"].flow(sys.modules["shop"].Order(True))
    versions.flow(order + "    b: int = 0\n", "", SHOP)
    shop = sys.modules["shop"]
    assert shop.flow(shop.Order(True, b=1)) == 2
    assert shop.flow(shop.Order(True)) == 1
    assert [row.status for row in versions.saver.threads()] == ["done", "done"]


def test_however_many_other_runs_there_were_since(versions: Versions) -> None:
    """G1: the unfinished run is found among all threads of the saver, not among the latest ones."""
    order = "@dataclass\nclass Order:\n    fails: bool\n"
    versions.flow(order, "", SHOP)
    with pytest.raises(ConnectionError):
        sys.modules["shop"].flow(sys.modules["shop"].Order(True))
    for number in range(1001):
        lease = versions.saver.claim(f"another {number}")
        assert isinstance(lease, Lease)
        begin = Begin("another", "call")
        versions.saver.commit([Commit(lease.thread, lease, begin=begin, status="done", release=True)])
    versions.flow(order + "    b: int = 0\n", "", SHOP)
    shop = sys.modules["shop"]
    assert shop.flow(shop.Order(True)) == 1
    assert versions.ran == ["charge", "died"]


MADE = {
    "factory": """
def made(name):
    @entrypoint(checkpointer=saver)
    def flow(order):
        return shipped(name, order)
    return flow
""",
    "method": """
class Shop:
    def __init__(self, name):
        self.name = name
    @entrypoint(checkpointer=saver)
    def flow(self, order):
        return shipped(self.name, order)

def made(name):
    return Shop(name).flow
""",
}

SHIPPING = """
@task
def ship(order):
    ran.append(name_of[0])
    return ran[-1]

def shipped(name, order):
    name_of[:] = [name]
    found = ship(order).result()
    if name == "acme" and not died:
        died.append(name)
        raise ConnectionError("killed here")
    return found

flow = entrypoint(made)
"""


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_so_does_one_that_a_factory_made_or_a_method(versions: Versions, made: str) -> None:
    """G1, G2: with its own unfinished run, whatever else of its name was called before."""
    order, names = "@dataclass\nclass Order:\n    a: int\n", {"name_of": [], "died": []}
    versions.flow(order, "", made + SHIPPING, **names)
    with pytest.raises(ConnectionError):
        sys.modules["shop"].made("acme")(sys.modules["shop"].Order(1))
    versions.flow(order + "    b: int = 0\n", "", made + SHIPPING, **names)
    shop = sys.modules["shop"]
    assert [shop.made(name)(shop.Order(1)) for name in ("globex", "acme")] == ["globex", "acme"]
    assert versions.ran == ["acme", "globex"]
