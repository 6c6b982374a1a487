"""A client that a stranger generates from the OpenAPI document does the main job."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.factories import config_text, make_api_key, make_team
from tests.waiting import DEADLINE_SECONDS

NAME = "enginehouse_client"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    document = SchemaGenerator().get_schema(request=None, public=True)
    (folder / "spec.json").write_text(json.dumps(document, default=str))
    argv = ("generate", "--path", "spec.json", "--output-path", NAME, "--meta", "none")
    subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *argv],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
    )
    return folder


@pytest.mark.django_db(transaction=True)
def test_it_lists_configs_makes_a_secret_and_asks_for_a_build(
    folder: Path,
    live_server: Any,
    broker: str,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    monkeypatch.syspath_prepend(str(folder))
    client = part("client").AuthenticatedClient(
        base_url=live_server.url, token=make_api_key(team=make_team())
    )
    models = part("models")
    body = models.ConfigCreateBody(name="generated", text=config_text())
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
    client.get_httpx_client().close()


def part(name: str) -> Any:
    return importlib.import_module(f"{NAME}.{name}")


def call(area: str, operation: str, client: Any, **arguments: Any) -> Any:
    return part(f"api.{area}.{operation}").sync_detailed(client=client, **arguments)
