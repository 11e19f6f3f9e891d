"""The fingerprint of a function's code: DESIGN section 4, the code fingerprint."""

from __future__ import annotations

import functools
import gc
import importlib.util
import itertools
import linecache
import os
import subprocess
import sys
import threading
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest

from flowfn import task
from flowfn.identity.code.dependencies import Dependencies
from flowfn.identity.code.fingerprint import Fingerprint, fingerprint
from flowfn.identity.digest import exact
from flowfn.identity.made_with.captured import captured
from flowfn.python.cached_property import renew

Project = Callable[..., ModuleType]

BASE = '''
import json

def clean(text):
    return text.strip()

def work(rows, limit=10):
    """Count the rows."""
    found = [clean(row) for row in rows]  # without blanks
    return json.dumps(found[:limit])
'''


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Writes a module of a user's project and imports it; each call is another version of it."""
    version = itertools.count()

    def write(text: str, name: str = "app", folder: str = "") -> ModuleType:
        path = tmp_path / f"v{next(version)}" / folder / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    known = set(sys.modules)
    yield write  # type: ignore[misc]
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def holding(value: Any) -> Any:
    return lambda: value


def digest_of(project: Project, text: str, name: str = "work") -> str:
    """The digest of one function of a module."""
    return fingerprint(getattr(project(text), name)).digest


