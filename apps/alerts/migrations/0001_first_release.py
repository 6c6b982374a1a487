import apps.rest.identifiers
import controlplane.domain.lifecycle
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
            name="AlertLimits",
            fields=[
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="alert_limits",
                        serialize=False,
                        to="accounts.team",
                    ),
                ),
                ("error_share_percent", models.FloatField(default=5.0, null=True)),
                ("first_token_seconds", models.FloatField(null=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("monthly_budget", models.DecimalField(decimal_places=2, max_digits=12, null=True)),
                (
                    "spent",
                    models.DecimalField(db_default=0, decimal_places=4, default=0, max_digits=16),
                ),
                ("spent_month", models.DateField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Alert",
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
                ("kind", models.CharField(max_length=32)),
                ("subject", models.CharField(max_length=280)),
                ("severity", models.CharField(max_length=16)),
                ("sentence", models.TextField()),
                ("hint", models.TextField(blank=True)),
                ("path", models.CharField(blank=True, max_length=500)),
                ("caused_by", models.CharField(blank=True, max_length=320)),
                ("began_at", models.DateTimeField()),
                ("fired_at", models.DateTimeField()),
                ("announced_at", models.DateTimeField(null=True)),
                ("absent_since", models.DateTimeField(null=True)),
                ("resolved_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alerts",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team", "-fired_at"], name="alerts_of_team")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("resolved_at", None)),
                        fields=("kind", "subject"),
                        name="alerts_firing_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AlertChannel",
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
                ("name", models.CharField(max_length=100)),
                ("form", models.CharField(max_length=16)),
                ("target", models.CharField(blank=True, max_length=2000)),
                ("secret_name", models.CharField(blank=True, max_length=253)),
                ("kinds", models.JSONField(default=list)),
                ("hears_installation", models.BooleanField(default=True)),
                ("is_paused", models.BooleanField(default=False)),
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
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alert_channels",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "name"), name="alerts_channel_name_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AlertDelivery",
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
                ("event", models.CharField(max_length=16)),
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
                ("alerts", models.ManyToManyField(related_name="deliveries", to="alerts.alert")),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="alerts.alertchannel",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["channel", "-created_at"], name="alerts_deliveries")
                ],
            },
        ),
        migrations.CreateModel(
            name="AlertSweep",
            fields=[
                ("id", models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ("looked_at", models.DateTimeField()),
            ],
        ),
    ]
