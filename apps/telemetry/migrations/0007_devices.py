"""The hours of a GPU, a slice of one or a CPU are those of a device."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0006_running_sums_of_usage")]
    operations = [
        migrations.RenameModel("CardHour", "DeviceHour"),
        migrations.RemoveConstraint("devicehour", "telemetry_card_hour_once"),
        migrations.AddConstraint(
            "devicehour",
            models.UniqueConstraint(
                fields=["hour", "deployment_id", "kind"], name="telemetry_device_hour_once"
            ),
        ),
        migrations.RenameIndex(
            "devicehour",
            old_name="telemetry_card_hours_by_team",
            new_name="telemetry_device_hours_by_team",
        ),
    ]
