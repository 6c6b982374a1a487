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
            name="Secret",
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
                ("name", models.CharField(max_length=253)),
                ("key_id", models.CharField(max_length=32)),
                ("nonce", models.BinaryField(max_length=12)),
                ("ciphertext", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="secrets",
                        to="accounts.team",
                    ),
                ),
                (
                    "updated_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("expires_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "name"), name="secrets_name_unique_in_team"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SecretTest",
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
                ("kind", models.CharField(max_length=16)),
                ("target", models.CharField(max_length=2000)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.StepState["WAITING"], max_length=16
                    ),
                ),
                ("works", models.BooleanField(null=True)),
                ("sentence", models.TextField(blank=True)),
                ("hint", models.TextField(blank=True)),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
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
                    "secret",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tests",
                        to="secrets.secret",
                    ),
                ),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["secret", "-created_at"], name="secrets_tests_of_secret")
                ],
            },
        ),
    ]
