from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AnsweredRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("caller", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=255)),
                ("request_hmac", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.JSONField(null=True)),
                ("is_shown_once", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [models.Index(fields=["started_at"], name="rest_answered_by_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("caller", "key"), name="rest_key_once_per_caller"
                    )
                ],
            },
        ),
    ]
