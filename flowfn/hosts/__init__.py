"""How a run waits, and where its user code runs: on threads, or on an event loop.

- `threads`: the blocking host. `workers` keeps idle threads, `waker` puts them on what was left waiting, as many as
  `pace` says; `settling` runs what they take, and `pipelining` records it where commits take their time.
- `loop`: the asyncio host; `in_task` runs what it takes. `shared`: what all runs of one loop share. `admission` says
  when a run begins, or a call of one with many, `claims` gathers the leases that runs want at once, and `commits` what
  they write, of which `outcomes` says what came of it; `deadlines` cancels coroutines whose time is up;
  `on_thread`: what blocks, beside the loop; `moment`: how long the loop stands still for it; `wakes`: how it hears of
  what has ended there.
- The branches of one frame's code on a loop: `numbering` says which one runs, `recognising` which of the recorded ones
  that is, by what `branch_calls` says of it, and `branch_arguments` of what it is given. Whose a record is, is decided
  in `engine/replay/belonging.py`; `patience`: how long a call is held for the branch that has left it, by `standing`,
  what they wait for, and `at_hand`, whether another one might have it. `in_turn`: when they hear of what was recorded;
  `makers`: what the code handles that has begun them.
- `watch`: when an attempt's time is up, on threads and in coroutines. `plain_code`: code that can't be stopped then.
- `streams`: a run on one side, who watches it on the other; `stepping`: both on one thread, by turns.
- `side_by_side`: many runs at once, such as a batch.
- `left_behind`: what runs on threads when its caller was cancelled.
- `fresh_stack`: where nested runs go on whose stack has grown long.
- `clock`, `ids`: time, and names that sort by it.
"""
