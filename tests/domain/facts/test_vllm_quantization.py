"""Which quantized checkpoints a version of vLLM has a method for."""

import pytest

from controlplane.domain.facts.existing_quantization import (
    ExistingQuantization,
    read_quantization,
)
from controlplane.domain.facts.vllm_quantization import (
    computes_in,
    is_deprecated,
    lacks_method,
    unread_scheme,
)


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


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, "is in ModelOpt's `W4A8_AWQ`"),
        ({"quant_method": "modelopt", "quant_algo": "nvfp4"}, None),
        ({"quant_method": "modelopt_fp4"}, None),
        ({"quant_method": "compressed-tensors", "format": "marlin-24"}, "leaves out zeros"),
        (
            {"quant_method": "compressed-tensors", "format": "float-quantized",
             "sparsity_config": {"targets": ["Linear"], "format": "sparse-24-bitmask"}},
            "leaves out zeros",
        ),
        (
            {"quant_method": "compressed-tensors", "format": "float-quantized",
             "sparsity_config": {"targets": [], "format": "dense"}},
            None,
        ),
    ],
)  # fmt: skip
def test_a_scheme_without_a_loader_is_named(block: dict[str, object], words: str | None) -> None:
    existing = read_quantization({"quantization_config": block}, None)
    assert existing is not None
    statement = unread_scheme(existing, "0.25")
    assert statement is None if words is None else words in str(statement)


@pytest.mark.parametrize(
    ("method", "algorithm", "number_type", "computes"),
    [
        ("gptq", None, "float32", False),
        ("compressed-tensors", "INT4", "float32", True),
        ("mxfp4", None, "float16", False),
        ("modelopt", "MXFP8", "float16", False),
        ("awq", None, "float16", True),
        ("fp8", None, "bfloat16", True),
    ],
)
def test_a_method_computes_in_some_types_of_numbers(
    method: str, algorithm: str | None, number_type: str, computes: bool
) -> None:
    existing = ExistingQuantization(method=method, algorithm=algorithm)
    assert computes_in(existing, number_type) is computes
