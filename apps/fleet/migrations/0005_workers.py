from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0004_card_prices")]

    operations = [
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("name", models.CharField(max_length=300, primary_key=True, serialize=False)),
                ("version", models.CharField(max_length=32)),
                ("started_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
            ],
        ),
    ]
