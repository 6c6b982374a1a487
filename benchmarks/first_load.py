"""How many bytes a browser fetches for a page that it has never seen, compressed as they are sent.

Starts what `pages.py` does, 1,000 configs and 5,000 builds included, asks for every page as a
browser does, and adds up the document and all that it names: styles, scripts, modules that scripts
import, and the icon. Exit 1 when a page takes more than 150 KB. Nothing of it depends on the
machine's speed.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks import report  # noqa: E402  (found above)
from benchmarks.pages import filled_installation  # noqa: E402
from benchmarks.web_process import data_folder, servers, web  # noqa: E402

BARS = {"largest_first_load_bytes": report.at_most(150_000)}
_NAMED = re.compile(r"""<(?:script|link)\b[^>]*?\b(?:src|href)="([^"]+)\"""")
_IMPORTED = re.compile(r"""(?:\bfrom|\bimport)\s*\(?["']([^"']+\.js)["']""")
_ACCEPTED = {"Accept-Encoding": "gzip, deflate, br, zstd"}
"""As Chromium sends it."""


def main() -> int:
    """Return the exit status: 0 where every page meets its bar."""
    options = report.parser(__doc__, full="nothing more than the default").parse_args()
    figures = report.Report(as_json=options.json)
    with data_folder("first-load") as folder:
        pages = measure(folder)
    largest = max(pages.values(), key=lambda each: each["bytes"])
    return figures.end({"largest_first_load_bytes": largest["bytes"], "pages": pages}, BARS)


def measure(folder: Path) -> dict[str, dict[str, int]]:
    """Return bytes and requests of every page's first load."""
    with servers(folder, API_REQUESTS_PER_MINUTE="1000000"):
        paths, cookie, _ = filled_installation()
        with (
            web() as address,
            httpx.Client(base_url=address, cookies={"sessionid": cookie}, timeout=60) as client,
        ):
            sizes: dict[str, tuple[int, str]] = {}
            shown = {name: path for name, path in paths.items() if not path.startswith("/v1/")}
            return {name: first_load(client, path, sizes) for name, path in shown.items()}


def first_load(
    client: httpx.Client, path: str, sizes: dict[str, tuple[int, str]]
) -> dict[str, int]:
    """Return what one page takes; `sizes` keeps what several pages name."""
    document_bytes, html = _fetched(client, path)
    fetched: dict[str, int] = {path: document_bytes}
    waiting = [urljoin(path, name) for name in _NAMED.findall(html) if not name.startswith("data:")]
    while waiting:
        address = waiting.pop()
        if address in fetched:
            continue
        if address not in sizes:
            sizes[address] = _fetched(client, address)
        fetched[address], text = sizes[address]
        waiting += list(_imports(address, text))
    return {
        "bytes": sum(fetched.values()),
        "document_bytes": document_bytes,
        "requests": len(fetched),
    }


def _fetched(client: httpx.Client, path: str) -> tuple[int, str]:
    """Return the bytes of the body as they are sent, and what they say."""
    with client.stream("GET", path, headers=_ACCEPTED) as answer:
        answer.raise_for_status()
        body = b"".join(answer.iter_raw())
        text = httpx.Response(200, headers=answer.headers, content=body).text
    return len(body), text


def _imports(address: str, text: str) -> Iterator[str]:
    if address.endswith(".js"):
        yield from (urljoin(address, name) for name in _IMPORTED.findall(text))


if __name__ == "__main__":
    raise SystemExit(main())
