"""What the control worker asks under /internal/v1: the hub token for facts that it reads."""

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import BaseModel, Field

from apps.configs.services import facts_redeemable
from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.secrets.services import secret_reveal


class RedeemBody(BaseModel):
    token: int = Field(ge=0)
    lease_secret: str = Field(min_length=1, max_length=200)


@internal_view("POST")
def facts_secret(request: HttpRequest, facts_id: str) -> HttpResponseBase:
    """Return the value of the one secret that the record names, to the holder of its lease."""
    body = read_body(request, RedeemBody)
    record = facts_redeemable(facts_id=facts_id, token=body.token, secret=body.lease_secret)
    if record is None:
        raise InternalRefusal(403, "lease_not_live", "This is not the live lease of these facts.")
    name = record.secret_name
    value = secret_reveal(team=record.team, name=name) if name else None
    answer = JsonResponse({"secrets": {} if value is None else {name: value}})
    answer["Cache-Control"] = "no-store"
    return answer
