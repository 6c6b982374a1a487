"""What each attention backend of vLLM asks of a GPU and of a model, by version.

Source: `supports_compute_capability`, `is_mla`, `supports_sink`, `get_supported_head_sizes` and
`get_supported_kernel_block_sizes` of the classes in
`v1/attention/backends/`, and `validate_configuration` of `v1/attention/backend.py`;
vLLM 0.25.1 to 0.33.0, checked 2026-11-30. A backend that is not here is not judged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.domain.facts.gpus import Gpu

_MODELS_WITH_SINKS = frozenset({"gpt_oss"})


@dataclass(frozen=True, kw_only=True)
class Backend:
    majors: tuple[int, ...]
    """Major compute capabilities that it runs on; empty for all."""
    is_mla: bool = False
    sinks_on: tuple[int, ...] | None = None
    """Major compute capabilities on which it takes attention sinks; None where that varies."""
    sinks_since: Mapping[int, str] | None = None
    """Further ones, and the version that they came with."""
    heads: tuple[int, ...] = ()
    """Widths of heads that it computes; empty for all."""
    blocks_of: int = 16
    """Tokens of a block of its KV cache, of which a larger block is a multiple."""


_AMPERE_ON = (8, 9, 10, 11, 12)
_BACKENDS: Mapping[str, Backend] = {
    "CUTLASS_MLA": Backend(majors=(10,), is_mla=True, blocks_of=128),
    "FLASH_ATTN": Backend(majors=_AMPERE_ON, sinks_on=(9, 10, 11), sinks_since={}),
    "FLASH_ATTN_MLA": Backend(majors=(9,), is_mla=True),
    "FLASHINFER": Backend(
        majors=_AMPERE_ON, sinks_on=(10,), sinks_since={12: "0.28"}, heads=(64, 128, 256, 512)
    ),
    "FLASHINFER_MLA": Backend(majors=(10,), is_mla=True, blocks_of=32),
    "FLASHMLA": Backend(majors=(9, 10), is_mla=True, blocks_of=64),
    "FLEX_ATTENTION": Backend(majors=(), sinks_on=()),
    "TOKENSPEED_MLA": Backend(majors=(10,), is_mla=True, blocks_of=32),
    "TRITON_ATTN": Backend(majors=()),
    "TRITON_MLA": Backend(majors=(), is_mla=True),
}


_SPARSE_LATENT_ON = (9, 10, 12)
"""Major compute capabilities with a kernel for latent attention that picks its tokens.
Source: `supports_compute_capability` of `v1/attention/backends/mla/*sparse*.py` and of
`models/deepseek_v4/`, 0.25.1 to 0.33.0, 2026-11-30."""
_PICKS_TOKENS = frozenset(
    {
        "DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM", "DeepseekV4ForConditionalGeneration",
        "DeepseekV41ForCausalLM", "Glm5NextForCausalLM", "GlmMoeDsaForCausalLM",
    }
)  # fmt: skip


def lacks_sparse_latent(architecture: str | None, gpu: Gpu) -> bool:
    """Return whether the class picks the tokens that it attends to, and the GPU has no kernel."""
    capability = gpu.compute_capability
    if architecture not in _PICKS_TOKENS or capability is None:
        return False
    return capability[0] not in _SPARSE_LATENT_ON


_WIDE_HEADS = frozenset({"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"})
"""Classes whose global layers have heads of 512 numbers. Their kernel wants 96 KiB of shared
memory, and compute capability 7.5 has 64. Source: vllm#57712 (0.26.0), 2026-11-30."""


def lacks_wide_heads(architecture: str | None, gpu: Gpu) -> bool:
    """Return whether the heads of the class are too wide for the GPU's shared memory."""
    return architecture in _WIDE_HEADS and gpu.compute_capability == (7, 5)


def unsuited(
    name: str,
    gpu: Gpu,
    version: str,
    *,
    model_type: str | None,
    is_mla: bool | None,
    architecture: str | None = None,
    head_width: int | None = None,
    block_tokens: int | None = None,
) -> Iterator[str]:
    """Yield what keeps that backend from starting, in words; nothing for one not known here."""
    backend = _BACKENDS.get(name.upper())
    if backend is None or gpu.compute_capability is None:
        return
    major = gpu.compute_capability[0]
    if backend.majors and major not in backend.majors:
        yield f"does not run on compute capability {gpu.capability_text}"
    if is_mla is not None and is_mla is not backend.is_mla:
        yield "computes latent attention alone" if backend.is_mla else "has no latent attention"
    if architecture in _PICKS_TOKENS:
        yield "attends to every token, where the model picks some"
    if model_type in _MODELS_WITH_SINKS and not _takes_sinks(backend, major, version):
        yield "does not take the model's attention sinks on this GPU"
    if backend.heads and head_width is not None and head_width not in backend.heads:
        listed = ", ".join(map(str, backend.heads))
        yield f"computes heads of {listed} alone, where the model's have {head_width}"
    if block_tokens is not None and block_tokens % backend.blocks_of:
        yield f"keeps blocks of {backend.blocks_of} tokens, which {block_tokens} is no multiple of"


def _takes_sinks(backend: Backend, major: int, version: str) -> bool:
    if backend.sinks_on is None or major in backend.sinks_on:
        return True
    since = (backend.sinks_since or {}).get(major)
    return since is not None and _number(version) >= _number(since)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
