from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0011_versions_of_runtimes"),
    ]

    operations = [
        migrations.AddField(
            model_name="node",
            name="removed_at",
            field=models.DateTimeField(null=True),
        ),
    ]
