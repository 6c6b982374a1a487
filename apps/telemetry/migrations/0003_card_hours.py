from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0002_usage_durations_and_sizes")]

    operations = [
        migrations.CreateModel(
            name="CardHour",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("hour", models.DateTimeField()),
                ("deployment_id", models.CharField(max_length=16)),
                ("model_id", models.CharField(max_length=16)),
                ("team_id", models.CharField(max_length=16)),
                ("kind", models.CharField(max_length=32)),
                ("seconds", models.FloatField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team_id", "hour"], name="telemetry_card_hours_by_team")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=["hour", "deployment_id", "kind"], name="telemetry_card_hour_once"
                    )
                ],
            },
        ),
    ]
