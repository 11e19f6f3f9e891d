"""The contract of a store as tests: whoever writes a backend runs them against it.

    from flowfn.stores.conformance import StoreContract

    class TestMyStore(StoreContract):
        def make(self, **options):
            return MyStore(..., **options)

Rule: a test uses nothing but `BaseStore`, the sweeping methods, and `make` and `reopen`. Register
`flowfn.stores.conformance` with `pytest.register_assert_rewrite` for telling failures.
"""

from flowfn.stores.conformance.keeping import KeepingContract
from flowfn.stores.conformance.listing import ListingContract
from flowfn.stores.conformance.living import LivingContract
from flowfn.stores.conformance.ranking import RankingContract
from flowfn.stores.conformance.searching import SearchingContract

__all__ = ["StoreContract"]


class StoreContract(KeepingContract, SearchingContract, ListingContract, LivingContract, RankingContract):
    """Every rule of a store. Derive a test class from it, and another with `asyncio = True`.

    `make(index=, ttl=, clock=)` returns a new, empty store; each option may be left out. `reopen(store)` returns
    another view of the same data, as a restarted process would have it; the default stands for a backend that
    lives with its process.
    """
