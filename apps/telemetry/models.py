"""What was seen: log chunks, usage by the minute, series. Plain ids, no keys upward."""

from django.db import models

from apps.telemetry.series.models import (
    SeriesBucket,
    SeriesDelta,
    SeriesLabels,
    SeriesSource,
    SeriesTotal,
)
from controlplane.stamps import StampField

__all__ = [
    "DeviceHour", "LogChunk", "SeriesBucket", "SeriesDelta", "SeriesLabels",
    "SeriesSource", "SeriesTotal", "UsageJournal", "UsageMinute",
]  # fmt: skip


class LogChunk(models.Model):
    """A redacted piece of one log, in order of (attempt, sequence)."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=64)
    """`build:<id>:<step>` or `replica:<id>`."""
    attempt = models.PositiveIntegerField()
    sequence = models.PositiveIntegerField()
    text = models.TextField()
    created_at = StampField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "attempt", "sequence"], name="telemetry_chunk_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.owner} #{self.attempt}.{self.sequence}"


class UsageMinute(models.Model):
    """Requests that ended within one minute, by deployment and key."""

    id = models.BigAutoField(primary_key=True)
    minute = models.DateTimeField()
    model_id = models.CharField(max_length=16)
    deployment_id = models.CharField(max_length=16)
    environment = models.CharField(max_length=64, blank=True)
    key_id = models.CharField(max_length=16)
    traffic_mark = models.CharField(max_length=16, blank=True, default="", db_default="")
    """`benchmark` for requests of one, which are no traffic of users; a key has one mark."""
    status_class = models.PositiveSmallIntegerField()
    """2, 4 or 5; 0 where the client left or the gateway was killed."""
    requests = models.BigIntegerField(default=0)
    extra_route_requests = models.BigIntegerField(default=0, db_default=0)
    """Of them, those on routes that only `enginehouse.extra_routes` opens."""
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    request_bytes = models.BigIntegerField(default=0)
    response_bytes = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["minute", "deployment_id", "environment", "key_id", "status_class"],
                name="telemetry_usage_once",
            )
        ]
        indexes = [
            models.Index(fields=["deployment_id", "minute"], name="telemetry_usage_by_deployment"),
            models.Index(fields=["model_id", "minute"], name="telemetry_usage_by_model"),
        ]

    def __str__(self) -> str:
        return f"{self.deployment_id} at {self.minute:%H:%M}"


class DeviceHour(models.Model):
    """How long a deployment's replicas held GPUs of one kind within one hour."""

    id = models.BigAutoField(primary_key=True)
    hour = models.DateTimeField()
    deployment_id = models.CharField(max_length=16)
    model_id = models.CharField(max_length=16)
    team_id = models.CharField(max_length=16)
    kind = models.CharField(max_length=32)
    seconds = models.FloatField(default=0)
    """Of whole GPUs: a shared one counts by the part of its memory that is held."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hour", "deployment_id", "kind"], name="telemetry_device_hour_once"
            )
        ]
        indexes = [models.Index(fields=["team_id", "hour"], name="telemetry_device_hours_by_team")]

    def __str__(self) -> str:
        return f"{self.deployment_id} at {self.hour:%H:%M}"


class UsageJournal(models.Model):
    """How far one gateway's journal has been counted."""

    journal = models.UUIDField(primary_key=True)
    committed_offset = models.BigIntegerField(default=0)
    gateway_name = models.CharField(max_length=253, blank=True, db_default="")
    """Who handed it in last."""
    set_aside = models.BigIntegerField(default=0, db_default=0)
    """How many of its closed requests could not be counted."""
    set_aside_reason = models.CharField(max_length=300, blank=True, db_default="")
    """Of the last of them."""
    set_aside_at = models.DateTimeField(null=True)
    updated_at = StampField(auto_now=True)

    def __str__(self) -> str:
        return str(self.journal)
