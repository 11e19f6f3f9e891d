"""Results reused across runs: what a call's cache policy looks up before, and keeps after.

Rule: only values are kept, never errors or interrupts. A cache that fails is a miss and a warning.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from flowfn.digest import digest
from flowfn.errors import FlowError
from flowfn.logs import logger
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.engine.call import Call
    from flowfn.ports import Host


def cache_key(call: Call) -> str | None:
    """The digest of arguments and code, without scope and occurrence; None where no policy asks for it."""
    definition = call.definition
    policy = definition.cache
    if policy is None:
        return None
    if policy.key is not None:
        arguments = {"key": policy.key(*call.args, **call.kwargs)}
    else:
        arguments = {**definition.defaults, **definition.bind(call.args, call.kwargs)}
    now = call.run.host.now
    digested = digest(arguments, since=now(), now=now)
    text = f"{definition.qualified}\0{definition.code}\0".encode() + digested.exact
    return f"{definition.qualified}:{sha256(text).hexdigest()[:32]}"


async def cached(call: Call, host: Host) -> Any:
    """The kept value of an equal call, or MISSING."""
    key, cache = cache_key(call), call.run.settings.cache
    if key is None or cache is None:
        return MISSING
    try:
        data = cache.get(key)
        if data is None:
            return MISSING
        value = call.run.serde.loads(data)
    except (FlowError, OSError) as error:
        logger.warning("the cache entry of %s can't be read, and is a miss: %s", call.definition.name, error)
        return MISSING
    call.from_cache = True
    return value


async def keep(call: Call, host: Host, value: Any) -> None:
    """Keep a value for equal calls to come."""
    key, cache = cache_key(call), call.run.settings.cache
    if key is None or cache is None or call.definition.cache is None:
        return
    try:
        cache.set(key, call.run.serde.dumps(value), call.definition.cache.ttl)
    except (FlowError, OSError) as error:
        logger.warning("the result of %s was not cached: %s", call.definition.name, error)
