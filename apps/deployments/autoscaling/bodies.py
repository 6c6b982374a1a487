"""What requests about schedules may say.

Source: the hosted product's management API, 2026-08-22.
"""

from rest_framework import serializers

from apps.deployments import examples
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer
from controlplane.domain.scaling.schedules import WEEKDAYS, Cadence
from controlplane.domain.scaling.settings import LIMITS

ScheduledSettingsBody = type(
    "ScheduledSettingsBody",
    (StrictSerializer,),
    {
        "__doc__": "Settings that hold instead of the usual ones; null: as usual.",
        **{
            name: serializers.IntegerField(
                required=False,
                allow_null=True,
                min_value=least,
                max_value=most,
                help_text="As in `autoscaling_settings`; null: as usual.",
            )
            for name, (least, most) in LIMITS.items()
        },
    },
)


class ScheduleBody(StrictSerializer):
    id = serializers.CharField(
        required=False, allow_null=True, max_length=16, help_text="Of one to change; none: new."
    )
    name = serializers.CharField(max_length=100, help_text="What people call it.")
    enabled = serializers.BooleanField(default=True, help_text="Whether it holds at its times.")
    cadence = serializers.ChoiceField(
        choices=[each.value for each in Cadence], help_text="Each day, each hour, or once."
    )
    weekdays = serializers.ListField(
        child=serializers.ChoiceField(choices=list(WEEKDAYS)),
        required=False,
        help_text="On which days it starts.",
    )
    start_hour = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=23, help_text="By the time zone."
    )
    start_minute = serializers.IntegerField(
        default=0, min_value=0, max_value=59, help_text="From this minute."
    )
    end_hour = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=23, help_text="By the time zone."
    )
    end_minute = serializers.IntegerField(
        default=0, min_value=0, max_value=59, help_text="Up to this minute."
    )
    start_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When one that holds once starts."
    )
    end_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When one that holds once ends."
    )
    autoscaling_settings = ScheduledSettingsBody(help_text="What holds then.")


@shown_as(examples.SCHEDULES_CHANGE)
class SchedulesBody(StrictSerializer):
    timezone = serializers.CharField(
        required=False, allow_null=True, max_length=80, help_text="Of all of them, such as `UTC`."
    )
    schedules = ScheduleBody(many=True, required=False, help_text="To make, or to change by id.")
    delete_schedules = serializers.ListField(
        child=serializers.CharField(max_length=16), required=False, help_text="Ids to remove."
    )
