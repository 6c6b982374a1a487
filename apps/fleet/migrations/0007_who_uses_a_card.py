from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("fleet", "0006_labels_drains_and_pools")]

    operations = [
        migrations.AddField(
            "card", "used_by", models.JSONField(db_default=[], default=list)
        ),
    ]
