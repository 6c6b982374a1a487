"""`trt_llm.build`: what is made from the checkpoint. One class for both stacks."""

from typing import Annotated, ClassVar, Optional

from pydantic import Field, StrictInt, StringConstraints

from controlplane.domain.spec.checkpoint_repository import CheckpointRepository
from controlplane.domain.spec.choices import (
    BaseModelKind,
    QuantizationType,
    SpeculativeDecodingMode,
)
from controlplane.domain.spec.engine_runtime import RuntimeV1
from controlplane.domain.spec.section import BatchSize, PositiveInt, Section, SequenceLength

CalibrationCount = Annotated[int, Field(ge=64, le=16_384, multiple_of=64)]
AdapterName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_\-\.:]+$")]
TokenBudget = Annotated[StrictInt, Field(gt=64, le=1_048_576)]
ENCODER_TOKEN_BUDGET = 16_384
"""`max_num_tokens` of an encoder that names none (truss 0.18.36)."""


class QuantizationConfig(Section):
    """Calibration data. The code's default length is 1536 although its docs say 2048."""

    calib_size: CalibrationCount = 1024
    calib_dataset: str = "abisee/cnn_dailymail"
    calib_max_seq_length: CalibrationCount = 1536


class PluginConfiguration(Section):
    """Attention switches of the v1 stack."""

    paged_kv_cache: bool = True
    use_paged_context_fmha: bool = True
    use_fp8_context_fmha: bool = False


class LoraConfiguration(Section):
    """Shape shared by all adapters of a deployment."""

    max_lora_rank: int = 64
    lora_target_modules: list[str] = []


class Speculator(Section):
    """Speculative decoding; the mode's default is the withdrawn one, as in truss."""

    speculative_decoding_mode: SpeculativeDecodingMode = (
        SpeculativeDecodingMode.DRAFT_TOKENS_EXTERNAL
    )
    num_draft_tokens: PositiveInt | None = None
    checkpoint_repository: CheckpointRepository | None = None
    runtime: RuntimeV1 = RuntimeV1()
    build: Optional["EngineBuild"] = None
    lookahead_windows_size: PositiveInt | None = None
    lookahead_ngram_size: PositiveInt | None = None
    lookahead_verification_set_size: PositiveInt | None = None
    enable_b10_lookahead: bool | None = False

    @property
    def draft_length(self) -> int | None:
        """Tokens drafted per step by the three sizes, or None while one is missing.

        Source: truss 0.18.36; (3,8,3) -> 41, (1,8,1) -> 13, (7,5,7) -> 55.
        """
        window, ngram = self.lookahead_windows_size, self.lookahead_ngram_size
        verification = self.lookahead_verification_set_size
        if window is None or ngram is None or verification is None:
            return None
        first = 0 if ngram == 1 else ngram - 2
        return first + (window - 1 + verification) * (ngram - 1)


class EngineBuild(Section):
    """Checkpoint, precision, limits and parallelism of the engine."""

    ABSENCE_MATTERS: ClassVar[frozenset[str]] = frozenset({"max_num_tokens", "max_batch_size"})

    base_model: BaseModelKind = BaseModelKind.DECODER
    checkpoint_repository: CheckpointRepository | None = None
    max_seq_len: SequenceLength | None = None
    max_batch_size: BatchSize = 256
    max_num_tokens: TokenBudget = 8192
    max_beam_width: Annotated[StrictInt, Field(ge=1, le=1)] = 1
    max_prompt_embedding_table_size: int = 0
    gather_all_token_logits: bool = False
    strongly_typed: bool = False
    quantization_type: QuantizationType = QuantizationType.NO_QUANT
    quantization_config: QuantizationConfig = QuantizationConfig()
    tensor_parallel_count: PositiveInt = 1
    pipeline_parallel_count: Annotated[int, Field(ge=1)] = 1
    sequence_parallel_count: Annotated[int, Field(ge=1)] = 1
    moe_expert_parallel_option: int = -1
    plugin_configuration: PluginConfiguration = PluginConfiguration()
    num_builder_gpus: PositiveInt | None = None
    speculator: Speculator | None = None
    lora_adapters: dict[AdapterName, CheckpointRepository] | None = None
    lora_configuration: LoraConfiguration | None = None
    skip_build_result: bool = False

    @property
    def effective_max_num_tokens(self) -> int:
        """Tokens of one engine step; an encoder that names none gets its own default."""
        if self.base_model.is_encoder and not self.gives("max_num_tokens"):
            return ENCODER_TOKEN_BUDGET
        return self.max_num_tokens


Speculator.model_rebuild()
