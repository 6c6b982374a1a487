"""What each runtime can do here, on its page and over REST."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.ui.templatetags.ui import is_about_runtime
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.rules import ALL_RULES
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.capability import Feature
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import (
    config_text,
    make_api_key,
    make_cast,
    make_config,
    make_device,
    make_node,
    make_revision,
)
from tests.folded import folded

pytestmark = pytest.mark.django_db
GIB = 1024**3


def join_host(name: str, kinds: tuple[str, ...], **changes: Any) -> None:
    node = make_node(name=name, **changes)
    for kind in kinds:
        make_device(node=node, kind=kind, memory_bytes=80 * GIB)


def page(user: User, query: str = "") -> str:
    answer = signed_in(user).get(f"/runtimes/{query}")
    assert answer.status_code == 200
    return folded(answer.content.decode())


def test_without_a_host_every_kind_is_shown_and_it_is_said() -> None:
    text = page(make_cast().owner)
    assert "There is no host that takes new work, so every kind of GPU is shown." in text
    assert "vLLM 0.25" in text
    assert "RTX_PRO_6000" in text
    assert "every kind</a>" not in text


def test_a_host_decides_the_version_the_kinds_and_who_starts_it() -> None:
    join_host(
        "gpu-host-3", ("H100", "L4"), runtimes=["native", "vllm"],
        runtime_versions={"vllm": "0.27.1"},
    )  # fmt: skip
    cast = make_cast()
    text = page(cast.owner)
    assert 'tabindex="-1">vLLM 0.27' in text
    assert "gpu-host-3</a> <code>0.27.1</code>" in text
    assert "RTX_PRO_6000" not in text
    assert "RTX_PRO_6000" in page(cast.owner, "?gpus=every")
    assert 'tabindex="-1">TensorRT-LLM 1.3' in page(cast.owner, "?runtime=trtllm&version=1.3")


def test_a_host_that_takes_no_new_work_counts_as_little_as_for_the_checks() -> None:
    join_host("gpu-host-3", ("H100",), runtimes=["vllm"], runtime_versions={"vllm": "0.27.1"})
    join_host(
        "leaving", ("L4",), runtimes=["vllm"], runtime_versions={"vllm": "0.25.1"}, cordoned=True
    )
    text = page(make_cast().owner)
    assert "leaving" not in text
    assert 'tabindex="-1">vLLM 0.27' in text


def test_on_a_host_without_a_gpu_the_native_engine_comes_first() -> None:
    join_host("workbench", ("CPU",), runtimes=["native"])
    text = page(make_cast().owner)
    assert 'tabindex="-1">native 0.1' in text
    assert "<b>CPU</b>" in text


@pytest.mark.parametrize(
    "query", ["?runtime=<script>", "?runtime=vllm&version=<script>", "?version=9999.1", "?gpus=<b>"]
)
def test_what_is_not_known_shows_the_usual_table_and_is_not_echoed(query: str) -> None:
    text = page(make_cast().owner, query)
    assert "vLLM 0." in text
    assert "<script>" not in text


def test_each_version_of_each_runtime_has_its_table() -> None:
    owner = make_cast().owner
    for name, runtime in RUNTIMES.items():
        for version in runtime.capabilities.VERSIONS:
            text = page(owner, f"?runtime={name}&version={version}")
            assert f'tabindex="-1">{runtime.label} {version}' in text
            assert all(feature.value in text for feature in Feature)


def test_more_hosts_take_no_more_queries() -> None:
    client = signed_in(make_cast().owner)
    join_host("gpu-host-1", ("H100",), runtimes=["vllm"])
    client.get("/runtimes/")
    few = queries_of(client, "/runtimes/")
    for number in range(2, 8):
        join_host(f"gpu-host-{number}", ("H100", "L4"), runtimes=["vllm", "trtllm"])
    assert queries_of(client, "/runtimes/") == few == committed_queries("runtimes")


def asked(path: str, key: str) -> Any:
    return Client().get(path, headers={"Authorization": f"Bearer {key}"})


def test_rest_tells_the_hosts_and_every_cell() -> None:
    join_host(
        "gpu-host-3", ("H100",), runtimes=["vllm"], runtime_versions={"vllm": "0.26.0"}
    )  # fmt: skip
    key = make_api_key()
    listed = asked("/v1/runtimes", key).json()["runtimes"]
    vllm = next(each for each in listed if each["name"] == "vllm")
    assert [host["version"] for host in vllm["hosts"]] == ["0.26.0"]
    assert vllm["version_here"] == "0.26"
    table = asked("/v1/runtimes/vllm", key).json()
    assert table["version"] == "0.26"
    assert table["owned_kinds"] == ["H100"]
    rows = [(each["feature"], kind) for each in table["features"] for kind in each["kinds"]]
    assert len(rows) == len(set(rows)) == len(Feature) * (len(GPUS) - 1)
    assert table["features"][0]["kinds"] == ["H100"]
    newer = asked("/v1/runtimes/vllm?version=0.33", key).json()
    pairs = [frozenset(each["features"]) for each in table["pairs"]]
    assert frozenset({"structured output", "pipeline parallelism"}) in pairs
    assert len(newer["pairs"]) < len(pairs)


@pytest.mark.parametrize(
    ("path", "hint"),
    [("/v1/runtimes/sglang", "`trtllm`"), ("/v1/runtimes/vllm?version=0.1", "`0.33`")],
)
def test_rest_names_what_there_is_where_something_else_is_asked(path: str, hint: str) -> None:
    answer = asked(path, make_api_key())
    assert answer.status_code == 404
    assert hint in answer.content.decode()


def test_the_editor_leads_from_a_finding_to_the_table_of_its_runtime(broker: str) -> None:
    join_host("old", ("V100",), runtimes=["vllm"], runtime_versions={"vllm": "0.26.0"})
    cast = make_cast()
    config = make_config(team=cast.team)
    text = config_text() + "enginehouse: {runtime: vllm}\n"
    text = text.replace("resources:", "resources:\n  accelerator: V100", 1)
    make_revision(config=config, text=text)
    outcome = folded(signed_in(cast.owner).get(f"/configs/{config.id}/").content.decode())
    assert "EH656" in outcome
    assert (
        '<a href="/runtimes/?runtime=vllm&amp;version=0.26&amp;gpus=every">Runtimes</a>' in outcome
    )


def test_gpu_fit_leads_to_the_tables(broker: str) -> None:
    body = {"text": config_text(), "might_get": "on"}
    answer = signed_in(make_cast().owner).post("/configs/new/fit/", body)
    assert '<a href="/runtimes/">runtimes</a>' in folded(answer.content.decode())


def test_a_finding_that_says_what_the_tables_say_leads_to_them() -> None:
    leading = {rule.code for rule in ALL_RULES if is_about_runtime(rule.code)}
    assert leading >= {"EH104", "EH116", "EH310", "EH655", "EH663", "EH664", "EH690", "EH707"}
    assert "EH501" not in leading
