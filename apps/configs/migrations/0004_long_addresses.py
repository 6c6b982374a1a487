from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('configs', '0003_revisions_by_secret'),
    ]

    operations = [
        migrations.AlterField(
            model_name='checkpointrecord',
            name='repo',
            field=models.CharField(max_length=2000),
        ),
    ]
