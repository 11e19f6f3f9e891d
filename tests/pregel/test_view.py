"""What is read of a checkpoint."""

from __future__ import annotations

from operator import add
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flowfn.pregel import EphemeralValue, LastValue, Node, Program, Reducer, Selection, Topic, peek, view
from flowfn.values import Checkpoint, Write

NAMES = [f"key {number}" for number in range(40)]
CHANNELS = {name: Reducer(list, add) if number % 7 == 6 else LastValue() for number, name in enumerate(NAMES)}
OTHERS = {f"branch {number}": EphemeralValue() for number in range(60)} | {"topic": Topic()}

PROGRAM = Program(
    nodes={"node": Node("node", len, ("branch 0",), dict, lambda _: [])},
    channels=CHANNELS | OTHERS,
    input=lambda given: given,
    result=dict,
    managed={"left": lambda steps: steps.stop},
)

cells = st.permutations([*CHANNELS, *OTHERS]).flatmap(
    lambda names: st.integers(0, len(names)).map(lambda size: {name: [name] for name in names[:size]})
)
selections = st.lists(st.sampled_from([*NAMES, "left"]), unique=True)


@given(cells, selections)
def test_a_selection_picks_what_is_available_in_its_order(held: dict[str, Any], names: list[str]) -> None:
    """However many names there are, and in whatever order they were written, each is as if it were read alone."""
    state = view(PROGRAM, Checkpoint(id="1", values=held), {"left": 25})

    picked = state.pick(Selection(names))

    assert list(picked.items()) == [(name, state[name]) for name in names if name in state]


def test_what_a_node_s_own_write_empties_is_not_there() -> None:
    """A state that is read after a node's writes has no key for what these left empty."""
    held = {name: [name] for name in NAMES} | {"topic": ["old"]}

    emptied = peek(PROGRAM, Checkpoint(id="1", values=held), [Write("topic", []), Write("key 0", 5)])

    assert emptied.pick(Selection([*NAMES, "topic"])) == {name: [name] for name in NAMES} | {"key 0": 5}
