"""What a run waits for, and in which order: written once, as `async def`, for threads and event loops.

Rule: nothing here imports asyncio, threading, time or random, or awaits anything but the ports
(host, journal, cache). Blocking ports answer by blocking, so that `drive` can run the very same
coroutines with one `send`; `drive` refuses one that suspends.

- `runs`: from the lease of a thread to its status, superstep by superstep.
- `calls`: from who a call is to its recorded outcome.
- `records`: what is kept of both, and when it is durable.
- `replay`: what that means to the next attempt, of code that may have been edited.
- `questions`: what a run asks its humans, and their answers.
- `drive`: without an event loop. `settings`: what a run was told, `hosts`: where its code goes, `ids`: what its parts
  are called.
"""
