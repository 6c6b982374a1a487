"""All kinds that are raised by name, by what they are about."""

from dataclasses import dataclass
from types import ModuleType

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import (
    any_source,
    archives,
    artifacts,
    benchmarks,
    buckets,
    build,
    calibration,
    containers,
    gate,
    guesses,
    hub,
    local_folders,
    pushes,
    quantization,
    refusals,
    remote_code,
    serving,
)


@dataclass(frozen=True, kw_only=True)
class Family:
    title: str
    kinds: tuple[FailureKind, ...]


def _family(title: str, module: ModuleType) -> Family:
    kinds = tuple(each for each in vars(module).values() if isinstance(each, FailureKind))
    return Family(title=title, kinds=kinds)


RAISED: tuple[Family, ...] = (
    _family("Checkpoints of any source", any_source),
    _family("Local folders", local_folders),
    _family("The Hugging Face hub", hub),
    _family("S3, Google Cloud Storage, Azure", buckets),
    _family("Archives behind an address", archives),
    _family("Calibration data", calibration),
    _family("Quantization", quantization),
    _family("Code inside the checkpoint", remote_code),
    _family("The quality gate", gate),
    _family("The build", build),
    _family("The artifact store", artifacts),
    _family("Pushes of artifacts", pushes),
    _family("Serving", serving),
    _family("Benchmarks", benchmarks),
    _family("Engines in containers", containers),
    _family("Refusals of libraries, by what they are about", refusals),
    _family("Guesses, where no words are known", guesses),
)
