"""What a team lets a gateway keep of its traffic, as the routes tell it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Consent:
    """That outlines of a share of the team's answers may be kept here, and how long."""

    id: str
    share: float
    kept_seconds: float


def read_consent(row: Mapping[str, Any]) -> Consent | None:
    sampling = row.get("sampling")
    if sampling is None:
        return None
    id = str(sampling["id"])
    if not id.isalnum():
        raise ValueError(f"a consent's id names a folder, which {id!r} cannot")
    return Consent(
        id=id, share=float(sampling["share"]), kept_seconds=float(sampling["kept_seconds"])
    )
