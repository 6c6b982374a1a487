"""Trying a model in a real browser, before a gateway that answers by a script."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from tests.apps.deployments.try_it.test_try_views import encoder
from tests.browser.conftest import OpenPage, held_back, session_cookie
from tests.factories import make_deployment
from tests.scripted_gateway import ScriptedGateway, refusal, scripted_gateway
from tests.waiting import DEADLINE_SECONDS
from tests.web_server import streaming_server

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = [
    pytest.mark.browser,
    # WhiteNoise's files, which Django gathers in memory under ASGI.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning"),
]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, ScriptedGateway]]:
    """The web process's application before a gateway that is ours."""
    with scripted_gateway() as gateway, pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "GATEWAY_INTERNAL_URL", gateway.url)
        with streaming_server() as url:
            yield url, gateway


@pytest.fixture
def web(servers: tuple[str, ScriptedGateway]) -> str:
    return servers[0]


@pytest.fixture
def gateway(servers: tuple[str, ScriptedGateway]) -> ScriptedGateway:
    servers[1].forget()
    return servers[1]


def place_of(stage: "Stage") -> str:
    return f"{stage.deployment.model_id}/environments/production"


def sent(gateway: ScriptedGateway) -> list[Any]:
    return [json.loads(each["body"]) for each in gateway.asked]


def send(page: Page, words: str) -> None:
    page.get_by_label("Message").fill(words)
    page.get_by_label("Message").press("Control+Enter")


def at(stage: "Stage", more: str = "") -> str:
    return f"/models/try/?at={place_of(stage)}{more}"


def curl_body(page: Page) -> Any:
    """Return what the shown curl command would send."""
    command = str(page.locator("#snippet-curl").text_content())
    return json.loads(shlex.split(command.replace("\\\n", ""))[-1])


def test_nothing_is_sent_before_the_scripts_have_come_and_what_was_typed_stays(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/models/", origin=web)
    with held_back(page, "**/js/try/chat*.js"):
        page.goto(web + at(stage), wait_until="commit")
        page.get_by_label("Message").fill("Hello?")
        expect(page.get_by_role("button", name="Send")).to_be_disabled()
        page.get_by_label("Temperature").press("Enter")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".turn")).to_contain_text("5 out")
    assert "Hello" not in page.url


def test_a_question_survives_the_session_in_which_it_was_typed(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(at(stage), origin=web, allowed=("status of",))
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    send(page, "Hello?")
    expect(page.locator(".turn")).to_contain_text("5 out")
    session = page.context.cookies()
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    send(page, "Again.")
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    expect(dialog).to_be_visible()
    page.context.add_cookies(session)  # type: ignore[arg-type]
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator(".turn").nth(1)).to_contain_text("5 out")
    assert [each["messages"][-1]["content"] for each in sent(gateway)] == ["Hello?", "Again."]


def test_a_conversation_is_streamed_measured_and_the_same_as_its_curl(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    gateway.waits = True
    page = visit(at(stage), origin=web)
    page.get_by_label("System prompt").fill("Be brief.")
    page.get_by_label("Temperature").fill("0.5")
    send(page, 'It\'s me; say "hello".')
    answer = page.locator(".turn").first
    expect(answer.locator(".answer")).to_have_text("Hello")
    gateway.went_on.set()  # not at once: there is a speed where there was time between tokens
    expect(answer.locator(".answer")).to_have_text("Hello, <b>you</b> & all.")
    expect(answer).to_contain_text("this browser, from Send")
    expect(answer).to_contain_text("4 tokens after the first, over")
    expect(answer).to_contain_text("12 in, 5 out")
    expect(answer).to_contain_text("finish reason stop")
    assert page.locator(".turn b, .turn img").count() == 0
    expect(page.get_by_label("Message")).to_be_focused()
    expect(page.locator("#spoken")).to_have_text(re.compile("Hello, <b>you</b> & all.$"))
    assert curl_body(page) == sent(gateway)[0]
    send(page, "Again.")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").nth(1)).to_contain_text("5 out")
    messages = sent(gateway)[1]["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user"]
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".turn")).to_have_count(0)


def test_escape_stops_the_engine_at_once_and_what_came_stays(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    gateway.waits = True
    page = visit(at(stage), origin=web)
    send(page, "Go on for ever.")
    expect(page.locator(".answer")).to_have_text("Hello")
    expect(page).to_have_title(re.compile("^● answering"))
    expect(page.locator("#spoken")).to_have_text(re.compile("^Sent"))
    page.keyboard.press("Escape")
    assert gateway.was_left.wait(DEADLINE_SECONDS)
    expect(page.locator(".turn")).to_contain_text("the engine was told at once")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.get_by_label("Message")).to_be_focused()


