"""The list of configs, the editor's answers, and a revision's page."""

from html import unescape
from typing import Any

import pytest

from apps.configs.models import Config, Revision
from apps.configs.services.configs import config_create
from controlplane import clock
from controlplane.domain.rules.examples import LLAMA_70B
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import (
    config_text,
    make_cast,
    make_checkpoint_record,
    make_config,
    make_deployment,
    make_environment,
    make_revision,
)
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def posted(text: str, **changes: str) -> dict[str, str]:
    """Return what the editor posts."""
    return {"text": text, "changed": "", "base": "1", "view": "form"} | changes


def test_the_list_shows_what_became_of_each_config() -> None:
    cast = make_cast()
    revision = make_revision(config=make_config(team=cast.team, name="tiny"))
    deployment = make_deployment(team=cast.team, environment="production")
    deployment.build.revision = revision
    deployment.build.save()
    page = signed_in(cast.owner).get("/configs/").content.decode()
    assert "/checkpoints/tiny" in page
    assert f"{deployment.model.name} production" in page
    for place in ("canary", "staging"):
        make_environment(model=deployment.model, name=place, current=deployment)
    page = folded(signed_in(cast.owner).get("/configs/").content.decode())
    row = page.partition(">tiny</a>")[2]
    serves = row.partition('data-label="Serves"')[2].partition("</td>")[0]
    assert "and 2 more" in serves
    assert all(f"{deployment.model.name} {each}" in serves for each in ("canary", "staging"))


def test_the_list_takes_the_committed_number_of_queries() -> None:
    cast = make_cast()
    for number in range(12):
        make_revision(config=make_config(team=cast.team, name=f"config-{number}"))
    assert queries_of(signed_in(cast.owner), "/configs/") == committed_queries("configs")


def test_an_empty_list_says_what_to_do_first() -> None:
    page = signed_in(make_cast().owner).get("/configs/").content.decode()
    assert "No configs yet" in page
    assert "/configs/start/" in page


@pytest.mark.parametrize("path", ["", "revisions/1/"])
def test_an_outsider_finds_no_such_config(path: str) -> None:
    cast = make_cast()
    revision = make_revision(team=cast.team)
    address = f"/configs/{revision.config_id}/{path}"
    assert signed_in(cast.owner).get(address).status_code == 200
    assert signed_in(cast.outsider).get(address).status_code == 404


def test_an_outsider_cannot_save_into_a_config() -> None:
    cast = make_cast()
    revision = make_revision(team=cast.team)
    client = signed_in(cast.outsider)
    for action in ("", "check/"):
        answer = client.post(f"/configs/{revision.config_id}/{action}", posted("a: 1"))
        assert answer.status_code == 404
    assert client.post(f"/builds/start/{revision.config_id}/", posted("a: 1")).status_code == 404


def test_a_check_writes_touched_fields_into_the_text_and_saves_nothing() -> None:
    client = signed_in(make_cast().owner)
    form = posted(config_text(), changed="max_batch_size repo", max_batch_size="2", repo="/else")
    page = client.post("/configs/new/check/", form).content.decode()
    assert "max_batch_size: 2" in page
    assert "repo: /else" in page
    assert "# A tiny checkpoint on this machine&#x27;s CPU." in page
    assert not Config.objects.exists()


def test_what_the_native_engine_computes_in_is_chosen_in_the_form() -> None:
    client = signed_in(make_cast().owner)
    form = posted(config_text(), changed="dtype", dtype="float32")
    page = client.post("/configs/new/check/", form).content.decode()
    assert "enginehouse:\n  dtype: float32" in page
    assert '<option value="float32" selected>' in folded(page)
    assert '<option value="bfloat16">' in folded(page)
    back = posted(f"{config_text()}enginehouse: {{dtype: float32}}\n", changed="dtype", dtype="")
    assert "dtype: float32" not in client.post("/configs/new/check/", back).content.decode()


def test_arguments_of_vllm_are_typed_as_json_and_land_in_the_text_as_a_mapping() -> None:
    client = signed_in(make_cast().owner)
    typed = '{"max-loras": 4, "pooler-config": {"a": [1]}}'
    form = posted(config_text(), changed="vllm_args", vllm_args=typed)
    page = unescape(client.post("/configs/new/check/", form).content.decode())
    text = page[page.index("enginehouse:") :]
    assert text.startswith("enginehouse:\n  vllm_args:\n    max-loras: 4\n    pooler-config:\n")
    assert f'value="{typed}"' in page


def test_arguments_of_vllm_that_are_no_mapping_stay_as_typed_and_get_a_finding() -> None:
    client = signed_in(make_cast().owner)
    form = posted(config_text(), changed="vllm_args", vllm_args="max-loras 4")
    page = client.post("/configs/new/check/", form).content.decode()
    assert "vllm_args: max-loras 4" in page
    assert 'aria-invalid="true"' in page


def test_an_emptied_field_leaves_the_text() -> None:
    client = signed_in(make_cast().owner)
    form = posted(config_text(), changed="max_batch_size", max_batch_size="")
    assert "max_batch_size:" not in client.post("/configs/new/check/", form).content.decode()


