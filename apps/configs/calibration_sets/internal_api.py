"""What build workers ask under /internal/v1: the secrets that a preview needs."""

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import BaseModel, Field

from apps.configs.calibration_sets.services import preview_redeemable
from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.secrets.services import secret_reveal
from controlplane.domain.spec import Spec


class RedeemBody(BaseModel):
    token: int = Field(ge=0)
    lease_secret: str = Field(min_length=1, max_length=200)


@internal_view("POST")
def preview_secrets(request: HttpRequest, preview_id: str) -> HttpResponseBase:
    """Return the values of the names in the revision's spec, to the holder of the lease."""
    body = read_body(request, RedeemBody)
    preview = preview_redeemable(preview_id=preview_id, token=body.token, secret=body.lease_secret)
    if preview is None:
        raise InternalRefusal(403, "lease_not_live", "This is not the live lease of a preview.")
    names = sorted(Spec.model_validate(preview.revision.spec).secret_names)
    values = {name: secret_reveal(team=preview.team, name=name) for name in names}
    answer = JsonResponse(
        {"secrets": {name: value for name, value in values.items() if value is not None}}
    )
    answer["Cache-Control"] = "no-store"
    return answer
