from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("builds", "0002_promotion_and_time_left")]

    operations = [
        migrations.AddField(
            "buildstep", "waits_for", models.TextField(blank=True, db_default="", default="")
        ),
    ]
