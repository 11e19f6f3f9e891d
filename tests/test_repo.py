"""The repository keeps its word: what the documents and scripts say is run, and nothing private is committed.

A ```python block of a document is a whole program. One that can't run says why in its first line:
`# not run: REASON`. A cookbook script's docstring ends with an `Output:` section; `...` in it stands for
anything, and white space doesn't count.
"""

import ast
import doctest
import importlib
import importlib.metadata
import json
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.specifiers import SpecifierSet

import flowfn.errors

REPO = Path(__file__).resolve().parent.parent
PACKAGES = ("flowfn", "graph_compat", "checkpointers")

FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
OPT_OUT = re.compile(r"# not run: \S+")
NAMED = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_0-9]+[.]py)?)`")

# Written so that they don't match themselves.
REGISTRY = re.compile(
    r'index[-_]url|registry *= *"?https?:|"resolved": *"|pypi[.]org|pythonhosted[.]|npmjs[.]'
)
LOCK_FILES = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "package-lock.json"}


class Block(NamedTuple):
    """A fenced block of a document; `where` is file:line."""

    where: str
    language: str
    text: str


def files() -> Iterator[Path]:
    """Every file of the repository, without what tools leave behind in hidden directories."""
    for top in sorted(REPO.iterdir()):
        if top.is_file():
            yield top
        elif top.name == ".ci" or not top.name.startswith((".", "__")):
            yield from (path for path in sorted(top.rglob("*")) if path.is_file() and path.suffix != ".pyc")


def text_of(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


def blocks(text: str, name: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(f"{name}:{line}", match[2], textwrap.dedent(match[3])))
    return found


def documents() -> list[Block]:
    """Every fenced block of the README and of docs/."""
    paths = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]
    return [block for path in paths for block in blocks(text_of(path), str(path.relative_to(REPO)))]


def dead_links(text: str, folder: Path) -> list[str]:
    """The links of a document to files that don't exist."""
    return [link for link in LINK.findall(FENCE.sub("", text)) if not (folder / link).exists()]


def gone(text: str, folder: Path) -> list[str]:
    """The files and rooms that a text names, by their paths from here, the repository or `flowfn/`, and that aren't."""
    return [
        name
        for name in NAMED.findall(text)
        if not any((at / name).exists() for at in (folder, REPO, REPO / "flowfn"))
    ]


def programs() -> list[Block]:
    """The Python blocks that don't opt out."""
    return [block for block in documents() if block.language == "python" and not OPT_OUT.match(block.text)]


def promised(docstring: str) -> str | None:
    """What a cookbook script says that it prints; None if it doesn't say."""
    _, found, output = docstring.partition("\nOutput:\n")
    return textwrap.dedent(output).strip() if found else None


def prints(actual: str, promise: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(promise, actual, flags)


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, flowfn.FlowError)


def undocumented(source: str) -> list[str]:
    """The public classes and functions of a module that have no docstring; "module" for its own."""
    tree = ast.parse(source)
    found = [] if ast.get_docstring(tree) else ["module"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            stub = any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
            if not node.name.startswith("_") and not stub and not ast.get_docstring(node):
                found.append(node.name)
    return found


# -- what is committed ------------------------------------------------------------------------------------


def test_no_registry_address_is_committed() -> None:
    """Packages come from wherever the machine says: no file names a registry."""
    assert [str(path) for path in files() if REGISTRY.search(text_of(path))] == []


def test_no_lock_file_is_committed() -> None:
    """Pins are in constraints.txt, by name and version only."""
    assert [str(path) for path in files() if path.name in LOCK_FILES] == []
    lines = (REPO / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"# .*|[\w.-]+==[\w.]+", line)] == []


def test_what_is_pinned_installs_on_the_oldest_python() -> None:
    """A pin that asks for a later patch of a Python than the one that is promised stops its installation there."""
    pinned = {line.split("==")[0].lower() for line in (REPO / "constraints.txt").read_text().splitlines()}
    needs = {
        each.name: SpecifierSet(each.metadata.get("Requires-Python") or "")
        for each in importlib.metadata.distributions()
        if each.name.lower() in pinned
    }
    oldest = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["requires-python"].strip(">=")
    assert len(needs) > 20
    assert {name: str(need) for name, need in needs.items() if f"{oldest}.0" not in need} == {}


def test_the_readme_starts_with_two_commands() -> None:
    """The first sh block of the README has exactly two lines, one command each."""
    first = next(block for block in documents() if block.language == "sh")
    assert first.text.splitlines() == ["python3 dev.py demo", "python3 dev.py test"]


def test_public_names_are_documented() -> None:
    """Every module, and every public class and function in it, opens with a docstring."""
    paths = [path for package in PACKAGES for path in sorted((REPO / package).rglob("*.py"))]
    found = {str(path.relative_to(REPO)): undocumented(text_of(path)) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_lists_exists(package: str) -> None:
    """`__all__` names what is there, each name once."""
    module = importlib.import_module(package)
    listed = list(getattr(module, "__all__", []))
    assert [name for name in listed if not hasattr(module, name)] == []
    assert len(listed) == len(set(listed))


def test_the_suite_sees_what_is_installed(installed: Path) -> None:
    """From a wheel, the tests import the wheel; from an editable install, the checkout."""
    try:
        distribution = importlib.metadata.distribution("flowfn-durable")
    except importlib.metadata.PackageNotFoundError:
        assert installed == REPO
        return
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    assert installed == (REPO if editable else Path(str(distribution.locate_file(""))).resolve())


# -- what is said is so -----------------------------------------------------------------------------------


def test_examples_of_the_documents_are_python() -> None:
    """Also a block that isn't run compiles."""
    for block in documents():
        if block.language == "python":
            compile(block.text, block.where, "exec")


@pytest.mark.parametrize("block", programs(), ids=lambda block: block.where)
def test_examples_of_the_documents_run(
    block: Block, run_python: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each Python block of the README and docs/ is a whole program that ends well; it may ask for a `DATABASE_URL`."""
    program = tmp_path / "example.py"
    program.write_text(block.text)
    asks = "DATABASE_URL" in block.text
    environment = {"DATABASE_URL": request.getfixturevalue("postgres_url")} if asks else {}
    done = run_python(program, **environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", sorted((REPO / "cookbook").glob("*.py")), ids=lambda path: path.name)
def test_cookbook_scripts_print_what_they_say(script: Path, run_python: Any) -> None:
    """Each cookbook script ends well and prints the `Output:` section of its docstring."""
    promise = promised(ast.get_docstring(ast.parse(text_of(script))) or "")
    assert promise is not None, f"end the docstring of {script.name} with an `Output:` section"
    done = run_python(script)
    assert done.returncode == 0, done.stderr
    assert prints(done.stdout, promise), f"it printed\n{done.stdout}\nand its docstring says\n{promise}"


def test_cookbook_scripts_can_be_read_at_once() -> None:
    """Each has 30 to 80 lines: what takes more shows two things, and is two scripts."""
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in REPO.glob("cookbook/*.py")}
    assert {name: length for name, length in lengths.items() if not 30 <= length <= 80} == {}


def test_links_lead_somewhere() -> None:
    """What a Markdown file links to in the repository is there."""
    pages = [path for path in files() if path.suffix == ".md"]
    found = {str(path.relative_to(REPO)): dead_links(text_of(path), path.parent) for path in pages}
    assert {path: links for path, links in found.items() if links} == {}


def test_files_that_are_named_exist() -> None:
    """A file or room that a document or a comment names is there: whoever moves it says so everywhere."""
    named = [path for path in files() if path.suffix in (".md", ".py", ".sql")]
    assert [(str(path), lost) for path in named if (lost := gone(text_of(path), path.parent))] == []


def test_the_readme_lists_the_cookbook() -> None:
    """Each script is in the README, so that somebody finds it."""
    readme = text_of(REPO / "README.md")
    assert [
        path.name for path in (REPO / "cookbook").glob("*.py") if f"(cookbook/{path.name})" not in readme
    ] == []


def test_each_error_has_a_page() -> None:
    """docs/errors/ says of each error what raises it and what to do, and of nothing else."""
    errors = {name for name, value in vars(flowfn.errors).items() if is_error(value)}
    pages = {page.stem: text_of(page) for page in (REPO / "docs" / "errors").glob("[A-Z]*.md")}
    assert sorted(pages) == sorted(errors), "write docs/errors/NAME.md, as its neighbours are"
    for name, page in pages.items():
        headings = re.findall("^#+ .*$", page, re.MULTILINE)
        assert headings == [f"# {name}", "## What raises it", "## What to do"]


# -- the checks can fail ----------------------------------------------------------------------------------


def test_a_registry_address_is_found() -> None:
    """Hosts, options and lock entries all count."""
    for part in ("--index" + "-url x", "https://pypi" + ".org/simple", 'registry = "' + 'https://x"'):
        assert REGISTRY.search(part)


def test_blocks_are_found_with_their_lines() -> None:
    """A block may be indented, in a list say; its own indentation is kept."""
    text = "a\n```sh\nls\n```\n- b\n  ```python\n  if 1:\n      x\n  ```\n"
    assert blocks(text, "a.md") == [
        Block("a.md:2", "sh", "ls\n"),
        Block("a.md:6", "python", "if 1:\n    x\n"),
    ]


def test_an_opt_out_needs_a_reason() -> None:
    """`# not run:` alone is no reason."""
    assert OPT_OUT.match("# not run: needs a server\n")
    assert not OPT_OUT.match("# not run:\nimport x\n")


