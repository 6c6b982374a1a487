import django.contrib.postgres.fields
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
    dependencies = [("telemetry", "0001_initial")]

    operations = [
        migrations.DeleteModel(name="EngineSample"),
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
                    models.Index(
                        fields=["team_id", "source", "cut"], name="telemetry_labels_team"
                    ),
                ],
            },
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
