from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_audit_trail")]

    operations = [
        migrations.AddField("apikey", "environments", models.JSONField(null=True)),
        migrations.AddField(
            "apikey", "requests_per_minute", models.PositiveIntegerField(null=True)
        ),
        migrations.AddField("apikey", "tokens_per_minute", models.PositiveIntegerField(null=True)),
        migrations.AddField("apikey", "parallel_requests", models.PositiveIntegerField(null=True)),
        migrations.AddField(
            "apikey",
            "monthly_spend",
            models.DecimalField(max_digits=12, decimal_places=2, null=True),
        ),
        migrations.AddField("apikey", "spent_until", models.DateTimeField(null=True)),
    ]
