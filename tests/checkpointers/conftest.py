"""The contract is no test module, and fails as tellingly as one."""

import pytest

pytest.register_assert_rewrite("checkpointers.conformance")
