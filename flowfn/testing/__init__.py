"""For tests of workflows: crashes wherever there can be one, replay after each call, faults on plan, virtual time.

Nothing of a program imports it. Its fixtures come with pytest (`flowfn.pytest_plugin`).
"""

from flowfn.testing.clock import VirtualClock
from flowfn.testing.crashing import crash_everywhere
from flowfn.testing.everywhere import CrashReport
from flowfn.testing.faults import disk_full, fail, inject, latency, lost_lease
from flowfn.testing.replaying import always_replay

__all__ = [
    "CrashReport",
    "VirtualClock",
    "always_replay",
    "crash_everywhere",
    "disk_full",
    "fail",
    "inject",
    "latency",
    "lost_lease",
]
