from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("fleet", "0008_computes_bfloat16")]

    operations = [
        migrations.AddField("node", "runtimes", models.JSONField(db_default=[], default=list)),
    ]
