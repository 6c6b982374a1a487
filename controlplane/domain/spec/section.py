"""The base of every block of `config.yaml`, and the strict types of its numbers."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt


class Section(BaseModel):
    """A block of the file: unknown keys are errors, values never change after parsing."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


PositiveInt = Annotated[StrictInt, Field(ge=1)]
SequenceLength = Annotated[StrictInt, Field(ge=1, le=1_048_576)]
BatchSize = Annotated[StrictInt, Field(ge=1, le=2048)]
NonEmptyText = Annotated[str, Field(min_length=1)]
