"""Commands over REST: imported without being kept, exported from any revision."""

from typing import Any

import pytest

from apps.configs.models import CheckpointRecord, Config
from controlplane.domain.facts.gpus import GIB
from tests.apps.rest_client import RestClient, client_of
from tests.factories import (
    Cast,
    config_text,
    make_api_key,
    make_config,
    make_device,
    make_node,
    make_revision,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cpu_host")]
LINE = "vllm serve a/b --max-model-len 4096 --api-key sk-0123456789abcdef --port 1"


def test_a_command_becomes_a_config_that_can_be_kept(cast: Cast) -> None:
    client = client_of(cast.member)
    status, imported = client.post("/v1/configs/import", {"command": LINE})
    assert status == 200
    assert set(imported) == {
        "server", "text", "complete", "mapped", "changed", "questions", "not_carried", "secrets",
    }  # fmt: skip
    assert "0123456789" not in str(imported)
    assert [secret["name"] for secret in imported["secrets"]] == ["vllm_api_key"]
    assert (Config.objects.count(), CheckpointRecord.objects.count()) == (0, 0)
    body = {"name": "imported", "text": imported["text"]}
    assert client.post("/v1/configs", body)[0] == 201


def test_the_gpu_of_a_command_is_proposed_from_what_hosts_have(cast: Cast) -> None:
    node = make_node()
    for index in range(4):
        make_device(node=node, kind="L40S", index=index, uuid=f"GPU-{index}", memory_bytes=48 * GIB)
    line = {"command": "vllm serve a/b -tp 4"}
    status, imported = client_of(cast.member).post("/v1/configs/import", line)
    assert status == 200
    assert imported["questions"][0]["choices"][0]["label"] == "L40S:4"
    assert "accelerator: L40S:4" in imported["text"]


@pytest.mark.parametrize("command", ["", "ls", "vllm serve 'a", "\n"])
def test_what_is_no_command_is_a_400_in_plain_words(cast: Cast, command: str) -> None:
    status, answer = client_of(cast.owner).post("/v1/configs/import", {"command": command})
    assert (status, answer["code"], answer["fields"]) == (400, "not_a_command", ["command"])
    assert answer["hint"]


@pytest.mark.parametrize("body", [{}, {"command": None}, {"command": "x" * 70_000}, {"cmd": "a"}])
def test_a_wrong_body_is_a_400(cast: Cast, body: dict[str, Any]) -> None:
    assert client_of(cast.owner).post("/v1/configs/import", body)[0] == 400


def _config(client: RestClient) -> str:
    text = client.post("/v1/configs/import", {"command": LINE})[1]["text"]
    return str(client.post("/v1/configs", {"name": "a", "text": text})[1]["id"])


def test_a_config_is_exported_in_every_format(cast: Cast) -> None:
    client = client_of(cast.owner)
    path = f"/v1/configs/{_config(client)}/export"
    exported = {
        target: client.get(path, format=target)
        for target in ("vllm", "trtllm", "truss", "enginehouse")
    }
    assert {status for status, _ in exported.values()} == {200}
    assert exported["vllm"][1]["text"] == "vllm serve a/b \\\n  --max-model-len 4096\n"
    assert set(exported["trtllm"][1]["files"]) == {"serve.sh", "engine.yaml"}
    assert "model_metadata:" in exported["truss"][1]["text"]
    assert set(exported["vllm"][1]) == {"format", "text", "files", "changed", "not_carried"}


def test_an_older_revision_can_be_exported(cast: Cast) -> None:
    client = client_of(cast.owner)
    config_id = _config(client)
    body = {"text": config_text(), "expected_revision": 1}
    assert client.post(f"/v1/configs/{config_id}/revisions", body)[0] == 201
    path = f"/v1/configs/{config_id}/export"
    assert "vllm serve a/b" in client.get(path, format="vllm", revision=1)[1]["text"]
    assert "vllm serve a/b" not in client.get(path, format="vllm")[1]["text"]
    assert client.get(path, format="vllm", revision=3)[0] == 404


@pytest.mark.parametrize("query", [{}, {"format": "sglang"}, {"format": "vllm", "revision": 0}])
def test_a_wrong_query_of_an_export_is_a_400(cast: Cast, query: dict[str, Any]) -> None:
    client = client_of(cast.owner)
    assert client.get(f"/v1/configs/{_config(client)}/export", **query)[0] == 400


def test_a_revision_that_no_longer_parses_says_so(cast: Cast) -> None:
    config = make_config(team=cast.team)
    client = client_of(cast.owner)
    assert client.get(f"/v1/configs/{config.id}/export", format="vllm")[0] == 404
    make_revision(config=config, text="a: 1")
    status, answer = client.get(f"/v1/configs/{config.id}/export", format="vllm")
    assert status == 400
    assert "no config any more" in answer["message"]


def test_other_teams_and_keys_that_only_call_models_get_nothing(cast: Cast) -> None:
    config_id = _config(client_of(cast.owner))
    path = f"/v1/configs/{config_id}/export"
    assert client_of(cast.outsider).get(path, format="vllm")[0] == 404
    invoke = RestClient(make_api_key(team=cast.team, type="WORKSPACE_INVOKE"))
    assert invoke.get(path, format="vllm")[0] == 403
    assert invoke.post("/v1/configs/import", {"command": LINE})[0] == 403
