"""A real Chromium before the real pages; whatever it complains of fails the test.

Imports of the product wait for Django's set-up.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Route,
    expect,
    sync_playwright,
)

from tests.debian_parts import program
from tests.time_budget import of_folder
from tests.waiting import DEADLINE_SECONDS, wait_for

if TYPE_CHECKING:
    from apps.accounts.models import User
    from tests.browser.stage import Stage

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = DEADLINE_SECONDS * 1000
"""Of every waiting of Playwright's; it bounds nothing of the product."""
OpenPage = Callable[..., Page]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def started_browser() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """The browser that Debian packages, and the loop that Playwright runs in this thread.

    Without windows of its own where there is such a one: those take two thirds of its CPU.
    """
    path = program("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    playwright = sync_playwright().start()
    loop = asyncio.get_running_loop()
    browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
    asyncio._set_running_loop(None)
    yield browser, loop
    asyncio._set_running_loop(loop)
    with of_folder("tests/browser/"):
        browser.close()
        playwright.stop()


@pytest.fixture(scope="module")
def chromium(started_browser: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """That browser, with Playwright's loop as the running one.

    Between modules none is said to run: no other test of this process could call `asyncio.run`.
    """
    browser, loop = started_browser
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@pytest.fixture
def stage(transactional_db: None, broker: str) -> "Stage":
    """A team that has been at work for a while."""
    from apps.accounts.models import RoutesVersion
    from tests.browser.stage import make_stage

    RoutesVersion.objects.get_or_create(id=1)
    return make_stage()


@pytest.fixture
def measured(stage: "Stage") -> None:
    """Series for the stage's charts, and use: half a CPU second, for tests that look at them."""
    from tests.browser.staged_measures import use_of
    from tests.browser.staged_series import series_of

    series_of(stage.deployment.replicas.get(state="ready"))
    use_of(stage.deployment)


@pytest.fixture
def visit(chromium: Browser, live_server: Any, stage: "Stage") -> Iterator[OpenPage]:
    """Opens a page as the stage's owner; console errors and CSP violations fail the test."""
    complaints: list[str] = []
    contexts = []

    def open_page(
        path: str,
        *,
        allowed: tuple[str, ...] = (),
        user: "User | None" = None,
        origin: str = live_server.url,
        **options: Any,
    ) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        context.add_cookies([session_cookie(user or stage.owner, origin)])
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not any(
                words in message.text for words in allowed
            ):
                complaints.append(f"{page.url}: {message.text}")

        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        page.goto(origin + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@contextmanager
def held_back(page: Page, address: str) -> Iterator[None]:
    """Keep back the answer to what is asked of an address until the end of the block."""
    requests: list[Route] = []
    page.route(address, lambda route: requests.append(route))
    yield
    # Routes are called while Playwright is waited for, and only then.
    wait_for(lambda: requests, what=address, meanwhile=lambda: page.wait_for_timeout(1))
    requests[0].continue_()


def session_cookie(user: "User", url: str) -> Any:
    """Return the cookie of a new session of that person."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    return {"name": settings.SESSION_COOKIE_NAME, "value": value, "url": url}
