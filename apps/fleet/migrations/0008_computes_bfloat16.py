from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("fleet", "0007_who_uses_a_card")]

    operations = [
        migrations.AddField(
            "card", "computes_bfloat16", models.BooleanField(db_default=False, default=False)
        ),
    ]
