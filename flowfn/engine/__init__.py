"""What a run waits for, and in which order: written once, as `async def`, for threads and event loops.

Rule: nothing here imports asyncio, threading, time or random, or awaits anything but the ports
(host, journal, cache). Blocking ports answer by blocking, so that `drive` can run the very same
coroutines with one `send`; `drive` refuses one that suspends.

- A run: `leasing` takes its thread, `lead` takes it to its status: `entering` begins, `superstep` goes step by step.
  `run` is what its tasks share, `root` what it shares with `nesting`'s; `settings` is what it was told, `hosts` where
  its code goes. `turns`, `slots`: who waits for a place; `deadline`: how long a step may take.
- A call: `spawn` says who it is, `attempt` runs it; `call`, `frame`, `ids` and `injection` are what it is, sees and is
  given. `elsewhere`: on an executor; `caching`: not at all; `belated`: with other arguments; `once`: chance; `drive`:
  without an event loop.
- What is kept: `journal` decides when, `backlog` does it later, `notes` ride along. `rows` and `thinning` spell
  checkpoints, `keeping` what came of a call, `reader` what it told those inside the run who read its stream; `record`
  reads that, and `ledger` holds it.
- What that means to an attempt: `matching` says which record is whose, `namesakes` of functions of one name; `causes`
  and `sources` why none is. `doubt`: it may have run; `failing`: it runs again; `rehearsal`: nothing does.
- Questions: `interrupts` asks, `answers` takes. Edits of a program: `lost`, `missed`.
"""
