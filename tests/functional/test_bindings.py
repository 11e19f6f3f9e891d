"""Functions stay functions: tasks and entrypoints in every binding, of every kind (section 3)."""

import copy
import functools
import inspect
import pickle
import typing
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel

from flowfn import CachePolicy, Entrypoint, InvalidInput, RetryPolicy, Task, TimeoutPolicy, entrypoint, task

from ..worlds import World


@task
def module_level(x: int) -> int:
    """Add one."""
    return x + 1


class Shop:
    """Tasks and entrypoints in each place of a class."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @task
    def method(self, x: int) -> int:
        return self.factor * x

    @task(name="multiply by the factor")
    def named(self, x: int) -> int:
        return self.factor * x

    @task
    @classmethod
    def class_inside(cls, x: int) -> tuple[str, int]:
        return cls.__name__, x

    @classmethod
    @task
    def class_outside(cls, x: int) -> tuple[str, int]:
        return cls.__name__, x

    @task
    @staticmethod
    def static_inside(x: int) -> int:
        return x + 1

    @staticmethod
    @task
    def static_outside(x: int) -> int:
        return x + 1

    @entrypoint
    def flow(self, x: int) -> int:
        return self.method(x).result() + 1

    @entrypoint
    @classmethod
    def class_flow(cls, x: int) -> tuple[str, int]:
        return cls.__name__, Shop.static_inside(x).result()

    @classmethod
    @entrypoint(checkpointer="memory://")
    def class_flow_outside(cls, x: int) -> tuple[str, int]:
        return cls.__name__, Shop.static_inside(x).result()

    @entrypoint
    @staticmethod
    def static_flow(x: int) -> int:
        return Shop.static_inside(x).result()


class Adder:
    """A callable object."""

    def __init__(self, y: int) -> None:
        self.y = y

    def __call__(self, x: int) -> int:
        return x + self.y


def add(x: int, y: int) -> int:
    return x + y


BINDINGS = {
    "method": (lambda: Shop(3).method(2), 6),
    "method of the class": (lambda: Shop.method(Shop(3), 2), 6),
    "classmethod inside": (lambda: Shop.class_inside(2), ("Shop", 2)),
    "classmethod inside, of an instance": (lambda: Shop(3).class_inside(2), ("Shop", 2)),
    "classmethod outside": (lambda: Shop.class_outside(2), ("Shop", 2)),
    "staticmethod inside": (lambda: Shop.static_inside(2), 3),
    "staticmethod inside, of an instance": (lambda: Shop(3).static_inside(2), 3),
    "staticmethod outside": (lambda: Shop.static_outside(2), 3),
    "partial": (lambda: task(functools.partial(add, 1))(2), 3),
    "partial with a keyword": (lambda: task(functools.partial(add, y=1))(2), 3),
    "callable object": (lambda: task(Adder(1))(2), 3),
    "lambda": (lambda: task(lambda x: x + 1)(2), 3),
    "builtin": (lambda: task(len)("abc"), 3),
    "bound method": (lambda: task(Adder(1).__call__)(2), 3),
    "class": (lambda: task(complex)(1, 2), 1 + 2j),
}


@pytest.mark.parametrize("binding", BINDINGS, ids=str)
def test_a_task_in_every_binding(sync_world: World, binding: str) -> None:
    """A task works wherever a function does, and gives the same inside a run as outside any."""
    make, expected = BINDINGS[binding]

    @sync_world.entrypoint
    def wf() -> Any:
        return make().result()

    assert sync_world.invoke(wf) == expected
    assert make().result() == expected


def test_methods_of_two_objects_are_two_calls(sync_world: World) -> None:
    """A method call is identified by its object too: equal arguments of two shops don't share a result."""
    world, failing = sync_world, [True]

    @world.entrypoint
    def wf() -> list[int]:
        results = [Shop(3).method(2).result(), Shop(4).method(2).result()]
        if failing.pop() if failing else False:
            raise ConnectionError("lost")
        return results

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == [6, 8]