def test_what_is_no_number_reaches_the_text_and_gets_a_finding() -> None:
    client = signed_in(make_cast().owner)
    form = posted(config_text(), changed="max_seq_len", max_seq_len="many")
    page = client.post("/configs/new/check/", form).content.decode()
    assert "max_seq_len: many" in page
    assert 'aria-invalid="true"' in page


def test_a_fix_is_applied_by_its_place_and_code() -> None:
    client = signed_in(make_cast().owner)
    text = config_text().replace("max_batch_size: 4", "max_batchsize: 4 # rows")
    page = client.post("/configs/new/check/", posted(text)).content.decode()
    assert "EH002" in page
    fixed = client.post(
        "/configs/new/check/", posted(text) | {"fix": "0", "fix_code": "EH002"}
    ).content.decode()
    assert "max_batch_size: 4" in fixed
    assert "max_batchsize" not in fixed


def test_a_fix_that_would_bring_an_error_is_no_button_and_says_what_it_would_bring() -> None:
    client = signed_in(make_cast().owner)
    text = config_text().replace(
        "      source: LOCAL\n", "      source: HF\n      runtime_secret_name: team_token\n"
    ).replace("repo: /checkpoints/tiny", "repo: owner/tiny")  # fmt: skip
    page = client.post("/configs/new/check/", posted(text)).content.decode()
    assert "EH803" in page
    assert "alone would bring EH804" in page
    pressed = client.post("/configs/new/check/", posted(text) | {"fix": "0", "fix_code": "EH803"})
    assert "team_token: null" not in pressed.content.decode()


def test_a_first_save_makes_a_config_named_by_its_text() -> None:
    cast = make_cast()
    answer = signed_in(cast.owner).post("/configs/new/", posted(config_text(), base="0"))
    config = Config.objects.get(team=cast.team)
    assert config.name == "tiny"
    assert answer.headers["Location"] == f"/configs/{config.id}/"


def test_a_taken_name_keeps_the_text_and_says_so() -> None:
    cast = make_cast()
    make_config(team=cast.team, name="tiny")
    answer = signed_in(cast.owner).post("/configs/new/", posted(config_text() + "# mine\n"))
    assert answer.status_code == 400
    assert "There is a config named <code>tiny</code> already." in answer.content.decode()
    assert "# mine" in answer.content.decode()


def test_a_text_that_does_not_parse_is_not_saved_and_not_lost() -> None:
    cast = make_cast()
    config = saved_config(cast)
    answer = signed_in(cast.owner).post(f"/configs/{config.id}/", posted("trt_llm: [mine"))
    assert answer.status_code == 400
    assert "trt_llm: [mine" in answer.content.decode()
    assert Revision.objects.count() == 1


def test_a_save_upon_a_revision_that_is_not_the_last_is_a_conflict() -> None:
    cast = make_cast()
    config = saved_config(cast)
    client = signed_in(cast.owner)
    client.post(f"/configs/{config.id}/", posted(config_text() + "# theirs\n"))
    mine = posted(config_text() + "# mine\n")
    answer = client.post(f"/configs/{config.id}/", mine)
    assert answer.status_code == 409
    assert "# mine" in answer.content.decode()
    assert client.post(f"/configs/{config.id}/", mine | {"base": "2"}).status_code == 302
    assert Revision.objects.get(number=3).text.endswith("# mine\n")


def test_a_save_upon_an_older_revision_merges_what_does_not_conflict() -> None:
    cast = make_cast()
    config = saved_config(cast)
    client = signed_in(cast.owner)
    theirs = config_text().replace("max_seq_len: 512", "max_seq_len: 256") + "# theirs\n"
    client.post(f"/configs/{config.id}/", posted(theirs))
    mine = config_text().replace("model_name: tiny", "model_name: small") + "# mine\n"
    page = client.post(f"/configs/{config.id}/", posted(mine)).content.decode()
    assert "with what theirs changed merged in" in folded(page)
    assert "max_seq_len: 256" in page
    assert "model_name: small" in page
    assert "<code># theirs</code>" in page
    assert "<code># mine</code>" in page
    assert Revision.objects.count() == 2


def test_browsers_line_ends_do_not_make_a_new_revision() -> None:
    cast = make_cast()
    config = saved_config(cast)
    text = config_text().replace("\n", "\r\n")
    signed_in(cast.owner).post(f"/configs/{config.id}/", posted(text))
    assert Revision.objects.count() == 1


def saved_config(cast: Any) -> Config:
    """Return a config saved through the service, as the editor does."""
    return config_create(team=cast.team, name="tiny", text=config_text(), user=cast.owner)


def test_the_fragment_says_how_fast_it_can_be_and_what_its_build_takes() -> None:
    cast = make_cast()
    make_checkpoint_record(
        team=cast.team, state="ready", facts=LLAMA_70B.model_dump(mode="json"),
        fetched_at=clock.now(),
    )  # fmt: skip
    text = (
        "model_name: large\nresources: {accelerator: 'H100:2'}\n"
        "trt_llm:\n  build:\n    quantization_type: fp8\n    tensor_parallel_count: 2\n"
        "    checkpoint_repository: {source: LOCAL, repo: /checkpoints/tiny}\n"
    )
    page = signed_in(cast.owner).post("/configs/new/check/", posted(text)).content.decode()
    assert "A step takes at least" in page
    assert "with lookahead" in page
    assert "The build takes 4 GPUs, and the config leases 2." in folded(page)
