"""Section 4: what a line names is what is written there, on every Python, so that a run may go on on another one."""

from __future__ import annotations

from textwrap import indent
from types import CodeType
from typing import Any

import pytest

from flowfn.identity.code.compiled import all_code
from flowfn.identity.code.named import named_by_line

WRITTEN = {
    "the keywords of a call": ("post(order=key(), to=shop)", {1: "post order key to shop"}),
    "keywords over several lines": (
        "post(\n    shop,\n    order=key(),\n    to=shop or items,\n    each=[\n    key(item) for item in items])",
        {1: "post", 2: "shop", 3: "order key", 4: "to shop items", 5: "each", 6: "key item items"},
    ),
    "keywords of a method's call": (
        "shop.post(1).post(\n    order=key(\n    of=2), to=-1)",
        {1: "shop post 1", 2: "order key", 3: "of 2 to -1"},
    ),
    "keywords whose values can't be told apart": (
        "post(\n    order=key() if shop else items)",
        {1: "post order", 2: "key shop items"},
    ),
    "a comprehension": (
        "return [\n    key(item)\n    for item in items\n]",
        {2: "key item", 3: "item items"},
    ),
    "a comprehension's first line": (
        "return [key()\n    for item in items if item != shop]",
        {1: "key", 2: "item items shop"},
    ),
    "the end of a handler": (
        "try:\n    post()\nexcept OSError as error:\n    post(key())",
        {2: "post", 3: "OSError error", 4: "post key"},
    ),
    "super": ("return super().post(key())", {1: "super post key"}),
    "an f-string": ("return f'to{shop}:{key()!r}.'", {1: "to shop : key ."}),
    "an f-string over several lines": (
        "post(\n    f'to{shop}and'\n    f'order{key()}'\n    'end'\n)",
        {1: "post", 2: "to shop", 3: "andorder key end", 4: ""},
    ),
    "a format made of others": ("return f'{key():{shop}}'", {1: "key shop"}),
    "a name that is deleted": ("shop = key()\ndel shop", {1: "shop key", 2: "shop"}),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_line_names_what_is_written_on_it(what: str) -> None:
    """Compilers differ in the instructions for it, and add some for variables that nobody wrote there."""
    written, named = WRITTEN[what]
    found = named_by_line(compiled(written))
    assert {line: found.get(HEAD + line, set()) for line in named} == {
        line: {*names.split()} for line, names in named.items()
    }


def test_a_class_may_be_moved() -> None:
    """Python 3.13 has a class say where it begins: what is called on that line stands where it stood."""
    once = "class Sale: order = key()"
    sales = [each for each in all_code(compiled(f"{once}\n{once}")) if each.co_name == "Sale"]
    assert [found for sale in sales for found in named_by_line(sale).values()] == [
        {"__name__", "__module__", "outer.<locals>.Shop.method.<locals>.Sale", "__qualname__", "key", "order"}
    ] * 2


HEAD = 3
"""The lines above the body."""


def compiled(body: str) -> CodeType:
    """The code of a method with that body, in a function of which it can capture `items` and `shop`."""
    head = "def outer(items, shop):\n    class Shop:\n        def method(self):\n"
    module = compile(head + indent(body, " " * 12), "shop.py", "exec")
    (code,) = [each for each in all_code(module) if each.co_name == "method"]
    return code


def test_code_need_not_say_where_on_a_line_it_stands(run_python: Any) -> None:
    """With `-X no_debug_ranges` it says its lines alone, as code does that another compiler made."""
    code = (
        "from flowfn.identity.code.named import named_by_line\n"
        f"code = compile({MANY_LINES!r}, 'shop.py', 'exec')\n"
        "print([*named_by_line(code)])"
    )
    done = run_python("-X", "no_debug_ranges", "-c", code)
    assert (done.stdout, done.stderr) == ("[1, 2, 3, 4]\n", "")


MANY_LINES = "post(\n    order=key(),\n    to=f'a{shop}\\\nb{key}')"
