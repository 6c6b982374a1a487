"""What answers and is not Enginehouse comes into no page: a proxy, a notice, a fault."""

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.nothing_typed_is_lost.losses import STRANGER
from tests.browser.screenshots import pages_of, pages_of_admins

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
ANSWERS: dict[str, dict[str, Any]] = {
    "a proxy's sign-in": {"status": 200},
    "a notice": {"status": 403},
    "a page that is gone": {"status": 404},
    "a fault": {"status": 502},
    "a part for elsewhere": {"status": 200, "headers": {"HX-Retarget": "body"}},
    "another page": {"status": 200, "headers": {"HX-Redirect": "/elsewhere/"}},
}
TRIGGER_ALL = """() => {
  for (const each of document.querySelectorAll("[hx-get], [hx-post]")) {
    const name = (each.getAttribute("hx-trigger") ?? "click").split(/[ ,]/)[0];
    const [method, path] = each.hasAttribute("hx-get") ? ["GET", "hx-get"] : ["POST", "hx-post"];
    if (name === "input") {
      const typed = new Event("input", { bubbles: true });
      const from = each.getAttribute("hx-trigger").match(/from:(\\S+)/);
      const form = from ? document.querySelector(from[1]) : each;
      (document.getElementById("text") ?? form).dispatchEvent(typed);
    } else if (name === "load") {
      htmx.ajax(method, each.getAttribute(path), { source: each, target: each, swap: "innerHTML" });
    } else htmx.trigger(each, name);
  }
}"""


def test_no_answer_that_is_no_part_of_ours_comes_into_any_page(
    visit: OpenPage, stage: "Stage"
) -> None:
    asking = 0
    for user, paths in ((stage.owner, pages_of(stage)), (stage.admin, pages_of_admins())):
        page = visit("/", user=user, allowed=("status of",))
        origin = page.url.rstrip("/")
        for path in paths.values():
            page.unroute_all()
            page.goto(origin + path, wait_until="domcontentloaded")
            if page.locator("main [hx-get], main [hx-post]").count():
                asking += 1
                takes_nothing_strange(page)
    assert asking >= 12


def takes_nothing_strange(page: Page) -> None:
    """Answer all that the page puts into itself by something else; it stays as it is."""
    for answer in ANSWERS.values():
        page.route("**/*", partial(strange, answer))
        with page.expect_response(lambda told: "hx-request" in told.request.headers):
            page.evaluate(TRIGGER_ALL)
        expect(page.locator(".htmx-request")).to_have_count(0)
        expect(page.locator("h1")).not_to_have_text(STRANGER)
        assert STRANGER not in page.content()


def strange(answer: dict[str, Any], route: Route) -> None:
    if "hx-request" not in route.request.headers:
        return route.fallback()
    body = f"<html><body><main><h1>{STRANGER}</h1></main></body></html>"
    return route.fulfill(content_type="text/html", body=body, **answer)
