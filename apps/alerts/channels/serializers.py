from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.alerts import examples
from apps.alerts.channels.checks import LONGEST_NAME, LONGEST_TARGET
from apps.alerts.models import AlertChannel, AlertDelivery, Event
from apps.alerts.serializers import KINDS
from apps.rest.examples import shown_as
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer
from controlplane.domain.notifications import ChannelForm

FORMS = [each.value for each in ChannelForm]
_TARGET = (
    "An http(s) address for a webhook, mailboxes separated by commas for mail; blank for Slack."
)
_SECRET = "The team's secret that signs a webhook's messages, or that holds Slack's address."
_KINDS = "The kinds of alerts that it hears of; all where empty."
_SHARED = "Whether it also hears of what all teams share, such as nodes."


@shown_as(examples.CHANNEL_WANTED)
class AlertChannelBody(StrictSerializer):
    name = serializers.CharField(max_length=LONGEST_NAME, help_text="How the team calls it.")
    form = serializers.ChoiceField(choices=FORMS, help_text="How it is reached.")
    target = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=LONGEST_TARGET, help_text=_TARGET
    )
    secret_name = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=253, help_text=_SECRET
    )
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=KINDS),
        required=False,
        default=list,
        help_text=_KINDS,
    )
    hears_installation = serializers.BooleanField(default=True, help_text=_SHARED)
    is_paused = serializers.BooleanField(default=False, help_text="Whether nothing is sent.")


@shown_as(examples.CHANNEL_CHANGED)
class AlertChannelChangeBody(StrictSerializer):
    name = serializers.CharField(
        required=False, max_length=LONGEST_NAME, help_text="How the team calls it."
    )
    form = serializers.ChoiceField(required=False, choices=FORMS, help_text="How it is reached.")
    target = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_TARGET, help_text=_TARGET
    )
    secret_name = serializers.CharField(
        required=False, allow_blank=True, max_length=253, help_text=_SECRET
    )
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=KINDS), required=False, help_text=_KINDS
    )
    hears_installation = serializers.BooleanField(required=False, help_text=_SHARED)
    is_paused = serializers.BooleanField(required=False, help_text="Whether nothing is sent.")


@shown_as(examples.CHANNEL)
class AlertChannelObject(serializers.Serializer[AlertChannel]):
    """Where a team wants to hear of its alerts."""

    id = serializers.CharField()
    name = serializers.CharField(help_text="How the team calls it.")
    form = serializers.ChoiceField(choices=FORMS, help_text="How it is reached.")
    target = serializers.CharField(allow_blank=True, help_text=_TARGET)
    secret_name = serializers.CharField(allow_blank=True, help_text=_SECRET)
    kinds = serializers.ListField(child=serializers.CharField(), help_text=_KINDS)
    hears_installation = serializers.BooleanField(help_text=_SHARED)
    is_paused = serializers.BooleanField(help_text="Whether nothing is sent.")
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)


@shown_as(examples.DELIVERY)
class AlertDeliveryObject(serializers.Serializer[AlertDelivery]):
    """One message to a channel."""

    id = serializers.CharField(help_text="What a webhook's `webhook-id` says in every attempt.")
    event = serializers.ChoiceField(
        choices=[each.value for each in Event], help_text="What it tells of."
    )
    state = serializers.ChoiceField(
        choices=["waiting", "running", "finished", "failed"], help_text="Whether it arrived."
    )
    attempts = serializers.IntegerField(help_text="How often it was tried.")
    alert_ids = serializers.SerializerMethodField(help_text="The alerts that it tells of.")
    sentence = serializers.CharField(
        allow_blank=True, help_text="Why the last attempt failed; blank where it did not."
    )
    hint = serializers.CharField(
        allow_blank=True, help_text="What to do; blank where nothing is known."
    )
    created_at = serializers.DateTimeField()
    next_attempt_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is tried again; null where it is not put off."
    )
    finished_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_alert_ids(self, delivery: AlertDelivery) -> list[str]:
        return [each.id for each in delivery.alerts.all()]


AlertChannelPage: type[serializers.Serializer[Any]] = page_schema(AlertChannelObject)
AlertDeliveryPage: type[serializers.Serializer[Any]] = page_schema(AlertDeliveryObject)
