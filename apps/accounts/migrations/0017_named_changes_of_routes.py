from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_recovery_codes_hashed")]

    operations = [
        migrations.AddField(
            "routesversion", "named_version", models.BigIntegerField(db_default=0, default=0)
        ),
        migrations.CreateModel(
            name="RoutesChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("name", models.CharField(blank=True, max_length=64)),
                ("version", models.BigIntegerField(db_index=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "name"), name="accounts_routes_change_once"
                    )
                ],
            },
        ),
    ]
