from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0001_initial")]
    operations = [
        migrations.AddField("usageminute", "duration_buckets", models.JSONField(default=list)),
        migrations.AddField("usageminute", "request_bytes", models.BigIntegerField(default=0)),
        migrations.AddField("usageminute", "response_bytes", models.BigIntegerField(default=0)),
    ]
