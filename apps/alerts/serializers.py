from typing import Any

from rest_framework import serializers

from apps.alerts import examples
from apps.alerts.kinds import LABELS
from apps.alerts.models import Alert, AlertState, Severity
from apps.rest.examples import shown_as
from apps.rest.paging import PageQuery, page_schema
from apps.rest.serializers import StrictSerializer

KINDS = list(LABELS)


class AlertQuery(PageQuery):
    state = serializers.ChoiceField(
        choices=[each.value for each in AlertState],
        required=False,
        help_text="Only those in this state.",
    )
    kind = serializers.ChoiceField(
        choices=KINDS, required=False, help_text="Only those of this kind."
    )


@shown_as(examples.ALERT)
class AlertObject(serializers.Serializer[Alert]):
    """One cause, from when it was seen until it has been gone for a minute."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS, help_text="What is wrong.")
    severity = serializers.ChoiceField(
        choices=[each.value for each in Severity],
        help_text="`critical` where requests fail, or will.",
    )
    state = serializers.ChoiceField(
        choices=[each.value for each in AlertState], help_text="Whether it is over."
    )
    sentence = serializers.CharField(help_text="What is wrong, in the user's own values.")
    hint = serializers.CharField(
        allow_blank=True, help_text="What to do; blank where nothing is known."
    )
    url = serializers.CharField(source="path", help_text="The page where it is mended.")
    of_installation = serializers.SerializerMethodField(
        help_text="Whether it is about what all teams share, such as a node."
    )
    began_at = serializers.DateTimeField(help_text="Since when its cause is there.")
    fired_at = serializers.DateTimeField(help_text="When it was seen.")
    resolved_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was over; null while it fires."
    )

    def get_of_installation(self, alert: Alert) -> bool:
        return alert.team_id is None


AlertPage = page_schema(AlertObject)


@shown_as(examples.LIMITS)
class AlertLimitsObject(serializers.Serializer[Any]):
    """From where on a team's traffic is an alert."""

    error_share_percent = serializers.FloatField(
        allow_null=True, help_text="The share of requests answered 5xx; null: not watched."
    )
    first_token_seconds = serializers.FloatField(
        allow_null=True, help_text="The p90 of the time to the first byte; null: not watched."
    )
    monthly_budget = serializers.DecimalField(
        max_digits=12,
        decimal_places=2,
        allow_null=True,
        coerce_to_string=True,
        help_text="What the team's GPUs may cost in a month; null: not watched.",
    )


@shown_as(examples.LIMITS)
class AlertLimitsBody(StrictSerializer):
    error_share_percent = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=100,
        help_text="The share of requests answered 5xx; null: not watched.",
    )
    first_token_seconds = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0.001,
        max_value=3600,
        help_text="The p90 of the time to the first byte; null: not watched.",
    )
    monthly_budget = serializers.DecimalField(
        required=False,
        allow_null=True,
        min_value=0,
        max_digits=12,
        decimal_places=2,
        help_text="What the team's GPUs may cost in a month; null: not watched.",
    )
