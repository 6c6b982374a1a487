"""A model that really runs: its code as it is pasted, and a chat with it in a real Chromium."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS
from tests.e2e.installation import eventually
from tests.e2e.newcomer.conftest import Stack
from tests.pasted import run_pasted
from tests.waiting import DEADLINE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
ROOT = Path(__file__).resolve().parents[3]
SCHEMA = """{"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"],
"additionalProperties": false}"""


@pytest.fixture(scope="module")
def model(stack: Stack) -> dict[str, Any]:
    """One that answers, deployed here where nobody was before."""
    entry = next(iter(stack.here.get("models")["models"]), None) or stack.here.deploy()
    eventually(lambda: stack.here.answers(entry["id"]), what="the model answers")
    return dict(entry)


@pytest.fixture(scope="module")
def page(stack: Stack, chromium: Browser) -> Iterator[Page]:
    """A browser in which the newcomer is signed in."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(fresh_link(stack))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{stack.here.services.public_url}/")
    yield page
    context.close()


def fresh_link(stack: Stack) -> str:
    """Return one that nobody else's test has used."""
    made = subprocess.run(
        [sys.executable, "manage.py", "sign_in_link"],
        env=os.environ | {"DATA_DIR": str(stack.here.folder)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.split()[-1]


def open_try(page: Page, stack: Stack, model: dict[str, Any]) -> None:
    place = f"{model['id']}/environments/production"
    page.goto(f"{stack.here.services.public_url}/models/try/?at={place}")


def test_the_code_on_a_deployments_page_works_when_pasted(
    stack: Stack, model: dict[str, Any], page: Page
) -> None:
    deployment = stack.here.get(f"models/{model['id']}/deployments/production")
    page.goto(f"{stack.here.services.public_url}/models/{model['id']}/{deployment['id']}/")
    for language in ("curl", "python", "javascript", "performance"):
        code = str(page.locator(f"#snippet-{language}").text_content())
        printed = run_pasted(language, code, key=stack.here.api_key)
        if language == "curl":
            assert json.loads(printed)["usage"]["completion_tokens"] > 0
        else:
            assert printed.strip(), language


def test_a_chat_is_streamed_by_a_real_engine_counted_and_repeated_by_its_curl(
    stack: Stack, model: dict[str, Any], page: Page
) -> None:
    open_try(page, stack, model)
    page.get_by_label("Max tokens").fill("8")
    page.get_by_label("Temperature").fill("0")
    page.get_by_label("Message").fill("The sky")
    page.get_by_label("Message").press("Control+Enter")
    turn = page.locator(".turn")
    expect(turn).to_contain_text("counted by the engine")
    expect(turn).to_contain_text("First token")
    expect(turn).to_contain_text(re.compile(r"\d in, [1-8] out"))
    curl = str(page.locator("#snippet-curl").text_content())
    streamed = run_pasted("curl", curl, key=stack.here.api_key)
    chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
    text = "".join(
        choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]
    )
    assert turn.locator(".answer").text_content() == text
    names = {each["name"] for each in stack.here.get("api_keys")["keys"]}
    assert "try-it" in names


def test_an_answer_is_held_to_a_schema_by_a_real_engine(
    stack: Stack, model: dict[str, Any], page: Page
) -> None:
    open_try(page, stack, model)
    page.get_by_text("JSON schema", exact=True).first.click()
    page.get_by_label("JSON schema").fill(SCHEMA)
    page.get_by_label("Max tokens").fill("64")
    page.get_by_label("Temperature").fill("0")
    page.get_by_label("Message").fill("Is the sky blue?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".verdict")).to_be_visible()
    # Random weights may never come to the end of it, but they begin as the grammar has it.
    assert str(page.locator(".answer").text_content()).lstrip()[:1] in ("{", "")


def test_no_answer_of_the_web_process_holds_a_key(
    stack: Stack, model: dict[str, Any], page: Page
) -> None:
    heads: list[str] = []
    page.on("request", lambda request: heads.append(str(request.headers)))
    open_try(page, stack, model)
    assert not re.search(r"[a-z0-9]{8}\.[A-Za-z0-9_-]{43}", unescape(page.content()))
    assert page.evaluate("Object.keys(localStorage).filter((name) => name !== 'theme')") == []
    assert not any("authorization" in head.lower() for head in heads)
    script = httpx.get(
        f"{stack.here.services.public_url}/static/js/try/chat.js", timeout=DEADLINE_SECONDS
    )
    assert script.status_code == 200
