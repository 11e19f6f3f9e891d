"""Unmodified programs: `import langgraph` is answered by graph_compat, and the program notices nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GRAPH = """
from langgraph.graph import START, StateGraph

graph = StateGraph(dict).add_node("node", lambda state: state).add_edge(START, "node").compile()
print(type(graph).__module__)
"""

ANYTHING = """
import atexit, pickle, sys, threading

class Mine:
    pass

def show():
    print(pickle.loads(pickle.dumps(Mine())).__class__ is Mine, __name__)

if __name__ == "__main__":
    import neighbour
    print(sys.argv, __file__, __spec__, sys.path[0], sys.modules["__main__"].Mine is Mine)
    print("__annotations__" in globals(), __builtins__ is sys.modules["builtins"])
    threading.Thread(target=show).start()
    atexit.register(show)
    sys.exit(3)
"""


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, env=environment, timeout=60
    )


def installed(program: str, cwd: Path) -> str:
    """What a program prints that calls `install()` first."""
    done = python("-c", f"import graph_compat\ngraph_compat.install()\n{program}", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_runs_on_graph_compat(tmp_path: Path) -> None:
    """`python -m graph_compat app.py` gives `from langgraph…` graph_compat's names, though LangGraph is installed."""
    (tmp_path / "app.py").write_text(GRAPH)
    done = python("-m", "graph_compat", "app.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "graph_compat.graph.compiled_state\n")
    assert done.stderr.count("is passed over") == 1


def test_a_program_sees_what_it_sees_without(tmp_path: Path) -> None:
    """Arguments, search path, `__main__`, pickling, threads, exit handlers, exit code: as under `python app.py`."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/app.py").write_text(ANYTHING)
    (tmp_path / "scripts/neighbour.py").write_text("")
    arguments = ("scripts/app.py", "-x", "--help")
    plain = python(*arguments, cwd=tmp_path)
    ours = python("-m", "graph_compat", *arguments, cwd=tmp_path)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 3


def test_a_module_and_a_directory_run_too(tmp_path: Path) -> None:
    """`-m module` and a directory with a `__main__.py` run as Python runs them."""
    (tmp_path / "package").mkdir()
    show = "import sys\nprint(sys.argv[1:], __name__, sys.path[0])\n"
    (tmp_path / "package/__main__.py").write_text(show)
    for arguments in (("-m", "package", "a"), ("package", "a")):
        plain = python(*arguments, cwd=tmp_path)
        assert python("-m", "graph_compat", *arguments, cwd=tmp_path).stdout == plain.stdout != ""


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Nothing to run ends with status 2, and says what was looked for."""
    done = python("-m", "graph_compat", "absent.py", cwd=tmp_path)
    assert (done.returncode, "absent.py" in done.stderr) == (2, True)
    assert python("-m", "graph_compat", cwd=tmp_path).returncode == 2


def test_both_names_are_one_module(tmp_path: Path) -> None:
    """A module is one object under LangGraph's name and ours, and so are its classes, errors and submodules."""
    program = """
import graph_compat.errors, graph_compat.graph.state, langgraph, langgraph.errors, langgraph.graph.state, pickle
from langgraph.channels.last_value import LastValue
from langgraph.types import Send
import graph_compat.channels, langgraph.channels, graph_compat.types
assert langgraph is graph_compat
assert langgraph.graph.state is graph_compat.graph.state is langgraph.graph.state
assert langgraph.errors.GraphInterrupt is graph_compat.errors.GraphInterrupt
assert LastValue is graph_compat.channels.LastValue and langgraph.channels is graph_compat.channels
assert pickle.loads(pickle.dumps(Send("a", 1))) == graph_compat.types.Send("a", 1)
assert pickle.loads(b"clanggraph.types\\nSend\\n.") is Send
graph_compat.install()
import sys
print(sum(type(finder).__module__ == "graph_compat.import_hook" for finder in sys.meta_path))
"""
    assert installed(program, tmp_path) == "1\n"


@pytest.mark.parametrize("module", ["langgraph.absent", "langgraph.pregel._loop"])
def test_what_is_not_there_is_an_import_error(module: str, tmp_path: Path) -> None:
    """A module that graph_compat lacks, LangGraph's own included, isn't taken from LangGraph; the error says so."""
    program = f"""
try:
    import {module}
except ImportError as error:
    print(error)
"""
    told = installed(program, tmp_path)
    assert told.startswith(f"No module named '{module}': graph_compat answers for langgraph, and has no ")


def test_a_name_that_is_not_there_is_an_import_error(tmp_path: Path) -> None:
    """Programs that try an import and do without it can: what is left out on purpose is an ImportError too."""
    program = """
try:
    from langgraph.runtime import BaseUser
except ImportError as error:
    print(error)
try:
    from langgraph.graph import absent
except ImportError as error:
    print(error)
"""
    first, second = installed(program, tmp_path).splitlines()
    assert first.startswith("graph_compat.runtime.BaseUser is left out")
    assert second.startswith("cannot import name 'absent' from 'graph_compat.graph'")


OTHERS = """
from langgraph.checkpoint.base import BaseCheckpointSaver

from .rows import ROWS

class ElsewhereSaver(BaseCheckpointSaver[str]):
    rows = ROWS
"""


def test_what_others_put_below_langgraphs_name_is_theirs(tmp_path: Path) -> None:
    """A saver for another database has its own package there; what it imports of LangGraph is graph_compat's."""
    package = tmp_path / "langgraph/checkpoint/elsewhere"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(OTHERS)
    (package / "rows.py").write_text("ROWS = 3\n")
    program = """
from langgraph.checkpoint.elsewhere import ElsewhereSaver
import langgraph.checkpoint, langgraph.checkpoint.elsewhere.rows
assert langgraph.checkpoint.elsewhere.ElsewhereSaver is ElsewhereSaver
print(ElsewhereSaver.__module__, ElsewhereSaver.__base__.__module__, langgraph.checkpoint.elsewhere.rows.ROWS)
"""
    told = installed(program, tmp_path)
    assert told == "langgraph.checkpoint.elsewhere graph_compat.checkpoint.base.saver 3\n"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("langgraph.checkpoint.base", "RunnableConfig"),
        ("langgraph.checkpoint.base", "V"),
        ("langgraph.checkpoint.serde.types", "_DeltaSnapshot"),
        ("langgraph.graph.state", "StateNode"),
        ("langgraph.store.base", "_ensure_ttl"),
        ("langgraph.prebuilt._tool_call_stream", "ToolCallStream"),
        ("langgraph.store.base.embed", "get_text_at_path"),
        ("langgraph.stream._mux", "TransformerFactory"),
        ("langgraph.stream._types", "ProtocolEvent"),
        ("langgraph.stream.transformers", "_TasksLifecycleBase"),
    ],
)
def test_names_that_libraries_take_from_inside_are_there(module: str, name: str, tmp_path: Path) -> None:
    """Libraries import them, though LangGraph doesn't call them public."""
    assert installed(f"from {module} import {name}\nprint({name!r})", tmp_path) == f"{name}\n"


def test_types_of_savers_and_nodes_take_their_parameters(tmp_path: Path) -> None:
    """Annotations that libraries evaluate, of channels and of nodes, have as many as LangGraph's."""
    program = """
from langgraph.checkpoint.serde.types import ChannelProtocol
from langgraph.graph.state import StateNode
print(len(ChannelProtocol.__parameters__), len(StateNode.__parameters__))
"""
    assert installed(program, tmp_path) == "3 2\n"


def test_installing_late_is_refused(tmp_path: Path) -> None:
    """Where LangGraph has been imported there would be two of each class."""
    done = python("-c", "import langgraph.types, graph_compat; graph_compat.install()", cwd=tmp_path)
    assert done.returncode == 1
    assert "ImportError: graph_compat.install() comes too late: 'langgraph" in done.stderr
