"""A client that a stranger generates from the OpenAPI document reads and writes what we do."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.factories import config_text, make_api_key, make_team
from tests.generated_client import call, generate_client, part

FILES = {"application/x-tar", "application/zip"}
"""Downloads, which the generator leaves to other tools."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the client lies, and what its generator said."""
    folder = tmp_path_factory.mktemp("client")
    return folder, generate_client(folder, Client().get("/v1/spec").content)


def test_the_generator_understands_all_but_downloads(said: tuple[Path, str]) -> None:
    assert said[1].count("WARNING") == len(FILES)
    assert set(re.findall(r"Unsupported content_type (\S+)\)", said[1])) == FILES


@pytest.fixture
def client(
    said: tuple[Path, str],
    live_server: Any,
    broker: str,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    monkeypatch.syspath_prepend(str(said[0]))
    key = make_api_key(team=make_team())
    made = part("client").AuthenticatedClient(base_url=live_server.url, token=key)
    with made:
        yield made


@pytest.mark.django_db(transaction=True)
def test_it_lists_configs_makes_a_secret_and_asks_for_a_build(client: Any) -> None:
    models = part("models")
    body = models.ConfigCreateAsText(name="generated", text=config_text())
    made = call("configs", "configs_post", client, body=body)
    assert made.status_code == 201, made.content
    listed = call("configs", "configs_get", client)
    assert [each.id for each in listed.parsed.items] == [made.parsed.id]
    secret = call("secrets", "secrets_post", client, body=models.SecretSetBody(name="a", value="b"))
    assert (secret.status_code, secret.parsed.name) == (200, "a")
    build = call("builds", "builds_post", client, body=models.BuildCreateBody(made.parsed.id))
    # Nobody has read that checkpoint, so the checks wait; the client reads the refusal as ours.
    assert build.status_code == 409, build.content
    assert build.parsed.code


@pytest.mark.django_db(transaction=True)
def test_it_writes_a_config_by_its_fields_and_reads_findings_as_objects(client: Any) -> None:
    models = part("models")
    config = models.ConfigFile(
        trt_llm=models.ConfigTrtLlmV1(
            build=models.ConfigEngineBuild(
                checkpoint_repository=models.ConfigCheckpointRepository(
                    source=models.ConfigCheckpointSource.HF, repo="org/model"
                ),
                quantization_type=models.ConfigQuantizationType.FP8,
            )
        ),
        resources=models.ConfigResources(accelerator="A100:2"),
    )
    body = models.ConfigAsObject(config=config)
    checked = call("configs", "configs_check_post", client, body=body)
    by_code = {each.code: each for each in checked.parsed.findings}
    assert by_code["EH201"].severity is models.SeverityEnum.ERROR
    assert by_code["EH201"].fix.patch.to_dict()
    created = models.ConfigCreateAsObject(config=config, name="typed")
    made = call("configs", "configs_post", client, body=created)
    kept = made.parsed.last_revision.config
    assert isinstance(kept.trt_llm, models.ConfigTrtLlmV1)
    assert (kept.resources.accelerator, kept.trt_llm.runtime.total_token_limit) == (
        "A100:2",
        500_000,
    )
