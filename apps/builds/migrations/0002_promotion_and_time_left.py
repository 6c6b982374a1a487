from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("builds", "0001_initial")]

    operations = [
        migrations.AddField("build", "promotion", models.JSONField(null=True)),
        migrations.AddField("buildstep", "progress_seconds_left", models.FloatField(null=True)),
    ]
