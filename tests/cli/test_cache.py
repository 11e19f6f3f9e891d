"""`flowfn cache`: results of a script, listed, counted, explained and forgotten."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Flowfn

SCRIPT = """
from flowfn import task

RATE = 2

@task(cache="kept")
def price(item: str, count: int = 1) -> int:
    return len(item) * count * RATE

@task(cache="kept")
def label(item: str) -> str:
    return item.title()

if __name__ == "__main__":
    price("ink"); price("pen", 3); label("ink")
"""


@pytest.fixture
def kept(tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, where a script has left the folder `kept`."""
    (tmp_path / "shop.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOWFN_CACHE", raising=False)
    subprocess.run([sys.executable, "shop.py"], env={"PYTHONPATH": str(installed)}, check=True)
    return tmp_path / "kept"


def test_ls(flowfn: Flowfn, kept: Path) -> None:
    """Each result has a line with its arguments; a name leaves the other tasks out."""
    ran = flowfn("cache", "ls", "--cache", kept)
    assert ran.code == 0
    assert sorted(line.split(maxsplit=4)[-1].strip() for line in ran.out.splitlines()[1:]) == [
        "item='ink'",
        "item='ink', count=1",
        "item='pen', count=3",
    ]
    found = json.loads(flowfn("cache", "ls", "shop.label", "--cache", "kept", "--json").out)
    assert [(each["task"], each["arguments"], each["problem"]) for each in found] == [
        ("shop.label", {"item": "'ink'"}, None)
    ]


def test_stats(flowfn: Flowfn, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results and bytes are counted by task; FLOWFN_CACHE names the cache too."""
    monkeypatch.setenv("FLOWFN_CACHE", "kept")
    found = json.loads(flowfn("cache", "stats", "--json").out)
    assert [(each["task"], each["results"], each["unreadable"]) for each in found] == [
        ("shop.label", 1, 0),
        ("shop.price", 2, 0),
    ]
    lines = flowfn("cache", "stats").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["TASK", "RESULTS"],
        ["shop.label", "1"],
        ["shop.price", "2"],
    ]


def test_an_unreadable_entry_is_shown(flowfn: Flowfn, kept: Path) -> None:
    """What flowfn did not write is listed with what is wrong with it."""
    from flowfn.caching import DiskCache

    cache = DiskCache(kept)
    cache.set("shop.label:0", b"\x1b[31mforeign")
    cache.close()
    ran = flowfn("cache", "ls", "shop.label:0", "--cache", kept)
    assert "it is no whole cache entry of flowfn's" in ran.out
    found = json.loads(flowfn("cache", "stats", "--cache", "kept", "--json").out)
    assert [each["unreadable"] for each in found] == [1, 0]


def test_explain(flowfn: Flowfn, kept: Path) -> None:
    """A call of the script's task, with arguments as JSON or text, by position or by name."""
    assert flowfn("cache", "explain", "shop.py:price", "ink").out.startswith("hit: shop.price:")
    assert flowfn("cache", "explain", "shop.py:price", "item=pen", "count=3").out.startswith("hit: ")
    assert flowfn("cache", "explain", "shop.py:price", "ink", "7").out.splitlines()[1:] == [
        "  argument 'count': 1 → 7"
    ]
    found = json.loads(flowfn("cache", "explain", "shop.py:label", "x", "--cache", "kept", "--json").out)
    assert (found["hit"], found["reasons"]) == (False, ["argument 'item': 'ink' → 'x'"])


def test_explain_reads_words_as_run_does(flowfn: Flowfn, kept: Path, installed: Path) -> None:
    """Digits are text where the task asks for text: else a call that is a hit would be told to be a miss."""
    Path("shop.py").write_text(SCRIPT.replace('label("ink")', 'label("7")'))
    subprocess.run([sys.executable, "shop.py"], env={"PYTHONPATH": str(installed)}, check=True)
    assert flowfn("cache", "explain", "shop.py:label", "7").out.startswith("hit: ")


def test_explain_an_edit(flowfn: Flowfn, kept: Path) -> None:
    """An edited script is compared with the code that made the kept result."""
    Path("shop.py").write_text(SCRIPT.replace("RATE = 2", "RATE = 5").replace("* count *", "* count // 2 *"))
    ran = flowfn("cache", "explain", "shop.py:price", "ink")
    assert "  constant 'RATE': 2 → 5" in ran.out
    assert "  the function was edited" in ran.out
    assert "+    return len(item) * count // 2 * RATE" in ran.out


def test_rm(flowfn: Flowfn, kept: Path) -> None:
    """A task's results are forgotten by its name, one result by its key, and everything by --all."""
    (key,) = (
        each["key"] for each in json.loads(flowfn("cache", "ls", "shop.label", "--cache", kept, "--json").out)
    )
    assert flowfn("cache", "rm", key, "--cache", kept).out == "1 forgotten\n"
    assert flowfn("cache", "rm", "shop.price", "--cache", kept).out == "2 forgotten\n"
    assert json.loads(flowfn("cache", "ls", "--cache", kept, "--json").out) == []
    assert flowfn("cache", "rm", "--all", "--cache", kept).out == "0 forgotten\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ls",), "pass --cache PATH or URL, or set FLOWFN_CACHE"),
        (("ls", "--cache", "nowhere"), "there is no cache in 'nowhere'"),
        (("rm", "--cache", "kept"), "or --all"),
        (("rm", "shop.nothing", "--cache", "kept"), "nothing is kept under 'shop.nothing:'"),
        (("explain", "shop.py", "x"), "names no task"),
        (("explain", "shop.py:SCRIPT"), "it has label, price"),
        (("explain", "shop.py:price", "a", "1", "2"), "can't be called with"),
    ],
)
def test_what_cannot_be_asked(flowfn: Flowfn, kept: Path, words: tuple[str, ...], message: str) -> None:
    """One line says what to write instead, and no folder is made."""
    ran = flowfn("cache", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not Path("nowhere").exists()
