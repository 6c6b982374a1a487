"""What machines may send under /internal/v1: numbers and text as the columns hold them.

A number that is too large is refused with its field. Text is what other programs said, such as a
driver's name for a device: what PostgreSQL cannot store of it is left out, and of `Words` what is
too long, since no node is silent for what one of its engines printed.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, field_validator

from controlplane.domain.storable import LARGEST_WHOLE_NUMBER, storable

Count = Annotated[int, Field(ge=0, le=LARGEST_WHOLE_NUMBER)]
"""As a BIGINT holds it."""
SmallCount = Annotated[int, Field(ge=0, lt=2**31)]
"""As an INTEGER holds it."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
"""In seconds since the epoch, by the sender's clock."""
_LONGEST_WORDS = 2000
Words = Annotated[
    str, BeforeValidator(lambda text: text[:_LONGEST_WORDS] if isinstance(text, str) else text)
]
UnprivilegedPort = Annotated[int, Field(ge=1024, lt=65536)]


class MachineBody(BaseModel):
    """A body, or a part of one, of which every value can be stored."""

    @field_validator("*", mode="after")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return storable(value)
