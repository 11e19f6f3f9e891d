"""`python -m graph_compat app.py [args]`: an unmodified LangGraph program, on flowfn's engine.

Rule: the program sees what it would see under `python app.py [args]`, or under `python -m module [args]` for
`python -m graph_compat -m module [args]`: its own `sys.argv` and `sys.path`, and itself as `__main__`.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from types import CodeType, ModuleType

from graph_compat.import_hook import install

_USAGE = "usage: python -m graph_compat app.py [args]\n       python -m graph_compat -m module [args]"


def main() -> None:
    """Run what the command line names; exits with status 2 where it names nothing that can be run."""
    match sys.argv[1:]:
        case [] | ["-m"]:
            _refuse(_USAGE)
        case ["-h" | "--help", *_]:
            print(_USAGE)
        case ["-m", module, *arguments]:
            install()
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [path, *arguments]:
            if not os.path.exists(path):
                _refuse(f"python -m graph_compat: there is no file {path!r}")
            install()
            sys.argv = [path, *arguments]
            _run(path)


def _refuse(reason: str) -> None:
    print(reason, file=sys.stderr)
    sys.exit(2)


def _run(path: str) -> None:
    if os.path.isdir(path):  # with a `__main__.py` in it; run_path puts the directory first
        if not sys.flags.safe_path:
            del sys.path[0]
        runpy.run_path(os.path.abspath(path), run_name="__main__")
        return
    file = os.path.abspath(path)
    with io.open_code(file) as source:
        code = compile(source.read(), file, "exec", dont_inherit=True)
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    _execute(code, file)


def _execute(code: CodeType, file: str) -> None:
    """Execute a script as `__main__`, which it stays: threads and exit handlers outlive its last line."""
    program = ModuleType("__main__")
    program.__dict__.update(__file__=file, __builtins__=__builtins__)
    if sys.version_info < (3, 14):  # which makes them when somebody asks
        program.__dict__.update(__annotations__={})
    sys.modules["__main__"] = program
    exec(code, program.__dict__)


if __name__ == "__main__":
    main()
