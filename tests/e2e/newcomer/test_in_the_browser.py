"""The whole path in a real Chromium: from a model's id to a chat with it, and past a failure."""

import os
import re
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS
from tests.debian_parts import program
from tests.e2e.newcomer.conftest import BRANCH, MODEL, MOVING, Stack
from tests.waiting import DEADLINE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
_RETRYING = "curl -s --fail --retry 20 --retry-all-errors "


@pytest.fixture(scope="module")
def page(chromium: Browser, stack: Stack) -> Iterator[Page]:
    """A page of somebody who came by the one-time link."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, color_scheme="dark")
    context.set_default_timeout(PATIENCE_MS)
    opened = context.new_page()
    opened.goto(stack.here.sign_in_link)
    opened.get_by_role("button", name="Sign in").click()
    expect(opened.get_by_role("heading", level=1)).to_have_text("Overview")
    yield opened
    context.close()


def test_from_a_model_id_over_a_blocking_finding_to_a_chat(page: Page, stack: Stack) -> None:
    _read(page, stack, MODEL)
    page.get_by_label("Sequence length").fill("4096")
    start = page.get_by_role("button", name="Start build")
    expect(start).to_be_disabled()
    blocking = page.locator("#checks .finding.error", has_text="EH601")
    expect(blocking).to_contain_text("the model knows 2\u202f048 positions")
    blocking.get_by_role("button", name="Use the model's own limit").click()
    expect(start).to_be_enabled()
    start.click()
    _watch(page, "succeeded")
    expect(page.get_by_role("region", name="First answer")).to_contain_text("Asked:")
    page.get_by_role("link", name="Deploy", exact=True).click()
    page.get_by_label("Model").fill("of-the-newcomer")
    page.get_by_role("button", name="Deploy").click()
    expect(page).to_have_title(re.compile("active"))
    deployment = page.url
    expect(page.get_by_text("production", exact=True).first).to_be_visible()
    curl = page.locator("#snippet-curl").inner_text()
    answer = _pasted(curl, _key(page, stack))
    assert '"finish_reason"' in answer, answer
    page.goto(deployment)
    page.get_by_role("link", name="Try it").first.click()
    page.get_by_label("Max tokens").fill("16")
    # Else random weights choose at random, now and then the end as their first token.
    page.get_by_label("Temperature").fill("0")
    page.get_by_label("Message").fill("Say hello.")
    page.get_by_role("button", name="Send").click()
    answer_shown = page.locator(".turns li")
    expect(answer_shown).to_contain_text("tokens/s")


@pytest.mark.long  # tests/browser/test_failed_build.py, apps/builds/failures/test_fixes.py
def test_a_build_that_fails_is_explained_and_built_again_with_its_fix(
    page: Page, stack: Stack
) -> None:
    _read(page, stack, MOVING)
    page.get_by_label("Revision", exact=True).fill(BRANCH)
    start = page.get_by_role("button", name="Start build")
    expect(page.locator("#text")).to_have_value(re.compile(f"revision: {BRANCH}"))
    expect(page.locator("#checks")).to_contain_text("can build")
    # The checks have seen the branch; whoever keeps the repository takes it away before the build.
    del stack.hub.repositories[MOVING].branches[BRANCH]
    start.click()
    _watch(page, "failed")
    failure = page.locator(".finding.large")
    expect(failure).to_contain_text(f"{MOVING} has no revision {BRANCH}.")
    expect(failure).to_contain_text("EHF-REVISION")
    expect(page.locator(".difference del")).to_contain_text(f"revision: {BRANCH}")
    page.get_by_role("button", name=re.compile("and retry$")).click()
    expect(page.get_by_role("heading", name="Made with a fix")).to_be_visible()
    _watch(page, "succeeded")


def _read(page: Page, stack: Stack, repo: str) -> None:
    """Open the editor on what the wizard makes of a model's id."""
    page.goto(f"{stack.here.services.public_url}/configs/start/")
    page.get_by_label("Model id or folder").fill(repo)
    page.get_by_role("button", name="Read checkpoint").click()
    expect(page.get_by_text("LlamaForCausalLM")).to_be_visible()
    expect(page.get_by_role("region", name="Proposed config")).to_contain_text("native")
    page.get_by_role("link", name="Open the config").click()
    expect(page.locator("#checks")).to_contain_text("can build")


def _watch(page: Page, state: str) -> None:
    """Stay on the build's page until it has ended, in that state."""
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"Build \d+"))
    ended = re.compile(r"succeeded|failed|cancelled")
    expect(page).to_have_title(ended)
    assert state in page.title(), page.locator("main").inner_text()


def _key(page: Page, stack: Stack) -> str:
    """Create a key on its page and take it from there."""
    page.goto(f"{stack.here.services.public_url}/keys/")
    page.get_by_label("Name", exact=True).fill("of-the-newcomer")
    page.get_by_role("button", name="Create key").click()
    shown = page.get_by_role("region", name="The new key").locator("code").first
    return shown.inner_text().strip()


def _pasted(command: str, key: str) -> str:
    """Return what a shell prints; a key becomes known to gateways within a second."""
    program("curl")
    ran = subprocess.run(
        [
            "bash",
            "-c",
            command.replace("curl ", _RETRYING, 1),
        ],
        env=os.environ | {"ENGINEHOUSE_API_KEY": key},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return ran.stdout + ran.stderr
