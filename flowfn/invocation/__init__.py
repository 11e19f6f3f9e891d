"""One call of a workflow, from its arguments to its result.

The engine loads with this package, at the first call of any workflow: a program that only decorates functions doesn't
wait for it. Front ends get from here what of the engine they hold as well.

- `setup`: what a workflow is made of. `order`: what is asked in a call, as its arguments say.
- `hosts`: where it runs. `asking`: what it asks of its thread. `known_again`: which recorded call it is, where a class
  of its arguments was edited. `running`: that it runs, and `nesting`, that it does as a part of the run that it is made
  in. `streaming`: that it goes on beside a caller who is told what happens; `reading`: that it waits for no stream that
  its own caller reads.
"""

from flowfn.engine.hosts import Hosts
from flowfn.engine.runs.entering import Fresh, Resume
from flowfn.engine.runs.lead import Ending, lead
from flowfn.engine.runs.run import Run
from flowfn.engine.settings import Settings
from flowfn.invocation.hosts import blocking_hosts, hosts_in_turn, loop_hosts
from flowfn.invocation.known_again import recorded_as
from flowfn.invocation.nesting import is_part_of, nest
from flowfn.invocation.order import Names, Order, Started
from flowfn.invocation.running import ended_awaiting, ended_blocking, prepare, run_awaiting, run_blocking
from flowfn.invocation.setup import Setup

__all__ = [
    "Ending",
    "Fresh",
    "Hosts",
    "Names",
    "Order",
    "Resume",
    "Run",
    "Settings",
    "Setup",
    "Started",
    "blocking_hosts",
    "ended_awaiting",
    "ended_blocking",
    "hosts_in_turn",
    "is_part_of",
    "lead",
    "loop_hosts",
    "nest",
    "prepare",
    "recorded_as",
    "run_awaiting",
    "run_blocking",
]
