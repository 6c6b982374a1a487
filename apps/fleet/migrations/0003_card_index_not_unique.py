"""A card that is absent keeps its row, and another may be in its slot."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("fleet", "0002_repeatable_enrollment")]

    operations = [
        migrations.RemoveConstraint(model_name="card", name="fleet_card_index_unique"),
    ]
