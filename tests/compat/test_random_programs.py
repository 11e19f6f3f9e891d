"""Random programs do the same on graph_compat as on LangGraph, for blocking and asyncio callers."""

import pytest

from .generator import FORMS, INSIDE, OPERATIONS, SIEVES, graphs, program
from .loading import CALLERS
from .player import Player
from .seeds import FIRST, seeds, silent, traces
from .trace import Trace

SEEDS = seeds(50)


def played(seed: int, library: str, trace: Trace) -> Player:
    return Player(program(seed), library, trace)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_both_libraries_leave_the_same_trace(seed: int, caller: str) -> None:
    """Results, chunks, errors, states and histories are those of LangGraph, of a program that says anything."""
    ours, theirs = traces(played, seed, caller)
    assert ours == theirs


@pytest.mark.parametrize("caller", CALLERS)
def test_most_programs_say_something(caller: str) -> None:
    """What the test before this one passes over is the exception."""
    assert len(silent(played, SEEDS, caller)) <= len(SEEDS) / 3


def test_programs_have_everything_in_them() -> None:
    """However little is tried, each kind of operation, node and nested graph is in it."""
    programs = [program(seed) for seed in range(FIRST, FIRST + 200)]
    nested = [part for made in programs for part in graphs(made.graph)]
    nodes = [node for part in nested for node in part.nodes.values()]
    assert {operation.kind for made in programs for operation in made.operations} == {*OPERATIONS, "inside"}
    assert {node.form for node in nodes} == {*FORMS}
    assert {part.schema for part in nested} == {"typed", "dataclass", "pydantic"}
    assert {part.checkpointer for part in nested} == {None, True, False}
    assert all(
        any(getattr(node, has) for node in nodes)
        for has in ("asks", "fails", "cached", "defers", "parent", "calls", "knows", "stores", "overwrites")
    )
    assert any(node.handler is not None and node.fails >= node.attempts for node in nodes)
    assert {node.says_messages for node in nodes} == {"dict", "object", "removal"}
    assert {node.policies for node in nodes if node.attempts > 1} == {1, 2}
    operations = [operation for made in programs for operation in made.operations]
    assert all(any(has in each.options for each in operations) for has in ("version", "output_keys"))
    assert {sieve for each in operations for sieve in each.sieve} == {*SIEVES}
    assert any(operation.anew for operation in operations)
    assert any(router.knows for part in nested for router in part.routers)
    assert any(part.counts for part in nested)
    assert any(part.joins for part in nested)
    assert all(any(getattr(part, has) is not None for part in nested) for has in ("input", "output"))
    assert {node.schema for node in nodes if node.reads is not None} == {"typed", "dataclass", "pydantic"}
    inside = [operation for made in programs for operation in made.operations if operation.kind == "inside"]
    assert {operation.inside for operation in inside} == {*INSIDE}


def test_a_seed_is_a_program() -> None:
    """The same seed gives the same program, another one another."""
    assert program(1) == program(1)
    assert program(1) != program(2)
