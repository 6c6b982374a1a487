from django.db import migrations


def make_the_row(apps, schema_editor):
    apps.get_model("accounts", "RoutesVersion").objects.get_or_create(id=1)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(make_the_row, migrations.RunPython.noop)]
