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

UPDATE deployments_deployment SET marked_at = clock_timestamp();
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
    dependencies = [("deployments", "0004_replicas_tell_who_they_are")]

    operations = [
        migrations.AddField("deployment", "marked_at", models.DateTimeField(null=True)),
        migrations.AddField("deployment", "reconcile_at", models.DateTimeField(null=True)),
        migrations.AddField("deployment", "room_seen", models.CharField(max_length=32, null=True)),
        migrations.AddIndex(
            "deployment",
            models.Index(
                fields=["marked_at"],
                condition=models.Q(marked_at__isnull=False),
                name="deployments_marked",
            ),
        ),
        migrations.AddIndex(
            "deployment",
            models.Index(
                fields=["reconcile_at"],
                condition=models.Q(reconcile_at__isnull=False),
                name="deployments_due_later",
            ),
        ),
        migrations.AddIndex(
            "deployment",
            models.Index(
                fields=["id"],
                condition=models.Q(room_seen__isnull=False),
                name="deployments_without_room",
            ),
        ),
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
        migrations.RunSQL(MARKS, NO_MARKS),
    ]
