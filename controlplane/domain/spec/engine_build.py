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
ModulePattern = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
TokenBudget = Annotated[StrictInt, Field(gt=64, le=1_048_576)]
ENCODER_TOKEN_BUDGET = 16_384
"""`max_num_tokens` of an encoder that names none (truss 0.18.36)."""


class QuantizationConfig(Section):
    """Calibration data. The code's default length is 1536 although its docs say 2048."""

    calib_size: CalibrationCount = 1024
    """Rows to calibrate on."""
    calib_dataset: str = "abisee/cnn_dailymail"
    """Text to calibrate on: a data set of the hub, `team/NAME` for an uploaded set, or
    `enginehouse/general`, which ships with Enginehouse."""
    calib_max_seq_length: CalibrationCount = 1536
    """Tokens after which a row is cut."""
    effective_bits: Annotated[float, Field(gt=0, lt=16)] | None = None
    """Bits that a weight of the layers may take on average: a search gives each layer FP4, FP8 or
    16 bits, whatever costs least within it; the type's own number everywhere when absent."""
    exclude_modules: list[ModulePattern] = []
    """Modules of the checkpoint that stay in 16 bits, by name or with `*`, such as
    `model.layers.0.*` or `*.down_proj`."""


class PluginConfiguration(Section):
    """Attention switches of the v1 stack."""

    paged_kv_cache: bool = True
    """Keep the KV cache in pages."""
    use_paged_context_fmha: bool = True
    """Let attention over the prompt read those pages."""
    use_fp8_context_fmha: bool = False
    """Compute attention over the prompt in FP8; withdrawn."""


class LoraConfiguration(Section):
    """Shape shared by all adapters of a deployment."""

    max_lora_rank: int = 64
    """The largest rank that an adapter may have."""
    lora_target_modules: list[str] = []
    """Modules that adapters change; empty for those that each adapter names."""


class Speculator(Section):
    """Speculative decoding; the mode's default is the withdrawn one, as in truss."""

    speculative_decoding_mode: SpeculativeDecodingMode = (
        SpeculativeDecodingMode.DRAFT_TOKENS_EXTERNAL
    )
    """How tokens are drafted; only `LOOKAHEAD_DECODING` is served."""
    num_draft_tokens: PositiveInt | None = None
    """Tokens drafted a step; worked out from the three sizes when absent."""
    checkpoint_repository: CheckpointRepository | None = None
    """The draft model of the withdrawn mode."""
    runtime: RuntimeV1 = RuntimeV1()
    """Serving settings of the withdrawn mode's draft model."""
    build: Optional["EngineBuild"] = None
    """Build settings of the withdrawn mode's draft model."""
    lookahead_windows_size: PositiveInt | None = None
    """Guesses that are kept side by side."""
    lookahead_ngram_size: PositiveInt | None = None
    """Tokens of a guess."""
    lookahead_verification_set_size: PositiveInt | None = None
    """Guesses that are verified in one step."""
    enable_b10_lookahead: bool | None = False
    """Ask for the hosted product's own lookahead."""

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
    """What the checkpoint is served as: a text generator, or an encoder that makes vectors and
    scores."""
    checkpoint_repository: CheckpointRepository | None = None
    """Where the weights come from."""
    max_seq_len: SequenceLength | None = None
    """Tokens of prompt and answer together; what the checkpoint knows when absent."""
    max_batch_size: BatchSize = 256
    """Requests that run together."""
    max_num_tokens: TokenBudget = 8192
    """Tokens that one engine step may process; 16,384 for an encoder that names none."""
    max_beam_width: Annotated[StrictInt, Field(ge=1, le=1)] = 1
    """Beams of a request; one is all that may be asked for."""
    max_prompt_embedding_table_size: int = 0
    """Rows of a table of prompt embeddings, read when engines were compiled."""
    gather_all_token_logits: bool = False
    """Keep logits of all tokens, read when engines were compiled."""
    strongly_typed: bool = False
    """Keep the network's own types, read when engines were compiled."""
    quantization_type: QuantizationType = QuantizationType.NO_QUANT
    """Precision of the weights and of the KV cache."""
    quantization_config: QuantizationConfig = QuantizationConfig()
    """What a quantized build calibrates on."""
    tensor_parallel_count: PositiveInt = 1
    """GPUs that each layer is divided over."""
    pipeline_parallel_count: Annotated[int, Field(ge=1)] = 1
    """GPUs that the layers are divided among."""
    sequence_parallel_count: Annotated[int, Field(ge=1)] = 1
    """GPUs that a sequence is divided over."""
    moe_expert_parallel_option: int = -1
    """GPUs that experts are divided over; -1 leaves it to the engine."""
    plugin_configuration: PluginConfiguration = PluginConfiguration()
    """Attention switches, read when engines were compiled."""
    num_builder_gpus: PositiveInt | None = None
    """GPUs that the build leases; as many as a replica when absent."""
    speculator: Speculator | None = None
    """Draft several tokens a step; none when absent."""
    lora_adapters: dict[AdapterName, CheckpointRepository] | None = None
    """Adapters by the name that requests say as `model`."""
    lora_configuration: LoraConfiguration | None = None
    """Shape that all adapters share."""
    skip_build_result: bool = False
    """Of the v2 stack: serve without an artifact."""

    @property
    def effective_max_num_tokens(self) -> int:
        """Tokens of one engine step; an encoder that names none gets its own default."""
        if self.base_model.is_encoder and not self.gives("max_num_tokens"):
            return ENCODER_TOKEN_BUDGET
        return self.max_num_tokens


Speculator.model_rebuild()
