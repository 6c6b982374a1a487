import apps.rest.identifiers
import controlplane.domain.async_requests.states
import controlplane.domain.lifecycle
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first_release"),
    ]

    operations = [
        migrations.CreateModel(
            name="AsyncRequest",
            fields=[
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("model_id", models.CharField(max_length=16)),
                ("deployment_id", models.CharField(max_length=16)),
                ("environment", models.CharField(blank=True, max_length=64)),
                ("priority", models.PositiveSmallIntegerField(default=0)),
                ("max_attempts", models.PositiveSmallIntegerField(default=3)),
                ("initial_delay_ms", models.PositiveIntegerField(default=1000)),
                ("max_delay_ms", models.PositiveIntegerField(default=5000)),
                ("webhook_endpoint", models.CharField(blank=True, max_length=2000)),
                ("model_input", models.TextField()),
                (
                    "status",
                    models.CharField(
                        default=controlplane.domain.async_requests.states.AsyncStatus["QUEUED"],
                        max_length=16,
                    ),
                ),
                (
                    "webhook_status",
                    models.CharField(
                        default=controlplane.domain.async_requests.states.WebhookStatus["NONE"],
                        max_length=24,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("errors", models.JSONField(default=list)),
                ("output", models.TextField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("status_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
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
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="async_requests",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            (
                                "status",
                                controlplane.domain.async_requests.states.AsyncStatus["QUEUED"],
                            )
                        ),
                        fields=["deployment_id", "priority", "created_at"],
                        name="async_requests_queue",
                    ),
                    models.Index(fields=["team", "status"], name="async_requests_of_team"),
                    models.Index(
                        fields=["deployment_id", "-created_at"], name="async_requests_listed"
                    ),
                    models.Index(
                        condition=models.Q(("finished_at__isnull", False)),
                        fields=["finished_at"],
                        name="async_requests_ended",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AsyncWebhook",
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
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.StepState["WAITING"], max_length=16
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("sentence", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "request",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook",
                        to="async_requests.asyncrequest",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
    ]
