"""Each test of agents runs for a blocking and for an asyncio caller."""

import pytest

from .callers import Caller


@pytest.fixture(params=["blocking", "asyncio"])
def caller(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)
