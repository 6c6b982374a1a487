from django.db import migrations

APPEND_ONLY = """
CREATE TRIGGER accounts_audit_not_emptied BEFORE TRUNCATE ON accounts_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_is_append_only();
"""
EMPTYABLE = "DROP TRIGGER accounts_audit_not_emptied ON accounts_auditentry;"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_first_steps_hidden")]

    operations = [migrations.RunSQL(APPEND_ONLY, EMPTYABLE)]
