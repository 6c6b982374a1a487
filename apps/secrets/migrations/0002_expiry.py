"""Secrets end, where whoever stores them says so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("secrets", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="secret", name="expires_at", field=models.DateTimeField(null=True)
        )
    ]
