"""The fuzzer's rules hold for its own documents, and for some thousand mutations of them.

`python tests/serde/fuzz` looks further, guided by the code that documents reach.
"""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "fuzz"


def test_a_short_run_breaks_no_rule() -> None:
    """In a process of its own, whose imports and files are watched; a zone's package that it imports isn't compiled."""
    code = "import rules; print(rules.smoke(5_000))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={"PYTHONPATH": ":".join([str(FOLDER), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5_000


@pytest.mark.parametrize(
    "broken",
    [
        "import colorsys",  # nothing else has
        "open('written', 'w').close()",
        "import subprocess; subprocess.run(['true'])",
        "raise ZeroDivisionError",
    ],
)
def test_the_rules_can_be_broken(broken: str, tmp_path: Path) -> None:
    """A load that imports, writes, starts a process or raises anything else is found."""
    code = f"""
import rules, subprocess
class Broken:
    def loads(self, data):
        {broken}
    dumps = loads
rules.DEFAULT = Broken()
rules.check(b"")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join([str(FOLDER), *sys.path]), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert any(found in done.stderr for found in ("BrokenRule", "ZeroDivisionError")), done.stderr
