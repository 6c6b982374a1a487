"""What gateways count the spend of a key on from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_audit_by_target")]

    operations = [
        migrations.AddField(
            model_name="apikey", name="live_spend", field=models.JSONField(null=True)
        ),
    ]
