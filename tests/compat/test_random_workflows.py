"""Random workflows do the same on graph_compat as on LangGraph, for blocking and asyncio callers."""

import pytest

from .loading import CALLERS
from .seeds import FIRST, seeds, silent, traces
from .trace import Trace
from .workflow_generator import KINDS, OPERATIONS, all_steps, functions, workflow_program
from .workflow_player import WorkflowPlayer

SEEDS = seeds(30)


def played(seed: int, library: str, trace: Trace) -> WorkflowPlayer:
    return WorkflowPlayer(workflow_program(seed), library, trace)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_both_libraries_leave_the_same_trace(seed: int, caller: str) -> None:
    """Results, chunks, errors, states and histories are those of LangGraph, of a workflow that says anything."""
    ours, theirs = traces(played, seed, caller)
    assert ours == theirs


@pytest.mark.parametrize("caller", CALLERS)
def test_most_workflows_say_something(caller: str) -> None:
    """What the test before this one passes over is the exception."""
    assert len(silent(played, SEEDS, caller)) <= len(SEEDS) / 3


def test_workflows_have_everything_in_them() -> None:
    """However little is tried, each kind of step and operation is in it, and tasks with each policy."""
    programs = [workflow_program(seed) for seed in range(FIRST, FIRST + 200)]
    workflows = [made.workflow for made in programs]
    made_of = [function for workflow in workflows for function in functions(workflow)]
    assert {step.kind for workflow in workflows for step in all_steps(workflow)} == {*KINDS}
    assert {operation.kind for made in programs for operation in made.operations} == {*OPERATIONS}
    assert all(any(getattr(each, has) for each in made_of) for has in ("fails", "cached"))
    assert any(each.attempts > each.fails > 0 for each in made_of)
    assert {workflow.ends for workflow in workflows} == {"value", "final", "nothing"}
    assert any(workflow.remembers for workflow in workflows)


def test_a_seed_is_a_workflow() -> None:
    """The same seed gives the same workflow, another one another."""
    assert workflow_program(1) == workflow_program(1)
    assert workflow_program(1) != workflow_program(2)
