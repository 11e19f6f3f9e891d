"""The demo's workflow as ordinary functions: called outside a run, its tasks simply run."""

from pathlib import Path

from flowfn.demo.job import Module, cross_reference, index_library, measure, write_report

SOURCE = '''"""Doc."""
import os, sys
from os import path
from . import near

class A:
    async def f(self):
        "doc"
        def g(): pass
'''


def test_a_file_is_measured(tmp_path: Path) -> None:
    """Definitions at any depth, docstrings, and each imported module once; relative imports don't count."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(SOURCE)
    found = measure(str(tmp_path), "pack/__init__.py").result()
    assert found == Module("pack", True, 9, 2, 1, 2, ("os", "sys"))


def test_what_is_no_python_is_measured_too(tmp_path: Path) -> None:
    """The library's tests hold broken files on purpose: only their lines count."""
    (tmp_path / "bad.py").write_bytes(b"def (:\n\0\n")
    assert measure(str(tmp_path), "bad.py").result() == Module("bad", lines=2)


def test_importers_are_counted_among_the_files() -> None:
    """The most imported first; what isn't among the files is left out."""
    modules = [Module("a", imports=("b", "c", "x")), Module("b", imports=("c",)), Module("c")]
    assert list(cross_reference(modules).result().items()) == [("c", 2), ("b", 1)]


def test_the_report_replaces_an_older_one(tmp_path: Path) -> None:
    """And leaves no draft behind."""
    path = tmp_path / "report.md"
    path.write_text("old")
    write_report([Module("a", lines=3)], {}, "undocumented", str(path)).result()
    assert "## undocumented\n" in path.read_text().partition("## largest")[0]
    assert list(tmp_path.iterdir()) == [path]


def test_the_workflow_asks_before_it_writes(tmp_path: Path) -> None:
    """Human in the loop: the report is written once the question is answered, by its key."""
    from checkpointers import MemorySaver
    from flowfn import entrypoint

    (tmp_path / "one.py").write_text("x = 1\n")
    path = tmp_path / "report.md"
    thread = entrypoint(checkpointer=MemorySaver())(index_library.func).thread("t")
    asked = thread.invoke({"folder": str(tmp_path), "files": ["one.py"], "report": str(path)})
    (question,) = asked["__interrupt__"]
    assert (question.key, path.exists()) == ("first section", False)
    summary = thread.send("first section", "imported")
    assert (summary.files, summary.lines, path.exists()) == (1, 1, True)
