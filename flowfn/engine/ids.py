"""Ids of calls, of nodes' tasks within a superstep, and of namespaces: digests of where they are, so that each attempt
makes the same ones.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from flowfn.config import Elsewhere

_PLAIN = re.compile(r"[\w.-]*[^\W\d][\w.-]*")
"""A name that means nothing else in a namespace: it isn't the number of a call, and has no separator in it."""


def call_id(scope: str, name: str, digest: bytes, occurrence: int) -> str:
    """The id of a call: 32 hex digits, the same on every attempt."""
    text = f"{scope}\0{name}\0{occurrence}\0".encode("utf-8", "surrogatepass")
    return sha256(text + digest).hexdigest()[:32]


def nested_namespace(around: str, name: str, task: str, kind: str) -> str:
    """Where a program nested in a task keeps its state; without ids where it goes on from its last call."""
    if kind == "remembering":
        return "|".join([*(segment.split(":")[0] for segment in around.split("|")), name]) if around else name
    return "|".join(filter(None, [around, f"{name}:{task}"]))


def namespace_elsewhere(own: str, elsewhere: Elsewhere) -> str:
    """Where a nested run remembers for whom its caller names a thread or a namespace, instead of in its `own`."""
    named = elsewhere.namespace
    if not elsewhere.thread and _PLAIN.fullmatch(named):
        return named
    return (
        f"{_quoted(named)}||={_quoted(elsewhere.thread)}" if named else f"{own}||{_quoted(elsewhere.thread)}"
    )


def shown_namespace(namespace: str) -> str:
    """A namespace as code and streams see it: as that of the same run if its caller named no thread, and by the name
    that its caller gave it."""
    return namespace if "||" not in namespace else _ELSEWHERE.sub(_as_named, namespace)


_ELSEWHERE = re.compile(r"([^|]*)\|\|(=?)[^|]*")
"""A part of a namespace, and the thread that is named for it; `=` says that the part is what its caller named."""


def _as_named(found: re.Match[str]) -> str:
    return unquote(found[1], errors="surrogatepass") if found[2] else found[1]


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def remembers(namespace: str) -> bool:
    """Whether it is of a nested run that goes on from its last call."""
    return bool(namespace) and ":" not in namespace


@lru_cache(maxsize=4096)
def node_scope(path: tuple[Any, ...]) -> str:
    """The id of a node's task within its superstep."""
    return call_id("", "/".join(map(str, path)), b"", 0)


@lru_cache(maxsize=4096)
def node_path(path: tuple[Any, ...]) -> str:
    """The path of a node's task as its rows carry it; it sorts as the tasks are applied."""
    return "~" + "/".join([f"{part:010}" if isinstance(part, int) else str(part) for part in path])
