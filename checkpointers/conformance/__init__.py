"""The contract of a saver as tests: whoever writes a backend runs them against it.

    from checkpointers.conformance import SaverContract

    class TestMySaver(SaverContract):
        def make(self):
            return MySaver(...)

Rule: a test uses nothing but the port, LangGraph's method names, and `make` and `reopen`. Register
`checkpointers.conformance` with `pytest.register_assert_rewrite` for telling failures.
"""

from checkpointers.conformance.housekeeping import HousekeepingContract
from checkpointers.conformance.langgraph import LangGraphContract
from checkpointers.conformance.leasing import LeaseContract
from checkpointers.conformance.reading import ReadingContract
from checkpointers.conformance.threads import ThreadContract
from checkpointers.conformance.writing import WritingContract

__all__ = ["SaverContract"]


class SaverContract(
    WritingContract, ReadingContract, LeaseContract, ThreadContract, LangGraphContract, HousekeepingContract
):
    """Every rule of `flowfn.ports.Saver`, LangGraph's names on top, and housekeeping. Derive a test class from it.

    `make()` returns a new, empty saver. `reopen(saver)` returns another view of the same data, as a
    restarted process would have it; the default stands for a backend that lives with its process.
    """
