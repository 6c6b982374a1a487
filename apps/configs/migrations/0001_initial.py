import apps.rest.identifiers
import controlplane.domain.lifecycle
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
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
        ),
        migrations.AddConstraint(
            model_name="calibrationset",
            constraint=models.UniqueConstraint(
                fields=("team", "name"), name="configs_calibration_set_unique_in_team"
            ),
        ),
        migrations.AddConstraint(
            model_name="calibrationversion",
            constraint=models.UniqueConstraint(
                fields=("set", "number"), name="configs_calibration_version_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpointrecord",
            constraint=models.UniqueConstraint(
                fields=("team", "source", "repo", "revision", "secret_name"),
                name="configs_checkpoint_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="config",
            constraint=models.UniqueConstraint(
                fields=("team", "name"), name="configs_name_unique_in_team"
            ),
        ),
        migrations.AddIndex(
            model_name="remotecodegrant",
            index=models.Index(fields=["commit"], name="configs_remote_code_by_commit"),
        ),
        migrations.AddConstraint(
            model_name="remotecodegrant",
            constraint=models.UniqueConstraint(
                condition=models.Q(("revoked_at", None)),
                fields=("source", "repo", "commit"),
                name="configs_remote_code_granted_once",
            ),
        ),
        migrations.AddIndex(
            model_name="revision",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["secret_names"], name="configs_revision_by_secret"
            ),
        ),
        migrations.AddConstraint(
            model_name="revision",
            constraint=models.UniqueConstraint(
                fields=("config", "number"), name="configs_revision_number_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="calibrationpreview",
            index=models.Index(fields=["state"], name="configs_preview_by_state"),
        ),
    ]
