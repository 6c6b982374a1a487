"""What one change of a config would bring: one step more GPUs, one step less precision."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.dotted import set_at
from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.facts.precision_support import precision_refusal
from controlplane.domain.facts.quantization_of_models import QWEN2_CALIBRATION_SAMPLES
from controlplane.domain.memory.memory_plan import MemoryPlan
from controlplane.domain.memory.plan import UnplannableError, plan
from controlplane.domain.memory.sizing import DEVICE_COUNTS, divides, longest_sequence
from controlplane.domain.spec import Spec

Patch = Mapping[str, Any]
_FEWEST_STEP_TOKENS = 1024
_PRECISION = "trt_llm.build.quantization_type"
_ACCELERATOR = "resources.accelerator"


@dataclass(frozen=True, kw_only=True)
class Change:
    kind: str
    """`more_devices`, `less_precision`, `smaller_steps` or `shorter_sequences`."""
    label: str
    patch: Patch
    plan: MemoryPlan
    before: MemoryPlan

    @property
    def more_tokens(self) -> int:
        """Tokens that the KV cache gains; negative where it loses some."""
        return self.plan.kv_tokens - self.before.kv_tokens

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "label": self.label,
            "patch": dict(self.patch),
            "verdict": self.plan.verdict,
            "kv_tokens": self.plan.kv_tokens,
            "sequence_tokens": self.plan.sequence_tokens,
            "full_length_requests": self.plan.full_length_requests,
            "more_tokens": self.more_tokens,
        }


def changes(planned: MemoryPlan) -> tuple[Change, ...]:
    """Return the single changes that a plan on GPUs can be made better by, with their plans."""
    if not planned.inputs.runtime.divides:
        return ()
    lines = []
    for kind, label, patch in _candidates(planned):
        inputs = planned.inputs
        try:
            after = plan(
                patched(inputs.spec, patch), inputs.checkpoint, inputs.device, inputs.runtime
            )
        except (UnplannableError, ValueError):
            continue
        lines.append(Change(kind=kind, label=label, patch=patch, plan=after, before=planned))
    return tuple(lines)


def patched(spec: Spec, patch: Patch) -> Spec:
    """Return the spec with these dotted paths set. Raises `ValueError` where it no longer holds."""
    content = spec.model_dump(mode="json")
    for path, value in patch.items():
        set_at(content, path, value)
    return Spec.model_validate(content)


def _candidates(planned: MemoryPlan) -> Iterator[tuple[str, str, Patch]]:
    yield from _more_devices(planned)
    yield from _less_precision(planned)
    spec = planned.inputs.spec
    limits = spec.limits_path
    if spec.max_num_tokens // 2 >= _FEWEST_STEP_TOKENS and not planned.is_encoder:
        half = spec.max_num_tokens // 2
        yield "smaller_steps", f"Process {half:,} tokens a step", {f"{limits}.max_num_tokens": half}
    longest = longest_sequence(planned)
    if planned.weights_fit and planned.full_length_requests < 1 and longest:
        patch = {f"{limits}.max_seq_len": longest}
        yield "shorter_sequences", f"Take at most {longest:,} tokens a request", patch


def _more_devices(planned: MemoryPlan) -> Iterator[tuple[str, str, Patch]]:
    spec, ranks = planned.inputs.spec, planned.parallelism.tensor
    checkpoint, runtime = planned.inputs.checkpoint, planned.inputs.runtime
    more = [n for n in DEVICE_COUNTS if n > ranks and divides(checkpoint, n, runtime, spec)]
    if not more or spec.base_model.is_encoder:
        return
    kind, count = planned.device_kind, more[0] * planned.parallelism.pipeline
    yield "more_devices", f"Divide it over {count} of {kind}", {
        _ACCELERATOR: f"{kind}:{count}", spec.tensor_parallel_path: more[0],
    }  # fmt: skip


def _less_precision(planned: MemoryPlan) -> Iterator[tuple[str, str, Patch]]:
    spec, checkpoint = planned.inputs.spec, planned.inputs.checkpoint
    if checkpoint.existing_quantization is not None:
        return
    gpu = PLANNABLE_GPUS.get(planned.device_kind)
    for name in spec.quantization_type.precision.smaller:
        if gpu is not None and precision_refusal(
            name, gpu, checkpoint, planned.inputs.runtime.precisions
        ):
            continue
        patch: dict[str, Any] = {_PRECISION: name}
        if (checkpoint.model_type or "").startswith("qwen2"):
            patch["trt_llm.build.quantization_config.calib_size"] = QWEN2_CALIBRATION_SAMPLES
        yield "less_precision", f"Quantize to {name}", patch
        return
