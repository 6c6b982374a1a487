from dataclasses import dataclass
from math import ceil

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV2


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """Ranks of each kind; experts are divided over ranks of the tensor group."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline

    def experts_share(self, experts: int) -> float:
        """Return the share of all routed experts that the fullest rank holds."""
        if not experts:
            return 1 / self.tensor
        whole = ceil(experts / self.expert) / experts
        return whole * self.expert / self.tensor


def parallelism_of(spec: Spec, *, tensor: int | None = None) -> Parallelism:
    ranks = tensor or spec.tensor_parallel
    expert_ranks = _experts(spec)
    return Parallelism(
        tensor=ranks,
        pipeline=spec.pipeline_parallel,
        expert=expert_ranks if expert_ranks and ranks % expert_ranks == 0 else 1,
    )


def keeps_experts_whole(spec: Spec, ranks: int) -> bool:
    """Return whether vLLM gives each of so many ranks whole experts: it knows all of them or none.

    The v2 stack passes the size on, and any above 1 turns it on.
    """
    expert_ranks = _experts(spec) or 1
    return expert_ranks > 1 if spec.is_v2 else expert_ranks == ranks > 1


def _experts(spec: Spec) -> int | None:
    engine = spec.trt_llm
    if isinstance(engine, TrtLlmV2):
        return numbers.whole(engine.runtime.patch_kwargs.get("moe_expert_parallel_size"))
    return numbers.whole(engine.build.moe_expert_parallel_option)
