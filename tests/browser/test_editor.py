"""The editor before a real browser: checks while one types, fixes, both forms of one config."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Dialog, expect

from apps.configs.models import CheckpointRecord, FactsState, Revision
from apps.configs.services.configs import revision_create
from tests.browser.conftest import OpenPage, held_back
from tests.browser.staged_checkpoints import SMOLLM

if TYPE_CHECKING:
    from tests.browser.stage import Stage

pytestmark = pytest.mark.browser


def test_a_finding_appears_while_one_types_without_losing_focus_or_caret(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.small.id}/")
    expect(page.locator("#checks")).to_contain_text("can build")
    field = page.get_by_label("Sequence length")
    field.click()
    page.keyboard.press("Home")
    page.keyboard.type("9")
    expect(page.locator("#checks .finding").first).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "field-max_seq_len"
    assert page.evaluate("document.activeElement.selectionStart") == 1
    expect(field).to_have_value("92048")
    page.keyboard.type("1")
    expect(field).to_have_value("912048")
    expect(field).to_have_attribute("aria-describedby", "field-max_seq_len-said")
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))


def test_what_is_typed_before_the_scripts_have_come_counts(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/configs/")
    with held_back(page, "**/js/editor*.js"):
        page.goto(page.url + f"{stage.small.id}/", wait_until="commit")
        page.get_by_label("Sequence length").fill("912048")
        page.get_by_label("GPUs I might get").check()
    expect(page.locator("#text")).to_have_value(re.compile("max_seq_len: 912048"))
    expect(page.locator("#checks .finding").first).to_be_visible()
    expect(page.get_by_label("GPUs I might get")).to_be_checked()


def test_a_fix_button_mends_the_text_and_keeps_its_comments(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.blocked.id}/")
    finding = page.locator(".finding", has_text="EH201")
    expect(finding).to_contain_text("compute capability 8.9")
    finding.get_by_role("button", name="Use no_quant").click()
    expect(page.locator(".finding", has_text="EH201")).to_have_count(0)
    expect(page.get_by_label("Quantization")).to_have_value("no_quant")
    text = page.locator("#text")
    expect(text).to_have_value(re.compile("quantization_type: no_quant # half the memory"))
    expect(text).to_have_value(re.compile("^# Taken from the cluster"))
    expect(page.locator("#checks")).to_be_focused()


def test_a_fix_is_next_in_the_order_of_tab_after_the_field_that_it_mends(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.blocked.id}/")
    page.get_by_label("Quantization", exact=True).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Quantization", exact=True)).to_have_value("no_quant")


def test_a_setting_is_found_by_its_words_and_written(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.small.id}/")
    expect(page.get_by_label("Lookahead ngram size")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("ngram size")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Lookahead ngram size")).to_be_focused()
    expect(page.get_by_label("Batch size")).to_be_hidden()
    page.keyboard.type("8")
    expect(page.locator("#text")).to_have_value(re.compile("lookahead_ngram_size: 8"))
    expect(page.get_by_label("Lookahead ngram size")).to_have_value("8")


def test_the_forecast_arrives_without_moving_the_page_or_taking_back_what_was_chosen(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.blocked.id}/")
    forecast = page.locator("#forecast")
    expect(forecast).to_contain_text("Host memory at its peak")
    assert page.evaluate("[scrollY, document.activeElement.tagName]") == [0, "BODY"]
    page.evaluate("document.getElementById('forecast').replaceChildren()")
    page.route("**/check/", lambda route: None)
    page.get_by_label("Quantization").select_option("no_quant")
    page.evaluate("htmx.trigger('#forecast', 'load')")
    expect(forecast).to_contain_text("Host memory at its peak")
    expect(page.get_by_label("Quantization")).to_have_value("no_quant")
    assert page.locator("#changed").input_value() == "quantization_type"


def test_form_and_yaml_say_the_same_and_unknown_fields_survive(
    visit: OpenPage, stage: "Stage"
) -> None:
    page = visit(f"/configs/{stage.small.id}/?view=yaml")
    text = page.locator("#text")
    text.fill(text.input_value() + "colour: blue # of the team\n")
    expect(page.locator("#checks")).to_contain_text("EH002")
    page.get_by_text("Form", exact=True).click()
    page.get_by_label("Batch size").fill("4")
    page.get_by_label("Accelerator").select_option("H100")
    expect(text).to_have_value(re.compile("accelerator: H100"))
    written = text.input_value()
    assert "max_batch_size: 4\n" in written
    assert "colour: blue # of the team\n" in written
    page.get_by_text("YAML", exact=True).click()
    text.fill(written.replace("max_batch_size: 4", "max_batch_size: 16"))
    page.get_by_text("Form", exact=True).click()
    expect(page.get_by_label("Batch size")).to_have_value("16")


def test_a_typo_in_the_yaml_names_its_line_and_leads_there(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.small.id}/?view=yaml")
    text = page.locator("#text")
    text.fill(text.input_value().replace("    max_seq_len", "  max_seq_len"))
    expect(page.locator("#checks .finding").first).to_be_visible()
    page.locator("#checks .finding summary").first.click()
    page.locator("#checks").get_by_role("button", name=re.compile("line 1[12]")).first.click()
    expect(text).to_be_focused()
    selected = page.evaluate("document.getSelection().toString()")
    assert "max_" in selected
    expect(page.get_by_role("button", name="Start build")).to_be_disabled()


def test_the_keyboard_alone_changes_and_saves(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.small.id}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    page.keyboard.type("max batch size")
    page.keyboard.press("Enter")
    expect(page.locator("#field-max_batch_size")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    expect(page.locator(".crumb")).to_contain_text("revision 2")
    saved = Revision.objects.get(config=stage.small, number=2)
    assert "max_batch_size: 6" in saved.text


def test_leaving_asks_only_while_something_is_unsaved(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.small.id}/")
    requests: list[str] = []

    def answer(dialog: Dialog) -> None:
        requests.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    page.get_by_label("Batch size").fill("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_have_text("Saved as revision 2.")
    expect(page.get_by_role("button", name="Save")).to_be_focused()
    page.reload()
    assert requests == []
    page.get_by_label("Batch size").fill("7")
    expect(page.locator("#text")).to_have_value(re.compile("max_batch_size: 7"))
    page.reload()
    assert requests == ["beforeunload"]


def test_two_who_edit_one_config_both_keep_their_text(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.small.id}/", allowed=("409",))
    page.get_by_label("Batch size").fill("3")
    theirs = stage.small.revisions.get().text.replace("2048", "1024")
    revision_create(config=stage.small, text=theirs, user=stage.owner)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").first).to_contain_text("Revision 2 was saved")
    expect(page.get_by_label("Batch size")).to_have_value("3")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".crumb")).to_contain_text("revision 3")
    assert "max_batch_size: 3" in stage.small.revisions.get(number=3).text


def test_what_waits_goes_on_by_itself(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.waiting.id}/")
    expect(page.locator("#checks")).to_contain_text("the checkpoint's files")
    waiting = CheckpointRecord.objects.filter(repo="google/gemma-3-27b-it")
    known = CheckpointRecord.objects.filter(repo=SMOLLM).values_list("facts", flat=True)[0]
    waiting.update(state=FactsState.READY, facts=known)
    expect(page.locator("#checks")).not_to_contain_text("the checkpoint's files")
    expect(page.get_by_text("Memory per engine")).to_be_visible()


def test_a_new_config_is_written_checked_and_saved(visit: OpenPage, stage: "Stage") -> None:
    page = visit("/configs/new/")
    page.get_by_label("Name", exact=True).fill("second")
    expect(page.locator("#text")).to_have_value(re.compile("model_name: second"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("second")
    expect(page.get_by_text("not saved")).to_be_hidden()


def test_findings_are_text_and_never_markup(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.small.id}/?view=yaml")
    page.locator("#text").fill("trt_llm: {build: {base_model: '<img src=x onerror=alert(1)>'}}")
    expect(page.locator("#checks")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("#checks img").count() == 0


def test_a_cell_of_the_fit_matrix_goes_into_the_config(visit: OpenPage, stage: "Stage") -> None:
    page = visit(f"/configs/{stage.blocked.id}/", viewport={"width": 320, "height": 800})
    page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="GPU fit").press("Enter")
    expect(page.locator("#fit-title")).to_be_focused()
    expect(page.locator("#fit-title")).to_be_in_viewport()
    page.get_by_role("button", name="4 × H100 in fp8_kv", exact=True).press("Enter")
    expect(page.get_by_label("Accelerator", exact=True)).to_have_value("H100")
    expect(page.locator("#text")).to_have_value(re.compile("tensor_parallel_count: 4"))
    expect(page.locator("#reason")).to_contain_text("enrollment_token")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
