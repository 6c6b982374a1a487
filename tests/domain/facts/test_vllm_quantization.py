"""Which quantized checkpoints a version of vLLM has a method for."""

import pytest

from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.vllm_quantization import is_deprecated, lacks_method


@pytest.mark.parametrize(
    ("method", "version", "lacks"),
    [
        ("gptq", "0.25", False),
        ("FP8", "0.33", False),
        ("auto-round", "0.25", False),
        ("compressed_tensors", "0.25", False),
        ("bitsandbytes", "0.27", False),
        ("bitsandbytes", "0.28", True),
        ("nvfp4_per_token", "0.25", True),
        ("nvfp4_per_token", "0.26", False),
        ("gptqmodel", "0.33", True),
        ("a-method-of-tomorrow", "0.33", True),
    ],
)
def test_a_method_is_lacking_where_the_release_does_not_list_it(
    method: str, version: str, lacks: bool
) -> None:
    assert lacks_method(ExistingQuantization(method=method), version) is lacks


def test_a_deprecated_method_needs_consent() -> None:
    assert is_deprecated(ExistingQuantization(method="fbgemm_fp8"))
    assert not is_deprecated(ExistingQuantization(method="fp8"))
