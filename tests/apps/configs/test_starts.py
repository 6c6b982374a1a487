"""The ways to begin a config: a checkpoint, a paste, an example, a copy."""

import re
from pathlib import Path
from typing import Any

import pytest

from apps.configs.local_checkpoints import local_checkpoints
from apps.configs.models import CheckpointRecord, Config
from apps.configs.services.configs import config_create
from apps.configs.start_views import MOST_COPIES
from apps.configs.starts import EXAMPLES
from controlplane import clock
from controlplane.domain.rules.examples import LLAMA_8B
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import config_text, make_cast, make_checkpoint_record, make_config
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
MODEL = "/configs/start/model/?repo=maker/llama"
TOKEN = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm12345678"


def test_the_page_offers_every_way() -> None:
    cast = make_cast()
    make_config(team=cast.team, name="mine")
    page = signed_in(cast.owner).get("/configs/start/").content.decode()
    for words in ("From a model", "From a file or a command", "Lowest latency", "Reranker", "mine"):
        assert words in page


def test_the_pages_take_the_committed_number_of_queries() -> None:
    client = signed_in(make_cast().owner)
    assert queries_of(client, "/configs/start/") == committed_queries("start")


def test_a_model_waits_for_its_files_and_then_says_what_it_is() -> None:
    cast = make_cast()
    client = signed_in(cast.owner)
    assert "waiting" in client.get(MODEL).content.decode()
    CheckpointRecord.objects.filter(team=cast.team, repo="maker/llama").update(
        state="ready", facts=LLAMA_8B.model_dump(mode="json"), fetched_at=clock.now()
    )
    page = client.get(MODEL).content.decode()
    assert "LlamaForCausalLM" in page
    assert "dense language model" in page
    assert "Open the config" in page
    assert queries_of(client, MODEL) == committed_queries("read")
    editor = client.get("/configs/new/?repo=maker/llama").content.decode()
    assert "repo: maker/llama" in editor
    assert "accelerator:" in editor
    assert not Config.objects.exists()


def test_the_context_of_a_model_stands_beside_the_length_that_its_counts_are_of() -> None:
    cast = make_cast()
    client = signed_in(cast.owner)
    client.get(MODEL)
    CheckpointRecord.objects.filter(team=cast.team, repo="maker/llama").update(
        state="ready", facts=LLAMA_8B.model_dump(mode="json"), fetched_at=clock.now()
    )
    page = client.get(MODEL).content.decode().replace("\u202f", ",")
    assert "up to 131,072 tokens; 32,768 proposed" in page
    assert ">131,072 tokens<" not in page


@pytest.mark.parametrize(
    "repo", ["Qwen 3", "https://huggingface.co/Qwen/Qwen3-8B", "-1", "a/../b", "s3://bucket/folder"]
)
def test_a_name_that_no_source_has_is_said_beside_what_was_written(repo: str) -> None:
    client = signed_in(make_cast().owner)
    answer = client.get("/configs/start/model/", {"repo": repo})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "is not a hub repository id" in page
    assert f'value="{repo}"' in page
    assert client.get("/configs/new/", {"repo": repo}).status_code == 404
    assert not CheckpointRecord.objects.exists()


def test_a_row_that_was_pressed_is_what_the_editor_opens_with() -> None:
    cast = make_cast()
    make_checkpoint_record(
        team=cast.team, source="HF", repo="maker/llama", state="ready",
        facts=LLAMA_8B.model_dump(mode="json"), fetched_at=clock.now(),
    )  # fmt: skip
    address = "/configs/new/?repo=maker/llama&gpu=L40S&precision=fp8_kv&devices=2"
    page = signed_in(cast.owner).get(address).content.decode()
    assert "accelerator: L40S:2" in page
    assert "quantization_type: fp8_kv" in page


def test_a_checkpoint_that_cannot_be_read_says_why() -> None:
    cast = make_cast()
    failure = {"code": "EHF-GATED", "blame": "configuration", "sentence": "It asks for a licence."}
    make_checkpoint_record(
        team=cast.team, source="HF", repo="maker/llama", state="failed", failure=failure,
        fetched_at=clock.now(),
    )  # fmt: skip
    page = signed_in(cast.owner).get(MODEL).content.decode()
    assert "It asks for a licence." in page
    assert "EHF-GATED" in page


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_opens_in_the_editor(name: str) -> None:
    answer = signed_in(make_cast().owner).get(f"/configs/new/?example={name}")
    assert EXAMPLES[name].text.splitlines()[0] in answer.content.decode()


def test_copy_finds_any_config_by_its_words() -> None:
    cast = make_cast()
    for number in range(MOST_COPIES + 3):
        make_config(team=cast.team, name=f"config-{number:02}")
    client = signed_in(cast.owner)
    page = folded(client.get("/configs/start/").content.decode())
    assert page.count("?copy=") == MOST_COPIES
    assert "There are more" in page
    part = client.get("/configs/start/?q=config-00", headers={"HX-Request": "true"})
    outcome = folded(part.content.decode())
    assert re.findall(r'aria-label="Copy ([^"]+)"', outcome) == ["config-00"]
    assert "<h1" not in outcome


def test_folders_with_a_checkpoint_below_the_roots_are_offered(
    tmp_path: Path, settings: Any
) -> None:
    for name in ("smollm2", "nested/deep", "no-checkpoint"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("smollm2", "nested/deep"):
        (tmp_path / name / "config.json").write_text("{}")
    settings.LOCAL_CHECKPOINT_ROOTS = [str(tmp_path), str(tmp_path / "absent")]
    assert local_checkpoints() == [str(tmp_path / "nested/deep"), str(tmp_path / "smollm2")]
    page = folded(signed_in(make_cast().owner).get("/configs/start/").content.decode())
    assert f'<option value="{tmp_path}/smollm2">' in page


def test_a_copy_has_a_name_of_its_own() -> None:
    cast = make_cast()
    config = config_create(team=cast.team, name="tiny", text=config_text(), user=cast.owner)
    page = signed_in(cast.owner).get(f"/configs/new/?copy={config.id}").content.decode()
    assert "model_name: tiny-copy" in page
    assert signed_in(cast.outsider).get(f"/configs/new/?copy={config.id}").status_code == 404


def test_a_pasted_config_keeps_its_comments() -> None:
    page = pasted(config_text() + "# kept\r\n")
    assert "# kept" in page
    assert "Import summary" not in page


def test_a_pasted_command_becomes_a_config_and_its_token_is_nowhere() -> None:
    page = pasted(f"HF_TOKEN={TOKEN} vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2")
    assert "Import summary" in page
    assert "repo: Qwen/Qwen3-8B" in page
    assert "hf_access_token" in page
    assert TOKEN not in page


def test_a_paste_that_is_nothing_is_refused_and_not_sent_back() -> None:
    answer = signed_in(make_cast().owner).post(
        "/configs/start/pasted/", {"pasted": f"token is {TOKEN}"}
    )
    assert answer.status_code == 400
    assert "neither a config nor a command" in answer.content.decode()
    assert TOKEN not in answer.content.decode()


def pasted(text: str) -> str:
    """Return the editor's page for a pasted text."""
    answer = signed_in(make_cast().owner).post("/configs/start/pasted/", {"pasted": text})
    assert answer.status_code == 200
    return str(answer.content.decode())
