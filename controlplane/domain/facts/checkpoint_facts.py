"""The facts of a checkpoint, as rules, plan and pages read them."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts.adapters import AdapterFacts
from controlplane.domain.facts.architectures import (
    Role,
    has_language_head,
    is_bidirectional,
    role_of,
)
from controlplane.domain.facts.chat_forms import CallForm, ThoughtForm
from controlplane.domain.facts.engines import EngineChoice, engine_for
from controlplane.domain.facts.existing_quantization import MXFP4_BYTES, ExistingQuantization
from controlplane.domain.facts.layers import LayerGroup, Mixer
from controlplane.domain.facts.matrices import MatrixKind
from controlplane.domain.facts.parameter_count import ParameterCounts
from controlplane.domain.facts.pooling import Pooling

_BYTES_PER_NUMBER: Mapping[str, float] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "int8": 1, "uint8": 1,
}  # fmt: skip
_SIXTEEN_BIT_BYTES = 2
_AGREEMENT = 0.02
"""Count and headers may differ by this share before both are shown."""


class CheckpointFacts(BaseModel):
    """The numbers that rules and the memory plan read. None means that the files do not say."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    architecture: str | None = None
    model_type: str | None = None
    """Of the language part; a multimodal wrapper's own is in `wrapper_model_type`."""
    wrapper_model_type: str | None = None
    layers: int | None = None
    hidden_size: int | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocabulary_size: int | None = None
    max_positions: int | None = None
    rope_type: str | None = None
    rope_factor: float | None = None
    original_positions: int | None = None
    """What the model was trained on, where a rope factor stretches it."""
    dtype: str | None = None
    tied_embeddings: bool | None = None
    attention_bias: bool | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    moe_intermediate_size: int | None = None
    sliding_window: int | None = None
    """Tokens that some layers keep at most; None where no layer has a window in use."""
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    layer_groups: tuple[LayerGroup, ...] = ()
    """The kinds of layers where they are not all plain attention of one shape; else empty."""
    draft_layers: int = 0
    has_vision: bool = False
    vision_heads: int | None = None
    """Attention heads of the vision tower."""
    audio_heads: int | None = None
    """Attention heads of the part that hears."""
    is_encoder_decoder: bool = False
    """True where it reads with an encoder and writes with a decoder."""
    remote_code: bool = False
    parameters: int | None = None
    """From safetensors headers where known, else counted from the shape."""
    parameters_estimated: bool = True
    counts: ParameterCounts | None = None
    """Where the parameters are, as counted from the shape."""
    weight_bytes: int | None = None
    """Exact bytes of the weight files, or None where they were not read."""
    has_weights: bool | None = None
    has_chat_template: bool | None = None
    renders_tools: bool | None = None
    """Whether the chat template shows tools to the model; None where it was not read."""
    call_form: CallForm | None = None
    """How the chat template writes tool calls, where that is a form known here."""
    thought_form: ThoughtForm | None = None
    """How answers set reasoning apart, by the chat template."""
    existing_quantization: ExistingQuantization | None = None
    sound_tokens: int | None = None
    """Numbered tokens of the tokenizer that stand for sound; None where it lists none."""
    default_temperature: float | None = None
    labels: int | None = None
    """Of a classifier; the `id2label` that every saved config carries does not count."""
    has_bidirectional_attention: bool = False
    """True where config.json lets a class that is causal by default see what comes after."""
    pooling: Pooling | None = None
    sentence_tokens: int | None = None
    """Up to which an embedder reads by its sentence-transformers file."""
    adapter: AdapterFacts | None = None
    assumed: tuple[str, ...] = ()
    """Sizes that the file leaves out and that its family's code has."""
    commit: str | None = None
    files: tuple[str, ...] = ()
    matrices: tuple[MatrixKind, ...] = ()
    """By the headers of the weight files; empty where they were not read."""

    @property
    def role(self) -> Role:
        return role_of(
            self.architecture,
            self.model_type,
            has_vision=self.has_vision,
            pooling=self.pooling,
        )

    @property
    def max_input_tokens(self) -> int | None:
        """The positions of the model, or fewer where an embedder was made for fewer."""
        return min(filter(None, (self.sentence_tokens, self.max_positions)), default=None)

    @property
    def is_bidirectional(self) -> bool:
        return self.has_bidirectional_attention or is_bidirectional(
            self.architecture, self.model_type
        )

    @property
    def engine(self) -> EngineChoice:
        return engine_for(
            architecture=self.architecture,
            model_type=self.model_type,
            is_bidirectional=self.is_bidirectional,
            role=self.role,
            experts=self.experts,
            parameters=self.parameters,
        )

    @property
    def keeps_state(self) -> bool:
        """True where some layers keep a state of fixed size instead of keys and values."""
        return any(not group.mixer.attends for group in self.layer_groups)

    @property
    def unknown_kv_layers(self) -> int:
        return sum(group.count for group in self.groups if group.mixer is Mixer.UNKNOWN)

    @property
    def groups(self) -> tuple[LayerGroup, ...]:
        """The kinds of layers and what each keeps; empty where the shape is not known."""
        if self.layers is None:
            return ()
        if self.layer_groups:
            return self.layer_groups
        if self.kv_lora_rank:
            width = self.kv_lora_rank + (self.qk_rope_head_dim or 0)
            return (LayerGroup(mixer=Mixer.LATENT, count=self.layers, latent_numbers=width),)
        if not (self.kv_heads and self.head_dim):
            return ()
        return (
            LayerGroup(
                mixer=Mixer.ATTENTION,
                count=self.layers,
                kv_heads=self.kv_heads,
                numbers_per_head=2 * self.head_dim,
            ),
        )

    @property
    def bytes_per_number(self) -> float:
        """Bytes of one stored weight; two where the file names no dtype."""
        return _BYTES_PER_NUMBER.get(self.dtype or "", 2.0)

    @property
    def stored_weight_bytes(self) -> int | None:
        """Bytes of the weights as stored: exact where known, else by count and dtype."""
        if self.weight_bytes is not None:
            return self.weight_bytes
        return self.counted_weight_bytes

    @property
    def counted_weight_bytes(self) -> int | None:
        """Bytes of the weights by count, dtype and the quantization that the files name."""
        if self.existing_quantization is not None:
            return self._counted_quantized_bytes(self.existing_quantization)
        parameters = self.counts.total if self.weight_bytes and self.counts else self.parameters
        return None if parameters is None else round(parameters * self.bytes_per_number)

    @property
    def weights_disagree(self) -> bool:
        """True where count and headers differ by more than 2 %, prediction layers allowed for."""
        exact, counted = self.weight_bytes, self.counted_weight_bytes
        if not exact or not counted:
            return False
        drafts = (self.counts.draft if self.counts else 0) * self.bytes_per_number
        return not (counted * (1 - _AGREEMENT) <= exact <= (counted + drafts) * (1 + _AGREEMENT))

    def _counted_quantized_bytes(self, existing: ExistingQuantization) -> int | None:
        """The dtype names the part that is not quantized only."""
        if self.parameters is None:
            return None
        counts = self.counts
        tables = (self.vocabulary_size or 0) * (self.hidden_size or 0)
        one = self.tied_embeddings or not has_language_head(self.architecture)
        kept = tables * (1 if one else 2)
        if counts is not None:
            kept = counts.tables + counts.other + counts.vision
            kept += counts.attention if existing.keeps_attention else 0
            kept += counts.mlp if existing.keeps_mlp and counts.experts else 0
        kept = min(kept, self.parameters)
        quantized = self.parameters - kept
        halved = min(counts.experts, quantized) if counts and existing.has_fp4_experts else 0
        return round(
            (quantized - halved) * existing.bytes_per_weight
            + halved * MXFP4_BYTES
            + kept * _SIXTEEN_BIT_BYTES
        )
