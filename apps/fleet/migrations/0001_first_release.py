import apps.rest.identifiers
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first_release"),
    ]

    operations = [
        migrations.CreateModel(
            name="EnrollmentToken",
            fields=[
                (
                    "token_sha256",
                    models.CharField(max_length=64, primary_key=True, serialize=False),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("used_by", models.CharField(blank=True, max_length=280)),
            ],
        ),
        migrations.CreateModel(
            name="Gateway",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=253, unique=True)),
                ("address", models.CharField(blank=True, max_length=253)),
                ("credential_sha256", models.CharField(max_length=64, unique=True)),
                ("applied_version", models.BigIntegerField(default=0)),
                ("enrolled_at", models.DateTimeField(auto_now_add=True)),
                ("last_seen_at", models.DateTimeField(null=True)),
                ("clock_ahead_seconds", models.IntegerField(db_default=0, default=0)),
                ("disk_free_bytes", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Listening",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("since", models.DateTimeField()),
                ("last_beat_at", models.DateTimeField()),
                ("silent_before", models.DateTimeField(null=True)),
                ("unbroken_since", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=253, unique=True)),
                ("address", models.CharField(max_length=253)),
                ("boot_id", models.CharField(blank=True, max_length=64)),
                ("credential_sha256", models.CharField(max_length=64, unique=True)),
                ("agent_version", models.CharField(blank=True, max_length=32)),
                ("host_memory_bytes", models.BigIntegerField(default=0)),
                ("facts", models.JSONField(default=dict)),
                ("pool", models.CharField(default="default", max_length=64)),
                ("cordoned", models.BooleanField(default=False)),
                ("enrolled_at", models.DateTimeField(auto_now_add=True)),
                ("last_heartbeat_at", models.DateTimeField(null=True)),
                ("wanted_version", models.BigIntegerField(default=0)),
                ("draining_since", models.DateTimeField(null=True)),
                ("labels", models.JSONField(db_default={}, default=dict)),
                ("runtimes", models.JSONField(db_default=[], default=list)),
                (
                    "highest_engine_port",
                    models.PositiveIntegerField(db_default=65535, default=65535),
                ),
                ("lowest_engine_port", models.PositiveIntegerField(db_default=1024, default=1024)),
                ("runtime_versions", models.JSONField(db_default={}, default=dict)),
                ("removed_at", models.DateTimeField(null=True)),
                ("replicas_heard_at", models.DateTimeField(null=True)),
                ("clock_ahead_seconds", models.IntegerField(db_default=0, default=0)),
                ("disk_free_bytes", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("name", models.CharField(max_length=300, primary_key=True, serialize=False)),
                ("version", models.CharField(max_length=32)),
                ("started_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="DevicePrice",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=32)),
                ("per_hour", models.DecimalField(decimal_places=4, max_digits=12)),
                ("since", models.DateTimeField()),
                ("set_by", models.CharField(blank=True, max_length=300)),
                ("set_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["kind", "-since", "-id"], name="fleet_price_by_kind")
                ],
            },
        ),
        migrations.CreateModel(
            name="Device",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("index", models.PositiveSmallIntegerField()),
                ("uuid", models.CharField(max_length=64, unique=True)),
                ("kind", models.CharField(max_length=32)),
                ("name", models.CharField(blank=True, max_length=128)),
                ("memory_bytes", models.BigIntegerField()),
                ("used_bytes", models.BigIntegerField(null=True)),
                ("utilization_percent", models.FloatField(null=True)),
                ("is_clean", models.BooleanField(default=True)),
                ("is_present", models.BooleanField(default=True)),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="devices",
                        to="fleet.node",
                    ),
                ),
                ("pool", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("used_by", models.JSONField(db_default=[], default=list)),
                ("computes_bfloat16", models.BooleanField(db_default=False, default=False)),
                ("power_watts", models.FloatField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="DeviceLease",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("holder", models.CharField(max_length=64)),
                ("memory_bytes", models.BigIntegerField()),
                ("claimed_at", models.DateTimeField(auto_now_add=True)),
                ("released_at", models.DateTimeField(null=True)),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="leases",
                        to="fleet.device",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("released_at", None)),
                        fields=["device"],
                        name="fleet_live_lease_by_device",
                    ),
                    models.Index(fields=["holder"], name="fleet_lease_by_holder"),
                ],
            },
        ),
        migrations.CreateModel(
            name="PoolTeam",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("pool", models.CharField(max_length=64)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("pool", "team"), name="fleet_pool_team_once")
                ],
            },
        ),
    ]
