from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("builds", "0003_step_waits_for")]

    operations = [
        migrations.AddField("artifact", "inputs", models.JSONField(null=True)),
        migrations.AddField("build", "forecast", models.JSONField(null=True)),
        migrations.AddField("build", "reuse", models.JSONField(null=True)),
        migrations.AddField("buildstep", "measured", models.JSONField(null=True)),
    ]
