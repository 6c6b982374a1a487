"""The closed sets of values in `config.yaml`.

Source: truss 0.18.36 `truss/base/trt_llm_config.py`, checked 2026-11-27.
"""

from enum import StrEnum

from controlplane.domain.facts.quantization import FP8, NVFP4, PRECISIONS, Precision


class BaseModelKind(StrEnum):
    """What the checkpoint is served as; the last six are withdrawn, which a rule says."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_BERT = "encoder_bert"
    PALMYRA = "palmyra"
    QWEN = "qwen"
    LLAMA = "llama"
    MISTRAL = "mistral"
    DEEPSEEK = "deepseek"
    WHISPER = "whisper"

    @property
    def is_encoder(self) -> bool:
        """True for embedders, rerankers and classifiers."""
        return self in (BaseModelKind.ENCODER, BaseModelKind.ENCODER_BERT)


class QuantizationType(StrEnum):
    """Precision of weights and KV cache; what each means is `precision`, never its name."""

    NO_QUANT = "no_quant"
    FP8 = "fp8"
    FP8_KV = "fp8_kv"
    FP8_MLP_ONLY = "fp8_mlp_only"
    FP8_BLOCK = "fp8_block"
    FP4 = "fp4"
    FP4_KV = "fp4_kv"
    FP4_MLP_ONLY = "fp4_mlp_only"
    INT4_AWQ = "int4_awq"
    W4A8_AWQ = "w4a8_awq"
    WEIGHTS_INT8 = "weights_int8"
    WEIGHTS_KV_INT8 = "weights_kv_int8"
    WEIGHTS_INT4 = "weights_int4"
    WEIGHTS_INT4_KV_INT8 = "weights_int4_kv_int8"
    SMOOTH_QUANT = "smooth_quant"

    @property
    def precision(self) -> Precision:
        return PRECISIONS[self.value]

    @property
    def is_fp8(self) -> bool:
        return self.precision.weights is FP8

    @property
    def is_fp4(self) -> bool:
        return self.precision.weights is NVFP4

    @property
    def is_legacy(self) -> bool:
        return self.precision.is_withdrawn

    @property
    def quantizes_kv_cache(self) -> bool:
        return self.precision.quantizes_kv_cache

    @property
    def is_none(self) -> bool:
        return not self.precision.is_quantized


class CheckpointSource(StrEnum):
    """Where a checkpoint is fetched from."""

    HF = "HF"
    GCS = "GCS"
    S3 = "S3"
    AZURE = "AZURE"
    LOCAL = "LOCAL"
    REMOTE_URL = "REMOTE_URL"
    BASETEN_TRAINING = "BASETEN_TRAINING"


class BatchSchedulerPolicy(StrEnum):
    """How the engine admits requests when the KV cache is nearly full."""

    MAX_UTILIZATION = "max_utilization"
    GUARANTEED_NO_EVICT = "guaranteed_no_evict"


class SpeculativeDecodingMode(StrEnum):
    """How draft tokens are made. The first one is withdrawn."""

    DRAFT_TOKENS_EXTERNAL = "DRAFT_TOKENS_EXTERNAL"
    LOOKAHEAD_DECODING = "LOOKAHEAD_DECODING"


class Dtype(StrEnum):
    """What the native engine computes in; `auto` is the best of the GPU that it runs on."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class RerankTemplate(StrEnum):
    """How a language model is asked whether a text answers a query."""

    QWEN3 = "qwen3"
    BGE = "bge"


class RuntimeChoice(StrEnum):
    """Which driver serves the artifact; `auto` is native without an accelerator, else what hosts
    start: `controlplane.domain.runtimes.choice`.

    A name here is a runtime: its packages are found by it.
    """

    AUTO = "auto"
    NATIVE = "native"
    VLLM = "vllm"
    TRTLLM = "trtllm"


RUNTIME_NAMES = tuple(each.value for each in RuntimeChoice if each is not RuntimeChoice.AUTO)
RUNTIME_ON_CPU, RUNTIME_ON_GPU = RuntimeChoice.NATIVE.value, RuntimeChoice.VLLM.value
"""What `auto` means without an accelerator, and with one where no host was asked."""
