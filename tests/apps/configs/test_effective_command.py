"""A revision's page shows with which command its engine is started."""

import pytest

from tests.apps.pages import signed_in
from tests.factories import config_text, make_cast, make_config, make_revision

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
    is_not_started = "No host here is set up to start TensorRT-LLM" in shown
    assert is_not_started == (runtime == "trtllm")
    assert "<code>description</code>" in shown


def test_a_text_that_does_not_parse_shows_no_command() -> None:
    cast = make_cast()
    config = make_config(team=cast.team, name="broken")
    revision = make_revision(config=config, text="model_name: x\n")
    page = signed_in(cast.owner).get(f"/configs/{config.id}/revisions/{revision.number}/")
    assert "is started with" not in page.content.decode()
