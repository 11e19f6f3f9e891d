"""Results reused across runs: what a call's cache policy looks up before, and keeps after.

Rule: only values are kept, never errors or interrupts. However many ask for one key at once, here or in
other processes that share the cache, one computes, and the others get what it kept, or take its place. A
cache that fails, or holds what flowfn can't read, is a miss and a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from flowfn.caching.claims import Claim, Queue, ended, join, leave
from flowfn.caching.entries import encode, is_fresh, value_of
from flowfn.caching.keys import Key, key_of, weak_names
from flowfn.caching.opening import place_of
from flowfn.caching.sources import keep_sources, lacks_sources
from flowfn.errors import CacheError, FlowError
from flowfn.logs import logger
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.ports import Host

_FIRST_LOOK, _LAST_LOOK = 0.002, 0.1
"""Seconds between two looks at what another process computes, at first and at last."""


async def through_cache(call: Call, host: Host, outcome: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    """What a cached call comes to: `outcome` of the kept value, or of MISSING, and then its value is kept."""
    lookup = _lookup(call)
    if lookup is None:
        return await outcome(MISSING)
    found = MISSING
    try:
        if not lookup.refreshes:
            found = await lookup.seek(host)
        call.from_cache = found is not MISSING
        value = await outcome(found)
        if found is MISSING:
            await lookup.keep(host, value)
        return value
    finally:
        if lookup.owes:
            try:
                await lookup.leave(host)
            except (Exception, KeyboardInterrupt, SystemExit):  # a signal's, which comes as a call begins
                await lookup.leave(host)
                raise


def _lookup(call: Call) -> Lookup | None:
    """Where and under which key a call's result is kept; None if it can't be."""
    definition = call.definition
    cache = place_of(definition, call.run.settings.cache)
    if cache is None:
        return None
    key = key_of(definition, call.args, call.kwargs)
    if not key.text:
        _warn_of_weakness(call, key)
        return None
    call.cached_as = key.text
    return Lookup(call, cache, key)


def _warn_of_weakness(call: Call, key: Key) -> None:
    names = ", ".join(repr(name) for name in weak_names(key.arguments))
    logger.warning(
        "%s is not cached: its argument %s has no digest, and can't be told from others of its type; say what "
        "counts with CachePolicy(key=…), or leave it out with @task(ignore=…)",
        call.definition.name,
        names,
    )


class Lookup:
    """One call's question to a cache."""

    __slots__ = ("_cache", "_call", "_claim", "_key", "_lost", "_made", "_queue", "_ttl", "owes", "refreshes")

    def __init__(self, call: Call, cache: Any, key: Key) -> None:
        policy = call.definition.cache
        assert policy is not None
        self._call = call
        self._cache = cache
        self._key = key
        self._ttl = policy.ttl
        self._queue = Queue()
        self.owes = False
        """Whether something may be taken that is to be given back: it is set before, for the sake of Ctrl-C."""
        self._claim: Claim | None = None
        self._lost = False
        """Whether the cache couldn't be asked for the entry: then not for a claim either, as each question may wait."""
        refresh = policy.refresh
        self.refreshes = refresh(*call.args, **call.kwargs) if callable(refresh) else refresh

    async def seek(self, host: Host) -> Any:
        """The kept value, or MISSING for the one who has to compute it; whoever else asks waits."""
        while True:
            before = ended()
            value = await self._kept(host)
            if value is not MISSING:
                return value
            self.owes = True
            other = join(self._cache, self._key.text, self._queue)
            if other is None:
                break
            if self._is_within_itself():
                return MISSING
            await host.wait(other)
        if self._lost:
            return MISSING
        if ended() != before:  # somebody may have kept it just before
            value = await self._kept(host)
        if value is MISSING and hasattr(self._cache, "claim"):
            value = await self._claimed(host)
        if value is not MISSING:
            await self.leave(host)
        return value

    async def _claimed(self, host: Host) -> Any:
        """The value that another process computes, or MISSING once this one may."""
        self._claim = claim = Claim(self._cache, self._key.text)
        delay = _FIRST_LOOK
        while not await self._taken(host, claim):
            await host.sleep(delay)
            delay = min(2 * delay, _LAST_LOOK)
            value = await self._kept(host)
            if value is not MISSING:
                return value
        return await self._kept(host)

    async def _taken(self, host: Host, claim: Claim) -> bool:
        """Whether this process may compute; where the cache can't say, it does."""
        try:
            taken: bool = await host.blocking(claim.take, undo=lambda taken: claim.give_back())
            return taken
        except Exception as error:
            logger.warning("%s is computed without asking others: %s", self._call.definition.name, error)
            return True

    def _is_within_itself(self) -> bool:
        """Whether the call is made, at some remove, by the very computation that it would wait for."""
        call: Call | None = self._call
        while call is not None:
            frame = call.parent or call.run.frame
            call = None if frame is None else frame.call
            if call is not None and call.cached_as == self._key.text:
                return True
        return False

    async def _kept(self, host: Host) -> Any:
        call = self._call
        self._lost = False
        try:
            data = await self._asked(host, "get", self._key.text)
            if data is None:
                return MISSING
            at, encoded = value_of(self._key.text, data)
            if self._ttl is not None and not is_fresh(at, self._ttl, host.now()):
                return MISSING
            return call.run.serde.loads(encoded)
        except FlowError as error:
            self._lost = isinstance(error, CacheError)
            logger.warning(
                "the cache entry of %s can't be read, and is a miss: %s", call.definition.name, error
            )
        except Exception as error:  # a cache of the user's may raise anything
            logger.warning("the cache failed for %s, which is a miss: %r", call.definition.name, error)
        return MISSING

    async def keep(self, host: Host, value: Any) -> None:
        """Keep a value for equal calls to come; where another process has kept its own meanwhile, that stands."""
        if self._claim is not None and self._claim.lapsed and await self._kept(host) is not MISSING:
            return
        call, now = self._call, host.now()
        try:
            made = self._key.made
            data = encode(self._key.text, call.run.serde.dumps(value), now, made)
            await self._asked(host, "set", self._key.text, data, self._ttl)
            if lacks_sources(self._cache, call.definition, made.code):
                await host.blocking(keep_sources, self._cache, call.definition, made.code, now)
        except Exception as error:
            logger.warning("the result of %s was not cached: %s", call.definition.name, error)

    async def leave(self, host: Host) -> None:
        """Let those who wait ask again."""
        try:
            if self._claim is not None:
                await host.blocking(self._claim.give_back)
                self._claim = None
        finally:
            leave(self._cache, self._key.text, self._queue)
        self.owes = False

    async def _asked(self, host: Host, method: str, *args: Any) -> Any:
        """Ask the cache: in place where that is brief, else where it may block."""
        function = getattr(self._cache, method)
        if method in getattr(self._cache, "inline", ()):
            return function(*args)
        return await host.blocking(function, *args)
