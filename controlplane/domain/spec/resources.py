import re
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

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
    """Kind of GPU."""
    count: int = Field(default=1, ge=1)
    """How many of them."""

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

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        kinds = "|".join(ACCELERATOR_KINDS)
        return {
            "description": cls.__doc__,
            "type": "string",
            "pattern": rf"^({kinds})(:[1-9][0-9]{{0,4}})?$",
        }

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


def _written(pattern: re.Pattern[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^({pattern.pattern})$"})


CpuQuantity = Annotated[str, _quantity(_CPU, "`1`, `0.5` or `500m`"), _written(_CPU)]
MemoryQuantity = Annotated[
    str, _quantity(_MEMORY, "`10Gi`, `512Mi` or a number of bytes"), _written(_MEMORY)
]


class Fabric(Section):
    """The network between hosts of one deployment."""

    use_rdma: bool | None = None
    """Ask for RDMA between hosts."""
    preferences: list[str] | None = None
    """Kinds of network in the order of preference."""


class Resources(Section):
    """Cores, memory and GPUs of one replica."""

    cpu: CpuQuantity = "1"
    """Cores of a replica: `1`, `0.5` or `500m`."""
    memory: MemoryQuantity = "2Gi"
    """Host memory of a replica: `10Gi`, `512Mi` or a number of bytes."""
    accelerator: Accelerator | None = None
    """`NAME` or `NAME:COUNT`; none means that the CPU does the work."""
    use_gpu: bool | None = None
    """Accepted and without effect: `accelerator` alone decides."""
    instance_type: str | None = None
    """The hosted product's name of a machine; without effect here."""
    node_count: PositiveInt | None = None
    """Hosts of one replica; a replica runs on one host here."""
    fabric: Fabric | None = None
    """The network between hosts of one replica; without effect here."""

    @property
    def memory_bytes(self) -> int:
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