def test_a_method_gets_its_own_object_s_result_in_whatever_order(world: World) -> None:
    """G2: objects without equality are told by what they were given, and what else they are may change."""
    started = iter(range(100))

    class Seller:
        def __init__(self, name: str) -> None:
            self.name = name
            self.started = next(started)
            self.sold = 0

        @world.task
        async def sell(self, item: str) -> str:
            world.ran.append(self.name)
            self.sold += 1
            return f"{item} of {self.name}"

    names = ["a", "b", "b"]

    @world.entrypoint
    async def wf() -> list[str]:
        sellers = {name: Seller(name) for name in sorted(names)}
        sold = [await world.value(sellers[name].sell("tea")) for name in names]
        if names[0] == "a":
            raise ConnectionError("lost")
        return sold

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    names[:] = ["c", "b", "a", "b"]
    assert world.invoke(wf, None, thread_id="t") == ["tea of c", "tea of b", "tea of a", "tea of b"]
    assert world.ran == ["a", "b", "b", "c"]


def test_a_method_of_a_pydantic_model_is_a_task(sync_world: World) -> None:
    """The model counts by its fields, and is told that a task is none."""

    class Account(BaseModel):
        model_config = {"ignored_types": (Task,)}
        balance: int

        @task
        def plus(self, interest: int) -> int:
            return self.balance + interest

    @sync_world.entrypoint
    def wf(interest: int) -> list[int]:
        return [Account(balance=balance).plus(interest).result() for balance in (100, 200, 100)]

    assert sync_world.invoke(wf, 5) == [105, 205, 105]


def test_map_of_a_method(sync_world: World) -> None:
    """`map` works on a method too."""

    @sync_world.entrypoint
    def wf() -> list[int]:
        return [future.result() for future in Shop(3).method.map([1, 2])]

    assert sync_world.invoke(wf) == [3, 6]


def test_an_async_method_is_a_task(async_world: World) -> None:
    """Async methods and async callable objects are tasks as well."""

    class Client:
        @task
        async def get(self, x: int) -> int:
            return x + 1

        async def __call__(self, x: int) -> int:
            return x + 2

    client = Client()
    called = task(client)

    @async_world.entrypoint
    async def wf() -> list[int]:
        return [await client.get(1), await Client.get(client, 2), await called(3)]

    assert async_world.invoke(wf) == [2, 3, 5]


def test_generators_are_tasks(world: World) -> None:
    """A generator task's result is the list of what it yielded."""

    @task
    def count(n: int) -> Any:
        yield from range(n)

    @task
    async def count_async(n: int) -> Any:
        for i in range(n):
            yield i

    @world.entrypoint
    async def wf() -> list[Any]:
        items = [await world.value(count(3)), list(count(2)) if not world.is_async else [0, 1]]
        if world.is_async:
            items.append(await count_async(2))
        return items

    assert world.invoke(wf) == [[0, 1, 2], [0, 1]] + ([[0, 1]] if world.is_async else [])


def test_what_iterates_over_an_async_generator_iterates_over_its_task(async_world: World) -> None:
    """`async for` gives a generator task's items inside a run and outside one, and refuses what are none."""

    @task
    async def count(n: int) -> Any:
        for i in range(n):
            yield i

    @entrypoint
    async def total(n: int) -> list[int]:
        with pytest.raises(TypeError, match="can't be iterated"):
            [item async for item in module_level(n)]
        return [item async for item in count(n)]

    async def outside() -> list[int]:
        return [item async for item in count(2)]

    assert async_world.call(lambda: total.ainvoke(3)) == [0, 1, 2]
    assert async_world.call(outside) == [0, 1]


def test_a_task_without_a_run_simply_runs() -> None:
    """Outside any run a task runs, and its future is done."""
    future = module_level(1)
    assert (future.done(), future.result()) == (True, 2)


