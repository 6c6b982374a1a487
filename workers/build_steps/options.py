"""What a job tells its step beside the spec: where things are, what it may take, what is known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.domain.benchmarks.order import BenchmarkOrder
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.secret_expiries import SecretExpiry
from controlplane.domain.remote_code import CodeGrants
from controlplane.sources.options import SourceOptions


class KeptSet(BaseModel):
    """A version of a set that a team keeps, and where its file is."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    column: str
    rows: int
    content_digest: str
    file_name: str


class Promotion(BaseModel):
    """Who accepted what the quality gate found, and why."""

    model_config = ConfigDict(frozen=True)

    accepted: str
    by: str | None
    at: str
    reason: str


class PushOrder(BaseModel):
    """What the step `push` sends, and where."""

    model_config = ConfigDict(frozen=True)

    content_digest: str
    destination: str
    secret_name: str
    private: bool = True
    """Of a repository that is made for it."""
    base_model: str | None = None
    """The hub's name of the checkpoint that the artifact was made of."""
    quantization_type: str | None = None


class LookaheadOrder(BaseModel):
    """What the step `tune_lookahead` tries, and for which kind of device."""

    model_config = ConfigDict(frozen=True)

    settings: tuple[Mapping[str, Any], ...]
    device: str


class JobOptions(BaseModel):
    """The options of a job; those of a newer release are ignored."""

    model_config = ConfigDict(frozen=True)

    local_checkpoint_roots: tuple[str, ...] = ()
    hf_endpoint: str | None = None
    s3_endpoint: str | None = None
    s3_region: str | None = None
    gcs_endpoint: str | None = None
    azure_endpoint: str | None = None
    azure_account: str | None = None
    allow_private_addresses: bool = False
    cache_dir: Path | None = None

    artifact_url: str = ""
    cpu_threads: int = 1
    device: str = "cpu"
    memory_bytes: int | None = None
    """Of the host where the device is its CPU."""
    engine_start_seconds: float | None = None

    commit: str | None = None
    """What this attempt fetched before: what goes on must not change."""
    built_by: str | None = None
    built_at: str | None = None
    promoted: Promotion | None = None
    remote_code: CodeGrants = CodeGrants()
    calibration_sets: Mapping[str, KeptSet] = {}
    """By the data set that the spec names."""

    push: PushOrder | None = None
    benchmark: BenchmarkOrder | None = None
    lookahead: LookaheadOrder | None = None

    secret_names: frozenset[str] | None = None
    secret_expiries: tuple[SecretExpiry, ...] = ()
    devices: tuple[DeviceOffer, ...] | None = None
    """What the build may count on; None where no host has told."""

    def sources(self) -> SourceOptions:
        """Return those of the checkpoint sources; absent ones have their defaults."""
        return SourceOptions.from_mapping(dict[str, Any](self))
