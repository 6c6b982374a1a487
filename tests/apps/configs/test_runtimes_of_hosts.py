"""TensorRT-LLM may be built for where a host is set up to start it, and is named as not yet run."""

from typing import Any

import pytest

from apps.configs.services import examine_text
from apps.fleet.services import CardReport, CardUse, node_observe
from tests.factories import GIB, config_text, make_node, make_team

pytestmark = pytest.mark.django_db
CARD = CardReport(index=0, uuid="GPU-1", kind="H100", memory_bytes=80 * GIB)
TEXT = f"{config_text()}\nenginehouse: {{runtime: trtllm}}\n"


def codes(**said: Any) -> set[str]:
    """Return what is found of the config once the node's agent has said that."""
    node_observe(node=make_node(), boot_id="b", cards={CARD: CardUse()}, **said)
    found = examine_text(team=make_team(), text=TEXT)
    return {each["code"] for each in found.to_json()["findings"]} & {"EH690", "EH692"}


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
    assert codes(**said) == expected
