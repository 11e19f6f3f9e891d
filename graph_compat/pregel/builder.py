"""`NodeBuilder`: a node of a program, described by the channels that it reads, what it does and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy


@dataclass(frozen=True)
class PregelNode:
    """A node as it was described. Made by `NodeBuilder.build()`.

    `channels` is a name where the node is given that channel's value, else the keys of the mapping that it is
    given. `writes` are (channel, what becomes of the node's value) pairs. `is_program` says that it is the only node,
    and all that the program does.
    """

    channels: str | Sequence[str]
    triggers: Sequence[str]
    actions: Sequence[Any] = ()
    writes: Sequence[tuple[str, Callable[[Any], Any]]] = ()
    tags: Sequence[str] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    retry_policy: Sequence[RetryPolicy] = ()
    cache_policy: CachePolicy | None = None
    timeout: TimeoutPolicy | None = None
    is_program: bool = False


class NodeBuilder:
    """Describes a node of a `Pregel` program, a method at a time; each method returns the builder."""

    def __init__(self) -> None:
        self._lone: str | None = None
        self._read: list[str] = []
        self._triggers: list[str] = []
        self._actions: list[Any] = []
        self._writes: list[tuple[str, Callable[[Any], Any]]] = []
        self._tags: list[str] = []
        self._metadata: dict[str, Any] = {}
        self._retry: list[RetryPolicy] = []
        self._cache: CachePolicy | None = None
        self._timeout: TimeoutPolicy | None = None

    def subscribe_only(self, channel: str) -> Self:
        """Run when this channel is written, with its value.

        Raises:
            ValueError: the node reads channels already.
        """
        if self._lone is not None or self._read or self._triggers:
            raise ValueError(
                "Cannot subscribe to single channels when other channels are already subscribed to."
                f" Call subscribe_to({channel!r}) for a mapping of several"
            )
        self._lone = channel
        self._triggers.append(channel)
        return self

    def subscribe_to(self, *channels: str, read: bool = True) -> Self:
        """Run when one of these channels is written; with `read`, given a mapping that has their values.

        Raises:
            ValueError: the node is given the value of one channel alone.
        """
        if self._lone is not None:
            raise ValueError(
                "Cannot subscribe to channels when subscribed to a single channel."
                f" Call subscribe_to({self._lone!r}, …) in place of subscribe_only({self._lone!r})"
            )
        self._triggers += (name for name in channels if name not in self._triggers)
        return self.read_from(*channels) if read else self

    def read_from(self, *channels: str) -> Self:
        """Be given the values of these channels as well, without running when they are written.

        Raises:
            AssertionError: the node is given the value of one channel alone.
        """
        if self._lone is not None:
            raise AssertionError(
                "Cannot read additional channels when subscribed to single channels."
                f" Call subscribe_to({self._lone!r}) in place of subscribe_only({self._lone!r})"
            )
        self._read += (name for name in channels if name not in self._read)
        return self

    def do(self, node: Any) -> Self:
        """Call this with what the node is given; a second function is called with what the first returned."""
        self._actions.append(node)
        return self

    def write_to(self, *channels: str, **kwargs: Any) -> Self:
        """Write the node's value to these channels, and to those of `kwargs` what each says.

        Of `kwargs`, a function makes what is written of the node's value; anything else is written as it is.
        """
        self._writes += ((name, itself) for name in channels)
        self._writes += ((name, make if callable(make) else _always(make)) for name, make in kwargs.items())
        return self

    def meta(self, *tags: str, **metadata: Any) -> Self:
        """Add to the tags and the metadata of the node's runs."""
        self._tags += tags
        self._metadata.update(metadata)
        return self

    def add_retry_policies(self, *policies: RetryPolicy) -> Self:
        """Try again as the first policy says that fits an error."""
        self._retry += policies
        return self

    def add_cache_policy(self, policy: CachePolicy) -> Self:
        """Keep the node's results in the program's cache."""
        self._cache = policy
        return self

    def set_timeout(self, timeout: float | timedelta | TimeoutPolicy | None) -> Self:
        """Bound the time of an attempt; for async functions."""
        self._timeout = TimeoutPolicy.coerce(timeout)
        return self

    def build(self) -> PregelNode:
        """The node."""
        return PregelNode(
            self._read if self._lone is None else self._lone,
            tuple(self._triggers),
            tuple(self._actions),
            tuple(self._writes),
            list(self._tags),
            dict(self._metadata),
            tuple(self._retry),
            self._cache,
            self._timeout,
        )


def itself(value: Any) -> Any:
    """A value as it is."""
    return value


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _: value
