"""A second host joins by the files and steps that are written, builds, serves, and is cut off."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.compose_files import ROOT
from tests.e2e.installation import TINY_YAML, eventually
from tests.gates import Gates
from tests.several_hosts.host import Host
from tests.several_hosts.network import RANGE, namespaces_can_be_made
from tests.several_hosts.stage import GATEWAY, WEB, WITHOUT_GPU, Stage, two_hosts

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.process,
    pytest.mark.allow_hosts([RANGE, "127.0.0.0/8"]),
]
_ENGINE, _GATE = "workers.runtimes.native", "inspect"
cut = pytest.mark.skipif(
    not namespaces_can_be_made(),
    reason="no network namespaces can be made: that takes root, iproute2 and iptables",
)


@pytest.fixture(scope="module")
def gates() -> Iterator[Gates]:
    with Gates() as kept:
        yield kept


@pytest.fixture(scope="module")
def both_hosts(tmp_path_factory: pytest.TempPathFactory, gates: Gates) -> Iterator[Stage]:
    more = {**_kept_between_runs(), **gates.environment}
    with two_hosts(tmp_path_factory.mktemp("hosts"), more) as stage:
        stage.start_control_plane()
        stage.join_gpu_host()
        yield stage


@pytest.fixture
def stage(both_hosts: Stage, gates: Gates) -> Iterator[Stage]:
    """Both hosts, on a network that is whole again afterwards."""
    yield both_hosts
    both_hosts.heal()
    gates.let_go(_GATE)


def _kept_between_runs() -> dict[str, str]:
    return {"MODEL_CLASS_CACHE": os.environ["MODEL_CLASS_CACHE"]}


@pytest.fixture(scope="module")
def model(both_hosts: Stage) -> dict[str, Any]:
    return both_hosts.deploy(TINY_YAML)


def _answers(stage: Stage, host: Host, model: dict[str, Any]) -> bool:
    return stage.ask(host, model["id"]).status_code == httpx.codes.OK


def _is_whole(stage: Stage, model: dict[str, Any]) -> bool:
    return (
        stage.nodes_present() == ["gpu"]
        and len(stage.gpu.pids(_ENGINE)) == 1
        and all(_answers(stage, host, model) for host in (stage.control, stage.gpu))
    )


def test_a_second_host_joins_by_the_files_and_the_examples_of_env(stage: Stage) -> None:
    assert stage.nodes_present() == ["gpu"]
    assert stage.is_up(stage.gpu, GATEWAY, "/health")


@pytest.mark.long
def test_what_it_built_it_serves_through_the_gateways_of_both(
    stage: Stage, model: dict[str, Any]
) -> None:
    (build,) = stage.get("builds")["items"]
    assert build["state"] == "succeeded"
    assert len(stage.gpu.pids(_ENGINE)) == 1
    assert stage.control.pids(_ENGINE) == []
    for host in (stage.control, stage.gpu):
        answer = stage.ask(host, model["id"])
        assert answer.status_code == httpx.codes.OK, answer.text


@cut
@pytest.mark.long
def test_cut_off_from_the_control_plane_it_serves_by_its_own_gateway(
    stage: Stage, model: dict[str, Any]
) -> None:
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole before the cut"))
    engines = stage.gpu.pids(_ENGINE)
    stage.cut_from_control_host()
    eventually(lambda: stage.nodes_present() == [], what=stage.told("the silence is seen"))
    assert _answers(stage, stage.gpu, model)
    assert stage.gpu.pids(_ENGINE) == engines
    stage.heal()
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole after the cut"))


@cut
@pytest.mark.long
def test_cut_off_from_the_broker_it_serves_and_learns_of_changes(
    stage: Stage, model: dict[str, Any]
) -> None:
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole before the cut"))
    stage.cut_from_broker()
    stage.api_key = stage.make_api_key("made while the broker was away")
    eventually(lambda: _is_whole(stage, model), what=stage.told("a new key is known"))


@cut
@pytest.mark.long
def test_cut_off_from_the_database_it_serves_and_its_build_begins_anew_afterwards(
    stage: Stage, model: dict[str, Any], gates: Gates
) -> None:
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole before the cut"))
    came = len(gates.came(_GATE))
    gates.hold(_GATE)
    build = stage.build("again", TINY_YAML.replace("max_batch_size: 4", "max_batch_size: 3"))
    gates.wait_for_arrival(_GATE, after=came)
    stage.cut_from_database()
    eventually(
        lambda: stage.get(f"builds/{build['id']}")["state"] == "queued",
        what=stage.told("the lost build waits for a worker"),
    )
    assert all(_answers(stage, host, model) for host in (stage.control, stage.gpu))
    stage.heal()
    gates.let_go(_GATE)
    eventually(
        lambda: stage.get(f"builds/{build['id']}")["state"] == "succeeded",
        what=stage.told("the build is done"),
    )


@cut
@pytest.mark.long
def test_powered_off_and_on_it_serves_again(stage: Stage, model: dict[str, Any]) -> None:
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole before the end"))
    stage.power_off()
    eventually(lambda: stage.nodes_present() == [], what=stage.told("the silence is seen"))
    assert stage.gpu.pids("") == []
    stage.power_on()
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole again"))


@pytest.mark.long
def test_restored_from_its_dump_as_written_it_is_whole_and_knows_what_it_knew(
    stage: Stage, model: dict[str, Any]
) -> None:
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole before the dump"))
    dump, known = _run_on_postgres(stage, "pg_dump"), stage.api_key
    stage.api_key = stage.make_api_key("made after the dump")
    eventually(lambda: _is_whole(stage, model), what=stage.told("the later key is known"))
    stage.control.stop("web", "scheduler", "control", "async")
    for program in ("dropdb", "createdb"):
        _run_on_postgres(stage, program)
    _run_on_postgres(stage, "pg_restore", typed=dump)
    stage.control.run("prepare")
    stage.control.up(*WITHOUT_GPU)
    eventually(lambda: stage.is_up(stage.control, WEB, "/readyz"), what=stage.told("the web"))
    eventually(
        lambda: not any(_answers(stage, host, model) for host in (stage.control, stage.gpu)),
        what=stage.told("gateways that know the later key no more"),
    )
    stage.api_key = known
    eventually(lambda: _is_whole(stage, model), what=stage.told("whole after it was restored"))
    assert {each["state"] for each in stage.get("builds")["items"]} == {"succeeded"}


def _run_on_postgres(stage: Stage, program: str, *, typed: bytes = b"") -> bytes:
    """Run a program of PostgreSQL with exactly the words of the page."""
    page = (ROOT / "docs" / "operations.md").read_text()
    text = f"docker compose exec -T postgres ({program} .*?)(?: [<>] .*)?$"
    (line,) = re.findall(text, page, re.MULTILINE)
    return stage.control.beside_postgres(*shlex.split(line), typed=typed)


@pytest.mark.long
def test_where_no_namespaces_can_be_made_hosts_join_by_loopback_addresses(tmp_path: Path) -> None:
    with two_hosts(tmp_path, _kept_between_runs(), on_loopback=True) as stage:
        stage.start_control_plane()
        stage.join_gpu_host()
        model = stage.deploy(TINY_YAML)
        assert _is_whole(stage, model)
