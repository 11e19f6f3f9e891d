"""Options that take one of a few words; and options and attributes that there aren't.

Rule: a typo must not silently mean something else, and another library's word is refused with ours.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from functools import lru_cache, wraps
from typing import Any, TypeVar

from flowfn.errors import InvalidInput

T = TypeVar("T")


def check_option(name: str, value: Any, words: Any, beside: str = "") -> None:
    """Refuse a word that an option doesn't have; None leaves the option as it is. `beside`: what else it may be.

    Raises:
        InvalidInput: lists the words that it has.
    """
    if value is None:
        return
    known = typing.get_args(words)
    if value not in known:
        listed = ", ".join(repr(word) for word in known)
        raise InvalidInput(f"{name}={value!r} is unknown: write one of {listed}{beside}")


_CALLED_HERE = {
    "retries max_retries retry max_attempts retries_allowed autoretry_for": (
        "retry_policy=RetryPolicy(max_attempts=4), which counts the first attempt"
    ),
    "retry_delay retry_delay_seconds retry_backoff": "retry_policy=RetryPolicy(initial_interval=1), in seconds",
    "timeout_seconds time_limit execution_timeout start_to_close_timeout": "timeout=30, in seconds",
    "ttl expire cache_expiration": "cache_policy=CachePolicy(ttl=3600), in seconds",
    "cache_key_fn key_func": "cache_policy=CachePolicy(key=…), a function of the arguments",
    "max_concurrency max_workers n_jobs": "it in a call's config, {'max_concurrency': 4}",
    "checkpoint saver database db persist_result": '@entrypoint(checkpointer="runs.db"), which records all results',
    "key ignore version in_doubt on_code_change": "it on the tasks",
    "thread workflow_id": "thread_id='…'",
    "bind": "current() in the function, which tells the attempt and the idempotency key",
}
"""What other libraries call an option, and what to write for it here."""

_OF_POLICIES = {
    "RetryPolicy": {
        "retries max_retries retry attempts tries max_tries maximum_attempts stop_max_attempt_number": (
            "max_attempts=4, which counts the first attempt"
        ),
        "delay retry_delay retry_delay_seconds initial_delay interval interval_seconds wait_seconds": (
            "initial_interval=1, in seconds"
        ),
        "backoff backoff_rate backoff_coefficient multiplier factor": "backoff_factor=2",
        "max_delay maximum_interval max_interval_seconds max_backoff retry_backoff_max": "max_interval=60, in seconds",
        "retry_jitter retry_jitter_factor": "jitter=True",
        "retry_if retry_condition_fn exceptions autoretry_for retry_exceptions on": "retry_on=ConnectionError",
        "non_retryable_error_types non_retryable dont_autoretry_for": "retry_on=lambda error: …",
    },
    "TimeoutPolicy": {
        "timeout seconds timeout_seconds start_to_close_timeout time_limit": "run_timeout=30, in seconds",
        "heartbeat heartbeat_timeout heartbeat_seconds": 'idle_timeout=30, refresh_on="heartbeat"',
    },
    "CachePolicy": {
        "expire expiration expires_in cache_expiration ttl_seconds": "ttl=3600, in seconds",
        "key_fn cache_key_fn keys": "key=…, a function of the arguments",
    },
}
"""The same for what policies have."""

_ATTRIBUTES = {
    "task": {
        "submit delay apply_async remote start enqueue run invoke ainvoke": "{name}(…), which gives a future",
        "result": "{name}(…).result(), or await {name}(…)",
        "starmap": "{name}.map(xs, ys), which takes them side by side",
        "fn": "{name}.func",
        "options override": "{name}.with_options(…)",
        "retry": "nothing, and raise: an error that its retry_policy= takes is tried again",
        "cache_clear clear_cache": "{name}.cache.clear()",
    },
    "workflow": {
        "submit delay apply_async remote start enqueue run kickoff execute": "{name}(…), or {name}.invoke(…)",
        "arun": "await {name}.ainvoke(…)",
        "map starmap": "{name}.batch([…])",
        "fn": "{name}.func",
        "with_options": "{name}.with_checkpointer(…), or @entrypoint(…) with other options",
        "resume state history fork cancel send": "{name}.thread('…'), which has it",
    },
}
"""What other libraries, or other things here, have as attributes of a task or a workflow, and what to write for it."""


def refuse_others(
    where: str,
    others: Iterable[str],
    known: Iterable[str] | None,
    words: Mapping[str, str] = _CALLED_HERE,
) -> None:
    """Refuse arguments that there aren't.

    Args:
        known: the arguments that there are, None for none.
        words: what other libraries call them, and what to write for it.

    Raises:
        TypeError: there are some; Python's own, with what to write instead where another library has it, or where it
            is a misspelling.
    """
    for name in others:
        like = nearly(name, tuple(known or ()))
        meant = _meant(name, words) or (f"{like}=…" if like else "")
        advice = f": write {meant}" if meant else ""
        raise TypeError(f"{where} got an unexpected keyword argument {name!r}{advice}")


def refusing_others(cls: type[T]) -> type[T]:
    """A policy's class that refuses arguments as `refuse_others` does."""
    made: Any = cls.__init__
    code = made.__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    @wraps(made)
    def __init__(self: Any, *args: Any, **given: Any) -> None:
        if args and code.co_argcount == 1:
            raise TypeError(
                f"{cls.__name__}() takes its options by name: write {cls.__name__}({known[0]}={args[0]!r})"
            )
        refuse_others(f"{cls.__name__}()", given.keys() - set(known), known, _OF_POLICIES[cls.__name__])
        made(self, *args, **given)

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def attribute_here(kind: str, asked: str, known: Iterable[str]) -> str:
    """What to write in place of an attribute that a "task" or a "workflow" doesn't have, with `{name}` for its name;
    empty where nobody knows.

    Args:
        known: the attributes that there are.
    """
    like = nearly(asked, tuple(known))
    return _meant(asked, _ATTRIBUTES[kind]) or (f"{{name}}.{like}" if like else "")


def _meant(name: str, words: Mapping[str, str]) -> str:
    return next((here for theirs, here in words.items() if name in theirs.split()), "")


@lru_cache(256)
def nearly(name: Any, known: tuple[str, ...]) -> str | None:
    """The one of those that are known which a name is a misspelling of; None where there is none, or it is no text.

    Case makes no difference, and about one letter in six may. The first one is the same: so is a misspelling told from
    another word, as `read_id` is none of `thread_id`.
    """
    from difflib import get_close_matches

    if not isinstance(name, str):
        return None
    lower = name.lower()
    alike = get_close_matches(lower, [each for each in known if each[:1] == lower[:1]], 1, 0.84)
    return alike[0] if alike else None
