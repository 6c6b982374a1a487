"""No text of a team's chooses whom our processes call.

Addresses of checkpoints: tests/sources/test_addresses.py. Targets of the test of a secret:
tests/apps/secrets/test_trials.py. Webhooks: tests/workers/notifications/test_sending.py.
"""

import json
import re
from typing import Any

import pytest

from apps.configs.models import CheckpointRecord
from apps.rest.specification import document
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_cast
from workers.tasks.checkpoint_sources import source_settings

pytestmark = pytest.mark.django_db

TEXT = """\
model_name: a
environment_variables:
  HF_ENDPOINT: http://169.254.169.254
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: {repo!r}
"""


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.mark.parametrize(
    "repo",
    [
        "http://169.254.169.254/latest/meta-data",
        "//169.254.169.254/x",
        "169.254.169.254:80/x",
        "a/../../x",
        "a/b/../c",
        "a/b?x=@evil.example",
        "a/b#c",
        "a@evil.example/b",
    ],
)
def test_the_hub_is_asked_for_names_and_nothing_that_is_an_address(cast: Cast, repo: str) -> None:
    status, outcome = client_of(cast.owner).post(
        "/v1/configs/check", {"text": TEXT.format(repo=repo)}
    )
    assert (status, outcome["blocks_build"]) == (200, True)
    assert not CheckpointRecord.objects.exists()


def test_the_hubs_address_is_the_operators_whatever_a_config_says(cast: Cast) -> None:
    text = TEXT.format(repo="org/name")
    client_of(cast.owner).post("/v1/configs/check", {"text": text})
    record = CheckpointRecord.objects.get()
    assert "169.254" not in str(record.__dict__)
    assert "169.254" not in str(source_settings())


def test_no_operation_takes_an_address_to_call_back() -> None:
    # Of asynchronous requests, gateways do: tests/workers/tasks/test_async_requests.py.
    report = document()
    request = _named_in(
        [each for path in report["paths"].values() for each in _bodies(path)], report
    )
    names = {name for each in request for name in each.get("properties", {})}
    assert "text" in names
    assert not [name for name in names if "webhook" in name or "callback" in name]


def _bodies(path: dict[str, Any]) -> list[Any]:
    return [each["requestBody"] for each in path.values() if "requestBody" in each]


def _named_in(part: Any, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Every schema that the part names, those within them included."""
    waiting, outcome = [part], {}
    while waiting:
        for name in re.findall(r"#/components/schemas/(\w+)", json.dumps(waiting.pop())):
            if name not in outcome:
                outcome[name] = told["components"]["schemas"][name]
                waiting.append(outcome[name])
    return [*outcome.values()]
