import apps.rest.identifiers
import controlplane.domain.lifecycle
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first_release"),
        ("deployments", "0001_first_release"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Benchmark",
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
                ("name", models.CharField(blank=True, max_length=100)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.BenchmarkState["QUEUED"],
                        max_length=16,
                    ),
                ),
                ("shape", models.CharField(max_length=32)),
                ("order", models.JSONField()),
                ("samples", models.JSONField(default=list)),
                ("progress", models.JSONField(default=dict)),
                ("failure", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.apikey",
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
                        related_name="benchmarks",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "-created_at"], name="benchmarks_of_team")
                ],
            },
        ),
        migrations.CreateModel(
            name="BenchmarkTarget",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("position", models.PositiveSmallIntegerField()),
                ("label", models.CharField(max_length=400)),
                ("made_of", models.JSONField(default=dict)),
                ("stages", models.JSONField(default=list)),
                (
                    "benchmark",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="targets",
                        to="benchmarks.benchmark",
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="deployments.deployment",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("benchmark", "position"), name="benchmarks_target_position_unique"
                    )
                ],
            },
        ),
    ]
