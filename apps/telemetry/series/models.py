"""Tables of series: what came in, whose it is, and the rolled-up buckets."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from controlplane.stamps import StampField


class SeriesSource(models.Model):
    """How far one source has been counted, so that nothing of it counts twice."""

    name = models.CharField(primary_key=True, max_length=64)
    sequence = models.BigIntegerField(default=-1)
    """Of its last batch; what is not above it is known."""
    clock_ahead_seconds = models.FloatField(default=0)
    """How far its clock was ahead of the database's with that batch."""
    counters = models.JSONField(default=dict)
    """Where its own counters stood then."""
    seen_at = StampField(auto_now=True, db_index=True)

    class Meta:
        app_label = "telemetry"

    def __str__(self) -> str:
        return self.name


class SeriesDelta(models.Model):
    """What a batch adds to one bucket of 10 seconds; gone once it is rolled up."""

    id = models.BigAutoField(primary_key=True)
    source = models.CharField(max_length=16)
    at = models.DateTimeField()
    labels = ArrayField(models.CharField(max_length=64))
    """Values of `names.LABELS`."""
    sums = ArrayField(models.FloatField(null=True))
    sketches = ArrayField(models.BinaryField(null=True))
    tallies = ArrayField(models.FloatField(), default=list, db_default=[])
    """Pairs: a place of `tallies.TALLIES`, and how much is added there."""
    exemplars = models.JSONField(default=dict, db_default={})
    """Place of a bucket -> value, request id, time of one of its requests."""

    class Meta:
        app_label = "telemetry"

    def __str__(self) -> str:
        return f"{self.source} at {self.at:%H:%M:%S}"


class SeriesLabels(models.Model):
    """One set of labels of one breakdown of one source."""

    id = models.BigAutoField(primary_key=True)
    digest = models.UUIDField(unique=True)
    """Of all that follows: what a row is found by."""
    source = models.CharField(max_length=16)
    cut = models.CharField(max_length=16)
    team_id = models.CharField(max_length=16, blank=True)
    model_id = models.CharField(max_length=16, blank=True)
    deployment_id = models.CharField(max_length=16, blank=True)
    environment = models.CharField(max_length=64, blank=True)
    key_id = models.CharField(max_length=16, blank=True)
    replica_id = models.CharField(max_length=16, blank=True)
    node_id = models.CharField(max_length=16, blank=True)
    device_id = models.CharField(max_length=16, blank=True)
    status_class = models.CharField(max_length=3, blank=True)
    last_at = models.DateTimeField(db_index=True)
    """The day of its latest bucket: what has none left is forgotten."""

    class Meta:
        app_label = "telemetry"
        indexes = [
            models.Index(
                fields=["deployment_id", "source", "cut"], name="telemetry_labels_deployment"
            ),
            models.Index(fields=["team_id", "source", "cut"], name="telemetry_labels_team"),
            models.Index(fields=["model_id", "source", "cut"], name="telemetry_labels_model"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.cut} {self.deployment_id}"


class SeriesTotal(models.Model):
    """Running sums of one label set: they only grow, and `/metrics` reads nothing else."""

    labels = models.OneToOneField(SeriesLabels, on_delete=models.CASCADE, primary_key=True)
    sums = ArrayField(models.FloatField(null=True))
    """By `names.slots_of`; those of gauges mean nothing."""
    tallies = ArrayField(models.FloatField())
    """By `tallies.TALLIES`."""
    exemplars = models.JSONField(default=dict)
    """Place of a bucket -> the latest of its requests that was kept."""

    class Meta:
        app_label = "telemetry"

    def __str__(self) -> str:
        return str(self.labels_id)


class SeriesBucket(models.Model):
    """One bucket of one label set; partitioned by resolution, then by time."""

    pk = models.CompositePrimaryKey("resolution_seconds", "labels_id", "at")
    resolution_seconds = models.IntegerField()
    labels_id = models.BigIntegerField()
    at = models.DateTimeField()
    sums = ArrayField(models.FloatField(null=True))
    """By `names.slots_of`; null where nothing was measured."""
    sketches = ArrayField(models.BinaryField(null=True))
    """Each with its format."""

    class Meta:
        app_label = "telemetry"
        db_table = "telemetry_series"

    def __str__(self) -> str:
        return f"{self.labels_id} at {self.at} by {self.resolution_seconds} s"
