"""A task or an entrypoint may have any signature; what the engine fills, the caller needn't (section 3)."""

import functools
import inspect
from collections.abc import Callable
from itertools import chain, combinations, product
from typing import Any

import pytest

from flowfn import Runtime, current, entrypoint, get_config, get_stream_writer, task
from flowfn.definition import define
from flowfn.errors import InvalidInput

from ..worlds import World


async def none() -> str:
    return "none"


async def one(x: int) -> int:
    return x


async def several(x: int, y: int = 2, *, z: int = 3) -> tuple[int, int, int]:
    return x, y, z


async def positional_only(x: int, y: int, /, z: int = 3) -> tuple[int, int, int]:
    return x, y, z


async def keyword_only(*, x: int, y: int = 2) -> tuple[int, int]:
    return x, y


async def variadic(*args: int, **kwargs: int) -> tuple[Any, ...]:
    return args, kwargs


async def mixed(x: int, *args: int, y: int = 2, **kwargs: int) -> tuple[Any, ...]:
    return x, args, y, kwargs


async def defaults(x: int = 1) -> int:
    return x


SIGNATURES = {
    "none": (none, (), {}, {}, "none"),
    "one": (one, (4,), {}, 4, 4),
    "one, by keyword": (one, (), {"x": 4}, 4, 4),
    "several": (several, (1,), {"z": 5}, {"x": 1, "z": 5}, (1, 2, 5)),
    "several, by position": (several, (1, 6), {}, {"x": 1, "y": 6}, (1, 6, 3)),
    "positional-only": (positional_only, (1, 2), {}, {"x": 1, "y": 2}, (1, 2, 3)),
    "keyword-only": (keyword_only, (), {"x": 1}, {"x": 1}, (1, 2)),
    "variadic": (variadic, (1, 2), {"k": 3}, {"args": [1, 2], "kwargs": {"k": 3}}, ((1, 2), {"k": 3})),
    "variadic, empty": (variadic, (), {}, {}, ((), {})),
    "mixed": (mixed, (1, 2), {"y": 3, "k": 4}, {"x": 1, "args": [2], "y": 3, "k": 4}, (1, (2,), 3, {"k": 4})),
    "defaults": (defaults, (7,), {}, 7, 7),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_direct_call_takes_the_functions_arguments(world: World, name: str) -> None:
    """A direct call passes arguments as to the function."""
    function, args, kwargs, _, expected = SIGNATURES[name]
    assert world.call(world.entrypoint(function), *args, **kwargs) == expected


def test_a_keyword_may_have_any_name(world: World) -> None:
    """What `**kwargs` takes may be called what flowfn's own parameters are called, too."""
    named = {"self": 1, "function": 2, "args": 3, "kwargs": 4}

    @world.task
    async def step(**fields: int) -> dict[str, int]:
        return fields

    @world.entrypoint
    async def wf(**fields: int) -> list[dict[str, int]]:
        mapped = step.map([], **fields)
        return [fields, await world.value(step(**fields)), *mapped]

    assert world.call(wf, **named) == [named, named]
    assert world.call(wf.thread("t"), **named) == [named, named]


@pytest.mark.parametrize("name", SIGNATURES)
def test_invoke_takes_a_value_or_a_mapping(world: World, name: str) -> None:
    """`invoke` takes the value of a lone parameter, and a mapping of several."""
    function, _, _, given, expected = SIGNATURES[name]
    assert world.invoke(world.entrypoint(function), given, thread_id="t") == expected


def test_invoke_without_input_uses_defaults(world: World) -> None:
    """No input stands for a call without arguments."""
    assert world.invoke(world.entrypoint(defaults)) == 1
    assert world.invoke(world.entrypoint(none)) == "none"


def test_a_mapping_is_the_value_of_a_lone_parameter(world: World) -> None:
    """A function of one parameter gets a mapping as it is."""

    @world.entrypoint
    async def wf(order: dict[str, int]) -> dict[str, int]:
        return order

    assert world.invoke(wf, {"order": 1}) == {"order": 1}


def test_no_input_is_refused_for_a_required_parameter(world: World) -> None:
    """Where an argument is required, leaving it out is a TypeError that shows the signature."""
    with pytest.raises(TypeError, match=r"one\(x: ?'?int'?\)"):
        world.invoke(world.entrypoint(one))


def test_the_engine_fills_what_a_function_names(world: World) -> None:
    """`previous`, `config`, `runtime`, `store` and `writer` are injected, and no part of the input."""
    store = {"k": "v"}

    @world.entrypoint(store=store)
    async def wf(
        x: int,
        *,
        previous: Any = None,
        config: dict[str, Any],
        runtime: Runtime,
        store,
        writer: Callable[[Any], None],
    ) -> list[Any]:
        writer("written")
        return [x, previous, config["configurable"]["thread_id"], runtime.thread_id, store]

    assert world.invoke(wf, 1, thread_id="t") == [1, None, "t", "t", store]
    assert world.stream(wf, 2, thread_id="t", stream_mode="custom") == ["written"]


def test_tasks_are_filled_too(world: World) -> None:
    """Tasks are injected what they name, and an injected value doesn't count in their identity."""

    @world.task
    async def who(x: int, runtime: Runtime, config: dict[str, Any]) -> list[Any]:
        return [x, runtime.name, config["configurable"]["thread_id"]]

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(who(1))

    assert world.invoke(wf, thread_id="t") == [1, "who", "t"]


def test_explicit_arguments_win(world: World) -> None:
    """A value that the caller passes is not replaced by an injected one."""

    @world.task
    async def show(x: int, previous: Any = None, store=None) -> list[Any]:
        return [x, previous, store]

    @world.entrypoint(store={"the": "store"})
    async def wf() -> list[Any]:
        return [
            await world.value(show(1, previous="mine")),
            await world.value(show(1, "by position", "theirs")),
            await world.value(show(1)),
        ]

    assert world.invoke(wf) == [
        [1, "mine", {"the": "store"}],
        [1, "by position", "theirs"],
        [1, None, {"the": "store"}],
    ]


def test_any_is_as_good_as_no_annotation(world: World) -> None:
    """`store: Any`, which strict type checkers ask for, is filled as `store` is."""

    @world.task
    async def look(store: Any, config: Any = None) -> list[Any]:
        return [store, config is not None]

    @world.entrypoint(store={"the": "store"})
    async def wf(store: Any) -> list[Any]:
        return [store, *await world.value(look())]

    assert world.invoke(wf, {}) == [{"the": "store"}, {"the": "store"}, True]


def test_a_parameter_of_another_type_is_the_callers(world: World) -> None:
    """`config: int` is an ordinary parameter: only the engine's own types are filled."""

    @world.entrypoint
    async def wf(config: int, store: str) -> list[Any]:
        return [config, store]

    assert world.invoke(wf, {"config": 3, "store": "s"}) == [3, "s"]


def test_a_default_of_previous_is_kept_on_the_first_call(world: World) -> None:
    """`previous: int = 10` is 10 until there is one."""

    @world.entrypoint
    async def wf(x: int, previous: int = 10) -> int:
        return previous + x

    assert [world.invoke(wf, 1, thread_id="t") for _ in range(3)] == [11, 12, 13]


def test_current_is_the_running_task(world: World) -> None:
    """`current()` tells thread, name, attempt and idempotency key; retries keep the key, other calls differ."""
    seen: list[Runtime] = []

    @world.task
    async def look(x: int) -> None:
        seen.append(current())

    @world.entrypoint
    async def wf() -> None:
        await world.value(look(1))
        await world.value(look(1))
        seen.append(current())

    world.invoke(wf, thread_id="t")
    assert [(r.name, r.thread_id, r.attempt) for r in seen] == [
        ("look", "t", 1),
        ("look", "t", 1),
        ("wf", "t", 1),
    ]
    assert len({r.idempotency_key for r in seen}) == 3


@pytest.mark.parametrize("ask", [current, get_config, get_stream_writer])
def test_outside_a_run_nothing_is_current(ask: Callable[[], Any]) -> None:
    """Asking for the running task where none runs is a RuntimeError that says so."""
    with pytest.raises(RuntimeError, match="no task is running here"):
        ask()


def test_task_arguments_must_fit(world: World) -> None:
    """Wrong arguments of a task are a TypeError at the call, which shows the signature and what was passed."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def wf() -> int:
        return await world.value(double(1, y=2))

    with pytest.raises(TypeError, match=r"double.*y.*2"):
        world.invoke(wf, thread_id="t")


def test_an_entrypoint_is_given_what_is_by_position_alone(world: World) -> None:
    """Beside a variable number of arguments, too."""

    @world.entrypoint
    async def wf(x: int, y: int, /, *rest: int) -> list[Any]:
        return [x, y, *rest]

    assert world.call(wf, 1, 2, 3) == [1, 2, 3]


def _arguments(function: Callable[..., Any], args: tuple[int, ...], kwargs: dict[str, int]) -> Any:
    """What Python itself makes of arguments, in the order of the parameters; None where they don't fit."""
    try:
        return [*inspect.signature(function).bind(*args, **kwargs).arguments.items()]
    except TypeError:
        return None


@pytest.mark.parametrize(
    "function", [none, one, several, positional_only, keyword_only, variadic, mixed, defaults]
)
def test_arguments_are_bound_as_python_binds_them(function: Callable[..., Any]) -> None:
    """By position or by name, too many, too few or twice: what fits and what doesn't is what Python says."""
    definition = define(function)
    for count, names in product(range(5), chain.from_iterable(combinations("xyzk", r) for r in range(4))):
        args, kwargs = tuple(range(count)), dict.fromkeys(names, 7)
        try:
            bound = [*definition.parameters.bind(args, kwargs).items()]
        except InvalidInput:
            bound = None
        assert bound == _arguments(function, args, kwargs), (args, kwargs)


def test_a_decorator_may_fill_parameters(world: World) -> None:
    """As one that provides a session does: who calls the task gives the others, and each call is told by them."""

    def with_session(function: Any) -> Any:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await function("session", *args, **kwargs)

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            return function("session", *args, **kwargs)

        return wrapper if world.is_async else plain

    async def load(session: str, number: int) -> str:
        world.ran.append(number)
        if number == 2 and world.ran.count(2) == 1:
            raise ConnectionError
        return f"{session} {number}"

    loaded = task(with_session(world.colour(load)))

    @world.entrypoint
    async def wf() -> list[str]:
        return [await world.value(loaded(number)) for number in (1, 2)]

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == ["session 1", "session 2"]
    assert world.ran == [1, 2, 2]
    with pytest.raises(InvalidInput, match="can't be called"):
        entrypoint(with_session(world.colour(load)))(1)
