from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from apps.builds.models import Artifact
from apps.builds.panels.gate import GatePanel
from apps.builds.passports.passport import (
    PassportRow,
    adapter_rows,
    calibration_rows,
    checkpoint_rows,
    quantized_words,
    remote_code_words,
    short_digest,
    weights_words,
)
from apps.builds.values import value_words
from controlplane.domain.facts.quantization import NO_QUANT, smallest_exported
from controlplane.domain.gate_result import GateResult
from controlplane.domain.passport import Built, Passport, Promoted
from controlplane.domain.spec import Spec, write_yaml

_NOT_RUN = "No GPU here has run such weights, so nothing here has run this artifact."


@dataclass(frozen=True, kw_only=True)
class EffectiveRow:
    """A field whose effective value is not the one that was asked for."""

    field: str
    asked: str
    effective: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class PassportPage:
    artifact: Artifact

    @cached_property
    def passport(self) -> Passport:
        return Passport.model_validate(self.artifact.passport)

    @property
    def short_digest(self) -> str:
        return short_digest(self.artifact.content_digest)

    @property
    def built(self) -> Built | None:
        return self.passport.built

    @property
    def promoted(self) -> Promoted | None:
        return self.passport.promoted

    @property
    def remote_code(self) -> str:
        """Whose Python the artifact runs; empty where it runs none."""
        remote_code = self.passport.remote_code
        return remote_code_words(remote_code) if remote_code else ""

    @property
    def identity(self) -> Sequence[PassportRow]:
        """Both digests and the checkpoint, each to be copied."""
        checkpoint = self.passport.checkpoint
        values = (("Source", checkpoint.source), ("Revision asked for", checkpoint.revision))
        rows = [
            _copied("Content digest", self.artifact.content_digest),
            _copied("Input digest", self.artifact.input_digest),
            *(PassportRow(label=label, value=value) for label, value in values if value),
            *checkpoint_rows(self.passport),
        ]
        if words := weights_words(self.passport):
            rows.append(PassportRow(label="Tensors", value=words))
        return rows

    @property
    def making(self) -> Sequence[PassportRow]:
        rows = [*adapter_rows(self.passport), *calibration_rows(self.passport)]
        if words := quantized_words(self.passport):
            rows.insert(0, PassportRow(label="Quantized", value=words))
        return rows

    @property
    def tools(self) -> Sequence[tuple[str, str]]:
        tools = sorted(self.passport.tools.items())
        return [(name, version or "not installed") for name, version in tools]

    @property
    def gate(self) -> GatePanel | None:
        """What quantization cost; None where nothing was quantized."""
        gate = self.passport.gate
        return GatePanel(result=gate) if isinstance(gate, GateResult) else None

    @property
    def not_run(self) -> str:
        gate, quantized = self.passport.gate, self.passport.quantization
        if isinstance(gate, GateResult) and gate.runs_here is False:
            return _NOT_RUN
        number = smallest_exported(quantized.quant_algo if quantized else None)
        return _NOT_RUN if number is not None and not number.is_computed_here else ""

    @property
    def effective(self) -> Sequence[EffectiveRow]:
        """The fields that did not hold as they were asked for."""
        return [
            EffectiveRow(
                field=each.field,
                asked=value_words(each.asked),
                effective=value_words(each.effective),
                reason=each.reason,
            )
            for each in self.passport.effective
        ]

    @property
    def spec_text(self) -> str:
        spec = self.passport.spec
        return write_yaml(Spec.model_validate(spec)) if spec else ""

    @property
    def is_comparable(self) -> bool:
        return self.artifact.inputs is not None


@dataclass(frozen=True, kw_only=True)
class ArtifactRow:
    artifact: Artifact

    @property
    def short_digest(self) -> str:
        return short_digest(self.artifact.content_digest)

    @property
    def gate(self) -> str:
        """The gate's word; a dash where nothing was quantized."""
        return getattr(self.artifact, "gate_state", None) or ""

    @property
    def quantization(self) -> str:
        return getattr(self.artifact, "quantization_type", None) or NO_QUANT


def _copied(label: str, digest: str) -> PassportRow:
    return PassportRow(label=label, value=digest, shown=short_digest(digest), copies=True)
