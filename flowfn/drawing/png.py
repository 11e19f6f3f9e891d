"""A PNG image of a graph, made on this machine by whatever can; by mermaid.ink only where that is asked for."""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from flowfn.drawing.mermaid import MermaidDrawMethod
from flowfn.errors import RendererMissing

__all__ = ["Rendering", "draw"]

_PATIENCE = 60.0
"""Seconds for one attempt of a renderer or of mermaid.ink."""


class Rendering(NamedTuple):
    """What an image looks like, and how mermaid.ink is reached. `padding` in pixels, `retry_delay` in seconds."""

    background: str
    padding: int
    max_retries: int
    retry_delay: float
    base_url: str | None
    proxies: dict[str, str] | None


def draw(mermaid: str, svg: Callable[..., str], method: MermaidDrawMethod, how: Rendering) -> bytes:
    """The image of a Mermaid text, or of an SVG image of the same graph.

    Raises:
        RendererMissing: nothing is installed that could draw it.
        ValueError: mermaid.ink refused it, or couldn't be reached.
    """
    if method.value == MermaidDrawMethod.API.value:
        return _from_service(mermaid, how)
    if shutil.which("mmdc"):
        return _by_mmdc(mermaid, how)
    if method.value == MermaidDrawMethod.PYPPETEER.value:
        raise RendererMissing(
            "a local browser draws Mermaid through `mmdc`: npm install -g @mermaid-js/mermaid-cli"
        )
    image = svg(background_color=how.background)
    for render in (_by_cairosvg, *(_by_command(*command) for command in _COMMANDS)):
        png = render(image)
        if png is not None:
            return png
    raise RendererMissing(
        "no renderer for PNG images is installed: `pip install cairosvg`, or install mmdc (mermaid-cli), rsvg-convert, "
        "resvg, inkscape or ImageMagick. draw_svg() needs nothing, and "
        "draw_method=MermaidDrawMethod.API sends the picture to mermaid.ink"
    )


# -- on this machine ------------------------------------------------------------------------------

_COMMANDS = (
    ("rsvg-convert", "-f", "png"),
    ("resvg", "-", "-c"),
    ("inkscape", "--pipe", "--export-type=png", "--export-filename=-"),
    ("magick", "svg:-", "png:-"),
)
"""What reads an SVG image and writes a PNG image."""


def _by_command(*command: str) -> Callable[[str], bytes | None]:
    def render(svg: str) -> bytes | None:
        if shutil.which(command[0]) is None:
            return None
        done = subprocess.run(
            command, input=svg.encode(), capture_output=True, timeout=_PATIENCE, check=False
        )
        if done.returncode or not done.stdout:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    return render


def _by_cairosvg(svg: str) -> bytes | None:
    try:
        import cairosvg
    except (ImportError, OSError):  # OSError: the package is there, its library isn't
        return None
    png: bytes = cairosvg.svg2png(bytestring=svg.encode())
    return png


def _by_mmdc(mermaid: str, how: Rendering) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "graph.mmd"), Path(folder, "graph.png")
        source.write_text(mermaid, "utf-8")
        command = ["mmdc", "-i", str(source), "-o", str(target), "-b", how.background]
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
        if done.returncode or not target.exists():
            raise RuntimeError(f"mmdc failed: {done.stderr.decode(errors='replace').strip()}")
        return target.read_bytes()


# -- elsewhere ------------------------------------------------------------------------------------


def _from_service(mermaid: str, how: Rendering) -> bytes:
    import urllib.error
    import urllib.parse
    import urllib.request

    text = base64.b64encode(mermaid.encode()).decode("ascii")
    colour = how.background if how.background.startswith(("#", "!")) else f"!{how.background}"
    query = urllib.parse.urlencode({"type": "png", "bgColor": colour.removeprefix("#")})
    url = f"{(how.base_url or 'https://mermaid.ink').rstrip('/')}/img/{text}?{query}"
    handlers = [] if how.proxies is None else [urllib.request.ProxyHandler(how.proxies)]
    opener = urllib.request.build_opener(*handlers)
    for attempt in range(how.max_retries + 1):
        try:
            with opener.open(url, timeout=_PATIENCE) as answer:
                image: bytes = answer.read()
                return image
        except (urllib.error.URLError, TimeoutError) as error:
            refused = False
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # it is the service's answer as well
                refused = error.code < 500
            if refused or attempt == how.max_retries:
                raise ValueError(
                    f"{how.base_url or 'mermaid.ink'} drew nothing ({error}): draw it on this machine, by leaving "
                    "draw_method= out"
                ) from error
            time.sleep(how.retry_delay * 2**attempt)
    raise ValueError(f"max_retries={how.max_retries}: pass 0 or more")