class TestOwnCode:
    """The source of the function itself."""

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("Count the rows.", "Count all rows."),
            ("# without blanks", "# stripped"),
            ('    """Count the rows."""\n', ""),
            ("rows, limit=10", "rows: list[str], limit: int = 10"),
            ("limit=10):", "limit=10) -> str:"),
            ("found = [", "found: list[str] = ["),
            ("found = [", "\n    found=["),
            ("def work", "import functools\n\n@functools.cache\ndef work"),
            ("import json", "import json\nimport os\n\nOTHER = 1\n"),
            ("'''", '"""'),
        ],
        ids=itertools.count(),
    )
    def test_layout_is_not_code(self, project: Project, old: str, new: str) -> None:
        """Comments, docstrings, annotations, decorators, blanks and the place in the file don't count."""
        assert digest_of(project, BASE.replace(old, new)) == digest_of(project, BASE)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("found[:limit]", "found[limit:]"),
            ("limit=10", "limit=11"),
            ("rows, limit=10", "rows, *, limit=10"),
            ("def work", "async def work"),
            ("    return json", "    yield 1\n    return json"),
        ],
        ids=itertools.count(),
    )
    def test_an_edit_is_seen(self, project: Project, old: str, new: str) -> None:
        """Bodies, literal defaults, parameters, and the kind of the function."""
        assert digest_of(project, BASE.replace(old, new)) != digest_of(project, BASE)

    def test_the_source_is_the_reduced_source(self, project: Project) -> None:
        """Reports show it in a diff."""
        found = fingerprint(project(BASE).work)
        assert found.source == (
            "def work(rows, limit=10):\n"
            "    found = [clean(row) for row in rows]\n"
            "    return json.dumps(found[:limit])"
        )
        assert (len(found.digest), int(found.digest, 16) > 0) == (32, True)

    @pytest.mark.parametrize(
        ("written", "text"),
        [
            ("""f'{row["id"]}: {row!r:>{width}}'""", """f"{row['id']}: {row!r:>{width}}\""""),
            ("""f'{"one" if row else "none"}'""", """f"{'one' if row else 'none'}\""""),
            (r"""f"{f'{row}'} in {{}}\n" """, r'''f"{f'{row}'} in {{}}\n"'''),
            ("""f'{ {row: 1}[row]:%Y}'""", """f'{ {row: 1}[row]:%Y}'"""),
            ("""f'{row}' 'a' f'b{row:}'""", """f'{row}ab{row:}'"""),
        ],
        ids=itertools.count(),
    )
    def test_an_fstring_has_one_text_on_every_python(self, project: Project, written: str, text: str) -> None:
        """G9: Python 3.12 quotes them otherwise, and a run goes on under it without any edit."""
        found = fingerprint(project(f"def work(row, width):\n    return {written}").work)
        assert found.source == f"def work(row, width):\n    return {text}"

    @pytest.mark.parametrize("name", ["work", "make"])
    def test_what_an_fstring_names_is_code(self, project: Project, name: str) -> None:
        """A helper that is called in one, in a function or for the field of a class."""
        text = """
from dataclasses import dataclass

def clean(text):
    return text.strip()

@dataclass
class Row:
    title: str = f"{clean('a ')}"

def work(row):
    return f"{clean(row)!r:>9}"

def make():
    return Row()
"""
        edited = text.replace("strip()", "rstrip()")
        assert digest_of(project, edited, name) != digest_of(project, text, name)

    def test_a_function_without_anything_but_a_docstring_has_a_source(self, project: Project) -> None:
        """Reducing leaves a whole function."""
        assert fingerprint(project('def work():\n    """Nothing."""').work).source == "def work():\n    pass"

    def test_code_in_a_zip_file_counts_by_its_source(
        self, tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program that was packed into one is the program that it was, whatever Python runs it."""
        with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
            packed.writestr("packed.py", BASE)
        monkeypatch.syspath_prepend(tmp_path / "packed.zip")
        assert fingerprint(importlib.import_module("packed").work) == fingerprint(
            project(BASE, "packed").work
        )

    def test_it_is_computed_once(self, project: Project) -> None:
        """A file that is edited under a running process is not what the process runs."""
        module = project(BASE)
        before = fingerprint(module.work)
        Path(str(module.__file__)).write_text(BASE.replace("[:limit]", "[limit:]"))
        linecache.clearcache()
        assert fingerprint(module.work) is before

    def test_threads_agree(self, project: Project) -> None:
        """Many may ask at once."""
        module = project(BASE)
        found: list[Fingerprint] = []
        threads = [threading.Thread(target=lambda: found.append(fingerprint(module.work))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [each is found[0] for each in found] == [True] * 8


class TestEditedFiles:
    """A file that is edited while the process runs what it had before."""

    @pytest.mark.parametrize(
        ("old", "new"),
        [("text.strip()", "text.lstrip()"), ("found[:limit]", "found[limit:]")],
        ids=["helper", "own"],
    )
    def test_the_edit_is_not_what_runs(self, project: Project, old: str, new: str) -> None:
        """G2: neither a function nor its helper counts as what the file says by now: nothing has loaded that."""
        module, edited = project(BASE), BASE.replace(old, new)
        Path(str(module.__file__)).write_text(edited)
        assert fingerprint(module.work).digest != digest_of(project, edited)

    def test_a_method_of_a_class_counts_as_it_runs(self, project: Project) -> None:
        """G2: a class whose methods the file no longer has isn't the one that it has."""
        text = (
            "class Shop:\n    def price(self):\n        return 1\n\ndef work():\n    return Shop().price()\n"
        )
        edited = text.replace("1", "2")
        module = project(text)
        Path(str(module.__file__)).write_text(edited)
        assert fingerprint(module.work).digest != digest_of(project, edited)

    def test_an_edit_elsewhere_changes_nothing(self, project: Project) -> None:
        """G9: a function is found where the edit has moved it."""
        module = project(BASE)
        Path(str(module.__file__)).write_text(f"def new():\n    return 1\n\n{BASE}")
        assert fingerprint(module.work) == fingerprint(project(BASE).work)

    def test_what_was_loaded_anew_counts_as_the_file_says(self, project: Project) -> None:
        """G9: who reloads an edited module runs the edit."""
        module, edited = project(BASE), BASE.replace("text.strip()", "text.lstrip()")
        Path(str(module.__file__)).write_text(edited)
        exec(compile(edited, str(module.__file__), "exec", dont_inherit=True), vars(module))
        assert fingerprint(module.work) == fingerprint(project(edited).work)


class TestHelpers:
    """The project's own functions and classes that it names."""

    def test_a_helper_counts(self, project: Project) -> None:
        """An edit of what a task calls is an edit of the task."""
        edited = BASE.replace("text.strip()", "text.lstrip()")
        assert digest_of(project, edited) != digest_of(project, BASE)
        assert fingerprint(project(BASE).work).helpers == ("app.clean",)

    def test_helpers_of_helpers_count_even_in_circles(self, project: Project) -> None:
        """Recursively, and recursion is no trap."""
        text = "def a(n): return b(n)\ndef b(n): return c(n)\ndef c(n): return n and a(n - 1)\n"
        assert digest_of(project, text, "a") != digest_of(project, text.replace("n and", "n or"), "a")
        assert fingerprint(project(text).a).helpers == ("app.b", "app.c")

    def test_what_a_type_hint_leads_to_counts(self, project: Project) -> None:
        """A validator that a model's field has by an alias is code that the model runs."""
        text = (
            "from typing import Annotated\nfrom pydantic import AfterValidator, BaseModel\n"
            "def rounded(x): return x + 1\nAmount = Annotated[int, AfterValidator(rounded)]\n"
            "class Order(BaseModel):\n    amounts: 'list[Amount]'\ndef work(x): return Order(amounts=[x])\n"
        )
        assert digest_of(project, text) != digest_of(project, text.replace("x + 1", "x + 2"))

    def test_what_it_does_not_name_does_not_count(self, project: Project) -> None:
        """Other functions of the module may change."""
        assert digest_of(project, BASE + "\ndef other(): return 1") == digest_of(project, BASE)

    def test_a_local_name_is_not_the_global_one(self, project: Project) -> None:
        """A parameter hides a function of its name."""
        text = "def clean(): return {}\ndef work(clean): return clean()"
        assert digest_of(project, text.format(1)) == digest_of(project, text.format(2))

    @pytest.mark.parametrize(
        "inside",
        [
            *("[clean for clean in rows]", "{clean for clean in rows}", "{clean: 1 for clean in rows}"),
            *("list(clean for clean in rows)", "sorted(rows, key=lambda clean: clean)"),
            *("[[clean for row in clean] for clean in rows]", "[row for clean in rows if (row := clean)]"),
        ],
    )
    def test_a_variable_of_what_is_inside_it_is_not_the_global_one(
        self, project: Project, inside: str
    ) -> None:
        """A helper of its name counts if the function names it besides, and only then: the same on every Python."""
        helper = "def clean(text):\n    return text.strip()\n\n"
        edited = helper.replace("strip", "rstrip")
        for work, counts in ((f"return {inside}", False), (f"return clean({inside})", True)):
            text = f"def work(rows):\n    {work}\n"
            differ = digest_of(project, edited + text) != digest_of(project, helper + text)
            assert differ == counts, work

    @pytest.mark.parametrize(
        "inside",
        [
            *("[row for row in clean(rows)]", "[clean(row) for row in rows]", "lambda row=clean(rows): row"),
            *("[row for clean in [clean(rows)] for row in clean]", "lambda row: [clean for row in rows]"),
        ],
    )
    def test_what_is_inside_it_names_the_global_one(self, project: Project, inside: str) -> None:
        """What a comprehension goes over, and a default, are worked out where neither's variables are."""
        text = f"def clean(text):\n    return text.strip()\n\ndef work(rows):\n    return {inside}\n"
        assert digest_of(project, text.replace("strip", "rstrip")) != digest_of(project, text)

    def test_functions_of_own_modules_count(self, project: Project) -> None:
        """`helpers.clean` is followed through the module."""
        text = "import helpers\ndef work(): return helpers.clean()"
        found = []
        for body in ("1", "2"):
            project(f"def clean(): return {body}\ndef other(): return {body}", "helpers")
            found.append(fingerprint(project(text).work))
        assert found[0].helpers == ("helpers.clean",)
        assert found[0].digest != found[1].digest

    def test_what_an_installed_library_does_does_not_count(self, project: Project) -> None:
        """Neither site-packages nor Python's own library."""
        text = "import library, json\ndef work(): return library.clean(json.dumps(1))"
        found = []
        for body in ("1", "2"):
            project(f"def clean(x): return {body}", "library", folder="site-packages")
            found.append(fingerprint(project(text).work))
        assert found[0] == found[1]

    def test_a_project_may_be_installed(self, project: Project) -> None:
        """As it is in a container: a package with tasks is no library."""
        text = "from flowfn import task\ndef clean(): return {}\n@task\ndef work(): return clean()"
        found = [project(text.format(body), "shop", folder="site-packages").work.__wrapped__ for body in "12"]
        assert fingerprint(found[0]).helpers == ("shop.clean",)
        assert fingerprint(found[0]).digest != fingerprint(found[1]).digest

    @pytest.mark.parametrize(
        ("origin", "counts"), [('{"dir_info": {}}', True), ('{"archive_info": {}}', False)]
    )
    def test_a_package_that_was_installed_from_a_folder_counts(
        self, project: Project, tmp_path: Path, origin: str, counts: bool
    ) -> None:
        """A project may consist of several; `direct_url.json` (PEP 610) says where they came from."""
        site = tmp_path / "v0" / "site-packages"
        notes = site / "core-1.dist-info"
        notes.mkdir(parents=True)
        (notes / "direct_url.json").write_text(origin)
        (notes / "RECORD").write_text("core.py,sha256=,9\ncore-1.dist-info/RECORD,,\n")
        (site / "core.py").write_text("def clean(): return 1")
        spec = importlib.util.spec_from_file_location("core", site / "core.py")
        assert spec is not None
        assert spec.loader is not None
        core = sys.modules["core"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(core)
        work = project("import core\ndef work(): return core.clean()", folder="app").work
        assert fingerprint(work).helpers == (("core.clean",) if counts else ())

    def test_a_library_whose_function_becomes_a_task_is_none_of_the_project(self, project: Project) -> None:
        """`task(requests.get)` is a task of a library's function."""
        text = "def clean(): return {}\ndef get(): return clean()"
        found = [project(text.format(body), "library", folder="site-packages") for body in "12"]
        assert [task(each.get) for each in found]
        assert [fingerprint(each.get).helpers for each in found] == [(), ()]

    def test_a_function_is_the_same_argument_when_its_helper_is_edited(self, project: Project) -> None:
        """As a call of a task is the same call: one made in a function counts by its own code and closure."""
        text = "def helper(): return {}\ndef make(name):\n    def local(): return helper(), name\n    return local"
        before, after = project(text.format(1)), project(text.format(2))
        first, edited, other = (
            exact({"x": made}).exact for made in (before.make("a"), after.make("a"), after.make("b"))
        )
        assert first == edited != other

    def test_the_next_version_of_a_library_makes_no_other_argument_of_a_function_that_it_wrapped(
        self, project: Project
    ) -> None:
        """G1: a call with it had finished, and the library was upgraded; but what it was given tells still."""
        text = """
from functools import wraps
class Policy{0}:
    def __init__(self, times): self.kept{0} = times
def retried(function, times, before=None):
    policy = Policy{0}(times)
    def around{0}(*arguments): return policy, times, before, {0}, around{0}
    around{0}.policy{0} = lambda: {0}
    return wraps(function)(around{0})
"""
        work = "def work(): return 1\nclass Bell:\n    def __init__(self, tone): self.tone = tone"
        own, found = project(work), dict[str, Any]()
        for body in "12":
            library = project(text.format(body), "library", folder="site-packages")
            made = [library.retried(own.work, *given) for given in ((2,), (3,), (2, len), (2, own.Bell(1)))]
            made += [library.retried(own.work, 2, own.Bell(2)), own.work]
            found[body] = [(exact({"x": each}).exact, repr(captured(holding(each)))) for each in made]
        assert found["1"] == found["2"]
        assert len({argument for argument, _ in found["1"]}) == len({held for _, held in found["1"]}) == 6

    def test_closures_are_followed_and_their_values_are_not(self, project: Project) -> None:
        """No values: a mutable closure never makes code look changed."""
        text = (
            "def make(state):\n    def helper(): return {}\n"
            "    def work(): return state, helper()\n    return work\n"
        )
        first, edited = project(text.format(1)), project(text.format(2))
        assert fingerprint(first.make([1])).digest == fingerprint(first.make({"a": object()})).digest
        assert fingerprint(first.make(1)).digest != fingerprint(edited.make(1)).digest

    def test_globals_count_by_name_only(self, project: Project) -> None:
        """A constant or a counter may have any value."""
        text = "STATE = {}\ndef work(): return STATE"
        assert digest_of(project, text.format("[]")) == digest_of(project, text.format("{1: 2}"))

    def test_a_class_counts_whole(self, project: Project) -> None:
        """Its methods, its bases, and the annotations that make its fields."""
        text = (
            "from dataclasses import dataclass\n"
            "class Base:\n    def price(self): return 1\n"
            "@dataclass\nclass Order(Base):\n    '''An order.'''\n    number: int = 1\n"
            "    def total(self): return rate()\n"
            "def rate(): return 7\n"
            "def work(): return Order(3)\n"
        )
        edits = [
            ("number: int", "number: str"),
            ("rate()\n", "-rate()\n"),
            ("return 7", "return 8"),
            ("return 1", "return 2"),
        ]
        digests = {digest_of(project, text.replace(*edit)) for edit in edits}
        assert len(digests | {digest_of(project, text)}) == 5
        assert digest_of(project, text.replace("An order.", "One order.")) == digest_of(project, text)

    def test_a_class_counts_with_the_decorators_of_its_methods(self, project: Project) -> None:
        """Those of the project's, as of a function; what a library makes for a class, which may be other code under
        another Python, does not."""
        text = (
            "from dataclasses import dataclass\n"
            "def doubled(method):\n    return lambda self: method(self) * 2\n"
            "@dataclass\nclass Order:\n    number: int = 1\n"
            "    @doubled\n    def total(self): return self.number\n"
            "def work(): return Order(3)\n"
        )
        assert digest_of(project, text) != digest_of(project, text.replace("* 2", "* 3"))
        found = fingerprint(project(text).work).helpers
        assert found == ("app.Order", "app.Order.total", "app.doubled.<locals>.<lambda>")

    @pytest.mark.parametrize("named", ["service.price(x)", "Holder.service.price(x)", "price(x)"])
    def test_the_class_of_a_named_object_counts(self, project: Project, named: str) -> None:
        """What it calls by an object is code of the project; what the object holds is not, nor what a list does."""
        text = (
            "class Service:\n    rate = 2\n    def price(self, x):\n        return x * 2\n"
            "service = Service()\nprice = service.price\nhandlers = [len]\n"
            "class Holder:\n    service = service\n"
            f"def work(x):\n    return {named}, handlers\n"
        )
        found = digest_of(project, text)
        assert digest_of(project, text.replace("x * 2", "x * 3")) != found
        assert digest_of(project, text + "service.rate = 5\nhandlers.append(Service)\n") == found

    def test_methods_that_a_method_calls_count(self, project: Project) -> None:
        """`self.clean()` is followed through the class and its bases."""
        text = (
            "class Base:\n    def clean(self): return 1\n"
            "class Job(Base):\n    def work(self): return self.clean(), self.other\n"
            "    @property\n    def other(self): return 2\n"
            "    def unused(self): return 3\n"
        )
        digest = digest_of(project, text, "Job")
        method = fingerprint(project(text).Job.work)
        assert method.helpers == ("app.Base.clean", "app.Job.other")
        assert fingerprint(project(text.replace("return 1", "return 4")).Job.work).digest != method.digest
        assert fingerprint(project(text.replace("return 3", "return 4")).Job.work).digest == method.digest
        assert digest_of(project, text.replace("return 3", "return 4"), "Job") != digest

    def test_tasks_and_workflows_count_by_name(self, project: Project) -> None:
        """They are versioned on their own."""
        text = (
            "class Task:\n    __flowfn__ = 'task'\n"
            "    def __init__(self, f): self.__wrapped__ = f; self.__qualname__ = f.__qualname__\n"
            "@Task\ndef fetch(): return {}\n"
            "class Jobs:\n    @Task\n    def inner(self): return {}\n"
            "def work(): return fetch(), Jobs\n"
        )
        assert digest_of(project, text.format(1, 1)) == digest_of(project, text.format(2, 2))
        assert "app.fetch" in fingerprint(project(text.format(1, 1)).work).helpers


WRAPPER = """
import functools
def twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args), {}
    return wrapper
@twice
def work(x): return x + {}
"""


class TestCallables:
    """Every kind of callable has a fingerprint."""

    def test_a_decorator_of_the_project_counts_and_so_does_what_it_wraps(self, project: Project) -> None:
        """`__wrapped__` is followed, and the wrapper's own code kept."""
        digests = {digest_of(project, WRAPPER.format(*edit)) for edit in [(1, 1), (1, 2), (2, 1)]}
        assert len(digests) == 3
        assert fingerprint(project(WRAPPER.format(1, 1)).work).source == "def work(x):\n    return x + 1"

    @pytest.mark.parametrize(
        "text",
        [
            "pick = [lambda x: x + 1, lambda x: x + 2]",
            "pick = [lambda x: x + 1, lambda x: x + 2, lambda y: y]",
            "pick = list(map(lambda f: f,\n  [lambda x:\n    x + 1, lambda x: (\n  x\n + 2)]))",
            "def at(*f): return f\npick = at(\n    lambda x: x + 1,\n    # another\n    lambda x: x + 2,\n)",
        ],
        ids=itertools.count(),
    )
    def test_lambdas_are_found_in_their_line(self, project: Project, text: str) -> None:
        """Several lambdas of one line are told apart by their columns."""
        sources = [fingerprint(each).source for each in project(text).pick[:2]]
        assert sources == ["lambda x: x + 1", "lambda x: x + 2"]

    def test_all_faces_of_a_function_have_its_fingerprint(self, project: Project) -> None:
        """Partials, bound methods, static and class methods, and objects with `__call__`."""
        module = project(
            "class Job:\n    def __call__(self, x): return x\n    def plain(self): return 1\n"
            "    @staticmethod\n    def static(): return 1\n    @classmethod\n    def of(cls): return 1\n"
        )
        job, cls = module.Job(), module.Job
        pairs: list[tuple[Any, Any]] = [
            (job.plain, cls.plain),
            (job, cls.__call__),
            (cls.of, vars(cls)["of"].__func__),
            (vars(cls)["static"], cls.static),
            (functools.partial(functools.partial(cls.plain, job)), cls.plain),
            (functools.lru_cache(cls.plain), cls.plain),
        ]
        assert [fingerprint(face).digest == fingerprint(plain).digest for face, plain in pairs] == [True] * 6

    def test_coroutines_and_generators_have_sources(self, project: Project) -> None:
        """Async functions and generators are functions."""
        module = project("async def a(): yield await b()\nasync def b(): return 1\ndef c(): yield 1")
        assert fingerprint(module.a).source == "async def a():\n    yield (await b())"
        assert fingerprint(module.a).helpers == ("app.b",)
        assert fingerprint(module.c).source == "def c():\n    yield 1"

    def test_builtins_count_by_name(self) -> None:
        """They change with Python only."""
        found = [fingerprint(each) for each in (len, print, [].append, str.upper)]
        assert len({each.digest for each in found}) == 4
        assert {each.source for each in found} == {None}

    def test_code_without_source_counts_as_compiled(self) -> None:
        """`exec` leaves no source; names, constants and instructions remain."""

        def made(text: str) -> Any:
            space: dict[str, Any] = {"__name__": "made"}
            exec(text, space)
            return space["work"]

        texts = [
            "def work(x): return x in {1, 2}",
            "def work(x): return x in {1, 3}",
            "def work(x): return lambda: x",
        ]
        found = [fingerprint(made(text)) for text in texts]
        assert len({each.digest for each in found}) == 3
        assert found[0] == fingerprint(made(texts[0]))
        assert {each.source for each in found} == {None}

    @pytest.mark.parametrize("seed", ["0", "1", "2"])
    def test_it_does_not_depend_on_the_process(self, project: Project, seed: str) -> None:
        """Sets of constants iterate in another order in another process."""
        text = BASE + '\nspace = {}\nexec(\'def made(x): return x in {"a", "b", "c", "d"}\', space)\n'
        module = project(text)
        program = (
            "import app\nfrom flowfn.identity.code.fingerprint import fingerprint\n"
            "print(*[fingerprint(each).digest for each in (app.work, app.space['made'])])"
        )
        paths = os.pathsep.join([str(Path(__file__).parents[2]), str(Path(str(module.__file__)).parent)])
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        here = (fingerprint(module.work).digest, fingerprint(module.space["made"]).digest)
        assert tuple(run.stdout.split()) == here

    def test_the_digest_is_the_same_in_every_version_of_python(self, project: Project) -> None:
        """Sources are compared as text, which no compiler changes."""
        assert digest_of(project, BASE) == "7dbe4d405357434ebf78004d545bcc29"

    @pytest.mark.parametrize("edited", "12")
    def test_of_a_class_that_its_file_defines_twice_both_texts_count(
        self, project: Project, edited: str
    ) -> None:
        """G9: which of them the process has its text doesn't say, and neither edit may go unseen."""
        text = """
try:
    import json
    class Parser:
        def parse(self): return 1
except ImportError:
    class Parser:
        def parse(self): return 2
def work(): return Parser().parse()
"""
        assert digest_of(project, text) != digest_of(project, text.replace(f"return {edited}", "return 3"))

    def test_what_a_library_made_of_fields_does_not_count(self, project: Project) -> None:
        """Each Python makes it its own way, and has other instructions for it; a method that was given does count."""
        made = project(
            "from collections import namedtuple\n"
            "Point = namedtuple('Point', 'x y')\n"
            "Size = type('Size', (Point,), {'of': lambda self: self.x})\n"
            "def work(x): return Point(x, x), Size(x, x)\n"
        )
        found = {text for _, text in fingerprint(made.work).units}
        assert found == {"def work(x):\n    return (Point(x, x), Size(x, x))", "", "lambda self: self.x"}

    def test_it_never_raises(self) -> None:
        """Whatever an object answers when looked at."""

        class Hostile:
            def __getattr__(self, name: str) -> Any:
                raise RuntimeError(name)

            def __call__(self) -> None: ...

        hostile = Hostile()
        assert fingerprint(hostile).digest == fingerprint(Hostile.__call__).digest
        assert fingerprint(lambda: hostile.some.thing()).digest
        assert fingerprint(3).digest  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["gone", "lazy"])
    def test_what_cannot_be_looked_at_leads_nowhere(self, project: Project, name: str) -> None:
        """A proxy whose object is gone, or isn't there yet, is told by the line that makes it."""
        app = project(PROXIES)
        function = getattr(app, f"names_{name}")
        before = fingerprint(function)
        renew()
        assert fingerprint(function) is before
        assert f"constant {name}" in Dependencies(function).parts

    def test_objects_that_wrap_themselves_end(self) -> None:
        """A chain of wrappers is followed only so far."""

        class Endless:
            @property
            def __wrapped__(self) -> Any:
                return Endless()

        assert fingerprint(Endless()).source is None  # type: ignore[arg-type]


PROXIES = """
import weakref

class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("not configured yet")

gone = weakref.proxy(Lazy())
lazy = Lazy()

def names_gone(x):
    return gone.some.thing(x)

def names_lazy(x):
    return lazy.some.thing(x)
"""

PROCESS = """
import flowfn

counter = 0
held = None

class Rate:
    base = 2
    @staticmethod
    def of(x):
        return Rate.base * x
    def kept(self, x):
        return x

def helper(x, by=2):
    return x * by

def wrapper(function):
    import functools
    @functools.wraps(function)
    def inner(x):
        return function(x)
    return inner

@wrapper
def wrapped(x):
    return x * 3

def first():
    global held
    held = held or helper
    return held

def scaling(n):
    def scaled(x):
        return x * n
    return scaled

class Held:
    size = 1

scale = scaling(2)
box = Held()

def work(x):
    first()
    return helper(x) + Rate.of(x) + wrapped(x) + counter + scale(x) + box.size + later(x)

def other(x):
    return work(x)

def third(x):
    return x
"""


def _defined(module: Any, text: str) -> None:
    """Define something again, as a notebook's cell does that is run again."""
    exec(text, vars(module))


def _swapped(function: Any) -> None:
    """Give a function other code, as IPython's autoreload does on an edit of its module."""
    function.__code__ = (lambda x: x * 10).__code__


def _reloaded(module: Any, old: str, new: str) -> None:
    """Edit a module's file, and run the module again."""
    file = Path(module.__file__)
    file.write_text(file.read_text().replace(old, new))
    importlib.invalidate_caches()
    module.__spec__ = importlib.util.spec_from_file_location(module.__name__, file)
    module.__spec__.loader.exec_module(module)


def _autoreloaded(module: Any) -> None:
    """What IPython does with a class: the old one stays, and gets what the new one has."""
    rate = module.Rate
    _reloaded(module, "base = 2", "base = 30")
    rate.base, module.Rate = module.Rate.base, rate


METHOD = "class Rate:\n    @staticmethod\n    def of(x): return x * 10\n"

EDITS: dict[str, Callable[[Any], None]] = {
    "its own code": lambda app: _swapped(app.work),
    "a helper's code": lambda app: _swapped(app.helper),
    "a helper": lambda app: _defined(app, "def helper(x): return x * 10"),
    "a helper below a decorator": lambda app: _defined(app, "@wrapper\ndef wrapped(x): return x * 10"),
    "what a decorator is around": lambda app: _swapped(app.wrapped.__wrapped__),
    "a method's code": lambda app: _swapped(app.Rate.of),
    "a method": lambda app: setattr(app.Rate, "of", _of(METHOD)),
    "a class": lambda app: _defined(app, METHOD),
    "the class of an object": lambda app: _reloaded(app, "size = 1", "size = 10"),
    "a module": lambda app: _reloaded(app, "x * by", "x * by * 5"),
    "a default": lambda app: _reloaded(app, "by=2", "by=10"),
    "the data of a class": _autoreloaded,
}
"""What changes code in the middle of a process: a cell that is run again, a reload and autoreload."""


def _of(text: str) -> Any:
    space: dict[str, Any] = {"__name__": "app"}
    exec(text, space)
    return vars(space["Rate"])["of"]


VALUES: dict[str, Callable[[Any], None]] = {
    "a counter": lambda app: setattr(app, "counter", None if app.counter else 1),
    "what the code gives another function itself": lambda app: app.first(),
    "an object of another class": lambda app: setattr(app, "box", app.Rate()),
    "an object again": lambda app: setattr(app, "box", app.Held()),
    "nothing": lambda app: setattr(app, "box", None),
    "a stand-in of a test's": lambda app: setattr(app, "helper", Mock()),
    "another function": lambda app: setattr(app, "helper", app.first),
    "another function of the same code": lambda app: setattr(app, "scale", app.scaling(3)),
    "what a class gets": lambda app: setattr(app.Rate, f"seen{len(vars(app.Rate))}", 1),
    "a method that a class gets": lambda app: setattr(app.Rate, "more", lambda self: 1),
}
"""What a program does with values of its own, again and again."""


def _anew(function: Any) -> Fingerprint:
    """The fingerprint as the next run takes it."""
    renew()
    return fingerprint(function)


class TestOneProcess:
    """What is remembered holds until code is edited."""

    @pytest.mark.parametrize("edit", EDITS)
    def test_edited_code_has_another_digest(self, project: Project, edit: str) -> None:
        """So that `on_code_change` sees it."""
        app = project(PROCESS)
        before = _anew(app.work).digest
        EDITS[edit](app)
        assert _anew(app.work).digest != before

    @pytest.mark.parametrize("edit", EDITS)
    def test_all_that_lead_to_edited_code_are_taken_anew(self, project: Project, edit: str) -> None:
        """Though it is looked at for the first of them only."""
        app = project(PROCESS)
        functions = app.other, app.work, app.third
        before = [*map(_anew, functions)]
        EDITS[edit](app)
        renew()
        assert [fingerprint(each) is was for each, was in zip(functions, before, strict=True)] == [
            False,
            False,
            True,
        ]

    @pytest.mark.parametrize("change", VALUES)
    def test_values_that_change_are_no_edit(
        self, project: Project, change: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And nothing is read anew for them, however often they do."""
        app = project(PROCESS)
        before = _anew(app.work)
        app.box = app.Held()
        monkeypatch.setattr("flowfn.identity.code.source.function_unit", None)
        for _ in range(3):
            VALUES[change](app)
            assert _anew(app.work) is before

    def test_what_comes_to_be_there_is_no_edit(self, project: Project) -> None:
        """A module that is imported, or an attribute that is made, where it is needed, is the code that was meant."""
        app = project(PROCESS)
        before = _anew(app.work)
        _defined(app, "def later(x): return x")
        assert _anew(app.work) is before

    def test_an_edit_of_what_came_to_be_there_is_seen(self, project: Project) -> None:
        """It was looked at when it came."""
        app = project(PROCESS)
        before = _anew(app.work).digest
        _defined(app, "def later(x): return x")
        assert _anew(app.work).digest == before
        _defined(app, "def later(x): return x * 10")
        assert _anew(app.work).digest != before

    def test_a_function_that_names_itself_is_let_go(self) -> None:
        """What is remembered of a function doesn't hold it."""

        def made() -> Any:
            class Held:
                def again(self) -> Any:
                    return Held, count

            def count(number: int) -> Any:
                return count(number - 1) if number else Held

            fingerprint(count), fingerprint(Held)
            return weakref.ref(count), weakref.ref(Held)

        found = made()
        gc.collect()
        assert [each() for each in found] == [None, None]
