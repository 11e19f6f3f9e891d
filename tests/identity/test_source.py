"""The source that identities are made of, as Python parses it."""

from __future__ import annotations

import ast
import gc
from typing import Any

from flowfn.identity.code.index import parse


def test_a_module_is_parsed_while_the_garbage_collector_shows_an_error() -> None:
    """What it shows is parsed too, at another depth, which Python before 3.11.5 takes for a fault of the first."""
    shown: list[ast.Module] = []

    def show(phase: str, info: dict[str, Any]) -> None:
        if not shown:
            shown.append(ast.parse("1 + 1"))

    text = "\n".join(f"name{number} = {number} + [{number}]" for number in range(1000))
    gc.callbacks.append(show)
    try:
        tree = parse(text)
    finally:
        gc.callbacks.remove(show)
    assert shown
    assert len(tree.body) == 1000
