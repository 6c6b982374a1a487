"""What gateways ask under /internal/v1: requests for later, handed over and asked after."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from pydantic import Field

from apps.async_requests.models import AsyncRequest
from apps.async_requests.selectors import async_request_of_key, queue_status
from apps.async_requests.serializers import AsyncStatusObject
from apps.async_requests.services.accepting import QueueFull, async_request_accept
from apps.async_requests.services.cancelling import async_request_cancel
from apps.fleet.internal_authentication import calling_gateway
from apps.rest.errors import InvalidInput, NotFound
from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.rest.machine_bodies import MachineBody

_ID = r"^[0-9A-Za-z_-]{1,16}$"


class AsyncRequestBody(MachineBody):
    id: str = Field(pattern=r"^[0-9a-z]{1,64}$")
    key_id: str = Field(pattern=_ID)
    model_id: str = Field(pattern=_ID)
    deployment_id: str = Field(pattern=_ID)
    environment: str = Field(default="", pattern=r"^[-._a-zA-Z0-9]{0,64}$")
    content: str = Field(max_length=262_144)
    """The client's body as it came."""


def _refusing(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def answer(*args: object, **kwargs: object) -> HttpResponseBase:
        try:
            return view(*args, **kwargs)
        except InvalidInput as error:
            raise InternalRefusal(400, "invalid_input", error.message) from None
        except NotFound as error:
            raise InternalRefusal(404, "not_found", error.message) from None
        except QueueFull as error:
            raise InternalRefusal(429, "capacity_exceeded", str(error)) from None

    return answer


@internal_view("POST")
@_refusing
def async_requests(request: HttpRequest) -> HttpResponseBase:
    """Take a request in; whoever sends it again under its id changes nothing."""
    calling_gateway(request)
    accepted = async_request_accept(**read_body(request, AsyncRequestBody).model_dump())
    return JsonResponse({"request_id": accepted.id}, status=201)


@internal_view("GET")
@_refusing
def async_request(request: HttpRequest, request_id: str) -> HttpResponseBase:
    return JsonResponse(AsyncStatusObject(_requested(request, request_id)).data)


@internal_view("GET")
@_refusing
def async_request_output(request: HttpRequest, request_id: str) -> HttpResponseBase:
    async_request = _requested(request, request_id)
    if async_request.output is None:
        words = f"The request stands at {async_request.status} and has no output."
        raise InternalRefusal(404, "no_output", words)
    return HttpResponse(async_request.output, content_type="application/json")


@internal_view("POST")
@_refusing
def async_request_canceled(request: HttpRequest, request_id: str) -> HttpResponseBase:
    canceled, message = async_request_cancel(request=_requested(request, request_id))
    body = {"request_id": request_id, "canceled": canceled, "message": message}
    return JsonResponse(body)


@internal_view("GET")
def async_queue(request: HttpRequest, deployment_id: str) -> HttpResponseBase:
    calling_gateway(request)
    status = queue_status(deployment_id=deployment_id)
    return JsonResponse(
        {"num_queued_requests": status.queued, "num_in_progress_requests": status.in_progress}
    )


def _requested(request: HttpRequest, request_id: str) -> AsyncRequest:
    calling_gateway(request)
    key_id, model_id = request.GET.get("key_id", ""), request.GET.get("model_id", "")
    return async_request_of_key(key_id=key_id[:16], request_id=request_id, model_id=model_id[:16])
