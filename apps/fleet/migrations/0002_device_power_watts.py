from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="device", name="power_watts", field=models.FloatField(null=True)
        ),
    ]
