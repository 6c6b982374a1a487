"""What workers ask of the control plane under /internal/v1: the secrets of the work they hold."""

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import Field

from apps.accounts.key_ring import KeyRingError
from apps.leases.redeeming import lease_redeem
from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.rest.machine_bodies import Count, MachineBody


class RedeemBody(MachineBody):
    token: Count
    lease_secret: str = Field(min_length=1, max_length=200)


@internal_view("POST")
def lease_secrets(request: HttpRequest, kind: str, id: str) -> HttpResponseBase:
    """Return the values of exactly the names that the work needs, to the holder of its lease."""
    body = read_body(request, RedeemBody)
    try:
        values = lease_redeem(name=kind, id=id, token=body.token, secret=body.lease_secret)
    except KeyRingError as error:
        raise InternalRefusal(
            409, error.code, error.message, fields=error.fields, hint=error.hint
        ) from None
    if values is None:
        raise InternalRefusal(403, "lease_not_live", f"This is not the live lease of a {kind}.")
    answer = JsonResponse({"secrets": dict(values)})
    answer["Cache-Control"] = "no-store"
    return answer
