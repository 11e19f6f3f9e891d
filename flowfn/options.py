"""Options that take one of a few words, and options that there aren't.

Rule: a typo must not silently mean something else, and another library's word is refused with ours.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Any

from flowfn.errors import InvalidInput


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
"""What other libraries call something, and what to write for it here."""


def refuse_others(where: str, others: Iterable[str]) -> None:
    """Refuse arguments that there aren't.

    Raises:
        TypeError: there are some; Python's own, with what to write instead where another library has it.
    """
    for name in others:
        meant = next((f": write {here}" for words, here in _CALLED_HERE.items() if name in words.split()), "")
        raise TypeError(f"{where} got an unexpected keyword argument {name!r}{meant}")
