"""`enginehouse`: the settings that are ours and not the hosted product's."""

from math import isfinite
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictInt, StringConstraints

from controlplane.domain.spec.choices import Dtype, RerankTemplate, RuntimeChoice
from controlplane.domain.spec.gate_tasks import GateTask, TaskName
from controlplane.domain.spec.section import Section

_GIB = 1024**3
PoolName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
EngineRoute = Annotated[
    str, StringConstraints(pattern=r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){1,8}$")
]


class Gate(Section):
    """How much quality a quantized build may lose before it fails."""

    enabled: bool = True
    """Measure what quantization cost, and fail a build that lost more than the limits below."""
    max_perplexity_increase: Annotated[float, Field(gt=0, le=1)] = 0.06
    """Share by which perplexity may rise on held-out text; generation only."""
    max_logit_drift_nats: Annotated[float, Field(gt=0, le=10)] = 0.15
    """Divergence from the original per token of held-out text; generation only."""
    min_same_choice: Annotated[float, Field(ge=0, lt=1)] = 0.75
    """Share of tokens of held-out text at which both must find the same one likeliest; generation
    only."""
    max_agreement_loss: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Share of cosine and label agreement that may be lost; encoders only."""
    evaluation_dataset: str | None = None
    """The user's own text to measure on; the calibration set's held-out part when absent."""
    tasks: Annotated[dict[TaskName, GateTask], Field(max_length=16)] = {}
    """Tasks of lm-eval that both models do, by name; generation only."""


class Calibration(Section):
    """How much of the calibration data a build uses."""

    samples: Annotated[StrictInt, Field(ge=1, le=16_384)] | None = None
    """Rows to calibrate on, in place of `calib_size`, which goes by steps of 64."""
    encoder_least_cosine: Annotated[float, Field(ge=0, lt=1)] = 0.995
    """Encoders in FP8: least cosine to 16 bits on rows held out. As many of the most sensitive
    layers as it takes stay in 16 bits, for labels as `gate.max_agreement_loss` asks; 0: none."""


class EnginehouseSettings(Section):
    """Runtime, data type, gate, calibration, draft factor, tools and GPU pool of one config."""

    runtime: RuntimeChoice = RuntimeChoice.AUTO
    """What serves it; `auto` is native without an accelerator, else what hosts start."""
    dtype: Dtype = Dtype.AUTO
    """Native engine: the type to compute in."""
    gate: Gate = Gate()
    """How much quality a quantized build may lose."""
    calibration: Calibration = Calibration()
    """How much of the calibration data to use."""
    draft_factor: Annotated[int, Field(ge=1, le=8)] = 1
    """Tokens drafted per token of matched suffix; 1 is the documented rule."""
    undrafted_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Native engine: share of requests answered without lookahead, to compare speeds by."""
    generic_tools: StrictBool = False
    """Native engine: offer `tools` by a prompt of ours where the chat template renders none."""
    rerank_template: RerankTemplate | None = None
    """Native engine: rank pairs by asking a language model, as `qwen3` (Qwen3-Reranker) or `bge`
    (bge-reranker-v2-gemma) was trained; as the checkpoint's own files say when absent."""
    shared_prefixes: StrictBool = False
    """Let all keys of the team use each other's cached beginnings of prompts, not each its own."""
    extra_routes: Annotated[tuple[EngineRoute, ...], Field(max_length=32)] = ()
    """Further routes of the engine that clients may call, by name; what they use is not metered."""
    vllm_args: Annotated[
        dict[str, bool | str | int | float | dict[str, Any] | list[Any] | None],
        Field(max_length=64),
    ] = {}
    """vLLM: further arguments by vLLM's own names, `max-loras: 4`; `null` leaves one out."""
    pool: PoolName = "default"
    """The pool of GPUs that builds and replicas run in."""

    @property
    def hf_overrides(self) -> dict[str, Any]:
        """What `vllm_args` lay over config.json, by either spelling of the name."""
        given = self._vllm_argument("hf-overrides")
        return given if isinstance(given, dict) else {}

    @property
    def offloaded_weight_bytes(self) -> int:
        """Bytes of the weights that each GPU leaves in host memory."""
        given = self._vllm_argument("cpu-offload-gb")
        is_size = isinstance(given, int | float) and not isinstance(given, bool) and given > 0
        return int(given * _GIB) if is_size and isfinite(given) else 0

    def _vllm_argument(self, argument: str) -> Any:
        """Return the value of one argument, by either spelling of the name."""
        spelled = {name.strip().lstrip("-").replace("_", "-"): name for name in self.vllm_args}
        return self.vllm_args[spelled[argument]] if argument in spelled else None
