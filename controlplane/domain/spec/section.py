"""The base of every block of `config.yaml`, and the strict types of its numbers."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictInt,
    model_serializer,
)


class Section(BaseModel):
    """A block of the file: unknown keys are errors, values never change after parsing."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
        allow_inf_nan=False,
        # Most processes meet few of the many blocks.
        defer_build=True,
    )

    ABSENCE_MATTERS: ClassVar[frozenset[str]] = frozenset()
    """Fields whose default depends on other settings: a stored spec must know that they were
    never given."""

    def gives(self, name: str) -> bool:
        """Return whether the user wrote this field."""
        return name in self.model_fields_set

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the block itself: pydantic copies a default at every parse, most of its time."""
        return self

    @model_serializer(mode="wrap")
    def _keep_absence(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        for name in self.ABSENCE_MATTERS - self.model_fields_set:
            content.pop(name, None)
        return content


PositiveInt = Annotated[StrictInt, Field(ge=1)]
SequenceLength = Annotated[StrictInt, Field(ge=1, le=1_048_576)]
BatchSize = Annotated[StrictInt, Field(ge=1, le=2048)]
NonEmptyText = Annotated[str, Field(min_length=1)]
