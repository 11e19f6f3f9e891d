"""Where graph_compat differs from LangGraph on purpose: what it does instead, for each program that says `@differs`."""

from pathlib import Path

import pytest

import graph_compat

from .loading import CALLERS, GRAPH_COMPAT, LANGGRAPH, Name, mark, names, run

INSTEAD = {
    Name("updates", "routers_of_updates_find_the_store"): "next: ('a',)",
    Name("streaming", "several_modes_in_a_tuple"): "  : ('updates', {'a': {'x': ['a']}})",
    Name(
        "streaming", "version_2_leaves_the_value_of_a_key"
    ): "GraphOutput(value={'count': 1}, interrupts=())",
    Name("configurations", "a_saver_in_a_configuration"): "A configuration names no saver",
    Name("policies", "a_handler_beside_a_question_that_is_answered"): "times: 1",
    Name("policies", "a_handler_of_an_abandoned_superstep"): "values={'x': ['i', 'update', 'handled']}",
    Name("functional", "a_mock_as_the_function_of_a_task"): "  : {'add': 'mocked'}\n  : {'flow': 'mocked'}",
    Name("functional", "a_caught_failure_before_a_question"): "invoke: ['caught', '!']",
    Name("batches", "limits_of_batches"): "steps: [30]\nsteps: [30]",
    Name("batches", "limits_of_batches_as_they_complete"): "come: [(0, 30)]\ncome: [(0, 30)]",
    # What invoke has shown isn't lost: `side` had finished beside the question.
    Name("golden", "new_input_abandons_an_interrupt"): "['i', 'a', 'side', 'new', 'a', 'side']",
    Name("running", "a_command_on_an_empty_thread"): "invoke: {'x': ['u', 'a']}",
    Name("running", "an_empty_command"): "EmptyInputError(message='Received empty Command input')",
    Name("errors", "a_command_whose_update_is_refused"): "state: StateSnapshot(values={'n': 1, 'x': ['i']}",
    # The second question is asked again.
    Name("humans", "a_used_answer_and_none"): "Interrupt(value='2?'",
    # The task ran once for three attempts of its parent.
    Name("savers", "writes"): "('task2', '__interrupt__', 'two'),\n ('task2', '__error__', 'e')",
    Name("savers", "what_a_run_puts"): "versions of: ['x']",
    # A question and its answer are calls with an identity of their own, not writes of the task that asked.
    Name("savers", "what_an_interrupt_puts"): "Interrupt(value='?'",
    Name("savers", "a_saver_around_another"): "go on through that saver",
    Name(
        "savers", "a_method_that_a_test_replaces_after_a_run"
    ): "invoke: {'x': ['i', 'a', 'b', 'i', 'a', 'b']}",
    Name("savers", "classes_made_inside_functions"): "seen: ['Point', 'Pair', 'Colour']",
    Name("savers", "models_that_were_given_their_types"): "seen: [('Page[int]', Page[int](items=[1]))]",
    Name("savers", "root_models"): "seen: [('Rows', Rows(root=[1]))]",
    Name("savers", "pickles_of_classes"): "refused: True",
    Name("savers", "models_of_pydantic_v1"): "savers.Old and cannot be stored",
    Name("savers", "subclasses_of_builtin_types"): "Replacing and cannot be stored",
    Name("savers", "sqlite_has_two_colours"): "answers: None",
    Name("pregel", "two_writes_to_one_value"): "At key 'c': Can receive only one value per step",
    Name("functional", "children_of_a_retried_entrypoint"): "ran: [1, 'wf', 'wf', 'wf']",
    Name("react_agent", "hooks_after_the_model_in_one_task"): "('ai', 'done', None, [])",
    Name("react_agent", "a_person_answers_one_of_two_calls"): "next: ('tools',)",
    Name("react_agent", "sent_calls_are_shown"): "sent: [['__type', 'tool_call']]",
    Name("tool_node", "a_command_that_sends_and_updates"): "seen: ['update 1', ",
    Name("tool_node", "several_commands_for_the_graph_around"): "seen: ['update 1', 'update 2', ",
    Name("tool_node", "several_commands_for_a_graph_of_messages"): "'update 1', 'update 2', ",
    Name("tool_node", "retried_nodes"): "ran: ['a', 'flaky', 'flaky']",
    Name("answers", "an_answer_to_the_question_before"): "no question waits under '<H0>'",
    Name("answers", "answers_of_other_schemas"): "nothing waits for the answer {'n': '3'}",
    Name("answers", "an_answer_that_is_refused_is_told"): "seen: [True, True]",
    Name("humans", "an_answer_from_a_node_to_a_graph_in_it"): "invoke: {'x': ['RuntimeError']}",
    Name("humans", "an_answer_that_nobody_asked_for"): "nothing waits for the answer '!'",
    Name("humans", "an_answer_by_an_unknown_id"): "no question waits under '<H1>'",
    Name("errors", "commands_that_are_refused"): "EmptyInputError(message='Received no input for __start__')",
    Name("building", "add_node_refuses"): "Node 'missing' has no action",
    Name("building", "a_node_that_a_test_replaces_after_a_run"): "invoke: {'x': ['fake']}",
    Name("building", "a_node_that_a_test_replaces_in_part"): "of a compiled node's function can't be set",
    Name("building", "two_routers_of_a_node"): "Branch with name `condition` already exists",
    Name("building", "deprecated_arguments"): "add_node() got an unexpected keyword argument 'unknown'",
    Name("channels", "overwrite"): "changed: None\navailable: True\nraises: 'nothing'\nvalue: [6]",
    Name("errors", "a_parent_command_of_a_root"): "resume=object(repr='MISSING')",
    Name("errors", "values_that_cannot_be_stored"): "the value of 'x' that node 'a' wrote",
    Name("errors", "texts_of_a_store"): "raises: 'nothing'",
    Name("failures", "failure_of_a_reducer"): "state: StateSnapshot(",
    Name("failures", "writes_that_are_refused_together"): "next=('a', 'b')",
    Name("schemas", "a_thread_that_stored_what_pydantic_refuses"): "state: StateSnapshot(",
    Name("schemas", "a_nested_graph_of_another_model"): "Other(a=3, c=5)",
    Name(
        "token_streams", "messages_of_a_graph_that_has_its_nodes_name"
    ): "texts: [('HumanMessage', 'draft', 'writes')]",
    Name("subgraphs", "a_parent_command_in_a_try"): "invoke: {'x': ['i', 'up', 'z']}",
    Name("schemas", "a_stream_of_what_pydantic_refuses"): "('values', {'a': 'no'",
    Name("channels", "what_a_class_that_extends_a_channel_was_given"): "invoke: {'new': [3, 4]}",
    Name("schemas", "what_a_model_has_beside_its_fields"): "('values', {'a': 2})\nstored: {'a': 2}",
    Name("configurations", "a_tag_that_a_node_appends"): "seen: [['mine'], ['mine']]",
    Name("schemas", "results_without_values"): "invoke: {}\ninvoke: {}\ninvoke: {}",
    Name("whole", "pydantic_state"): "state: StateSnapshot(",
    Name(
        "failures", "a_router_that_fails_once"
    ): "stream: None\n  : {'a': {'x': ['a']}}\n  : {'b': {'x': ['b']}}",
    Name("failures", "failure_of_the_inputs_router"): "invoke: {'x': ['i', 'a']}",
    Name("snapshots", "a_superstep_without_its_checkpoint"): "invoke: {'x': ['i', 'a', 'b', 'c']}",
    Name("snapshots", "the_id_of_a_run"): "run: '<U1>'",
    Name(
        "snapshots", "metadata_of_a_delta_channel"
    ): "metadata: [{'parents': {}, 'source': 'loop', 'step': 1}]",
    Name("schemas", "a_stream_of_emptied_channels"): "  : {'once': 1, 'x': ['i']}\n  : {'x': ['i']}",
    Name("subgraph_threads", "a_memory_kept_at_the_end"): "kept: True",
    Name("functional", "values_of_a_first_resumption"): "count: 1",
    Name("functional", "chunks_that_cannot_be_stored"): "a chunk that 'tells' told those who read its stream",
    Name("failures", "too_many_steps"): "'FlowError'",
    Name("failures", "a_task_that_is_cancelled_for_a_failure"): "('waits', None)",
    Name("failures", "durability_exit_and_a_failure"): "result={'x': ['b']}",
    Name("golden", "entrypoint_streams"): "stream: None\n  : {'a': 'z', 'prev': None, 'r': [11, 12]}",
    Name("humans", "questions_in_turn_of_a_graph_that_stores_nothing"): "invoke: {'x': ['1', '2']}",
    Name("humans", "an_answer_by_id_in_a_subgraph_that_stores_nothing"): "invoke: {'x': ['i', 'i', '!']}",
    Name("streaming", "parents_of_checkpoints_that_are_kept_at_the_end"): "chain: True",
    Name("humans", "an_answer_by_id_after_one_by_value"): "value='three?'",
    Name("humans", "a_question_and_what_ends_after_it"): "shown: [['b'], ['__interrupt__']]",
    Name(
        "humans", "questions_answered_one_by_one"
    ): "interrupts=(),\n                                 state=None,\n"
    "                                 result={'x': ['1']})",
    Name(
        "humans", "a_question_in_a_router"
    ): "Interrupt(value='where?', id='<H0>', response_schema=None)], 'x': []",
    Name("injection", "managed_values"): "[(3, False), (2, False), (1, True)]",
    Name("messages", "a_graph_of_messages"): "[('user', 'again')]",
    Name(
        "policies", "cached_nodes"
    ): "{'error': None, 'id': '<U0>', 'interrupts': [], 'name': 'a', 'result': {'x': ['a']}}",
    Name("policies", "a_node_that_cancels_itself"): "'notes': [\"During task with name 'a' and id '<U0>'\"]",
    Name("running", "threads_that_are_missing"): "Checkpointer requires one or more",
    Name("snapshots", "thread_is_required"): "Checkpointer requires one or more",
    Name("schemas", "models_of_plain_classes"): "raises: 'nothing'\nraises: 'nothing'",
    Name("schemas", "channels_in_annotations"): "{'every': [1, 2, 4], 'last': 2, 'total': 2, 'untracked': 1}",
    Name(
        "streaming", "custom_chunks_inside_a_stream_inside_a_node"
    ): "(('node:<U0>', 'deep:<U1>'), 'custom', 'deep')",
    Name(
        "streaming", "private_keys_of_a_stream_inside_a_node"
    ): "(('node:<U0>',), 'updates', {'s': {'x': ['s']}})",
    Name("streaming", "unknown_version"): "version='v9' is unknown",
    Name("streaming", "unknown_mode"): "stream_mode='nope' is unknown",
    Name(
        "subgraph_threads", "state_of_a_subgraph_that_waits"
    ): "config={'configurable': {'checkpoint_id': '<U3>',",
    Name("subgraphs", "graph_in_an_entrypoint"): ": (('ask_graph:<U0>',), {'s': {'x': ['s']}})",
    Name("tool_node", "graphs_that_several_tools_call"): "namespaces: 2\nanswers: ['1', \"[0, 'in']\"]",
    Name("functional", "an_entrypoint_that_is_read_again"): "ran: ['function', 'task', 'function']",
    Name("surface", "parameters_of_graphs"): "('on_busy', None)",
    Name("surface", "parameters_of_types"): "('stop', None)",
    Name("surface", "parts_that_langgraph_runs_by"): "saver: []\nSQL: []\nplan: []",
    Name("drawing", "the_class_of_a_picture"): "is LangChain's: False",
    Name("react_agent", "a_schema_of_the_librarys_own_state"): "says: []",
    Name("time_travel", "an_end_at_an_old_checkpoint"): "state: StateSnapshot(values={'x': ['i', 'a']},\n"
    "              next=(),",
    Name("time_travel", "replay_of_the_end"): "'<U2>', 'checkpoint_ns': '', 'thread_id': '1'}},\n"
    "               metadata={'parents': {}, 'source': 'input', 'step': -1}",
    Name(
        "time_travel", "going_on_from_the_head"
    ): "steps: [('loop', 2), ('loop', 1), ('loop', 0), ('input', -1)]",
    Name("time_travel", "replay_from_an_unknown_checkpoint"): "thread '1' has no checkpoint '0'",
    Name("time_travel", "answer_at_an_old_checkpoint"): "['i', 'a', 'two', 'z']",
    Name("running", "goto_a_deferred_node_that_is_due"): "invoke: {'x': ['a', 'd']}",
    Name("humans", "answers_by_id_at_an_old_checkpoint"): "['second p', 'second q']",
    Name(
        "subgraph_threads", "an_answer_at_an_older_checkpoint_two_levels_down"
    ): "invoke: {'x': ['m', 'm', 'a', 'edit', 'no', 'z']}",
    Name("updates", "an_input_beside_a_finished_sibling"): "seen: [['old', 's', 'a', 'new', 's']]",
    Name("updates", "an_update_under_a_run"): "thread '1' is held by a live run",
    Name("updates", "a_call_under_a_run"): "thread '1' is held by a run whose stream this code reads",
    Name("updates", "update_as_the_input"): "['i', 'a', 'j', 'a']",
    Name(
        "migrations", "the_next_node_is_removed"
    ): "stopped before node 'b', which 'LangGraph' no longer has",
    Name(
        "migrations", "the_asking_node_is_renamed"
    ): "stopped before node 'ask', which 'LangGraph' no longer",
    Name(
        "migrations", "a_plain_edge_becomes_a_join"
    ): "would wait for ever, at the join of b+c into 'd' for 'b'",
    Name("migrations", "a_source_of_a_join_is_added"): "stopped before the join of a+b into 'c', which",
    Name("policies", "retry_on_something_else"): "RetryPolicy(retry_on='KeyError') is no class of errors",
    Name("surface", "values_of_types"): "Interrupt(value=1, id='i')",
    Name("surface", "a_retry_policy_with_other_values"): "object is not subscriptable",
    Name("humans", "interrupts_of_namespaces"): "has no attribute 'from_ns'",
    Name(
        "streaming", "checkpoints_and_what_the_caller_gave"
    ): "{'m': 1, 'parents': {}, 'source': 'input', 'step': -1, 'user': 'u'}",
    Name("humans", "an_answer_to_a_question_that_was_edited"): "Interrupt(value='new?'",
    Name("surface", "fields_of_an_interrupt"): "'expires_at': None",
    Name("humans", "a_question_in_a_try"): "Interrupt(value='?'",
    Name("humans", "questions_of_parallel_calls"): "asked: ['1?', '2?']",
    Name("humans", "a_goto_beside_a_question"): "state: StateSnapshot(values={'x': ['c']}",
    Name("policies", "a_cache_of_two_graphs"): "{'x': ['second']}",
    Name("policies", "the_cache_of_a_nested_graph"): "ran: ['a']",
    Name("policies", "equal_sends_of_a_cached_node"): "ran: [1, 2]",
    Name(
        "subgraph_threads", "answer_by_id_after_an_update"
    ): "invoke: {'x': ['i', 'i', 's1', 'edited', '!']}",
    Name(
        "subgraph_threads", "answers_after_an_update_beside_another_question"
    ): "invoke: {'x': ['edit', 'for p', 'for q']}",
    Name(
        "subgraph_threads", "an_answer_to_the_second_question_after_an_update"
    ): "invoke: {'x': ['edit', 100, 'yes']}",
    Name("subgraph_threads", "parents_after_a_replay_inside_a_subgraph"): "parents: ({}, False)",
    Name("subgraph_threads", "steps_after_an_update_of_a_memory"): "step: 3",
    Name("subgraph_threads", "a_customer_of_two_threads"): "invoke: {'x': ['ann', ['ann had 0']]}",
    Name("subgraph_threads", "customers_in_turn"): "'b', [3], 'ba', [4, 3]]}",
    Name("subgraph_threads", "a_memory_after_an_answer"): "['two', 'B', 'two', 'B']",
    Name("humans", "a_failure_after_an_answer"): "open: ()\nstream: None\nstream raised",
    Name(
        "humans", "raising_several_interrupts_that_are_answered_in_turn"
    ): "open: ['question 1']\nopen: ['question 1']",
    Name("updates", "node_that_two_edges_led_to"): "['i', 'a', 'b', 'u']",
    Name("updates", "update_after_a_send"): "invoke: {'x': ['i', 'a', 'u', 'b']}",
    Name("updates", "update_of_an_input_that_was_replayed"): "invoke: {'x': ['u', 'a', 'b']}",
    Name("updates", "update_of_an_update_that_was_replayed"): "invoke: {'x': ['i', 'u', 'a', 'b', 'c']}",
    Name("subgraph_threads", "a_graph_in_one_that_stores_nothing"): "stored: [0]",
    Name("subgraphs", "parent_command_and_an_async_router"): "result: {'x': ['i', 'other', 'left']}",
    Name("event_streams", "states_of_nested_runs"): "values: [{'x': ['0', 'a']}, {'x': ['0', 'a', 'i']}]",
    Name(
        "event_streams", "events_of_nested_runs"
    ): "'namespace': ['sub:<U0>'],\n             'timestamp': True},\n  'type'",
    Name("event_streams", "messages_of_nested_graphs"): "place: 1",
    Name("event_streams", "two_graphs_in_a_node"): "output: {'x': ['2', 'i']}",
    Name(
        "event_streams", "breakpoints_of_nested_graphs"
    ): "{'event': 'interrupted', 'namespace': ['sub:<U0>']}",
    Name("event_streams", "graphs_that_are_left"): "{'event': 'interrupted', 'namespace': ['sub:<U0>']}",
    Name(
        "event_streams", "runs_that_a_node_reads"
    ): "{'x': ['0', 'a', '0', 'a', 'i', 'z']}],\n       [{'x': ['0']}",
    Name("event_streams", "attribute_errors"): "of the node",
    Name("event_streams", "messages_that_a_node_streams"): "message: 'hello world'",
    Name("event_streams", "transformers_of_another_version"): "takes no transformers",
    Name("event_streams", "unknown_modes"): "stream_mode='nope' is unknown",
    Name("errors", "a_step_timeout_of_threads_in_asyncio"): "kept: {'x': ['i', 'blocked']}",
}


def test_every_difference_is_here() -> None:
    """A program that differs says what it does instead, and no other is listed."""
    assert {name for name in names() if mark(name, "differs")} == INSTEAD.keys()


def test_every_difference_has_its_row() -> None:
    """The reasons that programs give are rows of COMPATIBILITY.md."""
    text = (Path(graph_compat.__file__).parent / "COMPATIBILITY.md").read_text("utf-8")
    rows = {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")}
    assert {reason for name in names() if (reason := mark(name, "differs"))} <= rows


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("name", INSTEAD, ids=str)
def test_what_graph_compat_does_instead(name: Name, caller: str) -> None:
    """Its trace says so, and LangGraph's doesn't, or not as often."""
    ours, theirs = run(name, GRAPH_COMPAT, caller), run(name, LANGGRAPH, caller)
    assert ours.count(INSTEAD[name]) > theirs.count(INSTEAD[name])