def test_an_async_task_without_a_run_is_awaited(async_world: World) -> None:
    """Outside any run an async task is awaited, as its function is."""

    @task
    async def double(x: int) -> int:
        return 2 * x

    async def main() -> list[int]:
        return [await double(1), await double(2)]

    assert async_world.call(main) == [2, 4]


def test_a_task_is_still_its_function() -> None:
    """`func` is the plain function; name, docstring, signature and module are the function's."""
    assert isinstance(module_level, Task)
    assert module_level.func(1) == 2
    assert (module_level.__name__, module_level.__doc__, module_level.__module__) == (
        "module_level", "Add one.", __name__,
    )  # fmt: skip
    assert str(inspect.signature(module_level)) == "(x: int) -> int"
    assert not inspect.iscoroutinefunction(module_level)


def test_a_task_has_its_function_s_attributes() -> None:
    """They are read, set and copied through it, as by `functools.wraps`."""

    def marked(x: int) -> int:
        return x

    marked.kind = "pure"  # type: ignore[attr-defined]
    found = task(marked)
    found.owner = "ada"
    wrapper = functools.wraps(found)(lambda x: found(x))

    assert vars(found) == vars(marked) == {"kind": "pure", "owner": "ada"}
    assert (wrapper.kind, wrapper.owner) == ("pure", "ada")


def test_an_entrypoint_is_still_its_function() -> None:
    """An entrypoint keeps name, docstring and signature for `help()` and IDEs."""

    @entrypoint
    def wf(x: int, *, y: str = "a") -> str:
        """Repeat."""
        return y * x

    assert isinstance(wf, Entrypoint)
    assert (wf.__name__, wf.__doc__, str(inspect.signature(wf))) == (
        "wf", "Repeat.", "(x: int, *, y: str = 'a') -> str",
    )  # fmt: skip
    assert (wf(3), wf.func(2, y="b")) == ("aaa", "bb")


@pytest.mark.parametrize("decorate", [task, entrypoint])
def test_what_looks_at_functions_takes_it_for_its_function(decorate: Any) -> None:
    """Attributes, annotations and a copy are the function's: frameworks wrap, inspect and copy what they are given."""

    def marked(x: int) -> str:
        return str(x)

    marked.kind = "pure"  # type: ignore[attr-defined]
    found = decorate(marked)
    wrapper = functools.wraps(found)(lambda x: found(x))

    assert (vars(found), wrapper.kind) == ({"kind": "pure"}, "pure")
    assert typing.get_type_hints(found) == found.__annotations__ == {"x": int, "return": str}
    assert (copy.copy(found), copy.deepcopy({"call": found})) == (found, {"call": found})


def test_a_deep_copy_of_a_method_is_the_copy_s() -> None:
    """As of any bound method: it goes on with a copy of its object, and a shallow copy with the object itself."""
    shop = Shop(3)
    shallow, deep, owner = copy.copy(shop.method), *copy.deepcopy((shop.method, shop))
    shop.factor, owner.factor = 5, 7
    assert (shallow(2).result(), deep(2).result()) == (10, 14)
    assert copy.deepcopy(Shop.static_inside)(2).result() == 3


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: Shop(3).flow(2), 7),
        (lambda: Shop.static_flow(2), 3),
        (lambda: Shop.class_flow(2), ("Shop", 3)),
        (lambda: Shop.class_flow_outside(2), ("Shop", 3)),
        (lambda: type("Market", (Shop,), {}).class_flow_outside(2), ("Market", 3)),
    ],
)
def test_an_entrypoint_in_a_class(call: Any, expected: int) -> None:
    """An entrypoint may be a method."""
    assert call() == expected


@pytest.mark.parametrize(
    "call",
    [lambda flow: flow.invoke(2), lambda flow: flow.thread("t")(2), lambda flow: flow.invoke({"x": 2})],
)
def test_a_class_that_is_missing_is_told(call: Any) -> None:
    """A classmethod around an entrypoint doesn't bind it since Python 3.13, and what to write is said."""
    unbound = vars(Shop)["class_flow_outside"].__func__
    with pytest.raises(InvalidInput) as refused:
        call(unbound)
    (note,) = refused.value.__notes__
    assert "write @entrypoint above @classmethod" in note


