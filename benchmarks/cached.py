"""W4: calls whose results are kept already, in µs per call; in memory, and on disk."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import floor, peers
from benchmarks.harness import Case
from benchmarks.peers import Api
from benchmarks.programs import config, timed

WORKLOAD = "W4 cached calls"
UNIT = "µs/call"
DISK = "disk"

Function = Callable[[int], int]


def cases() -> Iterator[Case]:
    """For each place: the floor, the subjects, and who else keeps results there."""
    for place, survives in ((peers.MEMORY, "nothing"), (DISK, "process death")):
        yield Case(WORKLOAD, place, "floor", UNIT, survives, in_dict if place == peers.MEMORY else in_row)
        for api in (peers.flowfn(), peers.langgraph()):
            cache = CACHES[api.name].get(place)
            installed = api.entrypoint is not None and cache is not None
            yield Case(
                WORKLOAD, place, api.name, UNIT, survives, partial(run, api, cache) if installed else None
            )
    for name, memoized in (("joblib", joblib), ("diskcache", diskcache)):
        known = peers.optional(name) is not None
        yield Case(WORKLOAD, DISK, name, UNIT, "process death", partial(plain, memoized) if known else None)


def step(number: int) -> int:
    """What is cached."""
    return number + 1


def run(api: Api, cache: Callable[[Path], Any], directory: Path, size: int) -> float:
    """A workflow that calls a cached task for each number, the second time."""
    policy = POLICIES[api.name]()
    cached = api.task(cache_policy=policy)(step)

    @api.entrypoint(cache=cache(directory))
    def workflow(size: int) -> int:
        return sum(cached(number).result() for number in range(size))

    expected = sum(range(1, size + 1))
    assert workflow.invoke(size, config()) == expected
    return timed(lambda: workflow.invoke(size, config()), expected) / size * 1e6


def plain(memoized: Callable[[Path], Function], directory: Path, size: int) -> float:
    """A memoized function, called for each number the second time."""
    function = memoized(directory)

    def calls() -> int:
        return sum(function(number) for number in range(size))

    return timed(calls, calls()) / size * 1e6


def joblib(directory: Path) -> Function:
    function: Function = peers.optional("joblib").Memory(directory, verbose=0).cache(step)
    return function


def diskcache(directory: Path) -> Function:
    function: Function = peers.optional("diskcache").Cache(str(directory)).memoize()(step)
    return function


def in_dict(directory: Path, size: int) -> float:
    """A look into a dict."""
    kept = {number: step(number) for number in range(size)}
    return timed(lambda: sum(kept[number] for number in range(size)), sum(range(1, size + 1))) / size * 1e6


def in_row(directory: Path, size: int) -> float:
    """A row read by its key."""
    with floor.database(directory / "rows.db", "NORMAL") as connection:
        floor.commit(connection, [b"%d" % step(number) for number in range(size)])
        query = "SELECT value FROM record WHERE id = ?"

        def read() -> int:
            return sum(int(connection.execute(query, (number + 1,)).fetchone()[0]) for number in range(size))

        return timed(read, sum(range(1, size + 1))) / size * 1e6


def langgraph_on_disk(directory: Path) -> Any:
    return peers.optional("langgraph.cache.sqlite").SqliteCache(path=str(directory / "cache.db"))


CACHES: dict[str, dict[str, Callable[[Path], Any]]] = {
    "flowfn": {
        peers.MEMORY: lambda directory: peers.optional("flowfn.caching").MemoryCache(),
        DISK: lambda directory: peers.optional("flowfn.caching").DiskCache(directory),
    },
    "LangGraph": {
        peers.MEMORY: lambda directory: peers.optional("langgraph.cache.memory").InMemoryCache(),
        DISK: langgraph_on_disk,
    },
}
POLICIES: dict[str, Callable[[], Any]] = {
    "flowfn": lambda: peers.optional("flowfn").CachePolicy(),
    "LangGraph": lambda: peers.optional("langgraph.types").CachePolicy(),
}
