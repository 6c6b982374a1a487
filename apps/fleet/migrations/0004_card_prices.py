from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0003_card_index_not_unique")]

    operations = [
        migrations.CreateModel(
            name="CardPrice",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=32)),
                ("per_hour", models.DecimalField(decimal_places=4, max_digits=12)),
                ("since", models.DateTimeField()),
                ("set_by", models.CharField(blank=True, max_length=300)),
                ("set_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["kind", "-since", "-id"], name="fleet_price_by_kind")
                ],
            },
        ),
    ]
