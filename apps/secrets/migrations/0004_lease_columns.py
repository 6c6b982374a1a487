from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('secrets', '0003_tests'),
    ]

    operations = [
        migrations.AddField(
            model_name='secrettest',
            name='lease_claims',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='secrettest',
            name='lease_owner',
            field=models.CharField(blank=True, db_default='', default='', max_length=128),
        ),
        migrations.AlterField(
            model_name='secrettest',
            name='lease_token',
            field=models.PositiveIntegerField(default=0),
        ),
    ]
