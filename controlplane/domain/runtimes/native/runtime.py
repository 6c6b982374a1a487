from collections.abc import Iterator
from types import MappingProxyType

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.lookahead_tuning.settings import DraftManner
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.gpu_values import route_values
from controlplane.domain.runtimes.launch import Launch, Start
from controlplane.domain.runtimes.native import (
    capabilities,
    failures,
    metrics,
    proofs,
    render,
    routes,
)
from controlplane.domain.runtimes.native.chat_forms import tool_refusal
from controlplane.domain.runtimes.native.effective import effective_values
from controlplane.domain.runtimes.native.lookahead_steps import STEPS
from controlplane.domain.runtimes.native.memory import MEMORY
from controlplane.domain.runtimes.native.reasons import READ, REASONS
from controlplane.domain.runtimes.runtime import PlannedDevice, Runtime, Task
from controlplane.domain.spec import Spec


class Native(Runtime):
    """Our own engine: on every host's CPU, and on one GPU."""

    name = MEMORY.name
    label = "native"
    title = "the native engine"
    capabilities = capabilities
    proofs = proofs
    routes = routes
    metrics = metrics
    failures = failures
    memory = MEMORY
    # It expands quantized weights, so that a GPU may not hold them.
    ranks = MappingProxyType({Task.TEXT: 1, Task.VECTORS: 0, Task.QUANTIZED_VECTORS: 1})
    run_by_us = capabilities.RUN_BY_US
    was_run_on_gpus = True
    started = "on every host"
    is_built_in = True
    lacks_responses = True
    needs_gpu = False
    takes_dtype = True
    runs_remote_code = False
    has_default_length = True
    draft_manner = DraftManner.BY_MATCH
    draft_lengths = (4, 8, 16, 32, 64)
    measured_steps = STEPS
    not_told = REASONS
    told_alone = READ
    generating_words = f"It serves {', '.join(sorted(capabilities.GENERATED))}."
    pooling_words = (
        f"It knows {', '.join(capabilities.POOLED_FAMILIES)}, "
        f"as {', '.join(capabilities.POOLED_HEADS)}."
    )

    def render(self, spec: Spec, checkpoint: CheckpointFacts, start: Start) -> Launch:
        return render.render(
            spec, checkpoint, computes_bfloat16=start.computes_bfloat16, **start.shared()
        )

    def generates(self, architecture: str) -> bool:
        """Return whether its answers are compared with those of Transformers."""
        return architecture in capabilities.GENERATED

    def takes(self, spec: Spec, checkpoint: CheckpointFacts | None) -> bool:
        if spec.accelerator_count != 1:
            return False
        if not spec.base_model.is_encoder or checkpoint is None:
            return True
        return self.pools(checkpoint.architecture or "")

    def pools(self, architecture: str) -> bool:
        return capabilities.pools(architecture)

    def tool_refusal(self, spec: Spec, checkpoint: CheckpointFacts) -> str | None:
        return tool_refusal(spec, checkpoint)

    def effective_values(
        self, spec: Spec, checkpoint: CheckpointFacts | None, device: PlannedDevice | None
    ) -> Iterator[EffectiveValue]:
        yield from effective_values(spec, checkpoint, device)
        if spec.base_model.is_encoder:
            yield from route_values(spec, checkpoint, self)


RUNTIME = Native()
