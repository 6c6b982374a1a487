"""How long from a key press to the paint of what it did, on pages of many kinds, in Chromium.

Starts what `pages.py` does and opens each page beside a bare page of as many bytes: the same
session, a form, no style and no script. Letters go into the first field of both in turns; then a
key opens the search over ours, and Enter on a button a dialog: the page's first one that asks
something, or else the sign-in that comes over any page. Over the bare page all of these open a
modal dialog with one field and nothing else. The bar is the slowest page's median against the bare
page's median in the same turns. Exit 1 when it is missed. On a page whose answers come back while
one types, they come back here as well. What the page's thread computed for it is told beside, which
tells a slow page from a busy machine.
"""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks import report  # noqa: E402  (found above)
from benchmarks.pages import filled_installation  # noqa: E402
from benchmarks.web_process import bare_web, data_folder, servers, web  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, CDPSession, Page

BARS = {"slowest_page_p50_ratio_to_bare_page": report.at_most(1.5)}
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_FEW = {"configs": 100, "builds": 500, "deployments": 20}
"""A list shows 50 of them either way."""
_PRESSES, _PRESSES_IN_FULL = 7, 60
_FIELD = "main :is(input[type=search], input[type=text], input:not([type]), textarea):visible"
_BARE_FIELD = "input"
_OPENER = "[data-opens]:enabled:visible"
_SIGN_IN_OPENER = "#opens-sign-in"
_BARE_OPENER = "#opens"
_LISTENING = """() => {
  window.listen = () => { window.painted = new Promise((resolve) => { window.tell = resolve; }); };
  addEventListener("keydown", ({ key, timeStamp }) => {
    if (key === "Control") return;
    requestAnimationFrame(() => {
      // A task behind the frame: what was done is painted.
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.tell(performance.now() - timeStamp);
      port2.postMessage(null);
    });
  }, true);
}"""
# Behind a frame that had nothing to do, so that each press waits as long for the next one.
_SETTLED = """() => new Promise((resolve) => {
  requestAnimationFrame(() => requestIdleCallback(resolve));
})"""
_BARE_DIALOG = """() => {
  const dialog = document.body.appendChild(document.createElement("dialog"));
  dialog.append(document.createElement("input"));
  const opener = document.body.appendChild(document.createElement("button"));
  opener.id = "opens";
  opener.addEventListener("click", () => dialog.showModal());
  addEventListener("keydown", (event) => {
    if (!event.ctrlKey || event.key !== "k") return;
    event.preventDefault();
    dialog.showModal();
  });
}"""

# Without the question that comes before it: the network is none of the page's.
_SIGN_IN_BUTTON = """() => {
  const opener = document.querySelector("main").appendChild(document.createElement("button"));
  opener.id = "opens-sign-in";
  opener.dataset.opens = "sign-in";
}"""


class Press(NamedTuple):
    """What one took, until its frame is painted, in milliseconds."""

    spent: float
    cpu: float


@dataclass
class Pressed:
    """What key presses took."""

    ours: list[Press] = field(default_factory=list)
    bare: list[Press] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        ours, bare = (median(each.spent for each in of) for of in (self.ours, self.bare))
        cpu, bare_cpu = (median(each.cpu for each in of) for of in (self.ours, self.bare))
        return {
            "p50_milliseconds": round(ours, 2),
            "bare_page_p50_milliseconds": round(bare, 2),
            "p50_ratio_to_bare_page": round(ours / bare, 2),
            "p50_cpu_milliseconds": round(cpu, 2),
            "p50_cpu_ratio_to_bare_page": round(cpu / bare_cpu, 2),
        }


def main() -> int:
    """Return the exit status: 0 where every page meets its bar."""
    parser = report.parser(__doc__, full="1,000 configs and 5,000 builds, 60 presses")
    parser.add_argument("--only", default="", help="names of pages, separated by commas")
    options = parser.parse_args()
    told = report.Report(as_json=options.json)
    only = [name for name in options.only.split(",") if name]
    with data_folder("interaction") as folder:
        pages = measure(folder, only=only, is_full=options.full)
    ratios = {name: each["p50_ratio_to_bare_page"] for name, each in pages.items()}
    slowest = max(ratios, key=lambda name: ratios[name])
    cpu_ratios = [each["p50_cpu_ratio_to_bare_page"] for each in pages.values()]
    figures = {
        "slowest_page": slowest,
        "slowest_page_p50_ratio_to_bare_page": ratios[slowest],
        "pages_p50_ratio_to_bare_page": median(ratios.values()),
        "largest_p50_cpu_ratio_to_bare_page": max(cpu_ratios),
        "pages_p50_cpu_ratio_to_bare_page": median(cpu_ratios),
        "pages": pages,
    }
    return told.end(figures, BARS)


