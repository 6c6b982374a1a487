"""A revision's page shows with which command its engine is started."""

import pytest

from tests.apps.pages import signed_in
from tests.factories import (
    GIB,
    config_text,
    make_cast,
    make_config,
    make_device,
    make_node,
    make_revision,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.mark.parametrize(
    ("runtime", "words"),
    [
        ("trtllm", ("tensorrt_llm.commands.serve", "engine.yaml", "guided_decoding_backend")),
        ("vllm", ("vllm.entrypoints.cli.main serve", "--max-num-seqs")),
    ],
)
def test_the_page_shows_command_and_files_and_what_has_no_effect(
    runtime: str, words: tuple[str, ...]
) -> None:
    cast = make_cast()
    config = make_config(team=cast.team, name="tiny")
    text = f"{config_text()}\ndescription: for people\nenginehouse: {{runtime: {runtime}}}\n"
    revision = make_revision(config=config, text=text)
    page = signed_in(cast.owner).get(f"/configs/{config.id}/revisions/{revision.number}/")
    shown = page.content.decode()
    assert all(word in shown for word in words), shown
    name = {"trtllm": "TensorRT-LLM", "vllm": "vLLM"}[runtime]
    assert f"No host here is set up to start {name}" in shown
    assert "<code>description</code>" in shown


def test_a_text_that_does_not_parse_shows_no_command() -> None:
    cast = make_cast()
    config = make_config(team=cast.team, name="broken")
    revision = make_revision(config=config, text="model_name: x\n")
    page = signed_in(cast.owner).get(f"/configs/{config.id}/revisions/{revision.number}/")
    assert "is started with" not in page.content.decode()


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("L4", "Not yet run by us on <code>L4</code>, so not seen there either: chat."),
        ("H100:2", "Not yet seen to run by us on <code>H100</code>: pipeline parallelism."),
        ("H100", ""),
    ],
)
def test_the_page_says_what_was_not_seen_to_run_on_such_a_device(device: str, said: str) -> None:
    cast = make_cast()
    make_device(node=make_node(runtimes=["native", "vllm"]), kind=device[:4], memory_bytes=24 * GIB)
    text = config_text().replace("resources:\n", f"resources:\n  accelerator: {device}\n")
    if device.endswith(":2"):
        text = text.replace("  build:\n", "  build:\n    pipeline_parallel_count: 2\n")
    revision = make_revision(config=make_config(team=cast.team, name="tiny"), text=text)
    address = f"/configs/{revision.config_id}/revisions/{revision.number}/"
    shown = signed_in(cast.owner).get(address).content.decode()
    assert "What vLLM is started with" in shown
    assert "No host here is set up" not in shown
    assert said in shown
    assert ("Not yet" in shown) == bool(said)
