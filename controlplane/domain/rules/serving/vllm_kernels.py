"""EH685 on: kernels of vLLM that are named, and a GPU or a model that they do not suit."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_attention_backends import (
    lacks_sparse_latent,
    lacks_wide_heads,
    unsuited,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts, on_vllm
from controlplane.domain.rules.named_arguments import argument_paths, named_arguments
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity, at

_ACCELERATOR = "resources.accelerator"
_FIELD = "enginehouse.vllm_args"
_BACKEND = "attention-backend"
_BLOCK_OF_BACKEND = "attention-config"
_BLOCK = "block-size"
_ROUNDING = "enable-mamba-cache-stochastic-rounding"
_STATES = "mamba-ssm-cache-dtype"
_MAMBA_BACKEND = "mamba-backend"
_H100: Config = {_ACCELERATOR: "H100"}
_GLM_5 = facts(architectures=["GlmMoeDsaForCausalLM"], model_type="glm_moe_dsa")
_GEMMA_4 = facts(architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4")
_GPT_OSS = facts(architectures=["GptOssForCausalLM"], model_type="gpt_oss")


def _without(c: Context, *names: str) -> Patch:
    return dict.fromkeys(argument_paths(c, *names))


def named_backend(c: Context) -> str | None:
    """Return the attention backend that the arguments name, by itself or inside its block."""
    given = named_arguments(c)
    block = given.get(_BLOCK_OF_BACKEND)
    named = given.get(_BACKEND) or (block.get("backend") if isinstance(block, dict) else None)
    return named if isinstance(named, str) else None


def _paths_of_backend(c: Context) -> tuple[str, ...]:
    return argument_paths(c, _BACKEND if _BACKEND in named_arguments(c) else _BLOCK_OF_BACKEND)


def _faults(c: Context) -> list[str]:
    named = named_backend(c)
    if named is None:
        return []
    known = c.checkpoint
    is_mla = bool(known.kv_lora_rank) if known.layers and not known.wrapper_model_type else None
    blocks = named_arguments(c).get(_BLOCK)
    return list(
        unsuited(
            named,
            c.gpu,
            c.version,
            model_type=known.model_type,
            is_mla=is_mla,
            architecture=known.architecture,
            head_width=None if is_mla else known.head_dim,
            block_tokens=blocks if isinstance(blocks, int) else None,
        )
    )


UNSUITED_BACKEND = Rule(
    code="EH685",
    name="attention-backend-that-does-not-suit",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=_paths_of_backend,
    may_mark=(_FIELD,),
    concerns=lambda c: named_backend(c) is not None,
    when=lambda c: bool(_faults(c)),
    message=lambda c: (
        f"The attention backend `{named_backend(c)}` {' and '.join(_faults(c))}: vLLM "
        f"{c.version} fails to start on `{c.gpu.kind}`. Without the argument it chooses one "
        "that does."
    ),
    fix=Fix(
        label="Leave the attention backend to vLLM",
        patch=lambda c: dict.fromkeys(_paths_of_backend(c)),
        safe=False,
    ),
    source=sources.vllm("v1/attention/backend.py, validate_configuration", checked="2026-11-30"),
    bad=on_vllm(Example(config={**_H100, _FIELD: {_BACKEND: "FLASHINFER"}}, checkpoint=_GPT_OSS)),
    good=on_vllm(Example(config={**_H100, _FIELD: {_BACKEND: "FLASHINFER"}}, checkpoint=LLAMA_8B)),
)


def _rounds(c: Context) -> bool:
    return named_arguments(c).get(_ROUNDING) is True


def _lacks_rounding(c: Context) -> bool:
    capability, backend = c.gpu.compute_capability, named_arguments(c).get(_MAMBA_BACKEND)
    is_triton = backend is None or str(backend).lower() == "triton"
    return is_triton and capability is not None and capability[0] != 10


ROUNDED_STATES = Rule(
    code="EH686",
    name="rounding-of-states-that-the-gpu-lacks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    fields=lambda c: argument_paths(c, _ROUNDING),
    may_mark=(_FIELD,),
    concerns=_rounds,
    when=lambda c: _lacks_rounding(c) or named_arguments(c).get(_STATES) != "float16",
    message=lambda c: (
        f"`{_ROUNDING}` asks for compute capability 10.0, and `{c.gpu.kind}` has "
        f"{c.gpu.capability_text}: vLLM fails to start."
        if _lacks_rounding(c)
        else f"`{_ROUNDING}` is for states of 16 bits: set `{_STATES}: float16` beside it, or "
        "vLLM fails to start."
    ),
    fix=Fix(label="Keep the states without it", patch=lambda c: _without(c, _ROUNDING), safe=False),
    source=sources.vllm("config/mamba.py, MambaConfig", checked="2026-11-30"),
    bad=on_vllm(Example(config={**_H100, _FIELD: {_ROUNDING: True, _STATES: "float16"}})),
    good=on_vllm(
        Example(
            config={
                "resources.accelerator": "B200",
                _FIELD: {_ROUNDING: True, _STATES: "float16"},
            }
        )
    ),
)

NO_SPARSE_LATENT = Rule(
    code="EH688",
    name="sparse-attention-that-the-gpu-lacks",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.gpu.has_capability(7, 5),
    when=lambda c: lacks_sparse_latent(c.checkpoint.architecture, c.gpu),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` uses sparse attention, and vLLM {c.version} has kernels "
        "for that only on compute capability 9, 10 and 12: it finds no attention backend for "
        f"`{c.gpu.kind}`, which has {c.gpu.capability_text}."
    ),
    otherwise=other_engines,
    source=sources.vllm("v1/attention/backends/mla, sparse backends", checked="2026-11-30"),
    bad=on_vllm(Example(config={_ACCELERATOR: "A100"}, checkpoint=_GLM_5)),
    good=on_vllm(Example(config=_H100, checkpoint=_GLM_5)),
)

NO_WIDE_HEADS = Rule(
    code="EH693",
    name="heads-wider-than-the-gpu-takes",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.gpu.has_capability(7, 5),
    when=lambda c: lacks_wide_heads(c.checkpoint.architecture, c.gpu),
    message=lambda c: (
        f"Some attention heads of `{c.checkpoint.architecture}` are 512 wide, and the kernel for "
        f"those needs 96 KiB of shared memory: `{c.gpu.kind}` has 64 KiB, so vLLM {c.version} "
        "fails to start."
    ),
    otherwise=other_engines,
    source=sources.vllm("v1/attention/ops/triton_unified_attention.py", checked="2026-11-30"),
    bad=on_vllm(Example(config={_ACCELERATOR: "T4"}, checkpoint=_GEMMA_4)),
    good=on_vllm(Example(config=_H100, checkpoint=_GEMMA_4)),
)
