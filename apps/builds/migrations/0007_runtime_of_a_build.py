from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("builds", "0006_lease_columns")]

    operations = [
        migrations.AddField(
            "build", "runtime", models.CharField(max_length=32, blank=True, default="", db_default="")
        ),
    ]
