import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("builds", "0004_forecast_measures_and_inputs")]

    operations = [
        migrations.AddField(
            model_name="build",
            name="after",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="followers",
                to="builds.build",
            ),
        ),
        migrations.AddField(
            model_name="build", name="fixed", field=models.JSONField(null=True)
        ),
    ]
