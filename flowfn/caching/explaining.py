"""What a cache would answer to a call, and why: the part that differs from the nearest result that it keeps.

Nothing runs, and nothing is changed. The nearest result is that of the same task that differs in the fewest
parts (an argument, or the code with its constants), and of several the newest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from flowfn.caching.entries import Made, is_fresh, value_of
from flowfn.caching.keys import Key, key_of, weak_names
from flowfn.caching.listing import kept
from flowfn.caching.sources import sources
from flowfn.definition import Definition
from flowfn.errors import FlowError
from flowfn.identity.names import qualified_name


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a call would be answered from the cache, and why; `str()` of it is for people.

    `key` is what the result is, or would be, kept under; empty where the call can't be cached. `age` in seconds
    and `size` in bytes are of what is kept under that key, None where nothing is. `reasons` say why it is a
    miss, a line for each part that differs from the nearest result; `diff` shows edited code.
    """

    hit: bool
    key: str
    age: float | None = None
    size: int | None = None
    reasons: tuple[str, ...] = ()
    diff: str = ""

    def __str__(self) -> str:
        held = "" if self.age is None else f", {self.age:.3g} s old, {self.size} bytes"
        lines = [f"{'hit' if self.hit else 'miss'}: {self.key or 'no key'}{held}"]
        return "\n".join([*lines, *(f"  {reason}" for reason in self.reasons), *self.diff.splitlines()])


def explain(
    definition: Definition, cache: Any, args: Sequence[Any], kwargs: Mapping[str, Any], now: float
) -> Explanation:
    """What `cache` would answer to a call at that time, in epoch seconds.

    Raises:
        InvalidInput: the arguments don't fit.
        CacheError: the cache can't be read.
    """
    policy = definition.cache
    assert policy is not None
    key = key_of(definition, args, kwargs)
    if not key.text:
        names = ", ".join(map(repr, weak_names(key.arguments)))
        return Explanation(
            False, "", reasons=(f"argument {names} has no digest, so the call is never cached",)
        )
    data = cache.get(key.text)
    if data is None:
        reasons, diff = _absence(definition, cache, key)
        return Explanation(False, key.text, reasons=reasons, diff=diff)
    try:
        at, _ = value_of(key.text, data)
    except FlowError as error:
        return Explanation(False, key.text, None, len(data), (f"what is kept can't be read: {error}",))
    age = max(now - at, 0.0)
    refreshes = policy.refresh(*args, **kwargs) if callable(policy.refresh) else policy.refresh
    reasons = ("its policy says refresh, so that it is computed anew",) if refreshes else ()
    if policy.ttl is not None and not is_fresh(at, policy.ttl, now):
        reasons += (f"its time to live of {policy.ttl:g} s is over",)
    return Explanation(not reasons, key.text, age, len(data), reasons)


def _absence(definition: Definition, cache: Any, key: Key) -> tuple[tuple[str, ...], str]:
    """Why nothing is kept under a key: the reasons, and the diff of edited code."""
    if not hasattr(cache, "keys"):
        return ("nothing is kept under this key, and the cache can't list what it keeps instead",), ""
    made = key.made
    nearest = min(
        (entry for entry in kept(cache, f"{definition.qualified}:") if not entry.problem),
        key=lambda entry: (len(list(_parts_that_differ(entry.made, made))), -entry.at),
        default=None,
    )
    if nearest is None:
        return (f"no result of {definition.qualified} is kept",), ""
    reasons: list[str] = []
    diffs: list[str] = []
    for part in _parts_that_differ(nearest.made, made):
        if part:
            reasons.append(_of_argument(part, nearest.made, made))
        elif _is_version(made.code) or _is_version(nearest.made.code):
            reasons.append(f"version: {_version(nearest.made.code)} → {_version(made.code)}")
        else:
            before = sources(cache, definition.qualified, nearest.made.code)
            _compare_code(definition, before, reasons, diffs)
    return tuple(reasons or ["the result that was kept is gone"]), "\n".join(diffs)


def _parts_that_differ(before: Made, after: Made) -> Iterator[str]:
    """The names of arguments that differ, and the empty name for the code."""
    for name in sorted({*before.arguments, *after.arguments}):
        old, new = before.arguments.get(name), after.arguments.get(name)
        if old is None or new is None or bytes(old[1]) != bytes(new[1]):
            yield name
    if before.code != after.code:
        yield ""


def _of_argument(name: str, before: Made, after: Made) -> str:
    old, new = (made.arguments.get(name, ("(none)", b""))[0] for made in (before, after))
    if old == new:
        return f"argument {name!r}: {new}, which differs where it isn't shown"
    return f"argument {name!r}: {old} → {new}"


def _compare_code(
    definition: Definition, before: Mapping[str, str], reasons: list[str], diffs: list[str]
) -> None:
    """Say which parts of the code, or which constants, differ."""
    after = definition.dependencies.parts
    own = f"code {qualified_name(definition.author_function)}"
    changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    if not before or not changed:
        reasons.append("the code, or a constant that it names, differs; its earlier source isn't kept")
        return
    for part in changed:
        kind, _, name = part.partition(" ")
        old, new = before.get(part), after.get(part)
        if kind == "constant":
            reasons.append(f"constant {name!r}: {old or '(none)'} → {new or '(none)'}")
            continue
        what = "the function" if part == own else f"helper {name!r}"
        reasons.append(f"{what} {'is new' if old is None else 'is gone' if new is None else 'was edited'}")
        texts = ((old or "").splitlines(), (new or "").splitlines())
        lines = unified_diff(*texts, f"{name}, kept", f"{name}, now", n=2, lineterm="")
        diffs.extend(lines)


def _is_version(code: str) -> bool:
    return code.startswith("version ")


def _version(code: str) -> str:
    return repr(code.removeprefix("version ")) if _is_version(code) else "(none)"
