"""EH7: ranks and caches of LoRA adapters."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity, at
from controlplane.domain.spec.checkpoint_repository import CheckpointRepository
from controlplane.domain.spec.engine_build import LoraConfiguration
from controlplane.domain.spec.trt_llm import TrtLlmV1

_ADAPTERS = "trt_llm.build.lora_adapters"
_RANK = "trt_llm.build.lora_configuration.max_lora_rank"
_CACHE = "trt_llm.runtime.lora_cache"
_CACHE_FIELDS = tuple(
    f"lora_cache_{name}"
    for name in ("max_adapter_size", "optimal_adapter_size", "gpu_memory_fraction",
                 "host_memory_bytes")
)  # fmt: skip
_USUAL_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
LARGEST_RANK = _USUAL_RANKS[-1]
_HIGH_RANK = 64
_TWO = {
    "legal": {"source": "LOCAL", "repo": "/checkpoints/legal"},
    "medical": {"source": "LOCAL", "repo": "/checkpoints/medical"},
}
_BASE: Config = {"resources.accelerator": "L40S", _ADAPTERS: _TWO}


def example(**changes: object) -> Example:
    return Example(config={**_BASE, **changes}, checkpoint=LLAMA_8B)


def adapters(c: Context) -> dict[str, CheckpointRepository]:
    return c.spec.engine_build.lora_adapters or {}


def _rank(c: Context) -> int:
    return (c.spec.engine_build.lora_configuration or LoraConfiguration()).max_lora_rank


def _next_rank(c: Context) -> int:
    return next((rank for rank in _USUAL_RANKS if rank >= _rank(c)), _USUAL_RANKS[-1])


def _is_beyond_model(c: Context) -> bool:
    width = c.known.checkpoint.hidden_size if c.known.checkpoint else None
    return 0 < (width or 0) < _rank(c)


def _idle_cache(c: Context) -> list[str]:
    engine = c.spec.trt_llm
    if not isinstance(engine, TrtLlmV1):
        return []
    return [name for name in _CACHE_FIELDS if getattr(engine.runtime, name) is not None]


HIGH_RANK = Rule(
    code="EH708",
    name="high-adapter-rank",
    severity=Severity.HINT,
    fields=at(_RANK),
    concerns=lambda c: bool(adapters(c)),
    when=lambda c: _rank(c) > _HIGH_RANK,
    message=lambda c: (
        f"`max_lora_rank` is {_rank(c)}, above the default of 64. Every adapter takes room for "
        "that rank whatever its own is; usual ranks are "
        + ", ".join(map(str, _USUAL_RANKS))
        + ", and some base models allow less. Set it to the adapters' `r`."
    ),
    source=sources.lora_guide("max_lora_rank"),
    bad=example(**{_RANK: 256}),
    good=example(**{_RANK: 16}),
)

ODD_RANK = Rule(
    code="EH709",
    name="unusual-adapter-rank",
    severity=Severity.WARNING,
    fields=at(_RANK),
    concerns=lambda c: bool(adapters(c)),
    when=lambda c: (
        8 < _rank(c) < LARGEST_RANK and _rank(c) not in _USUAL_RANKS and not _is_beyond_model(c)
    ),
    message=lambda c: (
        f"`max_lora_rank` {_rank(c)} is none of {', '.join(map(str, _USUAL_RANKS))}: vLLM takes "
        "these only."
    ),
    fix=Fix(label="Use the next one", patch=lambda c: {_RANK: _next_rank(c)}, safe=True),
    source=sources.measured("vllm-project/vllm#2847"),
    bad=example(**{_RANK: 48}),
    good=example(**{_RANK: 64}),
)

RANK_BEYOND_MODEL = Rule(
    code="EH710",
    name="adapter-rank-beyond-the-model",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_RANK),
    concerns=lambda c: bool(adapters(c)),
    when=_is_beyond_model,
    message=lambda c: (
        f"`max_lora_rank` is {_rank(c):,}, and the model is {c.checkpoint.hidden_size or 0:,} "
        "wide: no adapter of it has a higher rank than that."
    ),
    fix=Fix(label="Use the default, 64", patch=lambda _: {_RANK: 64}, safe=False),
    source=sources.lora_guide("max_lora_rank"),
    bad=example(**{_RANK: 8192}),
    good=example(**{_RANK: 64}),
)


IDLE_CACHE = Rule(
    code="EH713",
    name="adapter-cache-without-adapters",
    severity=Severity.HINT,
    fields=lambda c: tuple(f"trt_llm.runtime.{name}" for name in _idle_cache(c)) or (_ADAPTERS,),
    concerns=lambda c: not adapters(c),
    when=lambda c: bool(_idle_cache(c)),
    message=lambda c: (
        ", ".join(f"`{name}`" for name in _idle_cache(c))
        + " has no effect without `lora_adapters`. No page of the hosted product describes these "
        "settings; its parser reads them."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: {f"trt_llm.runtime.{name}": None for name in _idle_cache(c)},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, lora_cache settings"),
    bad=Example(config={f"{_CACHE}_gpu_memory_fraction": 0.1}),
    good=example(**{f"{_CACHE}_gpu_memory_fraction": 0.1}),
)


EXPERTS_WITH_ADAPTERS = Rule(
    code="EH715",
    name="adapters-over-expert-ranks",
    severity=Severity.HINT,
    runtimes=VLLM,
    fields=at(_ADAPTERS, "trt_llm.build.moe_expert_parallel_option"),
    concerns=lambda c: bool(adapters(c)),
    when=lambda c: c.spec.engine_build.moe_expert_parallel_option > 1,
    message=lambda _: (
        "vLLM takes adapters beside expert parallelism only with its default exchange between "
        "GPUs, and we have not run the two together; TensorRT-LLM lists them as untested. Try it "
        "before anyone depends on it."
    ),
    source=sources.vllm("lora/layers/fused_moe.py", checked="2026-11-30"),
    bad=example(
        **{
            "resources.accelerator": "L40S:2",
            "trt_llm.build.tensor_parallel_count": 2,
            "trt_llm.build.moe_expert_parallel_option": 2,
        }
    ),
    good=example(),
)