@pytest.mark.parametrize("path", ["pickle", "cloudpickle"])
def test_a_task_survives_pickling_whole(path: str) -> None:
    """A pickled task comes back as the task, with its policies, never as the bare function."""
    import cloudpickle

    dumps = {"pickle": pickle.dumps, "cloudpickle": cloudpickle.dumps}[path]
    assert pickle.loads(dumps(module_level)) is module_level


def test_a_method_survives_pickling_under_any_name() -> None:
    """It is found by what it is called in its class; `name=` is for streams and records."""
    assert pickle.loads(pickle.dumps(Shop(3).named))(2).result() == 6


def test_a_local_task_survives_cloudpickle() -> None:
    """A task that no name leads to is shipped with its options."""
    import cloudpickle

    local = task(name="local", timeout=3)(lambda x: x + 1)
    copy = pickle.loads(cloudpickle.dumps(local))
    assert (type(copy), copy.name, copy._self_definition.timeout, copy(1).result()) == (Task, "local", 3.0, 2)


@pytest.mark.parametrize("wrong", [3, "runs.db", None], ids=repr)
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    """Decorating something else is a TypeError that shows it and says what to write."""
    with pytest.raises(TypeError, match=r"@task above a def|@entrypoint\(checkpointer=") as raised:
        (task if wrong != "runs.db" else entrypoint)(wrong if wrong is not None else ...)
    assert repr(wrong if wrong is not None else ...) in str(raised.value)


@pytest.mark.parametrize(
    "decorate", [task, task(timeout=5), entrypoint()], ids=["task", "options", "entrypoint"]
)
@pytest.mark.parametrize("found", [module_level, functools.partial(module_level, 1)], ids=["task", "partial"])
def test_a_task_is_not_decorated_again(decorate: Any, found: Any) -> None:
    """Its calls give futures, and a future is no result: who wants other options, or its function, is told how."""
    with pytest.raises(
        TypeError, match=r"is a task already: .*module_level\.with_options\(.*module_level\.func"
    ):
        decorate(found)


def test_options_that_fit_nothing_are_refused() -> None:
    """A typo in `key=` or `ignore=` is found at definition time, and the parameters are listed."""
    with pytest.raises(TypeError, match="names no parameter of 'add'; it has: x, y"):
        task(ignore="z")(add)
    with pytest.raises(TypeError, match="names no parameter"):
        task(key=["x", "z"])(add)
    with pytest.raises(TypeError, match="key=5: name a parameter"):
        task(key=5)(add)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="ignore=5: name a parameter"):
        task(ignore=5)(add)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="checkpointer='' is not a checkpointer"):
        entrypoint(checkpointer="")
    with pytest.raises(TypeError, match="name=3 is no text: write name='3'"):
        task(name=3)(add)  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="write one of 'rerun', 'ask', or a function that verifies"):
        task(in_doubt="skip")(add)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^entrypoint\(\) .* 'chekpointer': write checkpointer=…$"):
        entrypoint(chekpointer="runs.db")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("asked", "option", "remedy"),
    [
        (task, "retries", r"task\(\) .* 'retries': write retry_policy=RetryPolicy\(max_attempts=4\)"),
        (entrypoint, "timeout_seconds", r"entrypoint\(\) .*'timeout_seconds': write timeout=30"),
        (entrypoint, "key", r"entrypoint\(\) .*'key': write it on the tasks"),
        (entrypoint(add).invoke, "thread", r"a call of '.*' .*'thread': write thread_id='…'"),
        (entrypoint(add).invoke, "threadid", r"a call of '.*' .*'threadid': write thread_id=…$"),
        (task, "retry_policies", r"^task\(\) .*'retry_policies': write retry_policy=…$"),
        (task, "zones", r"^task\(\) got an unexpected keyword argument 'zones'$"),
        (
            RetryPolicy,
            "max_retries",
            r"^RetryPolicy\(\) .*'max_retries': write max_attempts=4, which counts the first",
        ),
        (RetryPolicy, "max_attempt", r"^RetryPolicy\(\) .*'max_attempt': write max_attempts=…$"),
        (
            TimeoutPolicy,
            "heartbeat_timeout",
            r"^TimeoutPolicy\(\) .*: write idle_timeout=30, refresh_on=\"heartbeat\"",
        ),
        (CachePolicy, "expire", r"^CachePolicy\(\) .*'expire': write ttl=3600, in seconds$"),
    ],
)
def test_what_other_libraries_call_an_option(asked: Any, option: str, remedy: str) -> None:
    """A word of theirs is refused with what it is here."""
    with pytest.raises(TypeError, match=remedy):
        asked(**{option: 3})


