from collections import defaultdict

from django.core.exceptions import ImproperlyConfigured
from django.db import migrations, models

from apps.accounts.people.emails import normal_email


def fill(apps, schema_editor):
    refuse_alike(apps.get_model("accounts", "User"))
    for name in ("User", "Invitation"):
        model = apps.get_model("accounts", name)
        for each in model.objects.only("id", "email").iterator():
            model.objects.filter(id=each.id).update(normal_email=normal_email(each.email))


def refuse_alike(people):
    alike = defaultdict(list)
    for email in people.objects.order_by("created_at").values_list("email", flat=True):
        alike[normal_email(email)].append(email)
    groups = [emails for emails in alike.values() if len(emails) > 1]
    if groups:
        raise ImproperlyConfigured(
            "These people have e-mail addresses that are one from now on: "
            + "; ".join(" and ".join(f"`{email}`" for email in emails) for emails in groups)
            + ". Nobody is changed. Give all but one of each another address with "
            + " or ".join(f"`manage.py person_email '{email}' NEW`" for email in groups[0][1:])
            + ", then start again. Where `manage.py up` runs the database, do it while the "
            "release before is up."
        )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_normal_emails")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("user", "normal_email", models.TextField(null=True, unique=True)),
    ]
