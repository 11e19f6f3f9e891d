"""What the code of a call was when it was recorded, so that a report can show what was edited since.

Rule: a version of a function is kept once per database, by its fingerprint, in parts that versions share: the
text of each function that it is made of, by the text's digest. Once this process knows it to be there, a call
costs a look into a set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import unified_diff
from hashlib import sha256
from typing import TYPE_CHECKING

from flowfn.definition import version_key
from flowfn.errors import FlowError, SaverError
from flowfn.identity.code.fingerprint import fingerprint
from flowfn.ports import Saver, SourceKeeper
from flowfn.report import Edit

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.ports import Host

Unit = tuple[str, str]
"""The name of a function, empty for the one that is called, and its text."""


async def keep(saver: Saver, host: Host, definitions: Iterable[Definition]) -> None:
    """Keep the source of functions. Nothing but reports is worse where the backend can't.

    They count as kept from the beginning: of a thousand calls at once one keeps them, and none waits for it.
    """
    assert isinstance(saver, SourceKeeper)
    new = {definition.version_key: definition for definition in definitions}
    parts: dict[str, bytes] = {}
    for key in new.keys() - saver.kept:
        parts.update(_parts(key, _units(new[key])))
    saver.kept.update(new)
    try:
        if saver.inline:
            saver.keep_sources(parts)
        else:
            await host.blocking(saver.keep_sources, parts)
    except BaseException as error:
        saver.kept.difference_update(new)
        if not isinstance(error, SaverError):
            raise


def edit(saver: Saver, definition: Definition, recorded: str) -> Edit:
    """What became of a function since it was recorded under a fingerprint, or a version."""
    before = None
    if isinstance(saver, SourceKeeper):
        with suppress(FlowError):
            before = _read(saver, version_key(definition.qualified, recorded))
    diff = "" if before is None else _diff(definition.name, before, _units(definition))
    return Edit(definition.name, recorded, definition.code, diff)


def _units(definition: Definition) -> tuple[Unit, ...]:
    return fingerprint(definition.author_function).units


def _parts(key: str, units: Iterable[Unit]) -> dict[str, bytes]:
    texts = {_digest(text): text.encode("utf-8", "surrogatepass") for _, text in units}
    listed = [(name, _digest(text)) for name, text in units]
    return {**texts, key: json.dumps(listed).encode()}


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read(saver: SourceKeeper, key: str) -> tuple[Unit, ...] | None:
    """What was kept under a key; None if that, or a part of it, isn't there."""
    listed = saver.source(key)
    if listed is None:
        return None
    found = [(name, saver.source(digest)) for name, digest in json.loads(listed)]
    return tuple((name, text.decode("utf-8", "surrogatepass")) for name, text in found if text is not None)


def _diff(name: str, before: Iterable[Unit], now: Iterable[Unit]) -> str:
    """A unified diff of a function, and of each helper of it that differs."""
    then, after = _named(name, before), _named(name, now)
    changed = [each for each in dict.fromkeys((*then, *after)) if then.get(each) != after.get(each)]
    return "\n".join(line for each in changed for line in _unified(each, then, after))


def _named(name: str, units: Iterable[Unit]) -> Mapping[str, str]:
    """The texts by name; a wrapped function's layers, which share one, joined."""
    found: dict[str, str] = {}
    for helper, text in units:
        key = helper or name
        found[key] = f"{found[key]}\n{text}" if key in found else text
    return found


def _unified(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    then, after = (texts.get(name, "").splitlines() for texts in (before, now))
    return list(unified_diff(then, after, f"{name} (recorded)", f"{name} (now)", lineterm=""))
