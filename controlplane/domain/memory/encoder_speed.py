"""How many texts a second an encoder reads on a GPU under the native engine.

By formula: products at the data sheet's arithmetic, and what lies between them at its bandwidth.
Recorded runs on one kind of GPU reach a share of that; a test replays them.
"""

from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import PLANNABLE_GPUS, Gpu
from controlplane.domain.memory.speed import Range
from controlplane.domain.memory.weights import SIXTEEN_BIT_BYTES, table_parameters

TEXT_TOKENS = 150
"""Of a text for which the speed is stated."""
LEAST_SHARE, MOST_SHARE = 0.25, 0.75
"""Of the formula: through the gateway and one text a request, and by a forward alone."""
RECORDED_KIND = "H200"
_MOVED_HIDDEN, _MOVED_INTERMEDIATE = 22, 4
"""How often a layer's numbers pass through memory, between and beside its products."""


@dataclass(frozen=True, kw_only=True)
class EncoderSpeed:
    gpu: Gpu
    matrix_parameters: int
    """Without the tables, which are looked up."""
    layers: int
    hidden_size: int
    intermediate_size: int
    bytes_per_number: float
    """Of what is multiplied."""

    def texts_per_second(self, tokens: int = TEXT_TOKENS) -> Range:
        """Return the range from the worst to the best case."""
        whole = 1 / (tokens * self._token_seconds(tokens))
        return Range(low=whole * LEAST_SHARE, high=whole * MOST_SHARE)

    @property
    def basis(self) -> str:
        seen = "on one" if self.gpu.kind == RECORDED_KIND else f"on an {RECORDED_KIND}, none here"
        return (
            f"By formula: {self._flops / 1e12:,.0f} TFLOPS and {self._bandwidth / 1e12:.3g} TB/s; "
            f"held against runs of three shapes {seen}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "basis": self.basis,
            "text_tokens": TEXT_TOKENS,
            "texts_per_second": self.texts_per_second().to_json(),
        }

    @property
    def _flops(self) -> float:
        return self.gpu.flops_at(self.bytes_per_number) or 0.0

    @property
    def _bandwidth(self) -> float:
        return self.gpu.bytes_per_second or 0.0

    def _token_seconds(self, tokens: int) -> float:
        products = 2 * self.matrix_parameters / self._flops
        attention = 4 * self.layers * self.hidden_size * tokens / (self.gpu.flops or self._flops)
        passes = _MOVED_HIDDEN * self.hidden_size + _MOVED_INTERMEDIATE * self.intermediate_size
        moved = self.layers * passes * SIXTEEN_BIT_BYTES / self._bandwidth
        return products + attention + moved


def encoder_speed(
    checkpoint: CheckpointFacts, *, kind: str, bytes_per_number: float
) -> EncoderSpeed | None:
    gpu, parameters = PLANNABLE_GPUS.get(kind), checkpoint.parameters
    hidden, layers = checkpoint.hidden_size, checkpoint.layers
    if gpu is None or not (gpu.bytes_per_second and gpu.flops and parameters and hidden and layers):
        return None
    return EncoderSpeed(
        gpu=gpu,
        matrix_parameters=parameters - table_parameters(checkpoint),
        layers=layers,
        hidden_size=hidden,
        intermediate_size=checkpoint.intermediate_size or 4 * hidden,
        bytes_per_number=bytes_per_number,
    )