def measure(folder: Path, *, only: Sequence[str], is_full: bool) -> dict[str, dict[str, float]]:
    """Return by page what a letter takes there, the key of the search, and its dialogs."""
    with servers(folder, API_REQUESTS_PER_MINUTE="1000000"):
        paths, cookie = _installation(only, {} if is_full else _FEW)
        with web() as ours, bare_web() as bare, browsing(cookie, ours, bare) as context:
            pair = context.new_page(), context.new_page()
            return {
                name: each.figures()
                for page_name, path in paths.items()
                for name, each in _measured(
                    pair,
                    page_name,
                    ours + path,
                    bare,
                    presses=_PRESSES_IN_FULL if is_full else _PRESSES,
                )
            }


def _installation(only: Sequence[str], amounts: Mapping[str, int]) -> tuple[dict[str, str], str]:
    """Return the addresses of these pages, of all where none is named, and a session's cookie."""
    lists = [name for name in only if name != "editor"]
    paths, cookie, _ = filled_installation(lists and [*lists, "revisions"], **amounts)
    paths["editor"] = paths["revisions"].removesuffix("revisions/")
    paths.pop("build_log", None)  # a stream for the page of its build, no page
    return {
        name: path
        for name, path in paths.items()
        if not path.startswith("/v1/") and (name in only or not (only or "_page_" in name))
    }, cookie


@contextmanager
def browsing(cookie: str, *origins: str) -> Iterator["BrowserContext"]:
    """A window of the browser that Debian packages, signed in at these addresses."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        raise SystemExit(f"None of {', '.join(_PROGRAMS)} is installed: `make chromium` does.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(_ARGUMENTS))
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": url} for url in origins])
        context.set_default_timeout(300_000)
        yield context
        browser.close()


def _measured(
    pair: tuple["Page", "Page"], name: str, address: str, bare: str, *, presses: int
) -> Iterator[tuple[str, Pressed]]:
    """Yield what letters take in the page's first field, and to open what comes over it."""
    ours, beside = pair
    _open(ours, address)
    _open(beside, f"{bare}/page?bytes={len(ours.content().encode())}")
    beside.evaluate(_BARE_DIALOG)
    if ours.locator(_FIELD).count():
        yield f"{name}: a letter", _in_turns(pair, _press_letter, presses)
    yield f"{name}: search opens", _in_turns(pair, _open_search, presses)
    if ours.locator(_OPENER).count():
        pressed = _in_turns(pair, _press_opener, presses, (_OPENER, _BARE_OPENER))
        yield f"{name}: dialog opens", pressed
    else:
        ours.evaluate(_SIGN_IN_BUTTON)
        pressed = _in_turns(pair, _press_opener, presses, (_SIGN_IN_OPENER, _BARE_OPENER))
        yield f"{name}: sign-in opens", pressed


def _open(page: "Page", address: str) -> None:
    answer = page.goto(address, wait_until="networkidle")
    if answer is None or not answer.ok:
        raise SystemExit(f"{address} answered {answer and answer.status}: {page.content()[:300]}")
    page.evaluate(_LISTENING)


def _in_turns(
    pair: tuple["Page", "Page"],
    press: Callable[["Page", str], Press],
    presses: int,
    places: tuple[str, str] = (_FIELD, _BARE_FIELD),
) -> Pressed:
    pressed, (ours, bare) = Pressed(), pair
    for turn in range(presses + 2):
        spent = press(ours, places[0]), press(bare, places[1])
        if turn >= 2:  # the first ones warm up
            pressed.ours.append(spent[0])
            pressed.bare.append(spent[1])
    return pressed


def _press_letter(page: "Page", where: str) -> Press:
    page.locator(where).first.focus()
    return _pressed(page, "x")


def _press_opener(page: "Page", where: str) -> Press:
    page.locator(where).first.focus()
    spent = _pressed(page, "Enter")
    if not page.evaluate("document.querySelector('dialog:is([open], :popover-open)') !== null"):
        raise SystemExit(f"{page.url}: {where} opened nothing.")
    page.keyboard.press("Escape")
    return spent


def _open_search(page: "Page", _where: str) -> Press:
    spent = _pressed(page, "Control+k")
    page.keyboard.press("Escape")
    return spent


def _pressed(page: "Page", key: str) -> Press:
    """Return what passes from the press to behind the frame that shows it."""
    page.evaluate(_SETTLED)
    page.evaluate("window.listen()")
    thread = _thread_of(page)
    before = _cpu_milliseconds(thread)
    page.keyboard.press(key)
    spent = float(page.evaluate("window.painted"))
    return Press(spent, _cpu_milliseconds(thread) - before)


@cache
def _thread_of(page: "Page") -> "CDPSession":
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _cpu_milliseconds(thread: "CDPSession") -> float:
    metrics = thread.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


if __name__ == "__main__":
    raise SystemExit(main())
