from django.db import migrations

from apps.accounts.hashing import recovery_code_kept


def hash_them(apps, schema_editor):
    tokens = apps.get_model("otp_static", "StaticToken")
    for each in tokens.objects.all():
        tokens.objects.filter(id=each.id).update(token=recovery_code_kept(each.token))


class Migration(migrations.Migration):
    """The codes that people have kept go on working."""

    dependencies = [
        ("accounts", "0015_session_keys_hashed"),
        ("otp_static", "0003_add_timestamps"),
    ]

    operations = [migrations.RunPython(hash_them, migrations.RunPython.noop)]
