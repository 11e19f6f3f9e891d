"""The pictures of the documents are what the commands print (issue 9)."""

import html
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

IMAGES = Path(__file__).parents[2] / "docs" / "images"

_VARYING = re.compile(r"<1ms|\b[\d.]+m?s\b|\b[0-9a-f]{16,32}\b")
"""Times, ids and fingerprints: another run's are others."""

_TEXT = re.compile(r'<text class="[\w-]+-r\d+"[^>]*>([^<]*)</text>')


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    sys.path.insert(0, str(IMAGES))
    try:
        import record  # type: ignore[import-not-found,unused-ignore]
    finally:
        sys.path.remove(str(IMAGES))
    return record


def words(svg: str) -> str:
    """What stands in a picture, without its spaces and without what another run has others of."""
    found = html.unescape("".join(_TEXT.findall(svg)))
    return "".join(_VARYING.sub("_", found.replace("\xa0", " ")).split())


def test_pictures_show_what_is_printed(recorder: ModuleType) -> None:
    """Recorded anew they have the same words: `python docs/images/record.py` makes them after a change."""
    again = {name: words(recorder.to_svg(name, text)) for name, text in recorder.record().items()}
    assert "basket(items=['ink','paper'])done_" in again["show"]
    assert again == {name: words((IMAGES / f"{name}.svg").read_text("utf-8")) for name in again}


def test_a_stale_picture_is_found(recorder: ModuleType) -> None:
    """Another word is a difference, another time is none."""
    picture = words(recorder.to_svg("show", "price(item='ink')  \x1b[32mdone\x1b[0m  150ms"))
    assert picture == "price(item='ink')done_"
    assert words(recorder.to_svg("show", "price(item='ink')  \x1b[32mdone\x1b[0m  2.1s")) == picture
    assert words(recorder.to_svg("show", "price(item='pen')  \x1b[32mdone\x1b[0m  150ms")) != picture


def test_pictures_need_nothing_from_the_network() -> None:
    """A page of the documents can be read where there is none."""
    pictures = {path.name: path.read_text("utf-8") for path in IMAGES.glob("*.svg")}
    assert [name for name, text in pictures.items() if "url(" in text.replace("url(#", "")] == []
