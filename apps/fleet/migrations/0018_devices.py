"""A GPU, a slice of one or a CPU is a device."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0017_since_when_the_database_could_be_asked")]
    operations = [
        migrations.RemoveIndex("cardlease", "fleet_live_lease_by_card"),
        migrations.RenameModel("Card", "Device"),
        migrations.RenameModel("CardPrice", "DevicePrice"),
        migrations.RenameModel("CardLease", "DeviceLease"),
        migrations.RenameField("devicelease", "card", "device"),
        migrations.AddIndex(
            "devicelease",
            models.Index(
                fields=["device"],
                condition=models.Q(released_at=None),
                name="fleet_live_lease_by_device",
            ),
        ),
        migrations.AlterField(
            "device",
            "node",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="devices",
                to="fleet.node",
            ),
        ),
    ]
