from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("builds", "0007_runtime_of_a_build")]

    operations = [
        migrations.CreateModel(
            "StoreCheck",
            [
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("failure", models.JSONField(null=True)),
                ("since", models.DateTimeField()),
                ("checked_at", models.DateTimeField()),
            ],
        ),
    ]
