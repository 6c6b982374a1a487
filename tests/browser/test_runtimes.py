"""The page of runtimes before a real browser: chosen from by keyboard, empty, full and narrow."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from apps.fleet.models import Node
from controlplane import clock
from tests.browser.conftest import OpenPage
from tests.browser.test_accessibility import violations
from tests.factories import make_device, make_node

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
NARROW = {"width": 320, "height": 720}


def test_a_version_and_every_kind_are_chosen_by_keyboard(visit: OpenPage, stage: "Stage") -> None:
    node = make_node(
        name="gpu-host-3", runtimes=["native", "vllm"], runtime_versions={"vllm": "0.25.1"}
    )
    make_device(node=node, kind="H100", memory_bytes=80 * 1024**3)
    page = visit("/runtimes/", viewport=NARROW, color_scheme="dark")
    table = page.get_by_role("region", name="vLLM 0.25")
    expect(table.get_by_role("row").filter(has_text="structured output")).to_contain_text("native")
    expect(table).not_to_contain_text("RTX_PRO_6000")
    page.get_by_role("link", name="vLLM 0.33", exact=True).press("Enter")
    expect(page.get_by_role("heading", level=2, name="vLLM 0.33")).to_be_in_viewport()
    page.get_by_role("link", name="every kind").press("Enter")
    expect(page.get_by_role("region", name="vLLM 0.33")).to_contain_text("RTX_PRO_6000")
    current = page.get_by_role("link", name="vLLM 0.33", exact=True)
    expect(current).to_have_attribute("aria-current", "true")
    assert page.evaluate(OVERFLOW) <= 0
    assert violations(page, "runtimes of a GPU host") == []


def test_without_a_host_it_says_so_and_fits_320_px(visit: OpenPage, stage: "Stage") -> None:
    Node.objects.update(removed_at=clock.now())
    page = visit("/runtimes/", viewport=NARROW)
    expect(page.get_by_text("There is no host that takes new work")).to_be_visible()
    assert page.evaluate(OVERFLOW) <= 0
    assert violations(page, "runtimes without a host") == []
    page.get_by_role("link", name="Add a host").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nodes")
