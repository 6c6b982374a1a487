from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GPUS, Gpu
from controlplane.domain.facts.precision_support import stored_refusal
from controlplane.domain.facts.removed_architectures import given_up
from controlplane.domain.facts.unrun_architectures import runs_nowhere_in_vllm
from controlplane.domain.facts.vllm_attention_backends import lacks_sparse_latent, lacks_wide_heads
from controlplane.domain.facts.vllm_encoder_classes import lacks_encoder_class
from controlplane.domain.facts.vllm_number_types import refused_type
from controlplane.domain.facts.vllm_quantization import unread_scheme
from controlplane.domain.lookahead_tuning.settings import DraftManner
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.runtimes.argument_fault import ArgumentFault
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.gpu_values import gpu_values
from controlplane.domain.runtimes.launch import Launch, Start
from controlplane.domain.runtimes.runtime import HostSetting, PlannedDevice, Runtime, Task
from controlplane.domain.runtimes.vllm import (
    capabilities,
    drafts,
    encoder_routes,
    export,
    failures,
    metrics,
    parse,
    proofs,
    render,
    routes,
)
from controlplane.domain.runtimes.vllm.argument_faults import argument_faults
from controlplane.domain.runtimes.vllm.arguments import step_tokens
from controlplane.domain.runtimes.vllm.chat_parsers import tool_refusal, unread_reasoning
from controlplane.domain.runtimes.vllm.effective import vllm_values
from controlplane.domain.runtimes.vllm.engine_keys import untranslated
from controlplane.domain.runtimes.vllm.lookahead_steps import STEPS
from controlplane.domain.runtimes.vllm.memory import MEMORY, MEMORY_OF_NEWER
from controlplane.domain.runtimes.vllm.pairs import PAIRS
from controlplane.domain.runtimes.vllm.parse import EXPERTS
from controlplane.domain.runtimes.vllm.reasons import REASONS, TOLD_ALONE
from controlplane.domain.spec import Spec

_MEMORY = replace(MEMORY, smallest_step=step_tokens)
_OF_NEWER = replace(MEMORY_OF_NEWER, smallest_step=step_tokens)


class Vllm(Runtime):
    name = MEMORY.name
    label = title = "vLLM"
    capabilities = capabilities
    proofs = proofs
    routes = routes
    metrics = metrics
    failures = failures
    memory = _MEMORY
    pairs = PAIRS
    ranks = MappingProxyType({Task.TEXT: 0, Task.VECTORS: 1, Task.QUANTIZED_VECTORS: 0})
    run_by_us = capabilities.RUN_BY_US
    was_run_on_gpus = True
    python_setting = HostSetting(
        name="VLLM_PYTHON",
        says="The Python that has vLLM, in an environment of its own; without it this "
        "host starts no vLLM.",
    )
    image_setting = HostSetting(
        name="VLLM_IMAGE",
        says="The image that has vLLM, best by digest (`vllm/vllm-openai@sha256:…`): engines "
        "then run [in containers](containers.md). It has to be on this host already, and "
        "`VLLM_PYTHON` has to be unset.",
    )
    passed_on = ("VLLM_CACHE_ROOT", "VLLM_USE_FLASHINFER_SAMPLER")
    # Source: `ResponsesRequest` and its base class, read 2026-11-28.
    salts_every_route = True
    compiles_by_path = True
    takes_own_arguments = True
    draft_manner = DraftManner.FILLED
    draft_lengths = (15, 31, 63, 127)
    measured_steps = STEPS
    ignored_settings = REASONS
    not_told = REASONS
    told_alone = TOLD_ALONE
    command_reader = parse
    command_exporter = export

    def render(self, spec: Spec, checkpoint: CheckpointFacts, start: Start) -> Launch:
        version = start.version or capabilities.VERSION
        return render.render(spec, checkpoint, version=version, **start.shared())

    def takes(self, spec: Spec, checkpoint: CheckpointFacts | None) -> bool:
        """Return whether it has a class and kernels of the model, and can rank where that is asked.

        It scores pairs by a head, and asks no language model how likely it answers yes.
        """
        if spec.settings.rerank_template is not None:
            return False
        return checkpoint is None or not self._lacks(spec, checkpoint)

    def _lacks(self, spec: Spec, checkpoint: CheckpointFacts) -> bool:
        if spec.base_model.is_encoder:
            ranks_by_answer = checkpoint.role is Role.RERANKING
            return ranks_by_answer or lacks_encoder_class(checkpoint.architecture)
        name = checkpoint.architecture
        if given_up(name, capabilities.VERSIONS[0]):
            return True
        if runs_nowhere_in_vllm(name, capabilities.VERSION):
            return True
        gpu = GPUS.get(spec.accelerator.kind) if spec.accelerator else None
        if gpu is None or gpu.compute_capability is None:
            return False
        if self._lacks_numbers(checkpoint, gpu):
            return True
        return lacks_sparse_latent(name, gpu) or lacks_wide_heads(name, gpu)

    def _lacks_numbers(self, checkpoint: CheckpointFacts, gpu: Gpu) -> bool:
        precisions = self.memory_in(capabilities.VERSION).precisions
        existing = checkpoint.existing_quantization
        has_experts = bool(checkpoint.experts)
        is_unread = existing is not None and bool(
            unread_scheme(existing, capabilities.VERSION, has_experts=has_experts)
        )
        is_refused = stored_refusal(checkpoint, gpu, precisions) is not None
        return is_unread or is_refused or refused_type(checkpoint, gpu) is not None

    def predict_route(
        self, route: str | None, checkpoint: CheckpointFacts, *, ranks: bool = False
    ) -> str:
        return encoder_routes.predict_route(route, checkpoint)

    def tool_refusal(self, spec: Spec, checkpoint: CheckpointFacts) -> str | None:
        return tool_refusal(spec, checkpoint)

    def unread_reasoning(self, spec: Spec, checkpoint: CheckpointFacts) -> str | None:
        return unread_reasoning(spec, checkpoint)

    def argument_faults(self, spec: Spec, version: str) -> Iterable[ArgumentFault]:
        return argument_faults(spec, version)

    def ignored_in(self, spec: Spec) -> Mapping[str, str]:
        """Return what it does not read; experts it keeps whole over all of the ranks."""
        experts = spec.engine_build.moe_expert_parallel_option
        reads = EXPERTS if experts == spec.tensor_parallel else ""
        return {path: why for path, why in REASONS.items() if path != reads}

    def memory_in(self, version: str) -> RuntimeMemory:
        return _OF_NEWER if capabilities.expands_fp8(version) else _MEMORY

    def lacks_prediction_layers(self, checkpoint: CheckpointFacts) -> bool:
        """Return as any does, but of types alone that it never has such layers of."""
        lacks = super().lacks_prediction_layers(checkpoint)
        return lacks and checkpoint.model_type in drafts.WITHOUT_PREDICTION

    def untranslated(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return untranslated(arguments)

    def effective_values(
        self, spec: Spec, checkpoint: CheckpointFacts | None, device: PlannedDevice | None
    ) -> Iterator[EffectiveValue]:
        yield from gpu_values(spec, checkpoint, self)
        yield from vllm_values(spec, checkpoint)


RUNTIME = Vllm()
