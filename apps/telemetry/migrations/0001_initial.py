from django.db import migrations, models


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
            name="EngineSample",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("replica_id", models.CharField(max_length=16)),
                ("deployment_id", models.CharField(max_length=16)),
                ("sampled_at", models.DateTimeField()),
                ("values", models.JSONField()),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["deployment_id", "sampled_at"], name="telemetry_engine_samples"
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
                ("duration_seconds_sum", models.FloatField(default=0)),
                ("first_byte_seconds_sum", models.FloatField(default=0)),
                ("first_byte_buckets", models.JSONField(default=list)),
                ("duration_buckets", models.JSONField(default=list)),
                ("request_bytes", models.BigIntegerField(default=0)),
                ("response_bytes", models.BigIntegerField(default=0)),
                ("extra_route_requests", models.BigIntegerField(db_default=0, default=0)),
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
            name="UsageSum",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("deployment_id", models.CharField(max_length=16)),
                ("environment", models.CharField(blank=True, max_length=64)),
                ("status_class", models.PositiveSmallIntegerField()),
                ("requests", models.BigIntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0)),
                ("completion_tokens", models.BigIntegerField(default=0)),
                ("duration_seconds_sum", models.FloatField(default=0)),
                ("first_byte_seconds_sum", models.FloatField(default=0)),
                ("duration_buckets", models.JSONField(default=list)),
                ("first_byte_buckets", models.JSONField(default=list)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("deployment_id", "environment", "status_class"),
                        name="telemetry_usage_sum_once",
                    )
                ],
            },
        ),
    ]
