import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def copy(apps, schema_editor):
    """Take along who came in before, under the issuer that their last ID token named."""
    joined = apps.get_model("accounts", "SingleSignOn")
    before = apps.get_model("socialaccount", "SocialAccount").objects.filter(provider="oidc")
    for each in before.order_by("-last_login").iterator():
        token = (each.extra_data or {}).get("id_token") or {}
        issuer, subject = token.get("iss"), token.get("sub")
        if issuer and subject and len(issuer) <= 500 and len(subject) <= 255:
            taken = joined.objects.filter(issuer=issuer)
            if not taken.filter(models.Q(user_id=each.user_id) | models.Q(subject=subject)).exists():
                joined.objects.create(user_id=each.user_id, issuer=issuer, subject=subject)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0012_normal_emails_told_apart"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
    ]

    operations = [
        migrations.CreateModel(
            name="SingleSignOn",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=500)),
                ("subject", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="single_sign_ons",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["issuer", "subject"], name="accounts_subject_once"
                    ),
                    models.UniqueConstraint(
                        fields=["issuer", "user"], name="accounts_joined_once"
                    ),
                ]
            },
        ),
        migrations.RunPython(copy, migrations.RunPython.noop),
    ]
