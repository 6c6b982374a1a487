"""One `config.yaml`, and what the rest of the program reads from it."""

from functools import cache
from typing import Any

from controlplane.domain.facts.bit_budgets import searched_numbers
from controlplane.domain.facts.config_numbers import whole
from controlplane.domain.spec.checkpoint_repository import CheckpointRepository
from controlplane.domain.spec.choices import (
    RUNTIME_ON_CPU,
    RUNTIME_ON_GPU,
    BaseModelKind,
    QuantizationType,
    RuntimeChoice,
)
from controlplane.domain.spec.engine_build import EngineBuild, Speculator
from controlplane.domain.spec.enginehouse_settings import EnginehouseSettings
from controlplane.domain.spec.resources import Accelerator
from controlplane.domain.spec.spec_fields import SpecFields
from controlplane.domain.spec.trt_llm import TrtLlmV2


@cache
def _no_settings() -> EnginehouseSettings:
    """Return our own block as it is where none is given: rules ask for it many times."""
    return EnginehouseSettings()


class Spec(SpecFields):
    """One parsed `config.yaml`, and what the rest of the program reads from it."""

    @property
    def is_v2(self) -> bool:
        """True for the v2 stack, whose limits live in `trt_llm.runtime`."""
        return isinstance(self.trt_llm, TrtLlmV2)

    @property
    def engine_build(self) -> EngineBuild:
        """`trt_llm.build`."""
        return self.trt_llm.build

    @property
    def limits_path(self) -> str:
        return "trt_llm.runtime" if self.is_v2 else "trt_llm.build"

    @property
    def tensor_parallel_path(self) -> str:
        name = "tensor_parallel_size" if self.is_v2 else "tensor_parallel_count"
        return f"{self.limits_path}.{name}"

    @property
    def chunked_prefill_path(self) -> str:
        name = "enable_chunked_prefill" if self.is_v2 else "enable_chunked_context"
        return f"trt_llm.runtime.{name}"

    @property
    def settings(self) -> EnginehouseSettings:
        """Our own block, from either of its two places."""
        return self.enginehouse or self.model_metadata.enginehouse or _no_settings()

    @property
    def settings_path(self) -> str:
        """Dotted path of our own block: where it is, or where it would go."""
        inside = self.enginehouse is None and self.model_metadata.enginehouse is not None
        return "model_metadata.enginehouse" if inside else "enginehouse"

    @property
    def checkpoint(self) -> CheckpointRepository | None:
        return self.engine_build.checkpoint_repository

    @property
    def base_model(self) -> BaseModelKind:
        return self.engine_build.base_model

    @property
    def quantization_type(self) -> QuantizationType:
        return self.engine_build.quantization_type

    @property
    def bit_budget(self) -> float | None:
        """Bits a weight that a search keeps to; None where each layer has the type's number."""
        bits = self.engine_build.quantization_config.effective_bits
        return bits if searched_numbers(self.quantization_type.precision.weights) else None

    @property
    def mixes_numbers(self) -> bool:
        """Whether its layers may be in numbers of different engines' kernels."""
        numbers = searched_numbers(self.quantization_type.precision.weights)
        return self.bit_budget is not None and len(numbers) > 1

    @property
    def weight_bytes(self) -> float:
        """Bytes of one quantized weight; under a budget, the most that it is on average."""
        own = self.quantization_type.precision.weight_bytes
        return own if self.bit_budget is None else self.bit_budget / 8

    @property
    def calibration_samples(self) -> int:
        """Rows to calibrate on: our own setting's, else `calib_size`."""
        return self.settings.calibration.samples or self.engine_build.quantization_config.calib_size

    @property
    def calibration_samples_path(self) -> str:
        if self.settings.calibration.samples is None:
            return "trt_llm.build.quantization_config.calib_size"
        return f"{self.settings_path}.calibration.samples"

    @property
    def speculator(self) -> Speculator | None:
        return self.engine_build.speculator

    @property
    def accelerator(self) -> Accelerator | None:
        return self.resources.accelerator

    @property
    def accelerator_count(self) -> int:
        """GPUs of one replica; the CPU counts as one."""
        return self.accelerator.count if self.accelerator else 1

    @property
    def runtime_name(self) -> str:
        """The driver that serves this config; what `auto` means on a GPU is for hosts to say.

        `runtimes.choice` asks them and names it; until then it counts as `RUNTIME_ON_GPU`.
        """
        named = self.settings.runtime
        if named is not RuntimeChoice.AUTO:
            return named.value
        return RUNTIME_ON_GPU if self.accelerator else RUNTIME_ON_CPU

    @property
    def pool(self) -> str:
        return self.settings.pool

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset(self.secrets)

    @property
    def max_seq_len(self) -> int | None:
        """Tokens of prompt and answer together; the model's own limit when None."""
        if isinstance(self.trt_llm, TrtLlmV2):
            return self.trt_llm.runtime.max_seq_len
        return self.trt_llm.build.max_seq_len

    @property
    def max_batch_size(self) -> int:
        if isinstance(self.trt_llm, TrtLlmV2):
            return self.trt_llm.runtime.max_batch_size
        return self.trt_llm.build.max_batch_size

    @property
    def gives_batch_size(self) -> bool:
        """Whether the user wrote `max_batch_size`."""
        limits = self.trt_llm.runtime if isinstance(self.trt_llm, TrtLlmV2) else self.engine_build
        return limits.gives("max_batch_size")

    @property
    def max_num_tokens(self) -> int:
        if isinstance(self.trt_llm, TrtLlmV2):
            return self.trt_llm.runtime.max_num_tokens
        return self.trt_llm.build.effective_max_num_tokens

    @property
    def model_kwargs(self) -> dict[str, Any]:
        """Keys that the engine lays over the checkpoint's config.json."""
        if not isinstance(self.trt_llm, TrtLlmV2):
            return {}
        given = self.trt_llm.runtime.patch_kwargs.get("model_kwargs")
        return given if isinstance(given, dict) else {}

    @property
    def config_overrides(self) -> dict[str, Any]:
        """Keys laid over the checkpoint's config.json, by either way of writing them."""
        return {**self.model_kwargs, **self.settings.hf_overrides}

    @property
    def served_model_name(self) -> str | None:
        return self.trt_llm.runtime.served_model_name

    @property
    def default_max_tokens(self) -> int | None:
        if isinstance(self.trt_llm, TrtLlmV2):
            return None
        return self.trt_llm.runtime.request_default_max_tokens

    @property
    def tensor_parallel(self) -> int:
        if isinstance(self.trt_llm, TrtLlmV2):
            return self.trt_llm.runtime.tensor_parallel_size
        return 1 if self.base_model.is_encoder else self.trt_llm.build.tensor_parallel_count

    @property
    def pipeline_parallel(self) -> int:
        if self.base_model.is_encoder:
            return 1
        if isinstance(self.trt_llm, TrtLlmV2):
            return whole(self.trt_llm.runtime.patch_kwargs.get("pipeline_parallel_size")) or 1
        return self.engine_build.pipeline_parallel_count

    @property
    def chunks_prefill(self) -> bool:
        """Whether a prompt longer than `max_num_tokens` is accepted, in pieces."""
        if isinstance(self.trt_llm, TrtLlmV2):
            return self.trt_llm.runtime.enable_chunked_prefill
        if self.base_model.is_encoder or self.speculator is not None:
            return False
        return self.trt_llm.runtime.enable_chunked_context

    @property
    def kv_cache_fraction(self) -> float:
        if not isinstance(self.trt_llm, TrtLlmV2):
            return self.trt_llm.runtime.kv_cache_free_gpu_mem_fraction
        cache = self.trt_llm.runtime.patch_kwargs.get("kv_cache_config")
        share = cache.get("free_gpu_memory_fraction") if isinstance(cache, dict) else None
        return float(share) if isinstance(share, int | float) else 0.9
