from django.db import migrations, models

# Once; from then on every stretch of a journal is added as it is counted.
FILL = """
    WITH counts AS (
        SELECT deployment_id, environment, status_class, which, position, sum(count) AS count
        FROM telemetry_usageminute
        CROSS JOIN LATERAL (
            SELECT 'duration' AS which, element::bigint AS count, position
            FROM jsonb_array_elements_text(duration_buckets) WITH ORDINALITY AS a(element, position)
            UNION ALL
            SELECT 'first_byte', element::bigint, position
            FROM jsonb_array_elements_text(first_byte_buckets)
                WITH ORDINALITY AS b(element, position)
        ) AS buckets
        GROUP BY 1, 2, 3, 4, 5
    ), histograms AS (
        SELECT deployment_id, environment, status_class,
            coalesce(jsonb_agg(count ORDER BY position) FILTER (WHERE which = 'duration'), '[]')
                AS duration,
            coalesce(jsonb_agg(count ORDER BY position) FILTER (WHERE which = 'first_byte'), '[]')
                AS first_byte
        FROM counts GROUP BY 1, 2, 3
    ), sums AS (
        SELECT deployment_id, environment, status_class, sum(requests) AS requests,
            sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
            sum(duration_seconds_sum) AS duration_seconds,
            sum(first_byte_seconds_sum) AS first_byte_seconds
        FROM telemetry_usageminute GROUP BY 1, 2, 3
    )
    INSERT INTO telemetry_usagesum (
        deployment_id, environment, status_class, requests, prompt_tokens, completion_tokens,
        duration_seconds_sum, first_byte_seconds_sum, duration_buckets, first_byte_buckets
    )
    SELECT deployment_id, environment, status_class,
        least(requests, 9223372036854775807), least(prompt_tokens, 9223372036854775807),
        least(completion_tokens, 9223372036854775807), duration_seconds, first_byte_seconds,
        coalesce(duration, '[]'), coalesce(first_byte, '[]')
    FROM sums LEFT JOIN histograms USING (deployment_id, environment, status_class)
"""


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0005_requests_on_extra_routes")]

    operations = [
        migrations.CreateModel(
            name="UsageSum",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("deployment_id", models.CharField(max_length=16)),
                ("environment", models.CharField(blank=True, max_length=64)),
                ("status_class", models.PositiveSmallIntegerField()),
                ("requests", models.BigIntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0)),
                ("completion_tokens", models.BigIntegerField(default=0)),
                ("duration_seconds_sum", models.FloatField(default=0)),
                ("first_byte_seconds_sum", models.FloatField(default=0)),
                ("duration_buckets", models.JSONField(default=list)),
                ("first_byte_buckets", models.JSONField(default=list)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("deployment_id", "environment", "status_class"),
                        name="telemetry_usage_sum_once",
                    )
                ],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
