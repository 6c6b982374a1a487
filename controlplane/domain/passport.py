"""What an artifact says of its making, as its page and its builds' pages read it."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.gate_result import GateResult
from controlplane.domain.record import Record
from controlplane.domain.step_results import DataIdentity, FetchedAdapter


class Origin(Record):
    """The checkpoint that it was made of."""

    source: str | None = None
    repo: str | None = None
    revision: str | None = None
    """As it was asked for."""
    commit: str | None = None


class EffectiveField(Record):
    """A field whose effective value is not the one that was asked for."""

    field: str
    asked: Any
    effective: Any
    reason: str


class ComparedWeights(Record):
    tensors: int
    compared: bool
    """With what the model's class wants."""
    reason: str | None = None
    """Why they were not."""


class CalibratedOn(DataIdentity):
    """The data, what of it was used, and what was left out."""

    used: int
    size_asked: int
    held_out: int
    """For the gate."""
    max_length: int
    seed: int
    skipped_empty: int
    skipped_short: int
    skipped_duplicate: int


class Smoothed(Record):
    kept: int
    """Layers in which AWQ's scales have a place."""


class KeptLayers(Record):
    """The layers that an encoder keeps in 16 bits, and what that gained."""

    layers: tuple[str, ...]
    all_quantized: Mapping[str, Any]
    as_built: Mapping[str, Any]
    rows: int
    most_changed: float | None = None
    least_cosine: float | None = None


class Quantized(Record):
    quantization_type: str
    quant_algo: str
    kv_cache_dtype: str
    layers_quantized: int
    device: str
    smoothed: Smoothed | None = None
    effective_bits: float | None = None
    layers_by_number: Mapping[str, int] | None = None
    """What a search gave: name of the numbers -> layers."""
    kept_in_16_bits: KeptLayers | None = None


class CodePath(Record):
    path: str


class Grant(Record):
    by: str = ""
    at: str = ""
    reason: str = ""


class GrantedCode(Record):
    """Python of the checkpoint's own that its engine runs."""

    files: tuple[CodePath, ...] | None = None
    grant: Grant


class Promoted(Record):
    """Who accepted what the quality gate found."""

    accepted: str
    by: str | None
    at: str
    reason: str


class Built(Record):
    build_id: str | None = None
    attempt: int | None = None
    by: str | None = None
    """None where an API key asked for the build."""
    at: str | None = None


class Passport(Record):
    checkpoint: Origin = Origin()
    adapters: tuple[FetchedAdapter, ...] = ()
    spec: Mapping[str, Any] | None = None
    effective: tuple[EffectiveField, ...] = ()
    weights: ComparedWeights | None = None
    calibration: CalibratedOn | None = None
    quantization: Quantized | None = None
    gate: GateResult | str | None = None
    """What the gate left; a word where there was none."""
    promoted: Promoted | None = None
    remote_code: GrantedCode | None = None
    tools: Mapping[str, str | None] = {}
    built: Built | None = None