def test_refusals_are_told_in_words_beside_their_field_and_can_be_tried_again(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    words = "`max_tokens` is above 100."
    gateway.replies += [
        (429, {"retry-after": "7"}, refusal("Too many requests.", status=429)),
        (400, {}, refusal(words, status=400, param="max_tokens")),
        (503, {"retry-after": "0"}, refusal("It wakes up.", status=503, code="model_not_ready")),
    ]
    page = visit(at(stage), origin=web)
    send(page, "Hello?")
    failed = page.locator(".failed")
    expect(failed).to_contain_text("Too many requests. Try again in 7 s.")
    page.get_by_label("Temperature").fill("9")
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_label("Temperature")).to_be_focused()
    expect(failed).to_be_visible()
    page.get_by_label("Temperature").fill("1")
    failed.get_by_role("button", name="Try again").click()
    expect(page.locator("#max_tokens-said")).to_have_text(words)
    expect(page.get_by_label("Max tokens")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Max tokens").fill("50")
    failed.get_by_role("button", name="Try again").click()
    expect(page.locator(".turn")).to_contain_text("5 out")
    expect(failed).to_have_count(0)
    assert [each.get("max_tokens") for each in sent(gateway)] == [256, 256, 50, 50]


def test_a_lost_connection_is_said_and_the_question_is_asked_again(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(at(stage), origin=web, allowed=("net::ERR", "htmx"))
    page.context.set_offline(True)
    send(page, "Hello?")
    failed = page.locator(".failed")
    expect(failed).to_contain_text("The connection to Enginehouse is lost.")
    page.context.set_offline(False)
    failed.get_by_role("button", name="Try again").click()
    expect(page.locator(".turn")).to_contain_text("5 out")


def test_json_is_checked_before_and_after_and_reasoning_and_calls_stand_apart(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    gateway.chunks = [
        {"reasoning_content": "A city in <i>France</i>."},
        {"content": '{"city": 3}'},
        {"tool_calls": [{"index": 0, "function": {"name": "weather", "arguments": "{}"}}]},
    ]
    page = visit(at(stage), origin=web)
    page.get_by_text("JSON schema", exact=True).first.click()
    schema = page.get_by_label("JSON schema")
    schema.fill('{"type": "object", "properties": {"city": {"type": "text"}}}')
    send(page, "Where?")
    expect(page.locator("#schema-said")).to_contain_text('schema.properties.city.type is "text"')
    expect(schema).to_be_focused()
    assert gateway.asked == []
    schema.fill(
        '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["country"]}'
    )
    send(page, "Where?")
    turn = page.locator(".turn")
    expect(turn.locator(".verdict")).to_have_text(
        "Not as the schema says: answer.country is missing; "
        "answer.city is of type integer, not string."
    )
    expect(turn.locator(".json")).to_have_text('{\n  "city": 3\n}')
    expect(turn.locator(".call")).to_have_text("Calls weather {}")
    turn.get_by_text("Reasoning").click()
    expect(turn.locator(".thought div")).to_have_text("A city in <i>France</i>.")
    assert sent(gateway)[0]["response_format"]["type"] == "json_schema"


def test_two_deployments_are_asked_the_same_at_320_px_in_the_dark(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    own = f"{stage.deployment.model_id}/deployment/{stage.deployment.id}"
    page = visit(at(stage), origin=web, color_scheme="dark", viewport={"width": 320, "height": 640})
    page.get_by_label("Compare with").select_option(own)
    expect(page).to_have_url(re.compile("&beside="))
    expect(page.locator("[data-call]")).to_have_count(2)
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    send(page, "A" * 300)
    for side in page.locator("[data-call]").all():
        expect(side.locator(".turn")).to_contain_text("5 out")
    first, second = sent(gateway)
    assert first == second
    assert len({each["path"] for each in gateway.asked}) == 2
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_texts_are_embedded_and_their_likeness_is_shown(
    web: str, gateway: ScriptedGateway, visit: OpenPage, stage: "Stage"
) -> None:
    vectors = ([1.0, 0.0], [0.6, 0.8], [0.0, 1.0])
    body = {"data": [{"embedding": each} for each in vectors], "usage": {"prompt_tokens": 9}}
    gateway.replies.append((200, {}, json.dumps(body).encode()))
    embedder = make_deployment(team=stage.team, **encoder("BertModel"))
    page = visit(f"/models/try/?at={embedder.model_id}/deployment/{embedder.id}", origin=web)
    page.get_by_role("button", name="Embed").click()
    answer = page.locator("[data-answer]")
    expect(answer).to_contain_text("3 vectors of 2 numbers, 9 tokens by the engine's count.")
    expect(answer.locator("tbody tr").first).to_have_text(re.compile("A cat sleeps.*0.600"))
    expect(answer).to_contain_text("from Send to the whole answer")
    assert sent(gateway) == [curl_body(page)]


def test_answers_that_last_hold_no_database_connection(
    web: str, gateway: ScriptedGateway, stage: "Stage"
) -> None:
    gateway.waits = True
    most = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    path = f"{web}/models/{stage.deployment.model_id}/call/environments/production"
    token = "t" * 32
    cookie = session_cookie(stage.owner, web)
    cookies = {cookie["name"]: cookie["value"], settings.CSRF_COOKIE_NAME: token}
    with (
        httpx.Client(cookies=cookies, timeout=DEADLINE_SECONDS) as client,
        ExitStack() as open_answers,
    ):
        for _ in range(most + 1):
            answer = client.stream(
                "POST",
                f"{path}/sync/v1/chat/completions",
                json={},
                headers={"X-CSRFToken": token, "Origin": web},
            )
            assert next(open_answers.enter_context(answer).iter_bytes()).startswith(
                b"event: answer"
            )
        assert client.get(f"{web}/models/").status_code == 200
        gateway.went_on.set()
