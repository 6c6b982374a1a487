from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.trtllm_classes import lacks_class
from controlplane.domain.facts.trtllm_formats import lacks_attention, lacks_format
from controlplane.domain.lookahead_tuning.settings import DraftManner
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.gpu_values import gpu_values
from controlplane.domain.runtimes.launch import Launch, Start
from controlplane.domain.runtimes.runtime import HostSetting, PlannedDevice, Runtime, Task
from controlplane.domain.runtimes.trtllm import (
    capabilities,
    export,
    failures,
    metrics,
    parse,
    proofs,
    render,
    routes,
)
from controlplane.domain.runtimes.trtllm.classes import tables_by_class
from controlplane.domain.runtimes.trtllm.effective import trtllm_values
from controlplane.domain.runtimes.trtllm.memory import MEMORY
from controlplane.domain.runtimes.trtllm.pairs import PAIRS
from controlplane.domain.runtimes.trtllm.reasons import REASONS
from controlplane.domain.spec import Spec


class TensorRtLlm(Runtime):
    """TensorRT-LLM's PyTorch backend on NVIDIA GPUs."""

    name = MEMORY.name
    label = title = "TensorRT-LLM"
    capabilities = capabilities
    shortens_open_lengths = True
    proofs = proofs
    routes = routes
    metrics = metrics
    failures = failures
    memory = MEMORY
    pairs = PAIRS
    # It gives no vectors and scores.
    ranks = MappingProxyType({Task.TEXT: 2})
    run_by_us = capabilities.RUN_BY_US or capabilities.NOT_YET_RUN
    was_run_on_gpus = bool(capabilities.RUN_BY_US)
    python_setting = HostSetting(
        name="TRTLLM_PYTHON",
        says="The Python that has TensorRT-LLM, in an environment of its own. Not yet run by "
        "us; where no host names it or an image, a check refuses builds for it.",
    )
    image_setting = HostSetting(
        name="TRTLLM_IMAGE",
        says="The image that has TensorRT-LLM, likewise. Not yet run by us.",
    )
    # Requests name an adapter's folder on the engine's host, which the gateway does not know; a
    # schema inside OpenAI's `json_schema` is lost by 1.2; tools are not called unless `tool_choice`
    # says so. Source: NVIDIA/TensorRT#4855 and `serve/openai_protocol.py`, read 2026-11-27.
    non_openai_dialect = True
    drafts_exclude_chunked_prefill = True
    draft_manner = DraftManner.SUFFIX
    draft_lengths = (7, 15, 31, 63)
    not_told = REASONS
    command_reader = parse
    command_exporter = export

    def takes(self, spec: Spec, checkpoint: CheckpointFacts | None) -> bool:
        if checkpoint is None:
            return True
        if not spec.base_model.is_encoder and lacks_class(
            checkpoint.architecture, capabilities.VERSION
        ):
            return False
        gpu = GPUS.get(spec.accelerator.kind) if spec.accelerator else None
        if gpu is None:
            return True
        no_attention = lacks_attention(checkpoint.architecture, gpu)
        return not no_attention and not lacks_format(checkpoint, gpu)

    def tables_by_class(self, device_kinds: Sequence[str]) -> Iterator[str]:
        return tables_by_class(device_kinds)

    def render(self, spec: Spec, checkpoint: CheckpointFacts, start: Start) -> Launch:
        version = start.version or capabilities.VERSION
        return render.render(spec, checkpoint, version=version, **start.shared())

    def effective_values(
        self, spec: Spec, checkpoint: CheckpointFacts | None, device: PlannedDevice | None
    ) -> Iterator[EffectiveValue]:
        yield from gpu_values(spec, checkpoint, self)
        yield from trtllm_values(spec)

    def drafts_greedily(self, version: str) -> bool:
        """Return whether it drafts with its suffix automaton, which samples nothing by default."""
        return capabilities.has_suffix_automaton(version)

    def adapter_choice(self, name: str, number: int, folder: str) -> Mapping[str, Any]:
        """Return the adapter's folder, which a request names here."""
        return {"lora_request": {"lora_name": name, "lora_int_id": number, "lora_path": folder}}


RUNTIME = TensorRtLlm()
