"""Pages that are left open: what they cost, and that they are right when somebody looks again."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from apps.builds.models import Build
from apps.configs.models import Config
from apps.telemetry import log_stream
from apps.telemetry.logs import log_append
from controlplane import clock
from tests.browser.conftest import OpenPage
from tests.web_server import streaming_server

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = [
    pytest.mark.browser,
    # WhiteNoise's files, which Django gathers in memory under ASGI.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning"),
]
FAST = 3_000
MINUTE = 60_000
HOUR = 3600
COUNTING = """() => {
  window.asked = 0;
  htmx.trigger = () => { window.asked += 1; };
}"""
AWAY = """away => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => away });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that streams, as the web process does.

    Asked for before `visit`, it outlives the pages.
    """
    monkeypatch.setattr(log_stream, "LOOK_SECONDS", 0.1)
    with streaming_server() as url:
        yield url


def by_own_clock(page: Page) -> None:
    """Load the page anew by a clock of the test's."""
    page.clock.install()
    page.reload()
    page.wait_for_load_state("networkidle")


def leap(page: Page, length: str) -> None:
    """Let the page's clock leap, with nothing on its way that would run out of time."""
    expect(page.locator(".htmx-request")).to_have_count(0)
    page.clock.fast_forward(length)


def asked_within(page: Page, minutes: int) -> int:
    """Return how often the page asks while its clock runs so long; each part is a request."""
    page.evaluate(COUNTING)
    page.clock.run_for(minutes * MINUTE)
    return int(page.evaluate("window.asked"))


def test_an_idle_tab_asks_once_a_minute_and_a_hidden_one_never(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/nodes/")
    by_own_clock(page)
    # From here on nothing is sent: a request on its way would run out of time in the leap below.
    page.evaluate(COUNTING)
    expect(page.locator(".htmx-request")).to_have_count(0)
    # Else it would run on by itself while this machine is busy, and more would be counted.
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + HOUR)
    page.mouse.move(10, 10)
    page.clock.run_for(FAST)  # after the leap the first comes at once, not when its turn is
    assert 18 <= asked_within(page, 1) <= 20
    asked_within(page, 1)
    assert 9 <= asked_within(page, 10) <= 10
    page.evaluate(AWAY, True)
    leap(page, "08:00:00")
    assert asked_within(page, 10) == 0


def test_incidents_are_asked_for_all_the_time_also_where_nobody_looks(
    visit: OpenPage, stage: "Stage"
) -> None:
    Build.objects.update(state="succeeded", finished_at=clock.now())
    page = visit("/")
    by_own_clock(page)
    expect(page.locator("[data-moving]")).to_have_count(0)
    page.evaluate(COUNTING)
    expect(page.locator(".htmx-request")).to_have_count(0)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + HOUR)
    page.clock.run_for(FAST)
    assert 19 <= asked_within(page, 1) <= 22  # the rest of the page asks once, both parts
    page.evaluate(AWAY, True)
    assert 9 <= asked_within(page, 10) <= 10


def test_a_tab_left_overnight_is_right_when_it_is_looked_at(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/configs/")
    by_own_clock(page)
    page.evaluate(AWAY, True)
    leap(page, "10:00:00")
    Config.objects.filter(id=stage.small.id).update(name="renamed-at-night")
    page.evaluate(AWAY, False)
    expect(page.get_by_role("link", name="renamed-at-night")).to_be_visible()


def test_a_session_that_ended_overnight_is_begun_anew_over_the_page(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/configs/", allowed=("401",))
    page.evaluate(AWAY, True)
    page.context.clear_cookies()
    page.evaluate(AWAY, False)
    expect(page.get_by_role("dialog", name="Sign in to continue")).to_be_visible()
    expect(page.get_by_role("link", name="smollm2").first).to_be_visible()


def test_a_page_without_a_live_part_is_loaded_anew_once_it_is_old_unless_something_was_typed(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/calibration-sets/")
    by_own_clock(page)
    page.evaluate("document.body.dataset.first = ''")
    page.get_by_label("Name").fill("legal")
    leap(page, "02:00:00")
    page.clock.run_for(1000)
    expect(page.get_by_label("Name")).to_have_value("legal")
    by_own_clock(page)
    page.evaluate("document.body.dataset.first = ''")
    leap(page, "02:00:00")
    expect(page.locator("body:not([data-first])")).to_be_visible()


def test_a_log_is_streamed_and_goes_on_where_it_broke(
    streaming: str, visit: OpenPage, stage: "Stage"
) -> None:
    running = stage.running
    page = visit(f"/builds/{running.number}/", origin=streaming, allowed=("net::ERR", "htmx"))
    log = page.locator("#log")
    expect(log).to_contain_text("resolving")
    page.context.set_offline(True)
    page.evaluate(AWAY, True)
    log_append(owner=f"build:{running.id}:fetch", attempt=1, sequence=1, text="while away\n")
    page.context.set_offline(False)
    page.evaluate(AWAY, False)
    expect(log).to_contain_text("while away")
    assert str(log.inner_text()).count("resolving") == 1


def test_a_finished_log_is_asked_for_once(streaming: str, visit: OpenPage, stage: "Stage") -> None:
    page = visit("/", origin=streaming)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{streaming}/builds/{stage.built.number}/")
    expect(page.locator("#log[data-over]")).to_contain_text("SmolLM2")
    page.evaluate(AWAY, True)
    page.evaluate(AWAY, False)
    assert sum("/log/" in url for url in requests) == 1


def test_the_log_of_the_replicas_is_on_the_page_of_their_deployment(
    streaming: str, visit: OpenPage, stage: "Stage"
) -> None:
    deployment = stage.deployment
    replica = deployment.replicas.order_by("ordered_at")[0]
    log_append(owner=replica.log_owner, attempt=1, sequence=0, text="ERROR out of memory\n")
    page = visit(f"/models/{deployment.model_id}/{deployment.id}/", origin=streaming)
    expect(page.locator("#log mark")).to_have_text("ERROR out of memory\n")
    expect(page.locator("#log b")).to_have_text(f"— {replica.id}\n")
