"""A crawler of a web site, here of a server in this process: pages side by side, each fetched once.

The frontier grows as pages come in: `as_completed` gives them in the order in which they finish, and a
resumed run sees the recorded order again. A page that fails is tried three times, then ends the run. Started
again, the crawler asks the server for that page alone, and for those that it leads to.

Output:
    the server was asked for / /a /b /c /c /c
    stopped: HTTP Error 503: Service Unavailable
    the server was asked for /c /d
    5 pages: / /a /b /c /d
"""

import re
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.error import HTTPError
from urllib.request import urlopen

from flowfn import RetryPolicy, as_completed, entrypoint, task

folder = TemporaryDirectory()
SITE = {"/": "/a /b", "/a": "/b /c", "/b": "/", "/c": "/d", "/d": "/"}
asked: Counter[str] = Counter()
down = {"/c"}


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked[self.path] += 1
        self.send_response(503 if self.path in down else 200)
        self.end_headers()
        self.wfile.write(re.sub(r"(\S+)", r'<a href="\1">', SITE[self.path]).encode())

    def log_message(self, *_: object) -> None:
        pass


@task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.01, retry_on=HTTPError))
def links(root: str, path: str) -> list[str]:
    with urlopen(root + path) as page:
        return re.findall(r'href="([^"]+)"', page.read().decode())


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def crawl(root: str) -> list[str]:
    seen, frontier = {"/"}, ["/"]
    while frontier:
        pages = as_completed([links(root, path) for path in frontier])
        frontier = sorted({link for page in pages for link in page.result()} - seen)
        seen |= set(frontier)
    return sorted(seen)


def report() -> None:
    print("the server was asked for", *sorted(asked.elements()))
    asked.clear()


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        try:
            crawl(root)
        except HTTPError as error:
            report()
            print("stopped:", error)

        down.clear()
        pages = crawl(root)
        report()
        print(len(pages), "pages:", *pages)
        server.shutdown()
