"""A run of a program: from the lease of its thread to the state that it leaves the thread in.

- `leasing` takes the thread, `lead` takes it to its status: `entering` begins, `superstep` goes step by step,
  and `abreast` has the calls of a step run side by side.
- `run` is what the tasks of a program share; `root` what a run shares with those that are nested in it, which `nesting`
  begins; `going_back`: which older checkpoints its caller names. `telling`: what those who watch it are told.
- `turns`, `slots`, `places`: who waits for a place. `deadline`: how long a step may take.
"""
