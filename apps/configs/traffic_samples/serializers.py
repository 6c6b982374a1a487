from typing import Any

from rest_framework import serializers

from apps.configs.traffic_samples import examples
from apps.configs.traffic_samples.services import (
    LEAST_DAYS,
    LEAST_SHARE,
    MOST_DAYS,
    MOST_SHARE,
)
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer


@shown_as(examples.WANTED)
class ConsentBody(StrictSerializer):
    share = serializers.FloatField(
        min_value=LEAST_SHARE, max_value=MOST_SHARE, help_text="Share of the requests, up to 1."
    )
    kept_days = serializers.IntegerField(
        min_value=LEAST_DAYS, max_value=MOST_DAYS, help_text="How long a sample is kept."
    )


class SampledModelObject(serializers.Serializer[Any]):
    model_id = serializers.CharField(help_text="The model whose answers they are.")
    name = serializers.CharField(help_text="Its name.")
    dataset = serializers.CharField(help_text="What a lookahead tuning takes as `dataset`.")
    samples = serializers.IntegerField(help_text="How many all gateways hold.")
    size_bytes = serializers.IntegerField(help_text="What they take on the gateways' disks.")
    oldest_at = serializers.DateTimeField(help_text="When the oldest was made.")
    told_at = serializers.DateTimeField(help_text="When a gateway said so last.")


@shown_as(examples.CONSENT)
class ConsentObject(serializers.Serializer[Any]):
    share = serializers.FloatField(help_text="Share of the requests that is sampled; 0: none.")
    kept_days = serializers.IntegerField(help_text="How long a sample is kept.", allow_null=True)
    consented_at = serializers.DateTimeField(
        help_text="Since when; null where there is no consent.", allow_null=True
    )
    consented_by = serializers.CharField(
        help_text="Who consented; null for a key of the team.", allow_null=True
    )
    models = SampledModelObject(many=True, help_text="What gateways hold.")
