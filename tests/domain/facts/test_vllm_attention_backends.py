"""Whether a named attention backend of vLLM runs on a GPU and suits a model."""

import pytest

from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.vllm_attention_backends import lacks_sparse_latent, unsuited


@pytest.mark.parametrize(
    ("name", "kind", "version", "model_type", "is_mla", "faults"),
    [
        ("FLASHINFER", "H100", "0.25", "gpt_oss", False, 1),
        ("flashinfer", "B200", "0.25", "gpt_oss", False, 0),
        ("FLASHINFER", "RTX_PRO_6000", "0.27", "gpt_oss", False, 1),
        ("FLASHINFER", "RTX_PRO_6000", "0.28", "gpt_oss", False, 0),
        ("FLASH_ATTN", "A100", "0.25", "gpt_oss", False, 1),
        ("TRITON_ATTN", "T4", "0.25", "gpt_oss", False, 0),
        ("FLASH_ATTN", "T4", "0.25", "llama", False, 1),
        ("FLASHMLA", "A100", "0.25", "llama", False, 2),
        ("TRITON_MLA", "A100", "0.25", "deepseek_v3", True, 0),
        ("TRITON_ATTN", "A100", "0.25", "deepseek_v3", True, 1),
        ("TRITON_MLA", "A100", "0.25", "unknown", None, 0),
        ("OF_TOMORROW", "T4", "0.25", "llama", False, 0),
    ],
)
def test_a_backend_is_judged_by_gpu_version_and_attention(
    name: str, kind: str, version: str, model_type: str, is_mla: bool | None, faults: int
) -> None:
    found = list(unsuited(name, GPUS[kind], version, model_type=model_type, is_mla=is_mla))
    assert len(found) == faults


@pytest.mark.parametrize(
    ("architecture", "kind", "lacks"),
    [
        ("GlmMoeDsaForCausalLM", "A100", True),
        ("DeepseekV4ForCausalLM", "L4", True),
        ("DeepseekV32ForCausalLM", "H100", False),
        ("GlmMoeDsaForCausalLM", "RTX_PRO_6000", False),
        ("DeepseekV3ForCausalLM", "A100", False),
        (None, "A100", False),
    ],
)
def test_attention_that_picks_its_tokens_wants_a_kernel(
    architecture: str | None, kind: str, lacks: bool
) -> None:
    assert lacks_sparse_latent(architecture, GPUS[kind]) is lacks
