"""What the hosts of a pool are set up to start decides what `auto` means and what is refused."""

from typing import Any

import pytest

from apps.configs.services.examination import examine_parsed, examine_text, parsed_text
from apps.fleet.services.nodes import DeviceReport, DeviceUse, node_observe, node_versions_note
from controlplane.domain.rules import Examination
from tests.factories import GIB, config_text, make_node, make_team

pytestmark = pytest.mark.django_db
DEVICE = DeviceReport(index=0, uuid="GPU-1", kind="H100", memory_bytes=80 * GIB)


def text_of(runtime: str, pool: str = "default") -> str:
    on_a_device = f"{config_text()}\n".replace("resources:\n", "resources:\n  accelerator: H100\n")
    assert "H100" in on_a_device
    return f"{on_a_device}enginehouse: {{runtime: {runtime}, pool: {pool}}}\n"


def examined(text: str) -> Examination:
    return examine_text(team=make_team(), text=text)


def codes(examination: Examination) -> set[str]:
    outcome = {each["code"] for each in examination.to_json()["findings"]}
    return outcome & {"EH690", "EH692"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"runtimes": ["native", "trtllm"]}, {"EH692"}),
        ({"runtimes": ["native", "vllm"]}, {"EH690"}),
        ({"runtimes": ["of a newer release"]}, {"EH690"}),
        ({}, {"EH690"}),  # an older agent does not say
    ],
)
def test_what_a_host_is_set_up_to_start_decides(said: dict[str, Any], expected: set[str]) -> None:
    node_observe(node=make_node(), boot_id="b", devices={DEVICE: DeviceUse()}, **said)
    assert codes(examined(text_of("trtllm"))) == expected


@pytest.mark.parametrize(
    ("runtimes", "runtime"),
    [
        (["native", "vllm"], "vllm"),
        (["native", "vllm", "trtllm"], "vllm"),
        (["native"], "native"),
        ([], "native"),
    ],
)
def test_auto_means_what_the_hosts_with_that_device_start(
    runtimes: list[str], runtime: str
) -> None:
    node_observe(node=make_node(), boot_id="b", devices={DEVICE: DeviceUse()}, runtimes=runtimes)
    examination = examined(text_of("auto"))
    assert (examination.runtime, codes(examination)) == (runtime, set())


def test_hosts_that_start_no_vllm_are_not_said_to_and_do_not_have_it_offered() -> None:
    node_observe(node=make_node(), boot_id="b", devices={DEVICE: DeviceUse()}, runtimes=["native"])
    findings = examined(text_of("vllm")).report.findings
    finding = next(each for each in findings if each.code == "EH690")
    assert finding.message.startswith("The hosts with `H100` start `native` alone; `vllm` on H100")
    assert finding.fix is not None
    assert finding.fix.patch["enginehouse.runtime"] == "native"


def test_the_hosts_of_the_configs_own_pool_decide() -> None:
    other = DeviceReport(index=0, uuid="GPU-2", kind="H100", memory_bytes=80 * GIB)
    for pool, device, runtimes in (("a", DEVICE, ["native"]), ("b", other, ["native", "vllm"])):
        node_observe(
            node=make_node(pool=pool), boot_id="b", devices={device: DeviceUse()}, runtimes=runtimes
        )
    assert [examined(text_of("auto", pool)).runtime for pool in "ab"] == ["native", "vllm"]


def test_a_device_that_one_might_get_is_planned_for_vllm_and_not_refused() -> None:
    outcome = examine_parsed(team=make_team(), parsed=parsed_text(text_of("auto")), might_get=True)
    assert (outcome.runtime, codes(outcome)) == ("vllm", set())
    assert codes(examined(text_of("auto"))) == {"EH690"}


@pytest.mark.parametrize(("version", "expected"), [("0.27.1", "0.25"), ("0.25.1", None)])
def test_a_version_without_a_list_of_routes_is_told_with_whose_list_it_takes(
    version: str, expected: str | None
) -> None:
    node = make_node()
    node_observe(node=node, boot_id="b", devices={DEVICE: DeviceUse()}, runtimes=["native", "vllm"])
    node_versions_note(node=node, versions={"vllm": version})
    findings = examined(text_of("vllm")).report.findings
    messages = [each.message for each in findings if each.code == "EH648"]
    assert [f"vLLM `{version}`" in each and f"`{expected}`" in each for each in messages] == (
        [True] if expected else []
    )


def test_versions_of_what_a_host_no_longer_starts_are_not_told() -> None:
    node = make_node()
    node_versions_note(node=node, versions={"vllm": "0.27.1"})
    node_observe(node=node, boot_id="b", devices={DEVICE: DeviceUse()}, runtimes=["native"])
    codes_found = {each.code for each in examined(text_of("vllm")).report.findings}
    assert "EH648" not in codes_found
