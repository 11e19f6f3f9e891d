"""Calls that begin later than they were made, and find their arguments changed.

Rule: it is told, not prevented: a task gets the very objects that it is called with. What such a call comes to is
recorded as that of the arguments before, as a call is known by what they were when it was made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.identity.differences import changes
from flowfn.identity.digest import exact
from flowfn.logs import logger

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call

_UNCHANGING = frozenset((str, int, float, bool, bytes, type(None)))


def tell_of_changes(call: Call) -> None:
    """Say, once for each place that calls, that a call begins with other arguments than it was made with."""
    if _UNCHANGING.issuperset(map(type, call.arguments.values())) or call.digest is None:
        return
    try:
        now = exact(call.arguments)
    except RuntimeError:  # another thread changes them at this very moment
        return
    if now.exact == call.digest.exact or call.site in call.run.root.belated:
        return
    call.run.root.belated.add(call.site)
    found = ", ".join(map(str, changes(call.digest.form, now.form)))
    logger.warning(
        "%s: an argument of %s was changed before the call began%s: it runs with what that has become, and its result "
        "is recorded as that of what it was. Pass a copy, or change it once you have the result",
        call.site,
        call.definition.name,
        f" ({found})" if found else "",
    )
