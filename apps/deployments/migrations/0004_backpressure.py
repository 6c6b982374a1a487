from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('deployments', '0003_autoscaling_schedules'),
    ]

    operations = [
        migrations.AddField(
            model_name='deployment',
            name='backpressure_policy',
            field=models.CharField(blank=True, db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='environment',
            name='backpressure_policy',
            field=models.CharField(blank=True, db_default='', default='', max_length=16),
        ),
    ]
