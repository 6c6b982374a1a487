"""What the control worker asks under /internal/v1: the value that it tests."""

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import BaseModel, Field

from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.secrets.services import secret_reveal, secret_test_redeemable


class RedeemBody(BaseModel):
    token: int = Field(ge=0)
    lease_secret: str = Field(min_length=1, max_length=200)


@internal_view("POST")
def secret_test_value(request: HttpRequest, test_id: str) -> HttpResponseBase:
    """Return the value of the one secret that the test is of, to the holder of its lease."""
    body = read_body(request, RedeemBody)
    test = secret_test_redeemable(test_id=test_id, token=body.token, secret=body.lease_secret)
    if test is None:
        raise InternalRefusal(403, "lease_not_live", "This is not the live lease of a test.")
    name = test.secret.name
    answer = JsonResponse({"secrets": {name: secret_reveal(team=test.secret.team, name=name)}})
    answer["Cache-Control"] = "no-store"
    return answer
