from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('configs', '0006_remote_code_grants'),
    ]

    operations = [
        migrations.AddField(
            model_name='calibrationpreview',
            name='lease_claims',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='calibrationpreview',
            name='lease_owner',
            field=models.CharField(blank=True, db_default='', default='', max_length=128),
        ),
        migrations.AddField(
            model_name='checkpointrecord',
            name='lease_claims',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='checkpointrecord',
            name='lease_owner',
            field=models.CharField(blank=True, db_default='', default='', max_length=128),
        ),
    ]
