from django.db import migrations

# As `session_key_kept` does it; keys are ASCII.
HASH_THEM = [
    "UPDATE django_session SET session_key = "
    "left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)",
    "UPDATE accounts_browsersession SET session_key = "
    "left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)",
]


class Migration(migrations.Migration):
    """Keeps everybody signed in."""

    dependencies = [("accounts", "0014_authenticators"), ("sessions", "0001_initial")]

    operations = [
        migrations.RunSQL(
            HASH_THEM,
            # A hash leads nowhere back: whoever is signed in signs in again.
            [
                "DELETE FROM django_session",
                "DELETE FROM accounts_browsersession",
            ],
        )
    ]
