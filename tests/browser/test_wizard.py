"""The ways into the wizard, by keyboard and by paste, and a form that keeps still."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, OpenPage
from tests.browser.staged_checkpoints import SMOLLM

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
SEEDS = Path(__file__).resolve().parents[1] / "seeds" / "data"
PASSWORD = "correct horse battery"
"""Of the person at the keyboard."""
MOST_SHIFT = 0.1
"""What the Web Vitals call good: the GPUs below the findings make room for them."""
WATCH_SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    // Those too that a browser forgives for their coming soon after a key.
    for (const each of list.getEntries()) window.shifts.push(each.value);
  }).observe({ type: "layout-shift" });
}"""
PLACES = """() => [...document.querySelectorAll("#editor [data-edits], #save")].filter(
  (each) => each.checkVisibility()
).map((each) => {
  const box = each.getBoundingClientRect();
  return `${each.id} ${box.left} ${box.top + scrollY} ${box.width} ${box.height}`;
})"""


def test_every_block_of_the_documents_is_pasted_and_answered(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit("/configs/start/")
    start = page.url
    for path in sorted(SEEDS.glob("*.yaml")):
        text = path.read_text()
        page.get_by_label("Paste it here").fill(text)
        page.get_by_role("button", name="Read it", exact=True).click()
        expect(page.locator("#text"), path.stem).to_have_value(text)
        statement = page.locator("#checks .findings, #checks .finding, #checks .holding").first
        expect(statement, path.stem).to_be_visible()
        page.goto(start)


def test_a_pasted_command_says_what_became_of_each_flag(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/configs/start/")
    page.get_by_label("Paste it here").fill(
        f"HF_TOKEN=hf_of_mine vllm serve {SMOLLM} --max-model-len 2048 --port 9000 "
        "--gpu-memory-utilization 0.9"
    )
    page.get_by_role("button", name="Read it", exact=True).click()
    by_role = page.get_by_role("region", name="Import summary")
    expect(by_role).to_contain_text("Different here: --gpu-memory-utilization 0.9")
    expect(by_role).to_contain_text("Not imported: --port 9000")
    expect(by_role).to_contain_text("A secret: HF_TOKEN held one")
    expect(page.get_by_label("Sequence length")).to_have_value("2048")
    assert "hf_of_mine" not in page.content()


@pytest.mark.parametrize("width", [1280, 320])
def test_no_control_moves_when_hints_arrive(visit: OpenPage, stage: "Stage", width: int) -> None:
    page = visit(f"/configs/{stage.small.id}/", viewport={"width": width, "height": 860})
    expect(page.locator("#forecast")).to_contain_text("Estimated cost")
    page.wait_for_load_state("networkidle")
    before = page.evaluate(PLACES)
    page.evaluate(WATCH_SHIFTS)
    page.get_by_label("Sequence length").fill("912048")
    expect(page.locator("#reason")).to_contain_text("Start build is off")
    expect(page.locator("#field-max_seq_len-said")).to_be_visible()
    expect(page.locator(".htmx-request")).to_have_count(0)
    assert page.evaluate(PLACES) == before
    shifts = page.evaluate("window.shifts")
    assert sum(shifts) < MOST_SHIFT, shifts


def test_what_waits_is_told_by_fact(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.waiting.id}/")
    waits = page.locator("#waits")
    expect(waits).to_contain_text(re.compile(r"\d+ checks wait for\s+the checkpoint's files\."))
    expect(waits.get_by_role("link", name="EH501")).to_be_visible()


def test_the_memory_says_how_much_it_holds_and_what_the_speed_rests_on(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.blocked.id}/")
    memory = page.get_by_role("region", name="Memory per GPU")
    expect(memory).to_contain_text(
        re.compile(
            r"Holds\s+\S+\s+requests?\s+of\s+131\s072\s+tokens,\s+\S+\s+of\s+4\s096;\s+[\d\s]+tokens"
        )
    )
    for part in ("Weights", "KV cache", "Activations", "Overhead"):
        expect(memory.locator(".legend")).to_contain_text(part)
    expect(memory).to_contain_text(re.compile(r"\S+\s+to\s+\S+\s+tokens/s"))
    expect(memory).to_contain_text("By formula: what a step reads over the GPU's")


def test_from_sign_in_to_a_build_by_keyboard_alone(
    chromium: Browser, live_server: Any, stage: "Stage"
) -> None:
    stage.owner.set_password(PASSWORD)
    stage.owner.save()
    with chromium.new_context(viewport={"width": 1280, "height": 860}) as context:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(f"{live_server.url}/sign-in/")
        _sign_in(page, stage)
        _make_a_config(page)
        _build_it(page)


def _sign_in(page: Page, stage: "Stage") -> None:
    _tab_to(page, "E-mail address")
    page.keyboard.type(stage.owner.email)
    _tab_to(page, "Password")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def _make_a_config(page: Page) -> None:
    _tab_to(page, "Configs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Configs")
    _tab_to(page, "New config")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("New config")
    _tab_to(page, "Model id or folder")
    page.keyboard.type(SMOLLM)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(SMOLLM)
    _tab_to(page, "Open the config")
    page.keyboard.press("Enter")
    expect(page.locator("#editor")).to_be_visible()


def _build_it(page: Page) -> None:
    _tab_to(page, "Sequence length")
    page.keyboard.press("Control+A")
    page.keyboard.type("16384")
    expect(page.locator("#reason")).to_contain_text("Start build is off")
    _tab_to(page, "Use the model's own limit")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Sequence length")).to_have_value("8192")
    expect(page.locator("#checks")).to_be_focused()
    _tab_to(page, "Start build", backwards=True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"Build \d+"))


def _tab_to(page: Page, name: str, *, backwards: bool = False) -> None:
    """Press Tab until the focus is on what has that name, and is seen to be there."""
    for _ in range(120):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        holding = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
        )
        if holding == name:
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"the focus on {name} cannot be seen"
            return
    raise AssertionError(f"Tab never reached {name}")
