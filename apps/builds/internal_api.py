"""What build workers ask of the control plane under /internal/v1."""

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import BaseModel, Field

from apps.builds.services import lease_redeemable
from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.secrets.services import secret_reveal
from controlplane.domain.spec import Spec


class RedeemBody(BaseModel):
    token: int = Field(ge=0)
    lease_secret: str = Field(min_length=1, max_length=200)


@internal_view("POST")
def build_secrets(request: HttpRequest, build_id: str) -> HttpResponseBase:
    """Return the values of exactly the names in the build's spec, to the holder of its lease."""
    body = read_body(request, RedeemBody)
    build = lease_redeemable(build_id=build_id, token=body.token, secret=body.lease_secret)
    if build is None:
        raise InternalRefusal(
            403, "lease_not_live", "This is not the live lease of a running build."
        )
    values = {
        name: secret_reveal(team=build.team, name=name)
        for name in sorted(Spec.model_validate(build.revision.spec).secret_names)
    }
    answer = JsonResponse(
        {"secrets": {name: value for name, value in values.items() if value is not None}}
    )
    answer["Cache-Control"] = "no-store"
    return answer
