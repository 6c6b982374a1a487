from collections.abc import Mapping
from typing import Any

from apps.configs.form_values import stack_of
from controlplane.domain.dotted import value_at
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.quantization import TRIED, quantizes
from controlplane.domain.memory import FitRow
from controlplane.domain.runtimes import RUNTIMES


def cell_name(row: FitRow) -> str:
    """Return what a press on the row's button posts."""
    divided = f"{row.tensor_parallel} {row.pipeline_parallel}"
    return f"{row.offer.kind} {row.quantization_type} {divided}"


def cell_patch(data: Mapping[str, Any], taken: str) -> Mapping[str, Any]:
    """Return what taking a cell changes; nothing where it is no cell."""
    kind, precision, tensor, pipeline = [*taken.split(), "", "", "", ""][:4]
    counts = tensor.isdecimal() and pipeline.isdecimal() and len(tensor + pipeline) <= 4
    if kind not in GPUS or precision not in TRIED or not counts:
        return {}
    devices = int(tensor) * int(pipeline)
    patch: dict[str, Any] = {
        "resources.accelerator": kind if devices == 1 else f"{kind}:{devices}",
        "trt_llm.build.quantization_type": precision if quantizes(precision) else None,
    }
    if stack_of(data) == "v2":
        patch["trt_llm.runtime.tensor_parallel_size"] = int(tensor) if int(tensor) > 1 else None
    else:
        patch["trt_llm.build.tensor_parallel_count"] = int(tensor) if int(tensor) > 1 else None
        patch["trt_llm.build.pipeline_parallel_count"] = (
            int(pipeline) if int(pipeline) > 1 else None
        )
    named = RUNTIMES.get(str(value_at(data, "enginehouse.runtime")))
    if named is not None and not named.needs_gpu:
        patch["enginehouse.runtime"] = None
    return {path: value for path, value in patch.items() if value != value_at(data, path)}
