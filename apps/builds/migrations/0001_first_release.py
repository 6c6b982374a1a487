import apps.rest.identifiers
import controlplane.domain.lifecycle
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first_release"),
        ("configs", "0001_first_release"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="StoreCheck",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("failure", models.JSONField(null=True)),
                ("since", models.DateTimeField()),
                ("checked_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Artifact",
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
                ("content_digest", models.CharField(db_index=True, max_length=80)),
                ("input_digest", models.CharField(max_length=80)),
                ("size_bytes", models.BigIntegerField()),
                ("files", models.JSONField()),
                ("passport", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="artifacts",
                        to="accounts.team",
                    ),
                ),
                ("inputs", models.JSONField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "input_digest"), name="builds_first_publish_wins"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Build",
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
                ("pool", models.CharField(default="default", max_length=64)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.BuildState["QUEUED"], max_length=16
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=1)),
                ("failure", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
                (
                    "artifact",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="builds",
                        to="builds.artifact",
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
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="builds",
                        to="configs.revision",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="builds",
                        to="accounts.team",
                    ),
                ),
                ("promotion", models.JSONField(null=True)),
                ("forecast", models.JSONField(null=True)),
                ("reuse", models.JSONField(null=True)),
                (
                    "after",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="followers",
                        to="builds.build",
                    ),
                ),
                ("fixed", models.JSONField(null=True)),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                ("runtime", models.CharField(blank=True, db_default="", default="", max_length=32)),
            ],
            options={
                "indexes": [models.Index(fields=["state"], name="builds_by_state")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "number"), name="builds_number_unique_in_team"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BuildStep",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=16)),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.StepState["WAITING"], max_length=16
                    ),
                ),
                ("progress_done", models.BigIntegerField(default=0)),
                ("progress_total", models.BigIntegerField(null=True)),
                ("progress_unit", models.CharField(blank=True, max_length=16)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("result", models.JSONField(null=True)),
                (
                    "build",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="builds.build",
                    ),
                ),
                ("progress_seconds_left", models.FloatField(null=True)),
                ("waits_for", models.TextField(blank=True, db_default="", default="")),
                ("measured", models.JSONField(null=True)),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("build", "name"), name="builds_step_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ArtifactPush",
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
                ("destination", models.CharField(max_length=1000)),
                ("secret_name", models.CharField(max_length=253)),
                ("private", models.BooleanField(default=True)),
                ("pool", models.CharField(default="default", max_length=64)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.PushState["QUEUED"], max_length=16
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=1)),
                ("done_bytes", models.BigIntegerField(default=0)),
                ("result", models.JSONField(null=True)),
                ("failure", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                (
                    "artifact",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pushes",
                        to="builds.artifact",
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
                "indexes": [models.Index(fields=["state"], name="builds_push_by_state")],
            },
        ),
    ]
