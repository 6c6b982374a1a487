"""A second host joins by the files and steps that are written, builds, and serves."""

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.installation import TINY_YAML
from tests.several_hosts.network import RANGE
from tests.several_hosts.stage import Stage, two_hosts

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.process,
    pytest.mark.allow_hosts([RANGE, "127.0.0.0/8"]),
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    kept = {"MODEL_CLASS_CACHE": os.environ["MODEL_CLASS_CACHE"]}
    with two_hosts(tmp_path_factory.mktemp("hosts"), kept) as stage:
        stage.start_control_plane()
        stage.join_gpu_host()
        yield stage


def test_a_second_host_joins_by_the_files_and_the_examples_of_env(stage: Stage) -> None:
    assert stage.nodes_present() == ["gpu"]


@pytest.fixture(scope="module")
def model(stage: Stage) -> dict[str, Any]:
    return stage.deploy(TINY_YAML)


@pytest.mark.long
def test_what_it_built_it_serves_through_the_gateways_of_both(
    stage: Stage, model: dict[str, Any]
) -> None:
    (build,) = stage.get("builds")["items"]
    assert build["state"] == "succeeded"
    assert len(stage.gpu.pids("workers.runtimes.native")) == 1
    assert stage.control.pids("workers.runtimes.native") == []
    for host in (stage.control, stage.gpu):
        answer = stage.ask(host, model["id"])
        assert answer.status_code == httpx.codes.OK, answer.text
