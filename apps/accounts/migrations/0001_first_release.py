import apps.rest.identifiers
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

APPEND_ONLY = """
CREATE FUNCTION accounts_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit trail is append-only.';
END $$;
CREATE TRIGGER accounts_audit_append_only BEFORE UPDATE OR DELETE ON accounts_auditentry
FOR EACH ROW EXECUTE FUNCTION accounts_audit_is_append_only();
CREATE TRIGGER accounts_audit_not_emptied BEFORE TRUNCATE ON accounts_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_is_append_only();
"""
CHANGEABLE = """
DROP TRIGGER accounts_audit_not_emptied ON accounts_auditentry;
DROP TRIGGER accounts_audit_append_only ON accounts_auditentry;
DROP FUNCTION accounts_audit_is_append_only();
"""


def make_the_row(apps, schema_editor):
    apps.get_model("accounts", "RoutesVersion").objects.get_or_create(id=1)


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Team",
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
                ("name", models.CharField(max_length=64, unique=True)),
                ("is_default", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)),
                        fields=("is_default",),
                        name="accounts_one_default_team",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(blank=True, max_length=150)),
                ("is_admin", models.BooleanField(default=False)),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="present",
                        to="accounts.team",
                    ),
                ),
                ("first_steps_hidden_at", models.DateTimeField(null=True)),
                ("normal_email", models.TextField(null=True, unique=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="BrowserSession",
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
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("address", models.CharField(blank=True, max_length=64)),
                ("user_agent", models.CharField(blank=True, max_length=300)),
                ("way", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="browser_sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RoutesChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("name", models.CharField(blank=True, max_length=64)),
                ("version", models.BigIntegerField(db_index=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "name"), name="accounts_routes_change_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RoutesVersion",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("version", models.BigIntegerField(default=1)),
                ("named_version", models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="accounts_one_routes_row"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SignInLink",
            fields=[
                (
                    "token_sha256",
                    models.CharField(max_length=64, primary_key=True, serialize=False),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_in_links",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Invitation",
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
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                ("email", models.EmailField(max_length=254)),
                ("role", models.CharField(default="member", max_length=16)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "invited_by",
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
                        related_name="invitations",
                        to="accounts.team",
                    ),
                ),
                ("normal_email", models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="SingleSignOn",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=500)),
                ("subject", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="single_sign_ons",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("issuer", "subject"), name="accounts_subject_once"
                    ),
                    models.UniqueConstraint(fields=("issuer", "user"), name="accounts_joined_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RestrictedEnvironment",
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
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="restricted_environments",
                        to="accounts.team",
                    ),
                ),
                ("people", models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "name"), name="accounts_restricted_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("role", models.CharField(default="member", max_length=16)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="accounts.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "user"), name="accounts_member_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("actor_kind", models.CharField(max_length=16)),
                ("actor_id", models.CharField(blank=True, max_length=16)),
                ("actor_label", models.CharField(max_length=300)),
                ("source", models.CharField(max_length=16)),
                ("address", models.CharField(blank=True, max_length=64)),
                ("action", models.CharField(max_length=64)),
                ("target_id", models.CharField(blank=True, max_length=64)),
                ("target_label", models.CharField(blank=True, max_length=300)),
                ("team_id", models.CharField(blank=True, max_length=16)),
                ("team_name", models.CharField(blank=True, max_length=64)),
                ("by_admin_rights", models.BooleanField(default=False)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team_id", "-at", "-id"], name="accounts_audit_by_team"),
                    models.Index(fields=["-at", "-id"], name="accounts_audit_by_time"),
                    models.Index(fields=["target_id", "-at"], name="accounts_audit_by_target"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
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
                ("prefix", models.CharField(max_length=8, unique=True)),
                ("secret_sha256", models.CharField(max_length=64, unique=True)),
                ("name", models.CharField(blank=True, max_length=64)),
                ("type", models.CharField(max_length=40)),
                ("model_ids", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to="accounts.team",
                    ),
                ),
                ("environments", models.JSONField(null=True)),
                ("requests_per_minute", models.PositiveIntegerField(null=True)),
                ("tokens_per_minute", models.PositiveIntegerField(null=True)),
                ("parallel_requests", models.PositiveIntegerField(null=True)),
                ("monthly_spend", models.DecimalField(decimal_places=2, max_digits=12, null=True)),
                ("spent_until", models.DateTimeField(null=True)),
                (
                    "traffic_mark",
                    models.CharField(blank=True, db_default="", default="", max_length=16),
                ),
                ("live_spend", models.JSONField(null=True)),
            ],
        ),
        migrations.RunSQL(APPEND_ONLY, CHANGEABLE),
        migrations.RunPython(make_the_row, migrations.RunPython.noop),
    ]
