import apps.rest.identifiers
import controlplane.domain.lifecycle
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# In the changing transaction, whoever changes: a crash right after it loses nothing.
MARKS = """
CREATE FUNCTION deployments_mark_itself() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.marked_at := coalesce(NEW.marked_at, clock_timestamp());
    RETURN NEW;
END $$;
CREATE TRIGGER deployments_mark_new BEFORE INSERT ON deployments_deployment
FOR EACH ROW EXECUTE FUNCTION deployments_mark_itself();
CREATE TRIGGER deployments_mark_changed BEFORE UPDATE ON deployments_deployment
FOR EACH ROW WHEN (
    (OLD.state, OLD.wanted_replicas, OLD.generation, OLD.start_failures, OLD.artifact_id)
    IS DISTINCT FROM
    (NEW.state, NEW.wanted_replicas, NEW.generation, NEW.start_failures, NEW.artifact_id)
) EXECUTE FUNCTION deployments_mark_itself();

CREATE FUNCTION deployments_mark_of_replica() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Waits for who is reconciling it, and may be about to take an earlier mark off.
    PERFORM 1 FROM deployments_deployment WHERE id = NEW.deployment_id FOR NO KEY UPDATE;
    UPDATE deployments_deployment SET marked_at = clock_timestamp()
    WHERE id = NEW.deployment_id AND marked_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER deployments_mark_new_replica AFTER INSERT ON deployments_replica
FOR EACH ROW EXECUTE FUNCTION deployments_mark_of_replica();
CREATE TRIGGER deployments_mark_changed_replica AFTER UPDATE ON deployments_replica
FOR EACH ROW WHEN (
    (OLD.state, OLD.wanted, OLD.generation, OLD.node_id, OLD.finished_at)
    IS DISTINCT FROM
    (NEW.state, NEW.wanted, NEW.generation, NEW.node_id, NEW.finished_at)
) EXECUTE FUNCTION deployments_mark_of_replica();
"""
NO_MARKS = """
DROP TRIGGER deployments_mark_changed_replica ON deployments_replica;
DROP TRIGGER deployments_mark_new_replica ON deployments_replica;
DROP FUNCTION deployments_mark_of_replica();
DROP TRIGGER deployments_mark_changed ON deployments_deployment;
DROP TRIGGER deployments_mark_new ON deployments_deployment;
DROP FUNCTION deployments_mark_itself();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("builds", "0001_initial"),
        ("fleet", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SweepRecord",
            fields=[
                ("id", models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ("checked_to", models.CharField(blank=True, default="", max_length=16)),
                ("missed", models.BigIntegerField(default=0)),
                ("missed_at", models.DateTimeField(null=True)),
                ("missed_deployment", models.CharField(blank=True, default="", max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name="ServedModel",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=128)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="served_models",
                        to="accounts.team",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Deployment",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("runtime", models.CharField(max_length=16)),
                ("spec", models.JSONField()),
                ("checkpoint", models.JSONField(null=True)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.DeploymentState["BUILDING"],
                        max_length=16,
                    ),
                ),
                ("failure", models.JSONField(null=True)),
                ("generation", models.PositiveIntegerField(default=1)),
                ("wanted_replicas", models.PositiveIntegerField(default=1)),
                ("min_replica", models.PositiveIntegerField(default=1)),
                ("max_replica", models.PositiveIntegerField(default=1)),
                ("autoscaling", models.JSONField(default=dict)),
                ("start_failures", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("active_since", models.DateTimeField(null=True)),
                (
                    "artifact",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deployments",
                        to="builds.artifact",
                    ),
                ),
                (
                    "build",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deployments",
                        to="builds.build",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deployments",
                        to="deployments.servedmodel",
                    ),
                ),
                ("degraded_since", models.DateTimeField(null=True)),
                ("last_failure", models.JSONField(null=True)),
                ("marked_at", models.DateTimeField(null=True)),
                ("reconcile_at", models.DateTimeField(null=True)),
                ("room_seen", models.CharField(max_length=32, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Environment",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=64)),
                ("promotion", models.JSONField(null=True)),
                ("promotion_version", models.BigIntegerField(null=True)),
                ("autoscaling_settings", models.JSONField(default=dict)),
                ("promotion_settings", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "candidate",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="candidate_of",
                        to="deployments.deployment",
                    ),
                ),
                (
                    "current",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="current_of",
                        to="deployments.deployment",
                    ),
                ),
                (
                    "retiring",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="retiring_from",
                        to="deployments.deployment",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="environments",
                        to="deployments.servedmodel",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FailedStarts",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("count", models.PositiveIntegerField(default=0)),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("retry_at", models.DateTimeField()),
                ("failure", models.JSONField(null=True)),
                (
                    "artifact",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="failed_starts",
                        to="builds.artifact",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="failed_starts",
                        to="fleet.node",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("artifact", "node"), name="deployments_failed_starts_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Replica",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_replica_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("generation", models.PositiveIntegerField()),
                ("wanted", models.CharField(default="running", max_length=16)),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.ReplicaState["ORDERED"], max_length=16
                    ),
                ),
                ("memory_bytes", models.BigIntegerField()),
                ("host", models.CharField(blank=True, max_length=253)),
                ("port", models.PositiveIntegerField(null=True)),
                ("pid", models.PositiveIntegerField(null=True)),
                ("failure", models.JSONField(null=True)),
                ("report", models.JSONField(null=True)),
                ("metrics", models.JSONField(null=True)),
                ("ordered_at", models.DateTimeField(auto_now_add=True)),
                ("ready_at", models.DateTimeField(null=True)),
                ("draining_since", models.DateTimeField(null=True)),
                ("drain_version", models.BigIntegerField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("observed_at", models.DateTimeField(null=True)),
                (
                    "deployment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replicas",
                        to="deployments.deployment",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replicas",
                        to="fleet.node",
                    ),
                ),
                ("placement", models.TextField(blank=True, db_default="", default="")),
                ("probe_port", models.PositiveIntegerField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["deployment", "state"], name="deployments_replica_states")
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="servedmodel",
            constraint=models.UniqueConstraint(
                fields=("team", "name"), name="deployments_model_name_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="environment",
            constraint=models.UniqueConstraint(
                fields=("model", "name"), name="deployments_environment_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="deployment",
            index=models.Index(
                condition=models.Q(("marked_at__isnull", False)),
                fields=["marked_at"],
                name="deployments_marked",
            ),
        ),
        migrations.AddIndex(
            model_name="deployment",
            index=models.Index(
                condition=models.Q(("reconcile_at__isnull", False)),
                fields=["reconcile_at"],
                name="deployments_due_later",
            ),
        ),
        migrations.AddIndex(
            model_name="deployment",
            index=models.Index(
                condition=models.Q(("room_seen__isnull", False)),
                fields=["id"],
                name="deployments_without_room",
            ),
        ),
        migrations.AddConstraint(
            model_name="deployment",
            constraint=models.UniqueConstraint(
                fields=("model", "name"), name="deployments_name_unique"
            ),
        ),
        migrations.RunSQL(MARKS, NO_MARKS),
    ]