def test_a_promise_is_compared_without_white_space_and_with_gaps() -> None:
    """`...` stands for anything; other words have to be right."""
    promise = promised("Says hello.\n\nOutput:\n    hello,\n    Ada ... seconds\n")
    assert promise == "hello,\nAda ... seconds"
    assert prints("hello, Ada\n0.2 seconds\n", promise)
    assert not prints("hello, Bob\n0.2 seconds\n", promise)
    assert promised("Says hello.") is None


def test_a_dead_link_is_found() -> None:
    """Other sites, anchors and code don't count."""
    text = "[a](README.md#top) [b](gone.md) [c](https://x.example) [d](#top)\n```python\nx[0](y)\n```\n"
    assert dead_links(text, REPO) == ["gone.md"]


def test_a_file_that_is_gone_is_found() -> None:
    """What was moved is found, what isn't a path is passed over."""
    text = "`engine/drive.py`, `engine/` and `app.py`; `engine/" + "nowhere.py`, " + "`no" + "where/`"
    assert gone(text, REPO) == ["engine/" + "nowhere.py", "nowhere/"]


def test_a_missing_docstring_is_found() -> None:
    """Public classes and functions count, private ones and overload stubs don't."""
    source = "class A: pass\ndef _b(): pass\n@overload\ndef c(): ...\ndef c():\n    'Does c.'\n"
    assert undocumented(source) == ["module", "A"]
