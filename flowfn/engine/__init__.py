"""What a run waits for, and in which order: written once, as `async def`, for threads and event loops.

Rule: nothing here imports asyncio, threading, time or random, or awaits anything but the ports
(host, journal, cache). Blocking ports answer by blocking, so that `drive` can run the very same
coroutines with one `send`; `drive` refuses one that suspends.
"""
