import apps.rest.identifiers
import controlplane.domain.lifecycle
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first_release"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CalibrationSet",
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
                ("name", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibration_sets",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "name"), name="configs_calibration_set_unique_in_team"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CalibrationVersion",
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
                ("number", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=80)),
                ("content_digest", models.CharField(max_length=80)),
                ("file_name", models.CharField(max_length=64)),
                ("uploaded_name", models.CharField(max_length=255)),
                ("column", models.CharField(max_length=16)),
                ("rows", models.PositiveIntegerField()),
                ("empty_rows", models.PositiveIntegerField()),
                ("short_rows", models.PositiveIntegerField()),
                ("size_bytes", models.BigIntegerField()),
                ("head", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="configs.calibrationset",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("set", "number"), name="configs_calibration_version_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckpointRecord",
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
                ("source", models.CharField(max_length=32)),
                ("repo", models.CharField(max_length=2000)),
                ("revision", models.CharField(blank=True, max_length=128)),
                ("secret_name", models.CharField(blank=True, max_length=253)),
                ("state", models.CharField(default="waiting", max_length=16)),
                ("commit", models.CharField(blank=True, max_length=128)),
                ("facts", models.JSONField(null=True)),
                ("failure", models.JSONField(null=True)),
                ("requested_at", models.DateTimeField()),
                ("fetched_at", models.DateTimeField(null=True)),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "source", "repo", "revision", "secret_name"),
                        name="configs_checkpoint_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Config",
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
                ("name", models.CharField(max_length=128)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="configs",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "name"), name="configs_name_unique_in_team"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RemoteCodeGrant",
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
                ("source", models.CharField(max_length=32)),
                ("repo", models.CharField(max_length=2000)),
                ("commit", models.CharField(max_length=128)),
                ("reason", models.CharField(max_length=1000)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("granted_by", models.CharField(max_length=300)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(blank=True, max_length=300)),
                ("revoke_reason", models.CharField(blank=True, max_length=1000)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["commit"], name="configs_remote_code_by_commit")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at", None)),
                        fields=("source", "repo", "commit"),
                        name="configs_remote_code_granted_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Revision",
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
                ("number", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("spec", models.JSONField()),
                ("spec_format", models.PositiveSmallIntegerField(default=1)),
                ("findings", models.JSONField(default=list)),
                ("waiting", models.JSONField(default=list)),
                ("effective", models.JSONField(default=list)),
                ("plan", models.JSONField(null=True)),
                ("blocks_build", models.BooleanField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="revisions",
                        to="configs.config",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("secret_names", models.JSONField(default=list)),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["secret_names"], name="configs_revision_by_secret"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("config", "number"), name="configs_revision_number_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CalibrationPreview",
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
                ("dataset", models.CharField(max_length=512)),
                ("pool", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.StepState["WAITING"], max_length=16
                    ),
                ),
                ("result", models.JSONField(null=True)),
                ("failure", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibration_previews",
                        to="configs.revision",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["state"], name="configs_preview_by_state")],
            },
        ),
        migrations.CreateModel(
            name="PlanMeasurement",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("benchmark_id", models.CharField(max_length=16)),
                ("figure", models.CharField(max_length=32)),
                ("concurrency", models.PositiveIntegerField(null=True)),
                ("device_kind", models.CharField(blank=True, max_length=64)),
                ("planned_low", models.FloatField()),
                ("planned_high", models.FloatField()),
                ("measured", models.FloatField()),
                ("difference_ratio", models.FloatField()),
                ("measured_at", models.DateTimeField(auto_now_add=True)),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plan_measurements",
                        to="configs.revision",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LookaheadTuning",
            fields=[
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("dataset", models.CharField(max_length=512)),
                ("requests", models.PositiveIntegerField()),
                ("pool", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.StepState["WAITING"], max_length=16
                    ),
                ),
                ("progress_done", models.PositiveIntegerField(default=0)),
                ("progress_total", models.PositiveIntegerField(null=True)),
                ("progress_unit", models.CharField(blank=True, max_length=16)),
                ("result", models.JSONField(null=True)),
                ("failure", models.JSONField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "made_revision",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="made_by_tunings",
                        to="configs.revision",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lookahead_tunings",
                        to="configs.revision",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                ("figures", models.JSONField(null=True)),
                ("gathers_from", models.JSONField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["state"], name="configs_tuning_by_state")],
            },
        ),
        migrations.CreateModel(
            name="TrafficConsent",
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
                ("share", models.FloatField()),
                ("kept_days", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="traffic_consent",
                        to="accounts.team",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HeldSamples",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("gateway_id", models.CharField(max_length=16)),
                ("model_id", models.CharField(max_length=16)),
                ("samples", models.PositiveIntegerField()),
                ("size_bytes", models.BigIntegerField()),
                ("oldest_at", models.DateTimeField()),
                ("told_at", models.DateTimeField()),
                (
                    "consent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held",
                        to="configs.trafficconsent",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("consent", "gateway_id", "model_id"), name="configs_held_once"
                    )
                ],
            },
        ),
    ]
