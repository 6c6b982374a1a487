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
# In the changing transaction, whoever changes; what serves now is where going back leads later.
SWITCHES = """
CREATE FUNCTION deployments_note_switch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO deployments_environmentswitch (at, environment_id, deployment_id)
    VALUES (statement_timestamp(), NEW.id, NEW.current_id);
    RETURN NULL;
END $$;
CREATE TRIGGER deployments_note_first AFTER INSERT ON deployments_environment
FOR EACH ROW WHEN (NEW.current_id IS NOT NULL) EXECUTE FUNCTION deployments_note_switch();
CREATE TRIGGER deployments_note_next AFTER UPDATE ON deployments_environment
FOR EACH ROW WHEN (NEW.current_id IS NOT NULL AND OLD.current_id IS DISTINCT FROM NEW.current_id)
EXECUTE FUNCTION deployments_note_switch();
"""
NO_SWITCHES = """
DROP TRIGGER deployments_note_next ON deployments_environment;
DROP TRIGGER deployments_note_first ON deployments_environment;
DROP FUNCTION deployments_note_switch();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first_release"),
        ("builds", "0001_first_release"),
        ("fleet", "0001_first_release"),
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
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "name"), name="deployments_model_name_unique"
                    )
                ],
            },
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
                ("min_replica", models.PositiveIntegerField(default=0)),
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
                (
                    "backpressure_policy",
                    models.CharField(blank=True, db_default="", default="", max_length=16),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("marked_at__isnull", False)),
                        fields=["marked_at"],
                        name="deployments_marked",
                    ),
                    models.Index(
                        condition=models.Q(("reconcile_at__isnull", False)),
                        fields=["reconcile_at"],
                        name="deployments_due_later",
                    ),
                    models.Index(
                        condition=models.Q(("room_seen__isnull", False)),
                        fields=["id"],
                        name="deployments_without_room",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("model", "name"), name="deployments_name_unique"
                    )
                ],
            },
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
                ("autoscaling_schedules", models.JSONField(db_default={}, default=dict)),
                (
                    "backpressure_policy",
                    models.CharField(blank=True, db_default="", default="", max_length=16),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("model", "name"), name="deployments_environment_unique"
                    )
                ],
            },
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
        migrations.CreateModel(
            name="ScalingState",
            fields=[
                (
                    "deployment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="scaling",
                        serialize=False,
                        to="deployments.deployment",
                    ),
                ),
                ("low_since", models.DateTimeField(null=True)),
                ("raised_at", models.DateTimeField(null=True)),
                ("code", models.CharField(blank=True, default="", max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="GatewayLoad",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sequence", models.BigIntegerField()),
                ("at", models.DateTimeField(db_index=True)),
                ("seconds", models.FloatField()),
                ("loads", models.JSONField()),
                (
                    "gateway",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="loads",
                        to="fleet.gateway",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("gateway", "sequence"), name="deployments_gateway_load_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScalingDecision",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("code", models.CharField(max_length=32)),
                ("sentence", models.TextField()),
                ("before", models.PositiveIntegerField()),
                ("after", models.PositiveIntegerField()),
                ("by_load", models.PositiveIntegerField()),
                ("requests", models.FloatField()),
                ("tokens", models.FloatField()),
                (
                    "deployment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scaling_decisions",
                        to="deployments.deployment",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["deployment", "-at"], name="deployments_scaling_history")
                ],
            },
        ),
        migrations.CreateModel(
            name="EnvironmentSwitch",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "deployment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="switches",
                        to="deployments.deployment",
                    ),
                ),
                (
                    "environment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="switches",
                        to="deployments.environment",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PromotionEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("candidate_id", models.CharField(max_length=16)),
                ("current_id", models.CharField(blank=True, default="", max_length=16)),
                ("at", models.DateTimeField()),
                ("code", models.CharField(max_length=32)),
                ("sentence", models.TextField()),
                ("actor", models.CharField(max_length=254)),
                ("percent_before", models.PositiveSmallIntegerField()),
                ("percent_after", models.PositiveSmallIntegerField()),
                (
                    "environment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="promotion_events",
                        to="deployments.environment",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["environment", "-at"], name="deployments_promotion_history"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PromotionSample",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("deployment_id", models.CharField(max_length=16)),
                ("request_id", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
                ("is_failed", models.BooleanField()),
                ("first_token_seconds", models.FloatField(null=True)),
                ("inter_token_seconds", models.FloatField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["deployment_id", "at"], name="deployments_samples"),
                    models.Index(fields=["at"], name="deployments_samples_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("deployment_id", "request_id"), name="deployments_sample_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AnswerCheck",
            fields=[
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
                ("lease_token", models.PositiveIntegerField(default=0)),
                ("lease_claims", models.PositiveIntegerField(db_default=0, default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("lease_secret_sha256", models.CharField(blank=True, max_length=64)),
                (
                    "id",
                    models.CharField(
                        default=apps.rest.identifiers.new_id,
                        max_length=16,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("candidate_id", models.CharField(max_length=16)),
                ("current_id", models.CharField(max_length=16)),
                ("settings", models.JSONField()),
                ("prompts", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        default=controlplane.domain.lifecycle.AnswerCheckState["QUEUED"],
                        max_length=16,
                    ),
                ),
                ("outcome", models.CharField(blank=True, db_default="", default="", max_length=16)),
                ("sentence", models.TextField(blank=True, db_default="", default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("asked_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.apikey",
                    ),
                ),
                (
                    "environment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answer_checks",
                        to="deployments.environment",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["environment", "-created_at"], name="deployments_answer_checks"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AnswerPair",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveSmallIntegerField()),
                ("is_equal", models.BooleanField()),
                ("differs_at", models.PositiveIntegerField(null=True)),
                ("candidate", models.JSONField()),
                ("current", models.JSONField()),
                (
                    "check_of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pairs",
                        to="deployments.answercheck",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("check_of", "number"), name="deployments_pair_once"
                    )
                ],
            },
        ),
        migrations.RunSQL(MARKS, NO_MARKS),
        migrations.RunSQL(SWITCHES, NO_SWITCHES),
    ]
