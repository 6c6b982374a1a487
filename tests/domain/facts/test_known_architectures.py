"""What one list of classes names is known to the list that refuses the rest."""

import pytest

from controlplane.domain.facts import vllm_class_limits
from controlplane.domain.facts.known_architectures import is_known_generator
from controlplane.domain.facts.trtllm_classes import TRTLLM_CLASSES

LISTS = {
    "TensorRT-LLM": TRTLLM_CLASSES,
    "vLLM, without stages": vllm_class_limits.WITHOUT_STAGES,
    "vLLM, without adapters": vllm_class_limits._WITHOUT_ADAPTERS,
}


@pytest.mark.parametrize("named", LISTS.values(), ids=LISTS)
def test_a_class_with_a_row_of_its_own_is_not_refused_as_unknown(named: frozenset[str]) -> None:
    assert not [each for each in named if not is_known_generator(each)]


def test_a_class_that_nobody_names_is_unknown() -> None:
    assert not is_known_generator("Llama31ForCausalLM")
