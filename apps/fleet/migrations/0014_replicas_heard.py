from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0013_listened_time")]

    operations = [
        migrations.AddField("node", "replicas_heard_at", models.DateTimeField(null=True)),
    ]
