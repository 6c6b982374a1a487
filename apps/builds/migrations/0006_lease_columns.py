from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('builds', '0005_fixed_after_a_failure'),
    ]

    operations = [
        migrations.AddField(
            model_name='build',
            name='lease_claims',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name='build',
            name='lease_owner',
            field=models.CharField(blank=True, db_default='', default='', max_length=128),
        ),
    ]
