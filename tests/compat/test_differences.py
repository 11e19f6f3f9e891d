"""Where graph_compat differs from LangGraph on purpose: what it does instead, for each program that says `@differs`."""

import pytest

from .loading import CALLERS, GRAPH_COMPAT, Name, mark, names, run

INSTEAD = {
    # What invoke has shown isn't lost: `side` had finished beside the question.
    Name("golden", "new_input_abandons_an_interrupt"): "['i', 'a', 'side', 'new', 'a', 'side']",
    Name("running", "a_command_on_an_empty_thread"): "invoke: {'x': ['u', 'a']}",
    Name("running", "an_empty_command"): "EmptyInputError(message='Received empty Command input')",
    # The second question is asked again.
    Name("humans", "a_used_answer_and_none"): "Interrupt(value='2?'",
    # The task ran once for three attempts of its parent.
    Name("surface", "parameters_of_types"): "('resume', False), ('goto', ())]",
    Name("surface", "values_of_types"): "Interrupt(value=1, id='i')",
    Name("injection", "managed_values"): "values={'x': [(3, False), (2, False), (1, True)]}",
    Name("channels", "barrier"): "checkpoint: ['a']",
    Name("channels", "barrier_after_finish"): "checkpoint: (['a', 'b'], True)",
    Name("savers", "writes"): "('task2', '__interrupt__', 'two')",
    Name("savers", "what_a_run_puts"): "seen by: ['__start__']",
    # A question and its answer are calls with an identity of their own, not writes of the task that asked.
    Name("savers", "what_an_interrupt_puts"): "Interrupt(value='?'",
    Name("savers", "sqlite_has_two_colours"): "answers: None",
    Name("pregel", "two_writes_to_one_value"): "At key 'c': Can receive only one value per step",
    # What a caller gave as a tuple is shown as one.
    Name("messages", "a_graph_of_messages"): "result={'messages': [('user', 'again')]}",
    Name("functional", "children_of_a_retried_entrypoint"): "ran: [1, 'wf', 'wf', 'wf']",
}


def test_every_difference_is_here() -> None:
    """A program that differs says what it does instead, and no other is listed."""
    assert {name for name in names() if mark(name, "differs")} == INSTEAD.keys()


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("name", INSTEAD, ids=str)
def test_what_graph_compat_does_instead(name: Name, caller: str) -> None:
    """The last thing that the program records shows it."""
    last = run(name, GRAPH_COMPAT, caller).rpartition("\ninvoke")
    assert INSTEAD[name] in last[1].lstrip() + last[2]
