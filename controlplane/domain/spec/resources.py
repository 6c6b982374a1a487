"""What a deployment asks of a machine."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from controlplane.domain.facts.gpus import ACCELERATOR_KINDS
from controlplane.domain.spec.section import PositiveInt, Section

_CPU = re.compile(r"\d+(\.\d+)?|[0-9.]*m")
_MEMORY = re.compile(r"\d+(\.\d+)?\s*(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_UNITS = {
    "": 1,
    **{name: 1000 ** (power + 1) for power, name in enumerate("kMGTPE")},
    **{f"{name}i": 1024 ** (power + 1) for power, name in enumerate("KMGTPE")},
}


class Accelerator(Section):
    """A kind of GPU and how many of it; written `H100` or `H100:4`."""

    kind: str
    count: int = Field(default=1, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        if isinstance(given, str):
            return _split_accelerator(given)
        if isinstance(given, dict) and set(given) == {"accelerator", "count"}:
            return {"kind": given["accelerator"], "count": given["count"]}
        return given

    @model_serializer
    def _to_text(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.kind if self.count == 1 else f"{self.kind}:{self.count}"


def _quantity(pattern: re.Pattern[str], example: str) -> BeforeValidator:
    def check(given: Any) -> Any:
        if isinstance(given, str) and not pattern.fullmatch(given.strip()):
            raise PydanticCustomError(
                "quantity", "`{given}` is not a quantity such as {example}",
                {"given": given, "example": example},
            )  # fmt: skip
        return given

    return BeforeValidator(check)


CpuQuantity = Annotated[str, _quantity(_CPU, "`1`, `0.5` or `500m`")]
MemoryQuantity = Annotated[str, _quantity(_MEMORY, "`10Gi`, `512Mi` or a number of bytes")]


class Fabric(Section):
    """The network between hosts of one deployment."""

    use_rdma: bool | None = None
    preferences: list[str] | None = None


class Resources(Section):
    """Cores, memory and GPUs of one replica."""

    cpu: CpuQuantity = "1"
    memory: MemoryQuantity = "2Gi"
    accelerator: Accelerator | None = None
    """`NAME` or `NAME:COUNT`; none means that the CPU does the work."""
    use_gpu: bool | None = None
    """Accepted and without effect: `accelerator` alone decides."""
    instance_type: str | None = None
    node_count: PositiveInt | None = None
    fabric: Fabric | None = None

    @property
    def memory_bytes(self) -> int:
        """Return host memory in bytes."""
        number = self.memory.strip().rstrip("kKMGTPEi ")
        unit = self.memory.strip()[len(number) :].strip()
        return int(float(number) * _UNITS[unit])


def _split_accelerator(text: str) -> dict[str, Any]:
    kind, separator, count = text.strip().partition(":")
    if not kind:
        raise PydanticCustomError("accelerator", "the accelerator is empty")
    if kind not in ACCELERATOR_KINDS:
        raise PydanticCustomError(
            "accelerator_kind", "`{kind}` is not a known accelerator", {"kind": kind}
        )
    if separator and not (count.isascii() and count.isdigit() and 0 < int(count[:6]) < 100_000):
        raise PydanticCustomError(
            "accelerator_count", "`{count}` is not a number of accelerators", {"count": count}
        )
    return {"kind": kind, "count": int(count) if separator else 1}
