import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

_RESOLUTIONS = (10, 60, 3600, 86400)
_TABLE = """
    CREATE TABLE telemetry_series (
        resolution_seconds integer NOT NULL,
        labels_id bigint NOT NULL,
        at timestamptz NOT NULL,
        sums double precision[] NOT NULL,
        sketches bytea[] NOT NULL,
        PRIMARY KEY (resolution_seconds, labels_id, at)
    ) PARTITION BY LIST (resolution_seconds)
"""
_OF_RESOLUTION = """
    CREATE TABLE telemetry_series_{0} PARTITION OF telemetry_series
    FOR VALUES IN ({0}) PARTITION BY RANGE (at)
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="UsageJournal",
            fields=[
                ("journal", models.UUIDField(primary_key=True, serialize=False)),
                ("committed_offset", models.BigIntegerField(default=0)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("gateway_name", models.CharField(blank=True, db_default="", max_length=253)),
                ("set_aside", models.BigIntegerField(db_default=0, default=0)),
                ("set_aside_at", models.DateTimeField(null=True)),
                ("set_aside_reason", models.CharField(blank=True, db_default="", max_length=300)),
            ],
        ),
        migrations.CreateModel(
            name="DeviceHour",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("hour", models.DateTimeField()),
                ("deployment_id", models.CharField(max_length=16)),
                ("model_id", models.CharField(max_length=16)),
                ("team_id", models.CharField(max_length=16)),
                ("kind", models.CharField(max_length=32)),
                ("seconds", models.FloatField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team_id", "hour"], name="telemetry_device_hours_by_team")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("hour", "deployment_id", "kind"), name="telemetry_device_hour_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LogChunk",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("owner", models.CharField(max_length=64)),
                ("attempt", models.PositiveIntegerField()),
                ("sequence", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "attempt", "sequence"), name="telemetry_chunk_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SeriesSource",
            fields=[
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("sequence", models.BigIntegerField(default=-1)),
                ("clock_ahead_seconds", models.FloatField(default=0)),
                ("counters", models.JSONField(default=dict)),
                ("seen_at", models.DateTimeField(auto_now=True, db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="SeriesLabels",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.UUIDField(unique=True)),
                ("source", models.CharField(max_length=16)),
                ("cut", models.CharField(max_length=16)),
                ("team_id", models.CharField(blank=True, max_length=16)),
                ("model_id", models.CharField(blank=True, max_length=16)),
                ("deployment_id", models.CharField(blank=True, max_length=16)),
                ("environment", models.CharField(blank=True, max_length=64)),
                ("key_id", models.CharField(blank=True, max_length=16)),
                ("replica_id", models.CharField(blank=True, max_length=16)),
                ("node_id", models.CharField(blank=True, max_length=16)),
                ("device_id", models.CharField(blank=True, max_length=16)),
                ("status_class", models.CharField(blank=True, max_length=3)),
                ("last_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["deployment_id", "source", "cut"],
                        name="telemetry_labels_deployment",
                    ),
                    models.Index(fields=["team_id", "source", "cut"], name="telemetry_labels_team"),
                    models.Index(
                        fields=["model_id", "source", "cut"], name="telemetry_labels_model"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SeriesTotal",
            fields=[
                (
                    "labels",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="telemetry.serieslabels",
                    ),
                ),
                (
                    "sums",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(null=True), size=None
                    ),
                ),
                (
                    "tallies",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), size=None
                    ),
                ),
                ("exemplars", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="UsageMinute",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("minute", models.DateTimeField()),
                ("model_id", models.CharField(max_length=16)),
                ("deployment_id", models.CharField(max_length=16)),
                ("environment", models.CharField(blank=True, max_length=64)),
                ("key_id", models.CharField(max_length=16)),
                ("status_class", models.PositiveSmallIntegerField()),
                ("requests", models.BigIntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0)),
                ("completion_tokens", models.BigIntegerField(default=0)),
                ("request_bytes", models.BigIntegerField(default=0)),
                ("response_bytes", models.BigIntegerField(default=0)),
                ("extra_route_requests", models.BigIntegerField(db_default=0, default=0)),
                (
                    "traffic_mark",
                    models.CharField(blank=True, db_default="", default="", max_length=16),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["deployment_id", "minute"], name="telemetry_usage_by_deployment"
                    ),
                    models.Index(fields=["model_id", "minute"], name="telemetry_usage_by_model"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("minute", "deployment_id", "environment", "key_id", "status_class"),
                        name="telemetry_usage_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SeriesDelta",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("source", models.CharField(max_length=16)),
                ("at", models.DateTimeField()),
                (
                    "labels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), size=None
                    ),
                ),
                (
                    "sums",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(null=True), size=None
                    ),
                ),
                (
                    "sketches",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BinaryField(null=True), size=None
                    ),
                ),
                ("exemplars", models.JSONField(db_default={}, default=dict)),
                (
                    "tallies",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), db_default=[], default=list, size=None
                    ),
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(_TABLE, "DROP TABLE telemetry_series"),
                *(
                    migrations.RunSQL(_OF_RESOLUTION.format(each), migrations.RunSQL.noop)
                    for each in _RESOLUTIONS
                ),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="SeriesBucket",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "resolution_seconds",
                                "labels_id",
                                "at",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("resolution_seconds", models.IntegerField()),
                        ("labels_id", models.BigIntegerField()),
                        ("at", models.DateTimeField()),
                        (
                            "sums",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.FloatField(null=True), size=None
                            ),
                        ),
                        (
                            "sketches",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.BinaryField(null=True), size=None
                            ),
                        ),
                    ],
                    options={"db_table": "telemetry_series"},
                ),
            ],
        ),
    ]
