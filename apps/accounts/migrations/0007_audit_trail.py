from django.db import migrations, models

APPEND_ONLY = """
CREATE FUNCTION accounts_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit trail is append-only.';
END $$;
CREATE TRIGGER accounts_audit_append_only BEFORE UPDATE OR DELETE ON accounts_auditentry
FOR EACH ROW EXECUTE FUNCTION accounts_audit_is_append_only();
"""
CHANGEABLE = """
DROP TRIGGER accounts_audit_append_only ON accounts_auditentry;
DROP FUNCTION accounts_audit_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_browser_sessions")]

    operations = [
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
                    models.Index(
                        fields=["team_id", "-at", "-id"], name="accounts_audit_by_team"
                    ),
                    models.Index(fields=["-at", "-id"], name="accounts_audit_by_time"),
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, CHANGEABLE),
    ]
