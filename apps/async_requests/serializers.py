from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.async_requests import examples
from apps.async_requests.models import AsyncRequest
from apps.rest.examples import shown_as
from apps.rest.paging import PageQuery, page_schema
from controlplane.domain.async_requests.states import AsyncStatus, ErrorCode, WebhookStatus
from controlplane.domain.json_text import read_json

_STATUSES = [each.value for each in AsyncStatus]


class AsyncErrorObject(serializers.Serializer[Any]):
    code = serializers.ChoiceField(
        choices=[each.value for each in ErrorCode], help_text="In the hosted product's words."
    )
    message = serializers.CharField(help_text="What was wrong, in a sentence.")


class AsyncStatusObject(serializers.Serializer[AsyncRequest]):
    """How a request stands, in the hosted product's shape."""

    request_id = serializers.CharField(source="id", help_text="Id of the request.")
    model_id = serializers.CharField(help_text="Id of the model.")
    deployment_id = serializers.CharField(help_text="Which deployment ran it, or will.")
    status = serializers.ChoiceField(choices=_STATUSES, help_text="How the request stands.")
    webhook_status = serializers.ChoiceField(
        choices=[each.value for each in WebhookStatus], help_text="How its webhook stands."
    )
    created_at = serializers.DateTimeField(help_text="When it was accepted.")
    status_at = serializers.DateTimeField(help_text="Since when it stands so.")
    errors = AsyncErrorObject(  # type: ignore[assignment]  # a field, as the product calls it
        many=True, help_text="Of the last attempt, where it failed."
    )


@shown_as(examples.LISTED)
class AsyncRequestListed(AsyncStatusObject):
    """A request in a list."""

    environment = serializers.CharField(
        allow_blank=True, help_text="Through which it was asked; blank for the deployment's own."
    )
    priority = serializers.IntegerField(help_text="0 goes first, 2 last.")
    attempts = serializers.IntegerField(help_text="How often the model was asked, to no end.")
    max_attempts = serializers.IntegerField(help_text="How often it may be asked.")
    webhook_endpoint = serializers.CharField(
        allow_blank=True, help_text="Where the outcome goes; blank where nowhere."
    )
    webhook_error = serializers.SerializerMethodField(
        help_text="Why its webhook did not arrive; blank where it did, or is to go."
    )
    api_key_prefix = serializers.CharField(
        source="api_key.prefix", allow_null=True, default=None, help_text="Of the key that asked."
    )
    expires_at = serializers.DateTimeField(help_text="Until when it may wait to be begun.")
    next_attempt_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is asked again; null where nothing puts it off."
    )
    started_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was begun first; null before."
    )
    finished_at = serializers.DateTimeField(
        allow_null=True, help_text="When it ended; null before."
    )

    @extend_schema_field(serializers.CharField())
    def get_webhook_error(self, request: AsyncRequest) -> str:
        webhook = getattr(request, "webhook", None)
        return webhook.sentence if webhook is not None else ""


@shown_as(examples.REQUEST)
class AsyncRequestObject(AsyncRequestListed):
    """A request with what the model answered."""

    output = serializers.SerializerMethodField(
        help_text="What the model answered; null before, and where it failed."
    )

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_output(self, request: AsyncRequest) -> Any:
        return None if request.output is None else read_json(request.output)


@shown_as(examples.CANCELED)
class AsyncCanceledObject(serializers.Serializer[Any]):
    """Whether a request was called off."""

    request_id = serializers.CharField(help_text="Id of the request.")
    canceled = serializers.BooleanField(help_text="Whether it is called off.")
    message = serializers.CharField(help_text="How that stands, in a sentence.")


class AsyncRequestQuery(PageQuery):
    status = serializers.ChoiceField(
        choices=_STATUSES, required=False, help_text="Only those that stand so."
    )


AsyncRequestPage: type[serializers.Serializer[Any]] = page_schema(AsyncRequestListed)
