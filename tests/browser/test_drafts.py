"""What is typed in the editor is kept in the browser, per config and revision, and offered back."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from apps.configs.services.configs import revision_create
from tests.browser.conftest import OpenPage
from tests.browser.editor_page import drafts, editor, type_length

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_what_was_typed_is_offered_back_after_the_tab_was_closed(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = editor(visit, stage)
    type_length(page)
    page.route("**/check/", lambda route: None)
    page.get_by_label("Batch size").fill("3")
    later = page.context.new_page()
    page.close()
    later.goto(page.url)
    shelf = later.get_by_role("region", name="Drafts")
    expect(shelf).to_contain_text("Not saved")
    expect(later.get_by_label("Sequence length")).to_have_value("2048")
    shelf.get_by_role("button", name="Restore draft").click()
    expect(shelf).to_be_hidden()
    expect(later.get_by_label("Sequence length")).to_have_value("912048")
    expect(later.locator("#text")).to_have_value(re.compile("max_batch_size: 3"))
    later.get_by_role("button", name="Save").click()
    expect(later.locator(".crumb")).to_contain_text("revision 2")
    assert drafts(later) == []


def test_a_draft_goes_on_from_the_revision_that_it_began_from(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = editor(visit, stage, allowed=("409",))
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Batch size").fill("3")
    theirs = stage.small.revisions.get().text.replace("2048", "1024")
    revision_create(config=stage.small, text=theirs, user=stage.owner)
    page.reload()
    shelf = page.get_by_role("region", name="Drafts")
    expect(shelf).to_contain_text("begun from revision 1")
    shelf.get_by_role("button", name="Restore draft").click()
    expect(page.locator("#text")).to_have_value(re.compile("max_batch_size: 3"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").first).to_contain_text("Revision 2 was saved")
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 1024"))
    assert len(drafts(page)) == 1
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".crumb")).to_contain_text("revision 3")
    assert drafts(page) == []


def test_start_build_forgets_the_draft_that_it_saved(visit: OpenPage, stage: "Stage") -> None:
    page = editor(visit, stage)
    page.get_by_label("Batch size").fill("4")
    expect(page.locator("#text")).to_have_value(re.compile("max_batch_size: 4"))
    assert len(drafts(page)) == 1
    page.get_by_role("button", name="Start build").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Build")
    assert drafts(page) == []


def test_two_tabs_lose_nothing_to_each_other_and_a_draft_can_be_thrown_away(
    visit: OpenPage, stage: "Stage"
) -> None:
    first = visit("/configs/new/")
    second = first.context.new_page()
    second.goto(first.url)
    for page, name in ((first, "one"), (second, "two")):
        page.get_by_label("Name", exact=True).fill(name)
        expect(page.locator("#text")).to_have_value(re.compile(f"model_name: {name}"))
    third = first.context.new_page()
    third.goto(first.url)
    shelf = third.get_by_role("region", name="Drafts")
    expect(shelf.get_by_role("button", name="Discard")).to_have_count(2)
    shelf.get_by_role("button", name="Discard").first.click()
    shelf.get_by_role("button", name="Restore draft").click()
    expect(third.get_by_label("Name", exact=True)).to_have_value("one")


def test_nobody_is_offered_the_drafts_of_another_person(visit: OpenPage, stage: "Stage") -> None:
    page = editor(visit, stage)
    page.on("dialog", lambda dialog: dialog.accept())
    type_length(page)
    expect(page.locator("#text")).to_have_value(re.compile("912048"))
    page.evaluate(
        "for (const [name, value] of Object.entries(localStorage)) {"
        " localStorage.removeItem(name);"
        " localStorage.setItem(name.replace(/^draft:[^:]+/, 'draft:another'), value); }"
    )
    page.reload()
    expect(page.locator("#checks")).to_contain_text("can build")
    expect(page.get_by_role("region", name="Drafts")).to_be_hidden()
