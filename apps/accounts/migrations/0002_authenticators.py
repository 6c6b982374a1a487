from django.db import migrations


class Migration(migrations.Migration):
    # Its package's first migration waits for the users of the one before.
    dependencies = [("accounts", "0001_first_release"), ("otp_totp", "0003_add_timestamps")]

    operations = [
        migrations.CreateModel(
            name="Authenticator",
            fields=[],
            options={
                "proxy": True,
                "indexes": [],
                "constraints": [],
            },
            bases=("otp_totp.totpdevice",),
        ),
    ]
