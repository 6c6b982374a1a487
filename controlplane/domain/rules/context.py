"""What rules see: the spec and the facts that have arrived."""

from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TypeVar

from controlplane.domain.facts.calibration_sets import CalibrationSet
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import CPU, GPUS, Gpu
from controlplane.domain.facts.overrides import overridden
from controlplane.domain.facts.secret_expiries import SecretExpiry
from controlplane.domain.failures import Failure
from controlplane.domain.memory import MemoryPlan, UnplannableError, plan
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.memory.sizing import DEVICES_PER_HOST
from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.runtimes.capability import Capability, Feature
from controlplane.domain.runtimes.choice import (
    Chosen,
    choose_runtime,
    version_of,
    with_runtime,
)
from controlplane.domain.spec import Spec

Fact = TypeVar("Fact")


def every_kind(*, cpu_memory_bytes: int) -> tuple[DeviceOffer, ...]:
    """Return offers of a full host of every kind, to plan for GPUs that nobody owns yet."""
    gpus = (
        DeviceOffer(kind=gpu.kind, count=DEVICES_PER_HOST, memory_bytes=gpu.memory_bytes)
        for gpu in GPUS.values()
        if gpu.memory_bytes is not None
    )
    return (DeviceOffer(kind=CPU, count=1, memory_bytes=cpu_memory_bytes), *gpus)


@dataclass(frozen=True, kw_only=True)
class CodeGrant:
    """That a repository may run its own Python at one commit, by whom and since when."""

    commit: str
    by: str
    on: date


@dataclass(frozen=True, kw_only=True)
class Known:
    """The facts at hand. None means not asked or not arrived; an empty set is an answer."""

    checkpoint: CheckpointFacts | None = None
    checkpoint_failure: Failure | None = None
    secret_names: frozenset[str] | None = None
    secret_expiries: tuple[SecretExpiry, ...] = ()
    """Of those stored secrets that end."""
    devices: tuple[DeviceOffer, ...] | None = None
    calibration_sets: tuple[CalibrationSet, ...] | None = None
    """Those that the team keeps."""
    runtimes: frozenset[str] | None = None
    """What the hosts with the GPU asked for start; None where nobody asked, empty where no host
    has it."""
    versions: frozenset[tuple[str, str]] = frozenset()
    """Runtime and version of what those hosts last ran, as far as its engines told."""
    replicas: int | None = None
    """How many replicas are to run; None where nobody asked."""
    code_grants: tuple[CodeGrant, ...] = ()
    """Those that hold now, of the checkpoint's repository."""


class MissingFactError(LookupError):
    """A rule read a fact that it had not declared under `needs`."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """One config before the rules. Reading a fact that is absent raises `MissingFactError`."""

    spec: Spec
    """With a runtime named where the config said `auto`."""
    known: Known
    chosen: Chosen | None = None
    """What `auto` means here; None where the config names a runtime."""

    def has(self, fact: str) -> bool:
        return self._facts[fact] is not None

    def missing(self, fact: str) -> tuple[str, ...]:
        """Return what has to arrive before `fact` is there."""
        if self.has(fact):
            return ()
        if fact != "plan":
            return (fact,)
        needed = {"checkpoint": self.known.checkpoint, "devices": self.device}
        return tuple(name for name, value in needed.items() if value is None)

    def is_unobtainable(self, fact: str) -> bool:
        """Return whether a missing fact will never arrive, so that nothing should wait for it."""
        if self.has(fact):
            return False
        if fact == "checkpoint":
            return self.known.checkpoint_failure is not None or self.spec.checkpoint is None
        if fact == "plan":
            if self.is_unobtainable("checkpoint"):
                return True
            no_device = self.device is None and (
                self.known.devices is not None or not self.gpu.is_cpu
            )
            return no_device or (self.known.checkpoint is not None and self.device is not None)
        return False

    @property
    def runtime(self) -> str:
        return self.spec.runtime_name

    @property
    def engine(self) -> Runtime:
        return RUNTIMES[self.runtime]

    @cached_property
    def version(self) -> str:
        """The runtime's, as its table names it: the oldest that hosts ran, else the one we ran."""
        return version_of(self.engine, self.known.versions)

    @property
    def memory(self) -> RuntimeMemory:
        return self.engine.memory_in(self.version)

    def can(self, feature: Feature) -> Capability:
        return self.engine.capabilities.capability(feature, self.gpu.kind, self.version)

    @cached_property
    def gpu(self) -> Gpu:
        """The kind of GPU asked for; the CPU where none is."""
        return GPUS[self.spec.accelerator.kind if self.spec.accelerator else CPU]

    @property
    def checkpoint(self) -> CheckpointFacts:
        return _present("checkpoint", self.known.checkpoint)

    @property
    def secret_names(self) -> frozenset[str]:
        return _present("secret_names", self.known.secret_names)

    @property
    def devices(self) -> tuple[DeviceOffer, ...]:
        return _present("devices", self.known.devices)

    @property
    def calibration_sets(self) -> tuple[CalibrationSet, ...]:
        return _present("calibration_sets", self.known.calibration_sets)

    @property
    def plan(self) -> MemoryPlan:
        return _present("plan", self._plan)

    @cached_property
    def device(self) -> DeviceOffer | None:
        """The GPU to plan for: as a host offers it, else as the fact table has it."""
        offers = [offer for offer in self.known.devices or () if offer.kind == self.gpu.kind]
        if offers:
            largest = max(offers, key=lambda offer: offer.memory_bytes)
            # What only some hosts compute is not counted on: a replica may come to any of them.
            return replace(
                largest, computes_bfloat16=all(each.computes_bfloat16 for each in offers)
            )
        if self.gpu.memory_bytes is None:
            return None
        return DeviceOffer(kind=self.gpu.kind, count=1, memory_bytes=self.gpu.memory_bytes)

    @cached_property
    def _plan(self) -> MemoryPlan | None:
        if self.known.checkpoint is None or self.device is None:
            return None
        try:
            return plan(
                self.spec, self.known.checkpoint, self.device, self.memory,
                computes_bfloat16=self.device.computes_bfloat16,
            )  # fmt: skip
        except UnplannableError:
            return None

    @cached_property
    def _facts(self) -> dict[str, object]:
        return {
            "checkpoint": self.known.checkpoint,
            "secret_names": self.known.secret_names,
            "devices": self.known.devices,
            "calibration_sets": self.known.calibration_sets,
            "plan": self._plan,
        }


def context_of(spec: Spec, known: Known) -> Context:
    if known.checkpoint is not None and spec.config_overrides:
        known = replace(known, checkpoint=overridden(known.checkpoint, spec.config_overrides))
    chosen = choose_runtime(spec, known.runtimes, known.checkpoint)
    if chosen is None:
        return Context(spec=spec, known=known)
    return Context(spec=with_runtime(spec, chosen.runtime), known=known, chosen=chosen)


def _present(name: str, value: Fact | None) -> Fact:
    if value is None:
        raise MissingFactError(name)
    return value
