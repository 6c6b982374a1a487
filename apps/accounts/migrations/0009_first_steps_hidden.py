from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_key_limits")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="first_steps_hidden_at",
            field=models.DateTimeField(null=True),
        ),
    ]
