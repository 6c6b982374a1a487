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
    entries = list(unsuited(name, GPUS[kind], version, model_type=model_type, is_mla=is_mla))
    assert len(entries) == faults


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


@pytest.mark.parametrize(
    ("name", "head_width", "block_tokens", "words"),
    [
        ("FLASHINFER", 96, None, "computes heads of 64, 128, 256, 512 alone"),
        ("FLASHINFER", 128, 48, ""),
        ("TRITON_ATTN", 96, 16, ""),
        ("FLASH_ATTN", 128, 40, "keeps blocks of 16 tokens"),
    ],
)
def test_a_backend_is_judged_by_its_heads_and_blocks(
    name: str, head_width: int, block_tokens: int | None, words: str
) -> None:
    reasons = unsuited(
        name, GPUS["H100"], "0.25", model_type="llama", is_mla=False,
        head_width=head_width, block_tokens=block_tokens,
    )  # fmt: skip
    text = " ".join(reasons)
    assert words in text
    assert bool(text) is bool(words)


def test_a_block_of_latents_holds_as_many_tokens_as_its_kernel_reads() -> None:
    reasons = unsuited(
        "FLASHMLA", GPUS["H100"], "0.25", model_type="deepseek_v3", is_mla=True, block_tokens=32
    )
    assert [*reasons] == ["keeps blocks of 64 tokens, which 32 is no multiple of"]


def test_a_backend_that_attends_to_every_token_is_none_for_a_model_that_picks_some() -> None:
    reasons = unsuited(
        "CUTLASS_MLA", GPUS["B200"], "0.25", model_type="deepseek_v32", is_mla=True,
        architecture="DeepseekV32ForCausalLM",
    )  # fmt: skip
    assert [*reasons] == ["attends to every token, where the model picks some"]
