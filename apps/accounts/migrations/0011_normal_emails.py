from django.db import migrations, models


class Migration(migrations.Migration):
    """The columns alone, so that `manage.py person_email` runs where the next one refuses."""

    dependencies = [("accounts", "0010_audit_trail_not_emptied")]

    operations = [
        migrations.AddField("user", "normal_email", models.TextField(null=True)),
        migrations.AddField("invitation", "normal_email", models.TextField(null=True)),
    ]