class Till:
    """Has a task and a workflow as methods."""

    @task
    def charge(self, cents: int) -> int:
        return cents

    @entrypoint
    def sell(self, cents: int) -> int:
        return self.charge(cents).result()


@pytest.mark.parametrize(
    ("owner", "asked", "written"),
    [
        (task(add), "delay", r"task 'add' has no attribute 'delay': write add\(…\), which gives a future"),
        (task(functools.partial(add, 1)), "submit", r"task 'add' .*'submit': write add\(…\)"),
        (Till().charge, "submit", r"task 'charge' .*'submit': write charge\(…\)"),
        (Till.charge, "fn", r"task 'charge' .*'fn': write charge\.func"),
        (entrypoint(add), "resume", r"workflow 'add' .*'resume': write add\.thread\('…'\), which has it"),
        (Till().sell, "run", r"workflow 'sell' .*'run': write sell\(…\), or sell\.invoke\(…\)"),
        (task(add), "maps", r"task 'add' .*'maps': write add\.map$"),
        (Till().charge, "mapp", r"task 'charge' .*'mapp': write charge\.map$"),
        (entrypoint(add), "invok", r"workflow 'add' .*'invok': write add\.invoke$"),
        (task(add), "_mapp", "^'function' object has no attribute '_mapp'$"),
        (task(add), "elsewhere", "^'function' object has no attribute 'elsewhere'$"),
    ],
)
def test_what_other_libraries_have_as_an_attribute(owner: Any, asked: str, written: str) -> None:
    """It is refused with what it is here, by an `AttributeError`: nothing looks as if it were there."""
    with pytest.raises(AttributeError, match=written):
        getattr(owner, asked)
    assert not hasattr(owner, asked)


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (task(add), {"map", "with_options", "cache", "func"}),
        (Till().charge, {"map", "with_options", "cache", "func"}),
        (entrypoint(add), {"invoke", "stream", "thread", "get_state"}),
        (Till().sell, {"invoke", "stream", "thread", "get_state"}),
    ],
    ids=["task", "method", "workflow", "workflow that is a method"],
)
def test_what_a_task_or_a_workflow_has_is_listed(made: Any, names: set[str]) -> None:
    """Completion in a notebook goes by it, and so do mocks; what its function has is there too."""
    assert names.union(dir(made.__wrapped__)) <= {*dir(made)}
    assert [name for name in names if not hasattr(MagicMock(spec=made), name)] == []


def test_an_attribute_of_the_function_is_the_task_s() -> None:
    """Also one whose name another library has."""

    def held() -> None: ...

    held.submit = "mine"  # type: ignore[attr-defined]
    assert task(held).submit == "mine"  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", [RetryPolicy, TimeoutPolicy, CachePolicy])
def test_a_policy_s_signature_is_its_own(policy: Any) -> None:
    """What help() and an IDE show are the options that there are."""
    assert not any(each.kind is each.VAR_KEYWORD for each in inspect.signature(policy).parameters.values())


def test_a_property_below_the_decorator_is_refused() -> None:
    """It says where it goes."""
    with pytest.raises(TypeError, match="write @property above the decorator, not below"):
        task(property(lambda till: till))  # type: ignore[call-overload]
