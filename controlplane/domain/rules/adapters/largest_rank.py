"""EH717: adapters of a rank that the runtime has no kernel for."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.adapters.ranks_and_caches import LARGEST_RANK
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_vllm
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at

_ADAPTERS = "trt_llm.build.lora_adapters"
_RANK = "trt_llm.build.lora_configuration.max_lora_rank"
_ONE = {"legal": {"source": "LOCAL", "repo": "/checkpoints/legal"}}
_LARGE = 1024


def _rank(c: Context) -> int:
    shape = c.spec.engine_build.lora_configuration
    return shape.max_lora_rank if shape else 0


def _example(rank: int) -> Example:
    config = {"resources.accelerator": "H100", _ADAPTERS: _ONE, _RANK: rank}
    return on_vllm(Example(config=config, checkpoint=LLAMA_8B))


RANK_ABOVE_THE_ENGINE = Rule(
    code="EH717",
    name="adapter-rank-above-the-engine",
    severity=Severity.ERROR,
    runtimes=VLLM,
    fields=at(_RANK),
    concerns=lambda c: bool(c.spec.engine_build.lora_adapters),
    when=lambda c: _rank(c) > LARGEST_RANK,
    message=lambda c: (
        f"`max_lora_rank` is {_rank(c):,}, and vLLM takes adapters of a rank up to {LARGEST_RANK}. "
        "Merge such an adapter into the weights, or train it with a smaller rank."
    ),
    source=sources.vllm("config/lora.py", checked="2026-11-28"),
    bad=_example(_LARGE),
    good=_example(LARGEST_RANK),
)
